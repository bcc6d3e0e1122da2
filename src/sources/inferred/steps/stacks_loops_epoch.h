/* stacks_loops_epoch.h: the epoch loop around the loop with the steps, and its number. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_EPOCH_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_EPOCH_H

#include "src/sources/inferred/steps/stacks_loops_private.h"

/* Line of the `for` over a DataLoader's iterator, in the function that is known to fetch its batches; 0 = unknown. */
int stacks_loops_line_of(const struct stacks_loops *loops, const struct py_counted *counted);
/* The epoch loop around a loop at this line, read now. False: there was none at the last reading, or it is unknown. */
bool stacks_loops_epoch(struct stacks_loops *loops, const char *function, int line, struct stacks_epoch *out);

/* -- within src/sources/inferred -- */

/* Of the text of a line without a body that follows in the same line, if it is a loop: up to its colon. */
size_t stacks_loop_header_length(const char *text);
bool stacks_loop_is_variable(const struct py_loop *loop);
/* "epoch", "self.current_epoch" */
bool stacks_loop_is_epoch_int(const struct py_loop *loop);
bool stacks_loop_is_inside(const struct seen *a, const struct seen *b);
/* Whether most iterations of the outer loop lack the steps, and so are no epochs: `for t in range(n): act(); if t % 50
 * == 0: for i in range(50): update()`. */
bool stacks_loop_has_seldom(const struct seen *outer, const struct seen *steps);
/* Fills what the text of a new entry, and of its loop, says of epochs. */
void stacks_loop_note_epoch(struct seen *seen, int loop_line, struct stacks_lines *lines, struct stacks_owner *owner);
/* stacks_loops.origin of a pass that begins: a variable that begins anew counts only this pass, one that goes on counts
 * those before, too. */
uint64_t stacks_loops_origin(const struct stacks_loops *loops, const struct stacks_epoch *epoch);
/* Whether the loop of epochs around the steps', as last read, still runs. */
bool stacks_loops_is_in_epochs(struct stacks_loops *loops);
/* The epoch of the pass that begins. Without an epoch loop all passes are one, without a number. */
struct stacks_epoch stacks_loops_epoch_of_steps(struct stacks_loops *loops);

/* What counts the epochs around steps whose variable counts on through all of them; NULL = nothing is known to. */
const struct seen *stacks_loops_find_across(const struct stacks_loops *loops);
/* Its value now, and the epoch, whose number is 0 if that is unknown. False: it cannot be read. */
bool stacks_loops_read_across(
	struct stacks_loops *loops, const struct seen *epochs, uint64_t *value, struct stacks_epoch *out);

/* "for attempt in range(3): try:", "for fold in range(5):": each item is a training of its own. */
bool stacks_loop_names_runs(const char *text);

#endif
