/* Figures of the GPUs that a run uses (for rules of the model: the process tree), from their drivers. With several
 * GPUs, utilization is the mean, and faults are those of the worst one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/rules/inputs/figures_gpu.h"
#include "src/base/clock.h"
#include "src/model/batch_window/batch_window.h"
#include "src/model/batch_window/batch_window_clocks.h"
#include "src/model/gpus/gpus_runs.h"
#include "src/model/gpus/gpus_words.h"

/* Fluctuating figures are means over this many seconds. */
#define RECENT_S 10
/* Driver reports (XID) count for this many seconds. */
#define REPORT_S 600
/* Below this utilization the PCIe link may slow down to save power. */
#define LINK_BUSY_RATIO 0.2

static size_t gpus_of(const struct context *context, const struct gpu *out[GPUS_MAX])
{
	out[0] = context->gpu;
	return context->gpu ? 1 : run_gpus(context->model, context->run, out);
}

const struct gpu *gpu_foremost(const struct context *context, of_gpu *of)
{
	const struct gpu *gpus[GPUS_MAX], *found = NULL;
	double max = NAN;
	size_t count = gpus_of(context, gpus);
	for (size_t i = 0; i < count; i++) {
		double value = of(context, gpus[i]);
		if (isnan(value) || value <= max)
			continue;
		max = value;
		found = gpus[i];
	}
	return found;
}

double gpu_max(const struct context *context, of_gpu *of)
{
	const struct gpu *gpu = gpu_foremost(context, of);
	return gpu ? of(context, gpu) : NAN;
}

void gpu_write_name(const struct context *context, const struct gpu *gpu, char out[FIGURE_TEXT_SIZE])
{
	if (gpu && context->model->gpus.count == 1)
		snprintf(out, FIGURE_TEXT_SIZE, "the GPU");
	else if (gpu)
		gpu_label(context->model, gpu, out, FIGURE_TEXT_SIZE);
}

/* The metric of a MIG instance, or of its parent GPU if the instance has none. */
static double reported(const struct context *context, const struct gpu *gpu, enum metric metric)
{
	const struct gpu *whole = gpu->parent >= 0 ? model_gpu(context->model, gpu->parent) : NULL;
	double value = gpu_now(gpu, metric);
	return isnan(value) && whole ? gpu_now(whole, metric) : value;
}

/* -- all GPUs -- */

NUMBER(count)
{
	const struct gpu *gpus[GPUS_MAX];
	return (double)gpus_of(context, gpus);
}

TEXT(indexes)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t all = gpus_of(context, gpus), used = 0;
	for (size_t i = 0; i < all && used < FIGURE_TEXT_SIZE; i++)
		used += (size_t)snprintf(out + used, FIGURE_TEXT_SIZE - used, "%s%u", i ? ", " : "", gpus[i]->index);
}

TEXT(names)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t all = gpus_of(context, gpus);
	if (all > 1)
		snprintf(out, FIGURE_TEXT_SIZE, "%zu × %s", all, gpus[0]->name);
	else if (all)
		snprintf(out, FIGURE_TEXT_SIZE, "%s", gpus[0]->name);
}

double gpu_recent(const struct context *context, const struct series *series, double now)
{
	double mean = NAN;
	series_mean(series, context->model->now_ns - RECENT_S * NS_PER_S, context->model->now_ns + 1, &mean);
	return isnan(mean) ? now : mean;
}

static double busy_of(const struct context *context, const struct gpu *gpu)
{
	return gpu_recent(context, gpu->series.busy_ratio, reported(context, gpu, METRIC_GPU_BUSY));
}

static double sm_of(const struct context *context, const struct gpu *gpu)
{
	return gpu_recent(context, gpu->series.sm_active_ratio, reported(context, gpu, METRIC_GPU_SM_ACTIVE));
}

static double mean_of(const struct context *context, of_gpu *of)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t all = gpus_of(context, gpus), known = 0;
	double sum = 0;
	for (size_t i = 0; i < all; i++) {
		double value = of(context, gpus[i]);
		if (isnan(value))
			continue;
		sum += value;
		known++;
	}
	return known ? sum / (double)known : NAN;
}

static double figure_of(const struct context *context, enum metric metric)
{
	return context->gpu ? reported(context, context->gpu, metric)
						: run_gpu_figure(context->model, context->run, metric);
}

NUMBER(busy) { return mean_of(context, busy_of); }
NUMBER(sm_active) { return mean_of(context, sm_of); }
NUMBER(occupancy) { return figure_of(context, METRIC_GPU_SM_OCCUPANCY); }
NUMBER(tensor_active) { return figure_of(context, METRIC_GPU_TENSOR_ACTIVE); }
NUMBER(dram_active) { return figure_of(context, METRIC_GPU_DRAM_ACTIVE); }
NUMBER(power) { return figure_of(context, METRIC_GPU_POWER); }
NUMBER(received) { return figure_of(context, METRIC_GPU_PCIE_RECEIVED); }
NUMBER(sent) { return figure_of(context, METRIC_GPU_PCIE_SENT); }

/* -- clock, power, heat -- */

static double power_of(const struct context *context, const struct gpu *gpu)
{
	const struct gpu *whole = isnan(gpu->power_w) && gpu->parent >= 0 ? model_gpu(context->model, gpu->parent) : gpu;
	double limit_w = reported(context, gpu, METRIC_GPU_POWER_LIMIT);
	return whole && limit_w > 0 ? whole->power_w / limit_w : NAN;
}

/* 1 − clock ÷ maximum clock. */
static double slowness_of(const struct context *context, const struct gpu *gpu)
{
	double max_hz = reported(context, gpu, METRIC_GPU_CLOCK_MAX);
	return max_hz > 0 ? 1 - reported(context, gpu, METRIC_GPU_CLOCK) / max_hz : NAN;
}

static double temperature_of(const struct context *context, const struct gpu *gpu)
{
	return reported(context, gpu, METRIC_GPU_TEMPERATURE);
}

/* Share of the last RECENT_S; if unknown, the driver's counter between its last two readings. */
static double throttled_by(const struct context *context, const struct gpu *gpu, uint32_t bits, double counted_ratio)
{
	double ratio = gpu_throttled_ratio(context->model, gpu->instance, bits, RECENT_S, NULL);
	return isnan(ratio) ? counted_ratio : ratio;
}

static double heat_of(const struct context *context, const struct gpu *gpu)
{
	return throttled_by(context, gpu, GPU_THROTTLED_BY_HEAT, gpu->throttled_thermal_ratio);
}
static double cap_of(const struct context *context, const struct gpu *gpu)
{
	return throttled_by(context, gpu, GPU_THROTTLED_BY_POWER, gpu->throttled_power_ratio);
}
/* 0 if the driver names heat or power as the reason: those have their own figures. */
static double hardware_of(const struct context *context, const struct gpu *gpu)
{
	double ratio = throttled_by(context, gpu, GPU_THROTTLED_BY_HARDWARE, NAN),
		   both = fmax(heat_of(context, gpu), cap_of(context, gpu));
	return both > 0 && ratio <= both ? 0 : ratio;
}

/* The clock while throttled for these reasons; the current clock if that is unknown or bits are 0. */
static void write_clock(const struct context *context, const struct gpu *gpu, uint32_t bits, char out[FIGURE_TEXT_SIZE])
{
	double clock_hz = NAN;
	if (!gpu || isnan(slowness_of(context, gpu)))
		return;
	gpu_throttled_ratio(context->model, gpu->instance, bits, RECENT_S, &clock_hz);
	clock_hz = isnan(clock_hz) ? reported(context, gpu, METRIC_GPU_CLOCK) : clock_hz;
	snprintf(out, FIGURE_TEXT_SIZE, "%.0f of %.0f MHz", clock_hz * 1e-6,
		reported(context, gpu, METRIC_GPU_CLOCK_MAX) * 1e-6);
}

static void write_power(const struct context *context, const struct gpu *gpu, char out[FIGURE_TEXT_SIZE])
{
	if (gpu && power_of(context, gpu) >= 0)
		snprintf(out, FIGURE_TEXT_SIZE, "%.0f of %.0f W",
			power_of(context, gpu) * reported(context, gpu, METRIC_GPU_POWER_LIMIT),
			reported(context, gpu, METRIC_GPU_POWER_LIMIT));
}

NUMBER(power_ratio) { return gpu_max(context, power_of); }
NUMBER(clock_ratio) { return 1 - gpu_max(context, slowness_of); }
NUMBER(temperature) { return gpu_max(context, temperature_of); }
TEXT(clock_words) { write_clock(context, gpu_foremost(context, slowness_of), 0, out); }
NUMBER(heat) { return gpu_max(context, heat_of); }
TEXT(heat_who) { gpu_write_name(context, gpu_foremost(context, heat_of), out); }
TEXT(heat_clock) { write_clock(context, gpu_foremost(context, heat_of), GPU_THROTTLED_BY_HEAT, out); }
NUMBER(heat_celsius)
{
	return gpu_foremost(context, heat_of) ? temperature_of(context, gpu_foremost(context, heat_of)) : NAN;
}
NUMBER(cap) { return gpu_max(context, cap_of); }
TEXT(cap_who) { gpu_write_name(context, gpu_foremost(context, cap_of), out); }
TEXT(cap_clock) { write_clock(context, gpu_foremost(context, cap_of), GPU_THROTTLED_BY_POWER, out); }
TEXT(cap_power) { write_power(context, gpu_foremost(context, cap_of), out); }
/* Clock while power-throttled ÷ maximum clock. */
NUMBER(cap_clock_ratio)
{
	const struct gpu *gpu = gpu_foremost(context, cap_of);
	double clock_hz = NAN;
	if (gpu)
		gpu_throttled_ratio(context->model, gpu->instance, GPU_THROTTLED_BY_POWER, RECENT_S, &clock_hz);
	return !gpu           ? NAN
		: isnan(clock_hz) ? 1 - slowness_of(context, gpu)
						  : clock_hz / reported(context, gpu, METRIC_GPU_CLOCK_MAX);
}

NUMBER(hardware) { return gpu_max(context, hardware_of); }
TEXT(hardware_who) { gpu_write_name(context, gpu_foremost(context, hardware_of), out); }
TEXT(hardware_clock) { write_clock(context, gpu_foremost(context, hardware_of), GPU_THROTTLED_BY_HARDWARE, out); }

TEXT(throttle)
{
	double bits = figure_of(context, METRIC_GPU_THROTTLE);
	if (bits >= 0)
		gpu_throttle_words((unsigned)bits, out, FIGURE_TEXT_SIZE);
}

/* -- PCIe -- */

/* GB/s of one lane, for generations 1 to 6: 8b/10b encoding (1, 2), 128b/130b (3 to 5), flits (6). */
static double lane_speed(double generation)
{
	static const double speeds[] = { NAN, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563 };
	return generation >= 1 && generation < sizeof speeds / sizeof *speeds ? speeds[(size_t)generation] : NAN;
}

/* 1 − speed of the link ÷ its maximum. */
static double narrowness_of(const struct context *context, const struct gpu *gpu)
{
	double now =
		lane_speed(reported(context, gpu, METRIC_GPU_PCIE_GENERATION)) * reported(context, gpu, METRIC_GPU_PCIE_WIDTH);
	double max = lane_speed(reported(context, gpu, METRIC_GPU_PCIE_GENERATION_MAX)) *
		reported(context, gpu, METRIC_GPU_PCIE_WIDTH_MAX);
	return busy_of(context, gpu) >= LINK_BUSY_RATIO && max > 0 ? 1 - now / max : NAN;
}

static void write_link(
	const struct context *context, enum metric generation, enum metric width, char out[FIGURE_TEXT_SIZE])
{
	const struct gpu *gpu = gpu_foremost(context, narrowness_of);
	if (gpu)
		snprintf(
			out, FIGURE_TEXT_SIZE, "gen %.0f ×%.0f", reported(context, gpu, generation), reported(context, gpu, width));
}

NUMBER(link_ratio) { return 1 - gpu_max(context, narrowness_of); }
TEXT(link_who) { gpu_write_name(context, gpu_foremost(context, narrowness_of), out); }
TEXT(link_now) { write_link(context, METRIC_GPU_PCIE_GENERATION, METRIC_GPU_PCIE_WIDTH, out); }
TEXT(link_max) { write_link(context, METRIC_GPU_PCIE_GENERATION_MAX, METRIC_GPU_PCIE_WIDTH_MAX, out); }

/* -- faults -- */

static const struct gpu *lost_of(const struct context *context)
{
	for (size_t i = 0; i < context->model->gpus.count; i++)
		if (context->model->gpus.gpus[i].lost[0] && context->model->gpus.gpus[i].totals.was_ours)
			return &context->model->gpus.gpus[i];
	return NULL;
}

static bool was_ours(const struct context *context, int32_t instance)
{
	const struct gpu *gpu = model_gpu(context->model, instance);
	return gpu && (gpu->is_ours || gpu->totals.was_ours);
}

/* The newest report of the run's GPUs; *reports receives their number. */
static const struct gpu_happening *report_of(const struct context *context, size_t *reports)
{
	const struct gpus *gpus = &context->model->gpus;
	const struct gpu_happening *newest = NULL;
	*reports = 0;
	for (uint64_t i = 0; i < gpus->happening_count && i < GPU_EVENTS_RETAINED; i++) {
		const struct gpu_happening *happening =
			&gpus->happenings[(gpus->happening_count - 1 - i) % GPU_EVENTS_RETAINED];
		if (happening->time_ns < context->model->now_ns - REPORT_S * NS_PER_S ||
			!was_ours(context, happening->instance))
			continue;
		newest = newest ? newest : happening;
		++*reports;
	}
	return newest;
}

static double ecc_of(const struct context *context, const struct gpu *gpu)
{
	return reported(context, gpu, METRIC_GPU_ECC_UNCORRECTED);
}

NUMBER(lost) { return context->model->gpus.count ? lost_of(context) != NULL : NAN; }
TEXT(lost_who) { gpu_write_name(context, lost_of(context), out); }
TEXT(lost_why)
{
	if (lost_of(context))
		snprintf(out, FIGURE_TEXT_SIZE, "%s", lost_of(context)->lost);
}

NUMBER(reports)
{
	size_t reports;
	report_of(context, &reports);
	return context->model->gpus.count ? (double)reports : NAN;
}

NUMBER(report_code)
{
	size_t reports;
	const struct gpu_happening *report = report_of(context, &reports);
	return report ? (double)report->code : NAN;
}
TEXT(report_who)
{
	size_t reports;
	const struct gpu_happening *report = report_of(context, &reports);
	if (report)
		gpu_write_name(context, model_gpu(context->model, report->instance), out);
}
TEXT(report_words)
{
	size_t reports;
	const struct gpu_happening *report = report_of(context, &reports);
	if (report && report->code && !strstr(report->text, "XID"))
		snprintf(out, FIGURE_TEXT_SIZE, "XID %u: %s", report->code, report->text);
	else if (report)
		snprintf(out, FIGURE_TEXT_SIZE, "%s", report->text);
}

NUMBER(ecc) { return gpu_max(context, ecc_of); }
TEXT(ecc_who) { gpu_write_name(context, gpu_foremost(context, ecc_of), out); }

static const char no_gpu[] = "no GPU that the run uses is known (pmtop doctor says why)";
static const char not_reported[] = "no GPU of the run, or its driver does not report it";
static const char no_sm[] = "its driver does not report it (NVIDIA: Hopper and later)";
static const char no_link[] = "no GPU of the run, its driver does not report it, or it is idle";
static const char no_report[] = "none was reported";
static const char not_throttled[] = "no GPU of the run, or its driver reports no throttle reasons";

static const struct figure rows[] = {
	NUMBER_OF("gpu.count", COUNT, count, "GPUs that the run uses", NULL),
	TEXT_OF("gpu.index", indexes, "their indexes: \"0, 1\"", no_gpu),
	TEXT_OF("gpu.name", names, "their model: \"2 × H100 80GB HBM3\"", no_gpu),
	NUMBER_OF("gpu.busy_ratio", PERCENT, busy,
		"GPU utilization by its driver: share of the last 10 s with a kernel running; mean of all GPUs", no_gpu),
	NUMBER_OF("gpu.sm_active_ratio", PERCENT, sm_active, "share of active SMs", no_sm),
	NUMBER_OF("gpu.occupancy_ratio", PERCENT, occupancy, "SM occupancy: active warps ÷ their maximum", no_sm),
	NUMBER_OF("gpu.tensor_active_ratio", PERCENT, tensor_active, "utilization of the tensor cores", no_sm),
	NUMBER_OF("gpu.dram_active_ratio", PERCENT, dram_active, "utilization of the memory bandwidth", no_sm),
	NUMBER_OF("gpu.power_w", NUMBER, power, "power of all GPUs in W", not_reported),
	NUMBER_OF(
		"gpu.power_ratio", PERCENT, power_ratio, "power ÷ power limit; the GPU nearest to its limit", not_reported),
	NUMBER_OF("gpu.temperature_c", NUMBER, temperature, "temperature of the hottest GPU in °C", not_reported),
	NUMBER_OF("gpu.clock_ratio", PERCENT, clock_ratio, "clock ÷ maximum clock; the slowest GPU", not_reported),
	TEXT_OF("gpu.clock", clock_words, "the same: \"1215 of 1980 MHz\"", not_reported),
	TEXT_OF("gpu.throttle", throttle, "throttle reasons now: \"power cap, thermal limit\"",
		"none, or its driver does not report them"),
	NUMBER_OF("gpu.throttled_thermal_ratio", PERCENT, heat,
		"share of the last 10 s in which a GPU was thermally throttled; the worst GPU", not_throttled),
	TEXT_OF("gpu.throttled_thermal_who", heat_who, "that GPU: \"GPU 1\"", not_throttled),
	TEXT_OF("gpu.throttled_thermal_clock", heat_clock, "its clock while throttled", not_reported),
	NUMBER_OF("gpu.throttled_thermal_c", NUMBER, heat_celsius, "its temperature", not_reported),
	NUMBER_OF("gpu.throttled_power_ratio", PERCENT, cap,
		"share of the last 10 s in which a GPU was throttled by its power limit; the worst GPU", not_throttled),
	TEXT_OF("gpu.throttled_power_who", cap_who, "that GPU", not_throttled),
	TEXT_OF("gpu.throttled_power_clock", cap_clock, "its clock while throttled", not_reported),
	NUMBER_OF("gpu.throttled_power_clock_ratio", PERCENT, cap_clock_ratio, "that clock ÷ maximum clock", not_reported),
	TEXT_OF("gpu.throttled_power_w", cap_power, "its power: \"298 of 300 W\"", not_reported),
	NUMBER_OF("gpu.throttled_hardware_ratio", PERCENT, hardware,
		"share of the last 10 s in hardware slowdown (heat or power); the worst GPU", not_throttled),
	TEXT_OF("gpu.throttled_hardware_who", hardware_who, "that GPU", not_throttled),
	TEXT_OF("gpu.throttled_hardware_clock", hardware_clock, "its clock while throttled", not_reported),
	NUMBER_OF("gpu.pcie_ratio", PERCENT, link_ratio,
		"speed of the PCIe link under load ÷ maximum of GPU and slot; the worst GPU", no_link),
	TEXT_OF("gpu.pcie_who", link_who, "that GPU", no_link),
	TEXT_OF("gpu.pcie_link", link_now, "its link: \"gen 3 ×8\"", no_link),
	TEXT_OF("gpu.pcie_link_max", link_max, "its maximum", no_link),
	NUMBER_OF("gpu.pcie_received_bytes_per_s", BYTES_PER_S, received, "host to device, over PCIe", not_reported),
	NUMBER_OF("gpu.pcie_sent_bytes_per_s", BYTES_PER_S, sent, "device to host, over PCIe", not_reported),
	NUMBER_OF("gpu.lost", COUNT, lost, "1 if a GPU of the run no longer responds", no_gpu),
	TEXT_OF("gpu.lost_who", lost_who, "that GPU", no_report),
	TEXT_OF("gpu.lost_why", lost_why, "the reason", no_report),
	NUMBER_OF("gpu.reports", COUNT, reports, "number of driver reports (XID) in the last ten minutes", no_gpu),
	NUMBER_OF("gpu.report_code", NUMBER, report_code, "XID code of the newest report", no_report),
	TEXT_OF("gpu.report_who", report_who, "the GPU of that report", no_report),
	TEXT_OF("gpu.report", report_words, "its text", no_report),
	NUMBER_OF("gpu.ecc_uncorrected", COUNT, ecc,
		"uncorrected memory errors (ECC) since the driver was loaded; the worst GPU", not_reported),
	TEXT_OF("gpu.ecc_who", ecc_who, "that GPU", not_reported),
};

const struct figure_part gpu_figures = { rows, sizeof rows / sizeof *rows };
