/* The guides' own figures in the real model: pmtop flags and explains their outlier. */
#include <check.h>
#include <math.h>

#include "src/explain/causes/causes.h"
#include "src/explain/explain.h"
#include "src/rules/alerts.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

/* Guide 000_92dc6d78458fd3fe, "AGGREGATE STATISTICS": batch_forward 150 times, 15.234 s in all, mean 0.102, least
 * 0.085, most 0.425: "outlier!" */
enum { FORWARDS = 150, OUTLIER = 90 };
#define FORWARDS_S 15.234
#define MIN_S 0.085
#define MAX_S 0.425

static double forward_s(int i)
{
	const int odd = FORWARDS / 2, even = FORWARDS - odd - 1;
	return i == OUTLIER ? MAX_S : i % 2 ? MIN_S : (FORWARDS_S - MAX_S - odd * MIN_S) / even;
}

static void emit(struct script *script, const struct evidence *baseline, const struct evidence *outlier)
{
	double at_s = 1;
	for (int i = 0; i <= FORWARDS; i++) {
		double begin_s = at_s, end_s = begin_s + (i < FORWARDS ? forward_s(i) : FORWARDS_S / FORWARDS);
		script_batch_begin(script, 0, begin_s, (uint64_t)i);
		script_span(script, 0, begin_s, end_s, STORY_FORWARD, 0);
		script_batch_end(script, 0, end_s, begin_s, NAN);
		if (baseline) {
			struct record *record = script_event(script, RECORD_EVIDENCE, 0, end_s);
			struct evidence *evidence = sample_set_allocate(&script->set, sizeof *evidence);
			*evidence = i == OUTLIER ? *outlier : *baseline;
			record->evidence = evidence;
		}
		at_s = end_s;
		script_apply(script, at_s);
	}
}

static const struct flagged *the_outlier(struct script *script)
{
	const struct run *run = script_run(script);
	ck_assert_uint_eq(run->flagged_count, 1);
	ck_assert_uint_eq(run->flagged[0].batch.index, OUTLIER);
	return &run->flagged[0];
}

START_TEST(the_forward_of_0_425_s_among_150_is_the_outlier)
{
	struct script script;
	struct explanation why;
	script_open(&script, NULL);
	emit(&script, NULL, NULL);
	const struct flagged *flagged = the_outlier(&script);
	ck_assert_double_eq_tol(flagged->batch.step_s, MAX_S, 1e-6);
	explain_batch(script_run(&script), &flagged->batch, &flagged->baseline, flagged->batch_window, &why);
	ck_assert_str_eq(why.causes[0].what, "forward");
	ck_assert_double_gt(why.causes[0].share_ratio, 0.99);
	ck_assert_double_gt(why.ratio, 3.5);
	const struct track *track = run_main(script_run(&script));
	ck_assert_double_eq_tol(track->batch.max_s, MAX_S, 1e-6);
	ck_assert_double_eq_tol(track->batch.mean_s, FORWARDS_S / FORWARDS, 1e-6);
	script_close(&script);
}
END_TEST

START_TEST(and_its_record_says_why)
{
	static const struct evidence baseline = { 0.09, 0.001, 20, 0, 5, 2, 0, NAN },
								 waited = { 0.09, 0.32, 20, 0, 5, 70, 0, NAN };
	struct script script;
	struct explanation why;
	script_open(&script, NULL);
	emit(&script, &baseline, &waited);
	const struct flagged *flagged = the_outlier(&script);
	explain_batch(script_run(&script), &flagged->batch, &flagged->baseline, flagged->batch_window, &why);
	ck_assert_str_eq(why.causes[0].what, "forward: waiting for a CPU");
	ck_assert_double_gt(why.causes[0].share_ratio, 0.9);
	script_close(&script);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("the guides' outlier");
	TCase *tests = tcase_create("all");
	tcase_add_test(tests, the_forward_of_0_425_s_among_150_is_the_outlier);
	tcase_add_test(tests, and_its_record_says_why);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
