#include "src/trace/profile_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "src/base/files/file.h"
#include "src/trace/profile_token.h"

/* A chunk stays in the processor's cache. An event (or another value) that is larger than VALUE_MAX is refused. */
enum { CHUNK_SIZE = 256 << 10, VALUE_MAX = 64 << 20 };

struct profile_gzip {
	z_stream stream;
	bool is_open, is_end;
	unsigned char in[64 << 10];
};

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

static ssize_t read_plain(struct profile_input *input, char *out, size_t size)
{
	ssize_t got;
	do
		got = read(input->fd, out, size);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		input->failed =
			reason_set(&input->why_not, status_of_errno(errno), NULL, "cannot read on: %s", strerror(errno));
	return got;
}

/* One member of the gzip file ended: another may follow. */
static bool next_member(struct profile_gzip *gzip) { return inflateReset(&gzip->stream) == Z_OK; }

static ssize_t read_gzip(struct profile_input *input, char *out, size_t size)
{
	struct profile_gzip *gzip = input->gzip;
	gzip->stream.next_out = (unsigned char *)out;
	gzip->stream.avail_out = (unsigned)size;
	while (gzip->stream.avail_out == size && !gzip->is_end) {
		if (!gzip->stream.avail_in) {
			ssize_t got = read_plain(input, (char *)gzip->in, sizeof gzip->in);
			if (got < 0)
				return got;
			gzip->stream.next_in = gzip->in;
			gzip->stream.avail_in = (unsigned)got;
			gzip->is_end = got == 0;
			if (gzip->is_end && gzip->stream.total_in)
				input->failed = reason_set(&input->why_not, STATUS_DAMAGED, NULL, "the compressed file is cut off");
		}
		int code = gzip->is_end ? Z_STREAM_END : inflate(&gzip->stream, Z_NO_FLUSH);
		if (code == Z_STREAM_END && !gzip->is_end)
			gzip->is_end = !next_member(gzip);
		if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
			gzip->is_end = true;
			input->failed = reason_set(&input->why_not, STATUS_DAMAGED, NULL, "the compressed data are damaged");
		}
	}
	return (ssize_t)(size - gzip->stream.avail_out);
}

static enum status start_gzip(struct profile_input *input)
{
	struct profile_gzip *gzip = calloc(1, sizeof *gzip);
	if (!gzip)
		return STATUS_NO_MEMORY;
	input->gzip = gzip;
	gzip->is_open = inflateInit2(&gzip->stream, 16 + MAX_WBITS) == Z_OK;
	memcpy(gzip->in, input->data, input->length);
	gzip->stream.next_in = gzip->in;
	gzip->stream.avail_in = (unsigned)input->length;
	input->length = 0;
	return gzip->is_open ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status refuse_open(const char *path, int error, struct reason *why_not)
{
	enum status status = status_of_errno(error);
	return reason_set(why_not, status,
		status == STATUS_NOT_FOUND ? "give a *.pt.trace.json file, or a folder of them" : NULL, "%.120s: %s", path,
		strerror(error));
}

enum status profile_input_open(struct profile_input *input, const char *path, struct reason *why_not)
{
	struct stat file;
	*input = (struct profile_input){ .fd = -1 };
	input->fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (input->fd < 0 || fstat(input->fd, &file) < 0)
		return refuse_open(path, errno, why_not);
	if (!S_ISREG(file.st_mode) && strcmp(path, "-") != 0)
		return reason_set(why_not, STATUS_INVALID, "give a *.pt.trace.json file", "%.120s is not a regular file", path);
	if (!make_room(input, CHUNK_SIZE))
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	/* The first bytes tell plain text from gzip. */
	ssize_t got = read_plain(input, input->data, 4096);
	if (got < 0)
		return reason_set(why_not, input->failed, NULL, "%.120s: %s", path, input->why_not.text);
	input->length = (size_t)got;
	input->is_compressed = got > 2 && (unsigned char)input->data[0] == 0x1f && (unsigned char)input->data[1] == 0x8b;
	if (input->is_compressed && start_gzip(input) != STATUS_OK)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	seal(input);
	return STATUS_OK;
}

enum status profile_input_memory(struct profile_input *input, const void *bytes, size_t length)
{
	*input = (struct profile_input){ .fd = -1, .is_end = true };
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
	ssize_t got =
		(input->gzip ? read_gzip : read_plain)(input, input->data + input->length, input->capacity - input->length);
	input->is_end = got <= 0;
	input->length += got > 0 ? (size_t)got : 0;
	seal(input);
	return got > 0;
}

void profile_input_close(struct profile_input *input)
{
	if (input->gzip && input->gzip->is_open)
		inflateEnd(&input->gzip->stream);
	free(input->gzip);
	free(input->data);
	if (input->fd >= 0)
		close(input->fd);
	*input = (struct profile_input){ .fd = -1 };
}
