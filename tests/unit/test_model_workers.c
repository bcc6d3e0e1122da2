#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/histogram.h"
#include "src/model/workers/workers.h"
#include "src/model/workers/workers_shown.h"
#include "tests/support/script.h"

#define NEAR 1e-9

enum { TRAINER = 100 };

static struct script script;

static void setup(void)
{
	script_open(&script, NULL);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
	script_apply(&script, 0);
}

static void teardown(void) { script_close(&script); }

static void add_process(double at_s, int32_t pid, int32_t parent, const char *command)
{
	script_process(&script, at_s, pid, (uint64_t)pid, command, false);
	script.set.records[script.set.count - 1].process.parent = parent;
}

/* `fetches` of 8 items and `each_s` so far; `begin_s` of the current one, 0 = none. */
static struct worker_row *emit(
	double at_s, unsigned run, uint32_t id, int32_t pid, uint64_t fetches, double each_s, double begin_s)
{
	static struct worker_span spans[2];
	struct worker_row *row = sample_set_allocate(&script.set, sizeof *row);
	uint32_t *histogram = sample_set_allocate(&script.set, HISTOGRAM_BUCKETS * sizeof *histogram);
	struct record *record = script_add(&script, RECORD_WORKER, at_s);
	record->run = (uint8_t)run;
	record->worker = row;
	histogram[histogram_bucket((uint64_t)(each_s * 1e9))] = (uint32_t)fetches;
	*row = (struct worker_row){ .pid = pid,
		.id = id,
		.count = 2,
		.start_ns = script_ns(1),
		.fetch_begin_ns = begin_s > 0 ? script_ns(begin_s) : 0,
		.fetches = fetches,
		.items = 8 * (double)fetches,
		.total_s = fetches ? (double)fetches * each_s : NAN,
		.min_s = fetches ? each_s : NAN,
		.max_s = fetches ? each_s : NAN,
		.histogram = histogram,
		.span_count = fetches ? 2 : 0,
		.spans = spans };
	spans[0] = (struct worker_span){ "decode", 8 * fetches, row->total_s * 0.75 };
	spans[1] = (struct worker_span){ "augment", 8 * fetches, row->total_s * 0.125 };
	return row;
}

static void lose(double at_s, unsigned run, const char *why)
{
	struct record *record = script_add(&script, RECORD_WORKER_GONE, at_s);
	record->run = (uint8_t)run;
	record->text = why;
}

static const struct worker_shown *shown_of(int run, size_t *count) { return model_workers(script.model, run, count); }

START_TEST(a_worker_has_what_it_did_since_it_started_and_is_no_run)
{
	size_t count;
	add_process(1, 101, TRAINER, "pt_data_worker");
	emit(3, 0, 0, 101, 10, 0.16, 0);
	script_apply(&script, 3);
	const struct worker_shown *shown = shown_of(0, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(script.model->run_count, 1);
	ck_assert_int_eq(shown->state, WORKER_IDLE);
	ck_assert_int_eq(shown->process->pid, 101);
	const struct worker_work *work = &shown->worker->work;
	ck_assert_uint_eq(work->fetches, 10);
	ck_assert_double_eq(work->items, 80);
	ck_assert_double_eq_tol(work->fetch.mean_s, 0.16, NEAR);
	ck_assert_double_eq_tol(work->item.mean_s, 0.02, NEAR);
	ck_assert_double_eq_tol(work->item.p50_s, 0.02, NEAR);
	ck_assert_double_eq_tol(work->item.p95_s, 0.02, NEAR);
	ck_assert_double_eq_tol(work->item.max_s, 0.02, NEAR);
	ck_assert_uint_eq(work->span_count, 2);
	ck_assert_str_eq(work->spans[0].name, "decode");
	ck_assert_uint_eq(work->spans[0].count, 80);
	ck_assert_double_eq_tol(work->spans[0].share_ratio, 0.75, NEAR);
	ck_assert_double_eq_tol(shown->worker->busy_ratio, 0.8, NEAR);
	ck_assert_double_eq_tol(shown->worker->items_per_s, 40, NEAR);
}
END_TEST

START_TEST(nothing_fetched_yet_is_unknown_and_not_zero)
{
	size_t count;
	add_process(1, 101, TRAINER, "pt_data_worker");
	struct worker_row *row = emit(2, 0, 0, 101, 0, 0, 1.5);
	row->items = NAN;
	script_apply(&script, 2);
	const struct worker_shown *shown = shown_of(0, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(shown->state, WORKER_BUSY);
	ck_assert(isnan(shown->worker->work.item.mean_s) && isnan(shown->worker->work.fetch.p50_s) &&
		isnan(shown->worker->items_per_s));
	ck_assert_double_eq_tol(shown->worker->busy_ratio, 0.5, NEAR);
}
END_TEST

START_TEST(totals_outlive_workers_so_that_an_epoch_with_new_ones_goes_on)
{
	size_t count;
	for (unsigned epoch = 0; epoch < 3; epoch++) {
		double at_s = 2 + epoch;
		for (unsigned id = 0; id < 2; id++) {
			add_process(at_s, (int32_t)(101 + 2 * epoch + id), TRAINER, "pt_data_worker");
			emit(at_s, id, id, (int32_t)(101 + 2 * epoch + id), 5, 0.01, 0);
			emit(at_s + 0.5, id, id, (int32_t)(101 + 2 * epoch + id), 20, 0.01, 0);
			lose(at_s + 0.9, id, "ended");
			script_add(&script, RECORD_PROCESS_GONE, at_s + 0.9)->process.pid = (int32_t)(101 + 2 * epoch + id);
		}
		script_apply(&script, at_s + 0.9);
	}
	const struct worker_group *worker_group = model_worker_group(script.model, 0);
	shown_of(0, &count);
	ck_assert_uint_eq(count, 0);
	ck_assert_uint_eq(worker_group->seen, 6);
	ck_assert_uint_eq(worker_group->died, 0);
	ck_assert_uint_eq(worker_group->work.fetches, 120);
	ck_assert_double_eq(worker_group->work.items, 960);
	ck_assert_double_eq_tol(worker_group->work.fetch.mean_s, 0.01, NEAR);
	ck_assert_uint_eq(worker_group->work.spans[0].count, 960);
}
END_TEST

START_TEST(busy_is_of_the_last_seconds_and_not_of_a_whole_life)
{
	size_t count;
	add_process(1, 101, TRAINER, "pt_data_worker");
	for (unsigned i = 1; i <= 50; i++) {
		emit(1 + 0.2 * i, 0, 0, 101, i, 0.2, 0);
		script_apply(&script, 1 + 0.2 * i);
	}
	ck_assert_double_eq_tol(shown_of(0, &count)->worker->busy_ratio, 1, NEAR);
	for (unsigned i = 0; i < 60; i++)
		script_apply(&script, 11 + 0.1 * i);
	const struct worker *worker = shown_of(0, &count)->worker;
	ck_assert_double_eq_tol(worker->busy_ratio, 0, 0.1);
	ck_assert_double_eq_tol(worker->work.fetch.mean_s, 0.2, NEAR);
}
END_TEST

START_TEST(a_long_fetch_counts_as_busy_while_it_runs)
{
	size_t count;
	add_process(1, 101, TRAINER, "pt_data_worker");
	emit(1.1, 0, 0, 101, 0, 0, 1.05);
	for (unsigned i = 0; i < 80; i++)
		script_apply(&script, 1.1 + 0.1 * i);
	ck_assert_double_eq_tol(shown_of(0, &count)->worker->busy_ratio, 1, 0.001);
}
END_TEST

START_TEST(a_dead_worker_stays_until_another_has_its_number)
{
	size_t count;
	struct worker_group_now now;
	add_process(1, 101, TRAINER, "pt_data_worker");
	add_process(1, 102, TRAINER, "pt_data_worker");
	emit(2, 0, 0, 101, 1, 0.1, 0);
	emit(2, 1, 1, 102, 1, 0.1, 1.9);
	script_add(&script, RECORD_PROCESS_GONE, 2)->process.pid = 102;
	lose(2, 1, "killed or crashed");
	script_apply(&script, 2);
	const struct worker_shown *shown = shown_of(0, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(shown[1].state, WORKER_GONE);
	ck_assert_ptr_null(shown[1].process);
	ck_assert_str_eq(shown[1].worker->ended, "killed or crashed");
	model_worker_group_now(script.model, 0, &now);
	ck_assert_uint_eq(now.count, 1);
	ck_assert_uint_eq(now.states[WORKER_GONE], 1);
	ck_assert_uint_eq(model_worker_group(script.model, 0)->died, 1);
	add_process(3, 103, TRAINER, "pt_data_worker");
	emit(3, 1, 1, 103, 0, 0, 0);
	script_apply(&script, 3);
	shown = shown_of(0, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(shown[1].worker->pid, 103);
}
END_TEST

START_TEST(children_of_a_run_that_publish_nothing_are_workers_by_their_processes)
{
	size_t count;
	struct worker_group_now now;
	add_process(1, 101, TRAINER, "trainer");
	add_process(1, 102, TRAINER, "trainer");
	script_figure(&script, 1, METRIC_PROCESS_STATE, 101, 'R');
	script_figure(&script, 1, METRIC_PROCESS_STATE, 102, 'S');
	script_apply(&script, 1);
	const struct worker_shown *shown = shown_of(0, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(shown[0].state, WORKER_BUSY);
	ck_assert_int_eq(shown[1].state, WORKER_SLEEPING);
	ck_assert_ptr_null(shown[0].worker);
	ck_assert_ptr_null(model_worker_group(script.model, 0));
	model_worker_group_now(script.model, 0, &now);
	ck_assert_uint_eq(now.count, 2);
	ck_assert(isnan(now.busy_ratio));
}
END_TEST

START_TEST(beside_workers_of_torch_other_children_are_none)
{
	size_t count;
	add_process(1, 101, TRAINER, "python3.11");
	add_process(1, 102, TRAINER, "pt_data_worker");
	script_apply(&script, 1);
	ck_assert_int_eq(shown_of(0, &count)->process->pid, 102);
	ck_assert_uint_eq(count, 1);
	script_add(&script, RECORD_PROCESS_GONE, 2)->process.pid = 102;
	script_apply(&script, 2);
	shown_of(0, &count);
	ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(a_worker_belongs_to_its_nearest_ancestor_with_a_run)
{
	size_t count;
	struct record *opened = script_add(&script, RECORD_RUN_OPENED, 1);
	opened->run = 1;
	opened->opened.pid = 200;
	opened->opened.name = "rank 1";
	opened->opened.uuid = "00000000000000000000000000000002";
	opened->opened.is_live = true;
	add_process(1, 200, TRAINER, "train.py");
	add_process(1, 201, 200, "python3.11");
	add_process(1, 202, 201, "pt_data_worker");
	add_process(1, 101, TRAINER, "pt_data_worker");
	emit(2, 0, 0, 101, 3, 0.1, 0);
	emit(2, 1, 0, 202, 4, 0.1, 0);
	script_apply(&script, 2);
	ck_assert_int_eq(shown_of(0, &count)->worker->pid, 101);
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(shown_of(1, &count)->worker->pid, 202);
	ck_assert_uint_eq(count, 1);
	shown_of(-1, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(model_worker_group(script.model, 0)->work.fetches, 3);
	ck_assert_uint_eq(model_worker_group(script.model, 1)->work.fetches, 4);
}
END_TEST

START_TEST(the_one_that_waits_for_the_disk_the_longest_is_named)
{
	struct worker_group_now now;
	for (unsigned id = 0; id < 2; id++) {
		add_process(1, (int32_t)(101 + id), TRAINER, "pt_data_worker");
		script_figure(&script, 1, METRIC_PROCESS_STATE, (int32_t)(101 + id), 'S');
		emit(1, id, id, (int32_t)(101 + id), 1, 0.1, 0.95);
	}
	script_figure(&script, 2, METRIC_PROCESS_STATE, 102, 'D');
	script_apply(&script, 2);
	script_figure(&script, 3, METRIC_PROCESS_STATE, 101, 'D');
	script_apply(&script, 4);
	model_worker_group_now(script.model, 0, &now);
	ck_assert_uint_eq(now.states[WORKER_DISK], 2);
	ck_assert_uint_eq(now.on_disk->worker->id, 1);
	ck_assert_double_eq_tol(now.on_disk_s, 2, NEAR);
}
END_TEST

START_TEST(implausible_values_are_ignored)
{
	size_t count;
	add_process(1, 101, TRAINER, "pt_data_worker");
	emit(2, 0, 0, 101, 10, 0.1, 0);
	script_apply(&script, 2);
	emit(3, 0, 0, 101, 9, 0.1, 0);
	script_apply(&script, 3);
	emit(4, 0, 0, 101, 12, 0.01, 0);
	script_apply(&script, 4);
	emit(5, 0, 0, 101, 13, 0.1, 0)->histogram = NULL;
	lose(5, 7, "nobody");
	lose(5, 9, NULL);
	script_apply(&script, 5);
	ck_assert_uint_eq(shown_of(0, &count)->worker->work.fetches, 10);
	ck_assert_uint_eq(model_worker_group(script.model, 0)->work.fetches, 10);
}
END_TEST

START_TEST(more_workers_than_there_is_room_for_are_left_out)
{
	size_t count;
	for (unsigned i = 0; i < 250; i++)
		emit(2, i, i, (int32_t)(1000 + i), 1, 0.1, 0);
	script_apply(&script, 2);
	shown_of(-1, &count);
	ck_assert_uint_eq(count, WORKERS_MAX);
	for (unsigned i = 0; i < 250; i++)
		lose(3, i, i % 2 ? "ended" : "killed or crashed");
	script_apply(&script, 3);
	for (unsigned i = 0; i < 250; i++)
		emit(4, i, 300 + i, (int32_t)(2000 + i), 1, 0.1, 0);
	script_apply(&script, 4);
	shown_of(-1, &count);
	ck_assert_uint_eq(count, WORKERS_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model workers");
	TCase *tests = tcase_create("workers");
	SRunner *runner = srunner_create(suite);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_worker_has_what_it_did_since_it_started_and_is_no_run);
	tcase_add_test(tests, nothing_fetched_yet_is_unknown_and_not_zero);
	tcase_add_test(tests, totals_outlive_workers_so_that_an_epoch_with_new_ones_goes_on);
	tcase_add_test(tests, busy_is_of_the_last_seconds_and_not_of_a_whole_life);
	tcase_add_test(tests, a_long_fetch_counts_as_busy_while_it_runs);
	tcase_add_test(tests, a_dead_worker_stays_until_another_has_its_number);
	tcase_add_test(tests, children_of_a_run_that_publish_nothing_are_workers_by_their_processes);
	tcase_add_test(tests, beside_workers_of_torch_other_children_are_none);
	tcase_add_test(tests, a_worker_belongs_to_its_nearest_ancestor_with_a_run);
	tcase_add_test(tests, the_one_that_waits_for_the_disk_the_longest_is_named);
	tcase_add_test(tests, implausible_values_are_ignored);
	tcase_add_test(tests, more_workers_than_there_is_room_for_are_left_out);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
