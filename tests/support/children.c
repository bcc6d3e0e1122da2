#include "tests/support/children.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(bool is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	_exit(99);
}

struct child child_start(void (*body)(void *argument, int in, int out), void *argument)
{
	int to[2], from[2];
	must(pipe(to) == 0 && pipe(from) == 0, "pipe");
	pid_t pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		close(from[0]);
		body(argument, to[0], from[1]);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	return (struct child){ pid, to[1], from[0] };
}

void child_ready(int out) { must(write(out, "r", 1) == 1, "child_ready"); }

void child_wait(int in)
{
	char byte;
	ssize_t got;
	do
		got = read(in, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(0);
}

void child_await(const struct child *child)
{
	char byte;
	must(read(child->from, &byte, 1) == 1, "child_await");
}

void child_release(const struct child *child) { must(write(child->to, "g", 1) == 1, "child_release"); }

int child_collect(struct child *child)
{
	int status = -1;
	must(waitpid(child->pid, &status, 0) == child->pid, "waitpid");
	close(child->to);
	close(child->from);
	return status;
}

void child_kill(struct child *child)
{
	kill(child->pid, SIGKILL);
	child_collect(child);
}

int in_child(void (*body)(void *argument), void *argument)
{
	pid_t pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body(argument);
		_exit(0);
	}
	int status;
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
