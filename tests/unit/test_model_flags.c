#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "src/model/run/steps/tracks.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-6

static double at_s;

/* One step, emitted when its end is known: the next batch's begin comes with the next step. */
static void step(struct script *script, double step_s)
{
	script_steps(script, at_s, &step_s, 1);
	at_s += step_s;
}

/* The next batch, whose begin ends the newest step. */
static void finish(struct script *script)
{
	script_batch_begin(script, 0, at_s, 0);
	script_apply(script, at_s);
}

static void start(struct script *script, const struct model_options *options)
{
	script_open(script, options);
	at_s = 1;
}

static size_t warmup_length(struct script *script)
{
	const struct track *track = run_main(script_run(script));
	size_t length = 0;
	while (track_batch(track, length) && track_batch(track, length)->is_warmup)
		length++;
	for (uint64_t ordinal = length; ordinal < track->end; ordinal++)
		ck_assert(!track_batch(track, ordinal)->is_warmup);
	return length;
}

START_TEST(slow_first_batch_is_warmup_and_not_variance)
{
	/* The guides' example. */
	struct script script;
	start(&script, NULL);
	step(&script, 0.538);
	for (int i = 0; i < 25; i++)
		step(&script, 0.185 + 0.001 * (i % 3));
	finish(&script);
	const struct track *track = run_main(script_run(&script));
	ck_assert_uint_eq(warmup_length(&script), 1);
	ck_assert_double_eq_tol(track->slow_first_s, 0.538, NEAR);
	ck_assert_double_eq_tol(track->step.max_s, 0.538, NEAR);   /* the whole run has it */
	ck_assert_double_eq_tol(track->judged.max_s, 0.187, NEAR); /* the verdict has not */
	ck_assert_double_lt(track->judged.max_s / track->judged.min_s, 1.02);
	ck_assert_uint_eq(track->judged.count, 25);
	ck_assert_double_eq_tol(track->judged.p50_s, 0.186, 0.004);
	ck_assert_uint_eq(track->flagged_count, 0);
	ck_assert_uint_eq(script_run(&script)->flagged_count, 0);
	script_close(&script);
}
END_TEST

START_TEST(first_batch_is_warmup_even_when_it_is_not_slow)
{
	struct script script;
	start(&script, NULL);
	for (int i = 0; i < 25; i++)
		step(&script, 0.2);
	finish(&script);
	ck_assert_uint_eq(warmup_length(&script), 1);
	ck_assert_uint_eq(run_main(script_run(&script))->judged.count, 24);
	script_close(&script);
}
END_TEST

START_TEST(warmup_lasts_until_the_steps_settle_but_at_most_ten)
{
	static const struct {
		unsigned slow;
		size_t warmup;
	} cases[] = { { 2, 2 }, { 7, 7 }, { 10, 10 }, { 14, 10 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct script script;
		start(&script, NULL);
		for (unsigned k = 0; k < 40; k++)
			step(&script, k < cases[i].slow ? 3.0 - 0.1 * k : 0.2);
		finish(&script);
		ck_assert_uint_eq(warmup_length(&script), cases[i].warmup);
		script_close(&script);
	}
}
END_TEST

START_TEST(slow_batch_after_the_steps_settled_is_no_warmup)
{
	struct script script;
	start(&script, NULL);
	for (int i = 0; i < 25; i++)
		step(&script, i == 0 || i == 5 ? 1.0 : 0.2);
	finish(&script);
	ck_assert_uint_eq(warmup_length(&script), 1);
	ck_assert_double_eq_tol(run_main(script_run(&script))->judged.max_s, 1.0, NEAR);
	script_close(&script);
}
END_TEST

START_TEST(late_monitor_has_no_warmup_to_leave_out)
{
	struct story_options options;
	story_options_default(&options);
	options.attach_s = 30;
	struct model_options model_options;
	model_options_default(&model_options);
	struct model *model = model_new(&model_options);
	struct story *story = story_new(&options);
	struct sample_set set = SAMPLE_SET_INIT;
	while (story_next(story, &set))
		model_apply(model, &set);
	const struct track *track = run_main(&model->runs[0]);
	for (uint64_t ordinal = track->first; ordinal < track->end; ordinal++)
		ck_assert(!track_batch(track, ordinal)->is_warmup);
	ck_assert_double_lt(track->judged.max_s, 0.5);
	sample_set_release(&set);
	story_free(story);
	model_free(model);
}
END_TEST

START_TEST(planted_batches_are_flagged_and_nothing_else)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct story_options options;
		story_options_default(&options);
		options.seed = seed;
		options.loads_between = seed == 3;
		struct model_options model_options;
		model_options_default(&model_options);
		struct model *model = model_new(&model_options);
		struct story *story = story_new(&options);
		struct sample_set set = SAMPLE_SET_INIT;
		while (story_next(story, &set))
			model_apply(model, &set);
		const struct run *run = &model->runs[0];
		ck_assert_uint_eq(run->flagged_count, story_truth(story).planted);
		ck_assert_uint_ge(run->flagged_count, 6);
		ck_assert_uint_eq(run_main(run)->flagged_count, run->flagged_count);
		for (size_t i = 0; i < run->flagged_count; i++) {
			const struct flagged *flagged = &run->flagged[i];
			ck_assert_uint_eq(flagged->mode, NAME_NONE);
			ck_assert_uint_eq((flagged->batch.ordinal + 1) % 40, 0);
			ck_assert_double_eq_tol(flagged->batch.median_s, 0.2, 0.005);
			ck_assert_double_eq_tol(flagged->baseline.step_s, 0.2, 0.005);
			ck_assert_uint_ge(flagged->baseline.batches, 38);
			ck_assert(flagged->batch.has_evidence);
			ck_assert_double_eq(flagged->baseline.evidence.major_faults, 0);
			ck_assert_double_gt(flagged->batch.evidence.major_faults, 1000);
		}
		sample_set_release(&set);
		story_free(story);
		model_free(model);
	}
}
END_TEST

START_TEST(judging_begins_with_the_20th_batch_after_the_warmup)
{
	for (int slow_at = 18; slow_at <= 21; slow_at++) {
		struct script script;
		start(&script, NULL);
		for (int i = 0; i < 30; i++)
			step(&script, i == slow_at ? 1.0 : 0.2);
		finish(&script);
		/* ordinal 0 is the warm-up */
		ck_assert_uint_eq(run_main(script_run(&script))->flagged_count, slow_at >= 20);
		script_close(&script);
	}
}
END_TEST

START_TEST(flag_needs_the_ratio_and_the_spread)
{
	/* Spread 0: the ratio decides. */
	struct script script;
	start(&script, NULL);
	for (int i = 0; i < 40; i++)
		step(&script, i == 30 ? 0.29 : i == 35 ? 0.31 : 0.2);
	finish(&script);
	ck_assert_uint_eq(run_main(script_run(&script))->flagged_count, 1);
	ck_assert_uint_eq(script_run(&script)->flagged[0].batch.ordinal, 35);
	ck_assert_double_eq(script_run(&script)->flagged[0].batch.mad_s, 0);
	script_close(&script);
	/* Wide spread (0.1 … 0.3, so MAD about 0.05 of 0.2): 1.5 times the median is nothing special there, 5 MAD more
	 * is. */
	start(&script, NULL);
	for (int i = 0; i < 60; i++)
		step(&script, i == 50 ? 0.4 : i == 55 ? 0.6 : 0.1 + 0.01 * (i * 7 % 21));
	finish(&script);
	ck_assert_uint_eq(run_main(script_run(&script))->flagged_count, 1);
	ck_assert_uint_eq(script_run(&script)->flagged[0].batch.ordinal, 55);
	script_close(&script);
}
END_TEST

START_TEST(each_mode_is_judged_by_its_own_kind)
{
	struct story_options options;
	story_options_default(&options);
	options.slow_every = 0;
	options.first_s = 0;
	options.validation_batches = 30; /* half as long as in training: an outlier there, ordinary here */
	struct model_options model_options;
	model_options_default(&model_options);
	struct model *model = model_new(&model_options);
	struct story *story = story_new(&options);
	struct sample_set set = SAMPLE_SET_INIT;
	while (story_next(story, &set))
		model_apply(model, &set);
	ck_assert_uint_eq(model->runs[0].flagged_count, 0);
	const struct batch *batch = track_batch(&model->runs[0].tracks[1], 80);
	ck_assert_double_eq_tol(batch->median_s, 0.1, 0.005);
	ck_assert(!track_batch(&model->runs[0].tracks[1], 0)->is_warmup);
	sample_set_release(&set);
	story_free(story);
	model_free(model);
}
END_TEST

/* Flags by hand from a recording. */
static void emit_flag(struct script *script, uint32_t mode, uint64_t ordinal, bool is_flagged)
{
	struct record *record = script_add(script, RECORD_FLAG, at_s);
	record->flag.mode = mode;
	record->flag.ordinal = ordinal;
	record->flag.is_flagged = is_flagged;
	script_apply(script, at_s);
}

START_TEST(recorded_flag_is_one_by_hand)
{
	struct script script;
	start(&script, NULL);
	for (int i = 0; i < 60; i++)
		step(&script, i == 30 ? 1.0 : 0.2);
	finish(&script);
	struct run *run = script_run(&script);
	uint32_t mode = run_main(run)->mode;
	uint64_t count = run_main(run)->count;
	emit_flag(&script, mode, 40, true);
	ck_assert_uint_eq(run->flagged_count, 2);
	ck_assert(track_batch(run_main(run), 40)->is_by_hand);
	emit_flag(&script, mode, 30, false);
	ck_assert_uint_eq(run->flagged_count, 1);
	ck_assert_uint_eq(run_main(run)->count, count);
	/* Batches that are not retained, or never existed, are ignored. */
	emit_flag(&script, mode, 100000, true);
	emit_flag(&script, mode + 77, 40, false);
	struct record *record = script_add(&script, RECORD_FLAG, at_s);
	record->run = 200;
	script_apply(&script, at_s);
	ck_assert_uint_eq(run->flagged_count, 1);
	script_close(&script);
}
END_TEST

START_TEST(person_flags_and_unflags_and_that_stays)
{
	struct script script;
	start(&script, NULL);
	for (int i = 0; i < 60; i++)
		step(&script, i == 30 || i == 50 ? 1.0 : 0.2);
	finish(&script);
	struct model *model = script.model;
	struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, 2);
	ck_assert(model_flag(model, 0, 0, 40, true));
	ck_assert(model_flag(model, 0, 0, 40, true)); /* twice is once */
	ck_assert_uint_eq(run->flagged_count, 3);
	ck_assert_uint_eq(run->flagged[1].batch.ordinal, 40); /* in the order of time */
	ck_assert(run->flagged[1].batch.is_by_hand);
	ck_assert_uint_ge(run->flagged[1].baseline.batches, 38);
	ck_assert(model_flag(model, 0, 0, 30, false));
	ck_assert_uint_eq(run->flagged_count, 2);
	ck_assert_uint_eq(run_main(run)->flagged_count, 2);
	ck_assert(!track_batch(run_main(run), 30)->is_flagged);
	ck_assert(track_batch(run_main(run), 30)->is_by_hand);
	/* The batch that runs: flagged now, its figures follow. */
	ck_assert(model_flag(model, 0, 0, 60, true));
	script_batch_end(&script, 0, at_s + 0.1, at_s, 0.5);
	at_s += 0.2;
	finish(&script);
	run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, 3);
	ck_assert_double_eq_tol(run->flagged[2].batch.step_s, 0.2, NEAR);
	ck_assert(!model_flag(model, 0, 0, 1000, true));
	ck_assert(!model_flag(model, 0, 5, 1, true));
	ck_assert(!model_flag(model, 9, 0, 1, true));
	script_close(&script);
}
END_TEST

START_TEST(flagged_batches_outlive_the_ring_and_the_newest_thousand_remain)
{
	struct model_options options;
	model_options_default(&options);
	options.batch_capacity = 256;
	struct script script;
	start(&script, &options);
	for (int i = 0; i < 1300 * 5; i++)
		step(&script, i >= 25 && i % 5 == 4 ? 0.1 : 0.01);
	finish(&script);
	struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, RUN_FLAGGED_MAX);
	ck_assert_uint_eq(run_main(run)->flagged_count, 1300 - 5);
	ck_assert_uint_eq(run->flagged[RUN_FLAGGED_MAX - 1].batch.ordinal, 1300 * 5 - 1);
	for (size_t i = 1; i < run->flagged_count; i++)
		ck_assert_uint_eq(run->flagged[i].batch.ordinal, run->flagged[i - 1].batch.ordinal + 5);
	uint64_t oldest = run->flagged[0].batch.ordinal;
	ck_assert_ptr_null(track_batch(run_main(run), oldest));
	ck_assert(!model_flag(script.model, 0, 0, oldest - 5, false)); /* in no list */
	ck_assert(model_flag(script.model, 0, 0, oldest, false));      /* in the list */
	ck_assert_uint_eq(run->flagged_count, RUN_FLAGGED_MAX - 1);
	script_close(&script);
}
END_TEST

START_TEST(loss_trend_is_the_sign_of_its_slope)
{
	static const struct {
		double first, per_batch;
		double trend;
	} cases[] = { { 2, -0.01, -1 }, { 0.1, 0.01, 1 }, { 1, 0, 0 } };
	for (size_t i = 0; i < 3; i++) {
		struct script script;
		start(&script, NULL);
		srand(5);
		for (int k = 0; k < 100; k++) {
			script_batch_begin(&script, 0, at_s, (uint64_t)k);
			script_batch_end(&script, 0, at_s + 0.1, at_s,
				cases[i].first + cases[i].per_batch * k + 0.05 * (rand() % 100 / 50.0 - 1));
			at_s += 0.1;
			script_apply(&script, at_s);
			if (k < 19)
				ck_assert_double_nan(script_run(&script)->loss_trend);
		}
		script_apply(&script, at_s + 2);
		script_batch_begin(&script, 0, at_s, 100);
		script_apply(&script, at_s + 2);
		ck_assert_double_eq(script_run(&script)->loss_trend, cases[i].trend);
		script_close(&script);
	}
}
END_TEST

START_TEST(counted_batches_are_flagged_where_each_has_a_time_of_its_own)
{
	static const struct {
		double step_s;
		uint64_t flagged;
	} cases[] = { { 0.03, 0 }, { 0.2, 1 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct script script;
		start(&script, NULL);
		script.set.records[0].opened.abi = "counted";
		for (int k = 0; k < 60; k++)
			step(&script, cases[i].step_s * (k == 50 ? 3 : 1));
		finish(&script);
		ck_assert(script_run(&script)->is_counted);
		ck_assert_uint_eq(run_main(script_run(&script))->flagged_count, cases[i].flagged);
		script_close(&script);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model flags");
	TCase *tests = tcase_create("flags");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, slow_first_batch_is_warmup_and_not_variance);
	tcase_add_test(tests, first_batch_is_warmup_even_when_it_is_not_slow);
	tcase_add_test(tests, warmup_lasts_until_the_steps_settle_but_at_most_ten);
	tcase_add_test(tests, slow_batch_after_the_steps_settled_is_no_warmup);
	tcase_add_test(tests, late_monitor_has_no_warmup_to_leave_out);
	tcase_add_test(tests, planted_batches_are_flagged_and_nothing_else);
	tcase_add_test(tests, judging_begins_with_the_20th_batch_after_the_warmup);
	tcase_add_test(tests, flag_needs_the_ratio_and_the_spread);
	tcase_add_test(tests, each_mode_is_judged_by_its_own_kind);
	tcase_add_test(tests, counted_batches_are_flagged_where_each_has_a_time_of_its_own);
	tcase_add_test(tests, recorded_flag_is_one_by_hand);
	tcase_add_test(tests, person_flags_and_unflags_and_that_stays);
	tcase_add_test(tests, flagged_batches_outlive_the_ring_and_the_newest_thousand_remain);
	tcase_add_test(tests, loss_trend_is_the_sign_of_its_slope);
	return suite_run(suite);
}
