/* batch_focus.h: the batch that a person looks at: moving it, walking flags and matches, flagging by hand, finding it wherever it is kept.
 *
 * Ordinals are those of the run's main track. */
#ifndef PMTOP_UI_VIEWS_BATCH_FOCUS_H
#define PMTOP_UI_VIEWS_BATCH_FOCUS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/rules/explain.h"
#include "ui/view.h"

/* The ordinals whose batches have ended and are kept: *first ≤ ordinal < *end. */
void batch_range(const struct run *run, uint64_t *first, uint64_t *end);
/* From the ring, or from the flagged ones that are kept beyond it; NULL where it is gone. Fills *usual unless it is NULL. */
const struct batch *batch_find(const struct run *run, uint64_t ordinal, struct usual *usual);
/* Why it took what it took. False where it is gone. */
bool batch_explain(const struct run *run, uint64_t ordinal, struct explanation *out);
/* The focused batch; at the live end the newest that has ended. NULL where there is none. */
const struct batch *batch_focused(const struct scene *scene, const struct run *run);

void batch_focus(struct scene *scene, uint64_t ordinal);
/* Arrows, PgUp, PgDn, Home, End, n, N, f, Esc. `scene->state->plot_columns` is a page. */
bool batch_key(struct scene *scene, const struct run *run, struct key_event event);
/* The flagged batches of the main track, oldest first; returns how many. */
size_t batch_flagged(const struct run *run, const struct flagged *out[RUN_FLAGGED_MAX]);
/* Batches first ≤ ordinal < end as CSV, a column for each outermost phase. */
void batch_write(const struct scene *scene, uint64_t first, uint64_t end, struct buffer *out);

#endif
