/* codec_write.h: writes records in the format of recordings. */
#ifndef PMTOP_SAMPLES_CODEC_WRITE_H
#define PMTOP_SAMPLES_CODEC_WRITE_H

#include <stddef.h>

struct buffer;
struct sample_set;

/* Writes the names of all kinds and metrics, in the order of their numbers. */
void codec_write_numbers(struct buffer *out);
/* Appends records from index `from` on, until `max` bytes or more are written or no record is left. Returns the index
 * of the first record not written. */
size_t codec_write(const struct sample_set *set, size_t from, size_t max, struct buffer *out);

#endif
