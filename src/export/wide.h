/* wide.h: a CSV table whose columns are not known in advance: rows stay in a temporary file until the header is
 * complete. Internal to src/export. */
#ifndef PMTOP_EXPORT_WIDE_H
#define PMTOP_EXPORT_WIDE_H

#include "src/export/exporter.h"

enum { WIDE_COLUMNS_MAX = 2048 };

struct wide;
struct wide *wide_new(void); /* NULL: out of memory, or no temporary file can be made */
void wide_free(struct wide *wide);
/* The column of that name; columns are ordered by their first use. All columns beyond the maximum share one that is not
 * written. */
unsigned wide_column(struct wide *wide, const char *name);
/* The column's cell in the current row, to be written with cells.h; empty by default. */
struct buffer *wide_cell(struct wide *wide, unsigned column);
void wide_end_row(struct wide *wide);
/* Writes the table with its header. */
void wide_write(struct wide *wide, const struct export_scene *scene);

#endif
