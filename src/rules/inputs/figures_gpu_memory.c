/* Figures of GPU memory, and of the numeric precision. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/base/clock.h"
#include "src/model/gpus/gpus_runs.h"
#include "src/model/gpus/gpus_words.h"
#include "src/model/memory/memory_words.h"
#include "src/model/statistics/series.h"
#include "src/rules/inputs/figures_gpu.h"
#include "src/rules/rule_context.h"

/* -- memory of the fullest GPU -- */

static double fullness_of(const struct context *context, const struct gpu *gpu)
{
	(void)context;
	double all = gpu_now(gpu, METRIC_GPU_MEMORY);
	return all > 0 ? gpu_now(gpu, METRIC_GPU_MEMORY_USED) / all : NAN;
}

static double others_of(const struct context *context, const struct gpu *gpu)
{
	(void)context;
	double all = gpu_now(gpu, METRIC_GPU_MEMORY);
	return all > 0 ? gpu->others_memory_bytes / all : NAN;
}

static bool is_judged(const struct gpu *gpu) { return memory_verdict_is_known(gpu->verdict); }

static double growth_of(const struct context *context, const struct gpu *gpu)
{
	(void)context;
	return !is_judged(gpu) ? NAN : gpu_memory_is_growing(gpu) && gpu->slope.points ? gpu->slope.per_s : 0;
}

static double haste_of(const struct context *context, const struct gpu *gpu)
{
	(void)context;
	return gpu_memory_is_growing(gpu) ? -gpu->full_in_s : NAN;
}

#define FULLEST(value) \
	const struct gpu *gpu = gpu_foremost(context, fullness_of); \
	return gpu ? (value) : NAN
NUMBER(memory_ratio) { return gpu_max(context, fullness_of); }
NUMBER(memory_bytes) { FULLEST(gpu_now(gpu, METRIC_GPU_MEMORY)); }
NUMBER(memory_used) { FULLEST(gpu_now(gpu, METRIC_GPU_MEMORY_USED)); }
NUMBER(memory_free) { FULLEST(gpu_now(gpu, METRIC_GPU_MEMORY) - gpu_now(gpu, METRIC_GPU_MEMORY_USED)); }
NUMBER(run_memory) { FULLEST(gpu->run_memory_bytes); }
NUMBER(others_memory) { FULLEST(gpu->others_memory_bytes); }
TEXT(memory_who) { gpu_write_name(context, gpu_foremost(context, fullness_of), out); }

/* -- other processes on the GPU -- */

NUMBER(others_ratio) { return gpu_max(context, others_of); }
NUMBER(others_bytes)
{
	const struct gpu *gpu = gpu_foremost(context, others_of);
	return gpu ? gpu->others_memory_bytes : NAN;
}
TEXT(others_who) { gpu_write_name(context, gpu_foremost(context, others_of), out); }

/* "blender 4711, python 4712 and 3 more", sorted by memory. */
TEXT(others_names)
{
	enum { NAMED = 2 };
	const struct gpu *gpu = gpu_foremost(context, others_of);
	size_t named = 0, used = 0, more = 0;
	for (size_t i = 0; gpu && i < gpu->process_count; i++) {
		const struct gpu_process *process = &gpu->processes[i];
		if (process->is_ours || ++more > NAMED)
			continue;
		int length = (int)strcspn(process->command, " ");
		used += (size_t)snprintf(out + used, FIGURE_TEXT_SIZE - used, "%s%.*s%s%d", named++ ? ", " : "",
			length < 20 ? length : 20, process->command, length ? " " : "process ", (int)process->pid);
	}
	if (more > NAMED)
		snprintf(out + used, FIGURE_TEXT_SIZE - used, " and %zu more", more - NAMED);
}

/* -- growth -- */

static const struct gpu *grower(const struct context *context)
{
	const struct gpu *gpu = gpu_foremost(context, growth_of);
	return gpu && gpu_memory_is_growing(gpu) ? gpu : NULL;
}

NUMBER(grows) { return gpu_foremost(context, growth_of) ? grower(context) != NULL : NAN; }
NUMBER(slope) { return gpu_max(context, growth_of); }
NUMBER(slope_per_batch) { return grower(context) ? grower(context)->slope_per_batch : NAN; }
TEXT(grows_who) { gpu_write_name(context, grower(context), out); }
TEXT(verdict)
{
	const struct gpu *gpu = gpu_foremost(context, growth_of);
	snprintf(out, FIGURE_TEXT_SIZE, "%s", gpu ? memory_verdict_word(gpu->verdict) : "");
}
NUMBER(full_in) { return -gpu_max(context, haste_of); }
TEXT(full_who) { gpu_write_name(context, gpu_foremost(context, haste_of), out); }

/* -- the framework's allocator, as published -- */

/* For rules of the model: the run on the fullest GPU. */
static const struct run *allocating_run(const struct context *context)
{
	const struct gpu *gpu = context->run ? NULL : gpu_foremost(context, fullness_of);
	const struct run *run = context->run ? context->run : !gpu ? context_run(context) : NULL;
	for (unsigned i = 0; gpu && !run && i < context->model->run_count; i++)
		if (context->model->runs[i].is_used && run_uses_gpu(context->model, &context->model->runs[i], gpu))
			run = &context->model->runs[i];
	return run;
}

static struct allocator allocator_of(const struct context *context)
{
	const struct run *run = allocating_run(context);
	return run ? run_allocator(run) : (struct allocator){ NAN, NAN, NAN };
}

NUMBER(allocated) { return allocator_of(context).allocated_bytes; }
NUMBER(reserved) { return allocator_of(context).reserved_bytes; }
NUMBER(peak) { return allocator_of(context).peak_bytes; }
NUMBER(unused)
{
	struct allocator allocator = allocator_of(context);
	double unused = allocator.reserved_bytes - allocator.peak_bytes;
	return unused < 0 ? 0 : unused;
}

/* The peak before the last minute, if it did not rise in the minute before that; NAN: unknown yet, 0: it rose then. */
static double settled_peak(const struct context *context)
{
	enum { EARLIER, BEFORE, MINUTES };
	const int64_t minute_ns = 60 * NS_PER_S;
	const struct run *run = allocating_run(context);
	const struct series *peaks = NULL;
	struct series_column columns[MINUTES];
	double peak = NAN;
	if (!run || !run_gauge(run, "cuda.peak_bytes", &peak, &peaks))
		return NAN;
	int64_t until_ns = context->model->now_ns - minute_ns;
	series_columns(peaks, until_ns - MINUTES * minute_ns, until_ns, columns, MINUTES);
	if (!columns[EARLIER].has || !columns[BEFORE].has)
		return NAN;
	return columns[BEFORE].last <= 1.05 * columns[EARLIER].last ? columns[BEFORE].last : 0;
}

NUMBER(peak_rise)
{
	double before = settled_peak(context), now = allocator_of(context).peak_bytes;
	return before > 0 ? fmax(now - before, 0) : before;
}

NUMBER(peak_rise_ratio)
{
	double before = settled_peak(context), now = allocator_of(context).peak_bytes;
	return before > 0 ? fmax(now / before - 1, 0) : before;
}

/* -- precision: published under one of these keys -- */

static const char *const precision_keys[] = { "precision", "mixed_precision", "dtype", "amp_dtype", "torch.precision" };
static const struct {
	const char *word, *name;
} precisions[] = {
	{ "bf16", "bf16" },
	{ "bfloat16", "bf16" },
	{ "fp16", "fp16" },
	{ "float16", "fp16" },
	{ "half", "fp16" },
	{ "16", "fp16" },
	{ "fp8", "fp8" },
	{ "float8", "fp8" },
	{ "tf32", "tf32" },
	{ "fp64", "fp64" },
	{ "float64", "fp64" },
	{ "64", "fp64" },
	{ "fp32", "fp32" },
	{ "float32", "fp32" },
	{ "32", "fp32" },
	{ "no", "fp32" },
};

/* Knows the notations of Lightning ("16-mixed", "bf16-true"), Accelerate ("no", "bf16") and torch ("torch.bfloat16").
 */
static const char *precision_in(const char *value)
{
	const char *after = strrchr(value, '.');
	value = after ? after + 1 : value;
	size_t length = 0;
	while (isalnum((unsigned char)value[length]))
		length++;
	for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
		if (strlen(precisions[i].word) == length && strncasecmp(precisions[i].word, value, length) == 0)
			return precisions[i].name;
	return "";
}

TEXT(precision)
{
	const struct run *run = context_run(context);
	for (size_t i = 0; run && !*out && i < sizeof precision_keys / sizeof *precision_keys; i++) {
		const char *value = run_meta(run, precision_keys[i]);
		snprintf(out, FIGURE_TEXT_SIZE, "%s", value ? precision_in(value) : "");
	}
}

static const char no_memory[] = "no GPU of the run is known, or its driver does not report its memory";
static const char no_rise[] = "the gauge cuda.peak_bytes is not published, or was not three minutes ago";
static const char no_verdict[] = "no GPU of the run is known, or the trend of its memory is unclear yet";

static const struct figure rows[] = {
	NUMBER_OF("gpu.memory_ratio", PERCENT, memory_ratio, "used share of the memory; the fullest GPU", no_memory),
	TEXT_OF("gpu.memory_who", memory_who, "that GPU: \"GPU 1\"", no_memory),
	NUMBER_OF("gpu.memory_bytes", BYTES, memory_bytes, "its memory", no_memory),
	NUMBER_OF("gpu.memory_used_bytes", BYTES, memory_used, "used, by all programs", no_memory),
	NUMBER_OF("gpu.memory_free_bytes", BYTES, memory_free, "free", no_memory),
	NUMBER_OF("gpu.run_memory_bytes", BYTES, run_memory, "used by the run", no_memory),
	NUMBER_OF("gpu.others_memory_bytes", BYTES, others_memory, "used by other programs", no_memory),
	NUMBER_OF("gpu.others_ratio", PERCENT, others_ratio,
		"share of memory used by other programs; the GPU with the most", no_memory),
	NUMBER_OF("gpu.others_bytes", BYTES, others_bytes, "the same, in bytes", no_memory),
	TEXT_OF("gpu.others_who", others_who, "that GPU", no_memory),
	TEXT_OF("gpu.others_names", others_names, "those programs", "no other program uses it"),
	NUMBER_OF("gpu.memory_grows", COUNT, grows,
		"1 if the run's memory on a GPU is growing, leaks or is fragmented, else 0", no_verdict),
	TEXT_OF("gpu.memory_verdict", verdict,
		"growing, leak, cache, fragmentation or plateau; the GPU with the fastest growth", no_verdict),
	NUMBER_OF("gpu.memory_slope_bytes_per_s", BYTES_PER_S, slope, "its growth; 0 if none", no_verdict),
	NUMBER_OF("gpu.memory_bytes_per_batch", BYTES, slope_per_batch, "the same, per batch", no_verdict),
	TEXT_OF("gpu.memory_grows_who", grows_who, "that GPU", no_verdict),
	NUMBER_OF("gpu.full_in_s", SECONDS, full_in, "time until a GPU's memory is full at this growth; the first GPU",
		no_verdict),
	TEXT_OF("gpu.full_who", full_who, "that GPU", no_verdict),
	NUMBER_OF("gpu.allocated_bytes", BYTES, allocated, "allocated by the framework, as published",
		"the gauge cuda.allocated_bytes is not published"),
	NUMBER_OF("gpu.reserved_bytes", BYTES, reserved, "reserved by the framework's allocator",
		"the gauge cuda.reserved_bytes is not published"),
	NUMBER_OF("gpu.peak_bytes", BYTES, peak, "peak of allocated memory", "the gauge cuda.peak_bytes is not published"),
	NUMBER_OF("gpu.peak_rise_bytes", BYTES, peak_rise,
		"how much that peak rose in the last minute, after a minute without a rise", no_rise),
	NUMBER_OF("gpu.peak_rise_ratio", PERCENT, peak_rise_ratio, "the same ÷ the peak before", no_rise),
	NUMBER_OF("gpu.unused_bytes", BYTES, unused, "reserved beyond that peak",
		"the gauges cuda.reserved_bytes and cuda.peak_bytes are not published"),
	TEXT_OF("run.precision", precision,
		"fp32, tf32, bf16, fp16 or fp8, from meta precision, mixed_precision, dtype or torch.precision",
		"not published (meta precision)"),
};

const struct figure_part gpu_memory_figures = { rows, sizeof rows / sizeof *rows };
