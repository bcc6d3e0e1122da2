/* lines.h: one line for each batch, epoch and warning. */
#ifndef PMTOP_EXPORT_TEXT_LINES_H
#define PMTOP_EXPORT_TEXT_LINES_H

#include <stdint.h>

struct alerts;
struct buffer;
struct lines;
struct model;

void lines_init(struct lines *lines, int64_t batch_lines);

/* Appends the lines that became due, in the order in which they happened: batches (from the oldest that is kept),
 * marks, at each epoch's end its two lines and, once it is known, what it used of energy, then flagged batches with
 * their cause once it can be known, what memory does where that is news or an epoch has ended while it grows, what
 * happens to GPUs, and warnings that were raised since; where nothing publishes, one line of process figures. */
void export_lines(
	struct buffer *out, struct lines *lines, const struct model *model, const struct alerts *alerts, int run);

#endif
