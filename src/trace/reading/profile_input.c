#include "src/trace/reading/profile_input.h"

#include <stdlib.h>
#include <string.h>

#include "src/trace/reading/profile_source.h"
#include "src/trace/store/profile_token.h"

/* An event (or another value) that is larger is refused. */
enum { VALUE_MAX = 32 << 20 };

static bool make_room(struct profile_input *input, size_t size)
{
	size_t capacity = input->capacity ? input->capacity : 256 << 10;
	while (capacity < size)
		capacity *= 2;
	char *buffer =
		capacity == input->capacity ? input->buffer : realloc(input->buffer, capacity + PROFILE_TOKEN_PADDING);
	if (!buffer) {
		input->failed = reason_set(&input->why_not, STATUS_NO_MEMORY, NULL, "out of memory");
		return false;
	}
	if (input->data == input->buffer)
		input->data = buffer;
	input->buffer = buffer;
	input->capacity = capacity;
	return true;
}

static void seal(struct profile_input *input)
{
	memset(input->data + input->length, 0, PROFILE_TOKEN_PADDING);
	input->data[input->length] = '#';
}

enum status profile_input_open(
	struct profile_input *input, const char *path, struct profile_progress *progress, struct reason *why_not)
{
	*input = (struct profile_input){ 0 };
	enum status status = profile_source_open(&input->source, path, progress, why_not);
	if (status != STATUS_OK)
		return status;
	input->is_compressed = profile_source_is_compressed(input->source);
	if (!make_room(input, 0))
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	seal(input);
	return STATUS_OK;
}

enum status profile_input_memory(struct profile_input *input, const void *bytes, size_t length)
{
	*input = (struct profile_input){ .is_end = true };
	if (!make_room(input, length))
		return STATUS_NO_MEMORY;
	memcpy(input->data, bytes, length);
	input->length = length;
	seal(input);
	return STATUS_OK;
}

/* The text from `from` on, and a block behind it, in memory of its own. */
static bool join(struct profile_input *input, size_t from, const char *block, size_t size)
{
	size_t left = input->length - from;
	if (left > VALUE_MAX) {
		input->failed =
			reason_set(&input->why_not, STATUS_UNSUPPORTED, NULL, "one value is larger than %d MB", VALUE_MAX >> 20);
		return false;
	}
	if (!make_room(input, left + size))
		return false;
	memmove(input->buffer, input->data + from, left);
	memcpy(input->buffer + left, block, size);
	input->data = input->buffer;
	return true;
}

bool profile_input_fill(struct profile_input *input, size_t from)
{
	if (input->is_end || input->failed)
		return false;
	char *block;
	size_t left = input->length - from, got = profile_source_next(input->source, &block);
	if (!got) {
		input->is_end = true;
		input->failed = profile_source_failure(input->source, &input->why_not);
		return false;
	}
	bool is_in_place = left <= PROFILE_SOURCE_ROOM_BEFORE;
	if (is_in_place)
		input->data = memcpy(block - left, input->data + from, left);
	else if (!join(input, from, block, got))
		return false;
	if (input->has_block)
		profile_source_release(input->source);
	if (!is_in_place)
		profile_source_release(input->source);
	input->has_block = is_in_place;
	input->offset += from;
	input->length = left + got;
	seal(input);
	return true;
}

void profile_input_close(struct profile_input *input)
{
	profile_source_close(input->source);
	free(input->buffer);
	*input = (struct profile_input){ 0 };
}
