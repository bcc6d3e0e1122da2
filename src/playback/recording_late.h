/* recording_late.h: makes a smaller snapshot for dictionaries within a recording: complete, but with a coarser history
 * than the first. */
#ifndef PMTOP_PLAYBACK_RECORDING_LATE_H
#define PMTOP_PLAYBACK_RECORDING_LATE_H

#include "src/samples/sample_set.h"

/* A run's history keeps from this many bins up to twice as many. */
enum { LATE_BINS_MIN = 64 };

/* Fills *out, which must be empty; it points to the texts of the snapshot. Returns false when out of memory. */
bool recording_late(const struct sample_set *snapshot, struct sample_set *out);

#endif
