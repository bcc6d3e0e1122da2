/* What is judged, gathered once for each run and update. */
#include <math.h>
#include <string.h>

#include "src/model/statistics/statistics.h"
#include "src/rules/rule_figures.h"

/* The guides' bound: of the slowest to the fastest. */
#define SLOW_RATIO 2

/* The steps of one kind. */
struct of_kind {
	size_t count;
	double fastest_s, slowest_s, steps[RUN_RECENT];
};

static void add_step(struct of_kind *of, double step_s)
{
	of->fastest_s = of->count && of->fastest_s < step_s ? of->fastest_s : step_s;
	of->slowest_s = of->count && of->slowest_s > step_s ? of->slowest_s : step_s;
	of->steps[of->count++] = step_s;
}

static size_t count_slow(const struct of_kind *of)
{
	size_t count = 0;
	for (size_t i = 0; i < of->count; i++)
		count += of->steps[i] > SLOW_RATIO * of->fastest_s;
	return count;
}

/* Kinds differ in what they do: a spread is one within a kind, and the first step is held against its own. */
static void compare_kinds(struct look *look, struct of_kind kinds[RUN_KINDS_MAX])
{
	const struct track *track = look->track;
	bool is_first_known = track->slow_first_kind != NAME_BETWEEN;
	for (unsigned i = 0; i < RUN_KINDS_MAX; i++) {
		struct of_kind *of = &kinds[i];
		if (of->count == 0)
			continue;
		if (look->slowest_s * of->fastest_s <= of->slowest_s * look->fastest_s) {
			look->fastest_s = of->fastest_s;
			look->slowest_s = of->slowest_s;
			look->slow_count = count_slow(of);
			look->spread_kind = i < track->kind_count ? track->kinds[i].kind : NAME_NONE;
		}
		if (is_first_known && track_kind(track, track->slow_first_kind) != i)
			continue;
		double median_s = of->count == look->steps ? look->median_s : median_of(of->steps, of->count);
		look->first_usual_s =
			isnan(look->first_usual_s) || median_s > look->first_usual_s ? median_s : look->first_usual_s;
	}
}

/* Of the flagged steps those outside of the quarter that has the most of them: several batches after one disturbance
 * are one. `lost`: by step, 0 where it is not flagged. */
static void set_aside_densest(struct look *look, const double *lost, const bool *is_flagged)
{
	size_t length = (look->steps + 3) / 4, here = 0, most = 0;
	double here_s = 0, most_s = 0;
	for (size_t i = 0; i < look->steps; i++) {
		here += is_flagged[i];
		here_s += lost[i];
		if (here > most || (here == most && here_s > most_s)) {
			most = here;
			most_s = here_s;
		}
		if (i + 1 >= length) {
			here -= is_flagged[i + 1 - length];
			here_s -= lost[i + 1 - length];
		}
	}
	look->apart = look->flagged - most;
	look->lost_apart_s = look->lost_s - most_s;
}

/* From the newest back. The newest may have no step yet, and lost events leave holes, so a few more are looked at. */
static void gather_steps(struct look *look)
{
	double steps[RUN_RECENT], lost[RUN_RECENT], sum = 0;
	bool is_flagged[RUN_RECENT];
	struct of_kind kinds[RUN_KINDS_MAX];
	for (unsigned i = 0; i < RUN_KINDS_MAX; i++)
		kinds[i].count = 0;
	uint64_t count = look->track->count;
	for (uint64_t back = 1; back <= count && back <= 2 * RUN_RECENT && look->steps < RUN_RECENT; back++) {
		const struct batch *batch = track_batch(look->track, count - back);
		if (!batch || batch->is_warmup || !(batch->step_s > 0))
			continue;
		look->oldest = batch->ordinal;
		look->flagged += batch->is_flagged;
		is_flagged[look->steps] = batch->is_flagged;
		lost[look->steps] = batch->is_flagged && isfinite(batch->median_s) ? batch_pace_s(batch) - batch->median_s : 0;
		look->lost_s += lost[look->steps];
		sum += batch->step_s;
		add_step(&kinds[track_kind(look->track, batch->kind)], batch_pace_s(batch));
		steps[look->steps++] = batch_pace_s(batch);
	}
	if (look->steps) {
		look->mean_s = sum / (double)look->steps;
		look->median_s = median_of(steps, look->steps);
		look->first_usual_s = NAN;
		compare_kinds(look, kinds);
		set_aside_densest(look, lost, is_flagged);
	}
}

static void gather_phases(struct look *look)
{
	size_t batches, kept = 0, count = track_phases(look->track, RUN_RECENT, look->phases, LOOK_PHASES_MAX, &batches);
	for (size_t i = 0; i < count; i++)
		if (look->phases[i].depth == 0)
			look->phases[kept++] = look->phases[i];
	look->phase_count = kept;
}

void look_at(
	struct look *look, struct look_cache *cache, const struct model *model, int index, const struct patterns *patterns)
{
	*look = (struct look){ .model = model, .cache = cache, .patterns = patterns };
	cache->has_ranks = cache->has_cause = cache->has_stall = cache->has_crew = cache->has_load = false;
	if (index < 0)
		return;
	look->index = (unsigned)index;
	look->run = &model->runs[index];
	look->track = run_main(look->run);
	gather_steps(look);
	if (look->steps)
		gather_phases(look);
}

const struct ranks *look_ranks(const struct look *look)
{
	struct look_cache *cache = look->cache;
	if (!cache->has_ranks) {
		int run = look->run ? (int)look->index : ranks_any(look->model);
		ranks_compare(look->model, run < 0 ? look->model->run_count : (unsigned)run, &cache->ranks);
		cache->has_ranks = true;
	}
	return &cache->ranks;
}

const struct run *look_run(const struct look *look)
{
	if (look->run || look->model->run_count == 0)
		return look->run;
	const struct ranks *ranks = look_ranks(look);
	return &look->model->runs[ranks->slowest >= 0 ? ranks->list[ranks->slowest].run : 0];
}

/* -- what the newest flagged batches have in common -- */

static bool are_alike(const struct cause *a, const struct cause *b)
{
	return strcmp(a->what, b->what) == 0 || (cause_tells_clock(a->kind) && a->kind == b->kind && a->phase == b->phase);
}

static void add_share(struct cause *sums, size_t *count, const struct cause *cause)
{
	size_t at = 0;
	while (at < *count && !are_alike(&sums[at], cause))
		at++;
	double before = at < *count ? sums[at].share_ratio : 0;
	*count += at == *count;
	sums[at] = *cause;
	sums[at].share_ratio += before;
}

static const struct explained *explain_flagged(const struct look *look, const struct flagged *flagged)
{
	struct look_cache *cache = look->cache;
	for (unsigned i = 0; flagged->is_around_settled && i < FLAGGED_EXPLAINED; i++) {
		const struct explained *known = &cache->explained[i];
		if (known->run == look->index && known->begin_ns == flagged->batch.begin_ns &&
			known->step_s == batch_pace_s(&flagged->batch))
			return known;
	}
	struct explanation why;
	struct explained *out = &cache->explained[cache->explained_next++ % FLAGGED_EXPLAINED];
	explain_batch(look->run, &flagged->batch, &flagged->usual, flagged->around, &why);
	out->run = look->index;
	out->begin_ns = flagged->is_around_settled ? flagged->batch.begin_ns : -1;
	out->step_s = batch_pace_s(&flagged->batch);
	out->slow_ratio = why.ratio;
	out->cause_count = why.cause_count;
	memcpy(out->causes, why.causes, why.cause_count * sizeof *why.causes);
	return out;
}

static struct common_cause find_common_cause(const struct look *look)
{
	struct common_cause common = { 0 };
	struct cause sums[FLAGGED_EXPLAINED * EXPLAIN_CAUSES_MAX];
	size_t count = 0;
	for (size_t i = look->run->flagged_count; i-- > 0 && common.explained < FLAGGED_EXPLAINED;) {
		const struct flagged *flagged = &look->run->flagged[i];
		if (flagged->mode != look->track->mode || flagged->batch.ordinal < look->oldest)
			continue;
		const struct explained *why = explain_flagged(look, flagged);
		for (size_t k = 0; k < why->cause_count; k++)
			add_share(sums, &count, &why->causes[k]);
		common.explained += why->cause_count > 0;
		common.slow_ratio += why->cause_count > 0 ? why->slow_ratio : 0;
	}
	for (size_t i = 0; i < count; i++)
		if (sums[i].share_ratio > common.cause.share_ratio)
			common.cause = sums[i];
	common.slow_ratio /= (double)common.explained;
	common.cause.share_ratio /= (double)common.explained;
	return common;
}

const struct common_cause *look_cause(const struct look *look)
{
	if (!look->cache->has_cause) {
		look->cache->cause = look->run ? find_common_cause(look) : (struct common_cause){ 0 };
		look->cache->has_cause = true;
	}
	return &look->cache->cause;
}
