/* tracks.h: the batches of each mode in their ring: found, appended, taken back. */
#ifndef PMTOP_MODEL_RUN_STEPS_TRACKS_H
#define PMTOP_MODEL_RUN_STEPS_TRACKS_H

#include <stdint.h>

#include "src/model/run/run.h"

extern const struct figures no_figures;
uint32_t run_mode_of(const struct run *run, uint32_t id);             /* "train" and nothing are one */
struct track *run_track(struct run *run, uint32_t mode, bool create); /* NULL: none, or no room */
void track_init_empty(struct track *track);
void track_release(struct track *track);
/* The next batch has this number; those up to it are not stored. */
void track_skip_to(struct track *track, uint64_t ordinal);
struct batch *track_append(struct track *track, uint64_t ordinal); /* NULL: not stored */
struct batch *track_slot(struct track *track, uint64_t ordinal);
/* As if the batch had never been appended. */
void track_take_back(struct track *track, uint64_t ordinal);

struct batch;
struct track;

/* NULL: not retained any more, or not yet there. */
const struct batch *track_batch(const struct track *track, uint64_t ordinal);

#endif
