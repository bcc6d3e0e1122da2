#include "src/trace/reading/profile_input.h"

#include <stdlib.h>
#include <string.h>

#include "src/trace/reading/profile_source.h"
#include "src/trace/store/profile_token.h"

/* A chunk stays in the processor's cache. An event (or another value) that is larger than VALUE_MAX is refused. */
enum { CHUNK_SIZE = 256 << 10, VALUE_MAX = 64 << 20 };

static bool make_room(struct profile_input *input, size_t capacity)
{
	char *data = realloc(input->data, capacity + PROFILE_TOKEN_PADDING);
	if (!data) {
		input->failed = reason_set(&input->why_not, STATUS_NO_MEMORY, NULL, "out of memory");
		return false;
	}
	input->data = data;
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
	if (!make_room(input, CHUNK_SIZE))
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	seal(input);
	return STATUS_OK;
}

enum status profile_input_memory(struct profile_input *input, const void *bytes, size_t length)
{
	*input = (struct profile_input){ .is_end = true };
	if (!make_room(input, length + 1))
		return STATUS_NO_MEMORY;
	memcpy(input->data, bytes, length);
	input->length = length;
	seal(input);
	return STATUS_OK;
}

bool profile_input_fill(struct profile_input *input, size_t from)
{
	if (input->is_end || input->failed)
		return false;
	memmove(input->data, input->data + from, input->length - from);
	input->offset += from;
	input->length -= from;
	if (input->length > input->capacity / 2) {
		if (input->capacity >= VALUE_MAX) {
			input->failed = reason_set(
				&input->why_not, STATUS_UNSUPPORTED, NULL, "one value is larger than %d MB", VALUE_MAX >> 20);
			return false;
		}
		if (!make_room(input, input->capacity * 2))
			return false;
	}
	size_t got = profile_source_read(input->source, input->data + input->length, input->capacity - input->length);
	input->length += got;
	seal(input);
	if (!got) {
		input->is_end = true;
		input->failed = profile_source_failure(input->source, &input->why_not);
	}
	return got > 0;
}

void profile_input_close(struct profile_input *input)
{
	profile_source_close(input->source);
	free(input->data);
	*input = (struct profile_input){ 0 };
}
