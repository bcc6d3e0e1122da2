/* hang_watch.h: detects reads that never return, and abandons the threads blocked in them.
 *
 * A read of /proc, /sys or a network file system can block for ever: FUSE (lxcfs serves /proc/stat in containers), a
 * process that keeps its own address space locked, a dead server. No signal interrupts such a read. So a thread marks
 * its reads (hang_begin … hang_end), and its owner abandons the thread when the same read has been in progress for too
 * long. If the read returns later, hang_end ends the thread instead of returning, so the owner can start another thread
 * on the same work. From then on hang_begin refuses that file for every thread of the program (errno = ETIMEDOUT),
 * until the blocked read has returned.
 *
 * Between the two calls a thread may touch only memory that no other thread uses. */
#ifndef PMTOP_BASE_FILES_HANG_WATCH_H
#define PMTOP_BASE_FILES_HANG_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HANG_PATH_SIZE = 256, HANG_PATHS_MAX = 64 };
/* The limit for a read that keeps a person waiting. */
#define HANG_LIMIT_NS INT64_C(1000000000)

/* -- the thread that reads -- */

/* Call before a read of `path` (as for openat; "" = the file that the descriptor itself is open on). False: the file is
 * refused, errno = ETIMEDOUT; do not call hang_end then. */
bool hang_begin(int directory_fd, const char *path);
/* Preserves errno. */
void hang_end(void);

/* A file that does not answer. */
struct hang_path {
	char path[HANG_PATH_SIZE];
	int64_t since_ns; /* CLOCK_MONOTONIC: when the first read of it was abandoned */
};
/* Refuses a file by its absolute path until hang_accept. For readers that are not threads (file_aside.h). */
void hang_refuse(const char *path);
void hang_accept(const char *path);
bool hang_is_refused(const char *path);
/* The absolute path of `path` (as for openat), cut to fit. Preserves errno. */
void hang_write_path(int directory_fd, const char *path, char out[HANG_PATH_SIZE]);
/* Copies the files that are refused now; returns how many. */
size_t hang_paths(struct hang_path paths[HANG_PATHS_MAX]);

/* -- the thread's owner -- */

struct hang_watch;

struct hang_thread {
	pthread_t thread;
	struct hang_watch *watch; /* NULL: not running */
	uint64_t turn;            /* the read in progress at the last check … */
	int64_t turn_ns;          /* … and the time it was first seen */
};

/* Runs `run` on a new thread, with all signals blocked except synchronous faults. Returns 0 or an errno. */
int hang_thread_start(struct hang_thread *thread, void (*run)(void *context), void *context);
/* Abandons the thread if the same read has been in progress for `limit_ns` (measured between calls of this function).
 * True: it was abandoned and may be started again; `path` is the file's. */
bool hang_thread_is_lost(struct hang_thread *thread, int64_t limit_ns, char path[HANG_PATH_SIZE]);
/* False: the thread has not ended within `limit_ns`. */
bool hang_thread_join(struct hang_thread *thread, int64_t limit_ns);

/* Runs `work` on a new thread and waits for it. False: a read has not returned for `limit_ns` and the thread was
 * abandoned; `path` is the file's. The abandoned thread still uses `context`, so the caller must not free it. If no
 * thread can be created, `work` runs on the caller's thread without a limit. */
bool hang_run(void (*work)(void *context), void *context, int64_t limit_ns, char path[HANG_PATH_SIZE]);

#endif
