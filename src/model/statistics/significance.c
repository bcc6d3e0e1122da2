#include "src/model/statistics/significance.h"

#include <math.h>
#include <stdlib.h>

double ln_gamma(double x)
{
	int sign;
	return lgamma_r(x, &sign);
}

/* ln(n! / (n − k)!) */
static double ln_falling(double n, double k) { return ln_gamma(n + 1) - ln_gamma(n - k + 1); }

double chance_of_hits(size_t all, size_t marked, size_t chosen, size_t hits)
{
	if (hits == 0 || all == 0)
		return 0;
	if (hits > marked || hits > chosen || marked > all || chosen > all)
		return -INFINITY;
	double h = (double)hits, m = (double)chosen;
	double which = ln_falling(m, h) - ln_gamma(h + 1);
	double chance = which + ln_falling((double)marked, h) - ln_falling((double)all, h);
	return chance < 0 ? chance : 0;
}

/* -- the change point -- */

/* Shell sort with Ciura's gaps: needs no comparator calls, and its run time hardly depends on the input. */
static void sort_by_value(const double *values, uint32_t *order, size_t n)
{
	static const size_t gaps[] = { 8929, 3905, 1750, 701, 301, 132, 57, 23, 10, 4, 1 };
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
		for (size_t i = gaps[g]; i < n; i++) {
			uint32_t moved = order[i];
			size_t at = i;
			for (; at >= gaps[g] && values[order[at - gaps[g]]] > values[moved]; at -= gaps[g])
				order[at] = order[at - gaps[g]];
			order[at] = moved;
		}
	}
}

/* Equal values share the mean of their ranks. */
static void rank_values(const double *values, size_t n, double *ranks, uint32_t *order)
{
	sort_by_value(values, order, n);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && !(values[order[to]] > values[order[from]]);)
			to++;
		for (size_t i = from; i < to; i++)
			ranks[order[i]] = (double)(from + 1 + to) / 2;
	}
}

bool change_point(const double *values, size_t n, double *ranks, uint32_t *order, struct change *out)
{
	if (n < 2)
		return false;
	rank_values(values, n, ranks, order);
	double sum = 0, length = (double)n;
	*out = (struct change){ .at = 1 };
	for (size_t i = 0; i + 1 < n; i++) {
		sum += ranks[i];
		double k = (double)(i + 1) * (length + 1) - 2 * sum;
		if (fabs(k) > fabs(out->k)) {
			out->k = k;
			out->at = i + 1;
		}
	}
	out->p_value = fmin(2 * exp(-6 * out->k * out->k / (length * length * length + length * length)), 1);
	return true;
}

/* -- runs -- */

double runs_z(const bool *marks, size_t n)
{
	double runs = 1, marked = 0;
	for (size_t i = 0; i < n; i++) {
		marked += marks[i];
		runs += i > 0 && marks[i] != marks[i - 1];
	}
	double other = (double)n - marked, both = 2 * marked * other, length = (double)n;
	if (both <= 0)
		return NAN;
	double mean = both / length + 1, variance = both * (both - length) / (length * length * (length - 1));
	return variance > 0 ? (runs - mean) / sqrt(variance) : NAN;
}

/* -- two groups -- */

bool split_in_two(const double *sorted, size_t n, struct two_groups *out)
{
	if (n < 2)
		return false;
	/* Subtract the median first: squares of a large common offset would lose the differences to rounding. */
	double middle = sorted[n / 2], sum = 0, squares = 0, below = 0, best = -INFINITY;
	for (size_t i = 0; i < n; i++) {
		sum += sorted[i] - middle;
		squares += (sorted[i] - middle) * (sorted[i] - middle);
	}
	for (size_t low = 1; low < n; low++) {
		below += sorted[low - 1] - middle;
		double high = (double)(n - low), between = below * below / (double)low + (sum - below) * (sum - below) / high;
		if (between <= best)
			continue;
		best = between;
		*out = (struct two_groups){
			.low_count = low, .low_mean = middle + below / (double)low, .high_mean = middle + (sum - below) / high
		};
	}
	out->total = fmax(squares - sum * sum / (double)n, 0);
	out->within = fmax(squares - best, 0);
	return true;
}

/* -- folding -- */

void fold_into(const float *values, size_t n, uint32_t begin, uint32_t period, float *sums)
{
	size_t at = begin % period;
	for (size_t i = 0; i < n;) {
		size_t run = period - at < n - i ? period - at : n - i;
		for (size_t j = 0; j < run; j++)
			sums[at + j] += values[i + j];
		i += run;
		at = 0;
	}
}
