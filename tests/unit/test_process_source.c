#include <check.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/fake_proc.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

static struct target target;
static struct reason reason;
static struct sample_set set;
static struct fake_proc proc;
static void *state;

static void open_source(pid_t pid, const char *root)
{
	ck_assert_int_eq(target_open(&target, pid, root, &reason), STATUS_OK);
	ck_assert_int_eq(process_source.open(&target, &state, &reason), STATUS_OK);
}

static enum status read_source(int64_t now_ns)
{
	sample_set_clear(&set);
	target_refresh(&target);
	return process_source.read(state, now_ns, &set);
}

static void close_source(void)
{
	process_source.close(state);
	sample_set_release(&set);
	target_close(&target);
}

static void set_up_proc(void)
{
	fake_proc_init(&proc);
	fake_proc_add(&proc, 100, 1, "trainer");
}

static void tear_down_proc(void)
{
	close_source();
	fake_proc_release(&proc);
}

static void ck_figure(enum metric metric, int pid, double wanted) { ck_set_figure(&set, metric, pid, wanted, 0); }

START_TEST(every_figure_of_the_target_is_read)
{
	double tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
	open_source(100, proc.root);
	ck_assert_int_eq(read_source(5), STATUS_OK);
	const struct record *seen = set_process(&set, RECORD_PROCESS_SEEN, 100);
	ck_assert_ptr_nonnull(seen);
	ck_assert(seen->process.is_target);
	ck_assert_str_eq(seen->process.command, "trainer");
	ck_assert_int_eq(seen->process.parent, 1);
	ck_assert_int_eq(seen->time_ns, 5);
	ck_figure(METRIC_PROCESS_RESIDENT, 100, 10000 * 1024.0);
	ck_figure(METRIC_PROCESS_RESIDENT_PEAK, 100, 20000 * 1024.0);
	ck_figure(METRIC_PROCESS_ANONYMOUS, 100, 7000 * 1024.0);
	ck_figure(METRIC_PROCESS_FILE, 100, 2500 * 1024.0);
	ck_figure(METRIC_PROCESS_SHARED, 100, 500 * 1024.0);
	ck_figure(METRIC_PROCESS_SWAP, 100, 12 * 1024.0);
	ck_figure(METRIC_PROCESS_THREADS, 100, 3);
	ck_figure(METRIC_PROCESS_STATE, 100, 'S');
	ck_figure(METRIC_PROCESS_CPU_USER, 100, 250 * tick);
	ck_figure(METRIC_PROCESS_CPU_SYSTEM, 100, 50 * tick);
	ck_figure(METRIC_PROCESS_RUN_QUEUE_WAIT, 100, 700000);
	ck_figure(METRIC_PROCESS_MINOR_FAULTS, 100, 1000);
	ck_figure(METRIC_PROCESS_MAJOR_FAULTS, 100, 7);
	ck_figure(METRIC_PROCESS_SWITCHES_WILLING, 100, 41);
	ck_figure(METRIC_PROCESS_SWITCHES_FORCED, 100, 5);
	ck_figure(METRIC_PROCESS_READ, 100, 4096);
	ck_figure(METRIC_PROCESS_WRITTEN, 100, 8192);
	ck_figure(METRIC_PROCESS_READ_CALLS, 100, 5000);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
	/* Identity is emitted once, figures at each reading. */
	read_source(6);
	ck_assert_uint_eq(set_count(&set, RECORD_PROCESS_SEEN), 0);
	ck_figure(METRIC_PROCESS_RESIDENT, 100, 10000 * 1024.0);
}
END_TEST

START_TEST(children_give_stat_each_time_and_the_rest_each_second)
{
	fake_proc_add(&proc, 101, 100, "worker");
	fake_proc_puts(&proc, 100, "task/100/children", "101 ");
	open_source(100, proc.root);
	read_source(0);
	const struct record *seen = set_process(&set, RECORD_PROCESS_SEEN, 101);
	ck_assert_ptr_nonnull(seen);
	ck_assert(!seen->process.is_target);
	ck_figure(METRIC_PROCESS_RESIDENT_PEAK, 101, 20000 * 1024.0);
	ck_figure(METRIC_PROCESS_READ, 101, 4096);
	read_source(NS_PER_S / 10);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_RESIDENT_PEAK, 101)));
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_READ, 101)));
	ck_figure(METRIC_PROCESS_RESIDENT, 101, 2500.0 * (double)sysconf(_SC_PAGESIZE));
	ck_figure(METRIC_PROCESS_STATE, 101, 'S');
	ck_figure(METRIC_PROCESS_RESIDENT_PEAK, 100, 20000 * 1024.0);
	read_source(NS_PER_S);
	ck_figure(METRIC_PROCESS_RESIDENT_PEAK, 101, 20000 * 1024.0);
}
END_TEST

START_TEST(child_that_ends_is_gone_and_others_stay_themselves)
{
	for (int pid = 101; pid <= 103; pid++)
		fake_proc_add(&proc, pid, 100, "worker");
	fake_proc_puts(&proc, 100, "task/100/children", "101 102 103 ");
	open_source(100, proc.root);
	read_source(0);
	ck_assert_uint_eq(set_count(&set, RECORD_PROCESS_SEEN), 4);
	fake_proc_end(&proc, 102);
	fake_proc_add(&proc, 104, 100, "worker");
	fake_proc_puts(&proc, 100, "task/100/children", "101 103 104 ");
	fake_proc_puts(&proc, 103, "schedstat", "1 777 1\n");
	read_source(NS_PER_S);
	ck_assert_uint_eq(set_count(&set, RECORD_PROCESS_GONE), 1);
	ck_assert_ptr_nonnull(set_process(&set, RECORD_PROCESS_GONE, 102));
	ck_assert_uint_eq(set_count(&set, RECORD_PROCESS_SEEN), 1);
	ck_assert_ptr_nonnull(set_process(&set, RECORD_PROCESS_SEEN, 104));
	ck_figure(METRIC_PROCESS_RUN_QUEUE_WAIT, 103, 777);
	ck_figure(METRIC_PROCESS_RUN_QUEUE_WAIT, 101, 700000);
}
END_TEST

/* The fields up to the 24th, then those of a program that waited so long for the disk. */
static void put_stat(int pid, char process_state, unsigned user_ticks, unsigned disk_wait_ticks)
{
	char text[512];
	snprintf(text, sizeof text,
		"%d (train er) %c %d 1 1 0 -1 4194304 1000 0 7 0 %u 50 0 0 20 0 3 0 1234%d 99999744 2500 "
		"18446744073709551615 4194304 4300000 140720000000000 0 0 0 0 0 0 0 0 0 17 1 0 0 %u 0 0 0 0 0 0 0 0 0 0\n",
		pid, process_state, pid == 100 ? 1 : 100, user_ticks, pid, disk_wait_ticks);
	fake_proc_puts(&proc, pid, "stat", text);
}

START_TEST(wait_for_the_disk_is_emitted_if_the_kernel_counts_it)
{
	double tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
	put_stat(100, 'S', 250, 0);
	open_source(100, proc.root);
	read_source(0);
	ck_figure(METRIC_PROCESS_DISK_WAIT, 100, 0);
	put_stat(100, 'S', 250, 37);
	read_source(NS_PER_S);
	ck_figure(METRIC_PROCESS_DISK_WAIT, 100, 37 * tick);
	ck_assert_ptr_null(set_missing(&set, "disk wait"));
}
END_TEST

START_TEST(uncounted_wait_for_the_disk_is_missing_and_not_zero)
{
	fake_proc_put(&proc, "sys/kernel/task_delayacct", "0\n");
	put_stat(100, 'S', 250, 0);
	open_source(100, proc.root);
	read_source(0);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_DISK_WAIT, 100)));
	ck_assert_ptr_nonnull(set_missing(&set, "disk wait"));
	ck_assert_ptr_nonnull(strstr(set_missing(&set, "disk wait")->missing.remedy, "sysctl kernel.task_delayacct=1"));
	/* Once switched on, the kernel counts for new processes only. */
	fake_proc_put(&proc, "sys/kernel/task_delayacct", "1\n");
	fake_proc_add(&proc, 101, 100, "worker");
	read_source(6 * NS_PER_S);
	fake_proc_puts(&proc, 100, "task/100/children", "101 ");
	read_source(12 * NS_PER_S);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_DISK_WAIT, 100)));
	ck_figure(METRIC_PROCESS_DISK_WAIT, 101, 0);
}
END_TEST

START_TEST(an_older_kernel_that_says_nothing_is_believed_where_it_counted)
{
	fake_proc_put(&proc, "sys/kernel/task_delayacct", "");
	put_stat(100, 'S', 250, 0);
	open_source(100, proc.root);
	read_source(0);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_DISK_WAIT, 100)));
	ck_assert_ptr_nonnull(set_missing(&set, "disk wait"));
	put_stat(100, 'S', 250, 1);
	read_source(6 * NS_PER_S);
	ck_assert(!isnan(set_figure(&set, METRIC_PROCESS_DISK_WAIT, 100)));
	ck_assert_ptr_null(set_missing(&set, "disk wait")->missing.text);
}
END_TEST

START_TEST(descriptors_are_counted_every_five_seconds)
{
	fake_proc_put(&proc, "100/fd/0", "");
	fake_proc_put(&proc, "100/fd/1", "");
	open_source(100, proc.root);
	read_source(0);
	double first = set_figure(&set, METRIC_PROCESS_DESCRIPTORS, 100);
	ck_assert(!isnan(first)); /* any number, for a folder that is not the kernel's */
	read_source(4 * NS_PER_S);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_DESCRIPTORS, 100)));
	read_source(5 * NS_PER_S);
	ck_figure(METRIC_PROCESS_DESCRIPTORS, 100, first);
}
END_TEST

static const char *emitted_wait(int pid)
{
	const char *text = NULL;
	for (size_t i = 0; i < set.count; i++)
		if (set.records[i].kind == RECORD_PROCESS_WAIT && set.records[i].wait.pid == pid)
			text = set.records[i].wait.text;
	return text;
}

START_TEST(a_processs_wait_is_emitted_when_it_changes)
{
	fake_proc_add(&proc, 101, 100, "worker");
	fake_proc_puts(&proc, 100, "task/100/children", "101 ");
	fake_proc_puts(&proc, 100, "wchan", "do_poll");
	fake_proc_puts(&proc, 101, "wchan", "folio_wait_bit_common");
	put_stat(101, 'R', 10, 0);
	open_source(100, proc.root);
	read_source(0);
	ck_assert_str_eq(emitted_wait(100), "do_poll");
	ck_assert_ptr_null(emitted_wait(101));
	read_source(NS_PER_S);
	ck_assert_ptr_null(emitted_wait(100));
	/* State D is emitted at once, and so is its end. */
	put_stat(101, 'D', 10, 0);
	read_source(NS_PER_S + NS_PER_S / 10);
	ck_assert_str_eq(emitted_wait(101), "folio_wait_bit_common");
	put_stat(101, 'R', 10, 0);
	read_source(NS_PER_S + NS_PER_S / 5);
	ck_assert_str_eq(emitted_wait(101), "");
	/* Asleep and never run since: at the next reading of all. */
	fake_proc_puts(&proc, 101, "wchan", "pipe_read");
	put_stat(101, 'S', 11, 0);
	read_source(2 * NS_PER_S);
	ck_assert_ptr_null(emitted_wait(101));
	read_source(3 * NS_PER_S);
	ck_assert_str_eq(emitted_wait(101), "pipe_read");
	/* "0": the kernel hides it. */
	fake_proc_puts(&proc, 100, "wchan", "0");
	read_source(4 * NS_PER_S);
	ck_assert_str_eq(emitted_wait(100), "");
}
END_TEST

START_TEST(a_missing_file_is_reported_once_with_its_remedy_and_withdrawn)
{
	fake_proc_remove(&proc, 100, "io");
	open_source(100, proc.root);
	read_source(0);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 1);
	const struct record *missing = set_missing(&set, "disk I/O");
	ck_assert_ptr_nonnull(missing);
	ck_assert_str_eq(missing->missing.text, "the kernel counts no I/O per process");
	ck_assert_str_eq(missing->missing.remedy, "boot a kernel with CONFIG_TASK_IO_ACCOUNTING");
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_READ, 100)));
	read_source(1);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
	fake_proc_puts(&proc, 100, "io", "read_bytes: 17\n");
	read_source(2);
	missing = set_missing(&set, "disk I/O");
	ck_assert_ptr_nonnull(missing);
	ck_assert_ptr_null(missing->missing.text);
	ck_figure(METRIC_PROCESS_READ, 100, 17);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_WRITTEN, 100)));
}
END_TEST

START_TEST(counters_that_the_kernel_does_not_keep_are_missing_not_zero)
{
	fake_proc_puts(&proc, 100, "schedstat", "0 0 0\n");
	open_source(100, proc.root);
	read_source(0);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_RUN_QUEUE_WAIT, 100)));
	ck_assert_ptr_nonnull(set_missing(&set, "run-queue wait"));
}
END_TEST

START_TEST(garbage_gives_no_figure)
{
	fake_proc_puts(&proc, 100, "status", "VmRSS:\tmuch kB\nVmHWM 5\n\x1b[2J\nRssAnon:\t4 kB\nThreads:\t-1\n");
	fake_proc_puts(&proc, 100, "schedstat", "x");
	open_source(100, proc.root);
	read_source(0);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_RESIDENT, 100)));
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_RESIDENT_PEAK, 100)));
	ck_figure(METRIC_PROCESS_ANONYMOUS, 100, 4096);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_RUN_QUEUE_WAIT, 100)));
	/* A stat that cannot be parsed any more is left out; the process is still there. */
	fake_proc_puts(&proc, 100, "stat", "100 (trainer");
	ck_assert_int_eq(read_source(1), STATUS_OK);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_CPU_USER, 100)));
	ck_figure(METRIC_PROCESS_ANONYMOUS, 100, 4096);
}
END_TEST

START_TEST(the_end_of_the_target_is_emitted)
{
	open_source(100, proc.root);
	read_source(0);
	fake_proc_end(&proc, 100);
	ck_assert_int_eq(read_source(1), STATUS_END);
	ck_assert_ptr_nonnull(set_process(&set, RECORD_PROCESS_GONE, 100));
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
}
END_TEST

/* -- real processes -- */

enum { WORKERS = 3, THREADS = 50, HELD_BYTES = 32 << 20 };

static void *pause_body(void *argument)
{
	pause();
	return argument;
}

/* A parent with memory of its own, a zombie, a stopped child, a child with a hostile name, and many threads. */
static void family_body(void *argument, int in, int out)
{
	pid_t *shared = argument;
	for (int i = 0; i < WORKERS; i++) {
		pid_t pid = fork();
		if (pid > 0) {
			shared[i] = pid;
		} else {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_NAME, ") R (");
			if (i == 0)
				_exit(0);
			if (i == 1)
				raise(SIGSTOP);
			child_ready(out);
			pause();
			_exit(0);
		}
	}
	siginfo_t info;
	waitid(P_PID, (id_t)shared[0], &info, WEXITED | WNOWAIT);
	waitpid(shared[1], NULL, WUNTRACED);
	memset(mmap(NULL, HELD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, HELD_BYTES);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, pause_body, NULL);
	}
	child_ready(out);
	child_wait(in);
}

START_TEST(states_of_real_children_are_seen)
{
	pid_t *shared = mmap(NULL, WORKERS * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child child = child_start(family_body, shared);
	child_await(&child);
	child_await(&child);
	open_source(child.pid, "/proc");
	ck_assert_int_eq(read_source(0), STATUS_OK);
	ck_assert_uint_eq(set_count(&set, RECORD_PROCESS_SEEN), 1 + WORKERS);
	ck_figure(METRIC_PROCESS_STATE, shared[0], 'Z');
	ck_figure(METRIC_PROCESS_STATE, shared[1], 'T');
	ck_figure(METRIC_PROCESS_STATE, shared[2], 'S');
	ck_figure(METRIC_PROCESS_THREADS, child.pid, 1 + THREADS);
	ck_assert(isnan(set_figure(&set, METRIC_PROCESS_RESIDENT, shared[0])));
	ck_assert_double_gt(set_figure(&set, METRIC_PROCESS_ANONYMOUS, child.pid), HELD_BYTES);
	ck_assert_double_lt(set_figure(&set, METRIC_PROCESS_ANONYMOUS, shared[2]), HELD_BYTES);
	ck_assert_str_eq(set_process(&set, RECORD_PROCESS_SEEN, shared[0])->process.command, ") R (");
	ck_assert_double_gt(set_figure(&set, METRIC_SELF_CPU, 0), 0);
	ck_assert_double_gt(set_figure(&set, METRIC_SELF_RESIDENT, 0), 0);
	child_kill(&child);
	ck_assert_int_eq(read_source(1), STATUS_END);
	ck_assert_uint_eq(set_count(&set, RECORD_PROCESS_GONE), 1 + WORKERS);
	close_source();
}
END_TEST

static void exec_body(void *argument, int in, int out)
{
	(void)argument;
	child_ready(out);
	child_wait(in);
	execl("/bin/sleep", "sleep", "100", (char *)NULL);
}

static bool is_replaced(void *argument)
{
	(void)argument;
	return read_source(1) == STATUS_OK && set_count(&set, RECORD_PROCESS_REPLACED) == 1;
}

START_TEST(exec_is_emitted_as_replaced)
{
	struct child child = child_start(exec_body, NULL);
	child_await(&child);
	open_source(child.pid, "/proc");
	read_source(0);
	child_release(&child);
	ck_assert(wait_until(is_replaced, NULL, 5));
	ck_assert_str_eq(set_process(&set, RECORD_PROCESS_REPLACED, child.pid)->process.command, "sleep");
	ck_assert_uint_eq(set_count(&set, RECORD_PROCESS_GONE), 0);
	/* The open descriptors follow it: the figures continue. */
	read_source(2);
	ck_assert_double_gt(set_figure(&set, METRIC_PROCESS_RESIDENT, child.pid), 0);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
	child_kill(&child);
	close_source();
}
END_TEST

static void storm_body(void *argument, int in, int out)
{
	(void)argument, (void)in;
	child_ready(out);
	for (;;) {
		pid_t pids[4];
		for (int i = 0; i < 4; i++) {
			pids[i] = fork();
			if (pids[i] == 0)
				_exit(0);
		}
		for (int i = 0; i < 4; i++)
			waitpid(pids[i], NULL, 0);
	}
}

START_TEST(every_child_of_a_burst_that_came_also_goes)
{
	struct child child = child_start(storm_body, NULL);
	child_await(&child);
	open_source(child.pid, "/proc");
	uint64_t seen = 0, gone = 0;
	for (int i = 0; i < 2000; i++) {
		ck_assert_int_eq(read_source(i * NS_PER_S), STATUS_OK);
		/* Independent of what this kernel counts. */
		ck_assert_uint_eq(set_count(&set, RECORD_MISSING), set_missing(&set, "disk wait") ? 1 : 0);
		seen += set_count(&set, RECORD_PROCESS_SEEN);
		gone += set_count(&set, RECORD_PROCESS_GONE);
	}
	child_kill(&child);
	ck_assert_int_eq(read_source(INT64_MAX), STATUS_END);
	gone += set_count(&set, RECORD_PROCESS_GONE);
	ck_assert_uint_eq(seen, gone);
	ck_assert_uint_gt(seen, 10);
	close_source();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process source");
	TCase *fixture = tcase_create("fixture");
	tcase_add_checked_fixture(fixture, set_up_proc, tear_down_proc);
	tcase_set_timeout(fixture, 60);
	tcase_add_test(fixture, every_figure_of_the_target_is_read);
	tcase_add_test(fixture, children_give_stat_each_time_and_the_rest_each_second);
	tcase_add_test(fixture, child_that_ends_is_gone_and_others_stay_themselves);
	tcase_add_test(fixture, wait_for_the_disk_is_emitted_if_the_kernel_counts_it);
	tcase_add_test(fixture, uncounted_wait_for_the_disk_is_missing_and_not_zero);
	tcase_add_test(fixture, an_older_kernel_that_says_nothing_is_believed_where_it_counted);
	tcase_add_test(fixture, descriptors_are_counted_every_five_seconds);
	tcase_add_test(fixture, a_processs_wait_is_emitted_when_it_changes);
	tcase_add_test(fixture, a_missing_file_is_reported_once_with_its_remedy_and_withdrawn);
	tcase_add_test(fixture, counters_that_the_kernel_does_not_keep_are_missing_not_zero);
	tcase_add_test(fixture, garbage_gives_no_figure);
	tcase_add_test(fixture, the_end_of_the_target_is_emitted);
	suite_add_tcase(suite, fixture);

	TCase *real = tcase_create("real");
	tcase_set_timeout(real, 30);
	tcase_add_test(real, states_of_real_children_are_seen);
	tcase_add_test(real, exec_is_emitted_as_replaced);
	tcase_add_test(real, every_child_of_a_burst_that_came_also_goes);
	suite_add_tcase(suite, real);

	return suite_run(suite);
}
