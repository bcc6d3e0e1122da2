/* --to=chrome-trace: the Trace Event Format as one object, as chrome://tracing and PyTorch's profiler use it: complete
 * events (X), nested by time, in microseconds with fractions. Times are relative to baseTimeNanoseconds, the date at
 * which CLOCK_MONOTONIC was 0. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/formats/json.h"
#include "src/export/figures/scope.h"
#include "src/export/trace/trace.h"

struct chrome {
	struct trace *trace;
	bool has_any;
};

/* -- one event -- */

/* One event per line. */
static struct json begin_event(struct chrome *chrome, struct buffer *out, const char *phase, const char *name)
{
	struct json json = { .out = out };
	buffer_puts(out, chrome->has_any ? ",\n" : "\n");
	chrome->has_any = true;
	json_open_object(&json, NULL);
	json_text(&json, "ph", phase);
	json_text(&json, "name", name);
	return json;
}

/* All digits of the nanoseconds: json_number() writes only 12. */
static void add_us(struct json *json, const char *key, int64_t ns)
{
	uint64_t size = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;
	buffer_printf(json->out, ",\"%s\":%s%" PRIu64 ".%03" PRIu64, key, ns < 0 ? "-" : "", size / 1000, size % 1000);
}

static void add_track(struct json *json, const struct trace_track *track)
{
	json_integer(json, "pid", track->pid);
	json_unsigned(json, "tid", track->tid);
}

static void add_notes(struct json *json, const struct trace_slice *slice)
{
	if (!slice->note_count)
		return;
	json_open_object(json, "args");
	for (size_t i = 0; i < slice->note_count; i++) {
		const struct trace_note *note = &slice->notes[i];
		switch (note->kind) {
		case NOTE_TEXT: json_text(json, note->key, note->text); break;
		case NOTE_NUMBER: json_number(json, note->key, note->number); break;
		case NOTE_COUNT: json_unsigned(json, note->key, note->count); break;
		case NOTE_TRUE: json_bool(json, note->key, true); break;
		}
	}
	json_close_object(json);
}

/* -- tracks, slices, instants, counters -- */

static void start(void *writer, const struct export_scene *scene)
{
	(void)writer;
	buffer_puts(scene->out, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\"");
	buffer_printf(scene->out, ",\"baseTimeNanoseconds\":%" PRId64 ",\"traceEvents\":[", scene->realtime_offset_ns);
}

static void write_name(
	struct chrome *chrome, struct buffer *out, const struct trace_track *track, const char *what, bool is_rank)
{
	bool is_process = track->kind == TRACE_PROCESS;
	struct json json = begin_event(chrome, out, "M", what);
	json_integer(&json, "pid", track->pid);
	json_unsigned(&json, "tid", is_process ? 0 : track->tid);
	json_open_object(&json, "args");
	if (is_rank)
		json_integer(&json, "sort_index", track->rank);
	else
		json_text(&json, "name", track->name);
	json_close_object(&json);
	json_close_object(&json);
}

static void write_track(void *writer, struct buffer *out, const struct trace_track *track)
{
	if (track->kind == TRACE_COUNTER)
		return;
	bool is_process = track->kind == TRACE_PROCESS;
	write_name(writer, out, track, is_process ? "process_name" : "thread_name", false);
	write_name(writer, out, track, is_process ? "process_sort_index" : "thread_sort_index", true);
}

static void write_flow(struct chrome *chrome, struct buffer *out, const struct trace_slice *slice, uint64_t flow)
{
	struct json json = begin_event(chrome, out, slice->is_flow_target ? "f" : "s", "warning");
	json_text(&json, "cat", "warning");
	json_unsigned(&json, "id", flow);
	add_track(&json, slice->track);
	add_us(&json, "ts", slice->is_flow_target && slice->flow_ns > slice->begin_ns ? slice->flow_ns : slice->begin_ns);
	if (slice->is_flow_target)
		json_text(&json, "bp", "e");
	json_close_object(&json);
}

static void write_slice(void *writer, struct buffer *out, const struct trace_slice *slice)
{
	struct chrome *chrome = writer;
	char step[40];
	const char *name = slice->name, *category = slice->category;
	/* The categories of PyTorch's profiler for its steps and for user annotations. */
	if (slice->is_batch && !slice->has_mode) {
		snprintf(step, sizeof step, "ProfilerStep#%" PRIu64, slice->number);
		name = step;
	}
	if (slice->is_batch || slice->is_common)
		category = "user_annotation";
	struct json json = begin_event(chrome, out, "X", name);
	json_text(&json, "cat", category);
	add_track(&json, slice->track);
	add_us(&json, "ts", slice->begin_ns);
	add_us(&json, "dur", slice->end_ns - slice->begin_ns);
	add_notes(&json, slice);
	json_close_object(&json);
	for (size_t i = 0; i < slice->flow_count; i++)
		write_flow(chrome, out, slice, slice->flows[i]);
}

static void write_end(void *writer, struct buffer *out, const struct trace_track *track, int64_t end_ns)
{
	(void)writer;
	(void)out;
	(void)track;
	(void)end_ns;
}

static void write_instant(void *writer, struct buffer *out, const struct trace_slice *slice)
{
	struct json json = begin_event(writer, out, "i", slice->name);
	json_text(&json, "cat", slice->category);
	json_text(&json, "s", "t");
	add_track(&json, slice->track);
	add_us(&json, "ts", slice->begin_ns);
	add_notes(&json, slice);
	json_close_object(&json);
}

static void write_counter(
	void *writer, struct buffer *out, const struct trace_track *track, int64_t time_ns, double value)
{
	struct json json = begin_event(writer, out, "C", track->name);
	json_integer(&json, "pid", track->pid);
	add_us(&json, "ts", time_ns);
	json_open_object(&json, "args");
	json_number(&json, track->unit == TRACE_BYTES ? "bytes" : "value", value);
	json_close_object(&json);
	json_close_object(&json);
}

static void finish(void *writer, const struct export_scene *scene)
{
	const struct run *run = scope_run(scene->model, scene->run);
	const struct model *model = scene->model;
	(void)writer;
	buffer_puts(scene->out, "\n]");
	if (model->damaged_blocks || model->damaged_bytes)
		buffer_printf(scene->out, ",\n\"otherData\": {\"damaged_blocks\": %llu, \"damaged_bytes\": %llu}",
			(unsigned long long)model->damaged_blocks, (unsigned long long)model->damaged_bytes);
	/* Holistic Trace Analysis finds the rank by a regular expression that requires the space. */
	if (run && run->rank[0])
		buffer_printf(scene->out, ",\n\"distributedInfo\": {\"rank\": %ld", strtol(run->rank, NULL, 10));
	if (run && run->rank[0] && run->world[0])
		buffer_printf(scene->out, ", \"world_size\": %ld", strtol(run->world, NULL, 10));
	buffer_puts(scene->out, run && run->rank[0] ? "}}\n" : "}\n");
}

/* -- the exporter -- */

static const struct trace_format format = {
	.start = start,
	.track = write_track,
	.begin = write_slice,
	.end = write_end,
	.instant = write_instant,
	.counter = write_counter,
	.finish = finish,
};

static void close_chrome(void *state)
{
	struct chrome *chrome = state;
	trace_free(chrome->trace);
	free(chrome);
}

static void *open_chrome(const struct export_scene *scene)
{
	struct chrome *chrome = calloc(1, sizeof *chrome);
	if (!chrome)
		return NULL;
	chrome->trace = trace_new(scene, &format, chrome);
	if (chrome->trace)
		return chrome;
	free(chrome);
	return NULL;
}

static void add_chrome(void *state, const struct export_scene *scene, const struct sample_set *set)
{
	trace_add(((struct chrome *)state)->trace, scene, set);
}

static void end_chrome(void *state, const struct export_scene *scene)
{
	trace_end(((struct chrome *)state)->trace, scene);
}

const struct exporter chrome_trace_exporter = {
	.name = "chrome-trace",
	.help = "JSON for chrome://tracing, ui.perfetto.dev and Holistic Trace Analysis",
	.open = open_chrome,
	.add = add_chrome,
	.end = end_chrome,
	.close = close_chrome,
};
