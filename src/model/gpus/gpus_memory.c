#include "src/model/gpus/gpus_memory.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/gpus/gpus_private.h"
#include "src/model/gpus/gpus_runs.h"
#include "src/model/gpus/gpus_words.h"
#include "src/model/run/steps/judge.h"

enum { BLOCKS = 48, LAST_BLOCKS_MIN = 8, SAMPLES_MIN = 4, LEAK_BATCHES_MIN = 50 };
#define WINDOW_NS (600 * NS_PER_S)
#define INTERVAL_MAX_NS (2 * NS_PER_S)
#define NOTICEABLE_RATIO 0.01
#define NOTICEABLE_MIN_BYTES 8e6
#define GROWING_MIN_S 4.0
#define PLATEAU_MIN_S 10.0
#define FLAT_MIN_S 30.0
#define LEAK_MIN_S 15.0
#define LEAK_RATIO 0.01
#define LEAK_MIN_BYTES 16e6
#define FRAGMENT_RATIO 0.3
#define FRAGMENT_MIN_BYTES 512e6
/* An allocator belongs to a GPU that has ALONE_RATIO of its run's memory, or at least LAG_RATIO of its reserved bytes
 * (the two are read seconds apart) plus at most a context and libraries. */
#define ALONE_RATIO 0.67
#define LAG_RATIO 0.9
#define LIBRARIES_RATIO 0.25
#define LIBRARIES_BYTES 3e9

/* One figure over the window: means of blocks of samples, and their slope. */
struct line {
	bool is_known;
	size_t blocks;
	double time_s[BLOCKS], bytes[BLOCKS];
	struct slope whole, last; /* last: of the last third */
	double grown, min, max;
};

struct curve {
	const struct gpu_trend *trend;
	size_t from;
	double window_s, batches, noticeable;
	/* taken: memory of the processes, or, if that is hidden, what the allocator has reserved */
	struct line taken, allocated, reserved, peak, split;
};

void gpu_forget_memory(struct gpu *gpu)
{
	gpu->verdict = MEMORY_UNKNOWN;
	gpu->slope = (struct slope){ NAN, NAN, NAN, 0 };
	gpu->slope_per_batch = gpu->full_in_s = NAN;
}

/* -- samples -- */

static double add_known(double sum, double value) { return isnan(value) ? sum : isnan(sum) ? value : sum + value; }

static double gauge_of(const struct run *run, const char *name)
{
	double value = NAN;
	return run_gauge(run, name, &value, NULL) && value >= 0 ? value : NAN;
}

/* A run publishes one allocator, that of its current device. If it uses several GPUs, the allocator belongs to those
 * where its processes have about its reserved memory (see ALONE_RATIO). */
static bool has_its_allocator(
	const struct model *model, const struct run *run, const struct gpu *gpu, const struct allocator *allocator)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t count = run_gpus(model, run, gpus);
	double here = NAN, all = 0, taken = allocator->reserved_bytes;
	for (size_t i = 0; i < count; i++) {
		double bytes = gpu_memory_of_run(model, run, gpus[i]);
		all += isnan(bytes) ? 0 : bytes;
		if (gpus[i] == gpu)
			here = count == 1 ? INFINITY : bytes;
	}
	return here > ALONE_RATIO * all ||
		(here > LAG_RATIO * taken && here < taken + fmax(LIBRARIES_RATIO * taken, LIBRARIES_BYTES));
}

/* False: a warm-up is still in progress. *since_ns: the end of the last one. */
static bool add_runs(const struct model *model, const struct gpu *gpu, struct gpu_sample *sample, int64_t *since_ns)
{
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *run = &model->runs[i];
		struct allocator allocator = run_allocator(run);
		if (!run->is_used || !run->is_live || !has_its_allocator(model, run, gpu, &allocator))
			continue;
		int64_t end_ns = run_warmup_end(run);
		*since_ns = end_ns > *since_ns ? end_ns : *since_ns;
		sample->batches = isnan(sample->batches) ? (double)run_main(run)->count : sample->batches;
		sample->allocated_bytes = add_known(sample->allocated_bytes, allocator.allocated_bytes);
		sample->reserved_bytes = add_known(sample->reserved_bytes, allocator.reserved_bytes);
		sample->peak_bytes = add_known(sample->peak_bytes, allocator.peak_bytes);
		sample->split_bytes = add_known(sample->split_bytes, gauge_of(run, "cuda.inactive_split_bytes"));
	}
	return *since_ns != INT64_MAX;
}

static void halve_samples(struct gpu_trend *trend)
{
	size_t retained = 0, step = trend->interval_ns < INTERVAL_MAX_NS ? 2 : 1, from = step == 2 ? 0 : GPU_TREND_MAX / 4;
	for (size_t i = from; i < trend->count; i += step)
		trend->samples[retained++] = trend->samples[i];
	trend->count = retained;
	trend->interval_ns *= (int64_t)step;
}

/* False: too soon after the previous sample. */
static bool add_sample(struct gpu_trend *trend, const struct gpu_sample *sample)
{
	if (trend->count && sample->time_ns < trend->samples[trend->count - 1].time_ns + trend->interval_ns)
		return false;
	if (trend->count == GPU_TREND_MAX)
		halve_samples(trend);
	trend->samples[trend->count++] = *sample;
	return true;
}

static size_t first_since(const struct gpu_trend *trend, int64_t since_ns)
{
	size_t at = 0;
	while (at < trend->count && trend->samples[at].time_ns < since_ns)
		at++;
	return at;
}

/* -- lines -- */

typedef double part_of_sample(const struct gpu_sample *sample);
#define PART_OF_SAMPLE(name) \
	static double name##_of(const struct gpu_sample *sample) { return sample->name; }
GPU_TREND_PARTS(PART_OF_SAMPLE)
#undef PART_OF_SAMPLE

/* Skips blocks without a known value. */
static void fill_blocks(const struct curve *curve, part_of_sample *part, struct line *line)
{
	const struct gpu_trend *trend = curve->trend;
	size_t count = trend->count - curve->from, blocks = count < BLOCKS ? count : BLOCKS;
	for (size_t block = 0; block < blocks; block++) {
		size_t first = curve->from + block * count / blocks, end = curve->from + (block + 1) * count / blocks,
			   known = 0;
		double time_s = 0, bytes = 0;
		for (size_t i = first; i < end; i++) {
			double value = part(&trend->samples[i]);
			if (isnan(value))
				continue;
			time_s += seconds_between(trend->samples[curve->from].time_ns, trend->samples[i].time_ns);
			bytes += value;
			known++;
		}
		if (known == 0)
			continue;
		line->time_s[line->blocks] = time_s / (double)known;
		line->bytes[line->blocks++] = bytes / (double)known;
	}
}

static void draw(const struct curve *curve, part_of_sample *part, struct line *line)
{
	fill_blocks(curve, part, line);
	line->is_known = theil_sen(line->time_s, line->bytes, line->blocks, &line->whole);
	if (!line->is_known)
		return;
	size_t last = line->blocks / 3 > LAST_BLOCKS_MIN ? line->blocks / 3 : LAST_BLOCKS_MIN, first = line->blocks - last;
	if (2 * last > line->blocks || !theil_sen(line->time_s + first, line->bytes + first, last, &line->last))
		line->last.points = 0;
	line->grown = line->bytes[line->blocks - 1] - line->bytes[0];
	line->min = line->max = line->bytes[0];
	for (size_t i = 1; i < line->blocks; i++) {
		line->min = fmin(line->min, line->bytes[i]);
		line->max = fmax(line->max, line->bytes[i]);
	}
}

static bool has_come_to_rest(const struct curve *curve, const struct line *line)
{
	return curve->window_s >= FLAT_MIN_S && line->last.points &&
		line->last.high_per_s * curve->window_s / 3 < curve->noticeable &&
		line->last.per_s <= 0.25 * fmax(line->whole.per_s, 0);
}

static bool grows(const struct curve *curve, const struct line *line)
{
	return line->is_known && curve->window_s >= GROWING_MIN_S &&
		line->whole.low_per_s * curve->window_s > curve->noticeable && !has_come_to_rest(curve, line);
}

/* An unknown figure counts as at rest. */
static bool rests(const struct curve *curve, const struct line *line)
{
	return !line->is_known || line->whole.high_per_s * curve->window_s < curve->noticeable ||
		has_come_to_rest(curve, line);
}

/* -- the verdict -- */

static bool is_leak(const struct curve *curve)
{
	const struct line *line = &curve->allocated;
	bool is_steady = line->last.points && line->last.per_s >= 0.5 * line->whole.per_s;
	bool falls_back = line->max - line->bytes[line->blocks - 1] > line->grown / 3;
	return curve->window_s >= LEAK_MIN_S && curve->batches >= LEAK_BATCHES_MIN &&
		line->grown >= fmax(LEAK_RATIO * line->max, LEAK_MIN_BYTES) && is_steady && !falls_back;
}

static double newest(const struct line *line) { return line->bytes[line->blocks - 1]; }

/* The allocator reserves more only if no free block is large enough. Without the peak, the need within a batch is
 * unknown. */
static bool is_fragmentation(const struct curve *curve)
{
	if (!curve->reserved.is_known)
		return false;
	double taken = newest(&curve->reserved), split = curve->split.is_known ? newest(&curve->split) : NAN;
	if (grows(curve, &curve->split) && split > FRAGMENT_MIN_BYTES && split > 0.5 * (taken - newest(&curve->allocated)))
		return true;
	if (!curve->peak.is_known || grows(curve, &curve->peak))
		return false;
	double throttled = fmax(curve->peak.max, curve->allocated.max);
	return taken - throttled > fmax(FRAGMENT_MIN_BYTES, FRAGMENT_RATIO * throttled);
}

static enum memory_verdict verdict_of(const struct curve *curve)
{
	bool is_taken_more = grows(curve, &curve->taken) || grows(curve, &curve->reserved);
	if (grows(curve, &curve->allocated))
		return is_leak(curve) ? MEMORY_LEAK : MEMORY_GROWING;
	if (is_taken_more && curve->allocated.is_known && rests(curve, &curve->allocated))
		return is_fragmentation(curve) ? MEMORY_FRAGMENTATION : MEMORY_CACHE;
	if (is_taken_more)
		return MEMORY_GROWING;
	if (curve->window_s >= PLATEAU_MIN_S && rests(curve, &curve->taken) && rests(curve, &curve->reserved) &&
		rests(curve, &curve->allocated))
		return MEMORY_PLATEAU;
	return MEMORY_UNKNOWN;
}

/* The allocator uses its free blocks before it reserves more. */
static double room_of(const struct gpu *gpu, const struct curve *curve)
{
	double retained = gpu_now(gpu, METRIC_GPU_MEMORY_RESERVED);
	double room =
		gpu_now(gpu, METRIC_GPU_MEMORY) - gpu_now(gpu, METRIC_GPU_MEMORY_USED) - (isnan(retained) ? 0 : retained);
	if (gpu->verdict == MEMORY_LEAK && curve->reserved.is_known)
		room += fmax(newest(&curve->reserved) - newest(&curve->allocated), 0);
	return fmax(room, 0);
}

static void conclude(struct gpu *gpu, const struct curve *curve)
{
	gpu->verdict = verdict_of(curve);
	const struct line *line = gpu->verdict == MEMORY_LEAK || !curve->taken.is_known ? &curve->allocated : &curve->taken;
	gpu->slope = line->whole;
	if (curve->batches > 0)
		gpu->slope_per_batch = line->whole.per_s * curve->window_s / curve->batches;
	if (gpu_memory_is_growing(gpu) && line->whole.per_s > 0 && !isnan(gpu_now(gpu, METRIC_GPU_MEMORY_USED)) &&
		!isnan(gpu_now(gpu, METRIC_GPU_MEMORY)))
		gpu->full_in_s = room_of(gpu, curve) / line->whole.per_s;
}

static void judge(struct gpu *gpu, const struct gpu_trend *trend, size_t from)
{
	struct curve curve = { .trend = trend, .from = from };
	gpu_forget_memory(gpu);
	if (trend->count < from + SAMPLES_MIN)
		return;
	const struct gpu_sample *first = &trend->samples[from], *last = &trend->samples[trend->count - 1];
	curve.window_s = seconds_between(first->time_ns, last->time_ns);
	curve.batches = last->batches - first->batches;
	draw(&curve, isnan(last->run_bytes) ? reserved_bytes_of : run_bytes_of, &curve.taken);
	draw(&curve, allocated_bytes_of, &curve.allocated);
	if (!curve.taken.is_known && !curve.allocated.is_known)
		return;
	draw(&curve, reserved_bytes_of, &curve.reserved);
	draw(&curve, peak_bytes_of, &curve.peak);
	draw(&curve, split_bytes_of, &curve.split);
	curve.noticeable =
		fmax(NOTICEABLE_RATIO * newest(curve.taken.is_known ? &curve.taken : &curve.allocated), NOTICEABLE_MIN_BYTES);
	conclude(gpu, &curve);
}

static struct gpu_trend *trend_of(struct gpu_past *past)
{
	if (!past->trend && (past->trend = calloc(1, sizeof *past->trend)))
		past->trend->interval_ns = NS_PER_S;
	return past->trend;
}

/* A GPU with parts (MIG) is judged by its parts. */
void gpus_judge_memory(struct model *model)
{
	for (size_t i = 0; i < model->gpus.count; i++) {
		struct gpu *gpu = &model->gpus.gpus[i];
		struct gpu_trend *trend =
			gpu->is_ours && !gpu_has_parts(model, gpu) ? trend_of(&model->priv->gpus->pasts[i]) : NULL;
		struct gpu_sample sample = { model->now_ns, NAN, gpu->run_memory_bytes, NAN, NAN, NAN, NAN };
		int64_t since_ns = 0, window_ns = model->now_ns - WINDOW_NS;
		if (!trend) {
			gpu_forget_memory(gpu);
			continue;
		}
		bool is_warm = add_runs(model, gpu, &sample, &since_ns), is_new = add_sample(trend, &sample);
		if (!is_warm)
			gpu_forget_memory(gpu);
		else if (is_new)
			judge(gpu, trend, first_since(trend, since_ns > window_ns ? since_ns : window_ns));
	}
}
