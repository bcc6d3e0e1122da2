#include <check.h>
#include <math.h>
#include <stdio.h>

#include "src/explain/causes/causes.h"
#include "src/explain/explain.h"
#include "src/model/run/run_private.h"
#include "src/model/run/steps/baseline.h"
#include "src/model/run/steps/tracks.h"
#include "src/rules/alerts.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-6

enum { ACCUMULATE = STORY_NAME_COUNT, LONG_KIND, SHORT_KIND, PROFILE, MANY };

static struct script script;
static double at_s;

static void setup(void)
{
	script_open(&script, NULL);
	const char *const names[] = { "accumulate", "long", "short", "profile" };
	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct record *name = script_add(&script, RECORD_NAME, 0);
		name->name.id = ACCUMULATE + i;
		name->name.text = names[i];
	}
	at_s = 1;
}

static void teardown(void) { script_close(&script); }

static void end_of_kind(double from_s, double to_s, uint32_t kind)
{
	script_batch_end(&script, 0, to_s, from_s, NAN);
	script.set.records[script.set.count - 1].batch.kind = kind;
}

/* One step, applied at its end; its batch is nine tenths of it. */
static void step_of_kind(uint64_t index, double step_s, uint32_t kind)
{
	script_batch_begin(&script, 0, at_s, index);
	end_of_kind(at_s, at_s + 0.9 * step_s, kind);
	at_s += step_s;
	script_apply(&script, at_s);
}

/* Forward takes 0.1 s; the optimizer, where it steps, 0.08 s more; and `late_s` more in it. */
static void accumulated(uint64_t i, unsigned every, double late_s)
{
	bool steps = (i + 1) % every == 0;
	double begin_s = at_s;
	script_batch_begin(&script, 0, at_s, i);
	script_span(&script, 0, at_s, at_s + 0.1, STORY_FORWARD, STORY_NO_NAME);
	at_s += 0.1;
	if (steps) {
		double optimizer_s = 0.08 + late_s;
		script_span(&script, 0, at_s, at_s + optimizer_s, STORY_OPTIMIZER, STORY_NO_NAME);
		at_s += optimizer_s;
	}
	end_of_kind(begin_s, at_s, steps ? 0 : ACCUMULATE);
	script_apply(&script, at_s);
}

static const struct track *track_of(uint32_t mode)
{
	struct run *run = script_run(&script);
	for (unsigned i = 0; i < run->track_count; i++)
		if (run->tracks[i].mode == mode)
			return &run->tracks[i];
	return NULL;
}

static const struct alert *alert_of(const char *rule, struct alerts *alerts)
{
	struct settings settings;
	settings_default(&settings);
	alerts_update(alerts, script.model, &settings);
	for (size_t i = 0; i < alerts->count; i++)
		if (alerts->list[i].is_raised && strcmp(alerts->list[i].rule, rule) == 0)
			return &alerts->list[i];
	return NULL;
}

/* -- kinds -- */

START_TEST(an_optimizer_step_every_few_batches_is_no_trouble)
{
	for (unsigned every = 2; every <= 8; every += 2) {
		struct alerts alerts = { 0 };
		for (uint64_t i = 0; i < 400; i++)
			accumulated(i, every, 0);
		const struct run *run = script_run(&script);
		ck_assert_uint_eq(run->flagged_count, 0);
		ck_assert_ptr_null(alert_of("variance", &alerts));
		ck_assert_ptr_null(alert_of("flagged_batches", &alerts));
		ck_assert_ptr_null(alert_of("slow_first_batch", &alerts));
		for (uint64_t i = 1; i < 400; i++)
			ck_assert_msg(!track_batch(run_main(run), i)->is_warmup, "batch %u of %u is warm-up", (unsigned)i, every);
		alerts_release(&alerts);
		teardown();
		setup();
	}
}
END_TEST

START_TEST(a_slow_step_is_flagged_against_steps)
{
	for (uint64_t i = 0; i < 400; i++)
		accumulated(i, 4, i == 399 - 40 ? 0.15 : 0);
	accumulated(400, 4, 0);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, 1);
	const struct flagged *flagged = &run->flagged[0];
	ck_assert_uint_eq(flagged->batch.ordinal, 359);
	ck_assert_double_eq_tol(flagged->batch.median_s, 0.18, NEAR);
	ck_assert_double_eq_tol(flagged->baseline.step_s, 0.18, NEAR);
	ck_assert_uint_eq(flagged->batch.micro_batch, 4);
	ck_assert_str_eq(track_kind_name(run, run_main(run), flagged->batch.kind), "step");
	struct explanation why;
	explain_batch(run, &flagged->batch, &flagged->baseline, flagged->batch_window, &why);
	ck_assert_str_eq(why.causes[0].what, "optimizer");
	ck_assert_double_eq_tol(why.excess_s, 0.15, NEAR);
}
END_TEST

START_TEST(a_slow_accumulation_is_flagged_though_steps_are_as_long)
{
	for (uint64_t i = 0; i < 200; i++)
		accumulated(i, 4, 0);
	step_of_kind(200, 0.18, ACCUMULATE);
	accumulated(201, 4, 0);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, 1);
	ck_assert_double_eq_tol(run->flagged[0].batch.median_s, 0.1, NEAR);
	ck_assert_uint_eq(run->flagged[0].batch.micro_batch, 1);
}
END_TEST

START_TEST(a_step_under_a_profiler_is_never_flagged)
{
	for (uint64_t i = 0; i < 100; i++)
		step_of_kind(i, i == 60 || i == 90 ? 5 : 0.1, i == 60 ? 0 : i > 60 ? PROFILE : 0);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, 1);
	ck_assert_uint_eq(run->flagged[0].batch.ordinal, 60);
	ck_assert_str_eq(track_kind_name(run, run_main(run), PROFILE), "profile");
}
END_TEST

/* As the session emits it: at each set, from when PyTorch has the request. The batch that lasts then is in the trace.
 */
static void traced(double from_s, double value)
{
	script_figure(&script, from_s, METRIC_PROCESS_TRACED, script_run(&script)->pid, value);
}

static void train_traced(void)
{
	double traced_s = 0;
	for (uint64_t i = 0; i < 100; i++) {
		if (i == 70)
			traced_s = at_s + 0.05;
		if (i >= 70 && i < 75)
			traced(traced_s, 1);
		if (i == 75)
			traced(at_s, 0);
		step_of_kind(i, (i >= 71 && i < 75) || i == 60 || i == 80 ? 5 : 0.1, 0);
	}
}

START_TEST(steps_in_a_trace_that_pmtop_asked_for_are_a_kind_and_never_flagged)
{
	step_of_kind(100, 0.1, 0); /* the process is known */
	train_traced();
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, 2);
	ck_assert_uint_eq(run->flagged[0].batch.number - run_main(run)->ring[0].number, 61);
	ck_assert_uint_eq(run->flagged[1].batch.number - run_main(run)->ring[0].number, 81);
	ck_assert_uint_eq(run_main(run)->kind_count, 2);
	ck_assert_uint_eq(run_main(run)->kinds[1].count, 5);
	ck_assert_str_eq(track_kind_name(run, run_main(run), run_main(run)->kinds[1].kind), "profile");
}
END_TEST

START_TEST(a_program_that_knows_no_kind_of_that_name_has_it_while_it_is_traced)
{
	step_of_kind(100, 0.1, 0);
	script_run(&script)->priv->profile = 0;
	train_traced();
	const struct track *track = run_main(script_run(&script));
	ck_assert_uint_eq(track->kinds[1].count, 5);
	ck_assert_str_eq(track_kind_name(script_run(&script), track, track->kinds[1].kind), "profile");
}
END_TEST

START_TEST(each_kind_begins_with_its_20th_batch)
{
	/* The 20th step after the warm-up is batch 79; earlier ones may be slow. */
	for (uint64_t i = 0; i < 100; i++)
		accumulated(i, 4, i == 75 || i == 83 ? 0.3 : 0);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, 1);
	ck_assert_uint_eq(run->flagged[0].batch.ordinal, 83);
}
END_TEST

START_TEST(kinds_have_their_figures_and_names)
{
	for (uint64_t i = 0; i < 101; i++)
		accumulated(i, 4, 0);
	const struct track *track = run_main(script_run(&script));
	ck_assert_uint_eq(track->kind_count, 2);
	ck_assert_uint_eq(track->kinds[0].kind, NAME_NONE);
	ck_assert_uint_eq(track->kinds[0].count, 25);
	ck_assert_double_eq_tol(track->kinds[0].median_s, 0.18, NEAR);
	ck_assert_uint_eq(track->kinds[1].kind, ACCUMULATE);
	ck_assert_uint_eq(track->kinds[1].count, 75);
	ck_assert_double_eq_tol(track->kinds[1].p95_s, 0.1, NEAR);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_uint_eq(track_batch(track, i)->micro_batch, i % 4 + 1);
	/* A phase of one kind alone counts in that kind; its share is of all batches. */
	struct phase_row rows[8];
	size_t count = track_phases(track, RUN_RECENT, rows, 8, NULL);
	ck_assert_uint_ge(count, 2);
	ck_assert_uint_eq(rows[1].name, STORY_OPTIMIZER);
	ck_assert_double_eq_tol(rows[1].median_s, 0.08, NEAR);
	ck_assert_double_eq_tol(rows[1].share_ratio, 25 * 0.08 / (99 * 0.1 + 25 * 0.08), 1e-4);
}
END_TEST

START_TEST(a_run_of_one_kind_names_none)
{
	step_of_kind(0, 0.1, 0);
	step_of_kind(1, 0.1, 0);
	const struct run *run = script_run(&script);
	ck_assert_ptr_null(track_kind_name(run, run_main(run), 0));
	ck_assert_uint_eq(track_batch(run_main(run), 1)->micro_batch, 0);
}
END_TEST

START_TEST(the_micro_batch_is_unknown_after_a_loss_until_the_next_step)
{
	for (uint64_t i = 0; i < 6; i++)
		accumulated(i, 4, 0);
	script.sequence[0] += 30;
	script_add(&script, RECORD_LOST, at_s)->lost.count = 30;
	struct total_row *row = sample_set_allocate(&script.set, sizeof *row);
	*row = (struct total_row){ .kind = TOTAL_BATCH, .upto = script.sequence[0], .count = 12 };
	script_add(&script, RECORD_TOTAL, at_s)->total = row;
	for (uint64_t i = 12; i < 22; i++)
		accumulated(i, 4, 0);
	const struct track *track = run_main(script_run(&script));
	ck_assert_uint_eq(track_batch(track, 13)->micro_batch, 0);
	ck_assert_uint_eq(track_batch(track, 15)->micro_batch, 0);
	ck_assert_uint_eq(track_batch(track, 16)->micro_batch, 1);
	ck_assert_uint_eq(track_batch(track, 19)->micro_batch, 4);
}
END_TEST

START_TEST(a_spread_within_a_kind_is_a_variance_and_says_which)
{
	struct alerts alerts = { 0 };
	for (uint64_t i = 0; i < 60; i++)
		step_of_kind(i, i % 2 ? 0.1 : i % 4 ? 0.5 : 1.2, i % 2 ? 0 : LONG_KIND);
	const struct alert *alert = alert_of("variance", &alerts);
	ck_assert_ptr_nonnull(alert);
	ck_assert_ptr_nonnull(strstr(alert->message, "slowest step (long) 1.2"));
	ck_assert_double_eq_tol(alert->evidence[2].value, 2.4, NEAR);
	ck_assert_uint_le(strlen(alert->message), 110);
	alerts_release(&alerts);
}
END_TEST

START_TEST(a_slow_first_batch_is_compared_with_its_kind)
{
	struct alerts alerts = { 0 };
	for (uint64_t i = 0; i < 60; i++)
		step_of_kind(i, i == 0 ? 0.9 : i % 10 ? 0.1 : 0.6, i % 10 ? 0 : LONG_KIND);
	ck_assert_ptr_null(alert_of("slow_first_batch", &alerts));
	ck_assert_ptr_null(alert_of("variance", &alerts));
	alerts_release(&alerts);
}
END_TEST

START_TEST(kinds_beyond_the_bound_are_ordinary)
{
	for (uint32_t i = 0; i < 3 * RUN_KINDS_MAX; i++)
		step_of_kind(i, 0.1, MANY + i);
	step_of_kind(0, 0.1, UINT32_MAX);
	const struct track *track = run_main(script_run(&script));
	ck_assert_uint_eq(track->kind_count, RUN_KINDS_MAX);
	ck_assert_uint_eq(track_batch(track, RUN_KINDS_MAX - 2)->kind, MANY + RUN_KINDS_MAX - 2);
	ck_assert_uint_eq(track_batch(track, RUN_KINDS_MAX - 1)->kind, NAME_NONE);
	ck_assert_uint_eq(track_batch(track, 3 * RUN_KINDS_MAX)->kind, NAME_NONE);
}
END_TEST

/* -- a mode that changes within a batch -- */

START_TEST(a_batch_is_of_the_mode_at_its_end)
{
	script_mode(&script, 0, 0.5, STORY_TRAIN);
	step_of_kind(0, 0.2, 0);
	script_batch_begin(&script, 0, at_s, 7);
	script_span(&script, 0, at_s, at_s + 0.05, STORY_DATA, STORY_NO_NAME);
	script_apply(&script, at_s + 0.05);
	script_mode(&script, 0, at_s + 0.06, STORY_VALIDATION);
	script_span(&script, 0, at_s + 0.06, at_s + 0.1, STORY_FORWARD, STORY_NO_NAME);
	script_batch_end(&script, 0, at_s + 0.12, at_s, 0.5);
	script_apply(&script, at_s + 0.2);
	const struct run *run = script_run(&script);
	const struct track *train = track_of(NAME_NONE), *validation = track_of(STORY_VALIDATION);
	ck_assert_uint_eq(train->end, 1);
	ck_assert_uint_eq(train->count, 1);
	ck_assert_uint_eq(validation->end, 1);
	ck_assert_uint_eq(validation->count, 1);
	const struct batch *batch = track_batch(validation, 0);
	ck_assert_uint_eq(batch->index, 7);
	ck_assert_uint_eq(batch->number, 1);
	ck_assert_double_eq_tol(batch->batch_s, 0.12, NEAR);
	ck_assert_double_eq(batch->loss, 0.5);
	ck_assert_uint_eq(batch->phase_count, 3);
	ck_assert_uint_eq(batch->phases[0].name, STORY_DATA);
	ck_assert_double_eq_tol((double)batch->phases[2].seconds, 0.03, NEAR); /* unattributed */
	ck_assert(!batch->is_warmup);
	/* Time of the moved batch that spans cover is not unattributed. */
	for (size_t i = 0; i < run->operation_count; i++)
		if (run->operations[i].name == NAME_UNATTRIBUTED && run->operations[i].mode == STORY_VALIDATION)
			ck_assert_double_eq_tol(run->operations[i].total_s, 0.03, NEAR);
}
END_TEST

START_TEST(the_runs_first_batch_may_move)
{
	script_batch_begin(&script, 0, at_s, 0);
	script_apply(&script, at_s);
	script_mode(&script, 0, at_s + 0.01, STORY_VALIDATION);
	script_batch_end(&script, 0, at_s + 0.5, at_s, NAN);
	at_s += 0.6;
	for (uint64_t i = 0; i < 2; i++)
		step_of_kind(i, 0.1, 0);
	script_mode(&script, 0, at_s, STORY_TRAIN);
	for (uint64_t i = 0; i < 40; i++)
		step_of_kind(i, 0.2, 0);
	const struct track *train = track_of(NAME_NONE), *validation = track_of(STORY_VALIDATION);
	ck_assert_uint_eq(validation->end, 3);
	ck_assert(track_batch(validation, 0)->is_warmup);
	ck_assert(!track_batch(validation, 1)->is_warmup);
	ck_assert_uint_eq(train->end, 40);
	ck_assert(!track_batch(train, 0)->is_warmup);
	ck_assert_double_nan(train->slow_first_s);
	ck_assert_double_eq_tol(validation->slow_first_s, 0.6, NEAR);
}
END_TEST

START_TEST(a_batch_may_change_its_mode_back)
{
	script_mode(&script, 0, 0.5, STORY_TRAIN);
	for (uint64_t i = 0; i < 30; i++) {
		script_batch_begin(&script, 0, at_s, i);
		script_mode(&script, 0, at_s + 0.01, STORY_VALIDATION);
		script_span(&script, 0, at_s + 0.01, at_s + 0.05, STORY_FORWARD, STORY_NO_NAME);
		script_mode(&script, 0, at_s + 0.06, STORY_TRAIN);
		script_batch_end(&script, 0, at_s + 0.1, at_s, NAN);
		at_s += 0.1;
		script_apply(&script, at_s);
	}
	const struct track *train = track_of(NAME_NONE), *validation = track_of(STORY_VALIDATION);
	ck_assert_uint_eq(train->end, 30);
	ck_assert_uint_eq(train->count, 30);
	ck_assert_uint_eq(validation->end, 0);
	ck_assert_uint_eq(validation->first, 0);
	ck_assert_uint_eq(validation->count, 0);
	ck_assert(track_batch(train, 0)->is_warmup);
	for (uint64_t i = 0; i < 30; i++)
		ck_assert_uint_eq(track_batch(train, i)->index, i);
	ck_assert_ptr_eq(run_main(script_run(&script)), train);
}
END_TEST

START_TEST(an_epoch_takes_the_mode_that_its_first_finished_batch_has)
{
	script_mode(&script, 0, 0.5, STORY_TRAIN);
	script_epoch(&script, RECORD_EPOCH_BEGIN, 1, 0);
	script_batch_begin(&script, 0, 1.1, 0);
	script_mode(&script, 0, 1.2, STORY_VALIDATION);
	script_batch_end(&script, 0, 1.3, 1.1, NAN);
	script_batch_begin(&script, 0, 1.4, 1);
	script_mode(&script, 0, 1.5, STORY_TRAIN);
	script_batch_end(&script, 0, 1.6, 1.4, NAN);
	script_epoch(&script, RECORD_EPOCH_END, 2, 0);
	script_apply(&script, 2.1);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->epochs[0].mode, STORY_VALIDATION);
	ck_assert_uint_eq(run->epochs[0].batches, 1);
	ck_assert_double_eq_tol(run->epochs[0].mean_s, 0.2, NEAR);
}
END_TEST

START_TEST(a_flag_by_hand_moves_with_its_batch)
{
	for (uint64_t i = 0; i < 3; i++)
		step_of_kind(i, 0.2, 0);
	script_batch_begin(&script, 0, at_s, 3);
	script_apply(&script, at_s);
	ck_assert(model_flag(script.model, 0, 0, 3, true));
	script_mode(&script, 0, at_s + 0.1, STORY_VALIDATION);
	script_batch_end(&script, 0, at_s + 0.2, at_s, NAN);
	script_apply(&script, at_s + 0.2);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, 1);
	ck_assert_uint_eq(run->flagged[0].mode, STORY_VALIDATION);
	ck_assert_uint_eq(run->flagged[0].batch.ordinal, 0);
	ck_assert_uint_eq(track_of(NAME_NONE)->flagged_count, 0);
	ck_assert_uint_eq(track_of(STORY_VALIDATION)->flagged_count, 1);
}
END_TEST

START_TEST(validation_between_epochs_has_the_epoch_before)
{
	script_epoch(&script, RECORD_EPOCH_BEGIN, 1, 5);
	script_batch_begin(&script, 0, 1.1, 0);
	script_batch_end(&script, 0, 1.3, 1.1, NAN);
	script_epoch(&script, RECORD_EPOCH_END, 1.4, 5);
	script_mode(&script, 0, 1.5, STORY_VALIDATION);
	script_batch_begin(&script, 0, 1.6, 0);
	script_batch_end(&script, 0, 1.7, 1.6, NAN);
	script_apply(&script, 2);
	const struct batch *batch = track_batch(track_of(STORY_VALIDATION), 0);
	ck_assert_uint_eq(batch->epoch, 5);
	ck_assert_uint_eq(batch->epoch_ordinal, 1);
	ck_assert_uint_eq(script_run(&script)->epochs[0].batches, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model kinds");
	TCase *tests = tcase_create("kinds");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, an_optimizer_step_every_few_batches_is_no_trouble);
	tcase_add_test(tests, a_slow_step_is_flagged_against_steps);
	tcase_add_test(tests, a_step_under_a_profiler_is_never_flagged);
	tcase_add_test(tests, a_slow_accumulation_is_flagged_though_steps_are_as_long);
	tcase_add_test(tests, steps_in_a_trace_that_pmtop_asked_for_are_a_kind_and_never_flagged);
	tcase_add_test(tests, a_program_that_knows_no_kind_of_that_name_has_it_while_it_is_traced);
	tcase_add_test(tests, each_kind_begins_with_its_20th_batch);
	tcase_add_test(tests, kinds_have_their_figures_and_names);
	tcase_add_test(tests, a_run_of_one_kind_names_none);
	tcase_add_test(tests, the_micro_batch_is_unknown_after_a_loss_until_the_next_step);
	tcase_add_test(tests, a_spread_within_a_kind_is_a_variance_and_says_which);
	tcase_add_test(tests, a_slow_first_batch_is_compared_with_its_kind);
	tcase_add_test(tests, kinds_beyond_the_bound_are_ordinary);
	tcase_add_test(tests, a_batch_is_of_the_mode_at_its_end);
	tcase_add_test(tests, the_runs_first_batch_may_move);
	tcase_add_test(tests, a_batch_may_change_its_mode_back);
	tcase_add_test(tests, an_epoch_takes_the_mode_that_its_first_finished_batch_has);
	tcase_add_test(tests, a_flag_by_hand_moves_with_its_batch);
	tcase_add_test(tests, validation_between_epochs_has_the_epoch_before);
	return suite_run(suite);
}
