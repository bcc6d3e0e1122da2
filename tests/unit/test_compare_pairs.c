/* Planted regressions in seeded pairs of runs, from the batches in the model to the verdict of `pmtop compare`. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/compare/judgement.h"
#include "src/compare/summary/keeper.h"
#include "src/compare/summary/summary_file.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"
#include "tests/unit/random_steps.h"

enum { PAIRS = 100 };

struct counts {
	unsigned of[3];
};

static void summarize(const double *steps, size_t count, struct summary *out)
{
	struct script script;
	struct keeper keeper;
	script_open(&script, NULL);
	summary_init(out);
	keeper_init(&keeper, out);
	/* In sets of about half a second. */
	double at_s = 1;
	for (size_t from = 0, to; from < count; from = to) {
		double until_s = at_s + 0.5, end_s = at_s;
		for (to = from; to < count && (to == from || end_s < until_s); to++)
			end_s += steps[to];
		at_s = script_steps(&script, at_s, steps + from, to - from);
		keeper_read(&keeper, script.model, 0);
	}
	ck_assert(keeper_end(&keeper, script.model, 0));
	script_close(&script);
}

/* The baseline comes from a file. */
static void save_and_load(struct summary *summary)
{
	char path[] = "/tmp/pmtop-pairs-XXXXXX";
	struct reason reason = { 0 };
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_msg(summary_save(path, summary, &reason) == STATUS_OK, "%s", reason.text);
	summary_release(summary);
	ck_assert_msg(summary_load(path, summary, &reason) == STATUS_OK, "%s", reason.text);
	unlink(path);
}

static enum outcome check_pair(uint64_t seed, double ratio)
{
	static double steps[RANDOM_STEPS_MAX];
	static struct judgement judgement;
	struct chance chance = { seed * UINT64_C(2654435761) + 17 };
	struct summary baseline, now;
	struct budget_list none = { 0 };
	struct random_program program = random_program(&chance);
	summarize(steps, random_run(&program, &chance, 1, steps), &baseline);
	summarize(steps, random_run(&program, &chance, ratio, steps), &now);
	save_and_load(&baseline);
	judge(&now, &baseline, THRESHOLD_DEFAULT, &none, &judgement);
	summary_release(&baseline);
	summary_release(&now);
	return judgement.outcome;
}

static struct counts check_pairs(double ratio)
{
	struct counts counts = { 0 };
	for (uint64_t seed = 1; seed <= PAIRS; seed++)
		counts.of[check_pair(seed, ratio)]++;
	printf("step times × %.2f: of %d checks %u failed, %u passed, %u inconclusive\n", ratio, PAIRS,
		counts.of[OUTCOME_FAILED], counts.of[OUTCOME_PASSED], counts.of[OUTCOME_INCONCLUSIVE]);
	return counts;
}

START_TEST(planted_regression_of_25_percent_fails)
{
	ck_assert_uint_ge(check_pairs(1.25).of[OUTCOME_FAILED], PAIRS - 1);
}
END_TEST

START_TEST(planted_regression_of_5_percent_passes)
{
	struct counts counts = check_pairs(1.05);
	ck_assert_uint_le(counts.of[OUTCOME_FAILED], 1);
	ck_assert_uint_ge(counts.of[OUTCOME_PASSED], PAIRS - 1);
}
END_TEST

START_TEST(no_regression_never_fails)
{
	struct counts counts = check_pairs(1);
	ck_assert_uint_eq(counts.of[OUTCOME_FAILED], 0);
	ck_assert_uint_ge(counts.of[OUTCOME_PASSED], PAIRS - 1);
}
END_TEST

START_TEST(faster_runs_pass) { ck_assert_uint_eq(check_pairs(0.8).of[OUTCOME_PASSED], PAIRS); }
END_TEST

int main(void)
{
	Suite *suite = suite_create("compare_pairs");
	TCase *tests = tcase_create("compare_pairs");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, planted_regression_of_25_percent_fails);
	tcase_add_test(tests, planted_regression_of_5_percent_passes);
	tcase_add_test(tests, no_regression_never_fails);
	tcase_add_test(tests, faster_runs_pass);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
