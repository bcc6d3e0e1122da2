#include "src/export/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "src/base/formats/json.h"
#include "src/explain/explain.h"
#include "src/export/export.h"
#include "src/export/figures/lost_time.h"
#include "src/export/figures/machine.h"
#include "src/export/figures/patterns.h"
#include "src/export/figures/ranks.h"
#include "src/export/figures/requests.h"
#include "src/export/figures/scope.h"
#include "src/export/json/json_code.h"
#include "src/export/json/json_collectives.h"
#include "src/export/json/json_counters.h"
#include "src/export/json/json_energy.h"
#include "src/export/json/json_events.h"
#include "src/export/json/json_gpu.h"
#include "src/export/json/json_memory.h"
#include "src/export/json/json_phases.h"
#include "src/export/json/json_stall.h"
#include "src/export/json/json_system.h"
#include "src/export/json/json_workers.h"
#include "src/model/machine/processes.h"
#include "src/model/run/refusals.h"
#include "src/model/run/steps/flagged.h"

enum { ROWS_MAX = 50 };

static void write_rank(struct json *json, const struct run *run)
{
	char *end;
	long long rank = strtoll(run->rank, &end, 10);
	if (end != run->rank && !*end)
		json_integer(json, "rank", rank);
}

static void write_epoch(struct json *json, const struct run *run)
{
	const struct run_state *state = &run->state;
	if (!state->epochs_begun && !state->epochs_planned)
		return;
	json_open_object(json, "epoch");
	uint32_t number = run_epoch_number(run, state->epochs_begun);
	if (state->epochs_begun && (state->epoch_index == EPOCH_UNKNOWN || !number)) {
		json_unsigned(json, "passes_seen", state->epochs_begun);
	} else if (state->epochs_begun) {
		json_unsigned(json, "index", state->epoch_index);
		json_unsigned(json, "ordinal", number);
	}
	if (state->epochs_planned)
		json_unsigned(json, "total", state->epochs_planned);
	json_number(json, "done_ratio", run->epoch_done_ratio);
	json_number(json, "eta_s", run->epoch_eta_s);
	if (run->has_loop_epochs)
		json_bool(json, "is_inferred", true);
	json_close_object(json);
}

static void write_figures(struct json *json, const struct figures *figures)
{
	if (figures->count == 0)
		return;
	json_number(json, "last_s", figures->last_s);
	json_number(json, "mean_s", figures->mean_s);
	json_number(json, "min_s", figures->min_s);
	json_number(json, "max_s", figures->max_s);
	json_number(json, "p50_s", figures->p50_s);
	json_number(json, "p95_s", figures->p95_s);
}

static void write_accumulation(struct json *json, const struct run *run)
{
	const struct counter *steps = run_counter(run, "optimizer.steps");
	unsigned accumulation = run_accumulation(run);
	if (accumulation)
		json_unsigned(json, "accumulation", accumulation);
	if (steps)
		json_number(json, "optimizer_steps_per_s", steps->rate_per_s);
}

static void write_batch(struct json *json, const struct run *run, const struct track *track)
{
	const struct batch *newest = scope_newest(track);

	if (track->step.count) {
		json_open_object(json, "step");
		json_number(json, "last_s", track->step.last_s);
		json_number(json, "mean_s", track->step.mean_s);
		json_number(json, "p50_s", track->step.p50_s);
		json_number(json, "p95_s", track->step.p95_s);
		json_number(json, "rate_per_s", track->rate_per_s);
		write_accumulation(json, run);
		json_close_object(json);
	}
	json_open_object(json, "batch");
	json_unsigned(json, "count", track->count);
	if (run_batches_planned(run))
		json_unsigned(json, "total", run_batches_planned(run));
	if (newest)
		json_unsigned(json, "index", newest->index);
	write_figures(json, &track->batch);
	json_number(json, "loss", run->loss);
	json_number(json, "samples_per_s", track->samples_per_s);
	json_close_object(json);
	if (track->recent.count) {
		json_open_object(json, "recent");
		json_unsigned(json, "count", track->recent.count);
		write_figures(json, &track->recent);
		json_close_object(json);
	}
}

static void write_epochs(struct json *json, const struct run *run)
{
	size_t cut = json_cut(json, run->epoch_count);
	json_open_array(json, "epochs");
	for (size_t i = cut; i < run->epoch_count; i++) {
		const struct epoch *epoch = &run->epochs[i];
		json_open_object(json, NULL);
		json_epoch_index(json, "index", epoch->index);
		if (epoch->mode != run_main(run)->mode)
			json_text(json, "mode", run_name(run, epoch->mode));
		json_epoch_figures(json, run, epoch);
		json_close_object(json);
	}
	json_close_array(json);
	json_left_out(json, "epochs_left_out", cut + (size_t)run->epochs_dropped);
}

static int by_total(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x < y) - (x > y);
}

/* The smallest total of the operations that are written, if some are omitted; else −1. */
static double min_total(const struct json *json, const struct run *run, const struct track *track, size_t *cut)
{
	double *totals = malloc((run->operation_count + 1) * sizeof *totals), min = -1;
	size_t count = 0;
	for (size_t i = 0; totals && i < run->operation_count; i++)
		if (scope_is_of_track(run, track, &run->operations[i]))
			totals[count++] = isfinite(run->operations[i].total_s) ? run->operations[i].total_s : 0;
	*cut = json_cut(json, count);
	if (*cut) {
		qsort(totals, count, sizeof *totals, by_total);
		min = totals[count - *cut - 1];
	}
	free(totals);
	return min;
}

static void write_operations(struct json *json, const struct run *run, const struct track *track)
{
	size_t cut, left_out = 0, written = 0;
	double min = min_total(json, run, track, &cut);
	json_open_array(json, "operations");
	for (size_t i = 0; i < run->operation_count; i++) {
		const struct operation *operation = &run->operations[i];
		if (!scope_is_of_track(run, track, operation))
			continue;
		if (cut && (!(operation->total_s >= min) || written == json->rows_max)) {
			left_out++;
			continue;
		}
		written++;
		json_open_object(json, NULL);
		json_text(json, "name", run_name(run, operation->name));
		json_unsigned(json, "depth", operation->depth);
		json_unsigned(json, "count", operation->count);
		json_number(json, "total_s", operation->total_s);
		json_number(json, "self_s", operation->self_s);
		json_number(json, "cpu_s", operation->cpu_s);
		json_number(json, "mean_s", operation->mean_s);
		json_number(json, "min_s", operation->min_s);
		json_number(json, "max_s", operation->max_s);
		json_number(json, "p95_s", operation->p95_s);
		json_number(json, "share_ratio", operation->share_ratio);
		json_close_object(json);
	}
	json_close_array(json);
	json_left_out(json, "operations_left_out", left_out);
}

static void write_kinds(struct json *json, const struct run *run, const struct track *track)
{
	if (track->kind_count < 2)
		return;
	json_open_array(json, "kinds");
	for (unsigned i = 0; i < track->kind_count; i++) {
		const struct batch_kind *kind = &track->kinds[i];
		if (kind->count == 0)
			continue;
		json_open_object(json, NULL);
		json_text(json, "kind", track_kind_name(run, track, kind->kind));
		json_unsigned(json, "count", kind->count);
		json_number(json, "median_s", kind->median_s);
		json_number(json, "p95_s", kind->p95_s);
		json_close_object(json);
	}
	json_close_array(json);
}

static bool has_late_figures(const struct run *run, uint32_t mode)
{
	for (size_t i = 0; i < run->late_figure_count; i++)
		if (run->late_figures[i].mode == mode)
			return true;
	return false;
}

static void write_late_figures(struct json *json, const struct run *run, uint32_t mode)
{
	if (!has_late_figures(run, mode))
		return;
	json_open_object(json, "figures");
	for (size_t i = 0; i < run->late_figure_count; i++) {
		const struct late_figure *figure = &run->late_figures[i];
		if (figure->mode != mode)
			continue;
		json_open_object(json, run_name(run, figure->name));
		json_unsigned(json, "count", figure->count);
		json_number(json, "last", figure->last);
		json_number(json, "median", figure->median);
		json_number(json, "mean", figure->mean);
		json_close_object(json);
	}
	json_close_object(json);
}

/* The last values. */
static void write_gauges(struct json *json, const struct run *run)
{
	if (!run->gauge_count)
		return;
	json_open_object(json, "gauges");
	for (size_t i = 0; i < run->gauge_count; i++)
		json_number(json, run_name(run, run->gauges[i].name), run->gauges[i].value);
	json_close_object(json);
}

static void write_modes(struct json *json, const struct run *run)
{
	json_open_object(json, "modes");
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track *track = &run->tracks[i];
		json_open_object(json, scope_mode_name(run, track->mode));
		json_unsigned(json, "count", track->count);
		if (run_track_is_at_least(run, track))
			json_bool(json, "is_at_least", true);
		write_figures(json, &track->batch);
		json_number(json, "samples_per_s", track->samples_per_s);
		/* Those of the main track are at the top level. */
		if (track != run_main(run)) {
			write_operations(json, run, track);
			write_kinds(json, run, track);
			write_late_figures(json, run, track->mode);
		}
		json_close_object(json);
	}
	json_close_object(json);
}

/* A batch's mode if it is not the main one, its kind if there are several, its samples if they are more than the
 * median. */
static void write_what_it_was(
	struct json *json, const struct run *run, const struct flagged *flagged, const struct explanation *why)
{
	const struct track *track = run_track_of(run, flagged->mode);
	if (flagged->mode != run_main(run)->mode)
		json_text(json, "mode", scope_mode_name(run, flagged->mode));
	if (track)
		json_text(json, "kind", track_kind_name(run, track, flagged->batch.kind));
	if (why->is_bigger) {
		json_number(json, "samples", why->samples);
		json_number(json, "usual_samples", why->baseline_samples);
	}
}

static void write_flagged(struct json *json, const struct run *run)
{
	uint64_t total = 0;
	size_t cut = json_cut(json, run->flagged_count);
	for (unsigned i = 0; i < run->track_count; i++)
		total += run->tracks[i].flagged_count;
	total = total > run->flagged_count ? total : run->flagged_count;
	json_unsigned(json, "flagged_total", total);
	json_open_array(json, "flagged");
	for (size_t i = cut; i < run->flagged_count; i++) {
		const struct flagged *flagged = &run->flagged[i];
		const struct explanation *why = flagged_explanation(flagged);
		json_open_object(json, NULL);
		json_epoch_index(json, "epoch", flagged->batch.epoch);
		json_unsigned(json, "batch", flagged->batch.index);
		json_number(json, "seconds", why->step_s);
		if (why->is_by_device)
			json_text(json, "clock", "gpu");
		json_number(json, "ratio", why->ratio);
		write_what_it_was(json, run, flagged, why);
		json_step_phases(json, run, why);
		json_causes(json, run, why);
		json_close_object(json);
	}
	json_close_array(json);
	json_left_out(json, "flagged_left_out", (size_t)total - run->flagged_count + cut);
}

/* By reason; nothing if none was refused. */
static void write_refused(struct json *json, const struct run *run)
{
	json_unsigned(json, "refused_events", run->refused_events);
	if (!run->refused_events)
		return;
	json_open_object(json, "refused");
	for (unsigned i = 0; i < REFUSAL_COUNT; i++)
		if (run_refused_for(run, i))
			json_unsigned(json, refusal_key(i), run_refused_for(run, i));
	if (run_refused_for(run, REFUSAL_COUNT))
		json_unsigned(json, "unknown", run_refused_for(run, REFUSAL_COUNT));
	json_close_object(json);
}

static void write_meta(struct json *json, const struct run *run)
{
	if (!run->meta_count)
		return;
	json_open_object(json, "meta");
	for (size_t i = 0; i < run->meta_count; i++)
		if (strncmp(run->meta[i].key, RUN_INFERRED, strlen(RUN_INFERRED)) != 0)
			json_text(json, run->meta[i].key, run->meta[i].value);
	json_close_object(json);
}

static void write_inferred(struct json *json, const struct run *run)
{
	const struct inferred inferred = run_inferred(run);
	if (!inferred.what)
		return;
	json_open_object(json, "inferred");
	json_text(json, "what", inferred.what);
	json_text(json, "file", inferred.file);
	if (inferred.line)
		json_unsigned(json, "line", inferred.line);
	json_bool(json, "is_certain", inferred.is_certain);
	json_bool(json, "is_chosen", inferred.is_chosen);
	json_bool(json, "is_at_least", inferred.is_at_least);
	json_close_object(json);
}

static void write_run(struct json *json, const struct model *model, const struct alerts *alerts, const struct run *run,
	unsigned index, int64_t realtime_offset_ns)
{
	const struct track *track = run_main(run);
	json_text(json, "run", run->name);
	write_rank(json, run);
	write_meta(json, run);
	write_inferred(json, run);
	json_text(json, "mode", scope_mode_name(run, run->state.mode));
	json_number(json, "run_done_ratio", run->run_done_ratio);
	json_number(json, "run_eta_s", run->run_eta_s);
	write_epoch(json, run);
	write_batch(json, run, track);
	write_epochs(json, run);
	write_operations(json, run, track);
	write_gauges(json, run);
	json_recent_phases(json, model, run);
	write_kinds(json, run, track);
	write_late_figures(json, run, track->mode);
	write_modes(json, run);
	write_flagged(json, run);
	patterns_as_json(json, alerts, run, index, realtime_offset_ns);
	json_unsigned(json, "lost_events", run->lost_events);
	json_unsigned(json, "before_attach_events", run->before_attach_events);
	write_refused(json, run);
}

static void write_cpu(struct json *json, const struct model *model)
{
	const struct process *target = model_target(model);
	if (!target)
		return;
	const double *now = target->now;
	json_open_object(json, "cpu");
	json_number(json, "ratio", target->cpu_ratio);
	json_number(json, "tree_ratio", scope_tree_cpu_ratio(model));
	json_number(json, "user_s", now[METRIC_PROCESS_CPU_USER] * 1e-9);
	json_number(json, "system_s", now[METRIC_PROCESS_CPU_SYSTEM] * 1e-9);
	json_number(json, "run_queue_wait_ratio", target->run_queue_wait_ratio);
	json_number(json, "major_faults_per_s", target->major_faults_per_s);
	json_number(json, "read_bytes_per_s", target->read_bytes_per_s);
	json_number(json, "write_bytes_per_s", target->write_bytes_per_s);
	json_number(json, "threads", now[METRIC_PROCESS_THREADS]);
	json_text(json, "state", scope_state_name(target));
	json_close_object(json);
}

static void write_warnings(struct json *json, const struct alerts *alerts, int run, int64_t realtime_offset_ns)
{
	json_open_array(json, "warnings");
	for (size_t i = 0; i < alerts->count; i++) {
		const struct alert *alert = &alerts->list[i];
		if (!alert->is_raised || !scope_has_alert(alert, run))
			continue;
		json_open_object(json, NULL);
		json_alert(json, alert);
		json_integer(json, "since_ns", alert->since_ns + realtime_offset_ns);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_self(struct json *json, const struct model *model)
{
	json_open_object(json, "self");
	json_number(json, "cpu_ratio", model->self.cpu_ratio);
	json_number(json, "memory_bytes", model->self.memory_bytes);
	json_open_array(json, "missing");
	for (size_t i = 0; i < model->missing_count; i++) {
		const struct missing *missing = &model->missing[i];
		json_open_object(json, NULL);
		json_text(json, "figure", missing->figure);
		json_text(json, "reason", missing->text);
		json_text(json, "remedy", missing->remedy[0] ? missing->remedy : NULL);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

/* Only for a recording with losses. */
static void write_damage(struct json *json, const struct model *model)
{
	if (!model->damaged_blocks && !model->damaged_bytes)
		return;
	json_unsigned(json, "damaged_blocks", model->damaged_blocks);
	json_unsigned(json, "damaged_bytes", model->damaged_bytes);
}

/* As pmtop why-died --json names it. */
static void write_end(struct json *json, const struct model *model)
{
	if (!model->end.cause)
		return;
	json_open_object(json, "ended");
	json_text(json, "cause", model->end.cause);
	json_text(json, "message", model->end.message);
	if (model->end.status >= 0)
		json_integer(json, WIFSIGNALED(model->end.status) ? "signal" : "exit_status",
			WIFSIGNALED(model->end.status) ? WTERMSIG(model->end.status) : WEXITSTATUS(model->end.status));
	json_close_object(json);
}

static void write_object(struct buffer *out, const struct model *model, const struct alerts *alerts, int run,
	int64_t realtime_ns, size_t rows_max)
{
	struct json json = { .out = out, .rows_max = rows_max };
	const struct run *chosen = scope_run(model, run);
	int32_t pid = scope_pid(model, chosen);

	json_open_object(&json, NULL);
	json_integer(&json, "time_ns", realtime_ns);
	if (pid)
		json_integer(&json, "pid", pid);
	write_end(&json, model);
	write_damage(&json, model);
	if (chosen)
		write_run(&json, model, alerts, chosen, (unsigned)run, realtime_ns - model->now_ns);
	if (chosen)
		json_stall(&json, model, chosen);
	if (chosen)
		json_requests(&json, model, chosen, realtime_ns - model->now_ns);
	if (chosen)
		ranks_as_json(&json, model, run);
	json_collectives(&json, model);
	lost_time_as_json(&json, model);
	json_memory(&json, model, chosen, realtime_ns - model->now_ns);
	write_cpu(&json, model);
	json_system(&json, model);
	machine_as_json(&json, model);
	json_gpus(&json, model, realtime_ns - model->now_ns);
	json_energy(&json, model, run, realtime_ns - model->now_ns);
	json_counters(&json, model, chosen);
	json_code(&json, model);
	json_workers(&json, model, run);
	write_warnings(&json, alerts, run, realtime_ns - model->now_ns);
	write_self(&json, model);
	json_close_object(&json);
	buffer_puts(out, "\n");
}

void export_json(
	struct buffer *out, const struct model *model, const struct alerts *alerts, int run, int64_t realtime_ns)
{
	write_object(out, model, alerts, run, realtime_ns, 0);
}

void export_json_newest(
	struct buffer *out, const struct model *model, const struct alerts *alerts, int run, int64_t realtime_ns)
{
	write_object(out, model, alerts, run, realtime_ns, ROWS_MAX);
}
