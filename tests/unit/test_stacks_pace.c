#include <check.h>

#include "src/base/clock.h"
#include "src/sources/inferred/stacks_pace.h"
#include "tests/support/suite.h"

#define S(ns) ((ns) / (double)NS_PER_S)

static struct stacks_pace pace;

static void start(void) { pace = (struct stacks_pace){ .random = 1 }; }

START_TEST(cheap_samples_come_at_the_wanted_rates)
{
	ck_assert_double_eq_tol(S(stacks_pace_threads_ns(&pace, false, 1)), 1, 1e-9);
	ck_assert_double_eq_tol(S(stacks_pace_threads_ns(&pace, true, 1)), 0.1, 1e-9);
}
END_TEST

/* 0.05 % of a CPU; five times as much while they are sought. */
START_TEST(expensive_samples_come_less_often)
{
	for (int i = 0; i < 200; i++)
		stacks_pace_note_threads(&pace, 15 * NS_PER_MS);
	ck_assert_double_eq_tol(S(stacks_pace_threads_ns(&pace, false, 1)), 30, 0.3);
	ck_assert_double_eq_tol(S(stacks_pace_threads_ns(&pace, false, 4)), 120, 1.2);
	ck_assert_double_eq_tol(S(stacks_pace_threads_ns(&pace, true, 1)), 6, 0.1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_pace");
	TCase *tests = tcase_create("stacks_pace");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, cheap_samples_come_at_the_wanted_rates);
	tcase_add_test(tests, expensive_samples_come_less_often);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
