#include <stdlib.h>
#include <string.h>

#include "src/model/gpus/gpus_private.h"

enum { BLOCKS = 48, LAST_BLOCKS_LEAST = 8, SAMPLES_LEAST = 4, LEAK_BATCHES_LEAST = 50 };
#define WINDOW_NS (600 * NS_PER_S)
#define INTERVAL_MOST_NS (2 * NS_PER_S)
#define NOTICEABLE_RATIO 0.01
#define NOTICEABLE_LEAST_BYTES 8e6
#define GROWING_LEAST_S 4.0
#define PLATEAU_LEAST_S 10.0
#define FLAT_LEAST_S 30.0
#define LEAK_LEAST_S 15.0
#define LEAK_RATIO 0.01
#define LEAK_LEAST_BYTES 16e6
#define FRAGMENT_RATIO 0.3
#define FRAGMENT_LEAST_BYTES 512e6
/* Whose an allocator is: that much of its run's memory; or what it has taken, read seconds apart, and a context and
 * libraries more. */
#define ALONE_RATIO 0.67
#define LAG_RATIO 0.9
#define LIBRARIES_RATIO 0.25
#define LIBRARIES_BYTES 3e9

/* One figure over the window: means of blocks of samples, and what was made of them. */
struct line {
	bool is_known;
	size_t blocks;
	double time_s[BLOCKS], bytes[BLOCKS];
	struct slope whole, last; /* last: of the last third */
	double grown, least, most;
};

struct look {
	const struct gpu_trend *trend;
	size_t from;
	double window_s, batches, noticeable;
	/* taken: what the process has, or where that is hidden what the allocator has taken */
	struct line taken, allocated, reserved, peak, split;
};

void gpu_forget_memory(struct gpu *gpu)
{
	gpu->verdict = "unknown";
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

/* A run publishes one allocator, that of its current device. Where it is on several GPUs: it is of those where its
 * processes have what it has taken, a context and libraries more; or of the one where they have the most by far. */
static bool has_its_allocator(
	const struct model *model, const struct run *run, const struct gpu *gpu, const struct allocator *allocator)
{
	const struct gpu *gpus[GPUS_MOST];
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

/* False: a warm-up is not over. *since_ns: the end of the last one. */
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

static void thin(struct gpu_trend *trend)
{
	size_t kept = 0, step = trend->interval_ns < INTERVAL_MOST_NS ? 2 : 1, from = step == 2 ? 0 : GPU_TREND_MOST / 4;
	for (size_t i = from; i < trend->count; i += step)
		trend->samples[kept++] = trend->samples[i];
	trend->count = kept;
	trend->interval_ns *= (int64_t)step;
}

/* False: it is too soon. */
static bool add_sample(struct gpu_trend *trend, const struct gpu_sample *sample)
{
	if (trend->count && sample->time_ns < trend->samples[trend->count - 1].time_ns + trend->interval_ns)
		return false;
	if (trend->count == GPU_TREND_MOST)
		thin(trend);
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

/* Blocks in which nothing is known are left out. */
static void fill_blocks(const struct look *look, part_of_sample *part, struct line *line)
{
	const struct gpu_trend *trend = look->trend;
	size_t count = trend->count - look->from, blocks = count < BLOCKS ? count : BLOCKS;
	for (size_t block = 0; block < blocks; block++) {
		size_t first = look->from + block * count / blocks, end = look->from + (block + 1) * count / blocks, known = 0;
		double time_s = 0, bytes = 0;
		for (size_t i = first; i < end; i++) {
			double value = part(&trend->samples[i]);
			if (isnan(value))
				continue;
			time_s += seconds_between(trend->samples[look->from].time_ns, trend->samples[i].time_ns);
			bytes += value;
			known++;
		}
		if (known == 0)
			continue;
		line->time_s[line->blocks] = time_s / (double)known;
		line->bytes[line->blocks++] = bytes / (double)known;
	}
}

static void draw(const struct look *look, part_of_sample *part, struct line *line)
{
	fill_blocks(look, part, line);
	line->is_known = theil_sen(line->time_s, line->bytes, line->blocks, &line->whole);
	if (!line->is_known)
		return;
	size_t last = line->blocks / 3 > LAST_BLOCKS_LEAST ? line->blocks / 3 : LAST_BLOCKS_LEAST,
		   first = line->blocks - last;
	if (2 * last > line->blocks || !theil_sen(line->time_s + first, line->bytes + first, last, &line->last))
		line->last.points = 0;
	line->grown = line->bytes[line->blocks - 1] - line->bytes[0];
	line->least = line->most = line->bytes[0];
	for (size_t i = 1; i < line->blocks; i++) {
		line->least = fmin(line->least, line->bytes[i]);
		line->most = fmax(line->most, line->bytes[i]);
	}
}

static bool has_come_to_rest(const struct look *look, const struct line *line)
{
	return look->window_s >= FLAT_LEAST_S && line->last.points &&
		line->last.high_per_s * look->window_s / 3 < look->noticeable &&
		line->last.per_s <= 0.25 * fmax(line->whole.per_s, 0);
}

static bool grows(const struct look *look, const struct line *line)
{
	return line->is_known && look->window_s >= GROWING_LEAST_S &&
		line->whole.low_per_s * look->window_s > look->noticeable && !has_come_to_rest(look, line);
}

/* What is not known does not move. */
static bool rests(const struct look *look, const struct line *line)
{
	return !line->is_known || line->whole.high_per_s * look->window_s < look->noticeable ||
		has_come_to_rest(look, line);
}

/* -- the verdict -- */

static bool is_leak(const struct look *look)
{
	const struct line *line = &look->allocated;
	bool is_steady = line->last.points && line->last.per_s >= 0.5 * line->whole.per_s;
	bool falls_back = line->most - line->bytes[line->blocks - 1] > line->grown / 3;
	return look->window_s >= LEAK_LEAST_S && look->batches >= LEAK_BATCHES_LEAST &&
		line->grown >= fmax(LEAK_RATIO * line->most, LEAK_LEAST_BYTES) && is_steady && !falls_back;
}

static double newest(const struct line *line) { return line->bytes[line->blocks - 1]; }

/* The allocator asks for more only where no piece that it has is large enough. Without a peak, what a batch needs in
 * between is not known. */
static bool is_fragmentation(const struct look *look)
{
	if (!look->reserved.is_known)
		return false;
	double taken = newest(&look->reserved), split = look->split.is_known ? newest(&look->split) : NAN;
	if (grows(look, &look->split) && split > FRAGMENT_LEAST_BYTES && split > 0.5 * (taken - newest(&look->allocated)))
		return true;
	if (!look->peak.is_known || grows(look, &look->peak))
		return false;
	double held = fmax(look->peak.most, look->allocated.most);
	return taken - held > fmax(FRAGMENT_LEAST_BYTES, FRAGMENT_RATIO * held);
}

static const char *verdict_of(const struct look *look)
{
	bool is_taken_more = grows(look, &look->taken) || grows(look, &look->reserved);
	if (grows(look, &look->allocated))
		return is_leak(look) ? "leak" : "growing";
	if (is_taken_more && look->allocated.is_known && rests(look, &look->allocated))
		return is_fragmentation(look) ? "fragmentation" : "cache";
	if (is_taken_more)
		return "growing";
	if (look->window_s >= PLATEAU_LEAST_S && rests(look, &look->taken) && rests(look, &look->reserved) &&
		rests(look, &look->allocated))
		return "plateau";
	return "unknown";
}

/* Blocks that are kept are used before more is taken. */
static double room_of(const struct gpu *gpu, const struct look *look)
{
	double kept = gpu_now(gpu, METRIC_GPU_MEMORY_RESERVED);
	double room = gpu_now(gpu, METRIC_GPU_MEMORY) - gpu_now(gpu, METRIC_GPU_MEMORY_USED) - (isnan(kept) ? 0 : kept);
	if (strcmp(gpu->verdict, "leak") == 0 && look->reserved.is_known)
		room += fmax(newest(&look->reserved) - newest(&look->allocated), 0);
	return fmax(room, 0);
}

static void conclude(struct gpu *gpu, const struct look *look)
{
	gpu->verdict = verdict_of(look);
	const struct line *line =
		strcmp(gpu->verdict, "leak") == 0 || !look->taken.is_known ? &look->allocated : &look->taken;
	gpu->slope = line->whole;
	if (look->batches > 0)
		gpu->slope_per_batch = line->whole.per_s * look->window_s / look->batches;
	if (gpu_memory_is_growing(gpu) && line->whole.per_s > 0 && !isnan(gpu_now(gpu, METRIC_GPU_MEMORY_USED)) &&
		!isnan(gpu_now(gpu, METRIC_GPU_MEMORY)))
		gpu->full_in_s = room_of(gpu, look) / line->whole.per_s;
}

static void judge(struct gpu *gpu, const struct gpu_trend *trend, size_t from)
{
	struct look look = { .trend = trend, .from = from };
	gpu_forget_memory(gpu);
	if (trend->count < from + SAMPLES_LEAST)
		return;
	const struct gpu_sample *first = &trend->samples[from], *last = &trend->samples[trend->count - 1];
	look.window_s = seconds_between(first->time_ns, last->time_ns);
	look.batches = last->batches - first->batches;
	draw(&look, isnan(last->run_bytes) ? reserved_bytes_of : run_bytes_of, &look.taken);
	draw(&look, allocated_bytes_of, &look.allocated);
	if (!look.taken.is_known && !look.allocated.is_known)
		return;
	draw(&look, reserved_bytes_of, &look.reserved);
	draw(&look, peak_bytes_of, &look.peak);
	draw(&look, split_bytes_of, &look.split);
	look.noticeable =
		fmax(NOTICEABLE_RATIO * newest(look.taken.is_known ? &look.taken : &look.allocated), NOTICEABLE_LEAST_BYTES);
	conclude(gpu, &look);
}

static struct gpu_trend *trend_of(struct gpu_past *past)
{
	if (!past->trend && (past->trend = calloc(1, sizeof *past->trend)))
		past->trend->interval_ns = NS_PER_S;
	return past->trend;
}

/* A GPU that has parts is judged by them. */
void gpus_judge_memory(struct model *model)
{
	for (size_t i = 0; i < model->gpus.count; i++) {
		struct gpu *gpu = &model->gpus.gpus[i];
		struct gpu_trend *trend =
			gpu->is_ours && !gpu_has_parts(model, gpu) ? trend_of(&model->private->gpus->pasts[i]) : NULL;
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
