/* lines.h: one line for each batch, epoch and warning. */
#ifndef PMTOP_EXPORT_TEXT_LINES_H
#define PMTOP_EXPORT_TEXT_LINES_H

#include <stdint.h>

struct alerts;
struct buffer;
struct lines;
struct model;

void lines_init(struct lines *lines, int64_t batch_lines);

/* Appends the lines that are due, in order of time: batches (from the oldest retained one) and marks; two lines for
 * each epoch that ended, and its energy when that is known; then flagged batches with their cause, changes of the
 * memory verdict (while memory grows, one line per epoch), events of GPUs, and new warnings. Without a run it appends
 * why there are no steps, once that is known, and one line of process figures. */
void export_lines(
	struct buffer *out, struct lines *lines, const struct model *model, const struct alerts *alerts, int run);

#endif
