#include "src/sources/own_thread.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"

#define END_WAIT_NS (2 * NS_PER_S)

void own_thread_init(struct own_thread *thread)
{
	*thread = (struct own_thread){ .wake_fd = -1 };
	pthread_mutex_init(&thread->lock, NULL);
}

static void close_fd(struct own_thread *thread)
{
	if (thread->wake_fd >= 0)
		close(thread->wake_fd);
	thread->wake_fd = -1;
}

int own_thread_start(struct own_thread *thread, void (*run)(void *context), void *context)
{
	thread->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	int error = thread->wake_fd < 0 ? errno : hang_thread_start(&thread->thread, run, context);
	thread->is_started = error == 0;
	if (error)
		close_fd(thread);
	return error;
}

void own_thread_wake(struct own_thread *thread)
{
	if (thread->is_started)
		eventfd_write(thread->wake_fd, 1);
}

void own_thread_wait(struct own_thread *thread, int64_t ns)
{
	struct pollfd woken = { .fd = thread->wake_fd, .events = POLLIN };
	struct timespec left = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
	eventfd_t times;
	if (ppoll(&woken, 1, &left, NULL) > 0)
		eventfd_read(thread->wake_fd, &times);
}

bool own_thread_end(struct own_thread *thread)
{
	atomic_store(&thread->is_stopping, true);
	own_thread_wake(thread);
	if (thread->is_started && !hang_thread_join(&thread->thread, END_WAIT_NS))
		return false;
	close_fd(thread);
	pthread_mutex_destroy(&thread->lock);
	return true;
}
