#include "src/model/gpus/gpus_runs.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/gpus/gpus_placement.h"
#include "src/model/gpus/gpus_private.h"
#include "src/model/gpus/gpus_totals.h"

/* The driver's list is read every few seconds: it may contain processes that have just ended. */
#define ENDED_NS (5 * NS_PER_S)
enum { DEPTH_MAX = 64 };

/* -- processes -- */

const struct process *gpus_find_process(const struct model *model, int32_t pid)
{
	for (size_t i = model->process_count; i-- > 0;)
		if (model->processes[i].pid == pid)
			return &model->processes[i];
	return NULL;
}

const struct run *gpus_run_of_pid(const struct model *model, int32_t pid)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && model->runs[i].is_live && model->runs[i].pid == pid)
			return &model->runs[i];
	return NULL;
}

/* Includes runs whose process is not in the tree (a region opened by name). */
bool gpu_process_is_ours(const struct model *model, int32_t pid, int64_t seen_ns)
{
	const struct process *process = gpus_find_process(model, pid);
	if (process)
		return !process->is_gone || seen_ns <= process->gone_ns + ENDED_NS;
	return gpus_run_of_pid(model, pid) != NULL;
}

/* Is it the run's process, or a descendant that belongs to no other run? */
static bool belongs_to(const struct model *model, int32_t pid, const struct run *run)
{
	for (unsigned depth = 0; depth < DEPTH_MAX && pid > 0; depth++) {
		if (pid == run->pid)
			return true;
		const struct process *process = gpus_run_of_pid(model, pid) ? NULL : gpus_find_process(model, pid);
		if (!process)
			return false;
		pid = process->parent;
	}
	return false;
}

static int compare_processes(const void *left, const void *right)
{
	const struct gpu_process *a = left, *b = right;
	if (a->is_ours != b->is_ours)
		return a->is_ours ? -1 : 1;
	double a_bytes = isnan(a->memory_bytes) ? -1 : a->memory_bytes,
		   b_bytes = isnan(b->memory_bytes) ? -1 : b->memory_bytes;
	return a_bytes != b_bytes ? (a_bytes > b_bytes ? -1 : 1) : (a->pid > b->pid) - (a->pid < b->pid);
}

bool gpu_has_parts(const struct model *model, const struct gpu *gpu)
{
	for (size_t i = 0; i < model->gpus.count; i++)
		if (model->gpus.gpus[i].parent == gpu->instance)
			return true;
	return false;
}

/* -- the run's processes -- */

static double add_known(double sum, double value) { return isnan(value) ? sum : isnan(sum) ? value : sum + value; }

static void sum_processes(const struct model *model, struct gpu *gpu)
{
	double run_bytes = NAN, run_busy = NAN, others = NAN;
	size_t ours = 0;
	for (size_t i = 0; i < gpu->process_count; i++) {
		struct gpu_process *process = &gpu->processes[i];
		process->is_ours = gpu_process_is_ours(model, process->pid, gpu->processes_ns);
		const struct process *known =
			process->is_ours && !process->command[0] ? gpus_find_process(model, process->pid) : NULL;
		if (known)
			put_text(process->command, sizeof process->command, known->command);
		ours += process->is_ours;
		run_bytes = add_known(run_bytes, process->is_ours ? process->memory_bytes : NAN);
		run_busy = add_known(run_busy, process->is_ours ? process->busy_ratio : NAN);
		others = add_known(others, process->is_ours ? NAN : process->memory_bytes);
	}
	bool is_emitted = gpu->processes_ns != 0;
	gpu->is_ours = ours > 0;
	gpu->run_memory_bytes = is_emitted && !ours ? 0 : run_bytes;
	gpu->run_busy_ratio = is_emitted && !ours ? 0 : run_busy;
	gpu->others_memory_bytes = is_emitted && ours == gpu->process_count ? 0 : others;
	qsort(gpu->processes, gpu->process_count, sizeof *gpu->processes, compare_processes);
}

static bool are_processes_hidden(const struct model *model)
{
	static const char figure[] = "GPU processes";
	for (size_t i = 0; i < model->missing_count; i++)
		if (strncmp(model->missing[i].figure, figure, sizeof figure - 1) == 0)
			return true;
	return false;
}

bool run_is_on_gpu(const struct run *run)
{
	struct allocator allocator = run_allocator(run);
	return allocator.allocated_bytes > 0 || allocator.reserved_bytes > 0;
}

/* A run that publishes GPU memory uses a GPU, even if the lists do not contain it. */
static bool is_any_run_on_one(const struct model *model)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && model->runs[i].is_live && run_is_on_gpu(&model->runs[i]))
			return true;
	return false;
}

static void find_by_placement(struct model *model)
{
	struct gpus *gpus = &model->gpus;
	bool is_any_seen = false, is_any_unread = false;
	for (size_t i = 0; i < gpus->count; i++) {
		is_any_seen |= gpus->gpus[i].is_ours;
		is_any_unread |= gpus->gpus[i].processes_ns == 0;
		gpus->gpus[i].is_ours_by_place = false;
	}
	bool are_hidden = !is_any_seen && (are_processes_hidden(model) || is_any_run_on_one(model));
	uint64_t bits = are_hidden || is_any_unread ? gpus_by_all_placements(model) : 0;
	for (size_t i = 0; i < gpus->count; i++) {
		struct gpu *gpu = &gpus->gpus[i];
		if (!(bits >> i & 1) || gpu->is_ours || (!are_hidden && gpu->processes_ns != 0))
			continue;
		gpu->is_ours = gpu->is_ours_by_place = true;
		gpu->run_memory_bytes = gpu->run_busy_ratio = gpu->others_memory_bytes = NAN;
	}
}

static void mark_parents(struct gpus *gpus)
{
	for (size_t i = 0; i < gpus->count; i++)
		for (size_t k = 0; k < gpus->count && gpus->gpus[i].is_ours && gpus->gpus[i].parent >= 0; k++)
			gpus->gpus[k].is_ours |= gpus->gpus[k].instance == gpus->gpus[i].parent;
}

/* Call once per list. */
static void push_run_memory(struct gpu *gpu, struct gpu_past *past)
{
	double seconds = past->processes.interval_ns ? (double)past->processes.interval_ns * 1e-9 : NAN;
	if (past->has_new_processes && gpu->processes_ns && gpu->is_ours && !isnan(gpu->run_memory_bytes)) {
		series_push(gpu->series.run_memory_bytes, gpu->processes_ns, gpu->run_memory_bytes);
		gpu_count_run_memory(gpu, past, gpu->run_memory_bytes, seconds);
	}
	past->has_new_processes = false;
	gpu->totals.was_ours |= gpu->is_ours;
}

/* -- GPUs of a run -- */

static uint64_t gpus_of_tree(const struct model *model)
{
	uint64_t bits = 0;
	for (size_t i = 0; i < model->gpus.count && i < GPUS_MAX; i++)
		bits |= model->gpus.gpus[i].is_ours ? gpu_bit((int)i) : 0;
	return bits;
}

static uint64_t gpus_of_processes(const struct model *model, const struct run *run)
{
	uint64_t bits = 0;
	for (size_t i = 0; i < model->gpus.count && i < GPUS_MAX; i++)
		for (size_t k = 0; k < model->gpus.gpus[i].process_count; k++)
			if (model->gpus.gpus[i].processes[k].is_ours &&
				belongs_to(model, model->gpus.gpus[i].processes[k].pid, run))
				bits |= gpu_bit((int)i);
	return bits;
}

static unsigned count_runs(const struct model *model)
{
	unsigned count = 0;
	for (unsigned i = 0; i < model->run_count; i++)
		count += model->runs[i].is_used;
	return count;
}

/* Removes GPUs whose part is in the set: their memory would count twice. */
static uint64_t without_parents(const struct model *model, uint64_t bits)
{
	const struct gpus *gpus = &model->gpus;
	uint64_t retained = bits;
	for (size_t i = 0; i < gpus->count && i < GPUS_MAX; i++)
		for (size_t k = 0; (bits >> i & 1) && gpus->gpus[i].parent >= 0 && k < gpus->count && k < GPUS_MAX; k++)
			if (gpus->gpus[k].instance == gpus->gpus[i].parent)
				retained &= ~gpu_bit((int)k);
	return retained;
}

static uint64_t gpus_now(const struct model *model, const struct run *run)
{
	uint64_t bits = run ? gpus_of_processes(model, run) : 0;
	if (bits || !run || count_runs(model) <= 1)
		return bits ? bits : gpus_of_tree(model);
	bits = gpus_by_run_placement(model, run);
	for (size_t i = 0; i < model->gpus.count && i < GPUS_MAX; i++)
		bits &= model->gpus.gpus[i].is_ours_by_place ? UINT64_MAX : ~gpu_bit((int)i);
	return bits;
}

static uint64_t gpus_before(const struct model *model, const struct run *run)
{
	uint64_t bits = 0;
	for (size_t i = 0; i < model->gpus.count && i < GPUS_MAX; i++) {
		const struct gpu_totals *totals = &model->gpus.gpus[i].totals;
		if (run ? totals->runs >> (run - model->runs) & 1 : totals->was_ours)
			bits |= gpu_bit((int)i);
	}
	return bits;
}

size_t run_gpus(const struct model *model, const struct run *run, const struct gpu *out[GPUS_MAX])
{
	size_t count = 0;
	if (model->gpus.count == 0)
		return 0;
	uint64_t bits = gpus_now(model, run);
	if (!bits && (run ? !run->is_live : model->target_ended))
		bits = gpus_before(model, run);
	bits = without_parents(model, bits);
	for (size_t i = 0; i < model->gpus.count && i < GPUS_MAX; i++)
		if (bits >> i & 1)
			out[count++] = &model->gpus.gpus[i];
	return count;
}

bool run_uses_gpu(const struct model *model, const struct run *run, const struct gpu *gpu)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t count = run_gpus(model, run, gpus);
	for (size_t i = 0; i < count; i++)
		if (gpus[i] == gpu)
			return true;
	return false;
}

double gpu_memory_of_run(const struct model *model, const struct run *run, const struct gpu *gpu)
{
	double bytes = NAN;
	for (size_t i = 0; i < gpu->process_count; i++)
		if (gpu->processes[i].is_ours && belongs_to(model, gpu->processes[i].pid, run))
			bytes = add_known(bytes, gpu->processes[i].memory_bytes);
	return bytes;
}

/* With a single run, all memory of the process tree is the run's. */
double run_gpu_memory(const struct model *model, const struct run *run)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t count = run_gpus(model, run, gpus);
	bool is_alone = !run || count_runs(model) == 1;
	double bytes = NAN;
	for (size_t i = 0; i < count; i++)
		bytes = add_known(bytes, is_alone ? gpus[i]->run_memory_bytes : gpu_memory_of_run(model, run, gpus[i]));
	return bytes;
}

static void note_runs(struct model *model)
{
	for (unsigned k = 0; k < model->run_count; k++) {
		uint64_t bits = model->runs[k].is_used && model->runs[k].is_live ? gpus_now(model, &model->runs[k]) : 0;
		for (size_t i = 0; i < model->gpus.count; i++)
			model->gpus.gpus[i].totals.runs |= bits >> i & 1 ? UINT64_C(1) << k : 0;
	}
}

void gpus_find_ours(struct model *model)
{
	struct gpus *gpus = &model->gpus;
	for (size_t i = 0; i < gpus->count; i++)
		sum_processes(model, &gpus->gpus[i]);
	find_by_placement(model);
	mark_parents(gpus);
	for (size_t i = 0; i < gpus->count; i++)
		push_run_memory(&gpus->gpus[i], &model->priv->gpus->pasts[i]);
	note_runs(model);
}

/* -- figures over several GPUs -- */

enum joining { JOIN_SUM, JOIN_MEAN, JOIN_MAX, JOIN_BITS };

static enum joining joining_of(enum metric metric)
{
	switch (metric_table[metric].unit) {
	case UNIT_RATIO:
	case UNIT_HERTZ: return JOIN_MEAN;
	case UNIT_CELSIUS:
	case UNIT_ITEMS: return JOIN_MAX;
	case UNIT_CODE: return JOIN_BITS;
	default: return JOIN_SUM;
	}
}

static double figure_of(const struct gpu *gpu, enum metric metric)
{
	if (metric == METRIC_GPU_POWER)
		return gpu->power_w;
	return metric_table[metric].kind == KIND_COUNTER ? gpu_rate(gpu, metric) : gpu_now(gpu, metric);
}

static double join(enum joining joining, double all, double value)
{
	if (isnan(all))
		return value;
	if (joining == JOIN_BITS)
		return (double)((unsigned)all | (unsigned)fmin(value, UINT32_MAX));
	return joining == JOIN_MAX ? fmax(all, value) : all + value;
}

double run_gpu_figure(const struct model *model, const struct run *run, enum metric metric)
{
	const struct gpu *gpus[GPUS_MAX], *counted[GPUS_MAX];
	size_t count = run_gpus(model, run, gpus), known = 0;
	enum joining joining = joining_of(metric);
	double all = NAN;
	for (size_t i = 0; i < count; i++) {
		const struct gpu *gpu = gpus[i], *whole = gpu->parent >= 0 ? model_gpu(model, gpu->parent) : NULL;
		if (isnan(figure_of(gpu, metric)) && whole)
			gpu = whole;
		bool is_counted = isnan(figure_of(gpu, metric));
		for (size_t k = 0; k < known; k++)
			is_counted |= counted[k] == gpu;
		if (is_counted)
			continue;
		counted[known++] = gpu;
		all = join(joining, all, joining == JOIN_BITS ? (double)gpu->throttle : figure_of(gpu, metric));
	}
	return joining == JOIN_MEAN && known ? all / (double)known : all;
}
