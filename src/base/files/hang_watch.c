#include "src/base/files/hang_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/thread.h"

#define ABANDONED (UINT64_C(1) << 63)
#define CHECK_NS (100 * NS_PER_MS)

struct hang_watch {
	_Atomic uint64_t turn; /* odd: in a read; with the bit ABANDONED: abandoned */
	int directory_fd;      /* of that read */
	const char *path;
};

static _Thread_local struct hang_watch *current;

/* The files that do not answer: one list for the program, because a file that hangs one reader hangs all. */
static struct {
	pthread_mutex_t lock;
	_Atomic size_t count;
	struct hang_path paths[HANG_PATHS_MAX];
} refused = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* -- which files do not answer -- */

void hang_write_path(int directory_fd, const char *path, char out[HANG_PATH_SIZE])
{
	char link[64];
	size_t used = 0;
	int error = errno;
	if (path[0] != '/' && directory_fd != AT_FDCWD) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", directory_fd);
		ssize_t length = readlink(link, out, HANG_PATH_SIZE - 1);
		used = length > 0 ? (size_t)length : 0;
	}
	snprintf(out + used, HANG_PATH_SIZE - used, "%s%s", used && path[0] ? "/" : "", path);
	errno = error;
}

/* The lock is held. */
static size_t find_refused(const char *path)
{
	size_t i = 0;
	while (i < refused.count && strcmp(refused.paths[i].path, path) != 0)
		i++;
	return i;
}

size_t hang_paths(struct hang_path paths[HANG_PATHS_MAX])
{
	pthread_mutex_lock(&refused.lock);
	size_t count = refused.count;
	memcpy(paths, refused.paths, count * sizeof refused.paths[0]);
	pthread_mutex_unlock(&refused.lock);
	return count;
}

/* The lock is held. If many files of one process hang, assume that all do: each further one would cost a second. */
static bool is_process_silent(const char *path)
{
	enum { SILENT_FILES_MIN = 6 };
	const char *end =
		strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9' ? strchr(path + 6, '/') : NULL;
	size_t count = 0, length = end ? (size_t)(end - path) + 1 : 0;
	for (size_t i = 0; end && i < refused.count; i++)
		count += strncmp(refused.paths[i].path, path, length) == 0;
	return count >= SILENT_FILES_MIN;
}

bool hang_is_refused(const char *path)
{
	pthread_mutex_lock(&refused.lock);
	bool is_there = find_refused(path) < refused.count || is_process_silent(path);
	pthread_mutex_unlock(&refused.lock);
	return is_there;
}

static bool is_refused(int directory_fd, const char *path)
{
	char whole[HANG_PATH_SIZE];
	if (atomic_load_explicit(&refused.count, memory_order_relaxed) == 0)
		return false;
	hang_write_path(directory_fd, path, whole);
	return hang_is_refused(whole);
}

void hang_refuse(const char *path)
{
	pthread_mutex_lock(&refused.lock);
	if (find_refused(path) == refused.count && refused.count < HANG_PATHS_MAX) {
		struct hang_path *added = &refused.paths[refused.count++];
		snprintf(added->path, sizeof added->path, "%s", path);
		added->since_ns = clock_monotonic_ns();
	}
	pthread_mutex_unlock(&refused.lock);
}

void hang_accept(const char *path)
{
	pthread_mutex_lock(&refused.lock);
	size_t at = find_refused(path);
	if (at < refused.count) {
		size_t last = refused.count - 1;
		refused.paths[at] = refused.paths[last];
		refused.count = last;
	}
	pthread_mutex_unlock(&refused.lock);
}

/* -- the thread that reads -- */

bool hang_begin(int directory_fd, const char *path)
{
	if (is_refused(directory_fd, path)) {
		errno = ETIMEDOUT;
		return false;
	}
	if (current) {
		current->directory_fd = directory_fd;
		current->path = path;
		atomic_fetch_add_explicit(&current->turn, 1, memory_order_release);
	}
	return true;
}

void hang_end(void)
{
	if (!current)
		return;
	uint64_t turn = atomic_load_explicit(&current->turn, memory_order_relaxed);
	if (!(turn & ABANDONED) && atomic_compare_exchange_strong(&current->turn, &turn, turn + 1))
		return;
	char path[HANG_PATH_SIZE];
	hang_write_path(current->directory_fd, current->path, path);
	hang_accept(path);
	free(current);
	current = NULL;
	pthread_exit(NULL);
}

/* -- the thread's owner -- */

struct start {
	void (*run)(void *context);
	void *context;
	struct hang_watch *watch;
};

static void *begin_thread(void *argument)
{
	struct start start = *(struct start *)argument;
	free(argument);
	current = start.watch;
	start.run(start.context);
	current = NULL;
	return NULL;
}

int hang_thread_start(struct hang_thread *thread, void (*run)(void *context), void *context)
{
	struct hang_watch *watch = calloc(1, sizeof *watch);
	struct start *start = malloc(sizeof *start);
	if (start)
		*start = (struct start){ run, context, watch };
	*thread = (struct hang_thread){ .watch = watch };
	int error = watch && start ? thread_start(&thread->thread, begin_thread, start) : ENOMEM;
	if (error) {
		free(watch);
		free(start);
		thread->watch = NULL;
	}
	return error;
}

static bool abandon(struct hang_watch *watch, uint64_t turn, char path[HANG_PATH_SIZE])
{
	/* Copy the path first: once abandoned, the thread may return and free it. */
	char whole[HANG_PATH_SIZE];
	hang_write_path(watch->directory_fd, watch->path, whole);
	hang_refuse(whole);
	if (!atomic_compare_exchange_strong(&watch->turn, &turn, turn | ABANDONED)) {
		hang_accept(whole);
		return false;
	}
	memcpy(path, whole, sizeof whole);
	return true;
}

bool hang_thread_is_lost(struct hang_thread *thread, int64_t limit_ns, char path[HANG_PATH_SIZE])
{
	if (!thread->watch)
		return false;
	uint64_t turn = atomic_load(&thread->watch->turn);
	int64_t now_ns = clock_monotonic_ns();
	if (turn != thread->turn || turn % 2 == 0) {
		thread->turn = turn;
		thread->turn_ns = now_ns;
		return false;
	}
	if (now_ns - thread->turn_ns < limit_ns || !abandon(thread->watch, turn, path))
		return false;
	pthread_detach(thread->thread);
	thread->watch = NULL;
	return true;
}

bool hang_thread_join(struct hang_thread *thread, int64_t limit_ns)
{
	int64_t at_ns = clock_realtime_ns() + limit_ns;
	struct timespec until = { .tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S };
	if (thread->watch && pthread_timedjoin_np(thread->thread, NULL, &until) != 0)
		return false;
	free(thread->watch);
	thread->watch = NULL;
	return true;
}

bool hang_run(void (*work)(void *context), void *context, int64_t limit_ns, char path[HANG_PATH_SIZE])
{
	struct hang_thread thread;
	if (hang_thread_start(&thread, work, context) != 0) {
		work(context);
		return true;
	}
	while (!hang_thread_join(&thread, CHECK_NS))
		if (hang_thread_is_lost(&thread, limit_ns, path))
			return false;
	return true;
}
