/* Figures of the GPUs' memory, and of the precision that is computed with. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/rules/inputs/figures_gpu.h"

#define NUMBER(name) static double name(const struct context *context, const char *argument)
#define TEXT(name) static void name(const struct context *context, const char *argument, char out[FIGURE_TEXT_SIZE])
#define UNUSED (void)argument

/* -- memory: of the fullest GPU -- */

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
	UNUSED; \
	return gpu ? (value) : NAN
NUMBER(memory_ratio)
{
	UNUSED;
	return gpu_max(context, fullness_of);
}
NUMBER(memory_bytes) { FULLEST(gpu_now(gpu, METRIC_GPU_MEMORY)); }
NUMBER(memory_used) { FULLEST(gpu_now(gpu, METRIC_GPU_MEMORY_USED)); }
NUMBER(memory_free) { FULLEST(gpu_now(gpu, METRIC_GPU_MEMORY) - gpu_now(gpu, METRIC_GPU_MEMORY_USED)); }
NUMBER(run_memory) { FULLEST(gpu->run_memory_bytes); }
NUMBER(others_memory) { FULLEST(gpu->others_memory_bytes); }
TEXT(memory_who)
{
	UNUSED;
	gpu_write_name(context, gpu_foremost(context, fullness_of), out);
}

/* -- who else is on it -- */

NUMBER(others_ratio)
{
	UNUSED;
	return gpu_max(context, others_of);
}
NUMBER(others_bytes)
{
	UNUSED;
	const struct gpu *gpu = gpu_foremost(context, others_of);
	return gpu ? gpu->others_memory_bytes : NAN;
}
TEXT(others_who)
{
	UNUSED;
	gpu_write_name(context, gpu_foremost(context, others_of), out);
}

/* "blender 4711, python 4712 and 3 more"; those with the most memory first. */
TEXT(others_names)
{
	UNUSED;
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

NUMBER(grows)
{
	UNUSED;
	return gpu_foremost(context, growth_of) ? grower(context) != NULL : NAN;
}
NUMBER(slope)
{
	UNUSED;
	return gpu_max(context, growth_of);
}
NUMBER(slope_per_batch)
{
	UNUSED;
	return grower(context) ? grower(context)->slope_per_batch : NAN;
}
TEXT(grows_who)
{
	UNUSED;
	gpu_write_name(context, grower(context), out);
}
TEXT(verdict)
{
	UNUSED;
	const struct gpu *gpu = gpu_foremost(context, growth_of);
	snprintf(out, FIGURE_TEXT_SIZE, "%s", gpu ? memory_verdict_word(gpu->verdict) : "");
}
NUMBER(full_in)
{
	UNUSED;
	return -gpu_max(context, haste_of);
}
TEXT(full_who)
{
	UNUSED;
	gpu_write_name(context, gpu_foremost(context, haste_of), out);
}

/* -- by the framework's allocator, as published -- */

static bool is_on(const struct model *model, const struct run *run, const struct gpu *gpu)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t count = run_gpus(model, run, gpus);
	for (size_t i = 0; i < count; i++)
		if (gpus[i] == gpu)
			return true;
	return false;
}

/* Of a rule of the model: of the run that is on the fullest GPU. */
static struct allocator allocator_of(const struct context *context)
{
	const struct gpu *gpu = context->run ? NULL : gpu_foremost(context, fullness_of);
	const struct run *run = context->run ? context->run : !gpu ? context_run(context) : NULL;
	for (unsigned i = 0; gpu && !run && i < context->model->run_count; i++)
		if (context->model->runs[i].is_used && is_on(context->model, &context->model->runs[i], gpu))
			run = &context->model->runs[i];
	return run ? run_allocator(run) : (struct allocator){ NAN, NAN, NAN };
}

NUMBER(allocated)
{
	UNUSED;
	return allocator_of(context).allocated_bytes;
}
NUMBER(reserved)
{
	UNUSED;
	return allocator_of(context).reserved_bytes;
}
NUMBER(peak)
{
	UNUSED;
	return allocator_of(context).peak_bytes;
}

/* -- precision: what is published under one of these keys, in few words -- */

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

/* As Lightning ("16-mixed", "bf16-true"), Accelerate ("no", "bf16") and torch ("torch.bfloat16") have it. */
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
	UNUSED;
	const struct run *run = context_run(context);
	for (size_t i = 0; run && !*out && i < sizeof precision_keys / sizeof *precision_keys; i++) {
		const char *value = run_meta(run, precision_keys[i]);
		snprintf(out, FIGURE_TEXT_SIZE, "%s", value ? precision_in(value) : "");
	}
}

#define NUMBER_OF(name, form, function, what, lacks) \
	{ \
		name, FORM_##form, RULE_OF_MODEL, function, NULL, 0, what, lacks \
	}
#define TEXT_OF(name, function, what, lacks) \
	{ \
		name, FORM_TEXT, RULE_OF_MODEL, NULL, function, 0, what, lacks \
	}

static const char no_memory[] = "no GPU of the run is known, or its driver does not tell its memory";
static const char no_verdict[] = "no GPU of the run is known, or what its memory does is not known yet";

static const struct figure rows[] = {
	NUMBER_OF("gpu.memory_ratio", PERCENT, memory_ratio, "used share of the GPU's memory, of the fullest", no_memory),
	TEXT_OF("gpu.memory_who", memory_who, "that one: \"GPU 1\"", no_memory),
	NUMBER_OF("gpu.memory_bytes", BYTES, memory_bytes, "its memory", no_memory),
	NUMBER_OF("gpu.memory_used_bytes", BYTES, memory_used, "used of it, by whomever", no_memory),
	NUMBER_OF("gpu.memory_free_bytes", BYTES, memory_free, "the rest of it", no_memory),
	NUMBER_OF("gpu.run_memory_bytes", BYTES, run_memory, "used of it by the run", no_memory),
	NUMBER_OF("gpu.others_memory_bytes", BYTES, others_memory, "used of it by others", no_memory),
	NUMBER_OF("gpu.others_ratio", PERCENT, others_ratio,
		"share of a GPU's memory that others hold, of the GPU where it is the largest", no_memory),
	NUMBER_OF("gpu.others_bytes", BYTES, others_bytes, "what they hold there", no_memory),
	TEXT_OF("gpu.others_who", others_who, "which GPU that is", no_memory),
	TEXT_OF("gpu.others_names", others_names, "who they are", "nobody else is on it"),
	NUMBER_OF("gpu.memory_grows", COUNT, grows,
		"1 where the run's memory on a GPU is growing, leaks or is fragmented, else 0", no_verdict),
	TEXT_OF("gpu.memory_verdict", verdict,
		"growing, leak, cache, fragmentation or plateau; of the GPU where it grows the fastest", no_verdict),
	NUMBER_OF(
		"gpu.memory_slope_bytes_per_s", BYTES_PER_S, slope, "how fast it grows there; 0 where it does not", no_verdict),
	NUMBER_OF("gpu.memory_bytes_per_batch", BYTES, slope_per_batch, "the same a batch", no_verdict),
	TEXT_OF("gpu.memory_grows_who", grows_who, "which GPU that is", no_verdict),
	NUMBER_OF(
		"gpu.full_in_s", SECONDS, full_in, "when a GPU's memory is full if that goes on; of the first", no_verdict),
	TEXT_OF("gpu.full_who", full_who, "which GPU that is", no_verdict),
	NUMBER_OF("gpu.allocated_bytes", BYTES, allocated, "by the framework's allocator, as published",
		"the gauge cuda.allocated_bytes is not published"),
	NUMBER_OF("gpu.reserved_bytes", BYTES, reserved, "what the allocator has taken from the GPU",
		"the gauge cuda.reserved_bytes is not published"),
	NUMBER_OF(
		"gpu.peak_bytes", BYTES, peak, "the most that was allocated", "the gauge cuda.peak_bytes is not published"),
	TEXT_OF("run.precision", precision,
		"fp32, tf32, bf16, fp16 or fp8, by the meta precision, mixed_precision, dtype or torch.precision",
		"not published (meta precision)"),
};

const struct figure_part gpu_memory_figures = { rows, sizeof rows / sizeof *rows };
