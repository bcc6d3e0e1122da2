#include "src/fleet/fleet_median.h"

#include <math.h>

static void swap(double *a, double *b)
{
	double retained = *a;
	*a = *b;
	*b = retained;
}

double fleet_select(double *values, size_t count, size_t index)
{
	size_t low = 0, high = count - 1;
	while (low < high) {
		double pivot = values[low + (high - low) / 2];
		size_t i = low, k = high;
		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[k] > pivot)
				k--;
			if (i >= k)
				break;
			swap(&values[i++], &values[k--]);
		}
		/* values[low … k] ≤ pivot ≤ values[k + 1 … high], and k < high */
		if (index <= k)
			high = k;
		else
			low = k + 1;
	}
	return values[low];
}

double fleet_median(double *values, size_t count)
{
	if (!count)
		return (double)NAN;
	double upper = fleet_select(values, count, count / 2);
	return count % 2 ? upper : (upper + fleet_select(values, count, count / 2 - 1)) / 2;
}
