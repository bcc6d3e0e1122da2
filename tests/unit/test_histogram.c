#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/histogram.h"
#include "tests/support/suite.h"

static uint32_t counts[HISTOGRAM_BUCKETS];

static void setup(void) { memset(counts, 0, sizeof counts); }

static void add(double seconds) { counts[histogram_bucket((uint64_t)(seconds * 1e9))]++; }

static double off_by(double value, double exact) { return fabs(value - exact) / exact; }

START_TEST(each_bucket_holds_its_lower_bound_and_not_its_upper)
{
	for (size_t i = 1; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t min = (uint64_t)ceil(histogram_lower_ns(i));
		ck_assert_uint_eq(histogram_bucket(min), i);
		ck_assert_uint_eq(histogram_bucket(min - 1), i - 1);
	}
}
END_TEST

START_TEST(octaves_begin_at_powers_of_two_of_a_microsecond)
{
	for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++) {
		size_t bucket = 1 + (size_t)octave * HISTOGRAM_PER_OCTAVE;
		ck_assert(histogram_lower_ns(bucket) == 1000.0 * (double)(1u << octave));
		ck_assert_uint_eq(histogram_bucket(UINT64_C(1000) << octave), bucket);
	}
}
END_TEST

START_TEST(values_out_of_range_are_in_the_outer_buckets)
{
	ck_assert_uint_eq(histogram_bucket(0), 0);
	ck_assert_uint_eq(histogram_bucket(999), 0);
	ck_assert_uint_eq(histogram_bucket(UINT64_C(1000) << 30), HISTOGRAM_BUCKETS - 1);
	ck_assert_uint_eq(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
	ck_assert(histogram_lower_ns(0) == 0);
}
END_TEST

START_TEST(quantile_of_nothing_is_unknown) { ck_assert(isnan(histogram_quantile(counts, 0.5, 0, 1))); }
END_TEST

START_TEST(quantiles_of_a_wide_spread_are_within_two_percent)
{
	/* 10,001 durations, evenly spread in the logarithm from 10 µs to 10 s. */
	for (int i = 0; i <= 10000; i++)
		add(1e-5 * pow(10, i * 6e-4));
	for (int percent = 1; percent < 100; percent++)
		ck_assert_double_lt(
			off_by(histogram_quantile(counts, percent / 100.0, 1e-5, 10), 1e-5 * pow(10, percent * 0.06)), 0.02);
}
END_TEST

START_TEST(quantiles_stay_within_the_extremes)
{
	add(0.2);
	ck_assert_double_eq(histogram_quantile(counts, 0, 0.2, 0.2), 0.2);
	ck_assert_double_eq(histogram_quantile(counts, 0.95, 0.2, 0.2), 0.2);
	counts[0] = counts[HISTOGRAM_BUCKETS - 1] = 1;
	ck_assert_double_eq(histogram_quantile(counts, 0, 5e-7, 2000), 5e-7);
	ck_assert_double_lt(histogram_quantile(counts, 1, 5e-7, 1080), 1080.1);
}
END_TEST

START_TEST(quantile_between_two_ranks_is_linear)
{
	add(0.1);
	add(0.3);
	ck_assert_double_lt(off_by(histogram_quantile(counts, 0.5, 0.1, 0.3), 0.2), 0.02);
	ck_assert_double_lt(off_by(histogram_quantile(counts, 0.25, 0.1, 0.3), 0.15), 0.02);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("histogram");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, NULL);
	tcase_add_test(all, each_bucket_holds_its_lower_bound_and_not_its_upper);
	tcase_add_test(all, octaves_begin_at_powers_of_two_of_a_microsecond);
	tcase_add_test(all, values_out_of_range_are_in_the_outer_buckets);
	tcase_add_test(all, quantile_of_nothing_is_unknown);
	tcase_add_test(all, quantiles_of_a_wide_spread_are_within_two_percent);
	tcase_add_test(all, quantiles_stay_within_the_extremes);
	tcase_add_test(all, quantile_between_two_ranks_is_linear);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
