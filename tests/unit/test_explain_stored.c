/* A flagged batch holds its explanation: worked out once, again where more became known, and gone with the flag. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/explain/causes/causes.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/run/steps/tracks.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

static struct script script;
static double at_s;

static void step(double step_s)
{
	script_steps(&script, at_s, &step_s, 1);
	at_s += step_s;
}

/* 40 steps of 0.1 s, one of 0.5 s, and so many after it. */
static const struct flagged *play(unsigned steps_after)
{
	script_open(&script, NULL);
	at_s = 1;
	for (int i = 0; i < 40; i++)
		step(0.1);
	step(0.5);
	for (unsigned i = 0; i < steps_after; i++)
		step(0.1);
	ck_assert_uint_eq(script_run(&script)->flagged_count, 1);
	return &script_run(&script)->flagged[0];
}

static struct explanation computed(const struct flagged *flagged)
{
	struct explanation out;
	explain_batch(script_run(&script), &flagged->batch, &flagged->baseline, flagged->batch_window, &out);
	return out;
}

START_TEST(a_flagged_batch_holds_its_explanation)
{
	const struct flagged *flagged = play(1);
	const struct explanation *stored = flagged_explanation(flagged);
	struct explanation anew = computed(flagged);
	ck_assert_double_eq_tol(stored->ratio, 5, 0.1);
	ck_assert_uint_ge(stored->cause_count, 1);
	ck_assert_uint_eq(stored->cause_count, anew.cause_count);
	ck_assert_str_eq(stored->causes[0].what, anew.causes[0].what);
	script_close(&script);
}
END_TEST

START_TEST(later_batches_leave_it_as_it_is)
{
	const struct flagged *flagged = play(3);
	struct explanation *stored = flagged->explanation;
	snprintf(stored->causes[0].what, sizeof stored->causes[0].what, "marked by the test");
	for (int i = 0; i < 20; i++)
		step(0.1);
	flagged = &script_run(&script)->flagged[0];
	ck_assert_ptr_eq(flagged->explanation, stored);
	ck_assert_str_eq(stored->causes[0].what, "marked by the test");
	script_close(&script);
}
END_TEST

START_TEST(what_becomes_known_later_renews_it)
{
	const struct flagged *flagged = play(3);
	snprintf(flagged->explanation->causes[0].what, 20, "stale");
	script_meta(&script, "loader.num_workers", "4");
	script_apply(&script, at_s);
	ck_assert_str_ne(flagged_explanation(&script_run(&script)->flagged[0])->causes[0].what, "stale");
	script_close(&script);
}
END_TEST

START_TEST(a_batch_flagged_by_hand_gets_one_and_any_other_is_worked_out)
{
	play(3);
	struct run *run = script_run(&script);
	const struct track *track = run_main(run);
	const struct batch *batch = track_batch(track, 30);
	struct explanation room;
	ck_assert_ptr_eq(explain_any(script.model, run, track, batch, &room), &room);
	ck_assert(model_flag(script.model, 0, run->main_track, 30, true));
	const struct flagged *flagged = run_find_flagged(run, track->mode, 30);
	ck_assert(isnan(flagged_explanation(flagged)->ratio));
	explain_flagged(script.model);
	ck_assert_double_eq_tol(flagged_explanation(flagged)->ratio, 1, 0.01);
	ck_assert_ptr_eq(explain_any(script.model, run, track, batch, &room), flagged->explanation);
	ck_assert(model_flag(script.model, 0, run->main_track, 30, false));
	ck_assert_ptr_null(run_find_flagged(run, track->mode, 30));
	script_close(&script);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("explain_stored");
	TCase *tests = tcase_create("explain_stored");
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, a_flagged_batch_holds_its_explanation);
	tcase_add_test(tests, later_batches_leave_it_as_it_is);
	tcase_add_test(tests, what_becomes_known_later_renews_it);
	tcase_add_test(tests, a_batch_flagged_by_hand_gets_one_and_any_other_is_worked_out);
	return suite_run(suite);
}
