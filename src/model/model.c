#include "src/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/batch_window/batch_window.h"
#include "src/model/batch_window/batch_window_clocks.h"
#include "src/model/batch_window/batch_window_notes.h"
#include "src/model/code/code.h"
#include "src/model/code/code_samples.h"
#include "src/model/code/code_threads.h"
#include "src/model/code/loops.h"
#include "src/model/collectives/collectives.h"
#include "src/model/collectives/lost_time.h"
#include "src/model/collectives/ras.h"
#include "src/model/energy/energy.h"
#include "src/model/gpus/gpus.h"
#include "src/model/machine/perf.h"
#include "src/model/machine/processes.h"
#include "src/model/machine/system.h"
#include "src/model/memory/memory.h"
#include "src/model/model_private.h"
#include "src/model/run/loop_epochs.h"
#include "src/model/run/published.h"
#include "src/model/run/records.h"
#include "src/model/run/refresh.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/workers/workers.h"

void model_options_default(struct model_options *options)
{
	*options = (struct model_options){ .flag_mad = 5,
		.flag_ratio = 1.5,
		.flag_after = 20,
		.flag_window = 200,
		.warmup_max = 10,
		.sla_s = 2,
		.grid_g_per_kwh = NAN,
		.batch_capacity = 8192 };
}

struct model *model_new(const struct model_options *options)
{
	struct model *model = calloc(1, sizeof *model);
	struct model_private *priv = calloc(1, sizeof *priv);
	if (!model || !priv) {
		free(model);
		free(priv);
		return NULL;
	}
	model->options = *options;
	model->priv = priv;
	model->refresh_s = model->self.cpu_ratio = model->self.memory_bytes = NAN;
	for (size_t i = 0; i < RUN_IDS; i++)
		priv->run_by_id[i] = -1;
	model_init_memory(model);
	model_init_workers(model);
	model_init_system(model);
	model_init_gpus(model);
	model_init_perf(model);
	model_init_code(model);
	model_init_energy(model);
	model_init_batch_windows(model);
#define NEW_SERIES(name) model->series.name = series_new();
	PROCESS_SERIES(NEW_SERIES)
	TREE_SERIES(NEW_SERIES)
#undef NEW_SERIES
	return model;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	for (unsigned i = 0; i < model->run_count; i++)
		run_release(&model->runs[i]);
#define FREE_SERIES(name) series_free(model->series.name);
	PROCESS_SERIES(FREE_SERIES)
	TREE_SERIES(FREE_SERIES)
#undef FREE_SERIES
	model_free_workers(model);
	model_free_memory(model);
	model_free_system(model);
	model_free_gpus(model);
	model_free_perf(model);
	model_free_code(model);
	model_free_code_samples(model);
	model_free_code_threads(model);
	model_free_energy(model);
	model_free_collectives(model);
	model_free_ras(model);
	model_free_batch_windows(model);
	free(model->priv->pasts);
	free(model->priv);
	free(model->processes);
	free(model->runs);
	free(model);
}

static struct run *find_run(struct model *model, uint8_t id)
{
	int16_t index = model->priv->run_by_id[id];
	return index < 0 ? NULL : &model->runs[index];
}

/* Whether the process publishes steps, spans or requests, or did so: then its steps are not inferred as well. */
static bool publishes(const struct model *model, int32_t pid)
{
	for (const struct run *run = model->runs; run < model->runs + model->run_count; run++)
		if (run->is_used && !run->is_counted && run->pid == pid && run_has_content(run))
			return true;
	return false;
}

/* Returns the index for a run: the same one for the same region, else a new one, or that of an ended run if all are in
 * use. −1: none. */
static int find_run_index(struct model *model, const struct record *opened)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (opened->opened.uuid && *opened->opened.uuid &&
			strncmp(model->runs[i].uuid, opened->opened.uuid, sizeof model->runs[i].uuid - 1) == 0)
			return (int)i;
	if (model->run_count < MODEL_RUNS_MAX) {
		struct run *runs = model->runs;
		if ((model->run_count & (model->run_count - 1)) == 0)
			runs = realloc(model->runs, (model->run_count ? model->run_count * 2 : 1) * sizeof *runs);
		if (!runs)
			return -1;
		model->runs = runs;
		runs[model->run_count] = (struct run){ 0 };
		return (int)model->run_count;
	}
	for (unsigned i = 0; i < model->run_count; i++)
		if (!model->runs[i].is_live)
			return (int)i;
	return -1;
}

static void forget_run_ids(struct model *model, int index)
{
	for (size_t i = 0; i < RUN_IDS; i++)
		if (model->priv->run_by_id[i] == index)
			model->priv->run_by_id[i] = -1;
}

/* A process that publishes no steps may publish facts and marks, such as those of JAX's compilations: they are shown
 * with its inferred steps. */
static void copy_facts(struct model *model, struct run *inferred)
{
	static const char *const keys[] = { "framework", "instrumented" };
	for (const struct run *run = model->runs; run < model->runs + model->run_count; run++)
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			if (run->is_used && !run->is_counted && run->pid == inferred->pid)
				run_set_meta(inferred, keys[i], run_meta(run, keys[i]));
}

static void copy_mark(struct model *model, const struct run *from, const struct record *record)
{
	for (struct run *run = model->runs; run < model->runs + model->run_count; run++)
		if (run->is_used && run->is_counted && !from->is_counted && run->pid == from->pid)
			run_add_mark(run, record->time_ns, record->text);
}

static void open_run(struct model *model, const struct record *record)
{
	struct run *before = find_run(model, record->run);
	if (before)
		before->is_live = false;
	model->priv->run_by_id[record->run] = -1;
	int index = find_run_index(model, record);
	struct run run;
	if (index < 0 || !run_open(&run, record, &model->options))
		return;
	forget_run_ids(model, index);
	run_release(&model->runs[index]);
	model->runs[index] = run;
	if ((unsigned)index == model->run_count)
		model->run_count++;
	model->priv->run_by_id[record->run] = (int16_t)index;
	model->priv->tree_version++;
	model_add_resident(model, index);
	if (opened_is_counted(record))
		copy_facts(model, &model->runs[index]);
}

/* Its process goes on. */
static void hide_run(struct model *model, struct run *run)
{
	run->is_used = run->is_live = false;
	run->pid = 0;
	model->priv->tree_version++;
}

/* An inferred run is shown until its process publishes; then it may have the epochs that are not published. */
static void hide_inferred(struct model *model)
{
	for (unsigned i = 0; i < model->run_count; i++) {
		struct run *run = &model->runs[i];
		if (!run->is_used || !run->is_counted || !publishes(model, run->pid))
			continue;
		run->priv->beside.pid = run->pid;
		hide_run(model, run);
	}
}

static struct run *hidden_loop(struct model *model, int32_t pid)
{
	for (unsigned i = model->run_count; i-- > 0;) {
		struct run *run = &model->runs[i];
		if (!run->is_used && run->is_counted && run->priv->beside.pid == pid)
			return run;
	}
	return NULL;
}

static void take_loop_epochs(struct model *model)
{
	for (unsigned i = 0; i < model->run_count; i++) {
		struct run *run = &model->runs[i];
		struct run *loop = run->is_used && !run->is_counted ? hidden_loop(model, run->pid) : NULL;
		if (loop)
			run_take_loop_epochs(run, loop);
		if (run->is_used && !run->is_counted)
			run_await_loop_epochs(run, code_main_group(model) >= 0, model->now_ns);
	}
}

/* What a program publishes, or the steps of its other processes, need none. */
static bool needs_inference(const struct model *model)
{
	for (const struct run *run = model->runs; run < model->runs + model->run_count; run++)
		if (run->is_used && (!run->is_counted || run->pid != model->target_pid))
			return false;
	return true;
}

static void note_missing(struct model *model, const struct record *record)
{
	const char *figure = record->missing.figure;
	size_t at = 0;
	if (!figure)
		return;
	struct missing missing;
	put_text(missing.figure, sizeof missing.figure, figure);
	while (at < model->missing_count && strcmp(model->missing[at].figure, missing.figure) != 0)
		at++;
	if (!record->missing.text) {
		if (at == model->missing_count)
			return;
		memmove(
			&model->missing[at], &model->missing[at + 1], (model->missing_count - at - 1) * sizeof model->missing[0]);
		model->missing_count--;
		return;
	}
	if (at == MODEL_MISSING_MAX)
		return;
	put_text(missing.text, sizeof missing.text, record->missing.text);
	put_text(missing.remedy, sizeof missing.remedy, record->missing.remedy);
	missing_classify(&missing);
	if (missing.subject == MISSING_STEPS && !needs_inference(model))
		return;
	model->missing[at] = missing;
	if (at == model->missing_count)
		model->missing_count++;
}

/* A person flagged a batch during the recording. */
static void take_flag(struct model *model, const struct record *record)
{
	int16_t index = model->priv->run_by_id[record->run];
	const struct run *run = index < 0 ? NULL : &model->runs[index];
	const struct track *track = run ? run_track_of(run, record->flag.mode) : NULL;
	if (track)
		model_flag(
			model, (unsigned)index, (unsigned)(track - run->tracks), record->flag.ordinal, record->flag.is_flagged);
}

static void apply_record(struct model *model, const struct sample_set *set, size_t at)
{
	const struct record *record = &set->records[at];
	switch ((enum record_kind)record->kind) {
	case RECORD_FIGURE: model_take_figure(model, record); break;
	case RECORD_MISSING: note_missing(model, record); break;
	case RECORD_PROCESS_SEEN: model_see_process(model, record); break;
	case RECORD_PROCESS_GONE: model_lose_process(model, record); break;
	case RECORD_PROCESS_REPLACED: model_replace_process(model, record); break;
	case RECORD_INSTANCE: model_name_instance(model, record); break;
	case RECORD_PROCESS_WAIT: model_take_wait(model, record); break;
	case RECORD_PROCESS_PLACE: model_take_placement(model, record); break;
	case RECORD_GPU:
		model_note_gpu(model, record);
		model_take_gpu(model, record);
		break;
	case RECORD_GPU_PROCESSES:
		model_note_gpu(model, record);
		model_take_gpu_processes(model, record);
		break;
	case RECORD_GPU_EVENT:
		model_note_gpu(model, record);
		model_take_gpu_event(model, record);
		break;
	case RECORD_PERF_EVENT: model_take_perf_event(model, record); break;
	case RECORD_PERF_COUNT: model_take_perf_count(model, record); break;
	case RECORD_CODE_GROUP: model_take_code_group(model, record, set->is_snapshot); break;
	case RECORD_CODE: model_take_code(model, record); break;
	case RECORD_CODE_NODE: model_take_code_node(model, record); break;
	case RECORD_CODE_TIME: model_take_code_time(model, record, set->is_snapshot); break;
	case RECORD_CODE_THREAD: model_take_code_thread(model, record, set->is_snapshot); break;
	case RECORD_CODE_GIL_WAITS: model_take_code_gil_waits(model, record); break;
	case RECORD_LOOPS: model_take_loops(model, record); break;
	case RECORD_CODE_SAMPLES: model_take_code_samples(model, record); break;
	case RECORD_COLLECTIVE_RANK:
	case RECORD_COLLECTIVE_GROUP:
	case RECORD_COLLECTIVE_OP:
	case RECORD_COLLECTIVE_STATE:
	case RECORD_COLLECTIVES: model_take_collectives(model, record); break;
	case RECORD_RAS:
	case RECORD_RAS_GROUP: model_take_ras(model, record); break;
	case RECORD_WORKER:
		model_note_worker(model, record);
		model_take_worker(model, record);
		break;
	case RECORD_WORKER_GONE:
		model_note_worker(model, record);
		model_lose_worker(model, record);
		break;
	case RECORD_RUN_OPENED: open_run(model, record); break;
	case RECORD_FLAG: take_flag(model, record); break;
	default: {
		struct run *run = find_run(model, record->run);
		if (run)
			run_apply(run, record, set->count - at);
		if (run && record->kind == RECORD_MARK)
			copy_mark(model, run, record);
		if (run && record->kind == RECORD_RUN_CLOSED && end_is_withdrawal(record->text))
			hide_run(model, run);
		break;
	}
	}
}

static void note_refresh(struct model *model, int64_t time_ns)
{
	double passed_s = seconds_between(model->now_ns, time_ns);
	if (model->now_ns == 0 || passed_s <= 0)
		return;
	bool is_other = isnan(model->refresh_s) || passed_s > 2 * model->refresh_s || passed_s < model->refresh_s / 2;
	model->refresh_s = is_other ? passed_s : model->refresh_s + (passed_s - model->refresh_s) / 16;
}

void model_apply(struct model *model, const struct sample_set *set)
{
	int64_t time_ns = bounded_time(set->time_ns);
	if (model->first_ns == 0)
		model->first_ns = time_ns;
	note_refresh(model, time_ns);
	if (time_ns > model->now_ns)
		model->now_ns = time_ns;
	model->sets_failed += set->failed;
	for (size_t i = 0; i < set->count; i++)
		apply_record(model, set, i);
	hide_inferred(model);
	model_refresh_processes(model);
	model_refresh_system(model);
	for (unsigned i = 0; i < model->run_count; i++)
		run_refresh(&model->runs[i], model->now_ns);
	take_loop_epochs(model);
	model_refresh_workers(model);
	model_refresh_memory(model);
	model_refresh_gpus(model);
	model_refresh_perf(model);
	model_refresh_code(model);
	model_refresh_energy(model);
	model_refresh_lost_time(model);
	model_refresh_batch_windows(model, false);
}

bool model_flag(struct model *model, unsigned run, unsigned track, uint64_t ordinal, bool flagged)
{
	if (run >= model->run_count || !run_flag(&model->runs[run], track, ordinal, flagged))
		return false;
	model_refresh_batch_windows(model, true);
	return true;
}
