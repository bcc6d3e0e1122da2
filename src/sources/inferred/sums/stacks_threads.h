/* stacks_threads.h: the threads of a Python process beside its main thread: which of them run, in which lines, and
 * which one holds the GIL while the main thread waits for it.
 *
 * They are sampled less often than the main thread. A thread is busy in a sample if it runs or holds the GIL; one that
 * sleeps (for a lock, a queue, a socket) is not. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_THREADS_H
#define PMTOP_SOURCES_INFERRED_STACKS_THREADS_H

#include <pthread.h>

#include "src/sources/inferred/sums/stacks_lines.h"
#include "src/sources/inferred/sums/stacks_tree.h"

/* Of a process: further threads are left out. Of all processes: ids from 1. */
enum { STACKS_THREADS_MAX = 64, STACKS_THREAD_IDS_MAX = 1024, STACKS_GIL_WAITS_MAX = 256 };

/* Ids in use, and waits since the last reading. Under the caller's lock, as all that is emitted. */
struct stacks_waits {
	bool is_used[STACKS_THREAD_IDS_MAX];
	size_t count;
	struct {
		uint32_t group, thread, node, count;
		int64_t begin_ns, end_ns;
	} list[STACKS_GIL_WAITS_MAX];
};

/* The process, and what its samples are added to. */
struct stacks_subject {
	struct py_sampler *sampler;
	int process_fd;
	pid_t pid;
	uint32_t group; /* id */
	struct stacks_owner *owner;
	struct stacks_lines *lines;
	struct stacks_tree *tree;   /* under the lock, but for stacks_tree_is_own */
	struct stacks_waits *waits; /* under the lock */
	pthread_mutex_t *lock;
	/* Called after each sample of a thread, also of the main one if another is followed; `sample` NULL: it sleeps as
	 * before. */
	void (*note)(void *context, uint64_t thread, bool is_busy, const struct py_sample *sample);
	void *context;
};

struct stacks_threads;

struct stacks_threads *stacks_threads_new(void);
/* Under the lock. */
void stacks_threads_free(struct stacks_threads *threads, struct stacks_waits *waits);
/* Samples all of them. Call after the main thread was sampled. */
void stacks_threads_sample(struct stacks_threads *threads, const struct stacks_subject *subject, int64_t now_ns);
/* Call right after a sample of the main thread: notes the holder if that thread waits for the GIL. True: the holder is
 * not among the threads yet. `threads` may be NULL. */
bool stacks_threads_note_wait(struct stacks_threads *threads, const struct stacks_subject *subject, int64_t now_ns);
/* Emits CODE_THREAD of what has changed since the last call; with `again` of all that was emitted before. Under the
 * lock, after the tree. `threads` may be NULL. */
void stacks_threads_emit(
	struct stacks_threads *threads, uint32_t group, bool again, int64_t now_ns, struct sample_set *out);
/* Emits the waits (CODE_GIL_WAITS) and forgets them. Under the lock, after the threads. */
void stacks_waits_emit(struct stacks_waits *waits, struct sample_set *out);

#endif
