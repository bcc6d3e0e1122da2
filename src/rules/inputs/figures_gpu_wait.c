/* Figures of GPU idle time, and of shares of a step by the GPU's clock: kernel launches are asynchronous, so the host's
 * clock measures only the launches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/model/run/known_names.h"
#include "src/rules/inputs/figures_gpu.h"

/* The levels of the rules gpu_waits_for_host and gpu_waits_for_copies. */
#define HOST_BUSY_RATIO 0.9
#define GPU_IDLE_RATIO 0.5
#define LOADING_RATIO 0.15
#define MUCH_BYTES_PER_S 2e9

/* -- GPU timings: published figures "gpu.NAME_s" of batches, medians of the last 200 -- */

static double clock_of(const struct context *context, const char *phase)
{
	char wanted[NUMBER_SIZE + 64];
	snprintf(wanted, sizeof wanted, "gpu.%.60s_s", phase);
	for (size_t i = 0; context->run && i < context->run->late_figure_count; i++) {
		const struct late_figure *figure = &context->run->late_figures[i];
		if (figure->mode == context->track->mode && figure->median >= 0 &&
			strcmp(run_name(context->run, figure->name), wanted) == 0)
			return figure->median;
	}
	return NAN;
}

/* If the host runs ahead of the GPU, most host steps are shorter than the GPU's. */
static double clocked_step_s(const struct context *context)
{
	return context->steps ? fmax(context->mean_s, clock_of(context, "batch")) : NAN;
}

static double clocked_s(const struct context *context)
{
	return context->phase && context->phase->name != NAME_UNATTRIBUTED
		? clock_of(context, run_name(context->run, context->phase->name))
		: NAN;
}

NUMBER(phase_gpu) { return clocked_s(context); }

NUMBER(phase_gpu_share)
{
	double share = clocked_s(context) / clocked_step_s(context);
	return share > 1 ? 1 : share;
}

static double host_share(const struct context *context)
{
	return context->phase && context->phase->name != NAME_UNATTRIBUTED ? context->phase->share_ratio : NAN;
}

NUMBER(phase_work_share)
{
	return isnan(clocked_s(context)) ? host_share(context) : phase_gpu_share(context, argument);
}
NUMBER(phase_work) { return isnan(clocked_s(context)) ? host_share(context) * context->mean_s : clocked_s(context); }
TEXT(phase_clock) { snprintf(out, FIGURE_TEXT_SIZE, "%s", isnan(clocked_s(context)) ? "" : "GPU clock"); }

TEXT(phase_work_part)
{
	figure_write_part(
		phase_work(context, argument), isnan(clocked_s(context)) ? context->mean_s : clocked_step_s(context), out);
}

/* -- idle time -- */

/* Whether each forward and backward of the host has a GPU timing; one without would count as idle. */
static bool is_clock_whole(const struct context *context)
{
	for (size_t i = 0; i < context->phase_count; i++) {
		const struct phase_row *phase = &context->phases[i];
		enum phase_kind kind = phase->name == NAME_UNATTRIBUTED ? PHASE_OTHER : phase_kind(context->run, phase->name);
		if ((kind == PHASE_FORWARD || kind == PHASE_BACKWARD) && phase->share_ratio > 0.02 &&
			isnan(clock_of(context, run_name(context->run, phase->name))))
			return false;
	}
	return true;
}

NUMBER(gpu_backward_ratio) { return clock_of(context, "backward") / clock_of(context, "forward"); }

static double by_name(const struct context *context, const char *name)
{
	const char *none;
	const struct figure_ref ref = { figure_find(name, &none), NULL };
	return figure_number(&ref, context);
}

/* Time per step in all phases of this kind. */
static double kind_s(const struct context *context, enum phase_kind kind, bool is_clocked)
{
	double sum_s = NAN;
	for (size_t i = 0; i < context->phase_count; i++) {
		const struct phase_row *phase = &context->phases[i];
		if (phase->name == NAME_UNATTRIBUTED || phase_kind(context->run, phase->name) != kind)
			continue;
		double seconds =
			is_clocked ? clock_of(context, run_name(context->run, phase->name)) : phase->share_ratio * context->mean_s;
		sum_s = (isnan(sum_s) ? 0 : sum_s) + seconds;
	}
	return sum_s;
}

/* On a GPU, the host's clock measures only launches. */
NUMBER(backward_ratio)
{
	bool is_clocked = !isnan(clock_of(context, "forward"));
	if (is_clocked ? !is_clock_whole(context) : by_name(context, "gpu.count") >= 1)
		return NAN;
	return kind_s(context, PHASE_BACKWARD, is_clocked) / kind_s(context, PHASE_FORWARD, is_clocked);
}

/* All but "gpu.batch_s", which covers the whole batch. */
static double sum_clock(const struct context *context)
{
	double sum_s = NAN;
	for (size_t i = 0; context->run && i < context->run->late_figure_count; i++) {
		const struct late_figure *figure = &context->run->late_figures[i];
		const char *name = run_name(context->run, figure->name);
		bool is_time = figure->mode == context->track->mode && name_is_gpu_time(name);
		if (is_time && !name_is(name, KNOWN_GPU_BATCH) && figure->median >= 0)
			sum_s = (isnan(sum_s) ? 0 : sum_s) + figure->median;
	}
	return sum_s;
}

NUMBER(own_wait)
{
	double busy_s = context->run && is_clock_whole(context) ? sum_clock(context) : NAN,
		   step_s = clocked_step_s(context);
	return isnan(busy_s) || isnan(step_s) ? NAN : fmax(0, 1 - busy_s / step_s);
}

NUMBER(idle) { return 1 - by_name(context, "gpu.busy_ratio"); }

NUMBER(wait)
{
	double own = own_wait(context, argument);
	return !isnan(own) ? own : context->steps ? idle(context, argument) : NAN;
}

NUMBER(loading)
{
	double share = 0;
	for (size_t i = 0; i < context->phase_count; i++)
		if (context->phases[i].name != NAME_UNATTRIBUTED &&
			phase_kind(context->run, context->phases[i].name) == PHASE_DATA)
			share += context->phases[i].share_ratio;
	return context->steps ? share : NAN;
}

/* -- waiting for the CPU -- */

/* A single run is the target process, even if its pid is from another namespace. */
static const struct process *process_of(const struct context *context)
{
	for (size_t i = 0; context->run && i < context->model->process_count; i++) {
		const struct process *process = &context->model->processes[i];
		if (!process->is_gone &&
			(process->pid == context->run->pid || (process->is_target && context->model->run_count == 1)))
			return process;
	}
	return NULL;
}

NUMBER(host_cpu)
{
	const struct process *process = process_of(context);
	return !process          ? NAN
		: process->is_target ? gpu_recent(context, context->model->series.cpu_ratio, process->cpu_ratio)
							 : process->cpu_ratio;
}

/* A network that is called cell by cell has one forward span per call. */
NUMBER(forward_calls)
{
	double max = 0;
	for (size_t i = 0; context->run && i < context->run->operation_count; i++) {
		const struct operation *operation = &context->run->operations[i];
		if (operation->depth == 0 && operation->mode == context->track->mode && operation->name != NAME_UNATTRIBUTED &&
			phase_kind(context->run, operation->name) == PHASE_FORWARD)
			max = fmax(max, (double)operation->count);
	}
	return max > 0 && context->track->count ? round(max / (double)context->track->count) : NAN;
}

/* -- waiting for copies -- */

/* The series holds the sum of both directions; splits it by the current ratio. */
static double copied_to(const struct context *context, const struct gpu *gpu)
{
	double in = gpu_rate(gpu, METRIC_GPU_PCIE_RECEIVED), both = in + gpu_rate(gpu, METRIC_GPU_PCIE_SENT);
	return both > 0 ? in / both * gpu_recent(context, gpu->series.pcie_bytes_per_s, both) : both;
}

NUMBER(copied) { return gpu_max(context, copied_to); }

NUMBER(waits_for_host)
{
	bool has_other_reason = loading(context, argument) > LOADING_RATIO || copied(context, argument) > MUCH_BYTES_PER_S;
	return idle(context, argument) > GPU_IDLE_RATIO && host_cpu(context, argument) > HOST_BUSY_RATIO &&
		!has_other_reason;
}

NUMBER(copied_a_step) { return context->steps ? copied(context, argument) * context->mean_s : NAN; }

#define RUN_NUMBER(name, form, function, what, lacks) NUMBER_ROW(name, form, RUN, function, what, lacks)
#define PHASE_NUMBER(name, form, function, what, lacks) NUMBER_ROW(name, form, PHASE, function, what, lacks)
#define PHASE_TEXT(name, function, what, lacks) TEXT_ROW(name, PHASE, function, what, lacks)

static const char no_clock[] = "no GPU timing of it is published (gpu.*_s)";
static const char no_rate[] = "no GPU of the run, or its driver does not report it";

static const struct figure rows[] = {
	RUN_NUMBER("gpu.own_wait_ratio", PERCENT, own_wait,
		"share of the step in which no phase runs on the GPU, by GPU timings",
		"no GPU timings are published (gpu.*_s), or not of each pass"),
	RUN_NUMBER("gpu.wait_ratio", PERCENT, wait, "the same; without GPU timings gpu.idle_ratio",
		"no GPU timings are published (gpu.*_s), and no GPU of the run is known"),
	RUN_NUMBER(
		"gpu.idle_ratio", PERCENT, idle, "share of the last 10 s in which the GPU was idle, by its driver", no_rate),
	RUN_NUMBER("gpu.waits_for_host", NUMBER, waits_for_host,
		"1: idle more than half of the time, while the run's process uses a whole CPU and neither loads nor copies "
		"much",
		NULL),
	RUN_NUMBER("gpu.copied_bytes_per_s", BYTES_PER_S, copied,
		"host to device over PCIe, mean of the last 10 s; the GPU with the most", no_rate),
	RUN_NUMBER("gpu.copied_bytes_per_step", BYTES, copied_a_step, "the same, per step", no_rate),
	RUN_NUMBER("gpu.backward_ratio", FACTOR, gpu_backward_ratio, "backward ÷ forward, by GPU timings", no_clock),
	RUN_NUMBER("run.backward_ratio", FACTOR, backward_ratio,
		"backward ÷ forward, by GPU timings if published; 1 to 3 is normal",
		"no forward or no backward is published, or the run uses a GPU without GPU timings (gpu.*_s)"),
	RUN_NUMBER("loading.share_ratio", PERCENT, loading, "share of the recent steps in all phases of kind data", NULL),
	RUN_NUMBER("run.cpu_ratio", PERCENT, host_cpu, "CPU time of the run's process in the last 10 s: 100 % is one CPU",
		"not read yet"),
	RUN_NUMBER("run.forward_calls", COUNT, forward_calls, "forward calls per step", "no forward is published"),
	PHASE_NUMBER(
		"phase.gpu_s", SECONDS, phase_gpu, "its time in a step by GPU timings, median of the last 200", no_clock),
	PHASE_NUMBER("phase.gpu_share_ratio", PERCENT, phase_gpu_share,
		"that ÷ the mean step (of CPU and GPU timings the longer)", no_clock),
	PHASE_NUMBER("phase.work_ratio", PERCENT, phase_work_share,
		"its share of the step, by GPU timings if published, else phase.share_ratio", NULL),
	PHASE_NUMBER("phase.work_s", SECONDS, phase_work, "its time in a step, by the same clock", NULL),
	PHASE_TEXT("phase.work_part", phase_work_part, "\"0.068 s of 0.201 s\", by the same clock", NULL),
	PHASE_TEXT("phase.clock", phase_clock, "\"GPU clock\" if GPU timings are used", no_clock),
};

const struct figure_part gpu_wait_figures = { rows, sizeof rows / sizeof *rows };
