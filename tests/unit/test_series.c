#include <check.h>
#include <math.h>

#include "src/base/clock.h"
#include "src/model/statistics/series.h"
#include "tests/support/suite.h"

#define S NS_PER_S

START_TEST(the_newest_points_are_retained_unmerged)
{
	struct series *series = series_new();
	int64_t time_ns = -1;
	double value = -1, min, max;
	ck_assert(!series_last(series, &time_ns, &value));
	ck_assert(!series_extremes(series, &min, &max));
	ck_assert_int_eq(series_first_ns(series), 0);
	for (int i = 0; i < 10; i++)
		series_push(series, (10 + i) * S, i == 4 ? 100 : i);
	ck_assert(series_last(series, &time_ns, &value));
	ck_assert_int_eq(time_ns, 19 * S);
	ck_assert_double_eq(value, 9);
	ck_assert(series_extremes(series, &min, &max));
	ck_assert_double_eq(min, 0);
	ck_assert_double_eq(max, 100);
	ck_assert_int_eq(series_first_ns(series), 10 * S);
	struct series_column columns[10];
	series_columns(series, 10 * S, 20 * S, columns, 10);
	for (int i = 0; i < 10; i++) {
		ck_assert(columns[i].has);
		ck_assert_double_eq(columns[i].last, i == 4 ? 100 : i);
	}
	series_free(series);
}
END_TEST

START_TEST(column_holds_min_max_mean_and_last_of_its_points)
{
	struct series *series = series_new();
	const double values[] = { 4, 1, 7, 2 };
	for (int i = 0; i < 4; i++)
		series_push(series, 100 * S + i * S / 10, values[i]);
	struct series_column column;
	series_columns(series, 100 * S, 101 * S, &column, 1);
	ck_assert(column.has);
	ck_assert_double_eq(column.min, 1);
	ck_assert_double_eq(column.max, 7);
	ck_assert_double_eq_tol(column.mean, 3.5, 1e-12);
	ck_assert_double_eq(column.last, 2);
	double mean = 0;
	ck_assert_uint_eq(series_mean(series, 100 * S, 100 * S + S / 5, &mean), 2);
	ck_assert_double_eq(mean, 2.5);
	ck_assert_uint_eq(series_mean(series, 200 * S, 300 * S, &mean), 0);
	ck_assert_double_eq(mean, 2.5);
	series_free(series);
}
END_TEST

START_TEST(gap_stays_a_gap)
{
	struct series *series = series_new();
	for (int i = 0; i < 100; i++)
		if (i < 40 || i >= 60)
			series_push(series, i * S, 1);
	struct series_column columns[100];
	series_columns(series, 0, 100 * S, columns, 100);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(columns[i].has, i < 40 || i >= 60);
	series_free(series);

	series = series_new();
	for (int i = 0; i < 10; i++)
		series_push(series, i * S, i == 5 ? NAN : 1);
	series_columns(series, 0, 10 * S, columns, 10);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(columns[i].has, i != 5);
	series_free(series);
}
END_TEST

START_TEST(a_point_fills_columns_until_the_next)
{
	struct series *series = series_new();
	for (int i = 0; i < 5; i++)
		series_push(series, i * S, i);
	struct series_column columns[50];
	series_columns(series, 0, 5 * S, columns, 50);
	for (int i = 0; i <= 40; i++) {
		ck_assert(columns[i].has);
		ck_assert_double_eq(columns[i].mean, i / 10);
	}
	for (int i = 41; i < 50; i++)
		ck_assert(!columns[i].has); /* no point follows the last */
	series_columns(series, S / 2, S, columns, 5);
	ck_assert(columns[0].has); /* the point before the window is carried into it */
	ck_assert_double_eq(columns[0].last, 0);
	series_free(series);
}
END_TEST

START_TEST(a_carried_point_does_not_change_a_column_with_points_of_its_own)
{
	struct series *series = series_new();
	series_push(series, 0, 1000);
	series_push(series, S + S / 2, 1);
	series_push(series, S + S / 2 + 1, 3);
	struct series_column columns[2];
	series_columns(series, 0, 2 * S, columns, 2);
	ck_assert_double_eq(columns[1].max, 3);
	ck_assert_double_eq(columns[1].mean, 2);
	series_free(series);
}
END_TEST

START_TEST(times_do_not_go_back)
{
	struct series *series = series_new();
	int64_t time_ns;
	double value;
	series_push(series, -5, 1);
	ck_assert(!series_last(series, &time_ns, &value));
	series_push(series, 10 * S, 1);
	series_push(series, 9 * S, 2);
	ck_assert(series_last(series, &time_ns, &value));
	ck_assert_double_eq(value, 1);
	series_push(series, INT64_MAX, 3);
	struct series_column column;
	series_columns(series, 0, INT64_MAX, &column, 1);
	ck_assert(column.has);
	series_columns(series, INT64_MIN, INT64_MAX, &column, 1);
	ck_assert(column.has);
	series_columns(series, 5, 5, &column, 1);
	ck_assert(!column.has);
	series_free(series);
	series_push(NULL, 1, 1);
	series_columns(NULL, 0, S, &column, 1);
	ck_assert(!column.has);
	series_free(NULL);
}
END_TEST

START_TEST(whole_run_is_covered_by_coarser_levels)
{
	struct series *series = series_new();
	const int points = 400000; /* at 10 Hz: 11 hours */
	for (int i = 0; i < points; i++)
		series_push(series, (int64_t)i * S / 10, i == 1234 ? 5e6 : i);
	struct series_column columns[100];
	series_columns(series, 0, (int64_t)points * S / 10, columns, 100);
	for (int i = 0; i < 100; i++) {
		ck_assert(columns[i].has);
		ck_assert_double_eq_tol(columns[i].last, (i + 1) * points / 100.0, points / 100.0);
	}
	ck_assert_double_eq(columns[0].max, 5e6); /* an early spike is not lost */
	double mean = 0, min, max;
	ck_assert_uint_ge(series_mean(series, 0, (int64_t)points * S / 10, &mean), (size_t)points);
	ck_assert_double_eq_tol(mean, points / 2.0, points * 0.001);
	ck_assert(series_extremes(series, &min, &max));
	ck_assert_double_eq(max, 5e6);
	/* The last seconds still have every point. */
	series_columns(series, (int64_t)(points - 50) * S / 10, (int64_t)points * S / 10, columns, 50);
	for (int i = 0; i < 50; i++)
		ck_assert_double_eq(columns[i].last, points - 50 + i);
	series_free(series);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("series");
	TCase *tests = tcase_create("series");
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, the_newest_points_are_retained_unmerged);
	tcase_add_test(tests, column_holds_min_max_mean_and_last_of_its_points);
	tcase_add_test(tests, gap_stays_a_gap);
	tcase_add_test(tests, a_point_fills_columns_until_the_next);
	tcase_add_test(tests, a_carried_point_does_not_change_a_column_with_points_of_its_own);
	tcase_add_test(tests, times_do_not_go_back);
	tcase_add_test(tests, whole_run_is_covered_by_coarser_levels);
	return suite_run(suite);
}
