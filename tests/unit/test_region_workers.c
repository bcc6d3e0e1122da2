#define PMTOP_IMPLEMENTATION
#include "tests/support/publisher_clock.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/sets.h"

static struct target target;
static struct reason reason;
static struct sample_set set;
static void *state;
static int64_t later_ns; /* added to the clock instead of waiting */

static void read_later(double seconds)
{
	later_ns += (int64_t)(seconds * 1e9);
	sample_set_clear(&set);
	target_refresh(&target);
	ck_assert_int_eq(region_source.read(state, clock_monotonic_ns() + later_ns, &set), STATUS_OK);
}

/* -- a trainer whose child is a worker -- */

static struct pmtop *open_worker(void)
{
	struct pmtop_options options = { .lanes = 2, .slots = 256, .totals = 16, .names = 64, .directory = "" };
	struct pmtop *pm = pmtop_open("worker 3", &options);
	pmtop_count(pm, "samples", 0);
	pmtop_meta(pm, "worker.id", "3");
	pmtop_meta(pm, "worker.count", "4");
	return pm;
}

static void fetch(struct pmtop *pm, uint64_t index)
{
	pmtop_batch_begin(pm, index);
	PMTOP_SPAN(pm, "decode")
	publisher_later_ns += NS_PER_MS;
	pmtop_count(pm, "samples", 8);
	pmtop_batch_end(pm, 0);
}

static void fail_at(struct pmtop *pm, uint64_t index, const char *mode)
{
	pmtop_batch_begin(pm, index);
	pmtop_mode(pm, mode);
	pmtop_batch_end(pm, 0);
	pmtop_mode(pm, "train");
}

static void work(void *argument, int in, int out)
{
	struct pmtop *pm = open_worker();
	(void)argument;
	child_ready(out);
	child_wait(in);
	pmtop_meta(pm, "role", "worker");
	child_ready(out);
	child_wait(in);
	for (uint64_t i = 0; i < 300; i++)
		fetch(pm, i);
	fail_at(pm, 300, "failed");
	fail_at(pm, 301, "exhausted");
	pmtop_batch_begin(pm, 302);
	child_ready(out);
	child_wait(in);
	pmtop_batch_end(pm, 0);
	pmtop_close(pm);
	child_ready(out);
	child_wait(in);
}

static struct child worker;

static void setup(void)
{
	later_ns = 0;
	worker = child_start(work, NULL);
	child_await(&worker);
	ck_assert_int_eq(target_open(&target, getpid(), "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(region_source.open(&target, &state, &reason), STATUS_OK);
}

static void teardown(void)
{
	region_source.close(state);
	sample_set_release(&set);
	target_close(&target);
	if (worker.pid)
		child_kill(&worker);
}

static void go_on(void)
{
	child_release(&worker);
	child_await(&worker);
}

static const struct worker_row *emitted(void)
{
	const struct record *record = set_record(&set, RECORD_WORKER, 0);
	ck_assert_ptr_nonnull(record);
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_OPENED), 0);
	return record->worker;
}

START_TEST(a_worker_is_emitted_as_a_row_and_never_as_a_run)
{
	go_on();
	read_later(0);
	const struct worker_row *row = emitted();
	ck_assert_int_eq(row->pid, worker.pid);
	ck_assert_uint_eq(row->id, 3);
	ck_assert_uint_eq(row->count, 4);
	ck_assert_uint_eq(row->fetches, 0);
	ck_assert(isnan(row->total_s));
	ck_assert_int_eq(row->fetch_begin_ns, 0);
	go_on();
	read_later(1);
	row = emitted();
	ck_assert_uint_eq(row->fetches, 300);
	ck_assert_uint_eq(row->failed, 1);
	ck_assert_double_eq(row->items, 2400);
	ck_assert_double_ge(row->total_s, 0.3);
	ck_assert_double_ge(row->min_s, 0.001);
	ck_assert_int_gt(row->fetch_begin_ns, 0);
	ck_assert_uint_eq(row->span_count, 1);
	ck_assert_str_eq(row->spans[0].name, "decode");
	ck_assert_uint_eq(row->spans[0].count, 300);
}
END_TEST

START_TEST(a_region_without_a_role_yet_is_read_again)
{
	read_later(0);
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_OPENED), 0);
	ck_assert_uint_eq(set_count(&set, RECORD_WORKER), 0);
	go_on();
	read_later(0.1);
	ck_assert_uint_eq(emitted()->id, 3);
}
END_TEST

START_TEST(an_idle_worker_emits_nothing)
{
	go_on();
	read_later(0);
	emitted();
	for (unsigned i = 0; i < 5; i++) {
		read_later(1);
		ck_assert_uint_eq(set_count(&set, RECORD_WORKER), 0);
	}
}
END_TEST

START_TEST(a_worker_that_closes_is_emitted_to_its_last_fetch)
{
	go_on();
	read_later(0);
	go_on();
	go_on();
	read_later(0.2);
	ck_assert_uint_eq(emitted()->fetches, 301);
	ck_assert_str_eq(set_record(&set, RECORD_WORKER_GONE, 0)->text, "ended");
	read_later(1);
	ck_assert_uint_eq(set_count(&set, RECORD_WORKER) + set_count(&set, RECORD_WORKER_GONE), 0);
}
END_TEST

START_TEST(a_killed_worker_is_emitted_to_its_last_fetch)
{
	go_on();
	read_later(0);
	go_on();
	child_kill(&worker);
	worker.pid = 0;
	read_later(0.01);
	ck_assert_uint_eq(emitted()->fetches, 300);
	ck_assert_str_eq(set_record(&set, RECORD_WORKER_GONE, 0)->text, "killed or crashed");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region workers");
	TCase *tests = tcase_create("workers");
	SRunner *runner = srunner_create(suite);
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_worker_is_emitted_as_a_row_and_never_as_a_run);
	tcase_add_test(tests, a_region_without_a_role_yet_is_read_again);
	tcase_add_test(tests, an_idle_worker_emits_nothing);
	tcase_add_test(tests, a_worker_that_closes_is_emitted_to_its_last_fetch);
	tcase_add_test(tests, a_killed_worker_is_emitted_to_its_last_fetch);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
