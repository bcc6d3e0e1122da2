/* baseline.h: the median step of a kind, which a batch is compared with. */
#ifndef PMTOP_MODEL_RUN_STEPS_BASELINE_H
#define PMTOP_MODEL_RUN_STEPS_BASELINE_H

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct phase_row;
struct track;

/* The baseline of the batch with this ordinal. */
void track_baseline(const struct track *track, uint64_t ordinal, struct baseline *out);
size_t track_phases(const struct track *track, size_t last, struct phase_row *out, size_t max, size_t *batches);

#endif
