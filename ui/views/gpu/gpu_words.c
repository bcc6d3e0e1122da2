/* GPUs as text: names, numbers with units, ranks, the short line. */
#include "ui/views/gpu/gpu_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/model/gpus/gpus_runs.h"
#include "src/model/gpus/gpus_words.h"
#include "ui/views/gpu/gpu_parts.h"
#include "ui/widgets/parts.h"

/* -- names and numbers -- */

const char *gpu_number(char out[NUMBER_SIZE], const struct model *model, const struct gpu *gpu)
{
	const struct gpu *whole = gpu->parent >= 0 ? model_gpu(model, gpu->parent) : NULL;
	if (whole)
		snprintf(out, NUMBER_SIZE, "%u.%u", whole->index, gpu->index);
	else
		snprintf(out, NUMBER_SIZE, "%u", gpu->index);
	return out;
}

const char *gpu_name(char *out, size_t size, const struct gpu *gpu)
{
	bool says_vendor =
		gpu->vendor[0] == '\0' || gpu->parent >= 0 || strncasecmp(gpu->name, gpu->vendor, strlen(gpu->vendor)) == 0;
	if (gpu->name[0] == '\0')
		snprintf(out, size, "%s", gpu->vendor[0] != '\0' ? gpu->vendor : "GPU");
	else
		snprintf(out, size, says_vendor ? "%.0s%s" : "%s %s", gpu->vendor, gpu->name);
	return out;
}

const char *gpu_watts(char out[NUMBER_SIZE], double watts)
{
	if (isnan(watts))
		snprintf(out, NUMBER_SIZE, "–");
	else if (watts >= 9999.5)
		snprintf(out, NUMBER_SIZE, "%.1f kW", fmin(watts, 1e12) / 1e3);
	else
		snprintf(out, NUMBER_SIZE, fabs(watts) < 9.95 ? "%.1f W" : "%.0f W", fmax(watts, -1e9));
	return out;
}

const char *gpu_degrees(char out[NUMBER_SIZE], double celsius)
{
	if (isnan(celsius))
		snprintf(out, NUMBER_SIZE, "–");
	else
		snprintf(out, NUMBER_SIZE, "%.0f °C", fmin(fmax(celsius, -1e6), 1e6));
	return out;
}

const char *gpu_hertz(char out[NUMBER_SIZE], double hertz)
{
	if (isnan(hertz))
		snprintf(out, NUMBER_SIZE, "–");
	else
		snprintf(out, NUMBER_SIZE, "%.0f MHz", fmin(fmax(hertz, 0), 1e15) / 1e6);
	return out;
}

/* Three digits in the unit of the whole; a used amount of 0 keeps its decimal, so the width stays the same. */
static const char *amount(char out[NUMBER_SIZE], double value, double scale, bool is_whole)
{
	double scaled = fmin(fmax(value, -1e15), 1e15) / scale;
	if (isnan(value))
		snprintf(out, NUMBER_SIZE, "–");
	else
		snprintf(
			out, NUMBER_SIZE, fabs(scaled) < 99.95 && !(is_whole && scaled == rint(scaled)) ? "%.1f" : "%.0f", scaled);
	return out;
}

const char *gpu_bytes_of(char out[NUMBER_SIZE], double used, double whole)
{
	double scale = whole >= 1e13 ? 1e12 : whole >= 1e9 ? 1e9 : 1e6;
	char part[NUMBER_SIZE], all[NUMBER_SIZE];
	if (isnan(whole))
		return format_bytes(out, used);
	snprintf(out, NUMBER_SIZE, "%.12s/%.10s %s", amount(part, used, scale, false), amount(all, whole, scale, true),
		scale >= 1e12      ? "TB"
			: scale >= 1e9 ? "GB"
						   : "MB");
	return out;
}

const char *gpu_watts_of(char out[NUMBER_SIZE], double watts, double limit)
{
	char part[NUMBER_SIZE];
	if (isnan(limit))
		return gpu_watts(out, watts);
	snprintf(out, NUMBER_SIZE, "%.12s/%.0f W", amount(part, rint(watts), 1, true), fmin(fmax(limit, 0), 1e9));
	return out;
}

/* -- whose it is -- */

static bool is_among(const struct gpu *const gpus[], size_t count, const struct gpu *gpu)
{
	for (size_t i = 0; i < count; i++)
		if (gpus[i] == gpu)
			return true;
	return false;
}

static bool uses(const struct model *model, const struct run *run, const struct gpu *gpu)
{
	const struct gpu *on[GPUS_MAX];
	return is_among(on, run_gpus(model, run, on), gpu);
}

const struct run *gpu_run(const struct scene *scene, const struct gpu *gpu)
{
	const struct model *model = scene->model;
	const struct run *shown = scene_run(scene);
	if (shown && uses(model, shown, gpu))
		return shown;
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && model->runs[i].is_live && uses(model, &model->runs[i], gpu))
			return &model->runs[i];
	return NULL;
}

const char *gpu_ranks(char out[NUMBER_SIZE], const struct model *model, const struct gpu *gpu)
{
	long min = -1, max = -1, count = 0;
	const char *doubt = gpu->is_ours_by_place ? "?" : "";
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *run = &model->runs[i];
		long number = run->rank[0] != '\0' ? strtol(run->rank, NULL, 10) : -1;

		if (!run->is_used || number < 0 || !uses(model, run, gpu))
			continue;
		min = min < 0 || number < min ? number : min;
		max = number > max ? number : max;
		count++;
	}
	if (count == 0)
		snprintf(out, NUMBER_SIZE, "%s%s", gpu->is_ours ? "run" : "", gpu->is_ours ? doubt : "");
	else if (min == max)
		snprintf(out, NUMBER_SIZE, "rank %ld%s", min, doubt);
	else
		snprintf(out, NUMBER_SIZE, count == max - min + 1 ? "ranks %ld-%ld%s" : "ranks %ld…%ld%s", min, max, doubt);
	return out;
}

size_t gpus_to_show(const struct model *model, const struct run *run, const struct gpu *out[GPUS_MAX])
{
	size_t count = run ? run_gpus(model, run, out) : 0;
	if (count == 0)
		count = run_gpus(model, NULL, out);
	bool has_some = count > 0;
	size_t known = count;

	/* the users of a lost GPU are unknown */
	for (size_t i = 0; i < model->gpus.count && count < GPUS_MAX; i++) {
		const struct gpu *gpu = &model->gpus.gpus[i];

		if (gpu->parent < 0 && (!has_some || gpu->lost[0] != '\0') && !is_among(out, known, gpu))
			out[count++] = gpu;
	}
	return count;
}

/* -- its link -- */

bool gpu_link_is_narrow(const struct gpu *gpu)
{
	return gpu_now(gpu, METRIC_GPU_PCIE_WIDTH) < gpu_now(gpu, METRIC_GPU_PCIE_WIDTH_MAX);
}

bool gpu_link_is_slow(const struct gpu *gpu)
{
	return gpu_now(gpu, METRIC_GPU_PCIE_GENERATION) < gpu_now(gpu, METRIC_GPU_PCIE_GENERATION_MAX) &&
		gpu_now(gpu, METRIC_GPU_BUSY) > 0.2;
}

/* -- in a line -- */

struct sum {
	double busy, sm, used, whole, watts, celsius;
	unsigned throttle, lost;
};

static void add(double *sum, double value)
{
	if (!isnan(value))
		*sum = (isnan(*sum) ? 0 : *sum) + value;
}

static double mean_now(const struct gpu *const gpus[], size_t count, enum metric metric)
{
	double sum = NAN;
	size_t known = 0;
	for (size_t i = 0; i < count; i++) {
		add(&sum, gpu_now(gpus[i], metric));
		known += isnan(gpu_now(gpus[i], metric)) ? 0 : 1;
	}
	return sum / (double)known;
}

static void sum_up(const struct gpu *const gpus[], size_t count, struct sum *sum)
{
	*sum = (struct sum){ mean_now(gpus, count, METRIC_GPU_BUSY), mean_now(gpus, count, METRIC_GPU_SM_ACTIVE), NAN, NAN,
		NAN, NAN, 0, 0 };
	for (size_t i = 0; i < count; i++) {
		double celsius = gpu_now(gpus[i], METRIC_GPU_TEMPERATURE);

		add(&sum->used, gpu_now(gpus[i], METRIC_GPU_MEMORY_USED));
		add(&sum->whole, gpu_now(gpus[i], METRIC_GPU_MEMORY));
		add(&sum->watts, gpus[i]->power_w);
		sum->celsius = celsius > sum->celsius || isnan(sum->celsius) ? celsius : sum->celsius;
		sum->throttle |= gpus[i]->throttle;
		sum->lost += gpus[i]->lost[0] != '\0';
	}
}

void gpu_short_line(const struct gpu *const gpus[], size_t count, struct line *line)
{
	char text[NUMBER_SIZE], words[120];
	struct sum sum;
	sum_up(gpus, count, &sum);
	line_start(line, "  ");
	if (count == 1 && gpus[0]->lost[0] != '\0') {
		line_add(line, 0, ROLE_CRITICAL, "GPU ⚠ lost: %s", gpus[0]->lost);
		return;
	}
	if (count > 1)
		line_add(line, 0, ROLE_STRONG, "GPU ×%zu %s", count, format_percent(text, sum.busy));
	else
		line_add(line, 0, ROLE_STRONG, "GPU %s", format_percent(text, sum.busy));
	if (sum.lost > 0)
		line_add(line, 0, ROLE_CRITICAL, "⚠ %u lost", sum.lost);
	if (!isnan(sum.sm))
		line_add(line, 1, sum.busy >= 0.7 && sum.sm < 0.5 ? ROLE_WARNING : ROLE_NORMAL, "SM %s",
			format_percent(text, sum.sm));
	line_add(line, 0, ROLE_MEMORY, "%s", gpu_bytes_of(text, sum.used, sum.whole));
	if (!isnan(sum.watts))
		line_add(line, 2, ROLE_NORMAL, "%s", gpu_watts(text, sum.watts));
	if (!isnan(sum.celsius))
		line_add(line, 3, ROLE_NORMAL, "%s", gpu_degrees(text, sum.celsius));
	if (gpu_is_throttled(sum.throttle))
		line_add(line, 1, ROLE_WARNING, "⚠ throttled: %s", gpu_throttle_words(sum.throttle, words, sizeof words));
}
