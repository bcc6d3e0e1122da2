#include "src/base/thread.h"

#include <signal.h>
#include <stddef.h>

static int create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context)
{
	/* The kernel kills the program, without calling its handler, if one of them is blocked. */
	static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL };
	sigset_t blocked, before;
	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	int error = pthread_create(thread, attributes, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

int thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
	return create(thread, NULL, run, context);
}

int thread_start_detached(void *(*run)(void *context), void *context)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 64 * 1024);
	int error = create(&thread, &attributes, run, context);
	pthread_attr_destroy(&attributes);
	return error;
}
