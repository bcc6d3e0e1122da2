/* cells.h: one cell of a CSV table (RFC 4180, UTF-8), which `pandas.read_csv` reads without options. An unknown value
 * is an empty cell. The functions add no commas. */
#ifndef PMTOP_BASE_FORMATS_CELLS_H
#define PMTOP_BASE_FORMATS_CELLS_H

#include <stdint.h>

#include "src/base/buffer.h"

void cell_number(struct buffer *out, double value);   /* 12 significant digits; not finite: empty */
void cell_float(struct buffer *out, float value);     /* 7 significant digits */
void cell_text(struct buffer *out, const char *text); /* quoted if necessary; NULL: empty */
/* ISO 8601, UTC, with this many decimals of a second (0 … 9) */
void cell_time(struct buffer *out, int64_t realtime_ns, int decimals);

#endif
