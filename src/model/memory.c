#include "src/model/model_private.h"

enum { SLOPE_POINTS = 120, SLOPE_SAMPLES_LEAST = 8 };
#define INTERVAL_FIRST_NS (NS_PER_S / 8)
#define INTERVAL_MOST_NS NS_PER_S
#define WINDOW_NS (600 * NS_PER_S)
#define GROWING_LEAST_S 4.0
#define PLATEAU_LEAST_S 10.0
#define NOTICEABLE_RATIO 0.005
#define NOTICEABLE_LEAST_BYTES 4e6

static void forget_slope(struct memory *memory)
{
	memory->slope = (struct slope){ NAN, NAN, NAN, 0 };
	memory->slope_per_batch = memory->slope_per_batch_low = memory->slope_per_batch_high = NAN;
	memory->verdict = "unknown";
}

static void forget_growth(struct model *model)
{
	model->memory.growth_bytes = NAN;
	model->memory.growth_since_ns = 0;
	model->private->trend.base_for_ns = -1;
}

void model_init_memory(struct model *model)
{
	model->memory = (struct memory){
		.rss_bytes = NAN, .peak_rss_bytes = NAN, .anonymous_bytes = NAN, .file_bytes = NAN, .shared_bytes = NAN, .swap_bytes = NAN, .tree_rss_bytes = NAN,
		.tree_peak_bytes = NAN, .growth_per_epoch = NAN, .grower_share_ratio = NAN, .limit_bytes = NAN, .limit_room_bytes = NAN, .limit_in_s = NAN,
	};
	model_restart_memory(model);
}

void model_restart_memory(struct model *model)
{
	model->private->trend.count = 0;
	model->private->trend.interval_ns = INTERVAL_FIRST_NS;
	forget_slope(&model->memory);
	forget_growth(model);
}

/* A zombie keeps its last figures, but no memory. */
static bool has_memory(const struct process *process)
{
	double state = process->now[METRIC_PROCESS_STATE];
	return !process->is_gone && state != 'Z' && state != 'X' && !isnan(process->now[METRIC_PROCESS_RESIDENT]);
}

static double sum_tree(const struct model *model)
{
	double sum = NAN;
	for (size_t i = 0; i < model->process_count; i++)
		if (has_memory(&model->processes[i]))
			sum = (isnan(sum) ? 0 : sum) + model->processes[i].now[METRIC_PROCESS_RESIDENT];
	return sum;
}

static void thin(struct memory_trend *trend)
{
	size_t kept = 0, step = trend->interval_ns < INTERVAL_MOST_NS ? 2 : 1, from = step == 2 ? 0 : TREND_SAMPLES_MOST / 4;
	for (size_t i = from; i < trend->count; i += step)
		trend->samples[kept++] = trend->samples[i];
	trend->count = kept;
	if (step == 2)
		trend->interval_ns *= 2;
}

static void add_sample(struct model *model)
{
	struct memory_trend *trend = &model->private->trend;
	if (trend->count && model->now_ns < trend->samples[trend->count - 1].time_ns + trend->interval_ns)
		return;
	if (trend->count == TREND_SAMPLES_MOST)
		thin(trend);
	trend->samples[trend->count].time_ns = model->now_ns;
	trend->samples[trend->count].bytes = model->memory.tree_rss_bytes;
	trend->samples[trend->count++].batches = model->run_count ? (double)run_main(&model->runs[0])->count : NAN;
}

/* Since when growth counts: the end of the last warm-up; 0 = since pmtop came; INT64_MAX = a warm-up is not over. */
static int64_t warmup_end(const struct model *model)
{
	int64_t end_ns = 0;
	for (unsigned i = 0; i < model->run_count; i++) {
		int64_t run_end_ns = run_warmup_end(&model->runs[i]);
		end_ns = run_end_ns > end_ns ? run_end_ns : end_ns;
	}
	return end_ns;
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
	struct memory_trend *trend = &model->private->trend;
	if (since_ns == INT64_MAX) {
		forget_growth(model);
		return;
	}
	size_t at = first_sample_since(trend, since_ns);
	if (trend->base_for_ns != since_ns && at < trend->count) {
		trend->base_for_ns = since_ns;
		trend->base_bytes = trend->samples[at].bytes;
		model->memory.growth_since_ns = trend->samples[at].time_ns;
	}
	if (trend->base_for_ns >= 0)
		model->memory.growth_bytes = model->memory.tree_rss_bytes - trend->base_bytes;
}

static void judge(struct memory *memory, double window_s)
{
	double noticeable = fmax(NOTICEABLE_RATIO * memory->tree_rss_bytes, NOTICEABLE_LEAST_BYTES);
	memory->verdict = "unknown";
	if (window_s >= GROWING_LEAST_S && memory->slope.low_per_s * window_s > noticeable)
		memory->verdict = "growing";
	else if (window_s >= PLATEAU_LEAST_S && memory->slope.high_per_s * window_s < noticeable)
		memory->verdict = "plateau";
}

static void refresh_slope(struct model *model, int64_t since_ns)
{
	struct memory_trend *trend = &model->private->trend;
	struct memory *memory = &model->memory;
	double time_s[SLOPE_POINTS], bytes[SLOPE_POINTS];
	forget_slope(memory);
	if (since_ns == INT64_MAX)
		return;
	int64_t window_ns = model->now_ns - WINDOW_NS;
	size_t from = first_sample_since(trend, since_ns > window_ns ? since_ns : window_ns), count = trend->count - from;
	if (count < SLOPE_SAMPLES_LEAST)
		return;
	size_t points = count < SLOPE_POINTS ? count : SLOPE_POINTS;
	for (size_t i = 0; i < points; i++) {
		size_t at = from + (points > 1 ? i * (count - 1) / (points - 1) : 0);
		time_s[i] = seconds_between(trend->samples[from].time_ns, trend->samples[at].time_ns);
		bytes[i] = trend->samples[at].bytes;
	}
	if (!theil_sen(time_s, bytes, points, &memory->slope))
		return;
	double window_s = time_s[points - 1], batches = trend->samples[trend->count - 1].batches - trend->samples[from].batches;
	if (batches > 0) {
		memory->slope_per_batch = memory->slope.per_s * window_s / batches;
		memory->slope_per_batch_low = memory->slope.low_per_s * window_s / batches;
		memory->slope_per_batch_high = memory->slope.high_per_s * window_s / batches;
	}
	judge(memory, window_s);
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

void model_refresh_memory(struct model *model)
{
	struct model_private *private = model->private;
	struct memory *memory = &model->memory;
	/* What stood when the target ended stays as its last picture. */
	if (!private->is_tree_changed || model->target_ended)
		return;
	private->is_tree_changed = false;
	refresh_target(model);
	double sum = sum_tree(model);
	if (isnan(sum))
		return;
	memory->tree_rss_bytes = sum;
	memory->tree_peak_bytes = fmax(memory->tree_peak_bytes, sum);
	series_push(model->series.tree_resident, model->now_ns, sum);
	add_sample(model);
	int64_t since_ns = warmup_end(model);
	refresh_growth(model, since_ns);
	if (private->trend.renewed_ns && model->now_ns < private->trend.renewed_ns + NS_PER_S)
		return;
	private->trend.renewed_ns = model->now_ns;
	refresh_slope(model, since_ns);
}
