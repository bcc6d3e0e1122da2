#include "src/trace/reading/profile_source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "src/base/files/file.h"
#include "src/base/thread.h"
#include "src/trace/store/profile_token.h"

/* A block stays in the processor's cache until it is parsed. The reading thread sleeps until half of them are free, so
 * that it is woken seldom. */
enum { BLOCK_SIZE = 256 << 10, BLOCK_COUNT = 8 };

struct block {
	char *memory; /* room before, bytes, padding */
	size_t length;
};

struct profile_source {
	int fd;
	bool is_compressed, is_stream_open, is_stream_end;
	bool has_member; /* one of gzip's is read whole */
	z_stream stream;
	unsigned char in[64 << 10]; /* of gzip; of a plain file: its first bytes */
	size_t first_length, first_used;
	enum status failed; /* of the reading thread, until it has ended */
	struct reason why_not;
	struct profile_progress *progress;

	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct block blocks[BLOCK_COUNT];
	size_t first, count; /* the full blocks: blocks[first], … */
	size_t held;         /* the first of them: the caller's */
	bool is_end, is_stopped;
};

/* -- on the reading thread -- */

static size_t read_file(struct profile_source *source, void *out, size_t size)
{
	ssize_t got;
	do
		got = read(source->fd, out, size);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		source->failed =
			reason_set(&source->why_not, status_of_errno(errno), NULL, "cannot read on: %s", strerror(errno));
	if (got > 0 && source->progress)
		atomic_fetch_add(&source->progress->done_bytes, (uint64_t)got);
	return got > 0 ? (size_t)got : 0;
}

static size_t read_plain(struct profile_source *source, char *out, size_t size)
{
	size_t left = source->first_length - source->first_used;
	if (!left)
		return read_file(source, out, size);
	left = left < size ? left : size;
	memcpy(out, source->in + source->first_used, left);
	source->first_used += left;
	return left;
}

/* gzip ignores what follows a member and is none. */
static bool is_within_member(const struct profile_source *source)
{
	return source->has_member ? source->stream.total_out > 0 : source->stream.total_in > 0;
}

static size_t read_gzip(struct profile_source *source, char *out, size_t size)
{
	z_stream *stream = &source->stream;
	stream->next_out = (unsigned char *)out;
	stream->avail_out = (unsigned)size;
	while (stream->avail_out == size && !source->is_stream_end) {
		if (!stream->avail_in) {
			stream->next_in = source->in;
			stream->avail_in = (unsigned)read_file(source, source->in, sizeof source->in);
			source->is_stream_end = !stream->avail_in;
			if (source->is_stream_end && is_within_member(source) && !source->failed)
				source->failed = reason_set(&source->why_not, STATUS_DAMAGED, NULL, "the compressed file is cut off");
		}
		int code = source->is_stream_end ? Z_OK : inflate(stream, Z_NO_FLUSH);
		/* Another member may follow. */
		if (code == Z_STREAM_END) {
			source->is_stream_end = inflateReset(stream) != Z_OK;
			source->has_member = true;
		} else if (code != Z_OK && code != Z_BUF_ERROR) {
			source->is_stream_end = true;
			if (is_within_member(source))
				source->failed = reason_set(&source->why_not, STATUS_DAMAGED, NULL, "the compressed data are damaged");
		}
	}
	return size - stream->avail_out;
}

static char *bytes_of(const struct block *block) { return block->memory + PROFILE_SOURCE_ROOM_BEFORE; }

/* A block to fill; NULL: the reader was stopped. */
static struct block *next_free(struct profile_source *source)
{
	pthread_mutex_lock(&source->lock);
	if (source->count == BLOCK_COUNT)
		while (source->count > BLOCK_COUNT / 2 && !source->is_stopped)
			pthread_cond_wait(&source->changed, &source->lock);
	struct block *block = source->is_stopped ? NULL : &source->blocks[(source->first + source->count) % BLOCK_COUNT];
	pthread_mutex_unlock(&source->lock);
	return block;
}

static void *read_ahead(void *context)
{
	struct profile_source *source = context;
	struct block *block;
	bool is_end = false;
	while (!is_end && (block = next_free(source))) {
		block->length = (source->is_compressed ? read_gzip : read_plain)(source, bytes_of(block), BLOCK_SIZE);
		is_end = block->length == 0;
		pthread_mutex_lock(&source->lock);
		source->count += !is_end;
		source->is_end = is_end;
		pthread_cond_signal(&source->changed);
		pthread_mutex_unlock(&source->lock);
	}
	return NULL;
}

/* -- on the caller's thread -- */

size_t profile_source_next(struct profile_source *source, char **bytes)
{
	size_t length = 0;
	if (profile_progress_is_stopped(source->progress))
		return 0;
	pthread_mutex_lock(&source->lock);
	while (source->count == source->held && !source->is_end)
		pthread_cond_wait(&source->changed, &source->lock);
	if (source->count > source->held) {
		struct block *block = &source->blocks[(source->first + source->held++) % BLOCK_COUNT];
		*bytes = bytes_of(block);
		length = block->length;
	}
	pthread_mutex_unlock(&source->lock);
	return length;
}

void profile_source_release(struct profile_source *source)
{
	pthread_mutex_lock(&source->lock);
	source->first = (source->first + 1) % BLOCK_COUNT;
	source->held--;
	if (--source->count == BLOCK_COUNT / 2)
		pthread_cond_signal(&source->changed);
	pthread_mutex_unlock(&source->lock);
}

static void stop(struct profile_source *source)
{
	if (!source->has_thread)
		return;
	pthread_mutex_lock(&source->lock);
	source->is_stopped = true;
	pthread_cond_signal(&source->changed);
	pthread_mutex_unlock(&source->lock);
	pthread_join(source->thread, NULL);
	source->has_thread = false;
}

enum status profile_source_failure(struct profile_source *source, struct reason *why_not)
{
	stop(source);
	if (source->failed)
		*why_not = source->why_not;
	return source->failed;
}

bool profile_source_is_compressed(const struct profile_source *source) { return source->is_compressed; }

static enum status open_file(struct profile_source *source, const char *path, struct reason *why_not)
{
	struct stat file;
	bool is_input = strcmp(path, "-") == 0;
	source->fd = is_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (source->fd < 0 || fstat(source->fd, &file) < 0) {
		enum status status = status_of_errno(errno);
		return reason_set(why_not, status,
			status == STATUS_NOT_FOUND ? "give a *.pt.trace.json file, or a folder of them" : NULL, "%.120s: %s", path,
			strerror(errno));
	}
	if (!S_ISREG(file.st_mode) && !is_input)
		return reason_set(why_not, STATUS_INVALID, "give a *.pt.trace.json file", "%.120s is not a regular file", path);
	if (source->progress && S_ISREG(file.st_mode))
		atomic_store(&source->progress->size_bytes, (uint64_t)file.st_size);
	return STATUS_OK;
}

/* The first bytes distinguish plain text from gzip. */
static enum status begin(struct profile_source *source, const char *path, struct reason *why_not)
{
	source->first_length = read_file(source, source->in, sizeof source->in);
	if (source->failed)
		return reason_set(why_not, source->failed, NULL, "%.120s: %.60s", path, source->why_not.text);
	source->is_compressed = source->first_length > 2 && source->in[0] == 0x1f && source->in[1] == 0x8b;
	if (source->is_compressed) {
		source->is_stream_open = inflateInit2(&source->stream, 16 + MAX_WBITS) == Z_OK;
		source->stream.next_in = source->in;
		source->stream.avail_in = (unsigned)source->first_length;
	}
	bool is_good = source->is_stream_open == source->is_compressed;
	for (size_t i = 0; i < BLOCK_COUNT; i++)
		is_good &= (source->blocks[i].memory =
						   malloc(PROFILE_SOURCE_ROOM_BEFORE + BLOCK_SIZE + PROFILE_TOKEN_PADDING)) != NULL;
	source->has_thread = is_good && thread_start(&source->thread, read_ahead, source) == 0;
	return source->has_thread ? STATUS_OK : reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
}

enum status profile_source_open(
	struct profile_source **out, const char *path, struct profile_progress *progress, struct reason *why_not)
{
	struct profile_source *source = calloc(1, sizeof *source);
	if (!source)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	source->progress = progress;
	pthread_mutex_init(&source->lock, NULL);
	pthread_cond_init(&source->changed, NULL);
	enum status status = open_file(source, path, why_not);
	if (status == STATUS_OK)
		status = begin(source, path, why_not);
	if (status == STATUS_OK)
		*out = source;
	else
		profile_source_close(source);
	return status;
}

void profile_source_close(struct profile_source *source)
{
	if (!source)
		return;
	stop(source);
	if (source->is_stream_open)
		inflateEnd(&source->stream);
	for (size_t i = 0; i < BLOCK_COUNT; i++)
		free(source->blocks[i].memory);
	if (source->fd >= 0)
		close(source->fd);
	pthread_cond_destroy(&source->changed);
	pthread_mutex_destroy(&source->lock);
	free(source);
}
