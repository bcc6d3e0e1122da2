/* stream_read.h: reads a recording. */
#ifndef PMTOP_SAMPLES_STREAM_READ_H
#define PMTOP_SAMPLES_STREAM_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/status.h"
#include "src/samples/stream.h"

struct sample_set;

struct stream_reader *stream_reader_new(void); /* NULL when out of memory */
void stream_reader_free(struct stream_reader *reader);
enum status stream_reader_feed(struct stream_reader *reader, const void *bytes, size_t length);

/* No more bytes will come: an incomplete block is damaged. */
void stream_reader_finish(struct stream_reader *reader);
/* Fills *set, which the caller owns and passes unchanged to every call, because a set may come in parts. *has_gap:
 * blocks were lost since the previous set. Sets come complete, once, and in the order in which they were written. Those
 * before the first header or dictionary are skipped, because they cannot be decoded without it. If the sender was
 * restarted for the same process, reading continues after a gap. */
enum stream_event stream_reader_next(struct stream_reader *reader, struct sample_set *set, bool *has_gap);
const struct stream_header *stream_reader_header(const struct stream_reader *reader); /* NULL: none yet */
const struct stream_losses *stream_reader_losses(const struct stream_reader *reader);
const char *stream_reader_refusal(const struct stream_reader *reader);

#endif
