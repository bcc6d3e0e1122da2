#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/serving/watched_search.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

/* What `pmtop exporter` finds on the machine, where other programs run too. */
enum { TARGETS = 256 };

/* A shell that starts these trainers, which open their runs and wait. */
static pid_t start(const char *script)
{
	char text[2048];
	snprintf(text, sizeof text,
		"trainer() { sleep 60 | exec %s/tests/workloads/trainer --wait-for-enter --workers 0 > /dev/null; }; %s; wait",
		getenv("PMTOP_BUILD"), script);
	pid_t pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		execl("/bin/sh", "sh", "-c", text, NULL);
		_exit(127);
	}
	setpgid(pid, pid);
	return pid;
}

static void end(pid_t pid)
{
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool is_found(void *context)
{
	struct watched_target targets[TARGETS];
	size_t count = watched_search(targets, TARGETS);
	for (size_t i = 0; i < count; i++)
		if (targets[i].pid == *(pid_t *)context)
			return true;
	return false;
}

static unsigned children_found(pid_t parent)
{
	struct watched_target targets[TARGETS];
	size_t count = watched_search(targets, TARGETS);
	unsigned found = 0;
	for (size_t i = 0; i < count; i++)
		found += targets[i].pid && getpgid(targets[i].pid) == parent && targets[i].pid != parent;
	return found;
}

START_TEST(launcher_of_several_ranks_is_watched_in_their_place)
{
	pid_t shell =
		start("export WORLD_SIZE=2 PMTOP_RUN_ID=searched; for RANK in 0 1; do export RANK; "
			  "sleep 60 | exec $PMTOP_BUILD/tests/workloads/trainer --wait-for-enter --workers 0 > /dev/null & done");
	ck_assert(wait_until(is_found, &shell, 20));
	ck_assert_uint_eq(children_found(shell), 0);
	end(shell);
}
END_TEST

static bool has_two(void *context) { return children_found(*(pid_t *)context) == 2; }

START_TEST(runs_of_their_own_are_watched_each)
{
	pid_t shell = start("for i in 0 1; do trainer & done");
	ck_assert(wait_until(has_two, &shell, 20));
	ck_assert(!is_found(&shell));
	end(shell);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("watched_search");
	TCase *tests = tcase_create("watched_search");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, launcher_of_several_ranks_is_watched_in_their_place);
	tcase_add_test(tests, runs_of_their_own_are_watched_each);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
