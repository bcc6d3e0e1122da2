/* wide.h: a CSV table whose columns become known while its rows are written: rows wait in a temporary file until there
 * is a header. Internal to src/export. */
#ifndef PMTOP_EXPORT_WIDE_H
#define PMTOP_EXPORT_WIDE_H

#include "src/export/exporter.h"

enum { WIDE_COLUMNS_MAX = 2048 };

struct wide;
struct wide *wide_new(void); /* NULL: out of memory, or no temporary file can be made */
void wide_free(struct wide *wide);
/* The column of that name, from the left as they were first asked for. Those beyond the most are one, which is not
 * written. */
unsigned wide_column(struct wide *wide, const char *name);
/* The cell of the row being made, to write into with cells.h; empty until then. */
struct buffer *wide_cell(struct wide *wide, unsigned column);
void wide_end_row(struct wide *wide);
/* The whole table, with its header. */
void wide_write(struct wide *wide, const struct export_scene *scene);

#endif
