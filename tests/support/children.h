/* children.h: real child processes for tests: each signals that it is ready and waits until the test releases it. All
 * die with the test. */
#ifndef PMTOP_TESTS_CHILDREN_H
#define PMTOP_TESTS_CHILDREN_H

#include <sys/types.h>

struct child {
	pid_t pid;
	int to, from; /* the test's ends of two pipes */
};

/* Runs body(argument, in, out) in a new process. The body calls child_ready() and child_wait(); when it returns, the
 * child exits with 0. */
struct child child_start(void (*body)(void *argument, int in, int out), void *argument);
/* In the child. child_wait ends the process when the test is gone. */
void child_ready(int out);
void child_wait(int in);

/* In the test: waits for child_ready; lets child_wait return; ends it by SIGKILL and collects it; collects it (its wait
 * status). */
void child_await(const struct child *child);
void child_release(const struct child *child);
void child_kill(struct child *child);
int child_collect(struct child *child);

/* Runs body(argument) in a child and gives its exit code (so that it may change uid, limits or namespaces); −1 when it
 * was killed. */
int in_child(void (*body)(void *argument), void *argument);

#endif
