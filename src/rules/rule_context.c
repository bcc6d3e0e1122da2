/* The context of rules: steps and phases of a run, gathered once for each update. */
#include "src/rules/rule_context.h"

#include <math.h>
#include <string.h>

#include "src/explain/causes/causes_words.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/run/known_names.h"
#include "src/model/run/steps/baseline.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/run/steps/tracks.h"
#include "src/model/statistics/statistics.h"
#include "src/rules/rule_figures.h"

/* The guides' limit for slowest ÷ fastest step. */
#define SLOW_RATIO 2

/* The steps of one kind. */
struct of_kind {
	size_t count;
	double fastest_s, slowest_s, steps[RUN_RECENT];
	double own_s[RUN_RECENT]; /* without waits for a CPU */
};

static void add_step(struct of_kind *of, double step_s, double wait_s)
{
	of->own_s[of->count] = wait_s > 0 && wait_s < step_s ? step_s - wait_s : step_s;
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

static double typical_spread(const struct of_kind *of)
{
	double steps[RUN_RECENT];
	memcpy(steps, of->own_s, of->count * sizeof *steps);
	sort_ascending(steps, of->count);
	return quantile_of_sorted(steps, of->count, 0.95) / quantile_of_sorted(steps, of->count, 0.05);
}

/* Kinds differ in their work, so the spread is measured within a kind, and the first step compared with its own kind.
 */
static void compare_kinds(struct context *context, struct of_kind kinds[RUN_KINDS_MAX])
{
	const struct track *track = context->track;
	bool is_first_known = track->slow_first_kind != NAME_BETWEEN;
	for (unsigned i = 0; i < RUN_KINDS_MAX; i++) {
		struct of_kind *of = &kinds[i];
		if (of->count == 0)
			continue;
		if (context->slowest_s * of->fastest_s <= of->slowest_s * context->fastest_s) {
			context->fastest_s = of->fastest_s;
			context->slowest_s = of->slowest_s;
			context->slow_count = count_slow(of);
			context->typical_ratio = typical_spread(of);
			context->spread_kind = i < track->kind_count ? track->kinds[i].kind : NAME_NONE;
		}
		if (is_first_known && track_kind(track, track->slow_first_kind) != i)
			continue;
		double median_s = of->count == context->steps ? context->median_s : median_of(of->steps, of->count);
		context->first_baseline_s = isnan(context->first_baseline_s) || median_s > context->first_baseline_s
			? median_s
			: context->first_baseline_s;
	}
}

/* Counts the flagged steps outside the quarter of the steps with the most of them, since several slow batches after one
 * disturbance are one incident. `lost`: excess by step, 0 if not flagged. */
static void set_aside_densest(struct context *context, const double *lost, const bool *is_flagged)
{
	size_t length = (context->steps + 3) / 4, here = 0, max = 0;
	double here_s = 0, max_s = 0;
	for (size_t i = 0; i < context->steps; i++) {
		here += is_flagged[i];
		here_s += lost[i];
		if (here > max || (here == max && here_s > max_s)) {
			max = here;
			max_s = here_s;
		}
		if (i + 1 >= length) {
			here -= is_flagged[i + 1 - length];
			here_s -= lost[i + 1 - length];
		}
	}
	context->apart = context->flagged - max;
	context->lost_apart_s = context->lost_s - max_s;
}

/* Planned work, not a disturbance: an evaluation, found by its span before its period is known. */
static bool is_planned(const struct context *context, const struct batch *batch)
{
	double excess_s = batch_pace_s(batch) - batch->median_s;
	for (unsigned i = 0; i < batch->phase_count; i++)
		if (batch->phases[i].parent == NAME_NONE && run_name_is(context->run, batch->phases[i].name, KNOWN_INFERENCE) &&
			2 * (double)batch->phases[i].seconds > excess_s)
			return true;
	return patterns_plan(context->patterns, context->run, batch);
}

/* Newest first. The newest batch may have no step yet, and lost events leave gaps: reads up to twice RUN_RECENT
 * batches. */
static void gather_steps(struct context *context)
{
	double steps[RUN_RECENT], lost[RUN_RECENT], sum = 0;
	bool is_flagged[RUN_RECENT];
	struct of_kind kinds[RUN_KINDS_MAX];
	for (unsigned i = 0; i < RUN_KINDS_MAX; i++)
		kinds[i].count = 0;
	uint64_t count = context->track->count;
	for (uint64_t back = 1; back <= count && back <= 2 * RUN_RECENT && context->steps < RUN_RECENT; back++) {
		const struct batch *batch = track_batch(context->track, count - back);
		if (!batch || batch->is_warmup || !(batch->step_s > 0))
			continue;
		context->oldest = batch->ordinal;
		bool counts = batch->is_flagged && !is_planned(context, batch);
		context->flagged += counts;
		is_flagged[context->steps] = counts;
		lost[context->steps] = counts && isfinite(batch->median_s) ? batch_pace_s(batch) - batch->median_s : 0;
		context->lost_s += lost[context->steps];
		sum += batch->step_s;
		add_step(&kinds[track_kind(context->track, batch->kind)], batch_pace_s(batch),
			batch->has_evidence ? batch->evidence.run_queue_wait_s : NAN);
		steps[context->steps++] = batch_pace_s(batch);
	}
	if (context->steps) {
		context->mean_s = sum / (double)context->steps;
		context->median_s = median_of(steps, context->steps);
		context->first_baseline_s = NAN;
		compare_kinds(context, kinds);
		set_aside_densest(context, lost, is_flagged);
	}
}

/* A function that compiles within a span is no outermost phase. */
static void add_compile(struct context *context, const struct phase_row *phase)
{
	if (!run_name_is(context->run, phase->name, KNOWN_COMPILE))
		return;
	context->compile_share_ratio += phase->share_ratio;
	if (phase->median_s > context->compile_median_s)
		context->compile_median_s = phase->median_s;
}

/* The steps of an inferred run follow each other: what lies between two is a pause, a validation for example, whose
 * pass is unknown. */
static bool is_a_pause(const struct context *context, const struct phase_row *phase)
{
	return context->run->is_counted && phase_kind(context->run, phase->name) == PHASE_BETWEEN;
}

static void gather_phases(struct context *context)
{
	size_t batches, retained = 0,
					count = track_phases(context->track, RUN_RECENT, context->phases, READ_PHASES_MAX, &batches);
	context->compile_share_ratio = context->compile_median_s = 0;
	for (size_t i = 0; i < count; i++) {
		add_compile(context, &context->phases[i]);
		if (context->phases[i].depth == 0 && !is_a_pause(context, &context->phases[i]))
			context->phases[retained++] = context->phases[i];
	}
	context->phase_count = retained;
}

void rule_context_init(struct context *context, struct rule_cache *cache, const struct model *model, int index,
	const struct patterns *patterns)
{
	*context = (struct context){
		.model = model, .cache = cache, .patterns = patterns, .compile_share_ratio = NAN, .compile_median_s = NAN
	};
	cache->has_ranks = cache->has_cause = cache->has_stall = cache->has_worker_group = cache->has_load =
		cache->has_collectives = false;
	if (index < 0)
		return;
	context->index = (unsigned)index;
	context->run = &model->runs[index];
	context->track = run_main(context->run);
	gather_steps(context);
	if (context->steps)
		gather_phases(context);
}

const struct ranks *context_ranks(const struct context *context)
{
	struct rule_cache *cache = context->cache;
	if (!cache->has_ranks) {
		int run = context->run ? (int)context->index : ranks_any(context->model);
		ranks_compare(context->model, run < 0 ? context->model->run_count : (unsigned)run, &cache->ranks);
		cache->has_ranks = true;
	}
	return &cache->ranks;
}

const struct run *context_run(const struct context *context)
{
	if (context->run || context->model->run_count == 0)
		return context->run;
	const struct ranks *ranks = context_ranks(context);
	return &context->model->runs[ranks->slowest >= 0 ? ranks->list[ranks->slowest].run : 0];
}

/* -- the common cause of the newest flagged batches -- */

static bool are_alike(const struct cause *a, const struct cause *b)
{
	bool is_of_holder = a->kind == CAUSE_GIL && b->kind == CAUSE_GIL && cause_is_at_same_line(a, b);
	/* The line of another rank is known in some batches only: stacks are sampled. */
	bool is_of_rank = a->kind == CAUSE_RANK && a->kind == b->kind && a->rank[0] && strcmp(a->rank, b->rank) == 0;
	return strcmp(a->what, b->what) == 0 || is_of_holder || is_of_rank ||
		(cause_has_figures(a) && a->kind == b->kind && a->phase == b->phase);
}

static void add_share(struct cause *sums, size_t *count, const struct cause *cause)
{
	size_t at = 0;
	while (at < *count && !are_alike(&sums[at], cause))
		at++;
	bool is_new = at == *count;
	double before = is_new ? 0 : sums[at].share_ratio;
	*count += is_new;
	if (is_new || cause->file || !sums[at].file)
		sums[at] = *cause;
	sums[at].share_ratio = before + cause->share_ratio;
}

static struct common_cause find_common_cause(const struct context *context)
{
	struct common_cause common = { 0 };
	struct cause sums[FLAGGED_EXPLAINED * EXPLAIN_CAUSES_MAX];
	size_t count = 0;
	for (size_t i = context->run->flagged_count; i-- > 0 && common.explained < FLAGGED_EXPLAINED;) {
		const struct flagged *flagged = &context->run->flagged[i];
		if (flagged->mode != context->track->mode || flagged->batch.ordinal < context->oldest ||
			is_planned(context, &flagged->batch))
			continue;
		const struct explanation *why = flagged_explanation(flagged);
		for (size_t k = 0; k < why->cause_count; k++)
			add_share(sums, &count, &why->causes[k]);
		common.explained += why->cause_count > 0;
		common.slow_ratio += why->cause_count > 0 ? why->ratio : 0;
	}
	for (size_t i = 0; i < count; i++)
		if (sums[i].share_ratio > common.cause.share_ratio)
			common.cause = sums[i];
	common.slow_ratio /= (double)common.explained;
	common.cause.share_ratio /= (double)common.explained;
	return common;
}

const struct common_cause *context_cause(const struct context *context)
{
	if (!context->cache->has_cause) {
		context->cache->cause = context->run ? find_common_cause(context) : (struct common_cause){ 0 };
		context->cache->has_cause = true;
	}
	return &context->cache->cause;
}
