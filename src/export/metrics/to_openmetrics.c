/* --to=openmetrics: the current state (of a recording: at its end) in OpenMetrics 1.0. An unknown figure has no
 * sample. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/export/figures/scope.h"
#include "src/export/finished.h"
#include "src/export/metrics/openmetrics.h"
#include "src/export/metrics/openmetrics_hardware.h"
#include "src/export/metrics/openmetrics_histogram.h"
#include "src/model/run/refusals.h"
#include "src/rules/alerts_list.h"

static void labels_of_run(struct openmetrics *text, const struct run *run)
{
	buffer_clear(&text->labels);
	openmetrics_label(text, "run", run->name);
	openmetrics_label(text, "rank", run->rank);
	openmetrics_label_number(text, "pid", run->pid);
}

static void labels_of_track(struct openmetrics *text, const struct run *run, uint32_t mode)
{
	labels_of_run(text, run);
	openmetrics_label(text, "mode", scope_mode_name(run, mode));
}

static void summary(struct openmetrics *text, double p50, double p95, double sum, uint64_t count)
{
	if (!count)
		return;
	openmetrics_sample(text, "", "0.5", p50);
	openmetrics_sample(text, "", "0.95", p95);
	openmetrics_sample(text, "_sum", NULL, sum);
	openmetrics_sample(text, "_count", NULL, (double)count);
}

/* -- runs -- */

#define EACH_RUN(text, run) \
	for (unsigned i_ = 0; i_ < (text)->scene->model->run_count; i_++) \
		for (const struct run *run = &(text)->scene->model->runs[i_]; run && run->is_used; run = NULL)
#define EACH_TRACK(text, run, track) \
	EACH_RUN(text, run) \
	for (const struct track *track = run->tracks; track < run->tracks + run->track_count; track++)

/* GAUGE(name, unit, help, value) */
#define RUN_GAUGES(X) \
	X(up, "", "Whether the run goes on (1) or has ended (0).", run->is_live) \
	X(epochs_begun, "", "Epochs begun.", \
		run->state.epoch_index == EPOCH_UNKNOWN ? NAN : (double)run->state.epochs_begun) \
	X(epochs_planned, "", "Epochs planned, as published.", \
		run->state.epochs_planned ? (double)run->state.epochs_planned : NAN) \
	X(epoch_done_ratio, "ratio", "Share of the epoch that is done.", run->epoch_done_ratio) \
	X(epoch_remaining_seconds, "seconds", "Until the epoch ends, estimated.", run->epoch_eta_s) \
	X(run_remaining_seconds, "seconds", "Until the run ends, estimated, validation and checkpoints included.", \
		run->run_eta_s)
#define TRACK_GAUGES(X) \
	X(batch_last_seconds, "seconds", "The newest batch, from its begin to its end.", \
		track->batch.count ? track->batch.last_s : NAN) \
	X(step_last_seconds, "seconds", "The newest step, from one batch's begin to the next.", \
		track->step.count ? track->step.last_s : NAN) \
	X(step_min_seconds, "seconds", "The shortest step of the run.", track->step.count ? track->step.min_s : NAN) \
	X(step_max_seconds, "seconds", "The longest step of the run.", track->step.count ? track->step.max_s : NAN) \
	X(step_median_seconds, "seconds", "Median of the steps of the run, within 2 %.", \
		track->step.count ? track->step.p50_s : NAN) \
	X(step_p95_seconds, "seconds", "95th percentile of the steps of the run, within 2 %.", \
		track->step.count ? track->step.p95_s : NAN) \
	X(step_recent_median_seconds, "seconds", "Median of the last 200 steps.", \
		track->recent.count ? track->recent.p50_s : NAN) \
	X(step_recent_p95_seconds, "seconds", "95th percentile of the last 200 steps.", \
		track->recent.count ? track->recent.p95_s : NAN) \
	X(batches_per_second, "", "Rate over the last 200 steps.", track->rate_per_s) \
	X(samples_per_second, "", "Rate over the last 200 steps.", track->samples_per_s) \
	X(loss, "", "Loss of the newest batch that has one.", track->loss)

static void write_runs(struct openmetrics *text)
{
	openmetrics_begin(text, "run", "info", "", "The run and where it runs.");
	EACH_RUN(text, run)
	{
		labels_of_run(text, run);
		openmetrics_label(text, "world", run->world);
		openmetrics_label(text, "host", text->scene->host);
		openmetrics_label(text, "uuid", run->uuid);
		openmetrics_sample(text, "_info", NULL, 1);
	}
#define EMIT(name, unit, help, value) \
	openmetrics_begin(text, #name, "gauge", unit, help); \
	EACH_RUN(text, run) \
	{ \
		labels_of_run(text, run); \
		openmetrics_sample(text, "", NULL, value); \
	}
	RUN_GAUGES(EMIT)
#undef EMIT
#define EMIT(name, unit, help, value) \
	openmetrics_begin(text, #name, "gauge", unit, help); \
	EACH_TRACK(text, run, track) \
	{ \
		labels_of_track(text, run, track->mode); \
		openmetrics_sample(text, "", NULL, value); \
	}
	TRACK_GAUGES(EMIT)
#undef EMIT
}

static void write_totals(struct openmetrics *text)
{
	openmetrics_begin(text, "batch_seconds", "summary", "seconds",
		"Batches of the whole run, each from its begin to its end; quantiles within 2 %.");
	EACH_TRACK(text, run, track)
	{
		labels_of_track(text, run, track->mode);
		summary(text, track->batch.p50_s, track->batch.p95_s, track->batch.total_s, track->batch.count);
	}
	openmetrics_begin(text, "step_seconds", "histogram", "seconds",
		"Steps, each from its batch's begin to the next; bounds within 2 %.");
	EACH_TRACK(text, run, track)
	{
		struct run_histogram histogram = { 0 };
		labels_of_track(text, run, track->mode);
		if (run_histogram_add_steps(run, track, &openmetrics_step_bounds, &histogram) && histogram.count)
			openmetrics_histogram(text, &openmetrics_step_bounds, &histogram, NULL);
	}
	openmetrics_begin(
		text, "flagged_batches", "counter", "", "Batches that were flagged as slow, since pmtop watches.");
	EACH_TRACK(text, run, track)
	{
		labels_of_track(text, run, track->mode);
		openmetrics_sample(text, "_total", NULL, (double)track->flagged_count);
	}
	openmetrics_begin(text, "lost_events", "counter", "", "Events that were overwritten before pmtop could read them.");
	EACH_RUN(text, run)
	{
		labels_of_run(text, run);
		openmetrics_sample(text, "_total", NULL, (double)run->lost_events);
	}
	openmetrics_begin(text, "refused_events", "counter", "",
		"Calls that the program's publisher refused, by reason: their events are in no figure.");
	EACH_RUN(text, run)
	{
		for (unsigned i = 0; i < REFUSAL_COUNT + (run_refused_for(run, REFUSAL_COUNT) > 0); i++) {
			labels_of_run(text, run);
			openmetrics_label(text, "reason", i < REFUSAL_COUNT ? refusal_key(i) : "unknown");
			openmetrics_sample(text, "_total", NULL, (double)run_refused_for(run, i));
		}
	}
}

/* -- phases: operations, by their path -- */

enum { DEPTHS_MAX = 16 };

static void labels_of_operation(struct openmetrics *text, const struct run *run, size_t index)
{
	const char *names[DEPTHS_MAX];
	struct buffer path = BUFFER_INIT;
	unsigned count = 0;
	/* Rows are sorted depth first: the parent is the nearest earlier row with less depth. */
	for (size_t i = index + 1, depth = SIZE_MAX; i-- > 0 && count < DEPTHS_MAX && depth != 0;) {
		if (run->operations[i].depth < depth) {
			depth = run->operations[i].depth;
			names[count++] = run_name(run, run->operations[i].name);
		}
	}
	while (count-- > 0) {
		buffer_puts(&path, path.length ? "/" : "");
		buffer_puts(&path, names[count]);
	}
	labels_of_track(text, run, run->operations[index].mode);
	openmetrics_label(text, "phase", path.data);
	buffer_release(&path);
}

#define EACH_OPERATION(text, run, index) \
	EACH_RUN(text, run) \
	for (size_t index = 0; index < run->operation_count; index++) \
		if (run->operations[index].count)

static void write_phases(struct openmetrics *text)
{
	openmetrics_begin(
		text, "phase_seconds", "histogram", "seconds", "Outermost spans, by name and mode; bounds within 2 %.");
	EACH_OPERATION(text, run, i)
	{
		const struct operation *operation = &run->operations[i];
		struct run_histogram histogram = { 0 };
		if (operation->parent != NAME_NONE || operation->name >= NAME_SAMPLED ||
			!run_histogram_add_spans(run, operation->mode, operation->name, &openmetrics_phase_bounds, &histogram) ||
			!histogram.count)
			continue;
		labels_of_operation(text, run, i);
		openmetrics_histogram(text, &openmetrics_phase_bounds, &histogram, NULL);
	}
	openmetrics_begin(text, "operation_seconds", "summary", "seconds",
		"Operations of the whole run, by their path; quantiles within 2 %.");
	EACH_OPERATION(text, run, i)
	{
		const struct operation *operation = &run->operations[i];
		labels_of_operation(text, run, i);
		summary(text, operation->p50_s, operation->p95_s, operation->total_s, operation->count);
	}
	openmetrics_begin(text, "phase_share_ratio", "gauge", "ratio", "Share of the steps' time of its mode.");
	EACH_OPERATION(text, run, i)
	{
		labels_of_operation(text, run, i);
		openmetrics_sample(text, "", NULL, run->operations[i].share_ratio);
	}
	openmetrics_begin(text, "phase_cpu_seconds", "counter", "seconds", "CPU time of its thread.");
	EACH_OPERATION(text, run, i)
	{
		labels_of_operation(text, run, i);
		openmetrics_sample(text, "_total", NULL, run->operations[i].cpu_s);
	}
}

/* -- what a run publishes -- */

static void write_published(struct openmetrics *text)
{
	openmetrics_begin(text, "published", "gauge", "", "A gauge that the run publishes, by its name.");
	EACH_RUN(text, run)
	{
		for (size_t i = 0; i < run->gauge_count; i++) {
			labels_of_run(text, run);
			openmetrics_label(text, "name", run_name(run, run->gauges[i].name));
			openmetrics_sample(text, "", NULL, run->gauges[i].value);
		}
	}
	openmetrics_begin(text, "published_count", "counter", "", "A counter that the run publishes, by its name.");
	EACH_RUN(text, run)
	{
		for (size_t i = 0; i < run->counter_count; i++) {
			labels_of_run(text, run);
			openmetrics_label(text, "name", run_name(run, run->counters[i].name));
			openmetrics_sample(text, "_total", NULL, run->counters[i].total);
		}
	}
	openmetrics_begin(text, "warning", "gauge", "", "1 for each warning that stands.");
	for (size_t i = 0; i < text->scene->alerts->count; i++) {
		const struct alert *alert = &text->scene->alerts->list[i];
		const struct run *run =
			alert->run < text->scene->model->run_count ? &text->scene->model->runs[alert->run] : NULL;
		if (!alert->is_raised)
			continue;
		buffer_clear(&text->labels);
		if (run)
			labels_of_run(text, run);
		openmetrics_label(text, "rule", alert->rule);
		openmetrics_label(text, "severity", severity_name(alert->severity));
		openmetrics_label(text, "phase", run && alert->subject != NAME_NONE ? run_name(run, alert->subject) : NULL);
		openmetrics_sample(text, "", NULL, 1);
	}
}

/* -- processes and the machine -- */

#define NOW(metric) (process->now[METRIC_##metric])
#define PROCESS_FIGURES(X) \
	X(process_resident_bytes, "gauge", "", "bytes", "Resident set.", NOW(PROCESS_RESIDENT)) \
	X(process_anonymous_bytes, "gauge", "", "bytes", "Its anonymous part.", NOW(PROCESS_ANONYMOUS)) \
	X(process_swap_bytes, "gauge", "", "bytes", "What is swapped out.", NOW(PROCESS_SWAP)) \
	X(process_threads, "gauge", "", "", "Threads.", NOW(PROCESS_THREADS)) \
	X(process_cpu_ratio, "gauge", "", "ratio", "CPU time between the last two readings; 1 is one CPU.", \
		process->cpu_ratio) \
	X(process_run_queue_wait_ratio, "gauge", "", "ratio", \
		"Share of the time in which its main thread waited for a CPU.", process->run_queue_wait_ratio) \
	X(process_cpu_seconds, "counter", "_total", "seconds", "CPU time, user and system.", \
		(NOW(PROCESS_CPU_USER) + NOW(PROCESS_CPU_SYSTEM)) * 1e-9) \
	X(process_major_faults, "counter", "_total", "", "Page faults that had to read from a disk.", \
		NOW(PROCESS_MAJOR_FAULTS)) \
	X(process_read_bytes, "counter", "_total", "bytes", "Read from storage.", NOW(PROCESS_READ)) \
	X(process_write_bytes, "counter", "_total", "bytes", "Written to storage.", NOW(PROCESS_WRITTEN))
#define MACHINE_FIGURES(X) \
	X(tree_resident_bytes, "bytes", \
		"Sum of the tree's resident sets: an upper bound, shared pages count once a process.", \
		model->memory.tree_rss_bytes) \
	X(resident_peak_bytes, "bytes", "The target's largest resident set.", model->memory.peak_rss_bytes) \
	X(memory_growth_bytes, "bytes", "Growth of what cannot be given back, since the warm-up.", \
		model->memory.growth_bytes) \
	X(memory_slope_bytes_per_second, "", "Its slope (Theil–Sen).", \
		model->memory.slope.points ? model->memory.slope.per_s : NAN) \
	X(system_cpu_ratio, "ratio", "Share of all CPUs that is busy.", model->system.cpu_ratio) \
	X(system_io_wait_ratio, "ratio", "Share of all CPUs that waits for disks.", model->system.io_wait_ratio) \
	X(system_memory_bytes, "bytes", "The machine's memory.", model->system.now[METRIC_SYSTEM_MEMORY]) \
	X(system_memory_available_bytes, "bytes", "What of it is available.", \
		model->system.now[METRIC_SYSTEM_MEMORY_AVAILABLE]) \
	X(self_cpu_ratio, "ratio", "pmtop's own CPU time; 1 is one CPU.", model->self.cpu_ratio) \
	X(self_resident_bytes, "bytes", "pmtop's own resident set.", model->self.memory_bytes)

/* An ended target has its last figures, as in the other formats. */
static void write_machine(struct openmetrics *text)
{
	const struct model *model = text->scene->model;
#define EMIT(name, type, suffix, unit, help, value) \
	openmetrics_begin(text, #name, type, unit, help); \
	for (size_t i = 0; i < model->process_count; i++) { \
		const struct process *process = &model->processes[i]; \
		if (process->is_gone && !process->is_target) \
			continue; \
		buffer_clear(&text->labels); \
		openmetrics_label_number(text, "pid", process->pid); \
		openmetrics_label(text, "command", process->command); \
		openmetrics_label(text, "role", process->is_target ? "target" : "child"); \
		openmetrics_sample(text, suffix, NULL, value); \
	}
	PROCESS_FIGURES(EMIT)
#undef EMIT
	buffer_clear(&text->labels);
#define EMIT(name, unit, help, value) \
	openmetrics_begin(text, #name, "gauge", unit, help); \
	openmetrics_sample(text, "", NULL, value);
	MACHINE_FIGURES(EMIT)
#undef EMIT
	if (model->damaged_blocks || model->damaged_bytes) {
		openmetrics_begin(text, "recording_damaged_blocks", "gauge", "", "Blocks of the recording that are lost.");
		openmetrics_sample(text, "", NULL, (double)model->damaged_blocks);
		openmetrics_begin(
			text, "recording_damaged_bytes", "gauge", "bytes", "Bytes of the recording that are damaged.");
		openmetrics_sample(text, "", NULL, (double)model->damaged_bytes);
	}
	openmetrics_begin(text, "time_seconds", "gauge", "seconds", "The date of these figures, since 1970.");
	openmetrics_sample(text, "", NULL, (double)scene_realtime_ns(text->scene, model->now_ns) * 1e-9);
}

/* It has no state; NULL would mean failure. */
static void *open_text(const struct export_scene *scene) { return scene->out; }

static void end_text(void *state, const struct export_scene *scene)
{
	struct openmetrics text = { .out = state, .scene = scene, .labels = BUFFER_INIT };
	write_runs(&text);
	write_totals(&text);
	write_phases(&text);
	write_published(&text);
	write_machine(&text);
	openmetrics_hardware(&text);
	buffer_puts(text.out, "# EOF\n");
	text.out->failed |= text.labels.failed;
	buffer_release(&text.labels);
}

static void close_text(void *state) { (void)state; }

const struct exporter openmetrics_exporter = {
	.name = "openmetrics",
	.help = "the state now as text, for Prometheus",
	.open = open_text,
	.end = end_text,
	.close = close_text,
};
