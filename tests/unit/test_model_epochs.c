#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "src/model/run/steps/tracks.h"
#include "tests/support/model_parts.h"
#include "tests/support/script.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

#define NEAR 1e-6

START_TEST(epochs_have_ordinals_and_the_figures_of_their_batches)
{
	struct script script;
	script_open(&script, NULL);
	for (int e = 0; e < 3; e++) {
		double at_s = 1 + 10.0 * e;
		script_epoch(&script, RECORD_EPOCH_BEGIN, at_s, (uint32_t)(40 + e));
		for (int i = 0; i < 4; i++) {
			script_batch_begin(&script, 0, at_s + 1 + i, (uint64_t)i);
			script_batch_end(&script, 0, at_s + 1.2 + i + 0.1 * i, at_s + 1 + i, NAN);
		}
		if (e < 2)
			script_epoch(&script, RECORD_EPOCH_END, at_s + 8, (uint32_t)(40 + e));
	}
	script_apply(&script, 28);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->epoch_count, 3);
	for (uint32_t e = 0; e < 3; e++) {
		const struct epoch *epoch = &run->epochs[e];
		ck_assert_uint_eq(epoch->index, 40 + e);
		ck_assert_uint_eq(epoch->ordinal, 1 + e);
		ck_assert_uint_eq(epoch->batches, 4);
		ck_assert_double_eq_tol(epoch->mean_s, 0.35, NEAR);
		ck_assert_double_eq_tol(epoch->min_s, 0.2, NEAR);
		ck_assert_double_eq_tol(epoch->max_s, 0.5, NEAR);
		ck_assert_double_eq_tol(epoch->total_s, e < 2 ? 8 : 7, NEAR); /* the last one to now */
	}
	ck_assert_int_eq(run->epochs[2].end_ns, 0);
	ck_assert_uint_eq(track_batch(run_main(run), 5)->epoch, 41);
	ck_assert_uint_eq(track_batch(run_main(run), 5)->epoch_ordinal, 2);
	script_close(&script);
}
END_TEST

/* A pass over a DataLoader begins its epoch with the first backward. */
START_TEST(epoch_that_begins_within_its_first_batch_has_it)
{
	struct script script;
	script_open(&script, NULL);
	for (uint32_t e = 0; e < 2; e++) {
		double at_s = 1 + 10.0 * e;
		script_batch_begin(&script, 0, at_s, 0);
		script_epoch(&script, RECORD_EPOCH_BEGIN, at_s + 0.5, e);
		script_batch_end(&script, 0, at_s + 1, at_s, NAN);
		script_batch_begin(&script, 0, at_s + 2, 1);
		script_batch_end(&script, 0, at_s + 3, at_s + 2, NAN);
		script_epoch(&script, RECORD_EPOCH_END, at_s + 4, e);
	}
	script_apply(&script, 16);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->epoch_count, 2);
	for (uint32_t e = 0; e < 2; e++) {
		ck_assert_uint_eq(run->epochs[e].batches, 2);
		ck_assert_double_eq_tol(run->epochs[e].total_s, 4, NEAR);
		ck_assert_uint_eq(track_batch(run_main(run), 2 * e)->epoch_ordinal, e + 1);
		ck_assert_double_eq_tol(track_batch(run_main(run), 2 * e)->step_s, 2, NEAR);
	}
	script_close(&script);
}
END_TEST

/* Inferred batches that two readings lie around have the same time, or none. */
START_TEST(batches_that_took_no_time_have_an_unknown_one)
{
	struct script script;
	script_open(&script, NULL);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 1, 0);
	script_batch_begin(&script, 0, 2, 0);
	script_batch_end(&script, 0, 2, 2, NAN);
	script_batch_begin(&script, 0, 2, 1);
	script_batch_end(&script, 0, 2.4, 2, NAN);
	script_epoch(&script, RECORD_EPOCH_END, 3, 0);
	script_apply(&script, 4);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->epochs[0].batches, 2);
	ck_assert_double_eq_tol(run->epochs[0].mean_s, 0.2, NEAR);
	ck_assert_double_eq_tol(run->epochs[0].min_s, 0.4, NEAR);
	ck_assert_double_eq_tol(run->epochs[0].max_s, 0.4, NEAR);
	ck_assert_double_nan(track_batch(run_main(run), 0)->batch_s);
	ck_assert_double_nan(track_batch(run_main(run), 0)->step_s);
	ck_assert_double_eq_tol(track_batch(run_main(run), 1)->batch_s, 0.4, NEAR);
	script_close(&script);
}
END_TEST

START_TEST(epochs_of_other_modes_have_no_number)
{
	struct script script;
	script_open(&script, NULL);
	for (uint32_t e = 0; e < 4; e++) {
		double at_s = 1 + 10.0 * e;
		script_epoch(&script, RECORD_EPOCH_BEGIN, at_s, e / 2);
		script_mode(&script, 0, at_s + 0.1, e % 2 ? STORY_TRAIN : STORY_VALIDATION);
		script_batch_begin(&script, 0, at_s + 1, 0);
		script_batch_end(&script, 0, at_s + 2, at_s + 1, NAN);
		script_epoch(&script, RECORD_EPOCH_END, at_s + 8, e / 2);
	}
	script_apply(&script, 45);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->epoch_count, 4);
	ck_assert_uint_eq(run_epoch_number(run, 4), 2);
	ck_assert_uint_eq(run_epoch_number(run, 2), 1);
	ck_assert_uint_eq(run_epoch_number(run, 1), 0);
	ck_assert_uint_eq(run_epoch_number(run, 0), 0);
	script_close(&script);
}
END_TEST

START_TEST(epoch_that_never_ended_ends_with_the_next)
{
	struct script script;
	script_open(&script, NULL);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 1, 0);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 5, 1);
	script_epoch(&script, RECORD_EPOCH_END, 9, 1);
	script_epoch(&script, RECORD_EPOCH_END, 10, 1); /* of nothing */
	script_apply(&script, 12);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->epoch_count, 2);
	ck_assert_int_eq(run->epochs[0].end_ns, script_ns(5));
	ck_assert_int_eq(run->epochs[1].end_ns, script_ns(9));
	script_close(&script);
}
END_TEST

START_TEST(epoch_takes_the_mode_that_is_published_before_its_first_batch)
{
	struct script script;
	script_open(&script, NULL);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 1, 0);
	script_mode(&script, 0, 1.1, STORY_VALIDATION);
	script_batch_begin(&script, 0, 1.2, 0);
	script_batch_end(&script, 0, 1.4, 1.2, NAN);
	script_mode(&script, 0, 1.5, STORY_TRAIN);
	script_batch_begin(&script, 0, 1.6, 0);
	script_batch_end(&script, 0, 1.8, 1.6, NAN);
	script_apply(&script, 2);
	ck_assert_uint_eq(script_run(&script)->epochs[0].mode, STORY_VALIDATION);
	ck_assert_uint_eq(script_run(&script)->epochs[0].batches, 1);
	script_close(&script);
}
END_TEST

START_TEST(published_epochs_and_their_events_are_one)
{
	struct script script;
	script_open(&script, NULL);
	struct epoch_row rows[2] = {
		{ .index = 7,
			.begin_ns = script_ns(10),
			.end_ns = script_ns(18),
			.batches = 5,
			.sum_s = 2,
			.min_s = 0.3,
			.max_s = 0.6 },
		{ .index = 8, .begin_ns = script_ns(20), .batches = 2, .sum_s = 1, .min_s = 0.4, .max_s = 0.6 },
	};
	struct record *epochs = script_add(&script, RECORD_EPOCHS, 25);
	epochs->epochs.rows = rows;
	epochs->epochs.count = 2;
	epochs->epochs.dropped = 100;
	script_epoch(&script, RECORD_EPOCH_END, 18, 7);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 20, 8);
	script_epoch(&script, RECORD_EPOCH_END, 28, 8);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 30, 9);
	script_apply(&script, 31);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->epoch_count, 3);
	ck_assert_uint_eq(run->epochs[0].ordinal, 101);
	ck_assert_uint_eq(run->epochs[2].ordinal, 103);
	ck_assert_uint_eq(run->epochs[2].index, 9);
	ck_assert_int_eq(run->epochs[1].end_ns, script_ns(28));
	ck_assert_uint_eq(run->epochs[1].batches, 2);
	ck_assert_uint_eq(run->epochs_dropped, 100);
	script_close(&script);
}
END_TEST

START_TEST(the_newest_thousand_epochs_are_retained)
{
	struct script script;
	script_open(&script, NULL);
	for (int e = 0; e < 5000; e++) {
		script_epoch(&script, RECORD_EPOCH_BEGIN, 1 + e, (uint32_t)e);
		script_epoch(&script, RECORD_EPOCH_END, 1.5 + e, (uint32_t)e);
	}
	script_apply(&script, 5002);
	const struct run *run = script_run(&script);
	ck_assert_uint_ge(run->epoch_count, 1024);
	ck_assert_uint_le(run->epoch_count, 1280);
	ck_assert_uint_eq(run->epochs_dropped + run->epoch_count, 5000);
	ck_assert_uint_eq(run->epochs[run->epoch_count - 1].ordinal, 5000);
	script_close(&script);
}
END_TEST

START_TEST(epoch_whose_begin_was_lost_is_taken_from_the_state)
{
	struct script script;
	script_open(&script, NULL);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 1, 0);
	script_apply(&script, 2);
	struct run_state state = { .in_epoch = true,
		.epoch_index = 5,
		.epochs_begun = 6,
		.epoch_begin_ns = script_ns(60),
		.batches_in_epoch = 30,
		.loss = NAN,
		.mode = STORY_VALIDATION };
	script.sequence[0] = 5000;
	script_batch_end(&script, 0, 70.2, 70, NAN);
	script_add(&script, RECORD_LOST, 70)->lost.count = 4999;
	script_state(&script, &state);
	script_apply(&script, 71);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->epoch_count, 2);
	ck_assert_uint_eq(run->epochs[1].ordinal, 6);
	ck_assert_uint_eq(run->epochs[1].index, 5);
	ck_assert_uint_eq(run->epochs[1].batches, 30);
	script_batch_begin(&script, 0, 72, 0);
	script_apply(&script, 73);
	ck_assert_uint_eq(script_run(&script)->track_count, 2); /* the lost MODE too */
	script_close(&script);
}
END_TEST

/* When the story is over, seconds after its start. */
static double length_of(const struct story_options *options, double *epoch_ends)
{
	struct story *story = story_new(options);
	struct model *model = model_new_default();
	struct sample_set set = SAMPLE_SET_INIT;
	while (story_next(story, &set))
		model_apply(model, &set);
	const struct run *run = &model->runs[0];
	for (size_t e = 0; e < run->epoch_count; e++)
		epoch_ends[e] = seconds_between(options->start_ns, run->epochs[e].end_ns);
	sample_set_release(&set);
	story_free(story);
	model_free(model);
	return epoch_ends[options->epochs - 1];
}

START_TEST(remaining_time_is_right_once_an_epoch_is_complete)
{
	for (int has_plan = 0; has_plan < 2; has_plan++) {
		struct story_options options;
		story_options_default(&options);
		options.epochs = 5;
		options.has_plan = has_plan;
		options.validation_batches = 40;
		options.checkpoint_s = 2;
		double epoch_ends[5], end_s = length_of(&options, epoch_ends);
		struct story *story = story_new(&options);
		struct model *model = model_new_default();
		struct sample_set set = SAMPLE_SET_INIT;
		double last_ratio = 0;
		while (story_next(story, &set)) {
			model_apply(model, &set);
			const struct run *run = &model->runs[0];
			double now_s = seconds_between(options.start_ns, set.time_ns);
			if (!has_plan)
				ck_assert_double_nan(run->run_eta_s);
			if (has_plan && !isnan(run->run_done_ratio)) {
				ck_assert_double_ge(run->run_done_ratio, last_ratio);
				last_ratio = run->run_done_ratio;
			}
			if (run->epoch_count < 2 || run->epochs[run->epoch_count - 1].end_ns || !run->is_live)
				continue;
			/* Within the planted 0.25 s of each slow batch. */
			double epoch_end_s = epoch_ends[run->epoch_count - 1];
			ck_assert_double_eq_tol(run->epoch_eta_s, epoch_end_s - now_s, 0.9);
			if (has_plan)
				ck_assert_double_eq_tol(run->run_eta_s, end_s - now_s, 2.5);
		}
		if (has_plan)
			ck_assert_double_eq(model->runs[0].run_done_ratio, 1);
		ck_assert_double_nan(model->runs[0].run_eta_s);
		sample_set_release(&set);
		story_free(story);
		model_free(model);
	}
}
END_TEST

START_TEST(first_epoch_is_estimated_from_its_plan)
{
	struct story_options options;
	story_options_default(&options);
	options.slow_every = 0;
	struct story *story = story_new(&options);
	struct model *model = model_new_default();
	struct sample_set set = SAMPLE_SET_INIT;
	for (int i = 0; i < 51; i++) {
		story_next(story, &set);
		model_apply(model, &set);
	}
	const struct run *run = &model->runs[0];
	double done = (double)run->epochs[0].batches / 100;
	ck_assert_double_eq_tol(run->epoch_done_ratio, done, NEAR);
	/* the slow first batch does not come again */
	ck_assert_double_eq_tol(run->epoch_eta_s, (1 - done) * 20, 0.3);
	ck_assert_double_eq_tol(run->run_done_ratio, done / 3, NEAR);
	ck_assert_double_eq_tol(run->run_eta_s, run->epoch_eta_s + 2 * 20, 1.5);
	sample_set_release(&set);
	story_free(story);
	model_free(model);
}
END_TEST

START_TEST(unknown_plan_makes_no_estimate_in_the_first_epoch)
{
	struct story_options options;
	story_options_default(&options);
	options.has_plan = false;
	struct story *story = story_new(&options);
	struct model *model = model_new_default();
	struct sample_set set = SAMPLE_SET_INIT;
	for (int i = 0; i < 51; i++) {
		story_next(story, &set);
		model_apply(model, &set);
	}
	ck_assert_double_nan(model->runs[0].epoch_done_ratio);
	ck_assert_double_nan(model->runs[0].epoch_eta_s);
	ck_assert_double_nan(model->runs[0].run_done_ratio);
	ck_assert_double_nan(model->runs[0].run_eta_s);
	sample_set_release(&set);
	story_free(story);
	model_free(model);
}
END_TEST

/* What pmtop has seen of it is shorter than an epoch. */
START_TEST(an_epoch_that_pmtop_joined_has_no_length)
{
	static const double steps[4] = { 1, 1, 1, 1 };
	struct script script;
	script_open(&script, NULL);
	script.set.records[0].opened.abi = "counted";
	struct epoch_row *row = sample_set_allocate(&script.set, sizeof *row);
	*row = (struct epoch_row){ .begin_ns = script_ns(0.9), .batches = 18, .sum_s = NAN, .min_s = NAN, .max_s = NAN };
	struct record *joined = script_add(&script, RECORD_EPOCHS, 0.9);
	joined->epochs.rows = row;
	joined->epochs.count = 1;
	struct run_state state = { .epochs_planned = 10,
		.batches_per_epoch = 20,
		.in_epoch = true,
		.epochs_begun = 1,
		.epoch_begin_ns = script_ns(0.9),
		.batches_in_epoch = 18,
		.loss = NAN };
	script_state(&script, &state);
	script_steps(&script, 1, steps, 2);
	script_apply(&script, 3);
	ck_assert_double_eq_tol(script_run(&script)->run_eta_s, 9 * 20, 5);
	script_epoch(&script, RECORD_EPOCH_END, 3, 0);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 3, 1);
	state.epoch_index = 1;
	state.epochs_begun = 2;
	state.epoch_begin_ns = script_ns(3);
	state.batches_in_epoch = 4;
	script_state(&script, &state);
	script_steps(&script, 3, steps, 4);
	script_apply(&script, 7);
	ck_assert_double_eq_tol(script_run(&script)->run_eta_s, 16 + 8 * 20, 5);
	script_close(&script);
}
END_TEST

START_TEST(epochs_whose_batches_are_lower_bounds_are_no_estimate_of_the_next)
{
	struct script script;
	script_open(&script, NULL);
	double at_s = 1, step_s[4] = { 1, 1, 1, 1 };
	for (uint32_t e = 0; e < 2; e++) {
		script_epoch(&script, RECORD_EPOCH_BEGIN, at_s, e);
		at_s = script_steps(&script, at_s + 0.1, step_s, e ? 2 : 4) + 0.1;
	}
	script_apply(&script, at_s);
	ck_assert_double_eq_tol(script_run(&script)->epoch_done_ratio, 0.5, NEAR);
	script_meta(&script, RUN_INFERRED "at_least", "yes");
	script_apply(&script, at_s + 0.1);
	ck_assert(isnan(script_run(&script)->epoch_done_ratio));
	script_close(&script);
}
END_TEST

START_TEST(epochs_that_end_before_their_plan_are_the_length_of_the_next)
{
	struct script script;
	script_open(&script, NULL);
	struct run_state state = { .epochs_planned = 4, .batches_per_epoch = 100, .loss = NAN };
	script_state(&script, &state);
	double at_s = 1, step_s[12] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	for (uint32_t e = 0; e < 3; e++) {
		script_epoch(&script, RECORD_EPOCH_BEGIN, at_s, e);
		at_s = script_steps(&script, at_s + 0.1, step_s, 5);
		script_apply(&script, at_s + 0.1);
		/* The first may go on to its end. */
		ck_assert_double_eq_tol(script_run(&script)->epoch_done_ratio, e ? 0.5 : 0.05, NEAR);
		ck_assert_uint_eq(script_run(&script)->epoch_length, e ? 10 : 100);
		at_s = script_steps(&script, at_s + 0.2, step_s, 5);
		script_epoch(&script, RECORD_EPOCH_END, at_s + 0.1, e);
		at_s += 0.2;
	}
	script_apply(&script, at_s);
	ck_assert_double_eq_tol(script_run(&script)->run_eta_s, 10.5, 0.5);
	script_epoch(&script, RECORD_EPOCH_BEGIN, at_s, 3);
	at_s = script_steps(&script, at_s + 0.1, step_s, 12);
	script_apply(&script, at_s + 0.1);
	ck_assert(isnan(script_run(&script)->epoch_done_ratio));
	script_close(&script);
}
END_TEST

START_TEST(what_counts_all_steps_ends_the_run_unless_its_epochs_do_before)
{
	struct {
		uint32_t epochs;
		uint64_t before, planned;
		double done;
	} const cases[] = { { 0, 0, 100, 0.1 }, { 0, 40, 100, 0.5 }, { 1000, 0, 100, 0.1 }, { 2, 0, 100, 0.25 },
		{ 2, 0, 5, 0.25 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct script script;
		script_open(&script, NULL);
		struct run_state state = { .epochs_planned = cases[i].epochs, .batches_per_epoch = 20, .loss = NAN };
		char before[16], planned[16];
		snprintf(before, sizeof before, "%" PRIu64, cases[i].before);
		snprintf(planned, sizeof planned, "%" PRIu64, cases[i].planned);
		script_state(&script, &state);
		script_meta(&script, RUN_INFERRED "steps_before", before);
		script_meta(&script, RUN_INFERRED "steps_planned", planned);
		script_epoch(&script, RECORD_EPOCH_BEGIN, 1, 0);
		double steps[10];
		for (int step = 0; step < 10; step++)
			steps[step] = 0.2;
		double at_s = script_steps(&script, 1.1, steps, 10);
		script_apply(&script, at_s);
		const struct run *run = script_run(&script);
		ck_assert_double_eq_tol(run->run_done_ratio, cases[i].done, NEAR);
		ck_assert_double_eq_tol(run->run_eta_s, 2 * (1 / cases[i].done - 1) * (1 + (double)cases[i].before / 10), 1.5);
		bool is_whole = cases[i].before == 0 && cases[i].planned >= 10;
		ck_assert_uint_eq(run_batches_planned(run), is_whole ? cases[i].planned : 0);
		script_close(&script);
	}
}
END_TEST

START_TEST(batches_without_epochs_have_a_plan_too)
{
	struct script script;
	script_open(&script, NULL);
	struct run_state state = { .batches_per_epoch = 100, .loss = NAN };
	script_state(&script, &state);
	double steps[25];
	for (int i = 0; i < 25; i++)
		steps[i] = 0.2;
	script_steps(&script, 1, steps, 25);
	ck_assert_double_eq_tol(script_run(&script)->run_done_ratio, 0.25, NEAR);
	ck_assert_double_eq_tol(script_run(&script)->run_eta_s, 15, 1e-3);
	ck_assert_double_nan(script_run(&script)->epoch_eta_s);
	script_close(&script);
}
END_TEST

START_TEST(epochs_of_validation_do_not_count_as_epochs_of_the_plan)
{
	struct script script;
	script_open(&script, NULL);
	struct run_state state = { .epochs_planned = 4, .batches_per_epoch = 2, .loss = NAN };
	script_state(&script, &state);
	double at_s = 1, step_s[2] = { 1, 1 };
	for (uint32_t e = 0; e < 3; e++) {
		uint32_t mode = e == 1 ? STORY_VALIDATION : STORY_TRAIN;
		script_mode(&script, 0, at_s, mode);
		script_epoch(&script, RECORD_EPOCH_BEGIN, at_s + 0.1, e);
		at_s = script_steps(&script, at_s + 0.2, step_s, 2);
		script_epoch(&script, RECORD_EPOCH_END, at_s + 0.1, e);
		at_s += 0.5;
	}
	script_apply(&script, at_s);
	ck_assert_double_eq_tol(script_run(&script)->run_done_ratio, 0.5, NEAR);
	script_close(&script);
}
END_TEST

/* -- epochs of a loop beside published steps -- */

enum { LOOP_RUN = 1, LOOP_LANE = 1, LOOP_LENGTH = 40 };

static const struct run_state no_epochs = { .loss = NAN };

static struct record *loop_record(struct script *script, enum record_kind kind, double at_s)
{
	struct record *record = script_event(script, kind, LOOP_LANE, at_s);
	record->run = LOOP_RUN;
	return record;
}

static void open_loop_without_epochs(struct script *script, double at_s)
{
	struct record *opened = script_add(script, RECORD_RUN_OPENED, at_s);
	opened->run = LOOP_RUN;
	opened->opened.name = "train.py";
	opened->opened.uuid = "loop";
	opened->opened.abi = "counted";
	opened->opened.pid = script_run(script)->pid;
	opened->opened.is_live = true;
}

static void open_loop(struct script *script, double at_s)
{
	open_loop_without_epochs(script, at_s);
	loop_record(script, RECORD_EPOCH_BEGIN, at_s)->epoch.index = 2;
}

static void loop_state(struct script *script, const struct run_state *counted, double at_s)
{
	struct run_state *state = sample_set_allocate(&script->set, sizeof *state);
	*state = *counted;
	struct record *record = script_add(script, RECORD_STATE, at_s + 0.9);
	record->run = LOOP_RUN;
	record->state = state;
}

static void loop_batch(struct script *script, double at_s, uint64_t index)
{
	loop_record(script, RECORD_BATCH_BEGIN, at_s)->batch.index = index;
	struct record *end = loop_record(script, RECORD_BATCH_END, at_s + 0.9);
	end->batch.index = end->batch.number = index;
	end->batch.begin_ns = script_ns(at_s);
	end->batch.loss = NAN;
}

static void loop_pass(struct script *script, double at_s, uint64_t index)
{
	loop_batch(script, at_s, index);
	loop_state(script,
		&(struct run_state){ .epochs_planned = 5,
			.batches_per_epoch = LOOP_LENGTH,
			.in_epoch = true,
			.epoch_index = 2,
			.epochs_begun = 3,
			.batches_in_epoch = index + 1,
			.loss = NAN },
		at_s);
}

/* Of `passes` passes of the loop, the program publishes a step in each `each`th. `state`: what it publishes of epochs.
 */
static void run_beside_a_loop(struct script *script, uint64_t passes, uint64_t each, const struct run_state *state)
{
	script_apply(script, 0.5);
	open_loop(script, 1);
	for (uint64_t i = 0; i < passes; i++) {
		double at_s = 1 + (double)i;
		loop_pass(script, at_s, i);
		if ((i + 1) % each == 0)
			script_whole_batch(script, at_s, at_s + 0.8, at_s + 0.95);
		script_state(script, state);
		script_apply(script, at_s + 0.95);
	}
}

START_TEST(steps_without_epochs_have_those_of_the_loop_that_passes_with_them)
{
	struct script script;
	script_open(&script, NULL);
	run_beside_a_loop(&script, 20, 1, &no_epochs);
	const struct run *run = script_run(&script);
	ck_assert(run->has_loop_epochs);
	ck_assert_uint_eq(run->state.batches_per_epoch, LOOP_LENGTH);
	ck_assert_uint_eq(run->state.batches_in_epoch, 20);
	ck_assert_uint_eq(run->state.epochs_planned, 5);
	ck_assert_uint_eq(run_epoch_number(run, run->state.epochs_begun), 3);
	ck_assert_double_eq_tol(run->epoch_done_ratio, 0.5, NEAR);
	ck_assert(isfinite(run->epoch_eta_s));
	ck_assert_uint_eq(run_main(run)->count, 20);
	ck_assert_uint_eq(script_newest_batch(&script)->epoch_ordinal, 3);
	script_close(&script);
}
END_TEST

/* What was published as epochs were passes over a DataLoader, which the program begins anew within an epoch. */
START_TEST(withdrawn_epochs_are_those_of_the_loop)
{
	struct script script;
	struct run_state passes = { .epochs_begun = 2, .epoch_index = 1, .batches_in_epoch = 7, .loss = NAN };
	script_open(&script, NULL);
	script_event(&script, RECORD_EPOCH_BEGIN, 0, 0.1)->epoch.index = 0;
	script_apply(&script, 0.2);
	ck_assert_uint_eq(script_run(&script)->epoch_count, 1);
	script_meta(&script, "epochs_withdrawn", "2");
	run_beside_a_loop(&script, 20, 1, &passes);
	const struct run *run = script_run(&script);
	ck_assert(run->has_loop_epochs);
	ck_assert_uint_eq(run_epoch_number(run, run->state.epochs_begun), 3);
	ck_assert_uint_eq(run->epoch_count, 1);
	ck_assert_uint_eq(run->epochs[0].index, 2);
	/* Those that the script publishes itself are epochs. */
	passes.epochs_begun = 3;
	passes.epoch_index = 5;
	script_state(&script, &passes);
	script_apply(&script, 21);
	ck_assert(!run->has_loop_epochs);
	ck_assert_uint_eq(run->state.epoch_index, 5);
	script_close(&script);
}
END_TEST

/* A pass for each client of a federated round, published as an epoch each, while the loop's epoch is the third. */
START_TEST(passes_within_an_epoch_of_the_loop_are_no_epochs)
{
	for (unsigned own = 0; own < 2; own++) {
		struct script script;
		script_open(&script, NULL);
		if (!own)
			script_meta(&script, "epochs_are_passes", "True");
		script_apply(&script, 0.5);
		open_loop(&script, 1);
		for (uint32_t i = 0; i < 20; i++) {
			double at_s = 1 + (double)i;
			struct run_state passes = {
				.epochs_begun = i / 2 + 1, .epoch_index = i / 2, .in_epoch = true, .loss = NAN
			};
			loop_pass(&script, at_s, i);
			if (i % 2 == 0)
				script_event(&script, RECORD_EPOCH_BEGIN, 0, at_s)->epoch.index = i / 2;
			script_whole_batch(&script, at_s, at_s + 0.8, at_s + 0.95);
			script_state(&script, &passes);
			script_apply(&script, at_s + 0.95);
			ck_assert_msg(script_run(&script)->has_loop_epochs == (!own && i >= 8), "batch %u", i);
		}
		const struct run *run = script_run(&script);
		ck_assert_uint_eq(run_epoch_number(run, run->state.epochs_begun), own ? 10 : 3);
		ck_assert_uint_eq(run->state.batches_in_epoch, own ? 0 : 20);
		script_close(&script);
	}
}
END_TEST

/* Passes of LOOP_LENGTH batches, each an epoch as published. Those of the loop have the numbers from `first` on;
 * `each`: passes in an epoch of it, 0: it begins anew with each pass. How many there are is read in the last one only.
 */
static void passes_beside_a_loop(struct script *script, uint32_t first, uint32_t passes, uint32_t each)
{
	script_meta(script, "epochs_are_passes", "True");
	script_apply(script, 0.5);
	open_loop(script, 1);
	for (uint32_t i = 0; i < 4 * passes; i++) {
		uint32_t pass = i / 4;
		double at_s = 1 + (double)i;
		struct run_state state = { .epochs_begun = pass + 1,
			.epoch_index = pass,
			.in_epoch = true,
			.epoch_begin_ns = script_ns(1 + 4 * (double)pass),
			.loss = NAN };
		struct run_state counted = state;
		counted.epoch_index = first + (each ? pass / each : 0);
		counted.epochs_begun = counted.epoch_index + 1;
		counted.epoch_begin_ns += script_ns(0.1) - script_ns(0);
		counted.epochs_planned = i + 2 < 4 * passes ? 0 : 5;
		loop_pass(script, at_s, i);
		loop_state(script, &counted, at_s);
		if (i % 4 == 0)
			script_event(script, RECORD_EPOCH_BEGIN, 0, at_s)->epoch.index = pass;
		script_whole_batch(script, at_s, at_s + 0.8, at_s + 0.95);
		script_state(script, &state);
		script_apply(script, at_s + 0.95);
	}
}

/* "for step in range(100):" takes its batches from passes over a DataLoader, which are published. */
START_TEST(passes_within_a_loop_over_all_steps_have_its_progress)
{
	struct script script;
	script_open(&script, NULL);
	script_meta(&script, "epochs_are_passes", "True");
	script_apply(&script, 0.5);
	open_loop_without_epochs(&script, 1);
	for (uint32_t i = 0; i < 20; i++) {
		double at_s = 1 + (double)i;
		const struct run_state state = { .epochs_begun = i / 8 + 1,
			.epoch_index = i / 8,
			.in_epoch = true,
			.batches_per_epoch = 8,
			.epoch_begin_ns = script_ns(1 + 8 * (double)(i / 8)),
			.batches_in_epoch = i % 8,
			.loss = NAN };
		loop_batch(&script, at_s, i);
		loop_state(&script, &(struct run_state){ .batches_per_epoch = 100, .loss = NAN }, at_s);
		if (i % 8 == 0)
			script_event(&script, RECORD_EPOCH_BEGIN, 0, at_s)->epoch.index = i / 8;
		script_whole_batch(&script, at_s, at_s + 0.8, at_s + 0.95);
		script_state(&script, &state);
		script_apply(&script, at_s + 0.95);
	}
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run_epoch_number(run, run->state.epochs_begun), 3);
	ck_assert_double_eq_tol(run->run_done_ratio, 0.2, NEAR);
	ck_assert_double_eq_tol(run->run_eta_s, 80, 5);
	script_close(&script);
}
END_TEST

/* Its first pass may be a later epoch of a resumed run, which the loop shows. */
START_TEST(a_pass_has_no_number_while_its_loop_is_sought)
{
	for (int is_sampled = 0; is_sampled < 2; is_sampled++) {
		struct script script;
		const struct run_state state = { .epochs_begun = 1, .in_epoch = true, .loss = NAN };
		script_open(&script, NULL);
		script_meta(&script, "epochs_are_passes", "True");
		script_apply(&script, 0.1);
		if (is_sampled)
			fill_code_group(script_add(&script, RECORD_CODE_GROUP, 0.1), 1, script_run(&script)->pid, 10, 10, 1);
		script_event(&script, RECORD_EPOCH_BEGIN, 0, 0.2)->epoch.index = 0;
		script_state(&script, &state);
		script_apply(&script, 0.5);
		ck_assert_uint_eq(run_epoch_number(script_run(&script), 1), is_sampled ? 0 : 1);
		script_apply(&script, 3.4);
		ck_assert_uint_eq(run_epoch_number(script_run(&script), 1), is_sampled ? 0 : 1);
		script_apply(&script, 3.6);
		ck_assert_uint_eq(run_epoch_number(script_run(&script), 1), 1);
		script_close(&script);
	}
}
END_TEST

/* A resumed run: its first pass is the third epoch of the loop. */
START_TEST(passes_have_the_numbers_and_the_total_of_the_loop_around_them)
{
	for (uint32_t first = 0; first < 3; first += 2) {
		struct script script;
		script_open(&script, NULL);
		passes_beside_a_loop(&script, first, 3, 1);
		const struct run *run = script_run(&script);
		ck_assert(!run->has_loop_epochs);
		ck_assert_uint_eq(run_epoch_number(run, run->state.epochs_begun), first + 3);
		ck_assert_uint_eq(run->state.epoch_index, first + 2);
		ck_assert_uint_eq(run->state.epochs_planned, 5);
		ck_assert_uint_eq(run->epoch_count, 3);
		for (uint32_t i = 0; i < 3; i++) {
			ck_assert_uint_eq(run->epochs[i].index, first + i);
			ck_assert_uint_eq(run->epochs[i].ordinal, first + i + 1);
			ck_assert_uint_eq(run->epochs[i].batches, 4);
		}
		ck_assert_uint_eq(script_batch(&script, 0)->epoch, first);
		ck_assert_uint_eq(script_newest_batch(&script)->epoch, first + 2);
		script_close(&script);
	}
}
END_TEST

/* Folds, and several loaders in an epoch. */
START_TEST(passes_with_other_numbers_than_the_loop_are_no_epochs)
{
	for (uint32_t each = 0; each < 4; each++) {
		struct script script;
		script_open(&script, NULL);
		passes_beside_a_loop(&script, 1, 6, each);
		const struct run *run = script_run(&script);
		ck_assert_int_eq(run->has_loop_epochs, each != 1);
		ck_assert_uint_eq(run->state.epoch_index, 1 + (each ? 5 / each : 0));
		script_close(&script);
	}
}
END_TEST

/* Until enough passes have shown it. */
START_TEST(a_pass_with_another_number_than_the_loop_has_none)
{
	for (uint32_t each = 1; each < 3; each++) {
		struct script script;
		script_open(&script, NULL);
		script_apply(&script, 0.1);
		fill_code_group(script_add(&script, RECORD_CODE_GROUP, 0.2), 1, script_run(&script)->pid, 10, 10, 1);
		passes_beside_a_loop(&script, 0, 2, each);
		const struct run *run = script_run(&script);
		ck_assert(!run->has_loop_epochs);
		ck_assert_uint_eq(run_epoch_number(run, run->state.epochs_begun), each == 1 ? 2 : 0);
		script_close(&script);
	}
}
END_TEST

/* The loop is one over micro-batches, so its length is not that of the steps. */
START_TEST(steps_have_no_epochs_of_a_loop_that_passes_more_often)
{
	struct script script;
	script_open(&script, NULL);
	run_beside_a_loop(&script, 40, 2, &no_epochs);
	const struct run *run = script_run(&script);
	ck_assert(!run->has_loop_epochs && isnan(run->epoch_done_ratio));
	ck_assert_uint_eq(run->epoch_count, 0);
	ck_assert_uint_eq(run->state.batches_per_epoch, 0);
	script_close(&script);
}
END_TEST

START_TEST(steps_that_begin_later_than_their_loop_have_not_its_length)
{
	for (uint64_t before = 0; before < 6; before += 5) {
		struct script script;
		script_open(&script, NULL);
		script_apply(&script, 0.4);
		open_loop_without_epochs(&script, 0.5);
		for (uint64_t i = 0; i < 25; i++) {
			struct run_state counted = { .batches_per_epoch = LOOP_LENGTH, .batches_in_epoch = before + i + 1 };
			loop_batch(&script, 1 + (double)i, before + i);
			loop_state(&script, &counted, 1 + (double)i);
			script_whole_batch(&script, 1 + (double)i, 1.8 + (double)i, 1.95 + (double)i);
			script_apply(&script, 1.95 + (double)i);
		}
		ck_assert_uint_eq(run_batches_planned(script_run(&script)), before ? 0 : LOOP_LENGTH);
		script_close(&script);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model epochs");
	TCase *tests = tcase_create("epochs");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, epochs_have_ordinals_and_the_figures_of_their_batches);
	tcase_add_test(tests, epoch_that_begins_within_its_first_batch_has_it);
	tcase_add_test(tests, batches_that_took_no_time_have_an_unknown_one);
	tcase_add_test(tests, epochs_of_other_modes_have_no_number);
	tcase_add_test(tests, epoch_that_never_ended_ends_with_the_next);
	tcase_add_test(tests, epoch_takes_the_mode_that_is_published_before_its_first_batch);
	tcase_add_test(tests, published_epochs_and_their_events_are_one);
	tcase_add_test(tests, the_newest_thousand_epochs_are_retained);
	tcase_add_test(tests, epoch_whose_begin_was_lost_is_taken_from_the_state);
	tcase_add_test(tests, remaining_time_is_right_once_an_epoch_is_complete);
	tcase_add_test(tests, first_epoch_is_estimated_from_its_plan);
	tcase_add_test(tests, unknown_plan_makes_no_estimate_in_the_first_epoch);
	tcase_add_test(tests, an_epoch_that_pmtop_joined_has_no_length);
	tcase_add_test(tests, epochs_whose_batches_are_lower_bounds_are_no_estimate_of_the_next);
	tcase_add_test(tests, epochs_that_end_before_their_plan_are_the_length_of_the_next);
	tcase_add_test(tests, what_counts_all_steps_ends_the_run_unless_its_epochs_do_before);
	tcase_add_test(tests, batches_without_epochs_have_a_plan_too);
	tcase_add_test(tests, epochs_of_validation_do_not_count_as_epochs_of_the_plan);
	tcase_add_test(tests, steps_without_epochs_have_those_of_the_loop_that_passes_with_them);
	tcase_add_test(tests, withdrawn_epochs_are_those_of_the_loop);
	tcase_add_test(tests, passes_within_an_epoch_of_the_loop_are_no_epochs);
	tcase_add_test(tests, passes_within_a_loop_over_all_steps_have_its_progress);
	tcase_add_test(tests, a_pass_has_no_number_while_its_loop_is_sought);
	tcase_add_test(tests, passes_have_the_numbers_and_the_total_of_the_loop_around_them);
	tcase_add_test(tests, passes_with_other_numbers_than_the_loop_are_no_epochs);
	tcase_add_test(tests, a_pass_with_another_number_than_the_loop_has_none);
	tcase_add_test(tests, steps_have_no_epochs_of_a_loop_that_passes_more_often);
	tcase_add_test(tests, steps_that_begin_later_than_their_loop_have_not_its_length);
	return suite_run(suite);
}
