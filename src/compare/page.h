/* page.h: lines of a table for a terminal or a log; widths are in terminal cells. Internal to src/compare. */
#ifndef PMTOP_COMPARE_PAGE_H
#define PMTOP_COMPARE_PAGE_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/compare/comparison.h"

/* Left-aligned; a text that is too long ends in "…". */
void page_left(struct buffer *out, int cells, const char *text);
void page_right(struct buffer *out, int cells, const char *text);
/* Wraps words to lines of `width`; all but the first line are indented. */
void page_wrap(struct buffer *out, int width, int indent, const char *text);
void page_title(struct buffer *out, const char *title, bool has_color);
void page_verdict(struct buffer *out, enum verdict verdict, bool has_color);

enum { PAGE_VALUE = 40 };
/* "0.201 s", "812/s", "1.20 GB", "91 %", "12.1 kJ"; "–" for NAN. */
const char *page_value(char out[PAGE_VALUE], enum row_unit unit, double value);
/* "+31.1 ms"; less than 1 µs is "0". */
const char *page_change(char out[PAGE_VALUE], double seconds);

#endif
