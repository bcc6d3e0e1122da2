#include <check.h>
#include <math.h>
#include <stdio.h>

#include "src/model/run/steps/tracks.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-6

enum { LOSS = STORY_NAME_COUNT, GPU_FORWARD, GPU_BATCH, ALLOCATED, RESERVED, PEAK, STEPS, MANY };

static struct script script;

static void setup(void)
{
	static const char *const names[] = {
		"loss",
		"gpu.forward_s",
		"gpu.batch_s",
		"cuda.allocated_bytes",
		"cuda.reserved_bytes",
		"cuda.peak_bytes",
		"optimizer.steps",
	};
	script_open(&script, NULL);
	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct record *name = script_add(&script, RECORD_NAME, 0);
		name->name.id = LOSS + i;
		name->name.text = names[i];
	}
}

static void teardown(void) { script_close(&script); }

/* The batch with this number takes 0.1 s and begins at `number` tenths. */
static void batch(uint64_t number, double loss)
{
	double begin_s = 1 + 0.1 * (double)number;
	script_batch_begin(&script, 0, begin_s, number);
	script_batch_end(&script, 0, begin_s + 0.09, begin_s, loss);
}

static void figure(uint64_t number, uint32_t name, double value)
{
	struct record *record = script_event(&script, RECORD_BATCH_FIGURE, 0, 1 + 0.1 * (double)script.batches);
	record->batch_figure.number = number;
	record->batch_figure.name = name;
	record->batch_figure.value = value;
}

static void gauge(uint32_t name, double at_s, double value)
{
	struct record *record = script_event(&script, RECORD_GAUGE, 0, at_s);
	record->gauge.name = name;
	record->gauge.value = value;
}

static const struct batch *batch_at(uint64_t ordinal) { return track_batch(run_main(script_run(&script)), ordinal); }

/* -- the loss -- */

START_TEST(a_late_loss_belongs_to_its_batch)
{
	for (uint64_t i = 0; i < 5; i++)
		batch(i, NAN);
	figure(2, LOSS, 0.75);
	figure(3, LOSS, 0.5);
	figure(1, LOSS, 0.25); /* an older one does not become the newest */
	script_apply(&script, 2);
	ck_assert_double_eq(batch_at(1)->loss, 0.25);
	ck_assert_double_eq(batch_at(2)->loss, 0.75);
	ck_assert_double_nan(batch_at(4)->loss);
	ck_assert_double_eq(script_run(&script)->loss, 0.5);
	ck_assert_uint_eq(script_run(&script)->late_figure_count, 0);
	batch(5, 0.1);
	script_apply(&script, 2);
	figure(4, LOSS, 0.4);
	script_apply(&script, 2.1);
	ck_assert_double_eq(script_run(&script)->loss, 0.1);
}
END_TEST

START_TEST(late_losses_make_a_trend)
{
	for (uint64_t i = 0; i < 60; i++) {
		batch(i, NAN);
		if (i >= 3)
			figure(i - 3, LOSS, 2 - 0.01 * (double)i);
		script_apply(&script, 1.1 + 0.1 * (double)i);
	}
	script_apply(&script, 20);
	batch(60, NAN);
	script_apply(&script, 20);
	ck_assert_double_eq(script_run(&script)->loss_trend, -1);
}
END_TEST

START_TEST(the_loss_is_that_of_training)
{
	/* Lightning's sanity check validates before training. */
	script_mode(&script, 0, 0.5, STORY_VALIDATION);
	batch(0, 9);
	script_mode(&script, 0, 1.1, STORY_TRAIN);
	batch(1, NAN);
	struct run_state state = { .loss = 9 };
	script_state(&script, &state);
	script_apply(&script, 2);
	ck_assert_double_nan(script_run(&script)->loss);
	figure(1, LOSS, 2);
	figure(0, LOSS, 8);
	script_apply(&script, 2);
	ck_assert_double_eq(script_run(&script)->loss, 2);
	ck_assert_double_eq(script_run(&script)->tracks[0].loss, 8);
}
END_TEST

START_TEST(a_state_has_the_loss_if_there_is_one_mode)
{
	struct run_state state = { .loss = 0.7 };
	script_state(&script, &state);
	script_apply(&script, 1);
	ck_assert_double_eq(script_run(&script)->loss, 0.7);
	batch(0, NAN);
	script_apply(&script, 2);
	ck_assert_double_eq(script_run(&script)->loss, 0.7);
	figure(0, LOSS, 0.6);
	script_apply(&script, 2);
	ck_assert_double_eq(script_run(&script)->loss, 0.6);
}
END_TEST

START_TEST(a_loss_published_within_the_batch_stays)
{
	script_batch_begin(&script, 0, 1, 0);
	figure(0, LOSS, 0.3);
	script_batch_end(&script, 0, 1.1, 1, NAN);
	script_apply(&script, 2);
	ck_assert_double_eq(batch_at(0)->loss, 0.3);
}
END_TEST

/* -- others -- */

START_TEST(figures_are_found_by_name_and_by_batch)
{
	for (uint64_t i = 0; i < 250; i++) {
		batch(i, NAN);
		figure(i, GPU_FORWARD, i < 50 ? 9 : 0.04 + 0.00001 * (double)i);
		if (i % 2)
			figure(i, GPU_BATCH, 0.09);
	}
	figure(249, GPU_BATCH, NAN);
	script_apply(&script, 30);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->late_figure_count, 2);
	const struct late_figure *forward = &run->late_figures[0];
	ck_assert_uint_eq(forward->name, GPU_FORWARD);
	ck_assert_uint_eq(forward->mode, NAME_NONE);
	ck_assert_uint_eq(forward->count, 250);
	ck_assert_double_eq_tol(forward->last, 0.04249, NEAR);
	ck_assert_double_eq_tol(forward->median, 0.04 + 0.00001 * 149.5, NEAR);
	ck_assert_double_eq_tol(forward->mean, (50 * 9 + 200 * (0.04 + 0.00001 * 149.5)) / 250, NEAR);
	ck_assert_uint_eq(run->late_figures[1].count, 125);
	ck_assert_uint_eq(batch_at(101)->figure_count, 2);
	ck_assert_uint_eq(batch_at(101)->figures[0].name, GPU_FORWARD);
	ck_assert_double_eq_tol((double)batch_at(101)->figures[0].value, 0.04101, NEAR);
	/* The device's time is no phase of the host's. */
	for (uint64_t i = 0; i < 249; i++)
		ck_assert_uint_le(batch_at(i)->phase_count, 2);
	for (size_t i = 0; i < run->operation_count; i++)
		ck_assert(run->operations[i].name == NAME_UNATTRIBUTED || run->operations[i].name == NAME_BETWEEN);
}
END_TEST

START_TEST(a_mode_has_its_own)
{
	batch(0, NAN);
	script_mode(&script, 0, 1.1, STORY_VALIDATION);
	batch(1, NAN);
	figure(0, GPU_FORWARD, 0.04);
	figure(1, GPU_FORWARD, 0.02);
	script_apply(&script, 3);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->late_figure_count, 2);
	ck_assert_uint_eq(run->late_figures[0].mode, NAME_NONE);
	ck_assert_uint_eq(run->late_figures[1].mode, STORY_VALIDATION);
	ck_assert_double_eq(run->late_figures[1].last, 0.02);
}
END_TEST

START_TEST(a_figure_of_a_batch_that_is_gone_counts_by_name)
{
	batch(0, NAN);
	figure(17, GPU_FORWARD, 0.04);
	figure(UINT64_MAX, GPU_FORWARD, 0.06);
	figure(17, LOSS, 3);
	script_apply(&script, 3);
	ck_assert_uint_eq(script_run(&script)->late_figures[0].count, 2);
	ck_assert_uint_eq(batch_at(0)->figure_count, 0);
	ck_assert_double_nan(script_run(&script)->loss);
}
END_TEST

START_TEST(names_and_figures_of_a_batch_are_bounded)
{
	batch(0, NAN);
	for (uint32_t i = 0; i < 2 * RUN_LATE_FIGURES_MAX; i++)
		figure(0, MANY + i, i);
	script_apply(&script, 3);
	ck_assert_uint_eq(script_run(&script)->late_figure_count, RUN_LATE_FIGURES_MAX);
	ck_assert_uint_eq(batch_at(0)->figure_count, RUN_BATCH_FIGURES_MAX);
}
END_TEST

START_TEST(a_flagged_batch_gets_its_figures_too)
{
	for (uint64_t i = 0; i < 40; i++)
		batch(i, NAN);
	script_batch_begin(&script, 0, 5, 40);
	script_batch_end(&script, 0, 6, 5, NAN);
	batch(60, NAN);
	script_apply(&script, 8);
	ck_assert_uint_eq(script_run(&script)->flagged_count, 1);
	figure(40, GPU_FORWARD, 0.9);
	figure(40, LOSS, 0.2);
	script_apply(&script, 8);
	ck_assert_uint_eq(script_run(&script)->flagged[0].batch.figure_count, 1);
	ck_assert_double_eq(script_run(&script)->flagged[0].batch.loss, 0.2);
}
END_TEST

/* -- gauges, counters, marks -- */

START_TEST(the_allocator_is_noted_with_batches_and_epochs)
{
	script_epoch(&script, RECORD_EPOCH_BEGIN, 0.9, 0);
	script_batch_begin(&script, 0, 1, 0);
	gauge(ALLOCATED, 1.05, 23.1e6);
	script_batch_end(&script, 0, 1.1, 1, NAN);
	script_batch_begin(&script, 0, 1.2, 1);
	script_batch_end(&script, 0, 1.3, 1.2, NAN);
	gauge(ALLOCATED, 1.31, 14.4e6);
	gauge(RESERVED, 1.31, 3236e6);
	gauge(PEAK, 1.31, -1);
	script_epoch(&script, RECORD_EPOCH_END, 1.4, 0);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 1.5, 1);
	gauge(ALLOCATED, 1.6, 1e6);
	script_apply(&script, 2);
	const struct run *run = script_run(&script);
	ck_assert_double_eq(batch_at(0)->allocated_bytes, 23.1e6);
	ck_assert_double_eq(batch_at(1)->allocated_bytes, 14.4e6);
	ck_assert_double_eq(run->epochs[0].allocator.allocated_bytes, 14.4e6);
	ck_assert_double_eq(run->epochs[0].allocator.reserved_bytes, 3236e6);
	ck_assert_double_nan(run->epochs[0].allocator.peak_bytes);
	ck_assert_double_nan(run->epochs[1].allocator.reserved_bytes);
	ck_assert_double_eq(run_allocator(run).allocated_bytes, 1e6);
}
END_TEST

START_TEST(without_gauges_there_is_no_allocator)
{
	script_epoch(&script, RECORD_EPOCH_BEGIN, 0.9, 0);
	batch(0, NAN);
	script_epoch(&script, RECORD_EPOCH_END, 1.4, 0);
	script_apply(&script, 2);
	ck_assert_double_nan(batch_at(0)->allocated_bytes);
	ck_assert_double_nan(script_run(&script)->epochs[0].allocator.allocated_bytes);
	ck_assert_double_nan(run_allocator(script_run(&script)).peak_bytes);
}
END_TEST

static void count_to(double at_s, double total)
{
	struct record *record = script_add(&script, RECORD_COUNTER, at_s);
	record->counter.name = STEPS;
	record->counter.total = total;
	script_apply(&script, at_s);
}

START_TEST(a_counters_rate_is_of_the_times_when_it_grew)
{
	script_apply(&script, 0);
	ck_assert_ptr_null(run_counter(script_run(&script), "optimizer.steps"));
	for (int i = 0; i < 120; i++)
		count_to(1 + 0.5 * i, floor(1.2 * 0.5 * i));
	ck_assert_double_eq_tol(run_counter(script_run(&script), "optimizer.steps")->rate_per_s, 1.2, 0.05);
	/* Published much less often than read. */
	for (int i = 0; i < 1000; i++)
		count_to(100 + 0.5 * i, 100 + floor(0.5 * i / 20));
	ck_assert_double_eq_tol(run_counter(script_run(&script), "optimizer.steps")->rate_per_s, 0.05, 0.001);
	count_to(700, 1); /* restarted */
	ck_assert_double_nan(run_counter(script_run(&script), "optimizer.steps")->rate_per_s);
}
END_TEST

START_TEST(marks_are_numbered_beyond_those_retained)
{
	for (int i = 0; i < RUN_MARKS_MAX + 5; i++)
		script_event(&script, RECORD_MARK, 0, 1 + i)->text = i == RUN_MARKS_MAX + 4 ? "last" : "a mark";
	script_apply(&script, 100);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->mark_count, RUN_MARKS_MAX);
	ck_assert_uint_eq(run->marks_dropped, 5);
	ck_assert_str_eq(run->marks[RUN_MARKS_MAX - 1].text, "last");
}
END_TEST

START_TEST(a_pass_is_counted_since_another_mode)
{
	uint64_t number = 0;
	for (int pass = 0; pass < 3; pass++) {
		script_mode(&script, 0, 1 + 0.1 * (double)number, STORY_TRAIN);
		for (int i = 0; i < 10; i++)
			batch(number++, NAN);
		script_mode(&script, 0, 1 + 0.1 * (double)number, STORY_VALIDATION);
		for (int i = 0; i < (pass < 2 ? 4 : 2); i++)
			batch(number++, NAN);
	}
	script_apply(&script, 10);
	const struct run *run = script_run(&script);
	const struct track *validation = &run->tracks[1];
	ck_assert_uint_eq(run->newest_track, 1);
	ck_assert_uint_eq(validation->pass_count, 2);
	ck_assert_uint_eq(validation->pass_before, 4);
}
END_TEST

/* -- samples -- */

START_TEST(samples_a_second_count_what_a_batch_really_had)
{
	struct run_state state = { .samples_per_batch = 32, .loss = NAN };
	script_state(&script, &state);
	for (uint64_t i = 0; i < 21; i++) {
		batch(i, NAN);
		struct evidence *evidence = sample_set_allocate(&script.set, sizeof *evidence);
		*evidence = (struct evidence){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, i % 10 == 9 ? 7 : NAN };
		script_event(&script, RECORD_EVIDENCE, 0, 1.09 + 0.1 * (double)i)->evidence = evidence;
	}
	script_apply(&script, 10);
	ck_assert_double_eq_tol(run_main(script_run(&script))->samples_per_s, (18 * 32 + 2 * 7) / 2.0, 1e-3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model figures");
	TCase *tests = tcase_create("figures");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, a_late_loss_belongs_to_its_batch);
	tcase_add_test(tests, late_losses_make_a_trend);
	tcase_add_test(tests, the_loss_is_that_of_training);
	tcase_add_test(tests, a_state_has_the_loss_if_there_is_one_mode);
	tcase_add_test(tests, a_loss_published_within_the_batch_stays);
	tcase_add_test(tests, figures_are_found_by_name_and_by_batch);
	tcase_add_test(tests, a_mode_has_its_own);
	tcase_add_test(tests, a_figure_of_a_batch_that_is_gone_counts_by_name);
	tcase_add_test(tests, names_and_figures_of_a_batch_are_bounded);
	tcase_add_test(tests, a_flagged_batch_gets_its_figures_too);
	tcase_add_test(tests, the_allocator_is_noted_with_batches_and_epochs);
	tcase_add_test(tests, without_gauges_there_is_no_allocator);
	tcase_add_test(tests, a_counters_rate_is_of_the_times_when_it_grew);
	tcase_add_test(tests, marks_are_numbered_beyond_those_retained);
	tcase_add_test(tests, a_pass_is_counted_since_another_mode);
	tcase_add_test(tests, samples_a_second_count_what_a_batch_really_had);
	return suite_run(suite);
}
