/* codec_read.h: reads records in the format of recordings. */
#ifndef PMTOP_SAMPLES_CODEC_READ_H
#define PMTOP_SAMPLES_CODEC_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codec_numbers;
struct sample_set;

/* False: malformed. */
bool codec_read_numbers(const unsigned char *bytes, size_t length, struct codec_numbers *out);
/* The identity mapping, for records encoded by this program. */
void codec_own_numbers(struct codec_numbers *out);
/* Decodes `bytes` and appends the records to the set. False: the bytes are truncated or malformed; the records before
 * the fault are in the set. The number of skipped records is added to *unknown. */
bool codec_read(const unsigned char *bytes, size_t length, const struct codec_numbers *numbers, int64_t time_ns,
	struct sample_set *set, uint64_t *unknown);

#endif
