/* Fault 55 of tests/README.md: no file descriptor is left, or malloc fails at any one call. pmtop continues without the
 * figures concerned and reports which. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/collect/collector.h"
#include "src/collect/queue.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/fake_proc.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

/* -- an allocator that fails on request; not under the sanitizers, which have their own -- */

#ifdef IS_SANITIZED
#define HAS_OWN_ALLOCATOR 0
#else
#define HAS_OWN_ALLOCATOR 1
#endif

static long allocations_left = -1; /* −1: without end */

#if HAS_OWN_ALLOCATOR
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static int may_allocate(void)
{
	if (__atomic_load_n(&allocations_left, __ATOMIC_RELAXED) < 0)
		return 1;
	if (__atomic_fetch_sub(&allocations_left, 1, __ATOMIC_RELAXED) > 0)
		return 1;
	__atomic_store_n(&allocations_left, 0, __ATOMIC_RELAXED);
	errno = ENOMEM;
	return 0;
}

void *malloc(size_t size) { return may_allocate() ? __libc_malloc(size) : NULL; }

void *calloc(size_t count, size_t size) { return may_allocate() ? __libc_calloc(count, size) : NULL; }

void *realloc(void *old, size_t size) { return may_allocate() ? __libc_realloc(old, size) : NULL; }
#endif

static struct target target;
static struct reason reason;

static void wait_body(void *argument, int in, int out)
{
	(void)argument;
	child_ready(out);
	child_wait(in);
}

/* -- file descriptors -- */

static void leave_descriptors(int count)
{
	int next = open("/dev/null", O_RDONLY);
	struct rlimit limit = { (rlim_t)(next + count), (rlim_t)(next + count) };
	close(next);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static struct fake_proc proc;

static void watch_with_few(void *argument)
{
	struct sample_set set = SAMPLE_SET_INIT;
	void *state;
	leave_descriptors(*(int *)argument);
	enum status status = target_open(&target, 100, proc.root, &reason);
	if (status != STATUS_OK) {
		ck_assert_int_eq(status, STATUS_IO);
		ck_assert_str_eq(reason.text, "process 100: no file descriptor left");
		ck_assert_str_eq(reason.remedy, "raise the limit (ulimit -n)");
		_exit(1);
	}
	target_refresh(&target);
	ck_assert_int_eq(process_source.open(&target, &state, &reason), STATUS_OK);
	ck_assert_int_eq(process_source.read(state, 0, &set), STATUS_OK);
	/* Each figure is emitted, or reported as missing. */
	struct {
		enum metric metric;
		const char *figure;
	} figures[] = {
		{ METRIC_PROCESS_RESIDENT, "memory" },
		{ METRIC_PROCESS_READ, "disk I/O" },
		{ METRIC_PROCESS_RUN_QUEUE_WAIT, "run-queue wait" },
	};
	int missing = 0;
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		const struct record *said = set_missing(&set, figures[i].figure);
		ck_assert_int_eq(said != NULL, isnan(set_figure(&set, figures[i].metric, 100)));
		missing += said != NULL;
		if (said)
			ck_assert_str_eq(said->missing.text, "no file descriptor left");
	}
	/* The target's own files and 9 workers'. */
	if (target.member_count + target.members_left_out != 10)
		ck_abort_msg("%zu and %u of 10", target.member_count, target.members_left_out);
	ck_assert_int_eq(target.is_short_of_files, target.member_count < 10);
	ck_assert_int_eq(set_missing(&set, "workers") != NULL, target.member_count < 10);
	_exit(missing > 0 ? 2 : target.member_count < 10 ? 3 : 0);
}

START_TEST(every_number_of_descriptors_degrades_and_says_which)
{
	char list[64] = "";
	fake_proc_init(&proc);
	fake_proc_add(&proc, 100, 1, "trainer");
	for (int i = 1; i < 10; i++) {
		fake_proc_add(&proc, 100 + i, 100, "worker");
		sprintf(list + strlen(list), "%d ", 100 + i);
	}
	fake_proc_puts(&proc, 100, "task/100/children", list);
	int outcomes[4] = { 0 };
	for (int count = 0; count < 90; count += count < 12 ? 1 : 6) {
		int code = in_child(watch_with_few, &count);
		ck_assert_msg(code >= 0 && code < 4, "with %d descriptors: exit %d", count, code);
		outcomes[code]++;
	}
	fake_proc_release(&proc);
	for (int i = 0; i < 4; i++)
		ck_assert_msg(outcomes[i] > 0, "outcome %d was never seen", i);
}
END_TEST

static void collect_with_few(void *argument)
{
	const int *numbers = argument;
	struct collector *collector;
	leave_descriptors(numbers[1]);
	if (target_open(&target, numbers[0], "/proc", &reason) != STATUS_OK)
		_exit(1);
	if (collector_start(&target, NS_PER_S, &collector, &reason) != STATUS_OK) {
		ck_assert_ptr_nonnull(strstr(reason.text, "the sampler thread could not be started"));
		_exit(2);
	}
	struct sample_set set = SAMPLE_SET_INIT;
	ck_assert(collector_take(collector, &set));
	ck_assert_ptr_nonnull(set_process(&set, RECORD_PROCESS_SEEN, numbers[0]));
	collector_stop(collector);
	_exit(0);
}

START_TEST(collector_starts_or_says_why_with_any_number_of_descriptors)
{
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	int outcomes[3] = { 0 };
	for (int count = 0; count < 24; count++) {
		int numbers[] = { child.pid, count };
		int code = in_child(collect_with_few, numbers);
		ck_assert_msg(code >= 0 && code < 3, "with %d descriptors: exit %d", count, code);
		outcomes[code]++;
	}
	ck_assert_int_gt(outcomes[0], 0);
	ck_assert_int_gt(outcomes[1], 0);
	ck_assert_int_gt(outcomes[2], 0);
	child_kill(&child);
}
END_TEST

/* -- memory -- */

static void watch_with_failing_malloc(void *argument)
{
	const int *numbers = argument;
	void *state = NULL;
	struct sample_set set = SAMPLE_SET_INIT;
	enum status status;
	allocations_left = numbers[1];
	status = target_open(&target, numbers[0], "/proc", &reason);
	if (status == STATUS_OK)
		status = process_source.open(&target, &state, &reason);
	if (status == STATUS_OK) {
		target_refresh(&target);
		status = process_source.read(state, 0, &set);
	}
	allocations_left = -1;
	if (!state) {
		ck_assert_int_eq(status, STATUS_NO_MEMORY);
		ck_assert_str_eq(reason.text, "out of memory");
		_exit(1);
	}
	ck_assert_int_eq(status, STATUS_OK);
	bool was_whole = !set.failed;
	sample_set_clear(&set);
	/* With memory again, every figure is emitted. */
	process_source.read(state, 1, &set);
	ck_assert(!set.failed);
	ck_assert_double_gt(set_figure(&set, METRIC_PROCESS_RESIDENT, numbers[0]), 0);
	process_source.close(state);
	target_close(&target);
	_exit(was_whole ? 0 : 2);
}

START_TEST(a_failed_allocation_loses_figures_and_is_reported)
{
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	int outcomes[3] = { 0 };
	for (int count = 0; count < 40; count++) {
		int numbers[] = { child.pid, count };
		int code = in_child(watch_with_failing_malloc, numbers);
		ck_assert_msg(code >= 0 && code < 3, "after %d allocations: exit %d", count, code);
		outcomes[code]++;
	}
	for (int i = 0; i < 3; i++)
		ck_assert_msg(outcomes[i] > 0 || !HAS_OWN_ALLOCATOR, "outcome %d was never seen", i);
	child_kill(&child);
}
END_TEST

static void collect_with_failing_malloc(void *argument)
{
	const int *numbers = argument;
	struct collector *collector;
	ck_assert_int_eq(target_open(&target, numbers[0], "/proc", &reason), STATUS_OK);
	allocations_left = numbers[1];
	enum status status = collector_start(&target, NS_PER_MS, &collector, &reason);
	allocations_left = -1;
	if (status != STATUS_OK)
		_exit(1);
	/* A failed source is opened again: in the end every source is open. */
	struct sample_set set = SAMPLE_SET_INIT;
	bool has_failed = false;
	int64_t until_ns = clock_monotonic_ns() + 20 * NS_PER_S;
	while (clock_monotonic_ns() < until_ns) {
		if (!collector_take(collector, &set))
			continue;
		has_failed |= set.failed || set_missing(&set, "process");
		if (!isnan(set_figure(&set, METRIC_PROCESS_RESIDENT, numbers[0])))
			break;
	}
	ck_assert(!isnan(set_figure(&set, METRIC_PROCESS_RESIDENT, numbers[0])));
	collector_stop(collector);
	_exit(has_failed ? 2 : 0);
}

START_TEST(collector_survives_any_allocation_that_fails)
{
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	int outcomes[3] = { 0 };
	for (int count = 0; count < 24; count++) {
		int numbers[] = { child.pid, count };
		int code = in_child(collect_with_failing_malloc, numbers);
		ck_assert_msg(code >= 0 && code < 3, "after %d allocations: exit %d", count, code);
		outcomes[code]++;
	}
	for (int i = 0; i < 3; i++)
		ck_assert_msg(outcomes[i] > 0 || !HAS_OWN_ALLOCATOR, "outcome %d was never seen", i);
	child_kill(&child);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("out of descriptors and memory");
	TCase *all = tcase_create("resources");
	tcase_set_timeout(all, 90);
	tcase_add_test(all, every_number_of_descriptors_degrades_and_says_which);
	tcase_add_test(all, collector_starts_or_says_why_with_any_number_of_descriptors);
	tcase_add_test(all, a_failed_allocation_loses_figures_and_is_reported);
	tcase_add_test(all, collector_survives_any_allocation_that_fails);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
