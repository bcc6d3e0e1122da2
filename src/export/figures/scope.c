#include "src/export/figures/scope.h"

#include <math.h>
#include <string.h>

#include "src/model/run/steps/tracks.h"

const struct run *scope_run(const struct model *model, int run)
{
	return run >= 0 && (unsigned)run < model->run_count ? &model->runs[run] : NULL;
}

int32_t scope_pid(const struct model *model, const struct run *run)
{
	if (model->has_target)
		return model->target_pid;
	return run ? run->pid : 0;
}

const char *scope_mode_name(const struct run *run, uint32_t mode)
{
	return mode == NAME_NONE ? "train" : run_name(run, mode);
}

static bool has_track(const struct run *run, uint32_t mode)
{
	for (unsigned i = 0; i < run->track_count; i++)
		if (run->tracks[i].mode == mode)
			return true;
	return false;
}

bool scope_is_of_track(const struct run *run, const struct track *track, const struct operation *operation)
{
	if (operation->count == 0)
		return false;
	if (operation->mode == track->mode)
		return true;
	return track == run_main(run) && !has_track(run, operation->mode);
}

bool scope_has_alert(const struct alert *alert, int run)
{
	return alert->is_of_model || (run >= 0 && alert->run == (unsigned)run);
}

const struct batch *scope_newest(const struct track *track)
{
	for (uint64_t ordinal = track->end; ordinal > track->first; ordinal--) {
		const struct batch *batch = track_batch(track, ordinal - 1);
		if (batch && batch->end_ns)
			return batch;
	}
	return NULL;
}

double scope_tree_cpu_ratio(const struct model *model)
{
	double sum = NAN;
	for (size_t i = 0; i < model->process_count; i++) {
		const struct process *process = &model->processes[i];
		if (!process->is_gone && !isnan(process->cpu_ratio))
			sum = isnan(sum) ? process->cpu_ratio : sum + process->cpu_ratio;
	}
	return sum;
}

const struct epoch *scope_epoch(const struct run *run, uint32_t ordinal)
{
	for (size_t i = run->epoch_count; i-- > 0;)
		if (run->epochs[i].ordinal == ordinal)
			return &run->epochs[i];
	return NULL;
}

/* proc_pid_stat(5), field 3. */
static const struct {
	char code;
	const char *name;
} states[] = {
	{ 'R', "running" },
	{ 'S', "sleeping" },
	{ 'D', "waiting for disk" },
	{ 'T', "stopped" },
	{ 't', "traced" },
	{ 'Z', "ended" },
	{ 'X', "ended" },
	{ 'I', "idle" },
};

const char *scope_state_name(const struct process *process)
{
	if (process->is_gone)
		return "ended";
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		if (process->now[METRIC_PROCESS_STATE] == (double)states[i].code)
			return states[i].name;
	return NULL;
}
