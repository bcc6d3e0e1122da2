/* recording_late.h: a snapshot for whoever comes in the middle of a recording: all of it, but for a history that is
 * coarser than the first one. */
#ifndef PMTOP_PLAYBACK_RECORDING_LATE_H
#define PMTOP_PLAYBACK_RECORDING_LATE_H

#include "src/samples/sample_set.h"

/* Of a run's bins so many, and up to twice as many. */
enum { LATE_BINS_MIN = 64 };

/* Fills *out, which is empty; its texts are those of the snapshot. False: out of memory. */
bool recording_late(const struct sample_set *snapshot, struct sample_set *out);

#endif
