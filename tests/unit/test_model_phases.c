#include <check.h>
#include <math.h>

#include "src/model/run/steps/baseline.h"
#include "src/model/run/steps/tracks.h"
#include "tests/support/model_parts.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-6

START_TEST(spans_between_batches_belong_to_the_step_before)
{
	struct script script;
	script_open(&script, NULL);
	script_batch_begin(&script, 0, 1.0, 0);
	script_span(&script, 0, 1.0, 1.1, STORY_FORWARD, 0);
	script_batch_end(&script, 0, 1.2, 1.0, NAN);
	script_span(&script, 0, 1.25, 1.30, STORY_DECODE, STORY_DATA);
	script_span(&script, 0, 1.25, 1.35, STORY_DATA, 0);
	script_batch_begin(&script, 0, 1.5, 1);
	script_apply(&script, 1.6);
	const struct batch *batch = script_batch(&script, 0);
	ck_assert_double_eq_tol(batch_phase_s(batch, STORY_FORWARD, 0), 0.1, NEAR);
	ck_assert_double_eq_tol(batch_phase_s(batch, STORY_DATA, 0), 0.1, NEAR);
	ck_assert_double_eq_tol(batch_phase_s(batch, STORY_DECODE, STORY_DATA), 0.05, NEAR);
	ck_assert_double_eq_tol(batch_phase_s(batch, NAME_UNATTRIBUTED, 0), 0.1, NEAR);
	ck_assert_double_eq_tol(batch_phase_s(batch, NAME_BETWEEN, 0), 0.2, NEAR);
	ck_assert_double_eq_tol(batch_outermost_s(batch), batch->step_s, NEAR);
	script_close(&script);
}
END_TEST

START_TEST(span_across_the_end_of_its_batch_counts_on_both_sides)
{
	struct script script;
	script_open(&script, NULL);
	script_batch_begin(&script, 0, 1.0, 0);
	script_batch_end(&script, 0, 1.2, 1.0, NAN);
	script_span(&script, 0, 1.1, 1.4, STORY_FORWARD, 0);
	script_batch_begin(&script, 0, 1.5, 1);
	script_apply(&script, 1.6);
	const struct batch *batch = script_batch(&script, 0);
	ck_assert_double_eq_tol(batch_phase_s(batch, STORY_FORWARD, 0), 0.3, NEAR);
	ck_assert_double_eq_tol(batch_phase_s(batch, NAME_UNATTRIBUTED, 0), 0.1, NEAR);
	ck_assert_double_eq_tol(batch_phase_s(batch, NAME_BETWEEN, 0), 0.1, NEAR);
	script_close(&script);
}
END_TEST

START_TEST(spans_of_another_lane_are_no_phases_of_the_batch)
{
	struct script script;
	script_open(&script, NULL);
	script_batch_begin(&script, 0, 1.0, 0);
	script_batch_end(&script, 0, 1.2, 1.0, NAN);
	script_batch_begin(&script, 0, 1.3, 1);
	script_span(&script, 1, 1.05, 1.15, STORY_DECODE, 0);
	script_apply(&script, 1.4);
	ck_assert_double_nan(batch_phase_s(script_batch(&script, 0), STORY_DECODE, 0));
	ck_assert_double_nan(script_run(&script)->operations[0].share_ratio);
	ck_assert_double_eq_tol(script_run(&script)->operations[0].total_s, 0.1, NEAR);
	script_close(&script);
}
END_TEST

START_TEST(time_between_has_the_name_that_the_publisher_gives_it)
{
	struct script script;
	script_open(&script, NULL);
	script_meta(&script, "between", "data");
	script_batch_begin(&script, 0, 1.0, 0);
	script_batch_end(&script, 0, 1.2, 1.0, NAN);
	script_batch_begin(&script, 0, 1.5, 1);
	script_apply(&script, 1.6);
	ck_assert_double_eq_tol(batch_phase_s(script_batch(&script, 0), STORY_DATA, 0), 0.3, NEAR);
	script_close(&script);

	script_open(&script, NULL);
	script_meta(&script, "between", "loader");
	script_batch_begin(&script, 0, 1.0, 0);
	script_batch_end(&script, 0, 1.2, 1.0, NAN);
	script_batch_begin(&script, 0, 1.5, 1);
	script_apply(&script, 1.6);
	ck_assert_double_eq_tol(batch_phase_s(script_batch(&script, 0), NAME_BETWEEN, 0), 0.3, NEAR);
	ck_assert_str_eq(run_name(script_run(&script), NAME_BETWEEN), "loader");
	script_close(&script);
}
END_TEST

START_TEST(phases_beyond_the_most_are_counted_and_stay_in_the_sum)
{
	struct script script;
	script_open(&script, NULL);
	script_batch_begin(&script, 0, 1.0, 0);
	for (uint32_t i = 0; i < 10; i++)
		script_span(&script, 0, 1.0, 1.001, 100 + i, STORY_DATA);
	for (uint32_t i = 0; i < 20; i++)
		script_span(&script, 0, 1.0 + 0.01 * i, 1.01 + 0.01 * i, 200 + i, 0);
	script_batch_end(&script, 0, 1.3, 1.0, NAN);
	script_batch_begin(&script, 0, 1.4, 1);
	script_apply(&script, 1.5);
	const struct batch *batch = script_batch(&script, 0);
	ck_assert_uint_eq(batch->phase_count, RUN_PHASES_MAX);
	ck_assert_uint_eq(batch->phases_left_out, 16); /* all nested ones are dropped, and six outermost */
	ck_assert_double_eq_tol(batch_phase_s(batch, NAME_UNATTRIBUTED, 0), 0.1 + 0.06, NEAR);
	ck_assert_double_eq_tol(batch_outermost_s(batch), batch->step_s, NEAR);
	script_close(&script);
}
END_TEST

START_TEST(outermost_phases_of_every_finished_step_sum_to_it)
{
	for (int between = 0; between < 2; between++) {
		struct story_options options;
		story_options_default(&options);
		options.loads_between = between;
		struct model_options model_options;
		model_options_default(&model_options);
		struct model *model = model_new(&model_options);
		struct story *story = story_new(&options);
		struct sample_set set = SAMPLE_SET_INIT;
		while (story_next(story, &set))
			model_apply(model, &set);
		size_t count, checked = 0;
		const double *steps = story_steps(story, &count);
		const struct track *track = run_main(&model->runs[0]);
		ck_assert_uint_eq(track->end, count);
		for (uint64_t ordinal = track->first; ordinal < track->end; ordinal++, checked++) {
			const struct batch *batch = track_batch(track, ordinal);
			ck_assert_double_eq_tol(batch->step_s, steps[ordinal], 1e-9);
			ck_assert_double_eq_tol(batch_outermost_s(batch), batch->step_s, 1e-6);
			ck_assert_double_eq(batch->samples, STORY_SAMPLES_PER_BATCH);
		}
		ck_assert_uint_eq(checked, 300);
		sample_set_release(&set);
		story_free(story);
		model_free(model);
	}
}
END_TEST

START_TEST(the_baseline_is_the_median_of_the_batches_before)
{
	struct model_options options;
	model_options_default(&options);
	options.flag_window = 5;
	struct script script;
	script_open(&script, &options);
	double at_s = 1;
	for (int i = 0; i < 30; i++) {
		double step_s = 0.1 + 0.001 * i;
		script_batch_begin(&script, 0, at_s, (uint64_t)i);
		script_span(&script, 0, at_s, at_s + 0.5 * step_s, STORY_FORWARD, 0);
		if (i == 24)
			script_span(&script, 0, at_s + 0.5 * step_s, at_s + 0.6 * step_s, STORY_CHECKPOINT, 0);
		script_batch_end(&script, 0, at_s + 0.8 * step_s, at_s, NAN);
		at_s += step_s;
	}
	script_apply(&script, at_s);
	struct baseline baseline;
	track_baseline(run_main(script_run(&script)), 25, &baseline);
	ck_assert_uint_eq(baseline.batches, 5); /* 20 … 24 */
	ck_assert_double_eq_tol(baseline.step_s, 0.122, NEAR);
	ck_assert_double_eq_tol(baseline.batch_s, 0.8 * 0.122, NEAR);
	ck_assert_uint_eq(baseline.phase_count, 3); /* the checkpoint has no baseline */
	ck_assert_uint_eq(baseline.phases[0].name, STORY_FORWARD);
	ck_assert_double_eq_tol((double)baseline.phases[0].seconds, 0.061, NEAR);
	ck_assert_double_nan(baseline.evidence.cpu_s);
	track_baseline(run_main(script_run(&script)), 0, &baseline);
	ck_assert_uint_eq(baseline.batches, 0);
	ck_assert_double_nan(baseline.step_s);
	script_close(&script);
}
END_TEST

START_TEST(phase_rows_are_depth_first_with_medians_and_shares)
{
	struct script script;
	script_open(&script, NULL);
	double at_s = 1;
	for (int i = 0; i < 12; i++) {
		double data_s = i == 11 ? 0.5 : 0.1;
		script_batch_begin(&script, 0, at_s, (uint64_t)i);
		script_span(&script, 0, at_s, at_s + data_s / 2, STORY_DECODE, STORY_DATA);
		script_span(&script, 0, at_s, at_s + data_s, STORY_DATA, 0);
		script_batch_end(&script, 0, at_s + data_s + 0.1, at_s, NAN);
		at_s += data_s + 0.1;
	}
	script_batch_begin(&script, 0, at_s, 12);
	script_apply(&script, at_s);
	struct phase_row rows[8];
	size_t batches, count = track_phases(run_main(script_run(&script)), 10, rows, 8, &batches);
	ck_assert_uint_eq(batches, 10);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(rows[0].name, STORY_DATA);
	ck_assert_uint_eq(rows[1].name, STORY_DECODE);
	ck_assert_uint_eq(rows[1].depth, 1);
	ck_assert_uint_eq(rows[2].name, NAME_UNATTRIBUTED);
	ck_assert_double_eq_tol(rows[0].median_s, 0.1, NEAR);
	ck_assert_double_eq_tol(rows[0].share_ratio, 1.4 / 2.4, NEAR);
	ck_assert_double_eq_tol(rows[2].share_ratio, 1.0 / 2.4, NEAR);
	ck_assert_uint_eq(track_phases(run_main(script_run(&script)), 10, rows, 1, &batches), 1);
	script_close(&script);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model phases");
	TCase *tests = tcase_create("phases");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, spans_between_batches_belong_to_the_step_before);
	tcase_add_test(tests, span_across_the_end_of_its_batch_counts_on_both_sides);
	tcase_add_test(tests, spans_of_another_lane_are_no_phases_of_the_batch);
	tcase_add_test(tests, time_between_has_the_name_that_the_publisher_gives_it);
	tcase_add_test(tests, phases_beyond_the_most_are_counted_and_stay_in_the_sum);
	tcase_add_test(tests, outermost_phases_of_every_finished_step_sum_to_it);
	tcase_add_test(tests, the_baseline_is_the_median_of_the_batches_before);
	tcase_add_test(tests, phase_rows_are_depth_first_with_medians_and_shares);
	return suite_run(suite);
}
