#include "src/collect/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/thread.h"
#include "src/collect/recorder_disk.h"
#include "src/samples/stream_write.h"

#define HEADER_AGAIN_NS (60 * NS_PER_S)
/* More than NTP slewing moves the clock between two dictionaries: it was set, or the machine was suspended. */
#define CLOCK_MOVED_NS (100 * NS_PER_MS)
/* The unit in which a disk loses data. */
enum { DAMAGED_PAGE = 4096 };
enum { QUEUE_BYTES = 16 * 1024 * 1024, CLOSE_MAX_MS = 5000 };

struct recorder {
	struct stream_header header;
	struct recorder_options options;

	/* main thread */
	struct stream_writer writer;
	uint64_t file_bytes;         /* added to the current file */
	int64_t headed_ns, dated_ns; /* time of the last header, and realtime − monotonic then */

	pthread_t thread;
	pthread_mutex_t lock; /* protects the rest, except `disk` */
	pthread_cond_t changed;
	struct chunk *first, *last;
	uint64_t waiting_bytes;
	bool is_closing, is_done;
	struct recorder_state state;

	struct disk disk; /* recorder thread */
};

/* -- recorder thread -- */

static struct chunk *next_chunk(struct recorder *recorder)
{
	pthread_mutex_lock(&recorder->lock);
	while (!recorder->first && !recorder->is_closing)
		pthread_cond_wait(&recorder->changed, &recorder->lock);
	struct chunk *chunk = recorder->first;
	if (chunk) {
		recorder->first = chunk->next;
		recorder->last = chunk->next ? recorder->last : NULL;
		recorder->waiting_bytes -= chunk->bytes.length;
	}
	pthread_mutex_unlock(&recorder->lock);
	return chunk;
}

static void free_chunk(struct chunk *chunk)
{
	buffer_release(&chunk->bytes);
	free(chunk);
}

static void publish_state(struct recorder *recorder, bool is_done)
{
	pthread_mutex_lock(&recorder->lock);
	uint64_t dropped = recorder->state.dropped;
	recorder->state = recorder->disk.state;
	recorder->state.dropped = dropped;
	recorder->is_done = is_done;
	if (is_done)
		pthread_cond_broadcast(&recorder->changed);
	pthread_mutex_unlock(&recorder->lock);
}

static void *record(void *argument)
{
	struct recorder *recorder = argument;
	struct chunk *chunk;
	while ((chunk = next_chunk(recorder))) {
		disk_write(&recorder->disk, chunk);
		free_chunk(chunk);
		publish_state(recorder, false);
	}
	disk_end(&recorder->disk);
	publish_state(recorder, true);
	return NULL;
}

/* -- main thread -- */

static void recorder_free(struct recorder *recorder)
{
	for (struct chunk *chunk = recorder->first, *next; chunk; chunk = next) {
		next = chunk->next;
		free_chunk(chunk);
	}
	disk_release(&recorder->disk);
	stream_writer_release(&recorder->writer);
	pthread_mutex_destroy(&recorder->lock);
	pthread_cond_destroy(&recorder->changed);
	free(recorder);
}

static struct recorder *recorder_new(const struct stream_header *header, const struct recorder_options *options)
{
	struct recorder *recorder = calloc(1, sizeof *recorder);
	if (!recorder)
		return NULL;
	recorder->header = *header;
	recorder->options = *options;
	recorder->options.queue_bytes = options->queue_bytes ? options->queue_bytes : QUEUE_BYTES;
	recorder->disk.fd = -1;
	recorder->state.files = 1;
	recorder->headed_ns = INT64_MIN;
	pthread_mutex_init(&recorder->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&recorder->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return recorder;
}

static enum status begin(struct recorder *recorder, struct recorder **out, struct reason *why_not)
{
	int error = thread_start(&recorder->thread, record, recorder);
	if (error) {
		if (recorder->disk.is_file)
			unlink(recorder->disk.path);
		recorder_free(recorder);
		return reason_set(why_not, STATUS_IO, "raise the limits (ulimit -u, -v)",
			"the recorder's thread could not be started: %s", strerror(error));
	}
	*out = recorder;
	return STATUS_OK;
}

enum status recorder_open(const char *path, const struct stream_header *header, const struct recorder_options *options,
	struct recorder **out, struct reason *why_not)
{
	enum status status = recorder_check(path, options, why_not);
	if (status != STATUS_OK)
		return status;
	struct recorder *recorder = recorder_new(header, options);
	if (!recorder)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	status = disk_open(&recorder->disk, path, options->max_bytes, why_not);
	if (status != STATUS_OK) {
		recorder_free(recorder);
		return status;
	}
	return begin(recorder, out, why_not);
}

enum status recorder_open_fd(int fd, const struct stream_header *header, const struct recorder_options *options,
	struct recorder **out, struct reason *why_not)
{
	struct recorder_options own = { .queue_bytes = options->queue_bytes, .close_ms = options->close_ms };
	struct recorder *recorder = recorder_new(header, &own);
	if (!recorder) {
		close(fd);
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	}
	disk_open_fd(&recorder->disk, fd);
	return begin(recorder, out, why_not);
}

static int64_t date_ns(void) { return clock_realtime_ns() - clock_monotonic_ns(); }

static bool has_clock_moved(const struct recorder *recorder)
{
	int64_t by_ns = date_ns() - recorder->dated_ns;
	return by_ns > CLOCK_MOVED_NS || by_ns < -CLOCK_MOVED_NS;
}

bool recorder_wants_dictionary(const struct recorder *recorder)
{
	return recorder->options.file_bytes && recorder->file_bytes >= recorder->options.file_bytes;
}

/* Adds a header at the beginning of each file, before a dictionary about every minute, and after a clock change. False:
 * none was needed. */
static bool add_header(
	struct recorder *recorder, enum block_kind kind, const struct sample_set *set, struct chunk *chunk)
{
	bool is_first = recorder->headed_ns == INT64_MIN, is_full = recorder_wants_dictionary(recorder);
	if (!is_first &&
		(kind != BLOCK_DICTIONARY ||
			(set->time_ns < recorder->headed_ns + HEADER_AGAIN_NS && !is_full && !has_clock_moved(recorder))))
		return false;
	if (!is_first) {
		recorder->header.monotonic_ns = clock_monotonic_ns();
		recorder->header.realtime_ns = clock_realtime_ns();
		recorder->header.boottime_ns = clock_boottime_ns();
	}
	chunk->begins_file = is_full;
	recorder->file_bytes = is_full ? 0 : recorder->file_bytes;
	recorder->headed_ns = set->time_ns;
	recorder->dated_ns = date_ns();
	stream_write_header(&recorder->writer, &recorder->header, &chunk->bytes);
	return true;
}

/* A file begins with its header, its dictionary, and copies of both: without a header nothing can be decoded, and
 * without the first dictionary nothing up to the second. Enough header copies separate the two dictionaries that one
 * damaged page cannot destroy both, or all headers. */
static void add_blocks(
	struct recorder *recorder, enum block_kind kind, const struct sample_set *set, struct chunk *chunk)
{
	bool begins_file = add_header(recorder, kind, set, chunk) && recorder->file_bytes == 0;
	struct buffer *bytes = &chunk->bytes;
	size_t header_end = bytes->length, set_end, copy_at;
	stream_write_set(&recorder->writer, kind, set, bytes);
	if (!begins_file)
		return;
	set_end = bytes->length;
	do {
		copy_at = bytes->length;
		stream_write_header(&recorder->writer, &recorder->header, bytes);
	} while (!bytes->failed && (copy_at < header_end + DAMAGED_PAGE || bytes->length < set_end + DAMAGED_PAGE));
	if (kind == BLOCK_DICTIONARY)
		stream_write_set(&recorder->writer, kind, set, bytes);
}

static bool push(struct recorder *recorder, struct chunk *chunk)
{
	pthread_mutex_lock(&recorder->lock);
	bool is_over = recorder->state.stopped_ns || recorder->is_closing;
	bool is_taken = !is_over && recorder->waiting_bytes + chunk->bytes.length <= recorder->options.queue_bytes;
	if (is_taken) {
		*(recorder->last ? &recorder->last->next : &recorder->first) = chunk;
		recorder->last = chunk;
		recorder->waiting_bytes += chunk->bytes.length;
		pthread_cond_broadcast(&recorder->changed);
	} else {
		recorder->state.dropped += !is_over;
	}
	pthread_mutex_unlock(&recorder->lock);
	return is_taken;
}

size_t recorder_add(struct recorder *recorder, enum block_kind kind, const struct sample_set *set)
{
	struct chunk *chunk = calloc(1, sizeof *chunk);
	if (!chunk) {
		pthread_mutex_lock(&recorder->lock);
		recorder->state.dropped++;
		pthread_mutex_unlock(&recorder->lock);
		return 0;
	}
	int64_t headed_ns = recorder->headed_ns;
	uint64_t file_bytes = recorder->file_bytes;
	chunk->number = recorder->writer.number;
	chunk->is_dictionary = kind == BLOCK_DICTIONARY;
	chunk->time_ns = set->time_ns;
	add_blocks(recorder, kind, set, chunk);
	chunk->blocks = (unsigned)(recorder->writer.number - chunk->number);
	size_t bytes = chunk->bytes.length;
	recorder->file_bytes += bytes;
	if (!chunk->bytes.failed && push(recorder, chunk))
		return bytes;
	/* The dropped set may have contained a header or begun a file: do that with the next one. */
	recorder->headed_ns = headed_ns;
	recorder->file_bytes = file_bytes;
	free_chunk(chunk);
	return 0;
}

void recorder_read(struct recorder *recorder, struct recorder_state *out)
{
	pthread_mutex_lock(&recorder->lock);
	*out = recorder->state;
	pthread_mutex_unlock(&recorder->lock);
}

void recorder_finish(struct recorder *recorder)
{
	pthread_mutex_lock(&recorder->lock);
	recorder->is_closing = true;
	pthread_cond_broadcast(&recorder->changed);
	pthread_mutex_unlock(&recorder->lock);
}

bool recorder_wait(struct recorder *recorder, int timeout_ms)
{
	int64_t until_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };
	int error = 0;
	pthread_mutex_lock(&recorder->lock);
	while (!recorder->is_done && error == 0)
		error = pthread_cond_timedwait(&recorder->changed, &recorder->lock, &until);
	bool is_done = recorder->is_done;
	pthread_mutex_unlock(&recorder->lock);
	return is_done;
}

/* If the disk hangs, its thread and memory are left until the program exits. */
void recorder_close(struct recorder *recorder, struct recorder_state *out)
{
	recorder_finish(recorder);
	bool is_done = recorder_wait(recorder, recorder->options.close_ms ? recorder->options.close_ms : CLOSE_MAX_MS);
	pthread_mutex_lock(&recorder->lock);
	if (!is_done && !recorder->state.stopped_ns) {
		recorder->state.stopped_ns = clock_realtime_ns();
		recorder->state.error = EIO;
		snprintf(recorder->state.why, sizeof recorder->state.why, "the disk does not answer; complete up to then");
	}
	if (out)
		*out = recorder->state;
	pthread_mutex_unlock(&recorder->lock);
	if (!is_done) {
		pthread_detach(recorder->thread);
		return;
	}
	pthread_join(recorder->thread, NULL);
	recorder_free(recorder);
}
