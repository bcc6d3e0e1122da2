/* crowd: a process with many children or threads that each wake once a second, for bench_scale.py.
 *
 *   crowd children|threads N      says "ready" once all are there; they end with it */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { STACK_SIZE = 64 * 1024 };

static void *live(void *unused)
{
	for (;;)
		sleep(1);
	return unused;
}

static int start_child(void)
{
	pid_t parent = getpid(), child = fork();
	if (child)
		return child < 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	live(NULL);
	return 1;
}

static int start_thread(void)
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	return pthread_create(&thread, &attributes, live, NULL);
}

int main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[2]) : 0;
	int (*start)(void) = argc == 3 && !strcmp(argv[1], "threads") ? start_thread : start_child;
	if (count <= 0) {
		fputs("usage: crowd children|threads N\n", stderr);
		return 2;
	}
	for (int i = 0; i < count; i++)
		if (start()) {
			perror("crowd");
			return 1;
		}
	puts("ready");
	fflush(stdout);
	live(NULL);
}
