/* hang_watch.h: reads that may never return, and threads that are left in them.
 *
 * A read of /proc, /sys or a foreign folder can block for ever: FUSE (lxcfs serves /proc/stat in containers), a process
 * that keeps its own address space locked, a dead server. No signal ends such a read, so a thread marks it (hang_begin
 * … hang_end), and whoever finds one and the same read under way for too long abandons the thread: should the read
 * return one day, hang_end ends the thread instead of returning, so somebody else can take over whatever the thread
 * worked on. From then on hang_begin refuses that file for every thread of the program (errno = ETIMEDOUT), until it
 * has answered once after all.
 *
 * Between the two calls a thread may touch only memory that nobody else uses. */
#ifndef PMTOP_BASE_FILES_HANG_WATCH_H
#define PMTOP_BASE_FILES_HANG_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HANG_PATH_SIZE = 256, HANG_PATHS_MAX = 64 };
/* A read on which a person waits is given so long. */
#define HANG_LIMIT_NS INT64_C(1000000000)

/* -- the thread that reads -- */

/* Before a read of `path` (as for openat; "" = the file that the descriptor itself is open on). False: this file does
 * not answer, errno = ETIMEDOUT; then there is no hang_end. */
bool hang_begin(int directory_fd, const char *path);
/* Keeps errno. */
void hang_end(void);

/* A file that does not answer. */
struct hang_path {
	char path[HANG_PATH_SIZE];
	int64_t since_ns; /* CLOCK_MONOTONIC: when the first read of it was left behind */
};
/* One that another than a thread was left with (file_aside.h), its absolute path: refused from now on, until it is
 * accepted again. */
void hang_refuse(const char *path);
void hang_accept(const char *path);
bool hang_is_refused(const char *path);
/* The absolute path of `path` (as for openat), cut to fit. Keeps errno. */
void hang_write_path(int directory_fd, const char *path, char out[HANG_PATH_SIZE]);
/* Those of now; returns how many. */
size_t hang_paths(struct hang_path paths[HANG_PATHS_MAX]);

/* -- whoever started it -- */

struct hang_watch;

struct hang_thread {
	pthread_t thread;
	struct hang_watch *watch; /* NULL: not running */
	uint64_t turn;            /* the read that was under way when it was last asked for … */
	int64_t turn_ns;          /* … and since when it is known to be */
};

/* `run` on a thread that takes no signal but its own faults. 0, or why not (errno). */
int hang_thread_start(struct hang_thread *thread, void (*run)(void *context), void *context);
/* Abandons it where the same read has been under way for `limit_ns`, as far as these calls have seen. True: it is lost,
 * may be started again, and path is that of the file. */
bool hang_thread_is_lost(struct hang_thread *thread, int64_t limit_ns, char path[HANG_PATH_SIZE]);
/* False: it has not ended within `limit_ns`. */
bool hang_thread_join(struct hang_thread *thread, int64_t limit_ns);

/* Runs `work` on a thread of its own and waits. False: a read in it has not returned for `limit_ns`; path is its
 * file's, the thread is abandoned, and `context` is lost to it: it may not be freed. Where no thread can be had the
 * work is done at once, unwatched. */
bool hang_run(void (*work)(void *context), void *context, int64_t limit_ns, char path[HANG_PATH_SIZE]);

#endif
