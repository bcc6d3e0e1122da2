#include "src/model/run/figures/run_histogram.h"

#include <math.h>

#include "src/model/run/figures/totals.h"
#include "src/model/run/run_private.h"

static void add_counts(
	const uint32_t counts[HISTOGRAM_BUCKETS], const struct run_bounds *bounds, struct run_histogram *into)
{
	double middle = exp2(0.5 / HISTOGRAM_PER_OCTAVE) * 1e-9;
	size_t bucket = 0;
	uint64_t sum = 0;
	for (size_t i = 0; i < bounds->count; i++) {
		while (bucket < HISTOGRAM_BUCKETS && histogram_lower_ns(bucket) * middle <= bounds->s[i])
			sum += counts[bucket++];
		into->cumulative[i] += sum;
	}
	while (bucket < HISTOGRAM_BUCKETS)
		sum += counts[bucket++];
	into->count += sum;
}

static bool is_of(const struct total *total, const struct total_key *key)
{
	return total->count && total->key.kind == key->kind && total->key.mode == key->mode &&
		(key->kind != TOTAL_SPAN || (total->key.name == key->name && total->key.parent == key->parent));
}

/* None, if the durations of one part are unknown. */
static bool add_totals(
	const struct run *run, const struct total_key *key, const struct run_bounds *bounds, struct run_histogram *into)
{
	const struct totals *totals = &run->priv->totals;
	struct run_histogram sum = { 0 };
	for (size_t i = 0; i < totals->count; i++) {
		const struct total *total = &totals->list[i];
		if (!is_of(total, key))
			continue;
		if (!total->has_histogram || !total->histogram || isnan(total->total_s))
			return false;
		add_counts(total->histogram, bounds, &sum);
		sum.total_s += total->total_s;
	}
	into->count += sum.count;
	into->total_s += sum.total_s;
	for (size_t i = 0; i < bounds->count; i++)
		into->cumulative[i] += sum.cumulative[i];
	return sum.count > 0;
}

bool run_histogram_add_steps(
	const struct run *run, const struct track *track, const struct run_bounds *bounds, struct run_histogram *into)
{
	struct total_key key = { .kind = TOTAL_STEP, .mode = track->mode };
	const struct track_private *priv = track->priv;
	if (!run->priv || add_totals(run, &key, bounds, into))
		return run->priv != NULL;
	if (!priv || !priv->judged_counts || !priv->judged.count)
		return false;
	add_counts(priv->judged_counts, bounds, into);
	into->total_s += priv->judged.total_s;
	return true;
}

bool run_histogram_add_spans(
	const struct run *run, uint32_t mode, uint32_t name, const struct run_bounds *bounds, struct run_histogram *into)
{
	struct total_key key = { .kind = TOTAL_SPAN, .mode = mode, .name = name, .parent = NAME_NONE };
	return run->priv && add_totals(run, &key, bounds, into);
}
