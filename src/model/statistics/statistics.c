#include "src/model/statistics/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SLOPE_POINTS_MIN = 8, SLOPE_POINTS_MAX = 300 };

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

void sort_ascending(double *values, size_t n) { qsort(values, n, sizeof *values, by_value); }

double quantile_of_sorted(const double *sorted, size_t n, double q)
{
	if (n == 0)
		return NAN;
	double position = fmin(fmax(q, 0), 1) * (double)(n - 1);
	size_t below = (size_t)position;
	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (sorted[below + 1] - sorted[below]) * (position - (double)below);
}

/* Moves the values below the pivot (`with_equal`: or equal to it) to the front; returns the end of them. Branch-free,
 * because the branches would be unpredictable. */
static inline size_t partition(double *values, size_t from, size_t end, double pivot, bool with_equal)
{
	size_t upto = from;
	for (size_t i = from; i < end; i++) {
		double value = values[i];
		values[i] = values[upto];
		values[upto] = value;
		upto += with_equal ? value <= pivot : value < pivot;
	}
	return upto;
}

static void sort_few(double *values, size_t from, size_t end)
{
	for (size_t i = from + 1; i < end; i++) {
		double value = values[i];
		size_t at = i;
		for (; at > from && values[at - 1] > value; at--)
			values[at] = values[at - 1];
		values[at] = value;
	}
}

enum { FEW = 12, SAMPLES = 7 };

/* Chooses, from a few evenly spaced samples, the one whose rank among them corresponds to `rank` among all. */
static double choose_pivot(const double *values, size_t from, size_t end, size_t rank)
{
	double samples[SAMPLES];
	for (size_t i = 0; i < SAMPLES; i++)
		samples[i] = values[from + (end - from - 1) * i / (SAMPLES - 1)];
	sort_few(samples, 0, SAMPLES);
	return samples[(rank - from) * SAMPLES / (end - from)];
}

/* Quickselect: returns the value of this rank (0 = the minimum). Smaller values are before it afterwards, larger ones
 * behind it. */
static double select_rank(double *values, size_t n, size_t rank)
{
	size_t low = 0, end = n;
	while (end - low > FEW) {
		double pivot = choose_pivot(values, low, end, rank);
		size_t less = partition(values, low, end, pivot, false);
		if (rank < less) {
			end = less;
			continue;
		}
		if (less > low) {
			low = less;
			continue;
		}
		size_t upto = partition(values, less, end, pivot, true);
		if (rank < upto)
			return pivot;
		low = upto;
	}
	sort_few(values, low, end);
	return values[rank];
}

double quantile_of(double *values, size_t n, double q)
{
	if (n == 0)
		return NAN;
	double position = q * (double)(n - 1);
	size_t below = (size_t)position;
	double low = select_rank(values, n, below);
	if (below + 1 >= n || position <= (double)below)
		return low;
	double high = values[below + 1];
	for (size_t i = below + 2; i < n; i++)
		high = values[i] < high ? values[i] : high;
	return low + (high - low) * (position - (double)below);
}

double median_of(double *values, size_t n) { return quantile_of(values, n, 0.5); }

double mad_of(double *values, size_t n, double median)
{
	for (size_t i = 0; i < n; i++)
		values[i] = fabs(values[i] - median);
	return median_of(values, n);
}

/* Copies at most SLOPE_POINTS_MAX finite points, evenly spaced; returns how many. */
static size_t copy_evenly_spaced(const double *time_s, const double *value, size_t n, double *x, double *y)
{
	size_t finite = 0, retained = 0, seen = 0;
	for (size_t i = 0; i < n; i++)
		finite += isfinite(time_s[i]) && isfinite(value[i]);
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(time_s[i]) || !isfinite(value[i]))
			continue;
		if (finite <= SLOPE_POINTS_MAX || seen * SLOPE_POINTS_MAX / finite == retained) {
			x[retained] = time_s[i];
			y[retained++] = value[i];
		}
		seen++;
		if (retained == SLOPE_POINTS_MAX)
			break;
	}
	return retained;
}

bool theil_sen(const double *time_s, const double *value, size_t n, struct slope *out)
{
	double x[SLOPE_POINTS_MAX], y[SLOPE_POINTS_MAX];
	size_t points = copy_evenly_spaced(time_s, value, n, x, y), pairs = 0;
	if (points < SLOPE_POINTS_MIN)
		return false;
	double *slopes = malloc(points * (points - 1) / 2 * sizeof *slopes);
	if (!slopes)
		return false;
	for (size_t i = 0; i < points; i++) {
		for (size_t j = i + 1; j < points; j++) {
			double slope = (y[j] - y[i]) / (x[j] - x[i]);
			if (isfinite(slope))
				slopes[pairs++] = slope;
		}
	}
	if (pairs > 0) {
		double k = (double)points, half_width = 1.96 * sqrt(k * (k - 1) * (2 * k + 5) / 18) / 2;
		double share = half_width / (double)pairs;
		out->per_s = quantile_of(slopes, pairs, 0.5);
		out->low_per_s = quantile_of(slopes, pairs, fmax(0.5 - share, 0));
		out->high_per_s = quantile_of(slopes, pairs, fmin(0.5 + share, 1));
		out->points = points;
	}
	free(slopes);
	return pairs > 0;
}

struct rolling {
	size_t window, count, oldest;
	double *arrived; /* a ring, in order of arrival */
	double sorted[];
};

struct rolling *rolling_new(size_t window)
{
	if (window == 0 || window > (size_t)1 << 24)
		return NULL;
	struct rolling *rolling = calloc(1, sizeof *rolling + 2 * window * sizeof(double));
	if (!rolling)
		return NULL;
	rolling->window = window;
	rolling->arrived = rolling->sorted + window;
	return rolling;
}

void rolling_free(struct rolling *rolling) { free(rolling); }

/* Index of the first value not below `value`. */
static size_t position_of(const struct rolling *rolling, double value)
{
	size_t low = 0, high = rolling->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rolling->sorted[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void rolling_push(struct rolling *rolling, double value)
{
	if (!rolling || !isfinite(value))
		return;
	double *sorted = rolling->sorted;
	if (rolling->count == rolling->window) {
		size_t gone = position_of(rolling, rolling->arrived[rolling->oldest]);
		memmove(sorted + gone, sorted + gone + 1, (rolling->count - gone - 1) * sizeof *sorted);
		rolling->count--;
		rolling->arrived[rolling->oldest] = value;
		rolling->oldest = (rolling->oldest + 1) % rolling->window;
	} else {
		rolling->arrived[rolling->count] = value;
	}
	size_t position = position_of(rolling, value);
	memmove(sorted + position + 1, sorted + position, (rolling->count - position) * sizeof *sorted);
	sorted[position] = value;
	rolling->count++;
}

void rolling_clear(struct rolling *rolling)
{
	if (rolling)
		rolling->count = rolling->oldest = 0;
}

size_t rolling_count(const struct rolling *rolling) { return rolling ? rolling->count : 0; }

double rolling_quantile(const struct rolling *rolling, double q)
{
	return rolling ? quantile_of_sorted(rolling->sorted, rolling->count, q) : NAN;
}

double rolling_median(const struct rolling *rolling) { return rolling_quantile(rolling, 0.5); }

/* Distances from the median increase to both sides of it, so merging the two sides outwards sorts them. */
double rolling_mad(const struct rolling *rolling)
{
	size_t n = rolling_count(rolling);
	if (n == 0)
		return NAN;
	double median = rolling_median(rolling), distance = 0, before = 0;
	size_t right = position_of(rolling, median), left = right;
	for (size_t taken = 0; taken <= n / 2; taken++) {
		before = distance;
		double down = left > 0 ? median - rolling->sorted[left - 1] : INFINITY;
		double up = right < n ? rolling->sorted[right] - median : INFINITY;
		if (down <= up) {
			distance = down;
			left--;
		} else {
			distance = up;
			right++;
		}
	}
	return n % 2 ? distance : before + (distance - before) / 2;
}
