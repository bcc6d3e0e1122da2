/* stream_tail.h: finds the end of a recording. */
#ifndef PMTOP_SAMPLES_STREAM_TAIL_H
#define PMTOP_SAMPLES_STREAM_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The time of the last complete block, headers excluded, within `bytes`, the end of a recording. False: there is
 * none. */
bool stream_tail_ns(const void *bytes, size_t length, int64_t *out);

#endif
