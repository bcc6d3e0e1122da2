/* thread.h: how pmtop starts its threads: with all signals blocked except synchronous faults, so that the main thread
 * handles them, and so that a write beyond the file size limit fails with EFBIG instead of raising SIGXFSZ. */
#ifndef PMTOP_BASE_THREAD_H
#define PMTOP_BASE_THREAD_H

#include <pthread.h>

/* Both return 0 or an errno. */
int thread_start(pthread_t *thread, void *(*run)(void *context), void *context);
/* A thread that nobody joins, with a small stack (64 KiB): for one that waits in a system call. */
int thread_start_detached(void *(*run)(void *context), void *context);

#endif
