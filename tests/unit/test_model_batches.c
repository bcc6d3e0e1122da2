#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "src/model/run/steps/tracks.h"
#include "tests/support/model_parts.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-6

START_TEST(batch_is_begin_to_end_and_step_is_begin_to_next_begin)
{
	struct script script;
	script_open(&script, NULL);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 0.5, 7);
	script_batch_begin(&script, 0, 1.0, 0);
	script_batch_end(&script, 0, 1.2, 1.0, 0.25);
	script_apply(&script, 1.21);
	ck_assert_double_eq_tol(script_batch(&script, 0)->batch_s, 0.2, NEAR);
	ck_assert_double_nan(script_batch(&script, 0)->step_s);
	script_batch_begin(&script, 0, 1.5, 1);
	script_apply(&script, 1.6);
	const struct batch *first = script_batch(&script, 0), *running = script_batch(&script, 1);
	ck_assert_double_eq_tol(first->step_s, 0.5, NEAR);
	ck_assert_double_eq(first->loss, 0.25);
	ck_assert_uint_eq(first->epoch, 7);
	ck_assert_uint_eq(first->epoch_ordinal, 1);
	ck_assert_double_nan(running->batch_s);
	ck_assert_int_eq(running->end_ns, 0);
	ck_assert_uint_eq(running->index, 1);
	ck_assert_uint_eq(run_main(script_run(&script))->count, 1);
	ck_assert_double_eq_tol(run_main(script_run(&script))->step.last_s, 0.5, NEAR);
	script_close(&script);
}
END_TEST

START_TEST(last_step_of_an_epoch_is_its_batch)
{
	struct script script;
	script_open(&script, NULL);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 0.5, 0);
	script_batch_begin(&script, 0, 1.0, 0);
	script_batch_end(&script, 0, 1.2, 1.0, NAN);
	script_span(&script, 0, 1.3, 2.3, STORY_CHECKPOINT, 0);
	script_epoch(&script, RECORD_EPOCH_END, 2.4, 0);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 2.5, 1);
	script_batch_begin(&script, 0, 3.0, 0);
	script_apply(&script, 3.1);
	const struct batch *batch = script_batch(&script, 0);
	ck_assert_double_eq_tol(batch->step_s, 0.2, NEAR);
	ck_assert_double_nan(batch_phase_s(batch, STORY_CHECKPOINT, 0));
	ck_assert_double_eq_tol(batch_outermost_s(batch), 0.2, NEAR);
	ck_assert_uint_eq(script_batch(&script, 1)->epoch_ordinal, 2);
	script_close(&script);
}
END_TEST

START_TEST(epoch_end_of_another_lane_ends_the_step_too)
{
	struct script script;
	script_open(&script, NULL);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 0.5, 0);
	script_apply(&script, 0.6);
	script_epoch(&script, RECORD_EPOCH_END, 1.9, 0);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 2.0, 1);
	script_batch_begin(&script, 1, 1.0, 0);
	script_batch_end(&script, 1, 1.2, 1.0, NAN);
	script_batch_begin(&script, 1, 3.0, 0);
	script_apply(&script, 3.1);
	ck_assert_double_eq_tol(script_batch(&script, 0)->step_s, 0.2, NEAR);
	ck_assert_uint_eq(script_batch(&script, 0)->epoch, 0);
	ck_assert_uint_eq(script_batch(&script, 1)->epoch, 1);
	script_close(&script);
}
END_TEST

START_TEST(batch_that_never_ended_has_no_times)
{
	struct script script;
	script_open(&script, NULL);
	script_batch_begin(&script, 0, 1.0, 0);
	script_batch_begin(&script, 0, 2.0, 1);
	script_batch_end(&script, 0, 2.2, 2.0, NAN);
	script_batch_begin(&script, 0, 2.5, 2);
	script_apply(&script, 2.6);
	ck_assert_double_nan(script_batch(&script, 0)->batch_s);
	ck_assert_double_nan(script_batch(&script, 0)->step_s);
	ck_assert_double_eq_tol(script_batch(&script, 1)->step_s, 0.5, NEAR);
	ck_assert_uint_eq(run_main(script_run(&script))->count, 1);
	script_close(&script);
}
END_TEST

START_TEST(batch_joined_in_its_middle_has_a_time_but_no_step)
{
	struct script script;
	script_open(&script, NULL);
	script_span(&script, 0, 1.05, 1.1, STORY_FORWARD, 0);
	script_batch_end(&script, 0, 1.2, 1.0, 0.5);
	script_batch_begin(&script, 0, 1.5, 8);
	script_batch_end(&script, 0, 1.7, 1.5, 0.5);
	script_batch_begin(&script, 0, 2.0, 9);
	script_apply(&script, 2.1);
	const struct batch *joined = script_batch(&script, 0);
	ck_assert_double_eq_tol(joined->batch_s, 0.2, NEAR);
	ck_assert_double_nan(joined->step_s);
	ck_assert_double_nan(batch_phase_s(joined, NAME_UNATTRIBUTED, 0));
	ck_assert_double_eq_tol(script_batch(&script, 1)->step_s, 0.5, NEAR);
	ck_assert_uint_eq(run_main(script_run(&script))->count, 2);
	script_close(&script);
}
END_TEST

START_TEST(step_across_a_loss_is_not_invented)
{
	struct script script;
	script_open(&script, NULL);
	script_batch_begin(&script, 0, 1.0, 0);
	script_batch_end(&script, 0, 1.2, 1.0, NAN);
	script.sequence[0] += 40;
	script_batch_end(&script, 0, 5.2, 5.0, NAN); /* its begin was lost */
	script_batch_begin(&script, 0, 5.5, 9);
	script_batch_end(&script, 0, 5.7, 5.5, NAN);
	script.sequence[0] += 2;
	script_batch_begin(&script, 0, 6.5, 11);
	script.sequence[0] += 1;
	script_batch_end(&script, 0, 6.7, 6.5, NAN); /* inner events were lost */
	script_batch_begin(&script, 0, 7.0, 12);
	script_batch_end(&script, 0, 7.2, 7.0, NAN);
	script_batch_begin(&script, 0, 7.5, 13);
	script_add(&script, RECORD_LOST, 7.6)->lost.count = 43; /* counted when the rest has been read */
	script_apply(&script, 7.6);
	for (uint64_t ordinal = 0; ordinal < 4; ordinal++) {
		ck_assert_double_nan(script_batch(&script, ordinal)->step_s);
		ck_assert_double_eq_tol(script_batch(&script, ordinal)->batch_s, 0.2, NEAR);
		ck_assert(!script_batch(&script, ordinal)->is_flagged);
	}
	ck_assert_double_eq_tol(script_batch(&script, 4)->step_s, 0.5, NEAR);
	ck_assert_uint_eq(script_run(&script)->lost_events, 43);
	ck_assert_uint_eq(run_main(script_run(&script))->recent.count, 1);
	script_close(&script);
}
END_TEST

START_TEST(batches_may_move_to_another_thread)
{
	struct script script;
	script_open(&script, NULL);
	script_batch_begin(&script, 0, 1.0, 0);
	script_batch_end(&script, 0, 1.2, 1.0, NAN);
	script_batch_begin(&script, 1, 1.5, 1);
	script_batch_end(&script, 2, 1.7, 1.5, NAN); /* ended by a third thread */
	script_batch_begin(&script, 1, 2.0, 2);
	script_apply(&script, 2.1);
	ck_assert_double_eq_tol(script_batch(&script, 0)->step_s, 0.5, NEAR);
	ck_assert_double_eq_tol(script_batch(&script, 1)->step_s, 0.5, NEAR);
	ck_assert_double_eq_tol(script_batch(&script, 1)->batch_s, 0.2, NEAR);
	ck_assert_uint_eq(run_main(script_run(&script))->count, 2);
	ck_assert_uint_eq(run_main(script_run(&script))->step.count, 2);
	script_close(&script);
}
END_TEST

START_TEST(evidence_belongs_to_the_batch_that_just_ended)
{
	struct script script;
	struct evidence evidence = { 0.1, 0.01, 5, 1, 2, 3, 4, 64 };
	script_open(&script, NULL);
	script_batch_begin(&script, 0, 1.0, 0);
	script_batch_end(&script, 0, 1.2, 1.0, NAN);
	script_event(&script, RECORD_EVIDENCE, 0, 1.2)->evidence = &evidence;
	script_batch_begin(&script, 0, 1.5, 1);
	script_event(&script, RECORD_EVIDENCE, 0, 1.6)->evidence = &evidence; /* of nothing */
	script_apply(&script, 1.7);
	ck_assert(script_batch(&script, 0)->has_evidence);
	ck_assert_double_eq(script_batch(&script, 0)->evidence.major_faults, 1);
	ck_assert_double_eq(script_batch(&script, 0)->samples, 64);
	ck_assert(!script_batch(&script, 1)->has_evidence);
	ck_assert_double_nan(script_batch(&script, 1)->evidence.cpu_s);
	ck_assert_double_eq_tol(run_main(script_run(&script))->samples_per_s, 64 / 0.5, NEAR);
	script_close(&script);
}
END_TEST

START_TEST(ring_keeps_the_newest_batches)
{
	struct model_options options;
	model_options_default(&options);
	options.batch_capacity = 300;
	struct script script;
	script_open(&script, &options);
	double at_s = 1, step_s = 0.01;
	for (int i = 0; i < 1000; i++)
		at_s = script_steps(&script, at_s, &step_s, 1);
	const struct track *track = run_main(script_run(&script));
	ck_assert_uint_eq(track->end, 1000);
	ck_assert_uint_eq(track->end - track->first, 300);
	ck_assert_ptr_null(track_batch(track, 699));
	ck_assert_ptr_null(track_batch(track, 1000));
	for (uint64_t ordinal = 700; ordinal < 1000; ordinal++)
		ck_assert_int_eq(track_batch(track, ordinal)->begin_ns, script_ns(1 + 0.01 * (double)ordinal));
	script_close(&script);
}
END_TEST

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

START_TEST(recent_covers_exactly_the_last_200_steps)
{
	struct script script;
	script_open(&script, NULL);
	double at_s = 1, steps[450], newest[200], total = 0;
	srand(4);
	for (int i = 0; i < 450; i++)
		steps[i] = 0.1 + rand() % 1000 * 1e-4;
	at_s = script_steps(&script, at_s, steps, 450);
	script_batch_begin(&script, 0, at_s, 450);
	script_apply(&script, at_s);
	for (int i = 0; i < 200; i++)
		total += newest[i] = steps[250 + i];
	qsort(newest, 200, sizeof *newest, ascending);
	const struct figures *recent = &run_main(script_run(&script))->recent;
	ck_assert_uint_eq(recent->count, 200);
	ck_assert_double_eq_tol(recent->total_s, total, NEAR);
	ck_assert_double_eq_tol(recent->mean_s, total / 200, NEAR);
	ck_assert_double_eq_tol(recent->min_s, newest[0], NEAR);
	ck_assert_double_eq_tol(recent->max_s, newest[199], NEAR);
	ck_assert_double_eq_tol(recent->p50_s, (newest[99] + newest[100]) / 2, NEAR);
	ck_assert_double_eq_tol(recent->p95_s, quantile_of_sorted(newest, 200, 0.95), NEAR);
	ck_assert_double_eq_tol(recent->last_s, steps[449], NEAR);
	ck_assert_double_eq_tol(run_main(script_run(&script))->rate_per_s, 200 / total, 1e-4);
	script_close(&script);
}
END_TEST

START_TEST(open_spans_gauges_counters_marks_and_meta_are_in_the_model)
{
	struct script script;
	script_open(&script, NULL);
	script_meta(&script, "RANK", "3");
	script_meta(&script, "WORLD_SIZE", "8");
	script_meta(&script, "RANK", "4");
	struct record *outer = script_add(&script, RECORD_OPEN_SPAN, 41);
	outer->span.name = STORY_BACKWARD;
	outer->span.duration_ns = 40 * NS_PER_S;
	struct record *inner = script_add(&script, RECORD_OPEN_SPAN, 41);
	inner->span.name = STORY_DECODE;
	inner->span.depth = 1;
	for (int i = 0; i < 70; i++)
		script_event(&script, RECORD_MARK, 0, 1 + i)->text = i == 69 ? "newest" : "mark";
	struct record *gauge = script_event(&script, RECORD_GAUGE, 0, 80);
	gauge->gauge.name = STORY_LEARNING_RATE;
	gauge->gauge.value = 0.001;
	struct record *counter = script_add(&script, RECORD_COUNTER, 80);
	counter->counter.name = STORY_SAMPLES;
	counter->counter.total = 640;
	script_apply(&script, 81);
	struct run *run = script_run(&script);
	ck_assert_str_eq(run->rank, "4");
	ck_assert_str_eq(run->world, "8");
	ck_assert_uint_eq(run->meta_count, 2);
	ck_assert_str_eq(run_meta(run, "RANK"), "4");
	ck_assert_ptr_null(run_meta(run, "none"));
	ck_assert_uint_eq(run->open_span_count, 2);
	ck_assert_int_eq(run->open_spans[0].begin_ns, script_ns(1));
	ck_assert_uint_eq(run->mark_count, 64);
	ck_assert_str_eq(run->marks[63].text, "newest");
	ck_assert_double_eq(run->gauges[0].value, 0.001);
	ck_assert_double_eq(run->counters[0].total, 640);
	ck_assert_str_eq(run_name(run, STORY_BACKWARD), "backward");
	ck_assert_str_eq(run_name(run, 4000), "(unnamed)");
	ck_assert_str_eq(run_name(run, NAME_NONE), "train");
	script_add(&script, RECORD_OPEN_SPANS_NONE, 82);
	script_apply(&script, 82);
	ck_assert_uint_eq(script_run(&script)->open_span_count, 0);
	script_close(&script);
}
END_TEST

START_TEST(an_epoch_with_all_its_batches_is_no_lower_bound)
{
	struct script script;
	script_open(&script, NULL);
	struct run_state state = { .epochs_planned = 4, .batches_per_epoch = 4, .loss = NAN };
	script_state(&script, &state);
	double at_s = 1, step_s[4] = { 1, 1, 1, 1 };
	for (uint32_t e = 0; e < 3; e++) {
		script_epoch(&script, RECORD_EPOCH_BEGIN, at_s, e);
		at_s = script_steps(&script, at_s + 0.1, step_s, e == 0 ? 4 : 2) + 0.1;
	}
	script_apply(&script, at_s);
	const struct run *run = script_run(&script);
	for (size_t i = 0; i < 3; i++)
		ck_assert(!run_epoch_is_at_least(run, &run->epochs[i]));
	script_meta(&script, RUN_INFERRED "at_least", "yes");
	script_apply(&script, at_s + 0.1);
	run = script_run(&script);
	ck_assert_uint_eq(run->epochs[0].batches, run->epochs[0].planned);
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(run_epoch_is_at_least(run, &run->epochs[i]), i > 0);
	script_close(&script);
}
END_TEST

START_TEST(inferred_batches_of_validation_are_a_lower_bound)
{
	struct script script;
	script_open(&script, NULL);
	double step_s[2] = { 0.1, 0.1 };
	script_steps(&script, 1, step_s, 2);
	script_mode(&script, 0, 2, STORY_VALIDATION);
	script_steps(&script, 2.1, step_s, 2);
	script_meta(&script, "counted_by", RUN_BY_LOADER);
	script_apply(&script, 3);
	struct run *run = &script.model->runs[STORY_RUN];
	const struct track *validation = run_track_of(run, STORY_VALIDATION);
	ck_assert_ptr_nonnull(validation);
	ck_assert(!run_track_is_at_least(run, validation));
	run->is_counted = true;
	ck_assert(run_track_is_at_least(run, validation));
	ck_assert(!run_track_is_at_least(run, run_main(run)));
	script_close(&script);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model batches");
	TCase *tests = tcase_create("batches");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, batch_is_begin_to_end_and_step_is_begin_to_next_begin);
	tcase_add_test(tests, last_step_of_an_epoch_is_its_batch);
	tcase_add_test(tests, epoch_end_of_another_lane_ends_the_step_too);
	tcase_add_test(tests, batch_that_never_ended_has_no_times);
	tcase_add_test(tests, batch_joined_in_its_middle_has_a_time_but_no_step);
	tcase_add_test(tests, step_across_a_loss_is_not_invented);
	tcase_add_test(tests, batches_may_move_to_another_thread);
	tcase_add_test(tests, evidence_belongs_to_the_batch_that_just_ended);
	tcase_add_test(tests, ring_keeps_the_newest_batches);
	tcase_add_test(tests, recent_covers_exactly_the_last_200_steps);
	tcase_add_test(tests, open_spans_gauges_counters_marks_and_meta_are_in_the_model);
	tcase_add_test(tests, an_epoch_with_all_its_batches_is_no_lower_bound);
	tcase_add_test(tests, inferred_batches_of_validation_are_a_lower_bound);
	return suite_run(suite);
}
