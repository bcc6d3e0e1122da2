#include "src/collect/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"

#define SYNC_NS NS_PER_S
#define CLOSE_MOST_NS (5 * NS_PER_S)
#define HEADER_AGAIN_NS (60 * NS_PER_S)
enum { QUEUE_BYTES = 16 * 1024 * 1024, PATH_SIZE = 4096 };

/* A run of whole blocks that is written at once. */
struct chunk {
	struct chunk *next;
	struct buffer bytes;
	unsigned blocks;
	bool begins_file;            /* the first of another file */
	bool is_dictionary;
	uint64_t number;             /* of its first block, and when */
	int64_t time_ns;
};

struct recorder {
	char path[PATH_SIZE];
	struct stream_header header;
	struct recorder_options options;

	/* main thread */
	struct stream_writer writer;
	uint64_t file_bytes;         /* of the file that is being filled, as asked for */
	int64_t headed_ns;

	pthread_t thread;
	pthread_mutex_t lock;        /* of the rest, but for what is the thread's alone */
	pthread_cond_t changed;
	struct chunk *first, *last;
	uint64_t waiting_bytes;
	bool is_closing, is_done;
	struct recorder_state state;

	/* recorder thread */
	int fd;
	uint64_t offset;             /* whole blocks in the file */
	int64_t synced_ns;
	size_t place_count, place_room;
	struct stream_place *places;
	uint64_t next_number;
	int64_t last_ns;
};

/* -- the file ------------------------------------------------------------------------------------------------------------------- */

/* run.pmtop, run.1.pmtop, run.2.pmtop */
static void path_of(const struct recorder *recorder, unsigned file, char out[PATH_SIZE + 16])
{
	const char *path = recorder->path, *name = strrchr(path, '/'), *end = strrchr(name ? name : path, '.');
	int stem = end && end != path ? (int)(end - path) : (int)strlen(path);
	if (file == 0)
		snprintf(out, PATH_SIZE + 16, "%s", path);
	else
		snprintf(out, PATH_SIZE + 16, "%.*s.%u%s", stem, path, file, path + stem);
}

static bool is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool result = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	if (fd >= 0)
		close(fd);
	return result;
}

static enum status open_file(const char *path, int *fd, struct reason *why_not)
{
	*fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (*fd < 0 && errno == EEXIST)
		return is_locked(path) ? reason_set(why_not, STATUS_INVALID, "choose another name", "%s is being recorded by another pmtop", path)
		                       : reason_set(why_not, STATUS_INVALID, "choose another name, or remove it", "%s is there already", path);
	if (*fd < 0)
		return reason_set(why_not, errno == EACCES ? STATUS_DENIED : STATUS_IO, "choose another place", "%s cannot be written: %s", path, strerror(errno));
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	fcntl(*fd, F_OFD_SETLK, &lock);
	return STATUS_OK;
}

/* -- recorder thread ------------------------------------------------------------------------------------------------------------ */

static void stop(struct recorder *recorder, const char *why)
{
	pthread_mutex_lock(&recorder->lock);
	if (!recorder->state.stopped_ns) {
		recorder->state.stopped_ns = clock_realtime_ns();
		snprintf(recorder->state.why, sizeof recorder->state.why, "%s: whole up to then", why);
	}
	pthread_mutex_unlock(&recorder->lock);
}

static bool write_all(struct recorder *recorder, const char *bytes, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t written = write(recorder->fd, bytes + done, length - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			int error = written < 0 ? errno : ENOSPC;
			/* What is half written would be stepped over by every reader, but it is not ours to leave. */
			if (ftruncate(recorder->fd, (off_t)recorder->offset) < 0 && error == 0)
				error = errno;
			stop(recorder, strerror(error));
			return false;
		}
		done += (size_t)written;
	}
	recorder->offset += length;
	return true;
}

static void note_place(struct recorder *recorder, const struct chunk *chunk)
{
	if (recorder->place_count == recorder->place_room) {
		size_t room = recorder->place_room ? recorder->place_room * 2 : 256;
		struct stream_place *places = realloc(recorder->places, room * sizeof *places);
		if (!places)
			return;
		recorder->places = places;
		recorder->place_room = room;
	}
	recorder->places[recorder->place_count++] = (struct stream_place){ recorder->offset, chunk->number, chunk->time_ns };
}

static void end_file(struct recorder *recorder)
{
	struct stream_writer writer = { .number = recorder->next_number };
	struct buffer out = BUFFER_INIT;
	if (recorder->fd < 0)
		return;
	stream_write_index(&writer, recorder->places, recorder->place_count, recorder->offset, recorder->last_ns, &out);
	if (!recorder->state.stopped_ns && !out.failed)
		write_all(recorder, out.data, out.length);
	buffer_release(&out);
	stream_writer_release(&writer);
	fdatasync(recorder->fd);
	close(recorder->fd);
	recorder->fd = -1;
	recorder->place_count = 0;
	recorder->offset = 0;
}

static bool begin_next_file(struct recorder *recorder)
{
	char path[PATH_SIZE + 16];
	struct reason why = { "", "" };
	end_file(recorder);
	pthread_mutex_lock(&recorder->lock);
	unsigned file = recorder->state.files++;
	pthread_mutex_unlock(&recorder->lock);
	path_of(recorder, file, path);
	if (open_file(path, &recorder->fd, &why) == STATUS_OK)
		return true;
	stop(recorder, why.text);
	return false;
}

static void write_chunk(struct recorder *recorder, const struct chunk *chunk)
{
	if (recorder->state.stopped_ns || (chunk->begins_file && !begin_next_file(recorder)))
		return;
	if (chunk->is_dictionary)
		note_place(recorder, chunk);
	recorder->next_number = chunk->number + chunk->blocks;
	recorder->last_ns = chunk->time_ns;
	if (!write_all(recorder, chunk->bytes.data, chunk->bytes.length))
		return;
	pthread_mutex_lock(&recorder->lock);
	recorder->state.bytes += chunk->bytes.length;
	recorder->state.blocks += chunk->blocks;
	pthread_mutex_unlock(&recorder->lock);
	int64_t now_ns = clock_monotonic_ns();
	if (now_ns < recorder->synced_ns + SYNC_NS)
		return;
	recorder->synced_ns = now_ns;
	if (fdatasync(recorder->fd) < 0 && errno != EINVAL && errno != EROFS)
		stop(recorder, strerror(errno));
}

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

static void *record(void *argument)
{
	struct recorder *recorder = argument;
	struct chunk *chunk;
	while ((chunk = next_chunk(recorder))) {
		write_chunk(recorder, chunk);
		free_chunk(chunk);
	}
	end_file(recorder);
	pthread_mutex_lock(&recorder->lock);
	recorder->is_done = true;
	pthread_cond_broadcast(&recorder->changed);
	pthread_mutex_unlock(&recorder->lock);
	return NULL;
}

/* -- main thread ---------------------------------------------------------------------------------------------------------------- */

static void recorder_free(struct recorder *recorder)
{
	for (struct chunk *chunk = recorder->first, *next; chunk; chunk = next) {
		next = chunk->next;
		free_chunk(chunk);
	}
	if (recorder->fd >= 0)
		close(recorder->fd);
	stream_writer_release(&recorder->writer);
	pthread_mutex_destroy(&recorder->lock);
	pthread_cond_destroy(&recorder->changed);
	free(recorder->places);
	free(recorder);
}

/* All signals stay the main thread's; a blocked SIGXFSZ makes a write beyond the limit fail with EFBIG. */
static int start_thread(struct recorder *recorder)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(&recorder->thread, NULL, record, recorder);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

enum status recorder_open(const char *path, const struct stream_header *header, const struct recorder_options *options, struct recorder **out,
	struct reason *why_not)
{
	if (strlen(path) >= PATH_SIZE)
		return reason_set(why_not, STATUS_INVALID, "choose a shorter one", "the name of the recording is too long");
	struct recorder *recorder = calloc(1, sizeof *recorder);
	if (!recorder)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	snprintf(recorder->path, sizeof recorder->path, "%s", path);
	recorder->header = *header;
	recorder->options = *options;
	recorder->options.queue_bytes = options->queue_bytes ? options->queue_bytes : QUEUE_BYTES;
	recorder->fd = -1;
	recorder->state.files = 1;
	recorder->headed_ns = INT64_MIN;
	pthread_mutex_init(&recorder->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&recorder->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	enum status status = open_file(path, &recorder->fd, why_not);
	int error = status == STATUS_OK ? start_thread(recorder) : 0;
	if (error) {
		unlink(path);
		status = reason_set(why_not, STATUS_IO, "raise the limits (ulimit -u, -v)", "the recorder's thread could not be started: %s", strerror(error));
	}
	if (status != STATUS_OK) {
		recorder_free(recorder);
		return status;
	}
	*out = recorder;
	return STATUS_OK;
}

/* The header comes first in each file, and before a dictionary about each minute. */
static void add_header(struct recorder *recorder, enum block_kind kind, const struct sample_set *set, struct chunk *chunk)
{
	bool is_full = recorder->options.file_bytes && recorder->file_bytes >= recorder->options.file_bytes;
	if (recorder->headed_ns != INT64_MIN && (kind != BLOCK_DICTIONARY || (set->time_ns < recorder->headed_ns + HEADER_AGAIN_NS && !is_full)))
		return;
	chunk->begins_file = is_full;
	recorder->file_bytes = is_full ? 0 : recorder->file_bytes;
	recorder->headed_ns = set->time_ns;
	/* At the beginning twice: a file that has lost its only header has lost all. */
	for (bool is_first = recorder->file_bytes == 0, again = true; again; again = is_first, is_first = false)
		stream_write_header(&recorder->writer, &recorder->header, &chunk->bytes);
}

static bool push(struct recorder *recorder, struct chunk *chunk)
{
	pthread_mutex_lock(&recorder->lock);
	bool is_taken = !recorder->state.stopped_ns && recorder->waiting_bytes + chunk->bytes.length <= recorder->options.queue_bytes;
	if (is_taken) {
		*(recorder->last ? &recorder->last->next : &recorder->first) = chunk;
		recorder->last = chunk;
		recorder->waiting_bytes += chunk->bytes.length;
		pthread_cond_broadcast(&recorder->changed);
	} else {
		recorder->state.dropped++;
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
	add_header(recorder, kind, set, chunk);
	stream_write_set(&recorder->writer, kind, set, &chunk->bytes);
	chunk->blocks = (unsigned)(recorder->writer.number - chunk->number);
	size_t bytes = chunk->bytes.length;
	recorder->file_bytes += bytes;
	if (!chunk->bytes.failed && push(recorder, chunk))
		return bytes;
	/* A header that was dropped, or a file that was not begun, is still to come. */
	recorder->headed_ns = headed_ns;
	recorder->file_bytes = file_bytes;
	free_chunk(chunk);
	return 0;
}

void recorder_look(struct recorder *recorder, struct recorder_state *out)
{
	pthread_mutex_lock(&recorder->lock);
	*out = recorder->state;
	pthread_mutex_unlock(&recorder->lock);
}

/* A disk that hangs keeps its thread and what is its own: they end with the program. */
void recorder_close(struct recorder *recorder, struct recorder_state *out)
{
	int64_t until_ns = clock_monotonic_ns() + CLOSE_MOST_NS;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };
	int error = 0;
	pthread_mutex_lock(&recorder->lock);
	recorder->is_closing = true;
	pthread_cond_broadcast(&recorder->changed);
	while (!recorder->is_done && error == 0)
		error = pthread_cond_timedwait(&recorder->changed, &recorder->lock, &until);
	bool is_done = recorder->is_done;
	if (!is_done && !recorder->state.stopped_ns) {
		recorder->state.stopped_ns = clock_realtime_ns();
		snprintf(recorder->state.why, sizeof recorder->state.why, "the disk does not answer: whole up to then");
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
