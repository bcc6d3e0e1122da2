#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "src/model/statistics/statistics.h"
#include "tests/support/suite.h"

static uint64_t random_state;

static double chance(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(random_state >> 11) * 0x1p-53;
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static double slow_median(const double *values, size_t n)
{
	double sorted[4096];
	for (size_t i = 0; i < n; i++)
		sorted[i] = values[i];
	qsort(sorted, n, sizeof *sorted, ascending);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

START_TEST(quantiles_are_linear_between_ranks)
{
	const double sorted[] = { 1, 2, 4, 8 };
	ck_assert_double_eq(quantile_of_sorted(sorted, 4, 0), 1);
	ck_assert_double_eq(quantile_of_sorted(sorted, 4, 1), 8);
	ck_assert_double_eq(quantile_of_sorted(sorted, 4, 0.5), 3);
	ck_assert_double_eq_tol(quantile_of_sorted(sorted, 4, 0.95), 7.4, 1e-12);
	ck_assert_double_eq(quantile_of_sorted(sorted, 1, 0.7), 1);
	ck_assert_double_nan(quantile_of_sorted(sorted, 0, 0.5));
}
END_TEST

START_TEST(median_and_mad_match_hand_computed_values)
{
	double values[] = { 9, 1, 5, 3, 7, 100 };
	ck_assert_double_eq(median_of(values, 6), 6);
	double again[] = { 9, 1, 5, 3, 7, 100 };
	ck_assert_double_eq(mad_of(again, 6, 6), 3); /* distances 3 5 1 3 1 94 */
	double same[] = { 2, 2, 2 };
	ck_assert_double_eq(median_of(same, 3), 2);
	ck_assert_double_eq(mad_of(same, 3, 2), 0);
	ck_assert_double_nan(median_of(same, 0));
}
END_TEST

START_TEST(median_matches_a_sort_on_random_arrays)
{
	random_state = 7;
	for (int round = 0; round < 3000; round++) {
		double values[64], expected;
		size_t n = 1 + (size_t)(chance() * 63);
		for (size_t i = 0; i < n; i++)
			values[i] = round % 2 ? floor(chance() * 5) : chance();
		expected = slow_median(values, n);
		ck_assert_double_eq(median_of(values, n), expected);
	}
}
END_TEST

START_TEST(rolling_matches_brute_force)
{
	random_state = 11;
	for (size_t window = 1; window <= 41; window += 8) {
		struct rolling *rolling = rolling_new(window);
		double all[2000], newest[64];
		ck_assert_double_nan(rolling_median(rolling));
		ck_assert_double_nan(rolling_mad(rolling));
		for (size_t i = 0; i < 2000; i++) {
			all[i] = i % 3 ? floor(chance() * 10) : chance() * 10;
			rolling_push(rolling, all[i]);
			size_t n = i + 1 < window ? i + 1 : window;
			ck_assert_uint_eq(rolling_count(rolling), n);
			for (size_t k = 0; k < n; k++)
				newest[k] = all[i + 1 - n + k];
			double median = slow_median(newest, n);
			ck_assert_double_eq(rolling_median(rolling), median);
			for (size_t k = 0; k < n; k++)
				newest[k] = fabs(all[i + 1 - n + k] - median);
			ck_assert_double_eq_tol(rolling_mad(rolling), slow_median(newest, n), 1e-12);
		}
		rolling_free(rolling);
	}
}
END_TEST

START_TEST(rolling_leaves_out_what_is_not_finite)
{
	struct rolling *rolling = rolling_new(4);
	rolling_push(rolling, NAN);
	rolling_push(rolling, INFINITY);
	ck_assert_uint_eq(rolling_count(rolling), 0);
	rolling_push(rolling, 1);
	ck_assert_double_eq(rolling_quantile(rolling, 1), 1);
	rolling_clear(rolling);
	ck_assert_uint_eq(rolling_count(rolling), 0);
	rolling_free(rolling);
	rolling_push(NULL, 1);
	ck_assert_uint_eq(rolling_count(NULL), 0);
	ck_assert_double_nan(rolling_median(NULL));
}
END_TEST

START_TEST(slope_of_a_line_is_exact_and_an_outlier_does_not_move_it)
{
	double time[20], value[20];
	struct slope slope = { 0 };
	for (int i = 0; i < 20; i++) {
		time[i] = i;
		value[i] = 5 + 3.0 * i;
	}
	ck_assert(theil_sen(time, value, 20, &slope));
	ck_assert_double_eq(slope.per_s, 3);
	ck_assert_double_eq(slope.low_per_s, 3);
	ck_assert_double_eq(slope.high_per_s, 3);
	ck_assert_uint_eq(slope.points, 20);
	value[10] = 1e6;
	ck_assert(theil_sen(time, value, 20, &slope));
	ck_assert_double_eq(slope.per_s, 3);
}
END_TEST

START_TEST(slope_and_interval_match_brute_force)
{
	/* Eight points: 28 slopes; C = 1.96·sqrt(8·7·21/18) = 15.84, so the interval lies at 0.5 ∓ 15.84/2/28 of the sorted
	 * slopes. */
	const double time[8] = { 0, 1, 2, 3, 4, 5, 6, 7 }, value[8] = { 0, 2, 1, 5, 3, 4, 8, 6 };
	double slopes[28];
	size_t count = 0;
	for (int i = 0; i < 8; i++)
		for (int j = i + 1; j < 8; j++)
			slopes[count++] = (value[j] - value[i]) / (time[j] - time[i]);
	qsort(slopes, count, sizeof *slopes, ascending);
	double share = 1.96 * sqrt(8.0 * 7 * 21 / 18) / 2 / 28;
	struct slope slope = { 0 };
	ck_assert(theil_sen(time, value, 8, &slope));
	ck_assert_double_eq_tol(slope.per_s, quantile_of_sorted(slopes, 28, 0.5), 1e-12);
	ck_assert_double_eq_tol(slope.low_per_s, quantile_of_sorted(slopes, 28, 0.5 - share), 1e-12);
	ck_assert_double_eq_tol(slope.high_per_s, quantile_of_sorted(slopes, 28, 0.5 + share), 1e-12);
	ck_assert_double_lt(slope.low_per_s, slope.per_s);
}
END_TEST

START_TEST(slope_interval_holds_the_truth_about_as_often_as_it_says)
{
	random_state = 3;
	int held = 0;
	for (int round = 0; round < 400; round++) {
		double time[60], value[60];
		for (int i = 0; i < 60; i++) {
			time[i] = i * 0.5;
			value[i] = 2 * time[i] + 10 * (chance() + chance() + chance() - 1.5);
		}
		struct slope slope;
		ck_assert(theil_sen(time, value, 60, &slope));
		held += slope.low_per_s <= 2 && 2 <= slope.high_per_s;
	}
	ck_assert_int_ge(held, 368); /* 92 % */
	ck_assert_int_le(held, 396); /* 99 %: wider would be useless */
}
END_TEST

START_TEST(slope_needs_eight_points_and_spread_in_time)
{
	double time[8] = { 0 }, value[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct slope slope = { .per_s = 42 };
	ck_assert(!theil_sen(time, value, 8, &slope));
	for (int i = 0; i < 8; i++)
		time[i] = i;
	ck_assert(!theil_sen(time, value, 7, &slope));
	value[3] = NAN;
	ck_assert(!theil_sen(time, value, 8, &slope));
	ck_assert_double_eq(slope.per_s, 42);
}
END_TEST

START_TEST(slope_thins_many_points_and_keeps_first_and_spread)
{
	static double time[5000], value[5000];
	for (int i = 0; i < 5000; i++) {
		time[i] = i;
		value[i] = -0.25 * i;
	}
	struct slope slope;
	ck_assert(theil_sen(time, value, 5000, &slope));
	ck_assert_double_eq_tol(slope.per_s, -0.25, 1e-12);
	ck_assert_uint_eq(slope.points, 300);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("statistics");
	TCase *tests = tcase_create("statistics");
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, quantiles_are_linear_between_ranks);
	tcase_add_test(tests, median_and_mad_match_hand_computed_values);
	tcase_add_test(tests, median_matches_a_sort_on_random_arrays);
	tcase_add_test(tests, rolling_matches_brute_force);
	tcase_add_test(tests, rolling_leaves_out_what_is_not_finite);
	tcase_add_test(tests, slope_of_a_line_is_exact_and_an_outlier_does_not_move_it);
	tcase_add_test(tests, slope_and_interval_match_brute_force);
	tcase_add_test(tests, slope_interval_holds_the_truth_about_as_often_as_it_says);
	tcase_add_test(tests, slope_needs_eight_points_and_spread_in_time);
	tcase_add_test(tests, slope_thins_many_points_and_keeps_first_and_spread);
	return suite_run(suite);
}
