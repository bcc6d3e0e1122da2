#include "src/playback/repair_survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/samples/codec.h"
#include "src/samples/stream_block.h"

enum { BLOCK_MAX = STREAM_BLOCK_HEAD + STREAM_PAYLOAD_MAX, WINDOW = 4 * BLOCK_MAX };

/* The file as it is read: some of its bytes. */
struct window {
	int fd;
	unsigned char *bytes;
	uint64_t offset; /* of the first, in the file */
	size_t at, length;
	bool is_last;
};

static enum status fill(struct window *window, const char *name, struct reason *why_not)
{
	memmove(window->bytes, window->bytes + window->at, window->length - window->at);
	window->offset += window->at;
	window->length -= window->at;
	window->at = 0;
	while (window->length < WINDOW && !window->is_last) {
		ssize_t length = pread(window->fd, window->bytes + window->length, WINDOW - window->length,
			(off_t)(window->offset + window->length));
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return reason_set(why_not, STATUS_IO, NULL, "cannot read %s: %s", name, strerror(errno));
		window->is_last = length == 0;
		window->length += (size_t)length;
	}
	return STATUS_OK;
}

static void *grow(void *rows, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return rows;
	size_t more = *room ? *room * 2 : 256;
	void *larger = realloc(rows, more * size);
	*room = larger ? more : *room;
	return larger;
}

static bool add_piece(struct survey *survey, const struct piece *piece)
{
	struct piece *pieces = grow(survey->pieces, survey->count, &survey->room, sizeof *pieces);
	if (!pieces)
		return false;
	survey->pieces = pieces;
	survey->moved += survey->count && pieces[survey->count - 1].number > piece->number;
	pieces[survey->count++] = *piece;
	return true;
}

static bool add_loss(struct survey *survey, uint64_t blocks, int64_t from_ns, int64_t to_ns)
{
	struct loss *losses = grow(survey->losses, survey->loss_count, &survey->loss_room, sizeof *losses);
	if (!losses)
		return false;
	survey->losses = losses;
	losses[survey->loss_count++] = (struct loss){ blocks, from_ns, to_ns };
	survey->lost += blocks;
	return true;
}

/* Returns false if another recording begins here. */
static bool read_header(struct survey *survey, const struct stream_block *block, struct reason *why_not)
{
	struct stream_header header;
	struct codec_numbers numbers;
	if (!stream_block_header(block, &header, &numbers, why_not))
		return true;
	if (survey->has_header)
		return memcmp(header.uuid, survey->header.uuid, sizeof header.uuid) == 0;
	survey->header = header;
	survey->has_header = true;
	return true;
}

static uint64_t little(const unsigned char *at)
{
	uint64_t value = 0;
	for (int i = 7; i >= 0; i--)
		value = value << 8 | at[i];
	return value;
}

/* The index has the number after the last block, so it shows how many blocks there were. */
static enum status take_block(struct survey *survey, struct window *window, const struct stream_block *block,
	int64_t *index_ns, struct reason *why_not)
{
	struct piece piece = { block->number, window->offset + window->at, block->time_ns,
		STREAM_BLOCK_HEAD + block->length, block->kind, block->flags };
	bool is_index = block->kind == BLOCK_INDEX && block->length >= 16;
	survey->has_index = is_index && little(block->payload + block->length - 8) == piece.offset;
	survey->is_index_off = is_index && !survey->has_index;
	if (block->kind == BLOCK_HEADER && !read_header(survey, block, why_not)) {
		survey->other_at = piece.offset;
		return STATUS_END;
	}
	if (why_not->text[0])
		return STATUS_UNSUPPORTED;
	window->at += piece.length;
	if (block->kind == BLOCK_INDEX) {
		survey->next = block->number;
		*index_ns = block->time_ns;
		return STATUS_OK;
	}
	return add_piece(survey, &piece) ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status scan(
	struct survey *survey, struct window *window, int64_t *index_ns, const char *name, struct reason *why_not)
{
	enum status status = fill(window, name, why_not);
	while (status == STATUS_OK && (window->at < window->length || !window->is_last)) {
		struct stream_block block;
		const unsigned char *at = window->bytes + window->at;
		size_t left = window->length - window->at;
		if (left < BLOCK_MAX && !window->is_last) {
			status = fill(window, name, why_not);
			continue;
		}
		if (stream_block_at(at, left, &block) == STREAM_FOUND) {
			status = take_block(survey, window, &block, index_ns, why_not);
			continue;
		}
		size_t skipped = stream_block_skip(at, left);
		survey->stray_bytes += skipped;
		survey->has_index = survey->is_index_off = false;
		window->at += skipped;
	}
	return status == STATUS_END ? STATUS_OK : status;
}

static int by_number(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void order(struct survey *survey)
{
	size_t retained = 0;
	if (survey->moved)
		qsort(survey->pieces, survey->count, sizeof *survey->pieces, by_number);
	for (size_t i = 0; i < survey->count; i++) {
		if (retained && survey->pieces[retained - 1].number == survey->pieces[i].number)
			survey->doubled++;
		else
			survey->pieces[retained++] = survey->pieces[i];
	}
	survey->count = retained;
	survey->moved = survey->moved > survey->doubled ? survey->moved - survey->doubled : 0;
}

static bool account(struct survey *survey, int64_t index_ns)
{
	const struct piece *pieces = survey->pieces, *last = &pieces[survey->count - 1];
	bool is_good = true;
	/* A file begins with a header block. A later file of --rotate begins with any number. */
	if (pieces[0].kind != BLOCK_HEADER) {
		uint64_t fit = survey->stray_bytes / STREAM_BLOCK_HEAD;
		is_good = add_loss(survey, pieces[0].number && pieces[0].number <= fit ? pieces[0].number : 1,
			pieces[0].time_ns, pieces[0].time_ns);
	}
	for (size_t i = 1; i < survey->count && is_good; i++)
		if (pieces[i].number > pieces[i - 1].number + 1)
			is_good =
				add_loss(survey, pieces[i].number - pieces[i - 1].number - 1, pieces[i - 1].time_ns, pieces[i].time_ns);
	if (is_good && survey->next > last->number + 1)
		is_good = add_loss(survey, survey->next - last->number - 1, last->time_ns, index_ns);
	if (survey->next <= last->number)
		survey->next = last->number + 1;
	for (size_t i = 0; i < survey->count && pieces[i].kind != BLOCK_DICTIONARY; i++)
		survey->undated += pieces[i].kind != BLOCK_HEADER;
	return is_good;
}

enum status survey_file(int fd, const char *name, struct survey *out, struct reason *why_not)
{
	struct survey survey = { .count = 0 };
	struct window window = { .fd = fd, .bytes = malloc(WINDOW) };
	int64_t index_ns = 0;
	enum status status = window.bytes ? scan(&survey, &window, &index_ns, name, why_not) : STATUS_NO_MEMORY;
	free(window.bytes);
	if (status == STATUS_OK && survey.count) {
		order(&survey);
		status = account(&survey, index_ns) ? STATUS_OK : STATUS_NO_MEMORY;
	}
	if (status == STATUS_NO_MEMORY)
		reason_set(why_not, status, NULL, "out of memory");
	if (status == STATUS_OK && !survey.has_header)
		status = survey.count
			? reason_set(why_not, STATUS_DAMAGED, "it cannot be repaired",
				  "%s has %zu blocks, but no header, without which they cannot be read", name, survey.count)
			: reason_set(why_not, STATUS_DAMAGED, "record one with pmtop -p PID -w FILE",
				  "%s is not a recording of pmtop, or has no intact block", name);
	struct reason why = *why_not;
	if (status == STATUS_UNSUPPORTED)
		reason_set(why_not, status, "use the pmtop that recorded it, or a newer one", "%s: %s", name, why.text);
	if (status == STATUS_OK)
		*out = survey;
	else
		survey_release(&survey);
	return status;
}

void survey_release(struct survey *survey)
{
	free(survey->pieces);
	free(survey->losses);
	*survey = (struct survey){ .count = 0 };
}
