#include <check.h>

#include "src/base/clock.h"
#include "src/sources/inferred/stacks_budget.h"
#include "src/sources/inferred/stacks_others.h"
#include "src/sources/inferred/stacks_private.h"
#include "tests/support/suite.h"

#define SAMPLE_NS 200000
#define UNLIMITED_HZ 1e9
#define AT_REST false
#define OFTEN true

static struct stacks_budget budget;
static int64_t now_ns, cost_ns;

static void setup(void)
{
	now_ns = 1000 * NS_PER_S;
	cost_ns = 5 * NS_PER_S;
	stacks_budget_init(&budget, now_ns, cost_ns);
}

/* Seconds with so many samples, and polls and wake-ups that cost so much a second. */
static void pass(unsigned seconds, unsigned samples, int64_t polls_ns)
{
	for (unsigned i = 0; i < seconds; i++) {
		for (unsigned k = 0; k < samples; k++)
			stacks_budget_note_sample(&budget, SAMPLE_NS);
		now_ns += NS_PER_S;
		cost_ns += samples * SAMPLE_NS + polls_ns;
		stacks_budget_measure(&budget, now_ns, cost_ns);
	}
}

/* The share of a CPU that one group's samples take at the shortest period. */
static double samples_ratio(bool is_often)
{
	return SAMPLE_NS / stacks_budget_period_ns(&budget, UNLIMITED_HZ, is_often, 1, 0, false);
}

START_TEST(polls_and_wake_ups_leave_less_for_samples_but_not_nothing)
{
	pass(60, 10, 0);
	double alone = samples_ratio(AT_REST);
	ck_assert_double_le(alone, 0.0018);
	pass(60, 5, 500000);
	ck_assert_double_eq_tol(samples_ratio(AT_REST), alone - 0.0005, 1e-5);
	ck_assert_double_eq(stacks_budget_poll_factor(&budget, AT_REST), 1);
	pass(60, 10, 5000000);
	ck_assert_double_eq_tol(samples_ratio(AT_REST), 0.5 * alone, 1e-5);
	ck_assert_double_eq(stacks_budget_poll_factor(&budget, AT_REST), 2);
}
END_TEST

START_TEST(what_is_sought_or_viewed_is_sampled_more_often)
{
	pass(60, 10, 200000);
	ck_assert_double_gt(samples_ratio(OFTEN), 1.9 * samples_ratio(AT_REST));
	ck_assert_double_le(samples_ratio(OFTEN), 0.0071);
	ck_assert_double_eq(stacks_budget_poll_factor(&budget, OFTEN), 1);
}
END_TEST

START_TEST(workers_are_sampled_less_often_and_take_little_from_the_training)
{
	pass(60, 10, 0);
	double alone_ns = stacks_budget_period_ns(&budget, UNLIMITED_HZ, AT_REST, 1, 0, false),
		   main_ns = stacks_budget_period_ns(&budget, UNLIMITED_HZ, AT_REST, 2, 1, false),
		   workers_ns = stacks_budget_period_ns(&budget, UNLIMITED_HZ, AT_REST, 2, 1, true);
	ck_assert_double_eq_tol(main_ns / alone_ns, 1.25, 1e-6);
	ck_assert_double_eq_tol(workers_ns / main_ns, 4, 1e-6);
	/* All in all, the budget. */
	ck_assert_double_eq_tol(SAMPLE_NS / main_ns + SAMPLE_NS / workers_ns, samples_ratio(AT_REST), 1e-6);
}
END_TEST

START_TEST(what_costs_little_is_sampled_at_the_wanted_rate)
{
	pass(60, 10, 0);
	ck_assert_double_eq_tol(stacks_budget_period_ns(&budget, 2, AT_REST, 2, 1, false), 0.5 * NS_PER_S, 1);
	ck_assert_double_eq_tol(stacks_budget_period_ns(&budget, 2, AT_REST, 2, 1, true), 2 * NS_PER_S, 1);
}
END_TEST

/* Those that are not measured cost as much: nothing of it counts as polls and wake-ups. */
START_TEST(samples_that_are_not_measured_are_taken_to_cost_the_mean)
{
	unsigned measured = 0;
	for (unsigned i = 0; i < 320; i++) {
		bool is_measured = stacks_budget_measures_sample(&budget);
		if (is_measured)
			stacks_budget_note_sample(&budget, SAMPLE_NS);
		else
			stacks_budget_skip_sample(&budget);
		measured += is_measured;
		cost_ns += SAMPLE_NS;
		now_ns += NS_PER_S / 10;
		stacks_budget_measure(&budget, now_ns, cost_ns);
	}
	ck_assert_uint_lt(measured, 320 / 3);
	ck_assert_double_eq_tol(budget.sample_cost_ns, SAMPLE_NS, 0.01 * SAMPLE_NS);
	ck_assert_double_le(budget.other_ratio, 1e-4);
}
END_TEST

START_TEST(the_search_for_python_has_a_budget_of_its_own)
{
	stacks_budget_note_search(&budget, NS_PER_S / 10);
	cost_ns += NS_PER_S / 10;
	pass(1, 0, 0);
	ck_assert_double_eq(stacks_budget_poll_factor(&budget, AT_REST), 1);
	ck_assert_double_eq(budget.other_ratio, 0);
}
END_TEST

/* A training that starts a Python child for each checkpoint has no fewer samples after a hundred of them. */
START_TEST(processes_that_have_ended_cost_no_samples)
{
	static struct stacks_state stacks;
	struct py_sampler *some = (struct py_sampler *)&stacks;
	size_t worker_groups;
	stacks.groups.count = 40;
	stacks.groups.list[7].is_workers = stacks.groups.list[8].is_workers = true;
	ck_assert_uint_eq(stacks_count_groups(&stacks, &worker_groups), 0);
	stacks.sampled_count = 4;
	for (size_t i = 0; i < 4; i++)
		stacks.sampled[i] = (struct sampled){ .sampler = i < 3 ? some : NULL, .group = i == 0 ? 0 : i == 3 ? 9 : 7 };
	ck_assert_uint_eq(stacks_count_groups(&stacks, &worker_groups), 2);
	ck_assert_uint_eq(worker_groups, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_budget");
	TCase *tests = tcase_create("stacks_budget");
	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, polls_and_wake_ups_leave_less_for_samples_but_not_nothing);
	tcase_add_test(tests, what_is_sought_or_viewed_is_sampled_more_often);
	tcase_add_test(tests, workers_are_sampled_less_often_and_take_little_from_the_training);
	tcase_add_test(tests, what_costs_little_is_sampled_at_the_wanted_rate);
	tcase_add_test(tests, samples_that_are_not_measured_are_taken_to_cost_the_mean);
	tcase_add_test(tests, the_search_for_python_has_a_budget_of_its_own);
	tcase_add_test(tests, processes_that_have_ended_cost_no_samples);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
