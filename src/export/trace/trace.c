#include "src/export/trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/export/trace/trace_batches.h"
#include "src/export/trace/trace_figures.h"
#include "src/export/trace/trace_gpus.h"
#include "src/export/trace/trace_happenings.h"
#include "src/export/trace/trace_private.h"
#include "src/export/trace/trace_tracks.h"

enum { NAMES_MAX = 70000, LANES_MAX = 1024, RUNS_MAX = 4096 };

/* -- runs -- */

static const struct run *model_run(const struct model *model, const char *uuid)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && strncmp(model->runs[i].uuid, uuid, sizeof model->runs[i].uuid) == 0)
			return &model->runs[i];
	return NULL;
}

static void finish_run(struct trace *trace, struct trace_run *run);

static void open_run(struct trace *trace, const struct record *record)
{
	const struct run *of = model_run(trace->scene->model, record->opened.uuid);
	struct trace_run *run = trace->current[record->run];
	char name[160];
	long rank = of && of->rank[0] ? strtol(of->rank, NULL, 10) : -1;
	if (run && strncmp(run->uuid, record->opened.uuid, sizeof run->uuid) == 0)
		return;
	if (run)
		finish_run(trace, run);
	trace->current[record->run] = NULL;
	/* An instrumented process has no second run with inferred steps: the model has none, so the trace has none. */
	if (!of && opened_is_counted(record))
		return;
	struct trace_run **runs =
		trace->run_count < RUNS_MAX ? realloc(trace->runs, (trace->run_count + 1) * sizeof(struct trace_run *)) : NULL;
	trace->runs = runs ? runs : trace->runs;
	run = runs ? calloc(1, sizeof *run) : NULL;
	if (!run) {
		trace->failed = true;
		return;
	}
	run->id = record->run;
	run->pid = record->opened.pid;
	snprintf(run->uuid, sizeof run->uuid, "%s", record->opened.uuid);
	snprintf(run->name, sizeof run->name, "%s", record->opened.name);
	snprintf(name, sizeof name, rank >= 0 ? "%s, rank %ld" : "%s", run->name[0] ? run->name : "run", rank);
	run->process = trace_process(trace, run->pid, name, run->uuid, rank >= 0 ? rank : 0);
	trace->runs[trace->run_count++] = trace->current[run->id] = run;
}

static void learn_name(struct trace *trace, struct trace_run *run, uint32_t id, const char *text)
{
	if (id >= run->name_count && id < NAMES_MAX) {
		size_t count = (size_t)id * 2 + 16;
		struct trace_name *names = realloc(run->names, count * sizeof *names);
		if (names) {
			memset(names + run->name_count, 0, (count - run->name_count) * sizeof *names);
			run->names = names;
			run->name_count = count;
		}
	}
	if (id < run->name_count && (!run->names[id].text || strcmp(run->names[id].text, text) != 0)) {
		free(run->names[id].text);
		run->names[id].text = strdup(text);
	}
	trace->failed |= id >= run->name_count || !run->names[id].text;
}

static struct trace_run_lane *lane_of(struct trace *trace, struct trace_run *run, uint16_t number)
{
	for (size_t i = 0; i < run->lane_count; i++)
		if (run->lanes[i]->number == number)
			return run->lanes[i];
	struct trace_run_lane **lanes = run->lane_count < LANES_MAX
		? realloc(run->lanes, (run->lane_count + 1) * sizeof(struct trace_run_lane *))
		: NULL;
	run->lanes = lanes ? lanes : run->lanes;
	struct trace_run_lane *lane = lanes ? calloc(1, sizeof *lane) : NULL;
	trace->failed |= !lane;
	if (!lane)
		return NULL;
	lane->number = number;
	run->lanes[run->lane_count++] = lane;
	return lane;
}

/* -- events -- */

static void note_gap(
	struct trace *trace, struct trace_run *run, struct trace_run_lane *lane, const struct record *record)
{
	/* A gauge with an old sequence number repeats the current value and is no event. */
	if (record->kind == RECORD_GAUGE &&
		(record->sequence < lane->next_sequence || (!lane->has_next && !record->sequence)))
		return;
	uint64_t lost =
		lane->has_next && record->sequence > lane->next_sequence ? record->sequence - lane->next_sequence : 0;
	if (lost) {
		trace_lane_gap(&lane->lane, lane->last_ns);
		trace_gap(trace, run, lost, lane->last_ns, record->time_ns);
	}
	lane->tail_lost = 0;
	lane->has_next = true;
	lane->next_sequence = record->sequence + 1;
	if (record->time_ns > lane->last_ns)
		lane->last_ns = record->time_ns;
}

static struct lane_slice span_of(const struct record *record)
{
	const struct lane_slice slice = { .end_ns = record->time_ns,
		.depth = (uint16_t)(record->span.depth < LANE_LEVELS - 2 ? record->span.depth : LANE_LEVELS - 2),
		.begin_ns = record->span.duration_ns < 0 || record->span.duration_ns > record->time_ns
			? record->time_ns
			: record->time_ns - record->span.duration_ns,
		.span = { record->span.name, record->span.cpu_s, record->span.memory_bytes } };
	return slice;
}

static void note_open(struct trace_run_lane *lane, const struct record *record)
{
	struct lane_slice open = span_of(record);
	while (lane->open_count && lane->open[lane->open_count - 1].depth >= open.depth)
		lane->open_count--;
	open.is_unfinished = true;
	lane->open[lane->open_count++] = open;
}

/* Spans within it ended before it. */
static void note_ended(struct trace_run_lane *lane, const struct lane_slice *span)
{
	while (lane->open_count && lane->open[lane->open_count - 1].depth >= span->depth &&
		lane->open[lane->open_count - 1].begin_ns >= span->begin_ns)
		lane->open_count--;
}

static struct lane_slice batch_of(const struct record *record)
{
	const struct lane_slice slice = { .end_ns = record->time_ns,
		.is_batch = true,
		.begin_ns = record->batch.begin_ns > 0 && record->batch.begin_ns < record->time_ns ? record->batch.begin_ns
																						   : record->time_ns,
		.batch = { record->batch.number, record->batch.index, record->batch.loss } };
	return slice;
}

static void take_event(struct trace *trace, struct trace_run *run, const struct record *record)
{
	struct trace_run_lane *lane = lane_of(trace, run, record->lane);
	struct lane_slice slice;
	if (!lane)
		return;
	note_gap(trace, run, lane, record);
	switch (record->kind) {
	case RECORD_BATCH_BEGIN:
		trace_lane_batch_begin(&lane->lane, record->time_ns, record->batch.number, record->batch.index);
		break;
	case RECORD_BATCH_END:
		slice = batch_of(record);
		trace_lane_batch_end(&lane->lane, &slice);
		break;
	case RECORD_SPAN:
		slice = span_of(record);
		note_ended(lane, &slice);
		trace_lane_span(&lane->lane, &slice);
		break;
	case RECORD_GAUGE: trace_gauge(trace, run, record); break;
	case RECORD_MARK: trace_mark(trace, run, record); break;
	default: break;
	}
}

static void take(struct trace *trace, const struct record *record)
{
	struct trace_run *run = trace->current[record->run];
	if (record->kind == RECORD_RUN_OPENED)
		open_run(trace, record);
	else if (record->kind == RECORD_WORKER || record->kind == RECORD_WORKER_GONE)
		trace_worker(trace, record);
	else if (record->kind == RECORD_FIGURE || record->kind == RECORD_GPU_PROCESSES || record->kind == RECORD_GPU_EVENT)
		trace_gpu_record(trace, record);
	else if (!run)
		return;
	else if (record->kind == RECORD_NAME)
		learn_name(trace, run, record->name.id, record->name.text);
	else if (record->kind == RECORD_RUN_CLOSED)
		run->closed_ns = record->time_ns;
	else if (record->kind == RECORD_COUNTER)
		trace_gauge(trace, run, record);
	else if (record->kind == RECORD_LOST && record->lost.count && lane_of(trace, run, record->lane))
		lane_of(trace, run, record->lane)->tail_lost = record->lost.count;
	else if (record->kind == RECORD_OPEN_SPAN && lane_of(trace, run, record->lane))
		note_open(lane_of(trace, run, record->lane), record);
	else if (record->kind == RECORD_OPEN_SPANS_NONE && lane_of(trace, run, record->lane))
		lane_of(trace, run, record->lane)->open_count = 0;
	else if (record->kind >= RECORD_EPOCH_BEGIN)
		take_event(trace, run, record);
}

/* -- the exporter's calls -- */

static void write_finished(struct trace *trace, bool is_end)
{
	struct finished_batch written;
	do {
		const struct epoch *epoch;
		unsigned rank;
		while ((epoch = finished_epoch(trace->finished, &trace->all, &rank)))
			trace_epoch(trace, &trace->all.model->runs[rank], epoch, epoch->end_ns);
		if (!finished_next(trace->finished, &trace->all, is_end, &written))
			return;
		trace_finished(trace, &written);
	} while (true);
}

/* Stores the call's scene, and a copy without limits: a batch that began before --since is written from --since on. */
static void set_scene(struct trace *trace, const struct export_scene *scene)
{
	trace->scene = scene;
	trace->all = *scene;
	trace->all.since_ns = INT64_MIN;
	trace->all.until_ns = INT64_MAX;
}

void trace_add(struct trace *trace, const struct export_scene *scene, const struct sample_set *set)
{
	set_scene(trace, scene);
	for (size_t i = 0; i < set->count; i++)
		take(trace, &set->records[i]);
	trace_readings(trace, set);
	trace_alerts(trace, false);
	write_finished(trace, false);
	trace->throttle_bits = 0;
	for (size_t i = 0; i < trace->run_count; i++)
		trace_release_ready(trace, trace->runs[i]);
}

/* Ends the open spans now, innermost first. */
static void close_open(struct trace_run_lane *lane, int64_t end_ns)
{
	for (size_t i = lane->open_count; i-- > 0 && !lane->tail_lost;) {
		struct lane_slice open = lane->open[i];
		open.end_ns = end_ns > open.begin_ns ? end_ns : open.begin_ns;
		if (lane->lane.has_batch && open.begin_ns < lane->lane.batch.begin_ns)
			trace_lane_finish(&lane->lane, end_ns);
		trace_lane_span(&lane->lane, &open);
	}
}

static void finish_run(struct trace *trace, struct trace_run *run)
{
	const struct run *of = model_run(trace->scene->model, run->uuid);
	int64_t end_ns = run->closed_ns ? run->closed_ns : trace->scene->model->now_ns;
	for (size_t i = 0; i < run->lane_count; i++) {
		struct trace_run_lane *lane = run->lanes[i];
		if (lane->tail_lost) {
			trace_lane_gap(&lane->lane, lane->last_ns);
			trace_gap(trace, run, lane->tail_lost, lane->last_ns, end_ns);
		}
		close_open(lane, end_ns);
		trace_lane_finish(&lane->lane, end_ns);
		trace_left_out(trace, run, lane->lane.left_out, lane->last_ns);
	}
	const struct epoch *last = of && of->epoch_count ? &of->epochs[of->epoch_count - 1] : NULL;
	if (last && !last->end_ns)
		trace_epoch(trace, of, last, end_ns);
	trace_release(trace, run, NULL);
	for (size_t i = 0; i < run->lane_count; i++)
		trace_lane_release(&run->lanes[i]->lane);
}

void trace_end(struct trace *trace, const struct export_scene *scene)
{
	set_scene(trace, scene);
	/* First the finished batches: finish_run() then releases what is left in the lanes. */
	write_finished(trace, true);
	for (unsigned i = 0; i < 256; i++)
		if (trace->current[i])
			finish_run(trace, trace->current[i]);
	trace_workers_end(trace, scene->model->now_ns);
	trace_gpus_end(trace, scene->model->now_ns);
	trace_alerts(trace, true);
	trace->format->finish(trace->writer, scene);
	if (trace->failed)
		scene->out->failed = true;
}

struct trace *trace_new(const struct export_scene *scene, const struct trace_format *format, void *writer)
{
	struct trace *trace = calloc(1, sizeof *trace);
	if (!trace)
		return NULL;
	trace->finished = finished_new();
	if (!trace->finished) {
		free(trace);
		return NULL;
	}
	trace->format = format;
	trace->writer = writer;
	set_scene(trace, scene);
	format->start(writer, scene);
	return trace;
}

static void free_run(struct trace_run *run)
{
	for (size_t i = 0; i < run->lane_count; i++) {
		trace_lane_release(&run->lanes[i]->lane);
		free(run->lanes[i]);
	}
	for (size_t i = 0; i < run->name_count; i++)
		free(run->names[i].text);
	free(run->names);
	free(run->lanes);
	free(run);
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < trace->run_count; i++)
		free_run(trace->runs[i]);
	for (size_t i = 0; i < trace->process_count; i++)
		free(trace->processes[i]);
	for (size_t i = 0; i < trace->track_count; i++)
		free(trace->tracks[i]);
	finished_free(trace->finished);
	free(trace->runs);
	free(trace->processes);
	free(trace->tracks);
	free(trace);
}
