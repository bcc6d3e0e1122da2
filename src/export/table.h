/* table.h: tables of the text reports: 90 wide, a name of 30 cells at the left, figures right-aligned. Widths are in
 * terminal cells. Internal to src/export. */
#ifndef PMTOP_EXPORT_TABLE_H
#define PMTOP_EXPORT_TABLE_H

#include "src/base/buffer.h"

enum { TABLE_WIDTH = 90, TABLE_NAME_CELLS = 30 };

/* A full line of `sign`. */
void table_rule(struct buffer *out, char sign);
/* The title between two lines of '='. */
void table_title(struct buffer *out, const char *title);
/* The name after `indent` blanks, filled up to 30 cells; one that is too long ends in "…". */
void table_name(struct buffer *out, unsigned indent, const char *name);
/* Right-aligned in `cells`. */
void table_right(struct buffer *out, int cells, const char *text);
/* With 3 decimals, or as many as fit; "–" for NAN. */
void table_seconds(struct buffer *out, int cells, double seconds);

#endif
