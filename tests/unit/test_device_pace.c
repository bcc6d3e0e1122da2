/* Batches that a device runs asynchronously, behind the host: which are slow and which only seem so by the host's
 * clock. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "src/explain/causes/causes.h"
#include "src/explain/explain.h"
#include "src/explain/patterns/patterns.h"
#include "src/model/run/steps/tracks.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

enum { SYNC = STORY_NAME_COUNT, GPU_BATCH, GPU_BACKWARD, BATCHES_MAX = 1024 };

/* The planned run: seconds of the host to launch a batch and of the device to run it; the host synchronizes in every
 * k-th batch (0: never); launches block when `depth` batches are queued. */
static struct plan {
	double launch_s, work_s;
	unsigned sync_every, depth;
	uint64_t odd;                    /* this batch … */
	double odd_data_s, odd_work_s;   /* … has to wait for data, works longer */
	uint64_t slower_from, slower_to; /* these … */
	double slower_ratio;             /* … so much longer on the device */
	uint64_t long_every;             /* every such batch three times as long */
	bool is_silent;                  /* no times of the device are published */
} plan;

static struct script script;
static double begins[BATCHES_MAX], done[BATCHES_MAX], works[BATCHES_MAX];

static void setup(void)
{
	static const char *const names[] = { "sync", "gpu.batch_s", "gpu.backward_s" };
	script_open(&script, NULL);
	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct record *name = script_add(&script, RECORD_NAME, 0);
		name->name.id = SYNC + i;
		name->name.text = names[i];
	}
	plan = (struct plan){ .launch_s = 0.016, .work_s = 0.1, .sync_every = 10, .depth = 7, .odd = UINT64_MAX };
}

static void teardown(void) { script_close(&script); }

static void emit(uint64_t number, uint32_t name, double at_s, double value)
{
	struct record *record = script_event(&script, RECORD_BATCH_FIGURE, 0, at_s);
	record->batch_figure.number = number;
	record->batch_figure.name = name;
	record->batch_figure.value = value;
}

/* Adds a little jitter. */
static double uneven(uint64_t number) { return 1 + 0.01 * (double)(number * 7 % 5) - 0.02; }

static double work_of(uint64_t number)
{
	double work_s = plan.work_s * uneven(number);
	work_s *= number >= plan.slower_from && number < plan.slower_to ? plan.slower_ratio : 1;
	work_s *= plan.long_every && number % plan.long_every == plan.long_every - 1 ? 3 : 1;
	return number == plan.odd ? work_s + plan.odd_work_s : work_s;
}

/* Returns when the next batch would begin. */
static double run(uint64_t count)
{
	double at_s = 1, free_s = 0;
	uint64_t emitted = 0;
	for (uint64_t i = 0; i < count; i++) {
		double data_s = i == plan.odd ? plan.odd_data_s : 0, launch_s = at_s + data_s + plan.launch_s * uneven(i);
		begins[i] = at_s;
		script_batch_begin(&script, 0, at_s, i);
		if (data_s > 0)
			script_span(&script, 0, at_s, at_s + data_s, STORY_DATA, NAME_NONE);
		works[i] = work_of(i);
		free_s = fmax(free_s, at_s + data_s) + works[i];
		done[i] = free_s;
		if (i >= plan.depth)
			launch_s = fmax(launch_s, done[i - plan.depth]);
		script_span(&script, 0, at_s + data_s, launch_s, STORY_BACKWARD, NAME_NONE);
		if (plan.sync_every && i % plan.sync_every == plan.sync_every - 1) {
			script_span(&script, 0, launch_s, fmax(launch_s, free_s), SYNC, NAME_NONE);
			launch_s = fmax(launch_s, free_s);
		}
		for (; emitted < i && done[emitted] <= launch_s && !plan.is_silent; emitted++) {
			emit(emitted, GPU_BACKWARD, launch_s, works[emitted] * 0.9);
			emit(emitted, GPU_BATCH, launch_s, works[emitted]);
		}
		script_batch_end(&script, 0, launch_s, at_s, NAN);
		script_apply(&script, launch_s);
		at_s = launch_s;
	}
	script_batch_begin(&script, 0, at_s, count);
	script_apply(&script, at_s);
	return at_s;
}

static const struct track *track(void) { return run_main(script_run(&script)); }

static const struct flagged *only_flagged(uint64_t ordinal)
{
	const struct run *of = script_run(&script);
	ck_assert_uint_eq(of->flagged_count, 1);
	ck_assert_uint_eq(of->flagged[0].batch.ordinal, ordinal);
	return &of->flagged[0];
}

/* -- what only seems slow -- */

START_TEST(a_wait_for_the_work_of_many_is_no_slow_batch)
{
	static const struct {
		double launch_s;
		unsigned sync_every, depth;
	} cases[] = {
		{ 0.016, 10, 7 },
		{ 0.016, 10, 100 },
		{ 0.09, 10, 100 },
		{ 0.03, 50, 20 },
		{ 0.002, 2, 100 },
		{ 0.016, 1, 7 },
		{ 0.05, 0, 4 },
	};
	plan.launch_s = cases[_i].launch_s;
	plan.sync_every = cases[_i].sync_every;
	plan.depth = cases[_i].depth;
	double end_s = run(400);
	ck_assert_uint_eq(script_run(&script)->flagged_count, 0);
	/* The batches' sum is the elapsed time. */
	double sum_s = 0;
	for (uint64_t i = 100; i < 400; i++)
		sum_s += batch_pace_s(track_batch(track(), i));
	ck_assert_double_eq_tol(sum_s, end_s - begins[100], 0.03 * (end_s - begins[100]));
	ck_assert_double_lt(track()->judged.max_s / track()->judged.min_s, 1.5);
}
END_TEST

START_TEST(without_times_of_the_device_the_hosts_are_all_there_is)
{
	plan.is_silent = true;
	plan.depth = 100;
	run(400);
	ck_assert_uint_gt(script_run(&script)->flagged_count, 30);
	const struct batch *batch = track_batch(track(), 309);
	ck_assert(!batch->is_paced);
	ck_assert_double_eq(batch_pace_s(batch), batch->step_s);
	/* Its cause is known all the same. */
	struct explanation why;
	const struct flagged *flagged = &script_run(&script)->flagged[0];
	explain_batch(script_run(&script), &flagged->batch, &flagged->baseline, NULL, &why);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_GPU_WAIT);
	ck_assert_str_eq(why.causes[0].what, "sync: waiting for the GPU");
	ck_assert_double_gt(why.causes[0].share_ratio, 0.9);
}
END_TEST

START_TEST(data_that_the_device_does_not_wait_for_costs_nothing)
{
	plan.odd = 205;
	plan.odd_data_s = 0.25; /* it has half a second of work left then */
	plan.depth = 100;
	run(400);
	ck_assert_double_gt(track_batch(track(), 205)->step_s, 0.26);
	ck_assert_uint_eq(script_run(&script)->flagged_count, 0);
}
END_TEST

/* -- what is slow -- */

START_TEST(data_that_the_device_waits_for_is_a_slow_batch)
{
	struct explanation why;
	plan.odd = 205 + (uint64_t)_i; /* within a stretch, and in a batch that synchronizes */
	plan.odd_data_s = 1.5;
	run(400);
	const struct flagged *flagged = only_flagged(plan.odd);
	ck_assert(!flagged->batch.is_by_device);
	explain_batch(script_run(&script), &flagged->batch, &flagged->baseline, NULL, &why);
	ck_assert_int_eq(why.causes[0].phase, STORY_DATA);
	ck_assert_double_gt(why.causes[0].share_ratio, 0.9);
	/* No later batch is flagged while the device catches up. */
	for (uint64_t i = plan.odd + 1; i < 400; i++)
		ck_assert_double_lt(batch_pace_s(track_batch(track(), i)), 0.15);
}
END_TEST

START_TEST(a_batch_that_takes_the_device_longer_is_the_slow_one)
{
	struct explanation why;
	plan.odd = 205;
	plan.odd_work_s = 0.3;
	plan.depth = 100;
	run(400);
	/* by the host's clock it was not slow */
	ck_assert_double_lt(track_batch(track(), 205)->step_s, 0.03);
	const struct flagged *flagged = only_flagged(205);
	ck_assert(flagged->batch.is_by_device);
	explain_batch(script_run(&script), &flagged->batch, &flagged->baseline, NULL, &why);
	ck_assert_double_eq_tol(why.step_s, works[205], 1e-6);
	ck_assert_double_eq_tol(why.baseline_s, 0.1, 0.003);
	ck_assert_double_eq_tol(why.excess_s, 0.3, 0.004);
	ck_assert(why.is_by_device);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_GPU_WORK);
	ck_assert_str_eq(why.causes[0].what, "backward: more GPU work");
	ck_assert_double_gt(why.causes[0].share_ratio, 0.85);
	ck_assert_uint_eq(why.row_count, 2);
	ck_assert_double_eq_tol(why.rows[0].this_s, works[205] * 0.9, 1e-6);
	ck_assert_double_eq_tol(why.rows[1].this_s, works[205] * 0.1, 1e-6);
}
END_TEST

START_TEST(a_batch_unflagged_by_hand_stays_unflagged)
{
	plan.odd = 205;
	plan.odd_work_s = 0.3;
	run(206);
	struct record *by_hand = script_add(&script, RECORD_FLAG, done[204]);
	by_hand->flag.ordinal = 205;
	emit(205, GPU_BATCH, done[205], works[205]);
	script_apply(&script, done[205]);
	ck_assert(!track_batch(track(), 205)->is_flagged);
}
END_TEST

START_TEST(a_stretch_that_took_the_device_longer_shows_where_the_host_waits)
{
	/* At the next synchronization, with or without times of the device. */
	plan.slower_from = 200;
	plan.slower_to = 210;
	plan.slower_ratio = 2;
	plan.depth = 100;
	run(210);
	const struct batch *batch = track_batch(track(), 209);
	ck_assert_double_eq_tol(batch_pace_s(batch), 0.2, 0.01);
	ck_assert(batch->is_flagged);
}
END_TEST

START_TEST(every_so_many_batches_that_take_the_device_longer_are_a_period)
{
	struct patterns found;
	memset(&found, 0, sizeof found);
	plan.long_every = 40;
	plan.sync_every = 7;
	run(400);
	const struct run *of = script_run(&script);
	ck_assert_uint_ge(of->flagged_count, 8);
	for (size_t i = 0; i < of->flagged_count; i++)
		ck_assert_uint_eq(of->flagged[i].batch.ordinal % 40, 39);
	patterns_update(&found, script.model, of);
	ck_assert_uint_eq(found.count, 1);
	ck_assert_int_eq(found.list[0].kind, PATTERN_PERIOD);
	ck_assert_double_eq(found.list[0].period, 40);
	ck_assert_str_eq(found.list[0].what, "backward: more GPU work");
	ck_assert_str_eq(found.list[0].candidate, "");
	ck_assert_double_eq_tol(found.list[0].after_s / found.list[0].before_s, 3, 0.2);
}
END_TEST

/* -- holes -- */

START_TEST(lost_batches_restart_a_stretch)
{
	plan.depth = 100;
	double at_s = run(205);
	/* Two more are lost, and one that waits comes after them. */
	script.batches += 2;
	script.sequence[0] += 10;
	script_batch_begin(&script, 0, at_s + 0.03, 207);
	script_span(&script, 0, at_s + 0.05, at_s + 0.15, SYNC, NAME_NONE);
	script_batch_end(&script, 0, at_s + 0.15, at_s + 0.03, NAN);
	script_batch_begin(&script, 0, at_s + 0.15, 208);
	script_apply(&script, at_s + 0.15);
	ck_assert_uint_eq(script_run(&script)->flagged_count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device_pace");
	TCase *all = tcase_create("device_pace");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_loop_test(all, a_wait_for_the_work_of_many_is_no_slow_batch, 0, 7);
	tcase_add_test(all, without_times_of_the_device_the_hosts_are_all_there_is);
	tcase_add_test(all, data_that_the_device_does_not_wait_for_costs_nothing);
	tcase_add_loop_test(all, data_that_the_device_waits_for_is_a_slow_batch, 0, 5);
	tcase_add_test(all, a_batch_that_takes_the_device_longer_is_the_slow_one);
	tcase_add_test(all, a_batch_unflagged_by_hand_stays_unflagged);
	tcase_add_test(all, a_stretch_that_took_the_device_longer_shows_where_the_host_waits);
	tcase_add_test(all, every_so_many_batches_that_take_the_device_longer_are_a_period);
	tcase_add_test(all, lost_batches_restart_a_stretch);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
