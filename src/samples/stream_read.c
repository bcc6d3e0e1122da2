#include <stdio.h>
#include <stdlib.h>

#include "src/base/crc32c.h"
#include "src/samples/bytes.h"
#include "src/samples/codec.h"
#include "src/samples/stream.h"
#include "src/samples/stream_private.h"

struct block {
	uint16_t kind, flags;
	uint64_t number, dictionary;
	int64_t time_ns;
	uint32_t length, crc;
	const unsigned char *payload;
};

struct stream_reader {
	struct buffer bytes;
	size_t at;                           /* of bytes: what lies before was read */
	bool is_finished;
	bool has_header, has_dictionary, has_gap, is_begun;
	uint64_t next;                       /* number of the block that should come */
	bool goes_on;                        /* the set of the last block is not whole */
	struct stream_header header;
	struct codec_numbers numbers;
	struct stream_losses losses;
	struct reason refusal;
};

struct stream_reader *stream_reader_new(void)
{
	return calloc(1, sizeof(struct stream_reader));
}

void stream_reader_free(struct stream_reader *reader)
{
	if (!reader)
		return;
	buffer_release(&reader->bytes);
	free(reader);
}

enum status stream_reader_feed(struct stream_reader *reader, const void *bytes, size_t length)
{
	struct buffer *kept = &reader->bytes;
	if (reader->at > 0) {
		memmove(kept->data, kept->data + reader->at, kept->length - reader->at);
		kept->length -= reader->at;
		reader->at = 0;
	}
	buffer_add(kept, bytes, length);
	return kept->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

void stream_reader_finish(struct stream_reader *reader)
{
	reader->is_finished = true;
}

/* -- blocks -- */

enum found { FOUND_BLOCK, FOUND_NONE, FOUND_TOO_LITTLE };

static enum found look_at(const unsigned char *at, size_t left, struct block *block)
{
	struct bytes head = { at, at + (left < STREAM_BLOCK_HEAD ? left : STREAM_BLOCK_HEAD), false };
	if (left >= 4 && get_little(&head, 4) != BLOCK_MAGIC)
		return FOUND_NONE;
	if (left < STREAM_BLOCK_HEAD)
		return FOUND_TOO_LITTLE;
	block->kind = (uint16_t)get_little(&head, 2);
	block->flags = (uint16_t)get_little(&head, 2);
	block->number = get_little(&head, 8);
	block->dictionary = get_little(&head, 8);
	block->time_ns = (int64_t)get_little(&head, 8);
	block->length = (uint32_t)get_little(&head, 4);
	block->crc = (uint32_t)get_little(&head, 4);
	block->payload = at + STREAM_BLOCK_HEAD;
	if (block->length > STREAM_PAYLOAD_MOST)
		return FOUND_NONE;
	if (left - STREAM_BLOCK_HEAD < block->length)
		return FOUND_TOO_LITTLE;
	return crc32c(crc32c(0, at, BLOCK_CRC_AT), block->payload, block->length) == block->crc ? FOUND_BLOCK : FOUND_NONE;
}

/* From the next byte that could begin one. */
static void step_over(struct stream_reader *reader)
{
	static const char magic[] = "pmtB";
	size_t from = reader->at + 1, left = reader->bytes.length - from;
	const char *begin = reader->bytes.data + from, *next = memmem(begin, left, magic, sizeof magic - 1);
	/* The end may hold the first bytes of one. */
	size_t tail = left < 3 ? left : 3;
	size_t skipped = 1 + (next ? (size_t)(next - begin) : left - tail);
	reader->losses.bytes += skipped;
	reader->at += skipped;
}

static bool next_block(struct stream_reader *reader, struct block *block)
{
	while (reader->at < reader->bytes.length) {
		const unsigned char *at = (const unsigned char *)reader->bytes.data + reader->at;
		enum found found = look_at(at, reader->bytes.length - reader->at, block);
		if (found == FOUND_BLOCK) {
			reader->at += STREAM_BLOCK_HEAD + block->length;
			return true;
		}
		if (found == FOUND_TOO_LITTLE && !reader->is_finished)
			return false;
		step_over(reader);
	}
	return false;
}

/* -- what is in them -- */

static void get_text(struct bytes *bytes, char *out, size_t size)
{
	const unsigned char *text = get_bytes(bytes, size);
	if (text)
		memcpy(out, text, size);
	out[size - 1] = '\0';
}

static enum stream_event take_header(struct stream_reader *reader, const struct block *block)
{
	struct bytes bytes = { block->payload, block->payload + block->length, false };
	struct stream_header header = { .major = (uint16_t)get_little(&bytes, 2), .minor = (uint16_t)get_little(&bytes, 2), .incompatible = (uint32_t)get_little(&bytes, 4) };
	if (header.major != STREAM_MAJOR || header.incompatible) {
		reason_set(&reader->refusal, STATUS_UNSUPPORTED, NULL, "recording of version %u.%u%s: this pmtop reads version %d", header.major, header.minor,
			header.incompatible ? " with features unknown here" : "", STREAM_MAJOR);
		return STREAM_REFUSED;
	}
	const unsigned char *uuid = get_bytes(&bytes, sizeof header.uuid);
	if (uuid)
		memcpy(header.uuid, uuid, sizeof header.uuid);
	get_text(&bytes, header.boot_id, sizeof header.boot_id);
	get_text(&bytes, header.host, sizeof header.host);
	get_text(&bytes, header.version, sizeof header.version);
	get_text(&bytes, header.command, sizeof header.command);
	header.pid = (int32_t)get_little(&bytes, 4);
	header.start_ticks = get_little(&bytes, 8);
	header.monotonic_ns = (int64_t)get_little(&bytes, 8);
	header.realtime_ns = (int64_t)get_little(&bytes, 8);
	header.boottime_ns = (int64_t)get_little(&bytes, 8);
	struct codec_numbers numbers;
	if (bytes.failed || !codec_read_numbers(bytes.at, (size_t)(bytes.end - bytes.at), &numbers))
		return STREAM_WAIT;
	bool is_first = !reader->has_header;
	reader->header = header;
	reader->numbers = numbers;
	reader->has_header = true;
	return is_first ? STREAM_HEADED : STREAM_WAIT;
}

static void count_number(struct stream_reader *reader, const struct block *block)
{
	if (reader->is_begun && block->number > reader->next)
		reader->losses.blocks += block->number - reader->next;
	reader->has_gap |= reader->is_begun && block->number != reader->next;
	reader->next = block->number + 1;
	reader->is_begun = true;
}

/* Whether the set is whole now. */
static bool take_set(struct stream_reader *reader, const struct block *block, struct sample_set *set)
{
	set->time_ns = block->time_ns;
	set->source = "stream";
	set->failed |= block->flags & BLOCK_SET_FAILED;
	if (!codec_read(block->payload, block->length, &reader->numbers, block->time_ns, set, &reader->losses.records))
		reader->has_gap = true;
	return !(block->flags & BLOCK_GOES_ON);
}

enum stream_event stream_reader_next(struct stream_reader *reader, struct sample_set *set, bool *has_gap)
{
	struct block block;
	if (!reader->goes_on)
		sample_set_clear(set);
	while (next_block(reader, &block)) {
		bool had_gap = reader->has_gap;
		count_number(reader, &block);
		/* The rest of a set is lost: this block begins another one. */
		if (reader->goes_on && reader->has_gap && !had_gap)
			sample_set_clear(set);
		reader->goes_on = false;
		if (block.kind == BLOCK_HEADER) {
			enum stream_event event = take_header(reader, &block);
			if (event != STREAM_WAIT)
				return event;
			continue;
		}
		if (block.kind == BLOCK_INDEX)
			return STREAM_INDEXED;
		bool is_dictionary = block.kind == BLOCK_DICTIONARY;
		if (!reader->has_header || (!is_dictionary && (block.kind != BLOCK_TICK || !reader->has_dictionary)))
			continue;
		if (!take_set(reader, &block, set)) {
			reader->goes_on = true;
			continue;
		}
		reader->has_dictionary |= is_dictionary;
		*has_gap = reader->has_gap;
		reader->has_gap = false;
		return is_dictionary ? STREAM_DICTIONARY : STREAM_TICK;
	}
	return reader->is_finished ? STREAM_END : STREAM_WAIT;
}

const struct stream_header *stream_reader_header(const struct stream_reader *reader)
{
	return reader->has_header ? &reader->header : NULL;
}

const struct stream_losses *stream_reader_losses(const struct stream_reader *reader)
{
	return &reader->losses;
}

const char *stream_reader_refusal(const struct stream_reader *reader)
{
	return reader->refusal.text;
}
