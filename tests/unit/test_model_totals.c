#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/run/steps/tracks.h"
#include "tests/support/model_parts.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-6

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static void check_against_truth(const struct run *run, struct story *story)
{
	struct story_truth truth = story_truth(story);
	const struct track *track = run_main(run);
	size_t count;
	const double *steps = story_steps(story, &count);
	double *sorted = malloc(count * sizeof *sorted);
	memcpy(sorted, steps, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, ascending);
	ck_assert_uint_eq(track->count, truth.batches);
	ck_assert_uint_eq(track->step.count, truth.steps);
	ck_assert_double_eq_tol(track->batch.total_s, truth.batch_total_s, NEAR);
	ck_assert_double_eq_tol(track->step.total_s, truth.step_total_s, NEAR);
	ck_assert_double_eq_tol(track->step.min_s, truth.step_min_s, 1e-9);
	ck_assert_double_eq_tol(track->step.max_s, truth.step_max_s, 1e-9);
	ck_assert_double_eq_tol(track->step.last_s, steps[count - 1], 1e-9);
	double p50 = quantile_of_sorted(sorted, count, 0.5), p95 = quantile_of_sorted(sorted, count, 0.95);
	ck_assert_double_eq_tol(track->step.p50_s, p50, 0.02 * p50);
	ck_assert_double_eq_tol(track->step.p95_s, p95, 0.02 * p95);
	ck_assert_double_eq_tol(track->slow_first_s, truth.first_step_s, 1e-9);
	free(sorted);
}

START_TEST(figures_cover_the_whole_run_whenever_pmtop_came)
{
	/* At the start, in the first batch, in mid-run, in a validation, in a checkpoint, between epochs, near the end,
	 * after it. */
	static const double moments[] = { 0, 0.31, 2, 11.117, 21.3, 22.1, 22.32, 40, 43.3, 60.123, 66.5, 200 };
	for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
		struct story_options options;
		story_options_default(&options);
		options.attach_s = moments[i];
		struct story *story = story_new(&options);
		struct model *model = model_new_default();
		story_play(story, model);
		struct run *run = &model->runs[0];
		check_against_truth(run, story);
		ck_assert_uint_eq(run->tracks[1].count, 30);
		struct story_truth truth = story_truth(story);
		ck_assert_double_eq_tol(run_operation(run, NAME_NONE, STORY_DATA)->total_s, truth.data_total_s, NEAR);
		ck_assert_double_eq_tol(run_operation(run, NAME_NONE, STORY_DECODE)->total_s, truth.decode_total_s, NEAR);
		ck_assert_uint_eq(run_operation(run, NAME_NONE, STORY_DATA)->count, 300);
		model_free(model);
		story_free(story);
	}
}
END_TEST

START_TEST(late_monitor_numbers_batches_and_epochs_as_an_early_one)
{
	static const double moments[] = { 2, 11.117, 21.3, 22.1, 40, 43.3, 60.123, 66.5 };
	struct story_options options;
	story_options_default(&options);
	struct story *early_story = story_new(&options);
	struct model *early = model_new_default();
	story_play(early_story, early);
	for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
		options.attach_s = moments[i];
		struct story *story = story_new(&options);
		struct model *late = model_new_default();
		story_play(story, late);
		ck_assert_uint_eq(late->runs[0].track_count, 2);
		for (unsigned t = 0; t < 2; t++) {
			const struct track *track = NULL, *known = NULL;
			for (unsigned k = 0; k < 2; k++) {
				track = late->runs[0].tracks[k].mode == (t ? STORY_VALIDATION : NAME_NONE) ? &late->runs[0].tracks[k]
																						   : track;
				known = early->runs[0].tracks[k].mode == (t ? STORY_VALIDATION : NAME_NONE) ? &early->runs[0].tracks[k]
																							: known;
			}
			ck_assert_uint_eq(track->end, known->end);
			for (uint64_t ordinal = track->first; ordinal < track->end; ordinal++) {
				const struct batch *is = track_batch(track, ordinal), *was = track_batch(known, ordinal);
				ck_assert_ptr_nonnull(is);
				ck_assert_uint_eq(is->index, was->index);
				ck_assert_uint_eq(is->epoch_ordinal, was->epoch_ordinal);
				ck_assert_double_eq_tol(is->batch_s, was->batch_s, 1e-9);
			}
		}
		ck_assert_uint_eq(late->runs[0].epoch_count, 3);
		for (size_t e = 0; e < 3; e++) {
			ck_assert_uint_eq(late->runs[0].epochs[e].ordinal, e + 1);
			ck_assert_uint_eq(late->runs[0].epochs[e].batches, 100);
		}
		model_free(late);
		story_free(story);
	}
	model_free(early);
	story_free(early_story);
}
END_TEST

START_TEST(history_and_events_make_one_line_without_double_steps)
{
	static const double moments[] = { 0, 7.7, 22.1, 51 };
	for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
		struct story_options options;
		story_options_default(&options);
		options.attach_s = moments[i];
		struct story *story = story_new(&options);
		struct model *model = model_new_default();
		story_play(story, model);
		const struct run *run = &model->runs[0];
		uint64_t next = 0;
		double sum_s = 0;
		for (size_t b = 0; b < run->bin_count; b++) {
			ck_assert_uint_eq(run->bins[b].first, next);
			next += run->bins[b].count;
			sum_s += run->bins[b].sum_s;
		}
		ck_assert_uint_eq(next, 330);
		ck_assert_double_eq_tol(sum_s, run->tracks[0].step.total_s + run->tracks[1].step.total_s, NEAR);
		model_free(model);
		story_free(story);
	}
}
END_TEST

START_TEST(history_of_any_length_stays_within_its_bins)
{
	struct story_options options;
	story_options_default(&options);
	options.batches = 20000;
	options.epochs = 1;
	options.step_s = 0.001;
	options.slow_s = 0.002;
	options.first_s = 0.003;
	for (int late = 0; late < 2; late++) {
		options.attach_s = late * 15;
		struct story *story = story_new(&options);
		struct model *model = model_new_default();
		story_play(story, model);
		const struct run *run = &model->runs[0];
		uint64_t next = 0;
		double min = INFINITY, max = 0;
		ck_assert_uint_le(run->bin_count, 4096);
		for (size_t b = 0; b < run->bin_count; b++) {
			ck_assert_uint_eq(run->bins[b].first, next);
			next += run->bins[b].count;
			min = fmin(min, run->bins[b].min_s);
			max = fmax(max, run->bins[b].max_s);
		}
		ck_assert_uint_eq(next, 20010);
		ck_assert_double_eq_tol(max, story_truth(story).step_max_s, 1e-9);
		ck_assert_double_le(min, story_truth(story).step_min_s);
		model_free(model);
		story_free(story);
	}
}
END_TEST

START_TEST(event_below_upto_is_not_counted_again)
{
	struct script script;
	script_open(&script, NULL);
	script.sequence[0] = 100;
	script_total(&script, TOTAL_BATCH, 0, 104, 50, 0.2);
	script_batch_begin(&script, 0, 1.0, 48);     /* 100 */
	script_batch_end(&script, 0, 1.2, 1.0, NAN); /* 101: counted */
	script_batch_begin(&script, 0, 1.3, 49);
	script_batch_end(&script, 0, 1.5, 1.3, NAN); /* 103: counted */
	script_batch_begin(&script, 0, 1.6, 50);
	script_batch_end(&script, 0, 2.6, 1.6, NAN); /* 105: new */
	script_apply(&script, 3);
	const struct track *track = run_main(script_run(&script));
	ck_assert_uint_eq(track->count, 51);
	ck_assert_double_eq_tol(track->batch.total_s, 11, NEAR);
	ck_assert_double_eq_tol(track->batch.max_s, 1, NEAR);
	ck_assert_uint_eq(track_batch(track, 50)->index, 50);
	ck_assert_uint_eq(track_batch(track, 48)->index, 48);
	ck_assert_ptr_null(track_batch(track, 47));
	script_close(&script);
}
END_TEST

START_TEST(row_after_a_loss_replaces_what_was_accumulated)
{
	struct script script;
	script_open(&script, NULL);
	double at_s = 1;
	for (int i = 0; i < 10; i++) {
		script_batch_begin(&script, 0, at_s, (uint64_t)i);
		script_batch_end(&script, 0, at_s + 0.1, at_s, NAN);
		at_s += 0.2;
	}
	script_apply(&script, at_s);
	ck_assert_uint_eq(run_main(script_run(&script))->count, 10);
	/* Events after the loss come first, then the loss, then the totals, which are ahead of the events. */
	script.sequence[0] = 1996;
	script_batch_begin(&script, 0, 300, 998);
	script_batch_end(&script, 0, 300.1, 300, NAN); /* 1997 */
	script_add(&script, RECORD_LOST, at_s)->lost.count = 1976;
	script_total(&script, TOTAL_BATCH, 0, 2000, 1000, 0.1);
	script_apply(&script, 300.2);
	script_batch_begin(&script, 0, 301, 999);
	script_batch_end(&script, 0, 301.1, 301, NAN); /* 1999: in the row */
	script_batch_begin(&script, 0, 302, 1000);
	script_batch_end(&script, 0, 302.1, 302, NAN); /* 2001: not */
	script_apply(&script, 303);
	const struct track *track = run_main(script_run(&script));
	ck_assert_uint_eq(track->count, 1001);
	ck_assert_double_eq_tol(track->batch.total_s, 100.1, NEAR);
	ck_assert_uint_eq(track_batch(track, 1000)->index, 1000);
	ck_assert_uint_eq(track->end, 1001);
	ck_assert_ptr_nonnull(track_batch(track, 9));
	ck_assert_ptr_null(track_batch(track, 500)); /* never seen */
	/* A row older than the later events, with a lower count, changes nothing. */
	script_total(&script, TOTAL_BATCH, 0, 2000, 1000, 0.1);
	script_apply(&script, 304);
	ck_assert_uint_eq(run_main(script_run(&script))->count, 1001);
	script_close(&script);
}
END_TEST

START_TEST(modes_have_tracks_of_their_own_and_train_is_the_main_one)
{
	struct script script;
	script_open(&script, NULL);
	double step_s = 0.1, at_s = 1;
	script_mode(&script, 0, 0.5, STORY_VALIDATION); /* a check before training */
	at_s = script_steps(&script, at_s, &step_s, 1);
	ck_assert_uint_eq(run_main(script_run(&script))->mode, STORY_VALIDATION);
	script_mode(&script, 0, at_s, STORY_TRAIN);
	at_s = script_steps(&script, at_s + 0.1, &step_s, 1);
	ck_assert_uint_eq(run_main(script_run(&script))->mode, NAME_NONE);
	ck_assert_str_eq(run_name(script_run(&script), run_main(script_run(&script))->mode), "train");
	script_mode(&script, 0, at_s, STORY_VALIDATION);
	script_steps(&script, at_s + 0.1, &step_s, 1);
	ck_assert_uint_eq(run_main(script_run(&script))->mode, NAME_NONE);
	ck_assert_uint_eq(script_run(&script)->track_count, 2);
	ck_assert_uint_eq(script_run(&script)->tracks[0].count, 2);
	script_close(&script);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model totals");
	TCase *tests = tcase_create("totals");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, figures_cover_the_whole_run_whenever_pmtop_came);
	tcase_add_test(tests, late_monitor_numbers_batches_and_epochs_as_an_early_one);
	tcase_add_test(tests, history_and_events_make_one_line_without_double_steps);
	tcase_add_test(tests, history_of_any_length_stays_within_its_bins);
	tcase_add_test(tests, event_below_upto_is_not_counted_again);
	tcase_add_test(tests, row_after_a_loss_replaces_what_was_accumulated);
	tcase_add_test(tests, modes_have_tracks_of_their_own_and_train_is_the_main_one);
	return suite_run(suite);
}
