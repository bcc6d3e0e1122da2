/* Context of a slow batch: what else happened while it ran, and how much of its excess each figure explains. */
#include "src/explain/explain_context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/explain/causes/causes.h"
#include "src/explain/causes/causes_account.h"
#include "src/explain/causes/causes_words.h"

static struct explain_context *add(struct explanation *out, const char *key, double this_value, double baseline_value)
{
	if (isnan(this_value) || out->context_count == EXPLAIN_CONTEXT_MAX)
		return NULL;
	struct explain_context *row = &out->context[out->context_count++];
	*row = (struct explain_context){ .key = key,
		.this_value = this_value,
		.baseline_value = out->baseline_batches ? baseline_value : NAN,
		.unit = EXPLAIN_COUNT };
	if (text_ends_with(key, "_s"))
		row->unit = EXPLAIN_SECONDS;
	else if (text_ends_with(key, "_bytes"))
		row->unit = EXPLAIN_BYTES;
	else if (text_ends_with(key, "_hz"))
		row->unit = EXPLAIN_HERTZ;
	return row;
}

static void name(struct explain_context *row, const char *what)
{
	if (row)
		snprintf(row->what, sizeof row->what, "%s", what);
}

/* -- the batch's own record -- */

static const struct {
	const char *what, *key;
	size_t offset;
} evidence_rows[] = {
	{ "CPU time of the training thread", "cpu_s", offsetof(struct evidence, cpu_s) },
	{ "run-queue wait", "run_queue_wait_s", offsetof(struct evidence, run_queue_wait_s) },
	{ "major page faults", "major_faults", offsetof(struct evidence, major_faults) },
	{ "minor page faults", "minor_faults", offsetof(struct evidence, minor_faults) },
	{ "blocks read", "blocks_read", offsetof(struct evidence, blocks_read) },
	{ "involuntary context switches", "involuntary_switches", offsetof(struct evidence, involuntary_switches) },
	{ "voluntary context switches", "voluntary_switches", offsetof(struct evidence, voluntary_switches) },
	{ "samples", "samples", offsetof(struct evidence, samples) },
};

static double figure_of(const struct evidence *evidence, size_t offset)
{
	return *(const double *)(const void *)((const char *)evidence + offset);
}

/* The record that covers the phase with the largest excess. */
static const struct evidence *main_record(const struct case_file *file)
{
	const struct explain_row *main_row = NULL;
	for (size_t i = 0; i < file->out->row_count; i++) {
		const struct explain_row *row = &file->out->rows[i];
		if (row->depth == 0 && row->excess_s > 0 && (!main_row || row->excess_s > main_row->excess_s))
			main_row = row;
	}
	return account_evidence(file, main_row ? main_row : &(struct explain_row){ .name = NAME_NONE });
}

static void add_record(struct case_file *file)
{
	const struct evidence *record = main_record(file);
	for (size_t i = 0; record && i < sizeof evidence_rows / sizeof *evidence_rows; i++)
		name(add(file->out, evidence_rows[i].key, figure_of(record, evidence_rows[i].offset),
				 figure_of(&file->baseline->evidence, evidence_rows[i].offset)),
			evidence_rows[i].what);
}

/* -- samplers: rows only for what a reading inside the window saw -- */

static const struct {
	enum metric metric;
	bool is_targets;
	const char *what, *key;
	double scale;
} figure_rows[] = {
	{ METRIC_PROCESS_WRITTEN, true, "written by the process", "written_bytes", 1 },
	{ METRIC_PROCESS_DISK_WAIT, true, "disk wait, all threads", "disk_wait_s", S_PER_NS },
	{ METRIC_CGROUP_THROTTLED, false, "throttled by the CPU quota", "throttled_s", S_PER_NS },
	{ METRIC_SYSTEM_SWAP_IN, false, "swapped in", "swap_in_bytes", 1 },
	{ METRIC_SYSTEM_CPU_STOLEN, false, "CPU steal time", "stolen_s", S_PER_NS },
	{ METRIC_SYSTEM_PRESSURE_MEMORY, false, "memory pressure (PSI some)", "memory_pressure_s", S_PER_NS },
	{ METRIC_SYSTEM_PRESSURE_IO, false, "I/O pressure (PSI some)", "io_pressure_s", S_PER_NS },
	{ METRIC_SYSTEM_PRESSURE_CPU, false, "CPU pressure (PSI some)", "cpu_pressure_s", S_PER_NS },
};

static void add_figures(struct case_file *file)
{
	for (size_t i = 0; i < sizeof figure_rows / sizeof *figure_rows; i++) {
		const struct window_figure *figure = batch_window_find(
			file->batch_window, figure_rows[i].metric, figure_rows[i].is_targets ? file->run->pid : 0);
		if (figure && figure->min > 0)
			name(add(file->out, figure_rows[i].key, figure->min * figure_rows[i].scale,
					 figure->baseline * figure_rows[i].scale),
				figure_rows[i].what);
	}
}

/* The name of the child or worker goes between `before` and `after`. */
static const struct {
	enum window_event_kind kind;
	const char *key;
	bool has_who;
	const char *before, *after;
} event_rows[] = {
	{ WINDOW_CHILD_RAN, "child_cpu_s", true, "CPU time of ", "" },
	{ WINDOW_WORKER_ON_DISK, "worker_on_disk_s", true, "", ": waits for the disk" },
	{ WINDOW_WORKER_STOPPED, "worker_stopped_s", true, "", ": stopped" },
	{ WINDOW_WORKER_FETCHED, "fetch_s", true, "", ": fetch" },
	{ WINDOW_TARGET_STOPPED, "stopped_s", false, "stopped", "" },
	{ WINDOW_TARGET_ON_DISK, "on_disk_s", false, "waiting for the disk (state D)", "" },
	{ WINDOW_CLOCK_STEPPED, "clock_step_s", false, "the system clock was set", "" },
	{ WINDOW_SUSPENDED, "suspended_s", false, "the machine was suspended", "" },
};

static void add_event(struct case_file *file, const struct window_event *event)
{
	for (size_t i = 0; i < sizeof event_rows / sizeof *event_rows; i++) {
		if (event_rows[i].kind != event->kind)
			continue;
		char who[WINDOW_TEXT_SIZE] = "", what[2 * WINDOW_TEXT_SIZE];
		if (event->kind == WINDOW_CHILD_RAN)
			snprintf(who, sizeof who, "%.*s", (int)strcspn(event->text, " "), event->text);
		else if (event_rows[i].has_who)
			call_worker(event, who);
		snprintf(what, sizeof what, "%s%s%s", event_rows[i].before, event_rows[i].has_who && !*who ? "worker" : who,
			event_rows[i].after);
		struct explain_context *row = add(file->out, event_rows[i].key, event->value, event->baseline);
		if (row)
			text_clean(row->what, sizeof row->what, what, strlen(what));
	}
}

/* "GPU 1 clock (thermal slowdown)"; events without a figure have 1, baseline 0. */
static const struct {
	enum window_event_kind kind;
	const char *key;
	bool is_happening;
	const char *before, *after;
} hardware_rows[] = {
	{ WINDOW_GPU_SLOWED, "gpu_clock_hz", false, " clock (", ")" },
	{ WINDOW_CPU_SLOWED, "cpu_clock_hz", false, "CPU clock (heat", ")" },
	{ WINDOW_GPU_SHARED, "gpu_newcomers", true, ": ", " started on it" },
	{ WINDOW_GPU_REPORTED, "gpu_reports", true, ": ", "" },
	{ WINDOW_GPU_LOST, "gpu_lost", true, ": ", "" },
};

static void add_hardware(struct case_file *file, const struct window_event *event)
{
	for (size_t i = 0; i < sizeof hardware_rows / sizeof *hardware_rows; i++) {
		if (hardware_rows[i].kind != event->kind)
			continue;
		bool is_happening = hardware_rows[i].is_happening;
		char what[3 * WINDOW_TEXT_SIZE];
		struct explain_context *row =
			add(file->out, hardware_rows[i].key, is_happening ? 1 : event->value, is_happening ? 0 : event->baseline);
		if (!row)
			return;
		snprintf(
			what, sizeof what, "%s%s%s%s", event->gpu, hardware_rows[i].before, event->text, hardware_rows[i].after);
		text_clean(row->what, sizeof row->what, what, strlen(what));
		row->unit = is_happening ? EXPLAIN_HAPPENING : row->unit;
	}
}

/* -- the share of the excess that each row explains -- */

/* The row with a cause's first evidence; if several rows have that figure (workers), the one with the same value. */
static struct explain_context *row_of(struct explanation *out, const struct cause *cause)
{
	struct explain_context *found = NULL;
	for (size_t i = 0; i < out->context_count && cause->evidence_count > 0; i++) {
		struct explain_context *row = &out->context[i];
		if (strcmp(cause->evidence[0].key, row->key) == 0 &&
			(!found || cause->evidence[0].this_value == row->this_value))
			found = row;
	}
	return found;
}

static void share_out(struct explanation *out)
{
	for (size_t i = 0; i < out->cause_count; i++) {
		const struct cause *cause = &out->causes[i];
		if (cause->kind == CAUSE_PHASE && name_is_sampled(cause->phase))
			continue; /* its row among the phases shows the same */
		struct explain_context *found = row_of(out, cause);
		if (!found && cause->evidence_count > 0) {
			found = add(out, cause->evidence[0].key, cause->evidence[0].this_value, cause->evidence[0].baseline_value);
			name(found, cause->kind == CAUSE_SLEPT ? "blocked" : cause_kind_name(cause->kind));
		}
		if (found)
			found->explains_ratio += cause->share_ratio;
	}
}

void explain_context(struct case_file *file)
{
	add_record(file);
	if (file->batch_window) {
		add_figures(file);
		for (size_t i = 0; i < file->batch_window->event_count; i++) {
			add_event(file, &file->batch_window->events[i]);
			add_hardware(file, &file->batch_window->events[i]);
		}
	}
	share_out(file->out);
}
