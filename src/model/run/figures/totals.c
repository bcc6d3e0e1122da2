#include "src/model/run/figures/totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_FIRST = 64 };

void totals_release(struct totals *totals)
{
	for (size_t i = 0; i < totals->count; i++)
		free(totals->list[i].histogram);
	free(totals->list);
	free(totals->table);
	memset(totals, 0, sizeof *totals);
}

static size_t hash_of(const struct total_key *key)
{
	uint64_t low = (uint64_t)key->name << 32 | key->parent,
			 high = (uint64_t)key->mode << 32 | (uint64_t)key->lane << 8 | key->kind;
	uint64_t hash = (low ^ high * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
	return (size_t)(hash ^ hash >> 29);
}

static bool is_same(const struct total_key *a, const struct total_key *b)
{
	return a->name == b->name && a->parent == b->parent && a->mode == b->mode && a->lane == b->lane &&
		a->kind == b->kind;
}

/* The key's index in the table, or the free index for it. */
static size_t slot_of(const struct totals *totals, const struct total_key *key)
{
	size_t slot = hash_of(key) & (totals->table_room - 1);
	while (totals->table[slot] && !is_same(&totals->list[totals->table[slot] - 1].key, key))
		slot = (slot + 1) & (totals->table_room - 1);
	return slot;
}

static bool make_room(struct totals *totals)
{
	if (totals->count < totals->room)
		return true;
	if (totals->count >= TOTALS_MAX)
		return false;
	size_t room = totals->room ? totals->room * 2 : TABLE_FIRST / 2;
	uint32_t *table = calloc(room * 2, sizeof *table);
	struct total *list = table ? realloc(totals->list, room * sizeof *list) : NULL;
	if (!list) {
		free(table);
		return false;
	}
	free(totals->table);
	totals->list = list;
	totals->room = room;
	totals->table = table;
	totals->table_room = room * 2;
	for (size_t i = 0; i < totals->count; i++)
		table[slot_of(totals, &list[i].key)] = (uint32_t)i + 1;
	return true;
}

struct total *totals_find(struct totals *totals, const struct total_key *key, bool create)
{
	if (totals->table_room > 0) {
		size_t slot = slot_of(totals, key);
		if (totals->table[slot])
			return &totals->list[totals->table[slot] - 1];
	}
	if (!create)
		return NULL;
	if (!make_room(totals)) {
		totals->left_out++;
		return NULL;
	}
	struct total *total = &totals->list[totals->count];
	*total = (struct total){ .key = *key,
		.depth = UINT32_MAX,
		.min_s = NAN,
		.max_s = NAN,
		.last_s = NAN,
		.cpu_s = NAN,
		.memory_bytes = NAN,
		.has_histogram = true };
	totals->table[slot_of(totals, key)] = (uint32_t)++totals->count;
	return total;
}

static bool make_histogram(struct totals *totals, struct total *total)
{
	if (!total->histogram && totals->histograms < TOTALS_HISTOGRAMS_MAX) {
		total->histogram = calloc(HISTOGRAM_BUCKETS, sizeof *total->histogram);
		totals->histograms += total->histogram != NULL;
	}
	return total->histogram != NULL;
}

/* An untrusted number if it is a valid duration, else NAN. */
static double duration_or_nan(double seconds) { return isfinite(seconds) && seconds >= 0 ? seconds : NAN; }

void totals_replace(struct totals *totals, const struct total_key *key, const struct total_row *row)
{
	struct total *total = totals_find(totals, key, true);
	if (!total || (row->upto < total->seen && row->count <= total->count))
		return;
	total->depth = row->depth < total->depth ? row->depth : total->depth;
	total->is_changed = true;
	total->upto = row->upto;
	total->count = row->count;
	bool is_whole = row->has_histogram;
	total->total_s = is_whole ? duration_or_nan(row->total_s) : NAN;
	total->self_s = is_whole ? duration_or_nan(row->self_s) : NAN;
	total->min_s = is_whole ? duration_or_nan(row->min_s) : NAN;
	total->max_s = is_whole ? duration_or_nan(row->max_s) : NAN;
	total->last_s = is_whole ? duration_or_nan(row->last_s) : NAN;
	total->cpu_s = is_whole ? duration_or_nan(row->cpu_s) : NAN;
	total->memory_bytes = is_whole && isfinite(row->memory_bytes) ? row->memory_bytes : NAN;
	total->last_ns = 0;
	total->has_histogram = is_whole && make_histogram(totals, total);
	if (total->has_histogram)
		memcpy(total->histogram, row->histogram, HISTOGRAM_BUCKETS * sizeof *total->histogram);
}

static void add_known(double *sum, double value)
{
	if (isfinite(value))
		*sum = (isnan(*sum) ? 0 : *sum) + value;
}

bool totals_add(struct totals *totals, struct total *total, uint64_t sequence, int64_t time_ns, double seconds,
	double self_s, double cpu_s, double memory_bytes)
{
	if (!total || sequence < total->upto)
		return false;
	total->is_changed = true;
	total->seen = sequence < UINT64_MAX ? sequence + 1 : sequence;
	bool is_first = total->count++ == 0;
	total->total_s += seconds;
	total->self_s += self_s;
	if (is_first || seconds < total->min_s)
		total->min_s = seconds;
	if (is_first || seconds > total->max_s)
		total->max_s = seconds;
	total->last_s = seconds;
	total->last_ns = time_ns;
	add_known(&total->cpu_s, cpu_s);
	add_known(&total->memory_bytes, memory_bytes);
	if (total->has_histogram && make_histogram(totals, total))
		total->histogram[histogram_bucket((uint64_t)fmin(seconds * 1e9 + 0.5, 0x1p62))]++;
	else
		total->has_histogram = false;
	return true;
}

void merged_total_init(struct merged_total *merged)
{
	/* The histogram is filled only when there is a second part. */
	merged->count = 0;
	merged->total_s = merged->self_s = 0;
	merged->min_s = merged->max_s = merged->last_s = merged->cpu_s = merged->memory_bytes = NAN;
	merged->last_ns = 0;
	merged->has_histogram = true;
	merged->parts = 0;
	merged->only = NULL;
}

static void merge_histogram(struct merged_total *merged, const uint32_t *counts)
{
	if (merged->parts == 0) {
		merged->only = counts;
		return;
	}
	if (merged->only)
		memcpy(merged->histogram, merged->only, sizeof merged->histogram);
	merged->only = NULL;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		merged->histogram[i] += counts[i];
}

void merged_total_add(struct merged_total *merged, const struct total *total)
{
	if (total->count == 0)
		return;
	bool is_first = merged->parts == 0;
	merged->count += total->count;
	merged->total_s += total->total_s;
	merged->self_s += total->self_s;
	/* If the extremes of one part are unknown, so are those of the sum. */
	merged->min_s = is_first || isnan(total->min_s) || total->min_s < merged->min_s ? total->min_s : merged->min_s;
	merged->max_s = is_first || isnan(total->max_s) || total->max_s > merged->max_s ? total->max_s : merged->max_s;
	if (is_first || total->last_ns > merged->last_ns) {
		merged->last_s = total->last_s;
		merged->last_ns = total->last_ns;
	}
	add_known(&merged->cpu_s, total->cpu_s);
	add_known(&merged->memory_bytes, total->memory_bytes);
	merged->has_histogram = merged->has_histogram && total->has_histogram && total->histogram;
	if (merged->has_histogram)
		merge_histogram(merged, total->histogram);
	merged->parts++;
}

void merged_total_quantiles(const struct merged_total *merged, double *p50_s, double *p95_s)
{
	double quantiles[2] = { NAN, NAN };
	if (merged->has_histogram && merged->parts > 0)
		histogram_quantiles(merged->only ? merged->only : merged->histogram, 2, (const double[]){ 0.5, 0.95 },
			merged->min_s, merged->max_s, quantiles);
	*p50_s = quantiles[0];
	*p95_s = quantiles[1];
}

void merged_total_figures(const struct merged_total *merged, struct figures *out)
{
	*out = (struct figures){
		.count = merged->count,
		.total_s = merged->total_s,
		.mean_s = merged->count ? merged->total_s / (double)merged->count : NAN,
		.min_s = merged->min_s,
		.max_s = merged->max_s,
		.last_s = merged->last_s,
	};
	merged_total_quantiles(merged, &out->p50_s, &out->p95_s);
}
