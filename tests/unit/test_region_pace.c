/* Between two readings of the region source: a ring that fills up is read, others wait for the next reading. */
#define PMTOP_IMPLEMENTATION
#include "src/region/pmtop.h"

#include <check.h>
#include <stdbool.h>

#include "src/base/clock.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/run_account.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

static struct target target;
static struct reason reason;
static struct sample_set set;
static struct run_account account;
static void *state;

static void read_source(void)
{
	sample_set_clear(&set);
	target_refresh(&target);
	region_source.read(state, clock_monotonic_ns(), &set);
	run_account_apply(&account, &set);
	ck_assert_msg(!account.wrong[0], "%s", account.wrong);
}

/* Samples so long after the last sample. Returns the number of records; *next_after_ns is the time until the next
 * sample. */
static size_t sample_after(int64_t after_ns, int64_t *next_after_ns)
{
	static int64_t at_ns;
	at_ns = (at_ns ? at_ns : clock_monotonic_ns()) + after_ns;
	sample_set_clear(&set);
	*next_after_ns = region_source.sample(state, at_ns, &set) - at_ns;
	run_account_apply(&account, &set);
	ck_assert_msg(!account.wrong[0], "%s", account.wrong);
	return set.count;
}

/* A run that ends with the test and leaves nothing in /dev/shm: a first few batches of five events, and `then` more at
 * each go_on. */
struct plan {
	uint32_t slots;
	unsigned then;
};
enum { FIRST = 5 };

static void publish_batches(struct pmtop *pm, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		pmtop_batch_begin(pm, i);
		PMTOP_SPAN(pm, "data")
		PMTOP_SPAN(pm, "decode");
		PMTOP_SPAN(pm, "forward");
		pmtop_batch_end(pm, 1.0);
	}
}

static void train_body(void *argument, int in, int out)
{
	const struct plan *plan = argument;
	struct pmtop_options options = { .slots = plan->slots, .directory = "" };
	struct pmtop *pm = pmtop_open("pace", &options);
	pmtop_mode(pm, "train");
	pmtop_epoch_begin(pm, 0);
	publish_batches(pm, FIRST);
	for (;;) {
		child_ready(out);
		child_wait(in);
		publish_batches(pm, plan->then);
	}
}

/* After the first reading and the first sample. */
static struct child start_training(struct plan *plan)
{
	struct child child = child_start(train_body, plan);
	int64_t next_ns;
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(region_source.open(&target, &state, &reason), STATUS_OK);
	read_source();
	ck_assert_uint_eq(account.batch_ends, FIRST);
	sample_after(0, &next_ns);
	ck_assert_int_eq(next_ns, 10 * NS_PER_MS);
	return child;
}

static void go_on(struct child *child)
{
	child_release(child);
	child_await(child);
}

static void stop(struct child *child)
{
	child_kill(child);
	region_source.close(state);
	sample_set_release(&set);
	target_close(&target);
}

static void ck_counts(uint64_t batches)
{
	ck_assert_uint_eq(run_account_count(&account, TOTAL_BATCH, NULL), batches);
	ck_assert_uint_eq(run_account_count(&account, TOTAL_SPAN, "decode"), batches);
}

/* 80 batches are more than a quarter of the ring, and 800 a second fill a third in less than 100 ms. */
START_TEST(a_ring_that_fills_is_read_between_two_readings)
{
	struct plan plan = { 1024, 80 };
	struct child child = start_training(&plan);
	int64_t next_ns = 0;
	for (unsigned i = 1; i <= 50; i++) {
		go_on(&child);
		ck_assert_uint_gt(sample_after(100 * NS_PER_MS, &next_ns), 0);
		ck_assert_uint_eq(account.batch_ends, FIRST + i * 80);
	}
	ck_assert_int_ge(next_ns, 10 * NS_PER_MS);
	ck_assert_int_lt(next_ns, 100 * NS_PER_MS);
	read_source();
	ck_counts(FIRST + 50 * 80);
	ck_assert_uint_eq(account.lost + account.before, 0);
	ck_assert_ptr_null(set_missing(&set, "lost events"));
	stop(&child);
}
END_TEST

/* Not at the longest interval at once: the rate of events is still unknown. */
START_TEST(a_ring_that_fills_slowly_is_left_to_the_reading)
{
	struct plan plan = { 1024, 3 };
	struct child child = start_training(&plan);
	int64_t next_ns = 10 * NS_PER_MS;
	for (int i = 0; i < 30; i++) {
		int64_t before_ns = next_ns;
		ck_assert_uint_eq(sample_after(next_ns, &next_ns), 0);
		ck_assert_int_le(next_ns, before_ns + before_ns / 8);
	}
	ck_assert_int_eq(next_ns, 125 * NS_PER_MS);
	for (int i = 0; i < 4; i++) {
		go_on(&child);
		ck_assert_uint_eq(sample_after(next_ns, &next_ns), 0);
		ck_assert_int_eq(next_ns, 125 * NS_PER_MS);
	}
	read_source();
	ck_counts(FIRST + 4 * 3);
	stop(&child);
}
END_TEST

START_TEST(a_burst_is_followed_at_once_and_forgotten_slowly)
{
	struct plan plan = { 1024, 160 };
	struct child child = start_training(&plan);
	int64_t next_ns = 10 * NS_PER_MS;
	for (int i = 0; i < 30; i++)
		sample_after(next_ns, &next_ns);
	go_on(&child);
	ck_assert_uint_gt(sample_after(next_ns, &next_ns), 0);
	/* 800 events in 125 ms. */
	ck_assert_int_lt(next_ns, 60 * NS_PER_MS);
	int64_t before_ns = next_ns;
	ck_assert_uint_eq(sample_after(next_ns, &next_ns), 0);
	ck_assert_int_eq(next_ns, before_ns + before_ns / 8);
	stop(&child);
}
END_TEST

START_TEST(a_loss_between_two_readings_is_reported_with_a_remedy)
{
	struct plan plan = { 256, 2000 };
	struct child child = start_training(&plan);
	int64_t next_ns;
	go_on(&child);
	ck_assert_uint_gt(sample_after(100 * NS_PER_MS, &next_ns), 0);
	ck_assert_int_eq(next_ns, 10 * NS_PER_MS);
	ck_assert_uint_eq(account.lost, 0);
	/* Although nothing came since the sample. */
	read_source();
	ck_counts(FIRST + 2000);
	ck_assert_uint_gt(account.lost, 0);
	ck_assert_uint_eq(account.events + account.lost, account.next_sequence[0]);
	const struct record *missing = set_missing(&set, "lost events");
	ck_assert_ptr_nonnull(missing);
	ck_assert_str_eq(
		missing->missing.text, "events were overwritten before pmtop read them: a thread's ring holds 256 events");
	ck_assert_str_eq(
		missing->missing.remedy, "pmtop.init(slots=1024) in Python, or .slots in pmtop_options in C (man pmtop.h)");
	/* Once. */
	read_source();
	ck_assert_ptr_null(set_missing(&set, "lost events"));
	stop(&child);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region pace");
	TCase *all = tcase_create("pace");
	tcase_set_timeout(all, 60);
	tcase_add_test(all, a_ring_that_fills_is_read_between_two_readings);
	tcase_add_test(all, a_ring_that_fills_slowly_is_left_to_the_reading);
	tcase_add_test(all, a_burst_is_followed_at_once_and_forgotten_slowly);
	tcase_add_test(all, a_loss_between_two_readings_is_reported_with_a_remedy);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
