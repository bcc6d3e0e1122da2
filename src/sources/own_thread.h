/* own_thread.h: a source's thread, for work that may block. */
#ifndef PMTOP_SOURCES_OWN_THREAD_H
#define PMTOP_SOURCES_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/files/hang_watch.h"

struct own_thread {
	pthread_mutex_t lock; /* of what the thread and the source share */
	bool is_started;
	_Atomic bool is_stopping;
	int wake_fd; /* readable: something has changed, or the thread is to end */
	/* private */
	struct hang_thread thread;
};

void own_thread_init(struct own_thread *thread);
/* 0, or an errno: then it is as before. */
int own_thread_start(struct own_thread *thread, void (*run)(void *context), void *context);
/* Ends a wait of the thread now. Does nothing if it is not started. */
void own_thread_wake(struct own_thread *thread);
/* Called by the thread: waits for `ns`, or until it is woken. */
void own_thread_wait(struct own_thread *thread, int64_t ns);
/* Ends the thread and releases this. False: it is blocked in a read; it is left behind, with all memory that it uses.
 */
bool own_thread_end(struct own_thread *thread);

#endif
