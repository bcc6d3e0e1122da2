/* codec.h: encodes sample sets losslessly, and decodes them. This is the payload of a stream's blocks (stream.h).
 *
 * A record is: its kind; the length of the rest; a mask of which of run, lane, sequence and time differ from those
 * predicted by the record before, and these; its fields (layout.h). The stream's header maps the numbers of kinds and
 * metrics to names, so the lists may grow anywhere. A reader skips unknown kinds by their length. Each block is decoded
 * independently. */
#ifndef PMTOP_SAMPLES_CODEC_H
#define PMTOP_SAMPLES_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/samples/sample_set.h"

#define CODEC_TIME_MAX (INT64_C(1) << 61)
/* CODEC_SET_MAX: a decoded set that would need more bytes loses its last records, and `failed` is set. */
enum { CODEC_NUMBERS_MAX = 512, CODEC_SET_MAX = 256 << 20 };

/* Maps the numbers of a stream to those of this program; −1 = unknown. */
struct codec_numbers {
	int16_t kinds[CODEC_NUMBERS_MAX], metrics[CODEC_NUMBERS_MAX];
};

/* Writes the names of all kinds and metrics, in the order of their numbers. */
void codec_write_numbers(struct buffer *out);
/* False: malformed. */
bool codec_read_numbers(const unsigned char *bytes, size_t length, struct codec_numbers *out);
/* The identity mapping, for records encoded by this program. */
void codec_own_numbers(struct codec_numbers *out);

/* Appends records from index `from` on, until `max` bytes or more are written or no record is left. Returns the index
 * of the first record not written. */
size_t codec_write(const struct sample_set *set, size_t from, size_t max, struct buffer *out);
/* Decodes `bytes` and appends the records to the set. False: the bytes are truncated or malformed; the records before
 * the fault are in the set. The number of skipped records is added to *unknown. */
bool codec_read(const unsigned char *bytes, size_t length, const struct codec_numbers *numbers, int64_t time_ns,
	struct sample_set *set, uint64_t *unknown);

#endif
