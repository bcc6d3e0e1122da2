#include "src/compare/contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/statistics/statistics.h"

enum { BLOCKS_MIN = 5, BLOCKS_MAX = 32, HALVINGS = 60, ALIKE_IN_A_ROW = 10 };
static const double normal_95 = 1.959964, normal_p95 = 1.644854;

/* Student's quantile for two-sided 95 %: Fisher's expansion about the normal one (Abramowitz and Stegun 26.7.5). */
static double student_95(double degrees)
{
	double z = normal_95, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, d = fmax(degrees, 2);
	return z + (z3 + z) / (4 * d) + (5 * z5 + 16 * z3 + 3 * z) / (96 * d * d) +
		(3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * d * d * d);
}

/* -- means of autocorrelated values -- */

struct mean {
	double value, variance, degrees;
}; /* variance: of the mean */

static size_t block_count(size_t n)
{
	size_t root = (size_t)sqrt((double)n);
	return root < BLOCKS_MIN ? BLOCKS_MIN : root > BLOCKS_MAX ? BLOCKS_MAX : root;
}

static struct mean mean_of_blocks(const double *values, size_t n)
{
	size_t blocks = block_count(n);
	double of_block[BLOCKS_MAX], sum = 0, squares = 0;
	for (size_t block = 0; block < blocks; block++) {
		size_t from = block * n / blocks, to = (block + 1) * n / blocks;
		double within = 0;
		for (size_t i = from; i < to; i++)
			within += values[i];
		sum += within;
		of_block[block] = within / (double)(to - from);
	}
	struct mean mean = { .value = sum / (double)n, .degrees = (double)(blocks - 1) };
	for (size_t block = 0; block < blocks; block++)
		squares += (of_block[block] - mean.value) * (of_block[block] - mean.value);
	mean.variance = squares / mean.degrees / (double)blocks;
	return mean;
}

/* Welch and Satterthwaite's. */
static double joint_degrees(struct mean a, struct mean b)
{
	double sum = a.variance + b.variance;
	return sum > 0 ? sum * sum / (a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees)
				   : a.degrees + b.degrees;
}

bool contrast_means(const double *a, size_t n, const double *b, size_t m, struct interval *out)
{
	if (n < CONTRAST_MIN || m < CONTRAST_MIN)
		return false;
	struct mean of_a = mean_of_blocks(a, n), of_b = mean_of_blocks(b, m);
	double half = student_95(joint_degrees(of_a, of_b)) * sqrt(of_a.variance + of_b.variance),
		   value = of_b.value - of_a.value;
	*out = (struct interval){ value, value - half, value + half };
	return true;
}

bool contrast_mean_ratio(const double *a, size_t n, const double *b, size_t m, struct interval *out)
{
	if (n < CONTRAST_MIN || m < CONTRAST_MIN)
		return false;
	struct mean of_a = mean_of_blocks(a, n), of_b = mean_of_blocks(b, m);
	of_a.variance /= of_a.value * of_a.value;
	of_b.variance /= of_b.value * of_b.value;
	double half = student_95(joint_degrees(of_a, of_b)) * sqrt(of_a.variance + of_b.variance),
		   value = log(of_b.value / of_a.value);
	*out = (struct interval){ exp(value), exp(value - half), exp(value + half) };
	return isfinite(value);
}

bool contrast_mean(const double *values, size_t n, struct interval *out)
{
	if (n < CONTRAST_MIN)
		return false;
	struct mean mean = mean_of_blocks(values, n);
	double half = student_95(mean.degrees) * sqrt(mean.variance);
	*out = (struct interval){ mean.value, mean.value - half, mean.value + half };
	return true;
}

/* -- pairs -- */

static double *sorted_copy(const double *values, size_t n)
{
	double *copy = malloc(n * sizeof *copy);
	if (copy) {
		memcpy(copy, values, n * sizeof *copy);
		sort_ascending(copy, n);
	}
	return copy;
}

/* The number of pairs whose difference b − a is at most `max`. */
static double pairs_up_to(const double *a, size_t n, const double *b, size_t m, double max)
{
	double pairs = 0;
	size_t j = 0;
	for (size_t i = 0; i < n; i++) {
		while (j < m && b[j] - a[i] <= max)
			j++;
		pairs += (double)j;
	}
	return pairs;
}

/* The q-quantile of all differences b − a of two sorted arrays, by halving. */
static double quantile_of_pairs(const double *a, size_t n, const double *b, size_t m, double q)
{
	double low = b[0] - a[n - 1], high = b[m - 1] - a[0], wanted = q * (double)n * (double)m;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = low + (high - low) / 2;
		if (pairs_up_to(a, n, b, m, middle) < wanted)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

static size_t below(const double *sorted, size_t n, double value, bool or_equal)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (sorted[middle] < value || (or_equal && sorted[middle] <= value))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The relative rank, 0 … 1, of each value among the others, which are moved by `shift`. */
static void rank_among(const double *values, size_t n, const double *others, size_t m, double shift, double *ranks)
{
	for (size_t i = 0; i < n; i++)
		ranks[i] = (double)(below(others, m, values[i] - shift, false) + below(others, m, values[i] - shift, true)) /
			(2 * (double)m);
}

bool contrast_ratio(const double *a, size_t n, const double *b, size_t m, struct contrast *out)
{
	if (n < CONTRAST_MIN || m < CONTRAST_MIN)
		return false;
	double *logs = malloc(2 * (n + m) * sizeof *logs), *ranks = logs ? logs + n + m : NULL, *sorted_a = NULL,
		   *sorted_b = NULL;
	bool is_there = false;
	if (logs) {
		for (size_t i = 0; i < n + m; i++)
			logs[i] = log(i < n ? a[i] : b[i - n]);
		sorted_a = sorted_copy(logs, n);
		sorted_b = sorted_copy(logs + n, m);
	}
	if (sorted_a && sorted_b) {
		double shift = quantile_of_pairs(sorted_a, n, sorted_b, m, 0.5);
		/* Align the samples first, so that the variance is the one at the estimate. */
		rank_among(logs, n, sorted_b, m, -shift, ranks);
		rank_among(logs + n, m, sorted_a, n, shift, ranks + n);
		struct mean of_a = mean_of_blocks(ranks, n), of_b = mean_of_blocks(ranks + n, m);
		double half = fmin(student_95(joint_degrees(of_a, of_b)) * sqrt(of_a.variance + of_b.variance), 0.5);
		out->ratio = (struct interval){ exp(shift), exp(quantile_of_pairs(sorted_a, n, sorted_b, m, 0.5 - half)),
			exp(quantile_of_pairs(sorted_a, n, sorted_b, m, 0.5 + half)) };
		rank_among(logs + n, m, sorted_a, n, 0, ranks + n);
		out->effect = 2 * mean_of_blocks(ranks + n, m).value - 1;
		is_there = isfinite(shift);
	}
	free(sorted_a);
	free(sorted_b);
	free(logs);
	return is_there;
}

/* The interval of a quantile: the share of values below it is a mean of 0s and 1s, whose variance is known. */
bool contrast_quantile(const double *values, size_t n, double q, struct interval *out)
{
	if (n < CONTRAST_MIN)
		return false;
	double *sorted = sorted_copy(values, n), *marks = malloc(n * sizeof *marks);
	if (sorted && marks) {
		out->value = quantile_of_sorted(sorted, n, q);
		for (size_t i = 0; i < n; i++)
			marks[i] =
				(double)(values[i] < out->value) + 0.5 * (double)!(values[i] < out->value || values[i] > out->value);
		struct mean mean = mean_of_blocks(marks, n);
		double half = student_95(mean.degrees) * sqrt(mean.variance);
		out->low = quantile_of_sorted(sorted, n, q - half);
		out->high = quantile_of_sorted(sorted, n, q + half);
	}
	bool is_there = sorted && marks;
	free(sorted);
	free(marks);
	return is_there;
}

/* `factor`: the variance of the logarithm of that quantile, where the spread is 1 and there is one value. */
static bool known_ratio(
	double ratio, double factor, const struct known_quantiles *a, const struct known_quantiles *b, struct interval *out)
{
	const struct known_quantiles *of[] = { a, b };
	double variance = 0;
	for (unsigned i = 0; i < 2; i++) {
		double spread = log(of[i]->p95 / of[i]->p50) / normal_p95, alone = of[i]->count / ALIKE_IN_A_ROW;
		variance += factor * spread * spread / fmax(alone, 1);
	}
	double value = log(ratio), half = normal_95 * sqrt(variance);
	if (!isfinite(value) || !isfinite(half) || a->count < CONTRAST_MIN || b->count < CONTRAST_MIN)
		return false;
	*out = (struct interval){ exp(value), exp(value - half), exp(value + half) };
	return true;
}

bool contrast_known(const struct known_quantiles *a, const struct known_quantiles *b, struct interval *out)
{
	/* A median's variance is π/2 that of a mean. */
	return known_ratio(b->p50 / a->p50, 1.5707963, a, b, out);
}

bool contrast_known_p95(const struct known_quantiles *a, const struct known_quantiles *b, struct interval *out)
{
	/* q (1 − q) ÷ the square of the normal density at that quantile. */
	return known_ratio(b->p95 / a->p95, 4.4658, a, b, out);
}
