#include <check.h>

#include "src/base/clock.h"
#include "src/sources/inferred/stacks_pace.h"
#include "tests/support/suite.h"

#define S(ns) ((ns) / (double)NS_PER_S)

static struct stacks_pace pace;
static struct source_choices choices;

static void start(void)
{
	pace = (struct stacks_pace){ .random = 1 };
	choices = (struct source_choices){ .stacks_hz = 10 };
}

START_TEST(cheap_samples_come_at_the_wanted_rates)
{
	ck_assert_double_eq_tol(S(stacks_pace_period_ns(&pace, &choices, 1, false)), 0.1, 1e-9);
	ck_assert_double_eq_tol(S(stacks_pace_threads_ns(&pace, &choices, 1)), 1, 1e-9);
	ck_assert_double_eq_tol(S(stacks_pace_period_ns(&pace, &choices, 1, true)), 0.01, 1e-9);
	choices.seeks_lines = true;
	ck_assert_double_eq_tol(S(stacks_pace_period_ns(&pace, &choices, 1, false)), 0.01, 1e-9);
	ck_assert_double_eq_tol(S(stacks_pace_threads_ns(&pace, &choices, 1)), 0.1, 1e-9);
}
END_TEST

/* Half a percent of a CPU in all, of it a quarter for other threads; twice as much while they are sought. */
START_TEST(expensive_samples_come_less_often)
{
	for (int i = 0; i < 200; i++) {
		stacks_pace_note_sample(&pace, 1 * NS_PER_MS);
		stacks_pace_note_threads(&pace, 10 * NS_PER_MS);
	}
	ck_assert_double_eq_tol(S(stacks_pace_threads_ns(&pace, &choices, 1)), 8, 0.1);
	ck_assert_double_eq_tol(S(stacks_pace_threads_ns(&pace, &choices, 4)), 32, 0.4);
	double threads_ratio = 10 * (double)NS_PER_MS / stacks_pace_threads_ns(&pace, &choices, 1),
		   main_ratio = 1 * (double)NS_PER_MS / stacks_pace_period_ns(&pace, &choices, 1, false);
	ck_assert_double_eq_tol(threads_ratio + main_ratio, 0.005, 1e-4);
	choices.wants_stacks = true;
	threads_ratio = 10 * (double)NS_PER_MS / stacks_pace_threads_ns(&pace, &choices, 1);
	main_ratio = 1 * (double)NS_PER_MS / stacks_pace_period_ns(&pace, &choices, 1, false);
	ck_assert_double_eq_tol(threads_ratio + main_ratio, 0.01, 1e-4);
}
END_TEST

/* What threads do not use is for the main thread. */
START_TEST(cheap_threads_leave_the_budget_to_the_main_thread)
{
	for (int i = 0; i < 200; i++)
		stacks_pace_note_sample(&pace, 1 * NS_PER_MS);
	ck_assert_double_eq_tol(S(stacks_pace_period_ns(&pace, &choices, 1, false)), 0.2, 0.01);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_pace");
	TCase *tests = tcase_create("stacks_pace");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, cheap_samples_come_at_the_wanted_rates);
	tcase_add_test(tests, expensive_samples_come_less_often);
	tcase_add_test(tests, cheap_threads_leave_the_budget_to_the_main_thread);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
