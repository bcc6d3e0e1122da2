#include "src/model/statistics/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"

enum { POINTS_MAX = 1024, BINS_MAX = 512, LEVELS = 8, ROOM_FIRST = 16 };
#define FINEST_BIN_NS (NS_PER_S / 2)
#define HOLD_NS (2 * NS_PER_S)

/* A point of level 0 is a bin with a count of 1; a gap has a count of 0. */
struct bin_of_time {
	int64_t begin_ns;
	uint64_t count;
	double min, max, mean, last;
};

struct point {
	int64_t time_ns;
	double value;
};

/* A ring that grows to a maximum and then drops its oldest rows. */
struct ring {
	size_t room, first, count;
	bool has_dropped;
	union {
		struct point *points;
		struct bin_of_time *bins;
		void *rows;
	};
};

struct series {
	int64_t first_ns, last_ns, last_finite_ns;
	bool has_any, has_finite;
	double last_value, min, max;
	struct ring points, levels[LEVELS];
};

static size_t ring_index(const struct ring *ring, size_t i)
{
	size_t at = ring->first + i;
	return at < ring->room ? at : at - ring->room;
}

/* Appends a row and returns its index. If memory runs out, overwrites the oldest row; ring->room is 0 if there is
 * none. */
static size_t ring_append(struct ring *ring, size_t largest, size_t row_size)
{
	if (ring->count == ring->room && ring->room < largest) {
		size_t room = ring->room ? ring->room * 2 : ROOM_FIRST;
		void *rows = ring->has_dropped ? NULL : realloc(ring->rows, room * row_size);
		if (rows) {
			ring->rows = rows;
			ring->room = room;
		}
	}
	if (ring->room == 0)
		return 0;
	if (ring->count == ring->room) {
		ring->first = ring_index(ring, 1);
		ring->has_dropped = true;
		return ring_index(ring, ring->count - 1);
	}
	return ring_index(ring, ring->count++);
}

static int64_t level_width(size_t level) { return FINEST_BIN_NS << (2 * level); }

struct series *series_new(void) { return calloc(1, sizeof(struct series)); }

void series_free(struct series *series)
{
	if (!series)
		return;
	free(series->points.rows);
	for (size_t i = 0; i < LEVELS; i++)
		free(series->levels[i].rows);
	free(series);
}

static void push_to_level(struct ring *ring, int64_t width_ns, int64_t time_ns, double value)
{
	int64_t begin_ns = time_ns - time_ns % width_ns;
	struct bin_of_time *bin = ring->count ? &ring->bins[ring_index(ring, ring->count - 1)] : NULL;
	if (!bin || bin->begin_ns != begin_ns) {
		size_t position = ring_append(ring, BINS_MAX, sizeof *bin);
		if (ring->room == 0)
			return;
		bin = &ring->bins[position];
		*bin = (struct bin_of_time){ .begin_ns = begin_ns, .min = value, .max = value };
	}
	bin->count++;
	bin->mean += (value - bin->mean) / (double)bin->count;
	bin->min = fmin(bin->min, value);
	bin->max = fmax(bin->max, value);
	bin->last = value;
}

void series_push(struct series *series, int64_t time_ns, double value)
{
	if (!series || time_ns < 0 || (series->has_any && time_ns < series->last_ns))
		return;
	if (!series->has_any)
		series->first_ns = time_ns;
	series->has_any = true;
	series->last_ns = time_ns;
	size_t position = ring_append(&series->points, POINTS_MAX, sizeof *series->points.points);
	if (series->points.room > 0)
		series->points.points[position] = (struct point){ time_ns, isfinite(value) ? value : NAN };
	if (!isfinite(value))
		return;
	series->min = series->has_finite ? fmin(series->min, value) : value;
	series->max = series->has_finite ? fmax(series->max, value) : value;
	series->has_finite = true;
	series->last_finite_ns = time_ns;
	series->last_value = value;
	for (size_t i = 0; i < LEVELS; i++)
		push_to_level(&series->levels[i], level_width(i), time_ns, value);
}

bool series_last(const struct series *series, int64_t *time_ns, double *value)
{
	if (!series || !series->has_finite)
		return false;
	*time_ns = series->last_finite_ns;
	*value = series->last_value;
	return true;
}

bool series_extremes(const struct series *series, double *min, double *max)
{
	if (!series || !series->has_finite)
		return false;
	*min = series->min;
	*max = series->max;
	return true;
}

int64_t series_first_ns(const struct series *series) { return series ? series->first_ns : 0; }

/* A level's row as a bin; *until_ns: until when it holds. */
static struct bin_of_time row_of(const struct series *series, size_t level, size_t i, int64_t *until_ns)
{
	if (level > 0) {
		const struct ring *bins = &series->levels[level - 1];
		struct bin_of_time bin = bins->bins[ring_index(bins, i)];
		*until_ns = bin.begin_ns + level_width(level - 1);
		return bin;
	}
	const struct ring *points = &series->points;
	const struct point *point = &points->points[ring_index(points, i)];
	*until_ns = point->time_ns;
	if (i + 1 < points->count) {
		int64_t next_ns = points->points[ring_index(points, i + 1)].time_ns;
		int64_t before_ns = i > 0 ? points->points[ring_index(points, i - 1)].time_ns : point->time_ns;
		int64_t baseline_ns = point->time_ns - before_ns;
		if (next_ns - point->time_ns <= HOLD_NS || (next_ns - point->time_ns) / 2 <= baseline_ns)
			*until_ns = next_ns;
	}
	double value = point->value;
	return (struct bin_of_time){ .begin_ns = point->time_ns,
		.count = isfinite(value) ? 1 : 0,
		.min = value,
		.max = value,
		.mean = value,
		.last = value };
}

static size_t row_count(const struct series *series, size_t level)
{
	return level ? series->levels[level - 1].count : series->points.count;
}

/* The finest level that reaches back to from_ns: 0 = the points, 1 … LEVELS = bins. */
static size_t level_covering(const struct series *series, int64_t from_ns)
{
	for (size_t level = 0; level < LEVELS; level++) {
		const struct ring *ring = level ? &series->levels[level - 1] : &series->points;
		int64_t until_ns;
		if (!ring->has_dropped || (ring->count > 0 && row_of(series, level, 0, &until_ns).begin_ns <= from_ns))
			return level;
	}
	return LEVELS;
}

/* The first row that holds after from_ns. */
static size_t first_row_after(const struct series *series, size_t level, int64_t from_ns)
{
	size_t low = 0, high = row_count(series, level);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int64_t until_ns, begin_ns = row_of(series, level, middle, &until_ns).begin_ns;
		if (until_ns <= from_ns && begin_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The column filled last, and the number of points that begin in it. */
struct filling {
	struct series_column *columns;
	size_t at;
	double weight;
};

/* A point that begins in a column replaces the value held from before. */
static void add_to_column(struct filling *filling, size_t at, const struct bin_of_time *bin)
{
	struct series_column *column = &filling->columns[at];
	if (at != filling->at || filling->weight == 0)
		*column = (struct series_column){ .has = true, .min = bin->min, .max = bin->max };
	filling->weight = (at == filling->at ? filling->weight : 0) + (double)bin->count;
	filling->at = at;
	column->mean += (bin->mean - column->mean) * (double)bin->count / filling->weight;
	column->min = fmin(column->min, bin->min);
	column->max = fmax(column->max, bin->max);
	column->last = bin->last;
}

static void stand_on(struct filling *filling, size_t at, const struct bin_of_time *bin)
{
	filling->columns[at] =
		(struct series_column){ .has = true, .min = bin->min, .max = bin->max, .mean = bin->mean, .last = bin->last };
	filling->at = at;
	filling->weight = 0;
}

void series_columns(
	const struct series *series, int64_t from_ns, int64_t to_ns, struct series_column *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = (struct series_column){ .has = false, .min = NAN, .max = NAN, .mean = NAN, .last = NAN };
	if (!series || count == 0 || to_ns <= from_ns)
		return;
	struct filling filling = { out, count, 0 };
	double per_ns = (double)count / ((double)to_ns - (double)from_ns);
	size_t level = level_covering(series, from_ns), rows = row_count(series, level);
	for (size_t i = first_row_after(series, level, from_ns); i < rows; i++) {
		int64_t until_ns;
		struct bin_of_time bin = row_of(series, level, i, &until_ns);
		if (bin.begin_ns >= to_ns)
			break;
		if (bin.count == 0)
			continue;
		double from = fmax(((double)bin.begin_ns - (double)from_ns) * per_ns, 0);
		double until = fmin(((double)until_ns - (double)from_ns) * per_ns, (double)count);
		size_t column = (size_t)fmin(from, (double)(count - 1));
		if (level > 0 || bin.begin_ns >= from_ns)
			add_to_column(&filling, column, &bin);
		else
			stand_on(&filling, column, &bin);
		while ((double)++column < until)
			stand_on(&filling, column, &bin);
	}
}

size_t series_mean(const struct series *series, int64_t from_ns, int64_t to_ns, double *mean)
{
	if (!series || to_ns <= from_ns)
		return 0;
	size_t level = level_covering(series, from_ns), rows = row_count(series, level);
	double sum = 0, weight = 0;
	for (size_t i = first_row_after(series, level, from_ns); i < rows; i++) {
		int64_t until_ns;
		struct bin_of_time bin = row_of(series, level, i, &until_ns);
		if (bin.begin_ns >= to_ns)
			break;
		if (bin.count == 0 || (level == 0 && bin.begin_ns < from_ns))
			continue;
		sum += bin.mean * (double)bin.count;
		weight += (double)bin.count;
	}
	if (weight > 0)
		*mean = sum / weight;
	return (size_t)weight;
}
