#include "src/export/trace/trace_happenings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/export/trace/trace_private.h"
#include "src/export/trace/trace_tracks.h"
#include "src/export/trace/trace_write.h"
#include "src/rules/alerts_list.h"

/* -- warnings -- */

static struct trace_alert *find_alert(struct trace *trace, const struct alert *alert)
{
	for (size_t i = 0; i < trace->alert_count; i++) {
		struct trace_alert *one = &trace->alerts[i];
		if (one->run == alert->run && one->subject == alert->subject &&
			strncmp(one->rule, alert->rule, sizeof one->rule - 1) == 0)
			return one;
	}
	if (trace->alert_count == TRACE_ALERTS_MAX)
		return NULL;
	struct trace_alert *one = &trace->alerts[trace->alert_count++];
	*one = (struct trace_alert){ .run = alert->run, .subject = alert->subject };
	snprintf(one->rule, sizeof one->rule, "%s", alert->rule);
	return one;
}

static void write_alert(struct trace *trace, struct trace_alert *alert, int64_t end_ns)
{
	struct trace_slice slice = { .begin_ns = alert->since_ns,
		.end_ns = end_ns > alert->since_ns ? end_ns : alert->since_ns,
		.name = alert->message,
		.category = "warning",
		.is_flow_target = true };
	slice.track = trace_track_beside(trace, &trace->alert_tracks, NULL, "warnings", -1, slice.begin_ns, slice.end_ns);
	note_text(&slice, "rule", alert->rule);
	note_text(&slice, "severity", severity_name(alert->severity));
	note_text(&slice, "advice", alert->advice);
	slice.flow_ns = alert->joined_ns;
	if (alert->is_joined && scene_covers(trace->scene, alert->joined_ns))
		slice.flows[slice.flow_count++] = alert->flow;
	trace_slice(trace, &slice);
	alert->is_standing = false;
}

void trace_alerts(struct trace *trace, bool is_end)
{
	const struct alerts *alerts = trace->scene->alerts;
	for (size_t i = 0; i < alerts->count; i++) {
		const struct alert *alert = &alerts->list[i];
		struct trace_alert *known = find_alert(trace, alert);
		if (!known)
			continue;
		if (known->since_ns != alert->since_ns) {
			if (known->is_standing)
				write_alert(trace, known, known->cleared_ns ? known->cleared_ns : alert->since_ns);
			known->since_ns = alert->since_ns;
			known->flow = ++trace->flow_count;
			known->is_joined = false;
			known->is_standing = true;
		}
		if (!known->is_standing)
			continue;
		known->severity = alert->severity;
		known->cleared_ns = alert->is_raised ? 0 : alert->cleared_ns;
		snprintf(known->message, sizeof known->message, "%s", alert->message);
		snprintf(known->advice, sizeof known->advice, "%s", alert->advice_count ? alert->advice[0] : "");
	}
	for (size_t i = 0; i < trace->alert_count; i++) {
		struct trace_alert *known = &trace->alerts[i];
		/* Its batch is written first, so that the flow's begin is known. */
		if (known->is_standing && (is_end || (known->cleared_ns && known->is_joined)))
			write_alert(trace, known, known->cleared_ns ? known->cleared_ns : trace->scene->model->now_ns);
	}
}

/* Joins a warning to the batch in which it was raised, or the next one that ends. */
void trace_join_alerts(struct trace *trace, const struct trace_run *run, struct trace_slice *batch)
{
	const struct model *model = trace->scene->model;
	for (size_t i = 0; i < trace->alert_count && batch->flow_count < TRACE_FLOWS_MAX; i++) {
		struct trace_alert *alert = &trace->alerts[i];
		bool is_of_run =
			alert->run < model->run_count && strncmp(model->runs[alert->run].uuid, run->uuid, sizeof run->uuid) == 0;
		if (alert->is_joined || !alert->is_standing || !is_of_run || alert->since_ns >= batch->end_ns)
			continue;
		batch->flows[batch->flow_count++] = alert->flow;
		alert->is_joined = true;
		alert->joined_ns = batch->begin_ns;
	}
}

/* -- gaps and marks -- */

void trace_gap(struct trace *trace, struct trace_run *run, uint64_t count, int64_t from_ns, int64_t to_ns)
{
	char name[64];
	if (!run->process)
		return;
	snprintf(name, sizeof name, "%" PRIu64 " event%s lost", count, count == 1 ? "" : "s");
	struct trace_slice slice = {
		.begin_ns = from_ns, .end_ns = to_ns > from_ns ? to_ns : from_ns, .name = name, .category = "gap"
	};
	slice.track = trace_track_beside(trace, &run->gaps, run->process, "lost events", 3, slice.begin_ns, slice.end_ns);
	note_count(&slice, "events", count);
	trace_slice(trace, &slice);
}

/* More slices overlap than there are tracks. */
void trace_left_out(struct trace *trace, struct trace_run *run, uint64_t count, int64_t time_ns)
{
	char name[64];
	if (!count || !run->process)
		return;
	snprintf(name, sizeof name, "%" PRIu64 " spans left out: too many overlap", count);
	struct trace_slice slice = { .begin_ns = time_ns, .end_ns = time_ns, .name = name, .category = "gap" };
	slice.track = trace_track_beside(trace, &run->gaps, run->process, "lost events", 3, time_ns, time_ns);
	note_count(&slice, "spans", count);
	trace_instant(trace, &slice);
}

void trace_mark(struct trace *trace, struct trace_run *run, const struct record *record)
{
	if (!run->process)
		return;
	if (!run->marks)
		run->marks = trace_track(trace, TRACE_TRACK, TRACE_NUMBER, run->process, "marks", 1);
	struct trace_slice slice = { .track = run->marks,
		.begin_ns = record->time_ns,
		.end_ns = record->time_ns,
		.category = "mark",
		.name = record->text && record->text[0] ? record->text : "mark" };
	trace_instant(trace, &slice);
}

/* -- loader workers -- */

static void write_worker(struct trace *trace, struct trace_worker *worker, const char *why, int64_t end_ns)
{
	char name[64];
	if (!worker->is_used)
		return;
	if (worker->id == UINT32_MAX)
		snprintf(name, sizeof name, "worker %d", (int)worker->pid);
	else
		snprintf(name, sizeof name, "worker %u", worker->id);
	struct trace_slice slice = { .begin_ns = worker->start_ns,
		.end_ns = end_ns > worker->start_ns ? end_ns : worker->start_ns,
		.name = name,
		.category = "worker" };
	slice.track =
		trace_track_beside(trace, &trace->worker_tracks, NULL, "loader workers", 200, slice.begin_ns, slice.end_ns);
	note_count(&slice, "pid", (uint64_t)worker->pid);
	note_count(&slice, "fetches", worker->fetches);
	if (worker->failed)
		note_count(&slice, "failed", worker->failed);
	note_number(&slice, "fetch_mean_s", worker->total_s / (double)worker->fetches);
	note_number(&slice, "fetch_max_s", worker->max_s);
	note_text(&slice, "ended", why);
	trace_slice(trace, &slice);
	worker->is_used = false;
}

void trace_worker(struct trace *trace, const struct record *record)
{
	struct trace_worker *worker = &trace->workers[record->run];
	if (record->kind == RECORD_WORKER_GONE) {
		write_worker(trace, worker, record->text, record->time_ns);
		return;
	}
	const struct worker_row *row = record->worker;
	if (worker->is_used && (worker->pid != row->pid || worker->start_ns != row->start_ns))
		write_worker(trace, worker, NULL, record->time_ns);
	*worker = (struct trace_worker){ true, row->pid, row->id, row->start_ns, row->fetches, row->failed, row->total_s,
		row->max_s };
}

void trace_workers_end(struct trace *trace, int64_t end_ns)
{
	for (size_t i = 0; i < TRACE_WORKERS_MAX; i++)
		write_worker(trace, &trace->workers[i], NULL, end_ns);
}
