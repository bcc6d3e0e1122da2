/* page.h: lines of cells for a terminal or a log: widths in cells, colour only where it is wanted. Internal to
 * src/compare. */
#ifndef PMTOP_COMPARE_PAGE_H
#define PMTOP_COMPARE_PAGE_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/compare/comparison.h"

/* Cut with "…" where it is too long. */
void page_left(struct buffer *out, int cells, const char *text);
void page_right(struct buffer *out, int cells, const char *text);
/* Words into lines of `width`, the second and further ones after `indent` blanks. */
void page_wrap(struct buffer *out, int width, int indent, const char *text);
void page_title(struct buffer *out, const char *title, bool has_color);
void page_verdict(struct buffer *out, enum verdict verdict, bool has_color);

enum { PAGE_VALUE = 40 };
/* "0.201 s", "812/s", "1.20 GB"; "–" where it is not known. */
const char *page_value(char out[PAGE_VALUE], enum row_unit unit, double value);
/* "+31.1 ms"; −0.4 µs of a step is "0". */
const char *page_change(char out[PAGE_VALUE], double seconds);

#endif
