#include "src/model/memory/memory.h"
#include "src/model/machine/processes.h"
#include "src/model/memory/memory_limits.h"
#include "src/model/memory/memory_parts.h"
#include "src/model/memory/memory_spikes.h"
#include "src/model/memory/memory_verdict.h"
#include "src/model/model_private.h"
#include "src/model/run/steps/judge.h"

#define INTERVAL_FIRST_NS (NS_PER_S / 8)
#define INTERVAL_MAX_NS NS_PER_S
#define WINDOW_NS (600 * NS_PER_S)

static void forget_growth(struct model *model)
{
	model->memory.growth_bytes = NAN;
	model->memory.growth_since_ns = 0;
	model->priv->trend.base_for_ns = -1;
}

void model_init_memory(struct model *model)
{
	model->memory = (struct memory){
		.rss_bytes = NAN,
		.peak_rss_bytes = NAN,
		.anonymous_bytes = NAN,
		.file_bytes = NAN,
		.shared_bytes = NAN,
		.swap_bytes = NAN,
		.tree_rss_bytes = NAN,
		.tree_peak_bytes = NAN,
		.tree_anonymous_bytes = NAN,
		.tree_file_bytes = NAN,
		.tree_shared_bytes = NAN,
		.growth_per_epoch = NAN,
		.grower_share_ratio = NAN,
		.limit_bytes = NAN,
		.limit_room_bytes = NAN,
		.limit_in_s = NAN,
		.spike_bytes = NAN,
	};
	model->priv->spikes.baseline = rolling_new(BASELINE_POINTS);
	model_restart_memory(model);
}

void model_free_memory(struct model *model) { rolling_free(model->priv->spikes.baseline); }

void model_restart_memory(struct model *model)
{
	struct model_private *priv = model->priv;
	priv->trend.count = 0;
	priv->trend.interval_ns = INTERVAL_FIRST_NS;
	priv->trend.basis = (struct memory_basis){ PART_ANONYMOUS, PART_SHARED, PART_FILE };
	for (size_t i = 0; i < model->process_count; i++)
		priv->pasts[i].growth = (struct process_growth){ 0 };
	rolling_clear(priv->spikes.baseline);
	priv->spikes.since_ns = 0;
	memory_forget_slope(model);
	forget_growth(model);
}

static void halve_samples(struct memory_trend *trend)
{
	size_t retained = 0, step = trend->interval_ns < INTERVAL_MAX_NS ? 2 : 1,
		   from = step == 2 ? 0 : TREND_SAMPLES_MAX / 4;
	for (size_t i = from; i < trend->count; i += step)
		trend->samples[retained++] = trend->samples[i];
	trend->count = retained;
	if (step == 2)
		trend->interval_ns *= 2;
}

static void add_sample(struct memory_trend *trend)
{
	if (trend->count && trend->now.time_ns < trend->samples[trend->count - 1].time_ns + trend->interval_ns)
		return;
	if (trend->count == TREND_SAMPLES_MAX)
		halve_samples(trend);
	trend->samples[trend->count++] = trend->now;
}

static void note_begin(struct model *model)
{
	struct memory_trend *trend = &model->priv->trend;
	if (!(trend->now.batches >= model->options.warmup_max))
		trend->begun_ns = trend->now.time_ns;
}

/* Of a run whose warm-up is unknown, because its first batch was not seen: the first batches, and what was
 * before them (imports, the model). */
static int64_t begin_end(const struct model *model)
{
	const struct memory_trend *trend = &model->priv->trend;
	if (!(trend->now.batches > 0))
		return 0;
	return trend->now.batches >= model->options.warmup_max ? trend->begun_ns : INT64_MAX;
}

/* From when on growth counts: the end of the last warm-up; 0 = since pmtop attached; INT64_MAX = a warm-up is still in
 * progress. */
static int64_t warmup_end(const struct model *model)
{
	int64_t end_ns = 0;
	for (unsigned i = 0; i < model->run_count; i++) {
		int64_t run_end_ns = run_warmup_end(&model->runs[i]);
		end_ns = run_end_ns > end_ns ? run_end_ns : end_ns;
	}
	return end_ns ? end_ns : begin_end(model);
}

static size_t first_sample_since(const struct memory_trend *trend, int64_t since_ns)
{
	size_t at = 0;
	while (at < trend->count && trend->samples[at].time_ns < since_ns)
		at++;
	return at;
}

static void refresh_growth(struct model *model, int64_t since_ns)
{
	struct memory_trend *trend = &model->priv->trend;
	if (since_ns == INT64_MAX) {
		forget_growth(model);
		return;
	}
	size_t at = first_sample_since(trend, since_ns);
	if (trend->base_for_ns != since_ns && at < trend->count) {
		trend->base_for_ns = since_ns;
		trend->base = trend->samples[at];
		model->memory.growth_since_ns = trend->samples[at].time_ns;
	}
	if (trend->base_for_ns >= 0)
		model->memory.growth_bytes =
			memory_retained(&trend->now, trend->basis) - memory_retained(&trend->base, trend->basis);
}

static void refresh_target(struct model *model)
{
	const struct process *target = model_target(model);
	struct memory *memory = &model->memory;
	if (!target)
		return;
	memory->rss_bytes = target->now[METRIC_PROCESS_RESIDENT];
	memory->peak_rss_bytes = target->now[METRIC_PROCESS_RESIDENT_PEAK];
	if (memory->peak_rss_bytes < memory->rss_bytes)
		memory->peak_rss_bytes = memory->rss_bytes;
	memory->anonymous_bytes = target->now[METRIC_PROCESS_ANONYMOUS];
	memory->file_bytes = target->now[METRIC_PROCESS_FILE];
	memory->shared_bytes = target->now[METRIC_PROCESS_SHARED];
	memory->swap_bytes = target->now[METRIC_PROCESS_SWAP];
}

static void push_series(struct model *model)
{
	const struct memory *memory = &model->memory;
	const struct {
		struct series *series;
		double bytes;
	} rows[] = {
		{ model->series.tree_resident, memory->tree_rss_bytes },
		{ model->series.tree_anonymous, memory->tree_anonymous_bytes },
		{ model->series.tree_file, memory->tree_file_bytes },
		{ model->series.tree_shared, memory->tree_shared_bytes },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!isnan(rows[i].bytes))
			series_push(rows[i].series, model->now_ns, rows[i].bytes);
}

/* Judges the memory, once per second. */
static void renew(struct model *model, int64_t since_ns)
{
	struct memory_trend *trend = &model->priv->trend;
	int64_t window_ns = model->now_ns - WINDOW_NS;
	if (trend->renewed_ns && model->now_ns < trend->renewed_ns + NS_PER_S)
		return;
	trend->renewed_ns = model->now_ns;
	memory_note_processes(model);
	if (since_ns == INT64_MAX) {
		memory_forget_slope(model);
	} else {
		size_t from = first_sample_since(trend, since_ns > window_ns ? since_ns : window_ns);
		memory_choose_basis(model, from);
		memory_judge(model, from);
	}
	memory_find_limit(model);
}

void model_refresh_memory(struct model *model)
{
	struct model_private *priv = model->priv;
	struct memory *memory = &model->memory;
	/* After the target's end the last figures stay on the screen. */
	if (!priv->is_tree_changed || model->target_ended)
		return;
	priv->is_tree_changed = false;
	refresh_target(model);
	memory_take_parts(model, &priv->trend.now);
	if (isnan(memory->tree_rss_bytes))
		return;
	memory->tree_peak_bytes = fmax(memory->tree_peak_bytes, memory->tree_rss_bytes);
	push_series(model);
	add_sample(&priv->trend);
	note_begin(model);
	int64_t since_ns = warmup_end(model);
	memory_watch_spikes(model, since_ns != INT64_MAX);
	refresh_growth(model, since_ns);
	renew(model, since_ns);
}
