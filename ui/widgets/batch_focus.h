/* batch_focus.h: the selected batch: moving it, going through flags and search matches, flagging by hand, finding it in
 * the ring or among the flagged batches.
 *
 * Ordinals are those of scene_track. */
#ifndef PMTOP_UI_WIDGETS_BATCH_FOCUS_H
#define PMTOP_UI_WIDGETS_BATCH_FOCUS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/explain/explain.h"
#include "ui/widgets/view.h"

enum { BATCH_KIND_SIZE = 64 };

/* The retained batches that have ended: *first ≤ ordinal < *end. */
void batch_range(const struct track *track, uint64_t *first, uint64_t *end);
/* From the ring, or from the flagged batches that outlive it; NULL if it is gone. Fills *baseline unless it is NULL. */
const struct batch *batch_find(
	const struct run *run, const struct track *track, uint64_t ordinal, struct baseline *baseline);
/* "micro-batch 2 of 4", "kind: long"; empty if there is one kind. */
const char *batch_kind(
	char out[BATCH_KIND_SIZE], const struct run *run, const struct track *track, const struct batch *batch);
/* For each mark of the run after the begin of one of these batches, the last such batch, ascending. Returns how
 * many. */
size_t batch_marks(
	const struct run *run, const struct track *track, uint64_t first, uint64_t end, uint64_t out[RUN_MARKS_MAX]);
/* The selected batch; at the live end the newest that has ended. NULL if there is none. */
const struct batch *batch_focused(const struct scene *scene, const struct run *run);

void batch_focus(struct scene *scene, uint64_t ordinal);
/* Arrows, PgUp, PgDn, Home, End, n, N, f, Esc. `scene->state->plot_columns` is a page. */
bool batch_key(struct scene *scene, const struct run *run, struct key_event event);
/* The flagged batches of a track, oldest first; returns how many. */
size_t batch_flagged(const struct run *run, const struct track *track, const struct flagged *out[RUN_FLAGGED_MAX]);
/* The next mode that has batches: 'm'. */
void batch_next_mode(struct scene *scene, const struct run *run);
/* Batches first ≤ ordinal < end of that track as CSV, a column for each outermost phase. */
void batch_write(const struct scene *scene, uint64_t first, uint64_t end, struct buffer *out);

#endif
