#include "src/model/workers/workers_shown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/workers/workers_private.h"

/* The process name that PyTorch gives DataLoader workers. */
#define TORCH_WORKER "pt_data_worker"

enum { ANCESTORS_MAX = 16 };

/* -- the tree -- */

static int by_pid(const void *left, const void *right)
{
	const struct living *a = left, *b = right;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Updates the list of running processes after a change. */
static void find_living(const struct model *model)
{
	struct workers *workers = model->priv->workers;
	if (workers->living_version == model->priv->tree_version)
		return;
	workers->living_version = model->priv->tree_version;
	workers->living_count = 0;
	for (size_t i = 0; i < model->process_count; i++)
		if (!model->processes[i].is_gone)
			workers->living[workers->living_count++] = (struct living){ model->processes[i].pid, (uint32_t)i };
	qsort(workers->living, workers->living_count, sizeof workers->living[0], by_pid);
}

static const struct process *find_process(const struct model *model, int32_t pid)
{
	const struct workers *workers = model->priv->workers;
	find_living(model);
	const struct living *living =
		bsearch(&(struct living){ .pid = pid }, workers->living, workers->living_count, sizeof *living, by_pid);
	return living ? &model->processes[living->at] : NULL;
}

static bool publishes_run(const struct model *model, int32_t pid)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].pid == pid)
			return true;
	return false;
}

static int32_t owner_of(const struct model *model, const struct process *process)
{
	for (unsigned i = 0; process && i < ANCESTORS_MAX; i++) {
		if (publishes_run(model, process->parent))
			return process->parent;
		process = find_process(model, process->parent);
	}
	return model->target_pid;
}

int32_t model_owner(const struct model *model, int32_t pid) { return owner_of(model, find_process(model, pid)); }

struct torch_answer {
	bool is_known, has_workers;
	int32_t owner;
};

/* -- which processes are workers -- */

static const struct worker *published_by(const struct workers *workers, int32_t pid)
{
	for (size_t i = 0; i < workers->count; i++)
		if (workers->retained[i]->worker.pid == pid && !workers->retained[i]->worker.is_gone)
			return &workers->retained[i]->worker;
	return NULL;
}

/* In a PyTorch run the workers have known names, so other children are no workers. */
static bool find_torch_workers(const struct model *model, int32_t owner)
{
	const struct workers *workers = model->priv->workers;
	for (size_t i = 0; i < workers->worker_group_count; i++)
		if (workers->worker_groups[i]->worker_group.owner == owner)
			return true;
	for (size_t i = 0; i < model->process_count; i++)
		if (workers->process_owners[i] == owner && strcmp(model->processes[i].command, TORCH_WORKER) == 0)
			return true;
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].pid == owner && run_meta(&model->runs[i], "loader.num_workers"))
			return true;
	return false;
}

/* Caches the last answer: most processes have the same owner as the one before. */
static bool has_torch_workers(const struct model *model, int32_t owner, struct torch_answer *last)
{
	if (!last->is_known || last->owner != owner)
		*last = (struct torch_answer){ true, find_torch_workers(model, owner), owner };
	return last->has_workers;
}

static void show(struct workers *workers, const struct worker *worker, const struct process *process, int32_t owner)
{
	if (workers->shown_count == WORKERS_MAX)
		return;
	workers->owners[workers->shown_count] = owner;
	workers->shown[workers->shown_count++] = (struct worker_shown){ .worker = worker, .process = process };
}

static void show_unpublished(struct model *model, size_t at, struct torch_answer *last)
{
	struct workers *workers = model->priv->workers;
	const struct process *process = &model->processes[at];
	int32_t owner = workers->process_owners[at];
	if (process->is_gone || process->is_target || publishes_run(model, process->pid) ||
		published_by(workers, process->pid))
		return;
	if (strcmp(process->command, TORCH_WORKER) == 0 || !has_torch_workers(model, owner, last))
		show(workers, NULL, process, owner);
}

static int32_t pid_of(const struct worker_shown *shown)
{
	return shown->worker ? shown->worker->pid : shown->process->pid;
}

static bool is_before(const struct workers *workers, size_t a, size_t b)
{
	const struct worker_shown *first = &workers->shown[a], *second = &workers->shown[b];
	if (workers->owners[a] != workers->owners[b])
		return workers->owners[a] < workers->owners[b];
	uint32_t id = first->worker ? first->worker->id : UINT32_MAX,
			 other = second->worker ? second->worker->id : UINT32_MAX;
	return id != other ? id < other : pid_of(first) < pid_of(second);
}

static void sort_shown(struct workers *workers)
{
	for (size_t i = 1; i < workers->shown_count; i++)
		for (size_t k = i; k > 0 && is_before(workers, k, k - 1); k--) {
			struct worker_shown shown = workers->shown[k];
			int32_t owner = workers->owners[k];
			workers->shown[k] = workers->shown[k - 1];
			workers->owners[k] = workers->owners[k - 1];
			workers->shown[k - 1] = shown;
			workers->owners[k - 1] = owner;
		}
}

static void find_shown(struct model *model)
{
	struct workers *workers = model->priv->workers;
	struct torch_answer last = { .is_known = false };
	workers->shown_count = 0;
	for (size_t i = 0; i < workers->count; i++) {
		struct worker *worker = &workers->retained[i]->worker;
		if (!worker->is_gone)
			worker->owner = model_owner(model, worker->pid);
		show(workers, worker, worker->is_gone ? NULL : find_process(model, worker->pid), worker->owner);
	}
	for (size_t i = 0; i < model->process_count; i++)
		workers->process_owners[i] = owner_of(model, &model->processes[i]);
	for (size_t i = 0; i < model->process_count; i++)
		show_unpublished(model, i, &last);
	sort_shown(workers);
}

/* -- states -- */

static enum worker_state state_of(const struct worker_shown *shown)
{
	double process = shown->process ? shown->process->now[METRIC_PROCESS_STATE] : NAN;
	if (shown->worker && shown->worker->is_gone)
		return WORKER_GONE;
	if (process == 'D')
		return WORKER_DISK;
	if (process == 'T' || process == 't')
		return WORKER_STOPPED;
	if (shown->worker)
		return shown->worker->fetch_begin_ns ? WORKER_BUSY : WORKER_IDLE;
	return process == 'R' || shown->process->cpu_ratio >= 0.5 ? WORKER_BUSY : WORKER_SLEEPING;
}

void model_show_workers(struct model *model)
{
	struct workers *workers = model->priv->workers;
	if (workers->is_changed || workers->tree_version != model->priv->tree_version) {
		workers->is_changed = false;
		workers->tree_version = model->priv->tree_version;
		find_shown(model);
	}
	for (size_t i = 0; i < workers->shown_count; i++)
		workers->shown[i].state = state_of(&workers->shown[i]);
}

const struct worker_shown *model_workers(const struct model *model, int run, size_t *count)
{
	const struct workers *workers = workers_of(model);
	size_t first = 0, end = workers ? workers->shown_count : 0;
	if (workers && run >= 0 && (unsigned)run < model->run_count) {
		int32_t owner = model->runs[run].pid;
		while (first < end && workers->owners[first] != owner)
			first++;
		size_t after = first;
		while (after < end && workers->owners[after] == owner)
			after++;
		end = after;
	}
	*count = end - first;
	return workers ? workers->shown + first : NULL;
}

void model_worker_group_now(const struct model *model, int run, struct worker_group_now *out)
{
	size_t count;
	const struct worker_shown *shown = model_workers(model, run, &count);
	double busy = 0;
	unsigned known = 0;
	*out = (struct worker_group_now){ .busy_ratio = NAN, .resident_bytes = NAN, .on_disk_s = NAN };
	for (size_t i = 0; i < count; i++) {
		const struct process *process = shown[i].process;
		out->states[shown[i].state]++;
		out->count += shown[i].state != WORKER_GONE;
		out->published += shown[i].worker != NULL;
		if (shown[i].worker && !isnan(shown[i].worker->busy_ratio)) {
			busy += shown[i].worker->busy_ratio;
			known++;
		}
		if (process && !isnan(process->now[METRIC_PROCESS_RESIDENT]))
			out->resident_bytes =
				(isnan(out->resident_bytes) ? 0 : out->resident_bytes) + process->now[METRIC_PROCESS_RESIDENT];
		if (shown[i].state == WORKER_DISK && !(process->state_since_s <= out->on_disk_s)) {
			out->on_disk = &shown[i];
			out->on_disk_s = process->state_since_s;
		}
	}
	if (known)
		out->busy_ratio = busy / known;
}

const char *worker_state_name(enum worker_state state)
{
	static const char *const names[] = { [WORKER_BUSY] = "busy",
		[WORKER_IDLE] = "idle",
		[WORKER_DISK] = "disk",
		[WORKER_STOPPED] = "stopped",
		[WORKER_SLEEPING] = "sleeping",
		[WORKER_GONE] = "gone" };
	return names[state];
}
