#include <check.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/collect/collector.h"
#include "src/sources/source.h"
#include "tests/support/children.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

static struct target target;
static struct reason reason;
static struct sample_set set;
static struct collector *collector;

/* -- a source of the test's own -- */

static _Atomic int opens, reads, closes, records_a_read = 1, end_after;
static _Atomic bool fails_to_open, fails_to_read;
static _Atomic int64_t opened_ns[16];
static _Atomic bool had_signals_blocked, had_faults_blocked;
static pthread_t reading_thread;

static enum status own_open(struct target *of, void **state, struct reason *why_not)
{
	(void)of;
	int i = atomic_fetch_add(&opens, 1);
	if (i < 16)
		atomic_store(&opened_ns[i], clock_monotonic_ns());
	if (fails_to_open)
		return reason_set(why_not, STATUS_DENIED, "ask for it", "not allowed");
	*state = &opens;
	return STATUS_OK;
}

static enum status own_read(void *state, int64_t now_ns, struct sample_set *out)
{
	(void)state;
	sigset_t mask;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	had_signals_blocked = sigismember(&mask, SIGINT) && sigismember(&mask, SIGWINCH) && sigismember(&mask, SIGTERM);
	had_faults_blocked = sigismember(&mask, SIGBUS) || sigismember(&mask, SIGSEGV);
	reading_thread = pthread_self();
	for (int i = 0; i < records_a_read; i++)
		sample_set_add(out, RECORD_MARK, 0, now_ns);
	int so_far = atomic_fetch_add(&reads, 1) + 1;
	if (fails_to_read)
		return STATUS_NO_MEMORY;
	return end_after && so_far >= end_after ? STATUS_END : STATUS_OK;
}

static void own_close(void *state)
{
	(void)state;
	atomic_fetch_add(&closes, 1);
}

/* Requests another sample after `sample_every_ns`; 0: none. */
static _Atomic int samples, records_a_sample = 1;
static _Atomic int64_t sample_every_ns;

static int64_t own_sample(void *state, int64_t now_ns, struct sample_set *out)
{
	(void)state;
	atomic_fetch_add(&samples, 1);
	for (int i = 0; sample_every_ns && i < records_a_sample; i++)
		sample_set_add(out, RECORD_GAUGE, 0, now_ns);
	return sample_every_ns ? now_ns + sample_every_ns : INT64_MAX;
}

static const struct source own_source = {
	.name = "own", .open = own_open, .read = own_read, .sample = own_sample, .close = own_close
};
static const struct source *const own_sources[] = { &own_source };

static void start_own(int64_t period_ns)
{
	ck_assert_int_eq(target_open(&target, getpid(), "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(collector_start_with(own_sources, 1, &target, period_ns, &collector, &reason), STATUS_OK);
}

static void stop(void)
{
	collector_stop(collector);
	sample_set_release(&set);
}

static bool take(int timeout_ms)
{
	struct pollfd poller = { .fd = collector_fd(collector), .events = POLLIN };
	return poll(&poller, 1, timeout_ms) == 1 && collector_take(collector, &set);
}

/* -- the real ones -- */

static void wait_body(void *argument, int in, int out)
{
	(void)argument;
	child_ready(out);
	child_wait(in);
}

START_TEST(first_reading_of_every_source_waits_as_one_set)
{
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(collector_start(&target, 3600 * NS_PER_S, &collector, &reason), STATUS_OK);
	ck_assert(collector_take(collector, &set));
	ck_assert_ptr_nonnull(set_process(&set, RECORD_PROCESS_SEEN, child.pid));
	ck_assert(!isnan(set_figure(&set, METRIC_PROCESS_RESIDENT, child.pid)));
	ck_assert_ptr_nonnull(set_missing(&set, "region"));
	ck_assert(!collector_take(collector, &set));
	ck_assert(!collector_has_ended(collector));
	child_kill(&child);
	stop();
}
END_TEST

START_TEST(end_of_the_target_is_known_with_its_last_set)
{
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(collector_start(&target, 5 * NS_PER_MS, &collector, &reason), STATUS_OK);
	ck_assert(take(1000));
	ck_assert(!collector_has_ended(collector));
	child_kill(&child);
	bool is_gone = false;
	while (!collector_has_ended(collector)) {
		ck_assert(take(5000));
		is_gone |= set_process(&set, RECORD_PROCESS_GONE, child.pid) != NULL;
	}
	ck_assert(is_gone);
	ck_assert(!take(50));
	stop();
}
END_TEST

static bool has_read_thrice(void *argument)
{
	(void)argument;
	return reads == 3;
}

START_TEST(the_end_is_reported_with_the_last_set_not_before)
{
	end_after = 3;
	start_own(1 * NS_PER_MS);
	ck_assert(wait_until(has_read_thrice, NULL, 10));
	for (int i = 0; i < 3; i++) {
		ck_assert(!collector_has_ended(collector));
		ck_assert(take(1000));
	}
	ck_assert(collector_has_ended(collector));
	ck_assert(!take(50));
	stop();
}
END_TEST

/* -- pace -- */

START_TEST(the_interval_does_not_drift_and_can_be_changed)
{
	start_own(20 * NS_PER_MS);
	ck_assert(take(1000));
	int64_t first_ns = set.time_ns;
	for (int i = 0; i < 10; i++)
		ck_assert(take(1000));
	/* With absolute deadlines the time of readings does not add up; a loaded machine may skip turns, but never add
	 * some. */
	ck_assert_int_ge(set.time_ns - first_ns, 195 * NS_PER_MS);
	collector_set_period(collector, 3600 * NS_PER_S);
	while (take(100))
		;
	collector_set_period(collector, 10 * NS_PER_MS);
	ck_assert(take(1000));
	ck_assert(take(1000));
	stop();
	ck_assert_int_eq(closes, 1);
}
END_TEST

/* The first set is delivered as soon as it is read; samples are in the next. */
START_TEST(samples_between_two_readings_come_in_one_set)
{
	sample_every_ns = 10 * NS_PER_MS;
	start_own(200 * NS_PER_MS);
	ck_assert(take(1000));
	for (int i = 0; i < 3; i++) {
		ck_assert(take(1000));
		ck_assert_uint_eq(set_count(&set, RECORD_MARK), 1);
		ck_assert_uint_gt(set_count(&set, RECORD_GAUGE), 5);
		ck_assert_uint_le(set_count(&set, RECORD_GAUGE), 21);
	}
	stop();
}
END_TEST

START_TEST(a_source_that_requests_no_early_reading_is_read_at_the_refresh)
{
	start_own(50 * NS_PER_MS);
	for (int i = 0; i < 5; i++)
		ck_assert(take(1000));
	stop();
	ck_assert_int_eq(samples, reads);
}
END_TEST

START_TEST(an_early_reading_due_after_the_refresh_is_skipped)
{
	sample_every_ns = 60 * NS_PER_MS;
	start_own(50 * NS_PER_MS);
	for (int i = 0; i < 5; i++)
		ck_assert(take(1000));
	stop();
	ck_assert_int_eq(samples, reads);
}
END_TEST

START_TEST(a_set_filled_by_samples_is_delivered_before_the_refresh)
{
	sample_every_ns = 1 * NS_PER_MS;
	records_a_sample = 10000;
	start_own(3600 * NS_PER_S);
	ck_assert(take(1000));
	ck_assert(take(10000));
	ck_assert_uint_ge(set.count, 60000);
	ck_assert_uint_lt(set.count, 128 * 1024);
	ck_assert(take(10000));
	stop();
}
END_TEST

START_TEST(sampler_takes_no_signal_but_its_own_faults)
{
	start_own(3600 * NS_PER_S);
	ck_assert(had_signals_blocked);
	ck_assert(!had_faults_blocked);
	ck_assert(!pthread_equal(reading_thread, pthread_self()));
	sigset_t mask;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	ck_assert(!sigismember(&mask, SIGINT));
	stop();
}
END_TEST

START_TEST(stopping_does_not_wait_for_the_pace)
{
	start_own(3600 * NS_PER_S);
	int64_t before_ns = clock_monotonic_ns();
	stop();
	ck_assert_int_lt(clock_monotonic_ns() - before_ns, 5 * NS_PER_S);
}
END_TEST

/* -- what goes wrong -- */

static bool has_opened_twice(void *argument)
{
	(void)argument;
	return opens >= 2;
}

START_TEST(source_that_cannot_be_opened_says_why_and_is_retried)
{
	fails_to_open = true;
	start_own(10 * NS_PER_MS);
	ck_assert(take(1000));
	const struct record *missing = set_missing(&set, "own");
	ck_assert_ptr_nonnull(missing);
	ck_assert_str_eq(missing->missing.text, "not allowed");
	ck_assert_str_eq(missing->missing.remedy, "ask for it");
	fails_to_open = false;
	ck_assert(wait_until(has_opened_twice, NULL, 10));
	ck_assert_int_ge(opened_ns[1] - opened_ns[0], 9 * NS_PER_S / 10);
	bool is_withdrawn = false;
	for (int i = 0; i < 200 && !is_withdrawn; i++) {
		ck_assert(take(1000));
		missing = set_missing(&set, "own");
		is_withdrawn = missing && !missing->missing.text;
	}
	ck_assert(is_withdrawn);
	ck_assert_uint_ge(set_count(&set, RECORD_MARK), 1);
	stop();
}
END_TEST

START_TEST(a_source_that_fails_is_closed_and_its_reason_emitted)
{
	fails_to_read = true;
	start_own(10 * NS_PER_MS);
	ck_assert(take(1000));
	ck_assert_str_eq(set_missing(&set, "own")->missing.text, "reading failed: out of memory");
	ck_assert_int_eq(closes, 1);
	for (int i = 0; i < 5; i++) {
		ck_assert(take(1000));
		ck_assert_ptr_null(set_missing(&set, "own"));
	}
	ck_assert_int_eq(reads, 1);
	stop();
	ck_assert_int_eq(closes, 1);
}
END_TEST

/* While no set is taken, the current one grows to its bound; then the source is not read, and no record is lost. */
static bool has_read_enough(void *argument)
{
	(void)argument;
	static int before;
	static int same;
	same = reads == before ? same + 1 : 0;
	before = reads;
	return same > 50;
}

START_TEST(no_set_is_lost_while_none_are_taken)
{
	records_a_read = 20000;
	start_own(1 * NS_PER_MS);
	ck_assert(wait_until(has_read_enough, NULL, 60));
	int read_then = reads;
	ck_assert_int_lt(read_then, 8 + 8 + 1);
	uint64_t got = 0;
	end_after = read_then + 3;
	while (!collector_has_ended(collector)) {
		ck_assert(take(5000));
		got += set_count(&set, RECORD_MARK);
	}
	ck_assert_uint_eq(got, (uint64_t)reads * 20000);
	ck_assert_int_eq(reads, end_after);
	stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("collector");
	TCase *all = tcase_create("collector");
	tcase_set_timeout(all, 90);
	tcase_add_test(all, first_reading_of_every_source_waits_as_one_set);
	tcase_add_test(all, end_of_the_target_is_known_with_its_last_set);
	tcase_add_test(all, the_end_is_reported_with_the_last_set_not_before);
	tcase_add_test(all, the_interval_does_not_drift_and_can_be_changed);
	tcase_add_test(all, samples_between_two_readings_come_in_one_set);
	tcase_add_test(all, a_source_that_requests_no_early_reading_is_read_at_the_refresh);
	tcase_add_test(all, an_early_reading_due_after_the_refresh_is_skipped);
	tcase_add_test(all, a_set_filled_by_samples_is_delivered_before_the_refresh);
	tcase_add_test(all, sampler_takes_no_signal_but_its_own_faults);
	tcase_add_test(all, stopping_does_not_wait_for_the_pace);
	tcase_add_test(all, source_that_cannot_be_opened_says_why_and_is_retried);
	tcase_add_test(all, a_source_that_fails_is_closed_and_its_reason_emitted);
	tcase_add_test(all, no_set_is_lost_while_none_are_taken);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
