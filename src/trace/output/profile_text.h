/* profile_text.h: an analysis as text. */
#ifndef PMTOP_TRACE_PROFILE_TEXT_H
#define PMTOP_TRACE_PROFILE_TEXT_H

#include "src/base/buffer.h"
#include "src/trace/output/profile_view.h"

void profile_as_text(struct buffer *out, struct profile_analysis *analysis, const struct profile_view *view);
/* Ends a row of cells: without the blanks at its end. */
void profile_end_row(struct buffer *out);
/* A heading, bold where there is color. */
void profile_heading(struct buffer *out, const struct profile_view *view, const char *text);
/* A cell of `width` columns and a space: cut with … in the middle, padded on the right, or on the left if width < 0. */
void profile_cell(struct buffer *out, const char *text, int width);
/* Ends a row of a comparison: the difference, whose size is `amount` as text, and its ratio to `from`, or `otherwise`
 * where that is no number above 0. What is rounded to 0 has no sign. */
void profile_change_cells(
	struct buffer *out, double difference, const char *amount, double from, const char *otherwise);

#endif
