#include "src/export/trace/trace_gpus.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/export/trace/trace_private.h"
#include "src/export/trace/trace_tracks.h"
#include "src/export/trace/trace_write.h"
#include "src/model/gpus/gpus_words.h"

/* -- counters -- */

/* Counters are shown as rates. */
static const struct {
	enum metric metric;
	enum trace_unit unit;
	double scale;
	const char *name;
} figures[TRACE_GPU_FIGURES] = {
	{ METRIC_GPU_BUSY, TRACE_NUMBER, 1, "use (ratio)" },
	{ METRIC_GPU_SM_ACTIVE, TRACE_NUMBER, 1, "SM active (ratio)" },
	{ METRIC_GPU_TENSOR_ACTIVE, TRACE_NUMBER, 1, "tensor pipes active (ratio)" },
	{ METRIC_GPU_DRAM_ACTIVE, TRACE_NUMBER, 1, "memory bandwidth (ratio)" },
	{ METRIC_GPU_MEMORY_USED, TRACE_BYTES, 1, "memory used" },
	{ METRIC_GPU_POWER, TRACE_NUMBER, 1, "power (W)" },
	{ METRIC_GPU_TEMPERATURE, TRACE_NUMBER, 1, "temperature (°C)" },
	{ METRIC_GPU_CLOCK, TRACE_NUMBER, 1e-6, "clock (MHz)" },
	{ METRIC_GPU_PCIE_RECEIVED, TRACE_BYTES, 1, "PCIe received a second" },
	{ METRIC_GPU_PCIE_SENT, TRACE_BYTES, 1, "PCIe sent a second" },
	{ METRIC_GPU_NVLINK_RECEIVED, TRACE_BYTES, 1, "NVLink received a second" },
	{ METRIC_GPU_NVLINK_SENT, TRACE_BYTES, 1, "NVLink sent a second" },
};

static struct trace_gpu *gpu_of(struct trace *trace, int32_t instance)
{
	size_t at = 0;
	while (at < trace->gpu_count && trace->gpus[at].instance != instance)
		at++;
	if (at == GPUS_MAX || !model_gpu(trace->scene->model, instance))
		return NULL;
	if (at == trace->gpu_count)
		trace->gpus[trace->gpu_count++] = (struct trace_gpu){ .instance = instance };
	return &trace->gpus[at];
}

static void name_of(const struct trace *trace, int32_t instance, const char *what, char *out, size_t size)
{
	char label[48];
	snprintf(out, size, "%s %s",
		gpu_label(trace->scene->model, model_gpu(trace->scene->model, instance), label, sizeof label), what);
}

static void add_figure(struct trace *trace, struct trace_gpu *to, const struct record *record)
{
	size_t at = 0;
	char name[128];
	while (at < TRACE_GPU_FIGURES && figures[at].metric != record->figure.metric)
		at++;
	if (at == TRACE_GPU_FIGURES)
		return;
	bool is_counter = metric_table[record->figure.metric].kind == KIND_COUNTER;
	double value = is_counter ? gpu_rate(model_gpu(trace->scene->model, to->instance), record->figure.metric)
							  : record->figure.value;
	name_of(trace, to->instance, figures[at].name, name, sizeof name);
	trace_counter(trace, &to->tracks[at], NULL, name, figures[at].unit, record->time_ns, value * figures[at].scale);
}

static void add_processes(struct trace *trace, struct trace_gpu *to, int64_t time_ns)
{
	const struct gpu *gpu = model_gpu(trace->scene->model, to->instance);
	char name[128];
	if (!gpu->is_ours)
		return;
	name_of(trace, to->instance, "memory of the run", name, sizeof name);
	trace_counter(trace, &to->run_memory, NULL, name, TRACE_BYTES, time_ns, gpu->run_memory_bytes);
}

/* -- throttle reasons and events -- */

static struct trace_track *track_of(struct trace *trace, struct trace_track **track, int32_t instance, const char *what)
{
	char name[128];
	if (!*track) {
		name_of(trace, instance, what, name, sizeof name);
		*track = trace_track(trace, TRACE_TRACK, TRACE_NUMBER, NULL, name, 150);
	}
	return *track;
}

static void end_throttle(struct trace *trace, struct trace_gpu *to, int64_t end_ns)
{
	char words[160];
	struct trace_slice slice = {
		.begin_ns = to->throttle_ns, .end_ns = end_ns, .category = "throttle", .is_common = true
	};
	if (!to->throttle || end_ns <= to->throttle_ns)
		return;
	slice.name = gpu_throttle_words(to->throttle, words, sizeof words);
	slice.track = track_of(trace, &to->throttled, to->instance, "throttled");
	trace_slice(trace, &slice);
}

static void add_throttle(struct trace *trace, struct trace_gpu *to, const struct record *record)
{
	double value = record->figure.value;
	unsigned bits = value >= 0 && value <= UINT32_MAX ? (unsigned)value & ((1u << GPU_THROTTLE_COUNT) - 1) : 0;
	if (bits == to->throttle)
		return;
	end_throttle(trace, to, record->time_ns);
	to->throttle = bits;
	to->throttle_ns = record->time_ns;
}

static void add_event(struct trace *trace, struct trace_gpu *to, const struct record *record)
{
	struct trace_slice slice = { .begin_ns = record->time_ns,
		.end_ns = record->time_ns,
		.category = "GPU",
		.name = record->gpu_event.text && record->gpu_event.text[0] ? record->gpu_event.text : "event" };
	slice.track = track_of(trace, &to->events, to->instance, "events");
	if (record->gpu_event.code)
		note_count(&slice, "code", record->gpu_event.code);
	trace_instant(trace, &slice);
}

void trace_gpu_record(struct trace *trace, const struct record *record)
{
	struct trace_gpu *to;
	if (record->kind == RECORD_GPU_EVENT && (to = gpu_of(trace, record->gpu_event.gpu)))
		add_event(trace, to, record);
	if (record->kind == RECORD_GPU_PROCESSES && (to = gpu_of(trace, record->gpu_processes.gpu)))
		add_processes(trace, to, record->time_ns);
	if (record->kind != RECORD_FIGURE || record->figure.metric < METRIC_GPU_FIRST ||
		record->figure.metric > METRIC_GPU_LAST)
		return;
	to = gpu_of(trace, record->figure.instance);
	if (to && record->figure.metric == METRIC_GPU_THROTTLE)
		add_throttle(trace, to, record);
	else if (to)
		add_figure(trace, to, record);
}

void trace_gpus_end(struct trace *trace, int64_t end_ns)
{
	for (size_t i = 0; i < trace->gpu_count; i++)
		end_throttle(trace, &trace->gpus[i], end_ns);
}
