/* Faults of tests/README.md: 1 (it dies during attach), 2 (pid reused), 8 (not dumpable), 13 (hidepid), and processes
 * of another user. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { NOBODY = 65534 };

static struct target target;
static struct reason reason;

static void become_nobody(void)
{
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setresgid(NOBODY, NOBODY, NOBODY), 0);
	ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
}

static void wait_body(void *argument, int in, int out)
{
	(void)argument;
	child_ready(out);
	child_wait(in);
}

static void read_once(struct sample_set *set)
{
	void *state;
	ck_assert_int_eq(process_source.open(&target, &state, &reason), STATUS_OK);
	target_refresh(&target);
	process_source.read(state, 0, set);
	process_source.close(state);
}

/* -- row 1 -- */

START_TEST(process_that_dies_during_attach_is_no_process_or_ends)
{
	int opened = 0, missed = 0;
	for (int i = 0; i < 500; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		char wanted[80];
		snprintf(wanted, sizeof wanted, "no process %d (it ", (int)pid);
		if (i % 2)
			waitpid(pid, NULL, 0);
		enum status status = target_open(&target, pid, "/proc", &reason);
		if (status == STATUS_OK) {
			struct sample_set set = SAMPLE_SET_INIT;
			opened++;
			read_once(&set);
			sample_set_release(&set);
			target_close(&target);
		} else {
			missed++;
			ck_assert_int_eq(status, STATUS_NOT_FOUND);
			ck_assert_msg(strncmp(reason.text, wanted, strlen(wanted)) == 0, "%s", reason.text);
		}
		if (i % 2 == 0)
			waitpid(pid, NULL, 0);
	}
	ck_assert_int_ge(missed, 250);
	ck_assert_int_eq(opened + missed, 500);
}
END_TEST

/* -- row 2 -- */

static pid_t fork_with_number(pid_t wanted)
{
	for (int attempt = 0; attempt < 100; attempt++) {
		FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
		ck_assert_ptr_nonnull(last);
		fprintf(last, "%d", (int)wanted - 1);
		fclose(last);
		pid_t pid = fork();
		if (pid == 0) {
			pause();
			_exit(0);
		}
		if (pid == wanted)
			return pid;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	ck_abort_msg("the number %d was never given again", (int)wanted);
	return -1;
}

static void reuse_a_number(void *argument)
{
	(void)argument;
	/* In a pid namespace of its own, so that no other process takes the pid. */
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("proc", "/proc", "proc", 0, NULL), 0);
	pid_t pid = fork_with_number(100);
	struct target early;
	ck_assert_int_eq(target_open(&target, pid, "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(target_open(&early, pid, "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pid_t stranger = fork_with_number(pid);
	ck_assert_int_eq(stranger, pid);
	ck_assert_int_eq(target_refresh(&target), STATUS_END);
	ck_assert_uint_eq(target.member_count, 0);
	struct sample_set set = SAMPLE_SET_INIT;
	struct target retained = target;
	target = early;
	read_once(&set);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_RESIDENT, pid)));
	sample_set_release(&set);
	target_close(&target);
	target_close(&retained);
	kill(stranger, SIGKILL);
}

static void in_pid_namespace(void *argument)
{
	ck_assert_int_eq(unshare(CLONE_NEWPID | CLONE_NEWNS), 0);
	_exit(in_child(reuse_a_number, argument));
}

START_TEST(newcomer_with_the_same_pid_is_never_followed) { ck_assert_int_eq(in_child(in_pid_namespace, NULL), 0); }
END_TEST

/* -- row 8, and somebody else's -- */

static void undumpable_body(void *argument, int in, int out)
{
	(void)argument;
	become_nobody();
	prctl(PR_SET_DUMPABLE, 0);
	child_ready(out);
	child_wait(in);
}

static void watch_undumpable(void *argument)
{
	struct child *child = argument;
	struct sample_set set = SAMPLE_SET_INIT;
	become_nobody();
	ck_assert_int_eq(target_open(&target, child->pid, "/proc", &reason), STATUS_OK);
	ck_assert_uint_eq(target.uid, NOBODY);
	read_once(&set);
	const struct record *missing = set_missing(&set, "disk I/O");
	ck_assert_ptr_nonnull(missing);
	ck_assert_str_eq(missing->missing.text, "not readable: process is not dumpable");
	ck_assert_str_eq(missing->missing.remedy, "run as root");
	/* The rest is on. */
	ck_assert_double_gt(set_figure(&set, METRIC_PROCESS_RESIDENT, child->pid), 0);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_READ, child->pid)));
}

START_TEST(a_process_that_is_not_dumpable_is_read_as_far_as_rights_allow)
{
	struct child child = child_start(undumpable_body, NULL);
	child_await(&child);
	ck_assert_int_eq(in_child(watch_undumpable, &child), 0);
	struct sample_set set = SAMPLE_SET_INIT;
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	read_once(&set);
	/* Root reads all that this kernel counts. */
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), set_missing(&set, "disk wait") ? 1 : 0);
	sample_set_release(&set);
	target_close(&target);
	child_kill(&child);
}
END_TEST

static void watch_init(void *argument)
{
	(void)argument;
	struct sample_set set = SAMPLE_SET_INIT;
	become_nobody();
	ck_assert_int_eq(target_open(&target, 1, "/proc", &reason), STATUS_OK);
	read_once(&set);
	const struct record *missing = set_missing(&set, "disk I/O");
	ck_assert_ptr_nonnull(missing);
	ck_assert_str_eq(missing->missing.text, "process 1 belongs to root");
	ck_assert_str_eq(
		missing->missing.remedy, "run as root (sudo pmtop -p 1), or watch a process of your own (pmtop list)");
	ck_assert_double_gt(set_figure(&set, METRIC_PROCESS_RESIDENT, 1), 0);
}

START_TEST(process_of_somebody_else_says_whose_it_is) { ck_assert_int_eq(in_child(watch_init, NULL), 0); }
END_TEST

/* -- row 13 -- */

static void watch_hidden(void *argument)
{
	const char *options = argument;
	char wanted[128];
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("proc", "/proc", "proc", 0, options), 0);
	become_nobody();
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_DENIED);
	snprintf(wanted, sizeof wanted,
		strcmp(options, "hidepid=1") == 0 ? "process %d belongs to root"
										  : "process %d is hidden: /proc is mounted with hidepid",
		(int)child.pid);
	ck_assert_str_eq(reason.text, wanted);
	snprintf(wanted, sizeof wanted, "run as root (sudo pmtop -p %d)", (int)child.pid);
	ck_assert_msg(strncmp(reason.remedy, wanted, strlen(wanted)) == 0, "%s", reason.remedy);
	/* A process that does not exist is still distinguished from a hidden one. */
	ck_assert_int_eq(target_open(&target, 4000000, "/proc", &reason), STATUS_NOT_FOUND);
	ck_assert_str_eq(reason.text, "no process 4000000 (it may have ended)");
}

START_TEST(a_hidden_process_is_reported_as_hidden)
{
	static const char *const options[] = { "hidepid=1", "hidepid=2", "hidepid=ptraceable" };
	ck_assert_int_eq(in_child(watch_hidden, (void *)(uintptr_t)options[_i]), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("attaching to a process");
	TCase *all = tcase_create("attach");
	tcase_set_timeout(all, 60);
	tcase_add_test(all, process_that_dies_during_attach_is_no_process_or_ends);
	tcase_add_test(all, newcomer_with_the_same_pid_is_never_followed);
	tcase_add_test(all, a_process_that_is_not_dumpable_is_read_as_far_as_rights_allow);
	tcase_add_test(all, process_of_somebody_else_says_whose_it_is);
	tcase_add_loop_test(all, a_hidden_process_is_reported_as_hidden, 0, 3);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
