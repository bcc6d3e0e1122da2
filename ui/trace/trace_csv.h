/* trace_csv.h: a table of a tab as CSV. */
#ifndef PMTOP_UI_TRACE_TRACE_CSV_H
#define PMTOP_UI_TRACE_TRACE_CSV_H

#include "src/base/buffer.h"
#include "ui/trace/trace_table.h"

/* The rows as the tab shows them, in their order, with all columns in base units: seconds, bytes, ratios. False: no
 * memory. */
bool trace_csv_write(
	const struct trace_scene *scene, const struct trace_table *table, struct trace_list *list, struct buffer *out);

#endif
