#include "src/export/trace/trace_figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/export/trace/trace_batches.h"
#include "src/export/trace/trace_private.h"
#include "src/export/trace/trace_tracks.h"
#include "src/export/trace/trace_write.h"

/* -- process figures -- */

static struct trace_process *process_of(struct trace *trace, const struct process *process)
{
	for (size_t i = 0; i < trace->process_count; i++)
		if (trace->processes[i]->pid == process->pid)
			return trace->processes[i];
	return process->is_target ? trace_process(trace, process->pid, process->command, NULL, 0) : NULL;
}

static bool has_readings(const struct sample_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->records[i].kind == RECORD_FIGURE && set->records[i].figure.metric < METRIC_SYSTEM_CPUS)
			return true;
	return false;
}

/* For the target and every process that publishes a run. */
void trace_readings(struct trace *trace, const struct sample_set *set)
{
	const struct model *model = trace->scene->model;
	if (!has_readings(set))
		return;
	for (size_t i = 0; i < model->process_count; i++) {
		const struct process *process = &model->processes[i];
		struct trace_process *to = process->is_gone ? NULL : process_of(trace, process);
		if (!to)
			continue;
		trace_counter(trace, &to->resident, to, "resident memory", TRACE_BYTES, set->time_ns,
			process->now[METRIC_PROCESS_RESIDENT]);
		trace_counter(trace, &to->cpu, to, "CPU (cores)", TRACE_NUMBER, set->time_ns, process->cpu_ratio);
		trace_counter(
			trace, &to->wait, to, "run-queue wait (ratio)", TRACE_NUMBER, set->time_ns, process->run_queue_wait_ratio);
		if (process->is_target)
			trace_counter(
				trace, &to->tree, to, "memory of the tree", TRACE_BYTES, set->time_ns, model->memory.tree_rss_bytes);
	}
}

/* -- published gauges, counters and losses -- */

static enum trace_unit unit_of(const char *name) { return text_ends_with(name, "_bytes") ? TRACE_BYTES : TRACE_NUMBER; }

void trace_gauge(struct trace *trace, struct trace_run *run, const struct record *record)
{
	uint32_t id = record->kind == RECORD_GAUGE ? record->gauge.name : record->counter.name;
	const char *text = trace_name_text(run, id);
	if (id >= run->name_count || !run->process)
		return;
	struct trace_name *name = &run->names[id];
	if (record->kind == RECORD_GAUGE) {
		trace_counter(trace, &name->gauge, run->process, text, unit_of(text), record->time_ns, record->gauge.value);
	} else if (!name->total || name->last_total != record->counter.total) {
		char total[160];
		snprintf(total, sizeof total, "%.140s (total)", text);
		trace_counter(trace, &name->total, run->process, total, TRACE_COUNT, record->time_ns, record->counter.total);
		name->last_total = record->counter.total;
	}
}
