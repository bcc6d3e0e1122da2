/* --to=csv-series: a row for each sample: the target, its tree, the machine, its hardware.
 * --to=csv-processes: a row for each process and sample. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/formats/cells.h"
#include "src/export/figures/scope.h"
#include "src/export/finished.h"
#include "src/export/metrics/series_devices.h"
#include "src/export/metrics/series_hardware.h"
#include "src/export/wide.h"
#include "src/model/machine/processes.h"

/* What a set has figures of. Cells of the rest stay empty, instead of repeating an old value. */
struct contents {
	bool process, system, hardware;
};

static struct contents contents_of(const struct sample_set *set)
{
	struct contents contents = { .process = false };
	for (size_t i = 0; i < set->count; i++) {
		contents.hardware |= set->records[i].kind == RECORD_PERF_COUNT || set->records[i].kind == RECORD_GPU_PROCESSES;
		if (set->records[i].kind != RECORD_FIGURE)
			continue;
		enum metric metric = set->records[i].figure.metric;
		contents.process |= metric < METRIC_SYSTEM_CPUS;
		contents.system |= metric >= METRIC_SYSTEM_CPUS && metric < METRIC_GPU_FIRST;
		contents.hardware |= metric >= METRIC_GPU_FIRST && metric < METRIC_SELF_CPU;
	}
	return contents;
}

static void add_time(struct buffer *out, int64_t realtime_ns)
{
	buffer_printf(out, "%" PRId64 ",", realtime_ns);
	cell_time(out, realtime_ns, 9);
}

/* -- csv-series -- */

struct series_row {
	const struct model *model;
	const struct memory *memory;
	const struct system *system;
	const struct process *target; /* NULL: none */
};

static double living(const struct model *model)
{
	double count = 0;
	for (size_t i = 0; i < model->process_count; i++)
		count += !model->processes[i].is_gone;
	return count;
}

static double target_figure(const struct series_row *row, enum metric metric)
{
	return row->target ? row->target->now[metric] : NAN;
}

#define TARGET(member) (row->target ? row->target->member : NAN)
#define SYSTEM_NOW(metric) (row->system->now[METRIC_##metric])
#define PROCESS_COLUMNS(X) \
	X(resident_bytes, row->memory->rss_bytes) \
	X(anonymous_bytes, row->memory->anonymous_bytes) \
	X(file_bytes, row->memory->file_bytes) \
	X(shared_bytes, row->memory->shared_bytes) \
	X(swap_bytes, row->memory->swap_bytes) \
	X(cpu_ratio, TARGET(cpu_ratio)) \
	X(run_queue_wait_ratio, TARGET(run_queue_wait_ratio)) \
	X(major_faults_per_s, TARGET(major_faults_per_s)) \
	X(read_bytes_per_s, TARGET(read_bytes_per_s)) \
	X(write_bytes_per_s, TARGET(write_bytes_per_s)) \
	X(threads, target_figure(row, METRIC_PROCESS_THREADS)) \
	X(processes, living(row->model)) \
	X(tree_resident_bytes, row->memory->tree_rss_bytes) \
	X(tree_anonymous_bytes, row->memory->tree_anonymous_bytes) \
	X(tree_file_bytes, row->memory->tree_file_bytes) \
	X(tree_shared_bytes, row->memory->tree_shared_bytes) \
	X(tree_cpu_ratio, scope_tree_cpu_ratio(row->model))
#define SYSTEM_COLUMNS(X) \
	X(system_cpu_ratio, row->system->cpu_ratio) \
	X(system_io_wait_ratio, row->system->io_wait_ratio) \
	X(system_stolen_ratio, row->system->stolen_ratio) \
	X(system_running, SYSTEM_NOW(SYSTEM_RUNNING)) \
	X(system_blocked, SYSTEM_NOW(SYSTEM_BLOCKED)) \
	X(system_load, SYSTEM_NOW(SYSTEM_LOAD)) \
	X(system_memory_bytes, SYSTEM_NOW(SYSTEM_MEMORY)) \
	X(system_available_bytes, SYSTEM_NOW(SYSTEM_MEMORY_AVAILABLE)) \
	X(system_cached_bytes, SYSTEM_NOW(SYSTEM_MEMORY_CACHED)) \
	X(system_swap_used_bytes, row->system->swap_used_bytes) \
	X(system_swap_bytes_per_s, row->system->swap_per_s) \
	X(pressure_cpu_ratio, row->system->pressure_cpu_ratio) \
	X(pressure_memory_ratio, row->system->pressure_memory_ratio) \
	X(pressure_io_ratio, row->system->pressure_io_ratio) \
	X(shm_used_bytes, SYSTEM_NOW(SYSTEM_SHM_USED)) \
	X(space_free_bytes, SYSTEM_NOW(SYSTEM_SPACE_FREE)) \
	X(cgroup_cpu_ratio, row->system->cgroup_cpu_ratio) \
	X(cgroup_throttled_ratio, row->system->throttled_ratio) \
	X(cgroup_memory_bytes, SYSTEM_NOW(CGROUP_MEMORY))

enum {
	COLUMN_time_ns,
	COLUMN_time,
#define COLUMN_ID(name, value) COLUMN_##name,
	PROCESS_COLUMNS(COLUMN_ID) SYSTEM_COLUMNS(COLUMN_ID)
#undef COLUMN_ID
};

static void close_series(void *state) { wide_free(state); }

static void *open_series(const struct export_scene *scene)
{
	static const char *const names[] = { "time_ns", "time",
#define COLUMN_NAME(name, value) #name,
		PROCESS_COLUMNS(COLUMN_NAME) SYSTEM_COLUMNS(COLUMN_NAME)
#undef COLUMN_NAME
	};
	(void)scene;
	struct wide *wide = wide_new();
	for (size_t i = 0; wide && i < sizeof names / sizeof *names; i++)
		wide_column(wide, names[i]);
	return wide;
}

static const struct run *run_of(const struct model *model, unsigned id)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && model->runs[i].id == id)
			return &model->runs[i];
	return NULL;
}

/* Gauges, counters and losses that the run publishes: "gauge.cuda.allocated_bytes"; of further ranks "gauge.rank1.…".
 */
static bool add_gauges(struct wide *wide, const struct export_scene *scene, const struct sample_set *set)
{
	bool has_any = false;
	char name[300];
	for (size_t i = 0; i < set->count; i++) {
		const struct record *record = &set->records[i];
		const struct run *run = record->kind == RECORD_GAUGE ? run_of(scene->model, record->run) : NULL;
		if (!run)
			continue;
		bool has_ranks = scene->model->run_count > 1 && run->rank[0];
		snprintf(name, sizeof name, "gauge.%s%s%s%s", has_ranks ? "rank" : "", has_ranks ? run->rank : "",
			has_ranks ? "." : "", run_name(run, record->gauge.name));
		cell_number(wide_cell(wide, wide_column(wide, name)), record->gauge.value);
		has_any = true;
	}
	return has_any;
}

static void add_series(void *state, const struct export_scene *scene, const struct sample_set *set)
{
	const struct series_row whole = { scene->model, &scene->model->memory, &scene->model->system,
		model_target(scene->model) },
							*row = &whole;
	struct wide *wide = state;
	struct contents contents = contents_of(set);
	int64_t realtime_ns = scene_realtime_ns(scene, set->time_ns);
	if (!scene_covers(scene, set->time_ns))
		return;
	bool has_gauges = add_gauges(wide, scene, set);
	if (!contents.process && !contents.system && !contents.hardware && !has_gauges)
		return;
	if (contents.hardware)
		series_hardware(wide, scene->model, set);
	buffer_printf(wide_cell(wide, COLUMN_time_ns), "%" PRId64, realtime_ns);
	cell_time(wide_cell(wide, COLUMN_time), realtime_ns, 9);
#define ADD_COLUMN(name, value) cell_number(wide_cell(wide, COLUMN_##name), value);
	if (contents.process) {
		PROCESS_COLUMNS(ADD_COLUMN)
	}
	if (contents.system) {
		SYSTEM_COLUMNS(ADD_COLUMN)
		series_devices(wide, scene->model);
	}
#undef ADD_COLUMN
	wide_end_row(wide);
}

static void end_series(void *state, const struct export_scene *scene) { wide_write(state, scene); }

const struct exporter csv_series_exporter = {
	.name = "csv-series",
	.help = "a row a reading: memory, CPU, the machine, GPUs, published gauges",
	.open = open_series,
	.add = add_series,
	.end = end_series,
	.close = close_series,
};

/* -- csv-processes -- */

#define NOW(metric) (process->now[METRIC_##metric])
#define OF_PROCESS(X) \
	X(resident_bytes, NOW(PROCESS_RESIDENT)) \
	X(anonymous_bytes, NOW(PROCESS_ANONYMOUS)) \
	X(file_bytes, NOW(PROCESS_FILE)) \
	X(shared_bytes, NOW(PROCESS_SHARED)) \
	X(swap_bytes, NOW(PROCESS_SWAP)) \
	X(threads, NOW(PROCESS_THREADS)) \
	X(cpu_ratio, process->cpu_ratio) \
	X(cpu_user_s, NOW(PROCESS_CPU_USER) * 1e-9) \
	X(cpu_system_s, NOW(PROCESS_CPU_SYSTEM) * 1e-9) \
	X(run_queue_wait_ratio, process->run_queue_wait_ratio) \
	X(major_faults_per_s, process->major_faults_per_s) \
	X(read_bytes_per_s, process->read_bytes_per_s) \
	X(write_bytes_per_s, process->write_bytes_per_s)

static void *open_processes(const struct export_scene *scene)
{
#define OF_PROCESS_NAME(name, value) "," #name
	buffer_puts(scene->out, "time_ns,time,pid,parent,command,is_target" OF_PROCESS(OF_PROCESS_NAME) "\n");
#undef OF_PROCESS_NAME
	return scene->out;
}

static void close_processes(void *state) { (void)state; }

static const struct process *process_of(const struct model *model, int32_t pid)
{
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == pid && !model->processes[i].is_gone)
			return &model->processes[i];
	return NULL;
}

static void add_processes(void *state, const struct export_scene *scene, const struct sample_set *set)
{
	struct buffer *out = state;
	for (size_t i = 0; i < set->count && scene_covers(scene, set->time_ns); i++) {
		const struct record *record = &set->records[i];
		/* Each process has one such figure in each sample. */
		bool is_reading = record->kind == RECORD_FIGURE && record->figure.metric == METRIC_PROCESS_THREADS;
		const struct process *process = is_reading ? process_of(scene->model, record->figure.instance) : NULL;
		if (!process)
			continue;
		add_time(out, scene_realtime_ns(scene, record->time_ns));
		buffer_printf(out, ",%d,%d,", (int)process->pid, (int)process->parent);
		cell_text(out, process->command);
		buffer_printf(out, ",%d", process->is_target);
#define ADD_OF_PROCESS(name, value) \
	buffer_puts(out, ","); \
	cell_number(out, value);
		OF_PROCESS(ADD_OF_PROCESS)
#undef ADD_OF_PROCESS
		buffer_puts(out, "\n");
	}
}

static void end_processes(void *state, const struct export_scene *scene)
{
	(void)state;
	(void)scene;
}

const struct exporter csv_processes_exporter = {
	.name = "csv-processes",
	.help = "a row a process and reading: memory, CPU, reads and writes",
	.open = open_processes,
	.add = add_processes,
	.end = end_processes,
	.close = close_processes,
};
