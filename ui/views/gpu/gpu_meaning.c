/* One sentence on a GPU's figures, the trend of its memory, and why there is no GPU. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/base/clock.h"
#include "ui/views/gpu/gpu_parts.h"
#include "ui/widgets/parts.h"

/* -- what it all means -- */

#define LATELY_NS (60 * NS_PER_S)
/* From here on copies to the GPU are a reason that it waits (as for the rule gpu_waits_for_copies). */
#define MUCH_BYTES_PER_S 2e9

enum {
	HEAT_BITS = 1 << GPU_THROTTLE_HEAT | 1 << GPU_THROTTLE_HEAT_SOFTWARE | 1 << GPU_THROTTLE_HARDWARE,
	POWER_BITS = 1 << GPU_THROTTLE_POWER_CAP | 1 << GPU_THROTTLE_POWER_BRAKE | 1 << GPU_THROTTLE_CURRENT
};

struct lately {
	double busy, sm, heat, throttle_bits; /* means of the last minute, else the current values; NAN */
	const struct gpu *gpu;
	const struct scene *scene;
};
static double mean_of(const struct scene *scene, const struct series *series, double now)
{
	double mean = now;
	series_mean(series, scene->now_ns - LATELY_NS, scene->now_ns + 1, &mean);
	return mean;
}

/* "the SMs are two thirds idle". */
static const char *idle_words(double idle)
{
	static const struct {
		double from;
		const char *words;
	} table[] = {
		{ 0.9, "nearly all idle" },
		{ 0.71, "three quarters idle" },
		{ 0.58, "two thirds idle" },
		{ 0.42, "half idle" },
		{ -INFINITY, "partly idle" },
	};
	size_t i = 0;
	while (idle < table[i].from)
		i++;
	return table[i].words;
}

/* The data phase's share of the steps; NAN. */
static double data_share(const struct run *run)
{
	struct phase_row rows[RUN_PHASES_MAX];
	size_t batches, count = run ? track_phases(run_main(run), RUN_RECENT, rows, RUN_PHASES_MAX, &batches) : 0;
	for (size_t i = 0; i < count; i++)
		if (rows[i].depth == 0 && phase_role(run, rows[i].name) == ROLE_PHASE_0)
			return rows[i].share_ratio;
	return NAN;
}

static bool says_lost(const struct lately *at, char out[GPU_WORDS_SIZE])
{
	if (at->gpu->lost[0] != '\0')
		snprintf(out, GPU_WORDS_SIZE, "GPU lost: %s", at->gpu->lost);
	return at->gpu->lost[0] != '\0';
}

/* ": 1215 of 1980 MHz" while the clock is reduced. */
static const char *clock_words(const struct gpu *gpu, char out[NUMBER_SIZE])
{
	double now = gpu_now(gpu, METRIC_GPU_CLOCK), max = gpu_now(gpu, METRIC_GPU_CLOCK_MAX);
	out[0] = '\0';
	if (now < 0.97 * max && max < 1e12 && now >= 0)
		snprintf(out, NUMBER_SIZE, ": %.0f of %.0f MHz", now / 1e6, max / 1e6);
	return out;
}

static bool says_heat(const struct lately *at, char out[GPU_WORDS_SIZE])
{
	char clock[NUMBER_SIZE], share[NUMBER_SIZE];
	if (!(at->gpu->throttle & HEAT_BITS) && !(at->heat > 0.05))
		return false;
	snprintf(out, GPU_WORDS_SIZE, "GPU throttled by heat %s of the time%s: improve cooling or lower its power limit",
		format_percent(share, at->heat), clock_words(at->gpu, clock));
	return true;
}

static bool says_idle(const struct lately *at, char out[GPU_WORDS_SIZE])
{
	const struct run *run = gpu_run(at->scene, at->gpu);
	double data = at->busy < 0.7 ? data_share(run) : NAN;
	double copied = gpu_rate(at->gpu, METRIC_GPU_PCIE_RECEIVED);
	char busy[NUMBER_SIZE], share[NUMBER_SIZE];
	if (!(at->busy < 0.7) || !at->gpu->is_ours)
		return false;
	format_percent(busy, 1 - at->busy);
	if (data > 0.2)
		snprintf(out, GPU_WORDS_SIZE,
			"GPU idle %s of the time: waiting for data (%s of each step); add workers or speed up loading", busy,
			format_percent(share, data));
	else if (copied > MUCH_BYTES_PER_S)
		snprintf(out, GPU_WORDS_SIZE,
			"GPU idle %s of the time, %s/s copied to it: use pinned memory and non_blocking=True", busy,
			format_bytes(share, copied));
	else
		snprintf(
			out, GPU_WORDS_SIZE, "GPU idle %s of the time: waiting for the CPU → Overview: where a step goes", busy);
	return true;
}

static bool says_narrow(const struct lately *at, char out[GPU_WORDS_SIZE])
{
	if (!gpu_link_is_narrow(at->gpu))
		return false;
	snprintf(out, GPU_WORDS_SIZE, "GPU link has %.0f of %.0f PCIe lanes: reseat the card or try another slot",
		gpu_now(at->gpu, METRIC_GPU_PCIE_WIDTH), gpu_now(at->gpu, METRIC_GPU_PCIE_WIDTH_MAX));
	return true;
}

static bool says_empty(const struct lately *at, char out[GPU_WORDS_SIZE])
{
	if (!(at->busy >= 0.7 && at->sm < 0.5))
		return false;
	snprintf(
		out, GPU_WORDS_SIZE, "GPU busy, but its SMs are %s: small kernels or a small batch", idle_words(1 - at->sm));
	return true;
}

static bool says_power(const struct lately *at, char out[GPU_WORDS_SIZE])
{
	char limit[NUMBER_SIZE], share[NUMBER_SIZE], clock[NUMBER_SIZE];
	double throttle_bits = at->throttle_bits - (isnan(at->heat) ? 0 : at->heat);
	if (!(at->gpu->throttle & POWER_BITS) && !(throttle_bits > 0.05))
		return false;
	snprintf(out, GPU_WORDS_SIZE, "GPU throttled by its power limit (%s) %s of the time%s",
		gpu_watts(limit, gpu_now(at->gpu, METRIC_GPU_POWER_LIMIT)), format_percent(share, throttle_bits),
		clock_words(at->gpu, clock));
	return true;
}

static bool says_no_tensor(const struct lately *at, char out[GPU_WORDS_SIZE])
{
	if (!(at->sm >= 0.5 && gpu_now(at->gpu, METRIC_GPU_TENSOR_ACTIVE) < 0.02))
		return false;
	snprintf(out, GPU_WORDS_SIZE, "GPU busy, tensor cores idle: try mixed precision (torch.autocast)");
	return true;
}

bool gpu_meaning(const struct scene *scene, const struct gpu *gpu, char out[GPU_WORDS_SIZE])
{
	static bool (*const sayings[])(const struct lately *, char[GPU_WORDS_SIZE]) = {
		says_lost,
		says_heat,
		says_idle,
		says_narrow,
		says_empty,
		says_power,
		says_no_tensor,
	};
	const struct lately at = {
		.busy = mean_of(scene, gpu->series.busy_ratio, gpu_now(gpu, METRIC_GPU_BUSY)),
		.sm = mean_of(scene, gpu->series.sm_active_ratio, gpu_now(gpu, METRIC_GPU_SM_ACTIVE)),
		.heat = mean_of(scene, gpu->series.throttled_heat, NAN),
		.throttle_bits = mean_of(scene, gpu->series.throttled, NAN),
		.gpu = gpu,
		.scene = scene,
	};
	char busy[NUMBER_SIZE], sm[NUMBER_SIZE];
	out[0] = '\0';
	for (size_t i = 0; i < sizeof sayings / sizeof sayings[0]; i++)
		if (sayings[i](&at, out))
			return true;
	if (at.busy >= 0.7 && at.sm >= 0.5)
		snprintf(out, GPU_WORDS_SIZE, "GPU well used: busy %s of the time, SMs active %s",
			format_percent(busy, at.busy), format_percent(sm, at.sm));
	else if (at.busy >= 0.7)
		snprintf(out, GPU_WORDS_SIZE, "GPU runs kernels most of the time; it does not report how full its SMs are");
	else if (at.busy >= 0)
		snprintf(out, GPU_WORDS_SIZE, "GPU not known to be used by the run");
	return false;
}

/* -- memory -- */

void gpu_verdict_line(const struct gpu *gpu, struct line *line)
{
	bool is_growing = gpu_memory_is_growing(gpu), is_per_batch = !isnan(gpu->slope_per_batch);
	bool is_known = gpu->verdict && strcmp(gpu->verdict, "unknown") != 0;
	enum role role = is_growing ? ROLE_WARNING : ROLE_NORMAL;
	double slope = is_per_batch ? gpu->slope_per_batch : gpu->slope.per_s;
	char text[NUMBER_SIZE];
	line_start(line, " · ");
	if (!is_known) {
		line_add(line, 0, ROLE_DIM, gpu->slope.points == 0 ? "trend unclear: too few samples" : "trend unclear");
		return;
	}
	line_add(line, 0, role, "%s%s", is_growing ? "⚠ " : "", gpu->verdict);
	if (gpu->slope.points > 0 && (is_growing || fabs(slope) >= 1))
		line_add(
			line, 2, role, "%s%s/%s", slope >= 0 ? "+" : "", format_bytes(text, slope), is_per_batch ? "batch" : "s");
	if (!isnan(gpu->full_in_s))
		line_add(line, 1, role, "full in %s", parts_waiting(text, gpu->full_in_s));
	line_add(line, 3, ROLE_DIM, "%s", gpu_memory_meaning(gpu));
}

/* -- where there is none -- */

const struct missing *gpu_missing(const struct model *model, const char *figure)
{
	const struct missing *like = NULL;
	for (size_t i = 0; i < model->missing_count; i++) {
		if (strcasecmp(model->missing[i].figure, figure) == 0)
			return &model->missing[i];
		if (strlen(figure) > 4 && strncasecmp(model->missing[i].figure, figure, strlen(figure)) == 0)
			like = &model->missing[i];
	}
	return like;
}

static bool is_about_gpus(const struct missing *missing) { return strncasecmp(missing->figure, "gpu", 3) == 0; }

void gpu_absent_line(const struct model *model, struct line *line)
{
	const struct missing *missing = gpu_missing(model, "gpu");
	for (size_t i = 0; i < model->missing_count && !missing; i++)
		missing = is_about_gpus(&model->missing[i]) ? &model->missing[i] : NULL;
	line_start(line, " · ");
	line_add(line, 0, ROLE_DIM, "GPU – %s", missing ? missing->text : "no driver reports one");
	if (missing && missing->remedy[0] != '\0')
		line_add(line, 2, ROLE_DIM, "%s", missing->remedy);
	line_add(line, 1, ROLE_DIM, "5 details");
}

void gpu_absent_text(const struct model *model, char *out, size_t size)
{
	size_t length = 0;
	for (size_t i = 0; i < model->missing_count && length < size; i++) {
		const struct missing *missing = &model->missing[i];

		if (!is_about_gpus(missing))
			continue;
		int written =
			snprintf(out + length, size - length, missing->remedy[0] != '\0' ? "%s: %s.\nTry: %s.\n" : "%s: %s.\n",
				strcasecmp(missing->figure, "gpu") == 0 ? "Why" : missing->figure, missing->text, missing->remedy);

		length += written > 0 ? (size_t)written : 0;
	}
	if (length < size)
		snprintf(out + length, size - length, "%s%s", length == 0 ? "No driver reports a GPU here.\n" : "",
			"pmtop measures steps with the host clock: asynchronous GPU work counts where the CPU waits for it.\n"
			"pmtop doctor checks drivers, libraries and permissions, and says how to get each.");
}
