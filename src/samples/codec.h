/* codec.h: a sample set as bytes, and back: nothing lost, nothing added. What lies in a block of a stream (stream.h).
 *
 * A record: its kind, the length of the rest, which of run, lane, sequence and time differ from what follows from the
 * record before, then its fields (layout.h). Kinds and metrics have the numbers that the stream's header names, so that
 * lists may grow anywhere; what a reader does not know it steps over by the length. Each block is decoded on its
 * own. */
#ifndef PMTOP_SAMPLES_CODEC_H
#define PMTOP_SAMPLES_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/samples/sample_set.h"

#define CODEC_TIME_MAX (INT64_C(1) << 61)
/* A set of more bytes is cut: its last records are left out, and it has failed. */
enum { CODEC_NUMBERS_MAX = 512, CODEC_SET_MAX = 256 << 20 };

/* What the numbers of a stream mean here; −1 = not known. */
struct codec_numbers {
	int16_t kinds[CODEC_NUMBERS_MAX], metrics[CODEC_NUMBERS_MAX];
};

/* The names of all kinds and metrics, in the order of their numbers. */
void codec_write_numbers(struct buffer *out);
/* False: it makes no sense. */
bool codec_read_numbers(const unsigned char *bytes, size_t length, struct codec_numbers *out);
/* Those of this version. */
void codec_own_numbers(struct codec_numbers *out);

/* Appends records from `from` on, until the payload has `most` bytes or all are written. Returns the first that is not
 * written. */
size_t codec_write(const struct sample_set *set, size_t from, size_t max, struct buffer *out);
/* Appends what `bytes` holds to the set. False: the bytes end in the middle of something, or make no sense; what stood
 * before that is in the set. *unknown: records that were stepped over are added to it. */
bool codec_read(const unsigned char *bytes, size_t length, const struct codec_numbers *numbers, int64_t time_ns,
	struct sample_set *set, uint64_t *unknown);

#endif
