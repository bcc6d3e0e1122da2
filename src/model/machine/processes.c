#include "src/model/machine/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/batch_window/batch_window_clocks.h"
#include "src/model/batch_window/batch_window_notes.h"
#include "src/model/energy/energy.h"
#include "src/model/gpus/gpus.h"
#include "src/model/machine/system.h"
#include "src/model/memory/memory.h"
#include "src/model/model_private.h"
#include "src/model/run/steps/traced_steps.h"

enum { PROCESSES_FIRST = 8 };
/* Explanations of slow batches and names of GPU processes need a shorter history. */
#define GONE_RETAINED_NS (120 * NS_PER_S)

static struct process *find_process(struct model *model, int32_t pid)
{
	struct model_private *priv = model->priv;
	if (priv->newest_process < model->process_count) {
		struct process *process = &model->processes[priv->newest_process];
		if (process->pid == pid && !process->is_gone)
			return process;
	}
	for (size_t i = model->process_count; i-- > 0;) {
		if (model->processes[i].pid != pid || model->processes[i].is_gone)
			continue;
		priv->newest_process = i;
		return &model->processes[i];
	}
	return NULL;
}

static bool grow(struct model *model)
{
	struct model_private *priv = model->priv;
	size_t room = priv->process_room ? priv->process_room * 2 : PROCESSES_FIRST;
	if (room > PROCESSES_MAX)
		return false;
	struct process *processes = realloc(model->processes, room * sizeof *processes);
	if (!processes)
		return false;
	model->processes = processes;
	struct process_past *pasts = realloc(priv->pasts, room * sizeof *pasts);
	if (!pasts)
		return false;
	priv->pasts = pasts;
	priv->process_room = room;
	return true;
}

/* Removes the process that ended first, if it ended before this time. */
static bool drop_gone(struct model *model, int64_t before_ns)
{
	struct model_private *priv = model->priv;
	size_t oldest = model->process_count;
	for (size_t i = 0; i < model->process_count; i++) {
		const struct process *process = &model->processes[i];
		if (process->is_gone && !process->is_target &&
			(oldest == model->process_count || process->gone_ns < model->processes[oldest].gone_ns))
			oldest = i;
	}
	if (oldest == model->process_count || model->processes[oldest].gone_ns >= before_ns)
		return false;
	size_t after = model->process_count - oldest - 1;
	model_forget_watched(model, &priv->pasts[oldest]);
	memmove(&model->processes[oldest], &model->processes[oldest + 1], after * sizeof *model->processes);
	memmove(&priv->pasts[oldest], &priv->pasts[oldest + 1], after * sizeof *priv->pasts);
	model->process_count--;
	return true;
}

static struct process *add_process(struct model *model)
{
	struct model_private *priv = model->priv;
	while (drop_gone(model, model->now_ns - GONE_RETAINED_NS))
		continue;
	if (model->process_count == priv->process_room && !grow(model) && !drop_gone(model, INT64_MAX))
		return NULL;
	struct process *process = &model->processes[model->process_count];
	struct process_past *past = &priv->pasts[model->process_count];
	priv->newest_process = model->process_count++;
	*process = (struct process){ .cpu_ratio = NAN,
		.run_queue_wait_ratio = NAN,
		.read_bytes_per_s = NAN,
		.write_bytes_per_s = NAN,
		.major_faults_per_s = NAN,
		.state_since_s = NAN,
		.grown_bytes = NAN,
		.local_rank = -1 };
	*past = (struct process_past){ .is_new_in_set = false };
	for (size_t i = 0; i < PROCESS_METRICS; i++)
		process->now[i] = past->rate_per_s[i] = NAN;
	return process;
}

static void set_target(struct model *model, const struct process *process)
{
	model->has_target = true;
	model->target_pid = process->pid;
	put_text(model->command, sizeof model->command, process->command);
}

static void end_process(struct model *model, struct process *process, int64_t time_ns)
{
	process->is_gone = true;
	process->gone_ns = bounded_time(time_ns);
	process->wait[0] = '\0';
	model_note_process_went(model, (size_t)(process - model->processes), time_ns);
	model->priv->tree_version++;
	model->priv->is_tree_changed = true;
}

void model_see_process(struct model *model, const struct record *record)
{
	struct process *process = find_process(model, record->process.pid);
	if (process && process->start_ticks != record->process.start_ticks) {
		end_process(model, process, record->time_ns);
		process = NULL;
	}
	bool is_new = !process;
	if (is_new) {
		process = add_process(model);
		if (!process)
			return;
		process->pid = record->process.pid;
		process->start_ticks = record->process.start_ticks;
		process->seen_ns = record->time_ns;
	}
	model->priv->tree_version++;
	process->parent = record->process.parent;
	process->is_target = record->process.is_target;
	put_text(process->command, sizeof process->command, record->process.command);
	if (is_new)
		model_note_process_came(model, (size_t)(process - model->processes), record->time_ns);
	if (process->is_target)
		set_target(model, process);
}

void model_lose_process(struct model *model, const struct record *record)
{
	struct process *process = find_process(model, record->process.pid);
	if (!process)
		return;
	end_process(model, process, record->time_ns);
	if (!process->is_target)
		return;
	model->target_ended = true;
	model->target_ended_ns = record->time_ns;
	snprintf(model->note, sizeof model->note, "process %d ended", (int)process->pid);
}

void model_replace_process(struct model *model, const struct record *record)
{
	struct process *process = find_process(model, record->process.pid);
	if (!process) {
		model_see_process(model, record);
		return;
	}
	put_text(process->command, sizeof process->command, record->process.command);
	if (!process->is_target)
		return;
	set_target(model, process);
	snprintf(model->note, sizeof model->note, "process replaced itself: now %s", model->command);
	model_restart_memory(model);
}

void model_take_wait(struct model *model, const struct record *record)
{
	struct process *process = find_process(model, record->wait.pid);
	if (process)
		put_text(process->wait, sizeof process->wait, record->wait.text ? record->wait.text : "");
}

void model_take_placement(struct model *model, const struct record *record)
{
	struct process *process = find_process(model, record->placement.pid);
	if (!process)
		return;
	process->local_rank = record->placement.local_rank;
	process->has_visible_devices = record->placement.visible_devices != NULL;
	put_text(process->visible_devices, sizeof process->visible_devices,
		record->placement.visible_devices ? record->placement.visible_devices : "");
}

/* How long the last figures of a child process of pmtop remain valid. */
#define SELF_RETAINED_NS (5 * NS_PER_S)

static void sum_selves(struct model *model, int64_t now_ns)
{
	model->self.cpu_ratio = model->self.memory_bytes = 0;
	for (size_t i = 0; i < MODEL_SELVES; i++) {
		__typeof__(model->priv->selves[i]) *own = &model->priv->selves[i];
		/* Skip child processes that have ended. */
		if (own->seen_ns == 0 || (i > 0 && now_ns - own->seen_ns > SELF_RETAINED_NS))
			continue;
		model->self.cpu_ratio += i == 0 || isfinite(own->cpu_ratio) ? own->cpu_ratio : 0;
		model->self.memory_bytes += i == 0 || isfinite(own->memory_bytes) ? own->memory_bytes : 0;
	}
}

static void take_self(struct model *model, const struct record *record)
{
	double value = record->figure.value;
	if (record->figure.instance < 0 || record->figure.instance >= MODEL_SELVES)
		return;
	__typeof__(model->priv->selves[0]) *own = &model->priv->selves[record->figure.instance];
	if (own->seen_ns == 0)
		own->cpu_ratio = own->memory_bytes = NAN;
	own->seen_ns = record->time_ns;
	if (record->figure.metric == METRIC_SELF_RESIDENT) {
		own->memory_bytes = value;
	} else {
		if (own->cpu_ns > 0 && record->time_ns > own->cpu_ns)
			own->cpu_ratio = value >= own->cpu ? (value - own->cpu) / (double)(record->time_ns - own->cpu_ns) : NAN;
		own->cpu = value;
		own->cpu_ns = record->time_ns;
	}
	if (model->priv->selves[0].seen_ns)
		sum_selves(model, record->time_ns);
}

/* A counter that decreases was reset or has wrapped: its growth is unknown. */
static void take_counter(struct model *model, size_t at, double before, const struct record *record)
{
	struct process_past *past = &model->priv->pasts[at];
	enum metric metric = record->figure.metric;
	bool is_first = past->time_ns[metric] <= 0 || isnan(before), is_known = !is_first && record->figure.value >= before;
	double growth = is_known              ? record->figure.value - before
		: is_first && past->came_after_ns ? record->figure.value
										  : NAN;
	past->rate_per_s[metric] =
		is_known ? growth * 1e9 / ((double)record->time_ns - (double)past->time_ns[metric]) : NAN;
	model_note_process_growth(model, at, metric, record->time_ns, growth);
}

static void push_gauge(struct model *model, enum metric metric, const struct record *record)
{
	struct series *series;
	switch (metric) {
	case METRIC_PROCESS_RESIDENT: series = model->series.resident; break;
	case METRIC_PROCESS_ANONYMOUS: series = model->series.anonymous; break;
	case METRIC_PROCESS_FILE: series = model->series.file; break;
	case METRIC_PROCESS_SHARED: series = model->series.shared; break;
	case METRIC_PROCESS_SWAP: series = model->series.swap; break;
	default: return;
	}
	series_push(series, record->time_ns, record->figure.value);
}

/* Also for processes outside the tree: other ranks. */
static void update_runs(struct model *model, const struct record *record)
{
	for (unsigned i = 0; i < model->run_count; i++) {
		struct run_private *run = model->runs[i].priv;
		if (model->runs[i].pid != record->figure.instance)
			continue;
		if (record->figure.metric == METRIC_PROCESS_STATE) {
			run->process_state = record->figure.value;
		} else if (record->figure.metric == METRIC_PROCESS_RESIDENT) {
			run->resident_bytes = record->figure.value;
			run->resident_ns = record->time_ns;
		}
	}
}

/* For a run found after its process was read. */
void model_add_resident(struct model *model, int index)
{
	struct run *run = &model->runs[index];
	for (size_t i = 0; i < model->process_count; i++) {
		const struct process *process = &model->processes[i];
		if (process->pid != run->pid || process->is_gone)
			continue;
		run->priv->process_state = process->now[METRIC_PROCESS_STATE];
		if (isnan(process->now[METRIC_PROCESS_RESIDENT]))
			continue;
		run->priv->resident_bytes = process->now[METRIC_PROCESS_RESIDENT];
		run->priv->resident_ns = model->now_ns;
	}
}

static void take_hardware_figure(struct model *model, const struct record *record)
{
	model_note_clock(model, record);
	if (!model_take_energy_figure(model, record) && !model_take_gpu_figure(model, record))
		model_take_system_figure(model, record);
}

static void note_traced(struct model *model, const struct record *record)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && model->runs[i].pid == record->figure.instance)
			run_note_traced(&model->runs[i], record->time_ns, record->figure.value > 0);
}

void model_take_figure(struct model *model, const struct record *record)
{
	enum metric metric = record->figure.metric;
	if ((unsigned)metric >= METRIC_COUNT || !isfinite(record->figure.value) || record->figure.value < 0 ||
		record->time_ns <= 0)
		return;
	if (metric == METRIC_PROCESS_TRACED) {
		note_traced(model, record);
		return;
	}
	if (metric == METRIC_SELF_CPU || metric == METRIC_SELF_RESIDENT) {
		take_self(model, record);
		return;
	}
	if (metric >= PROCESS_METRICS) {
		take_hardware_figure(model, record);
		return;
	}
	struct process *process = find_process(model, record->figure.instance);
	if (!process) {
		update_runs(model, record);
		return;
	}
	size_t at = (size_t)(process - model->processes);
	struct process_past *past = &model->priv->pasts[at];
	double before = process->now[metric];
	bool is_counter = metric_table[metric].kind == KIND_COUNTER;
	if (past->time_ns[metric] > record->time_ns || (is_counter && past->time_ns[metric] == record->time_ns))
		return;
	if (is_counter)
		take_counter(model, at, before, record);
	process->now[metric] = record->figure.value;
	past->time_ns[metric] = record->time_ns;
	past->is_new_in_set = true;
	if (metric == METRIC_PROCESS_STATE && before != record->figure.value)
		past->state_since_ns = record->time_ns;
	if (metric == METRIC_PROCESS_STATE)
		model_note_state(model, at, record->time_ns);
	if (process->is_target)
		push_gauge(model, metric, record);
	model->priv->is_tree_changed |= metric == METRIC_PROCESS_RESIDENT;
	update_runs(model, record);
}

static void push_rates(struct model *model, const struct process *process, const struct process_past *past)
{
	const struct {
		struct series *series;
		enum metric metric;
		double value;
	} rates[] = {
		{ model->series.cpu_ratio, METRIC_PROCESS_CPU_USER, process->cpu_ratio },
		{ model->series.run_queue_wait_ratio, METRIC_PROCESS_RUN_QUEUE_WAIT, process->run_queue_wait_ratio },
		{ model->series.major_faults_per_s, METRIC_PROCESS_MAJOR_FAULTS, process->major_faults_per_s },
		{ model->series.minor_faults_per_s, METRIC_PROCESS_MINOR_FAULTS,
			past->rate_per_s[METRIC_PROCESS_MINOR_FAULTS] },
		{ model->series.forced_switches_per_s, METRIC_PROCESS_SWITCHES_FORCED,
			past->rate_per_s[METRIC_PROCESS_SWITCHES_FORCED] },
		{ model->series.read_bytes_per_s, METRIC_PROCESS_READ, process->read_bytes_per_s },
		{ model->series.write_bytes_per_s, METRIC_PROCESS_WRITTEN, process->write_bytes_per_s },
	};
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		if (past->time_ns[rates[i].metric] > 0 && !isnan(rates[i].value))
			series_push(rates[i].series, past->time_ns[rates[i].metric], rates[i].value);
}

static void refresh_process(struct model *model, struct process *process, struct process_past *past)
{
	const double *rate = past->rate_per_s;
	process->cpu_ratio = (rate[METRIC_PROCESS_CPU_USER] + rate[METRIC_PROCESS_CPU_SYSTEM]) * 1e-9;
	process->run_queue_wait_ratio = rate[METRIC_PROCESS_RUN_QUEUE_WAIT] * 1e-9;
	process->read_bytes_per_s = rate[METRIC_PROCESS_READ];
	process->write_bytes_per_s = rate[METRIC_PROCESS_WRITTEN];
	process->major_faults_per_s = rate[METRIC_PROCESS_MAJOR_FAULTS];
	past->is_new_in_set = false;
	if (process->is_target)
		push_rates(model, process, past);
}

void model_refresh_processes(struct model *model)
{
	for (size_t i = 0; i < model->process_count; i++) {
		struct process *process = &model->processes[i];
		struct process_past *past = &model->priv->pasts[i];
		if (past->is_new_in_set)
			refresh_process(model, process, past);
		if (past->state_since_ns > 0 && !process->is_gone)
			process->state_since_s = fmax((double)(model->now_ns - past->state_since_ns) * 1e-9, 0);
	}
}

const struct process *model_target(const struct model *model)
{
	for (size_t i = model->process_count; i-- > 0;)
		if (model->processes[i].is_target)
			return &model->processes[i];
	return NULL;
}
