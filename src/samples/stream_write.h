/* stream_write.h: writes a recording. */
#ifndef PMTOP_SAMPLES_STREAM_WRITE_H
#define PMTOP_SAMPLES_STREAM_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "src/samples/stream.h"

struct buffer;
struct sample_set;

void stream_write_header(struct stream_writer *writer, const struct stream_header *header, struct buffer *out);

/* `kind` BLOCK_TICK or BLOCK_DICTIONARY. A set that does not fit into one block is split into several. */
void stream_write_set(
	struct stream_writer *writer, enum block_kind kind, const struct sample_set *set, struct buffer *out);
void stream_write_index(struct stream_writer *writer, const struct stream_entry *entries, size_t count, uint64_t offset,
	int64_t time_ns, struct buffer *out);
void stream_writer_release(struct stream_writer *writer);

#endif
