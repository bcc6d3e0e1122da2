#include "src/trace/analysis/profile_spread.h"

#include <math.h>
#include <stdlib.h>

#define WIDE 8.0

bool profile_spread_add(struct profile_spread *spread, int64_t value)
{
	if (spread->count == spread->capacity) {
		size_t capacity = spread->capacity ? 2 * spread->capacity : 64;
		int64_t *values = realloc(spread->values, capacity * sizeof *values);
		if (!values)
			return false;
		spread->values = values;
		spread->capacity = capacity;
	}
	spread->values[spread->count++] = value;
	return true;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static void set_edges(struct profile_spread *spread)
{
	double min = (double)spread->min, max = (double)spread->max, low = min < 1 ? 1 : min;
	bool is_wide = max > WIDE * low;
	spread->bin_count = spread->min == spread->max ? 1
		: spread->count < PROFILE_BINS             ? (unsigned)spread->count
												   : PROFILE_BINS;
	for (unsigned i = 0; i <= spread->bin_count; i++) {
		double part = (double)i / spread->bin_count;
		spread->edges[i] = (int64_t)llround(is_wide ? low * pow(max / low, part) : min + (max - min) * part);
	}
	spread->edges[0] = spread->min;
	spread->edges[spread->bin_count] = spread->max;
}

void profile_spread_settle(struct profile_spread *spread)
{
	unsigned bin = 0;
	if (!spread->count)
		return;
	qsort(spread->values, spread->count, sizeof *spread->values, ascending);
	spread->min = spread->values[0];
	spread->max = spread->values[spread->count - 1];
	int64_t below = spread->values[(spread->count - 1) / 2], above = spread->values[spread->count / 2];
	spread->median = below + (above - below) / 2;
	spread->p95 = spread->values[(spread->count * 95 + 99) / 100 - 1];
	set_edges(spread);
	for (size_t i = 0; i < spread->count; i++) {
		spread->sum += spread->values[i];
		while (bin + 1 < spread->bin_count && spread->values[i] >= spread->edges[bin + 1])
			bin++;
		spread->bins[bin]++;
	}
}

void profile_spread_release(struct profile_spread *spread)
{
	free(spread->values);
	*spread = (struct profile_spread){ 0 };
}
