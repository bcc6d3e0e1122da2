/* Fault 56 of tests/README.md: the kernel denies counters by level, by owner or for lack of descriptors; allowed
 * counters count correctly. These are real system calls, so each case first checks that the machine fits it.
 * tests/unit/test_perf_source.c has all cases with a fake kernel. */
#include <check.h>
#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/choices.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { NOBODY = 65534, BURN_MS = 60 };

static struct target target;
static struct reason reason;
static struct source_choices choices;
static void *state;
static struct sample_set set;

static int paranoid_level(void)
{
	char text[16];
	size_t length;
	return file_read(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", text, sizeof text, &length) == STATUS_OK
		? atoi(text)
		: 2;
}

static void become_nobody(void)
{
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setresgid(NOBODY, NOBODY, NOBODY), 0);
	ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
	/* A process may trace its own children. */
	prctl(PR_SET_DUMPABLE, 1);
}

static void burn(double seconds)
{
	struct timespec now;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 < seconds);
}

static void open_source(pid_t pid)
{
	choices.wants_counters = true;
	ck_assert_msg(target_open(&target, pid, "/proc", &reason) == STATUS_OK, "%s", reason.text);
	target.choices = &choices;
	ck_assert_int_eq(perf_source.open(&target, &state, &reason), STATUS_OK);
}

static void close_source(void)
{
	perf_source.close(state);
	target_close(&target);
	sample_set_release(&set);
}

static enum status read_at(double at_s)
{
	sample_set_clear(&set);
	target_refresh(&target);
	return perf_source.read(state, (int64_t)(at_s * (double)NS_PER_S), &set);
}

static int number_of(enum perf_role role, char name[64])
{
	for (size_t i = 0; i < set_count(&set, RECORD_PERF_EVENT); i++) {
		const struct record *record = set_record(&set, RECORD_PERF_EVENT, i);
		if (record->perf_event.role != role)
			continue;
		snprintf(name, 64, "%s", record->perf_event.name);
		return (int)record->perf_event.event;
	}
	return -1;
}

static double value_of(pid_t pid, int event)
{
	for (size_t i = 0; i < set_count(&set, RECORD_PERF_COUNT); i++) {
		const struct record *record = set_record(&set, RECORD_PERF_COUNT, i);
		if (record->perf_count.pid == pid && (int)record->perf_count.event == event)
			return record->perf_count.value;
	}
	return NAN;
}

static const char *missing(const char *figure)
{
	const struct record *record = set_missing(&set, figure);
	return record && record->missing.text ? record->missing.text : NULL;
}

/* -- what is counted -- */

static void *burn_on_release(void *argument)
{
	child_wait(*(int *)argument);
	burn(BURN_MS * 1e-3);
	return NULL;
}

/* An existing thread works and ends; then the main thread works. */
static void thread_body(void *argument, int in, int out)
{
	pthread_t thread;
	(void)argument;
	if (pthread_create(&thread, NULL, burn_on_release, &in) != 0)
		_exit(99);
	child_ready(out);
	pthread_join(thread, NULL);
	child_ready(out);
	child_wait(in);
	burn(BURN_MS * 1e-3);
	child_ready(out);
	child_wait(in);
}

START_TEST(cpu_time_is_counted_and_an_ended_thread_keeps_its_own)
{
	char name[64];
	struct child child = child_start(thread_body, NULL);
	child_await(&child);
	open_source(child.pid);
	ck_assert_int_eq(read_at(1), STATUS_OK);
	int clock = number_of(PERF_ROLE_TASK_CLOCK, name);
	if (clock < 0) {
		ck_assert_msg(missing("counters") != NULL, "neither counted nor missing");
	} else {
		child_release(&child);
		child_await(&child);
		ck_assert_int_eq(read_at(3), STATUS_OK);
		ck_assert_double_eq_tol(value_of(child.pid, clock), BURN_MS * 1e6, BURN_MS * 0.1e6);
		child_release(&child);
		child_await(&child);
		ck_assert_int_eq(read_at(3.3), STATUS_OK);
		ck_assert_double_eq_tol(value_of(child.pid, clock), 2 * BURN_MS * 1e6, BURN_MS * 0.2e6);
	}
	child_kill(&child);
	ck_assert_int_eq(read_at(4), STATUS_END);
	if (clock >= 0)
		ck_assert_double_ge(value_of(child.pid, clock), BURN_MS * 1.8e6);
	close_source();
}
END_TEST

/* -- what is denied -- */

static void wait_body(void *argument, int in, int out)
{
	(void)argument;
	child_ready(out);
	child_wait(in);
}

/* perf_event_paranoid allows everything, user space only, or nothing; each has its message. */
static void count_own_child(void *argument)
{
	char name[64];
	(void)argument;
	become_nobody();
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	open_source(child.pid);
	ck_assert_int_eq(read_at(1), STATUS_OK);
	int level = paranoid_level(), faults = number_of(PERF_ROLE_MINOR_FAULTS, name);
	char wanted[64];
	snprintf(wanted, sizeof wanted, "perf_event_paranoid is %d: without CAP_PERFMON", level);
	if (faults < 0) {
		ck_assert_ptr_nonnull(missing("counters"));
	} else if (level >= 2) {
		ck_assert_str_eq(name, "minor-faults:u");
		ck_assert_int_eq(number_of(PERF_ROLE_SWITCHES, name), -1);
		ck_assert_msg(strstr(missing("counters of the kernel's part"), wanted) != NULL, "%s",
			missing("counters of the kernel's part"));
		ck_assert_ptr_nonnull(missing("context switches, CPU migrations"));
	} else {
		ck_assert_str_eq(name, "minor-faults");
		ck_assert_int_ge(number_of(PERF_ROLE_SWITCHES, name), 0);
	}
	child_kill(&child);
	close_source();
}

START_TEST(without_rights_the_level_decides_and_is_named)
{
	if (geteuid() == 0)
		ck_assert_int_eq(in_child(count_own_child, NULL), 0);
}
END_TEST

static void count_a_stranger(void *argument)
{
	const struct child *child = argument;
	become_nobody();
	open_source(child->pid);
	ck_assert_int_eq(read_at(1), STATUS_OK);
	ck_assert(missing("counters") || missing("counters of some processes"));
	ck_assert_uint_eq(set_count(&set, RECORD_PERF_COUNT), 0);
	ck_assert_int_eq(read_at(2), STATUS_OK);
	close_source();
}

START_TEST(a_process_of_another_user_is_not_counted_but_reported)
{
	if (geteuid() != 0)
		return;
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	ck_assert_int_eq(in_child(count_a_stranger, &child), 0);
	child_kill(&child);
}
END_TEST

static void count_with_few_descriptors(void *argument)
{
	const struct child *child = argument;
	char name[64];
	/* Room for twelve more descriptors. */
	int highest = dup(STDOUT_FILENO);
	struct rlimit few = { (rlim_t)highest + 12, (rlim_t)highest + 12 };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	open_source(child->pid);
	ck_assert_int_eq(read_at(1), STATUS_OK);
	if (number_of(PERF_ROLE_TASK_CLOCK, name) >= 0)
		ck_assert_msg(strstr(missing("counters of some threads"), "no file descriptor left") != NULL, "%s",
			missing("counters of some threads"));
	else
		ck_assert_ptr_nonnull(missing("counters"));
	close_source();
	close(highest);
}

static void *sleep_on(void *argument)
{
	pause();
	return argument;
}

static void many_threads_body(void *argument, int in, int out)
{
	pthread_t thread;
	for (int i = 0; i < 8; i++)
		if (pthread_create(&thread, NULL, sleep_on, NULL) != 0)
			_exit(99);
	wait_body(argument, in, out);
}

START_TEST(threads_beyond_the_descriptors_are_reported)
{
	struct child child = child_start(many_threads_body, NULL);
	child_await(&child);
	ck_assert_int_eq(in_child(count_with_few_descriptors, &child), 0);
	child_kill(&child);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("counters denied");
	TCase *cases = tcase_create("denied");
	tcase_add_test(cases, cpu_time_is_counted_and_an_ended_thread_keeps_its_own);
	tcase_add_test(cases, without_rights_the_level_decides_and_is_named);
	tcase_add_test(cases, a_process_of_another_user_is_not_counted_but_reported);
	tcase_add_test(cases, threads_beyond_the_descriptors_are_reported);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
