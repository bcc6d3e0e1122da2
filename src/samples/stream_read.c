#include "src/samples/stream_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/samples/codec.h"
#include "src/samples/codec_read.h"
#include "src/samples/stream.h"
#include "src/samples/stream_block.h"

/* Limits the bytes spent on checksums of invalid blocks: a stream crafted of such blocks is rejected. Ordinary damage
 * stays far below the limit. */
enum { WASTE_FREE = 64 << 20, WASTE_FACTOR = 16, AHEAD_MAX = 32 };

struct stream_reader {
	struct buffer bytes;
	size_t at;            /* offset in `bytes` of the first unread byte */
	uint64_t fed, wasted; /* bytes received; bytes checksummed in vain */
	bool is_finished;
	bool has_header, has_dictionary, has_gap;
	/* a block came after the header; the header may have been copied from elsewhere */
	bool is_begun;
	uint64_t next; /* expected number of the next block */
	bool has_copy; /* the latest set is a dictionary, of copied_ns; a copy of it may follow */
	int64_t copied_ns;
	unsigned parts; /* blocks of the set that is still incomplete */
	uint16_t parts_kind;
	struct stream_header header;
	struct codec_numbers numbers;
	struct stream_losses losses;
	struct reason refusal;
};

struct stream_reader *stream_reader_new(void) { return calloc(1, sizeof(struct stream_reader)); }

void stream_reader_free(struct stream_reader *reader)
{
	if (!reader)
		return;
	buffer_release(&reader->bytes);
	free(reader);
}

enum status stream_reader_feed(struct stream_reader *reader, const void *bytes, size_t length)
{
	struct buffer *retained = &reader->bytes;
	if (reader->at > 0) {
		memmove(retained->data, retained->data + reader->at, retained->length - reader->at);
		retained->length -= reader->at;
		reader->at = 0;
	}
	buffer_add(retained, bytes, length);
	reader->fed += length;
	return retained->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

void stream_reader_finish(struct stream_reader *reader) { reader->is_finished = true; }

/* -- blocks -- */

static bool next_block(struct stream_reader *reader, struct stream_block *block)
{
	while (reader->at < reader->bytes.length && !reader->refusal.text[0]) {
		const unsigned char *at = (const unsigned char *)reader->bytes.data + reader->at;
		size_t left = reader->bytes.length - reader->at;
		enum stream_found found = stream_block_at(at, left, block);
		if (found == STREAM_FOUND) {
			reader->at += STREAM_BLOCK_HEAD + block->length;
			return true;
		}
		if (found == STREAM_FOUND_PART && !reader->is_finished)
			return false;
		size_t skipped = stream_block_skip(at, left);
		reader->losses.bytes += skipped;
		reader->at += skipped;
		reader->wasted += block->length;
		if (reader->wasted > WASTE_FREE && reader->wasted / WASTE_FACTOR > reader->fed)
			reason_set(&reader->refusal, STATUS_DAMAGED, NULL, "not a pmtop recording");
	}
	return false;
}

enum order { IN_ORDER, OUT_OF_ORDER, UNDECIDED };

/* Decides about a block with a number higher than expected: blocks before it were lost, or it was moved or duplicated.
 * Looks ahead at the blocks available: does a longer increasing sequence of numbers exist with it or without it? */
static enum order read_ahead(struct stream_reader *reader, const struct stream_block *block)
{
	struct stream_block after;
	uint64_t numbers[AHEAD_MAX] = { block->number };
	size_t count = 1, at = reader->at, longest[AHEAD_MAX], without = 0;
	const struct stream_losses losses = reader->losses;
	bool is_alone = true;
	while (count < AHEAD_MAX && next_block(reader, &after)) {
		is_alone = false;
		if (after.number >= reader->next)
			numbers[count++] = after.number;
	}
	reader->at = at;
	reader->losses = losses;
	if (is_alone && !reader->is_finished)
		return UNDECIDED;
	for (size_t i = count; i-- > 0;) {
		longest[i] = 1;
		for (size_t k = i + 1; k < count; k++)
			if (numbers[k] > numbers[i] && longest[k] >= longest[i])
				longest[i] = longest[k] + 1;
		if (i && longest[i] > without)
			without = longest[i];
	}
	return longest[0] > without ? IN_ORDER : OUT_OF_ORDER;
}

/* The next block in sequence, or a repeated header. */
static bool next_in_order(struct stream_reader *reader, struct stream_block *block)
{
	while (next_block(reader, block)) {
		bool is_header = block->kind == BLOCK_HEADER, is_late = reader->is_begun && block->number < reader->next;
		if (!reader->has_header || is_late) {
			if (is_header)
				return true;
			reader->losses.blocks += !reader->has_header && !is_late;
			continue;
		}
		enum order order = block->number > reader->next ? read_ahead(reader, block) : IN_ORDER;
		if (order == IN_ORDER)
			return true;
		if (order == UNDECIDED) {
			reader->at -= STREAM_BLOCK_HEAD + block->length;
			return false;
		}
	}
	return false;
}

static void lose_parts(struct stream_reader *reader)
{
	reader->losses.blocks += reader->parts;
	reader->has_gap |= reader->parts > 0;
	reader->parts = 0;
}

/* The index does not use up a number: the next file continues with it. */
static void count_number(struct stream_reader *reader, const struct stream_block *block)
{
	bool is_header = block->kind == BLOCK_HEADER;
	if (reader->has_header && block->number > reader->next) {
		reader->losses.blocks += block->number - reader->next;
		reader->has_gap = true;
		lose_parts(reader);
	}
	if (!reader->has_header || block->number >= reader->next || (!reader->is_begun && !is_header))
		reader->next = block->number + (block->kind != BLOCK_INDEX);
	reader->is_begun |= !is_header;
}

/* -- what is in them -- */

static bool is_same_process(const struct stream_header *a, const struct stream_header *b)
{
	return strcmp(a->boot_id, b->boot_id) == 0 && strcmp(a->host, b->host) == 0 && a->pid == b->pid &&
		a->start_ticks == b->start_ticks;
}

static enum stream_event take_header(struct stream_reader *reader, const struct stream_block *block)
{
	struct stream_header header;
	struct codec_numbers numbers;
	bool is_first = !reader->has_header, is_good = stream_block_header(block, &header, &numbers, &reader->refusal);
	bool is_other = is_good && !is_first && memcmp(header.uuid, reader->header.uuid, sizeof header.uuid) != 0;
	if (is_other && !is_same_process(&header, &reader->header))
		reason_set(&reader->refusal, STATUS_UNSUPPORTED, NULL,
			"another recording (pid %d on %s) follows and is left out", (int)header.pid, header.host);
	if (reader->refusal.text[0])
		return STREAM_REFUSED;
	if (is_other) {
		lose_parts(reader);
		reader->has_gap = true;
		reader->has_dictionary = false;
		reader->next = block->number;
	}
	count_number(reader, block);
	if (!is_good)
		return STREAM_WAIT;
	reader->header = header;
	reader->numbers = numbers;
	reader->has_header = true;
	return is_first ? STREAM_HEADED : STREAM_WAIT;
}

enum taken { SET_WHOLE, SET_GOES_ON, SET_LEFT_OUT };

static enum taken take_set(struct stream_reader *reader, const struct stream_block *block, struct sample_set *set)
{
	bool continues = block->flags & BLOCK_CONTINUES;
	if (reader->parts && (!continues || block->kind != reader->parts_kind))
		lose_parts(reader);
	if (continues && !reader->parts) {
		reader->losses.blocks++;
		reader->has_gap = true;
		return SET_LEFT_OUT;
	}
	if (!continues)
		sample_set_clear(set);
	set->time_ns = block->time_ns > CODEC_TIME_MAX || block->time_ns < -CODEC_TIME_MAX ? 0 : block->time_ns;
	set->source = "stream";
	set->failed |= block->flags & BLOCK_SET_FAILED;
	if (!codec_read(block->payload, block->length, &reader->numbers, block->time_ns, set, &reader->losses.records))
		reader->has_gap = set->failed = true;
	reader->parts++;
	reader->parts_kind = block->kind;
	if (block->flags & BLOCK_GOES_ON)
		return SET_GOES_ON;
	reader->parts = 0;
	return SET_WHOLE;
}

enum stream_event stream_reader_next(struct stream_reader *reader, struct sample_set *set, bool *has_gap)
{
	struct stream_block block;
	if (!reader->parts)
		sample_set_clear(set);
	while (next_in_order(reader, &block)) {
		if (block.kind == BLOCK_HEADER) {
			enum stream_event event = take_header(reader, &block);
			if (event != STREAM_WAIT)
				return event;
			continue;
		}
		count_number(reader, &block);
		if (block.kind == BLOCK_INDEX)
			return STREAM_INDEXED;
		bool is_dictionary = block.kind == BLOCK_DICTIONARY, is_tick = block.kind == BLOCK_TICK;
		if (!is_dictionary && (!is_tick || !reader->has_dictionary)) {
			reader->losses.blocks += is_tick;
			continue;
		}
		if (is_dictionary && reader->has_copy && block.time_ns == reader->copied_ns)
			continue;
		if (take_set(reader, &block, set) != SET_WHOLE)
			continue;
		reader->has_dictionary |= is_dictionary;
		reader->has_copy = is_dictionary;
		reader->copied_ns = block.time_ns;
		*has_gap = reader->has_gap;
		reader->has_gap = false;
		return is_dictionary ? STREAM_DICTIONARY : STREAM_TICK;
	}
	if (reader->refusal.text[0])
		return STREAM_REFUSED;
	if (reader->is_finished)
		lose_parts(reader);
	return reader->is_finished ? STREAM_END : STREAM_WAIT;
}

const struct stream_header *stream_reader_header(const struct stream_reader *reader)
{
	return reader->has_header ? &reader->header : NULL;
}

const struct stream_losses *stream_reader_losses(const struct stream_reader *reader) { return &reader->losses; }

const char *stream_reader_refusal(const struct stream_reader *reader) { return reader->refusal.text; }
