/* Notes clocks of GPUs and CPUs and events of GPUs, and finds them for a window. */
#include "src/model/batch_window/batch_window_clocks.h"

#include <math.h>
#include <string.h>

#include "src/model/batch_window/batch_window.h"
#include "src/model/batch_window/batch_window_notes.h"
#include "src/model/batch_window/batch_window_private.h"
#include "src/model/gpus/gpus_runs.h"
#include "src/model/gpus/gpus_words.h"

/* Throttle reasons, most informative first. */
static const enum gpu_throttle reasons[] = {
	GPU_THROTTLE_HEAT,
	GPU_THROTTLE_HEAT_SOFTWARE,
	GPU_THROTTLE_POWER_BRAKE,
	GPU_THROTTLE_CURRENT,
	GPU_THROTTLE_POWER_CAP,
	GPU_THROTTLE_HARDWARE,
	GPU_THROTTLE_CLOCKS_SET,
	GPU_THROTTLE_SYNC_BOOST,
};

enum { CPUS = -1 };

/* -- notes -- */

static struct clock_history *find_clock_history(const struct model *model, int32_t instance)
{
	struct window_notes *notes = window_notes_of(model);
	for (size_t i = 0; notes && i < notes->clock_history_count; i++)
		if (notes->clock_histories[i].instance == instance)
			return &notes->clock_histories[i];
	return NULL;
}

static struct clock_history *make_clock_history(struct model *model, int32_t instance)
{
	struct window_notes *notes = window_notes_of(model);
	struct clock_history *history = find_clock_history(model, instance);
	if (history || !notes || notes->clock_history_count == CLOCK_HISTORIES_MAX)
		return history;
	history = &notes->clock_histories[notes->clock_history_count++];
	*history = (struct clock_history){ .instance = instance, .throttles = NAN };
	return history;
}

static bool is_of_clocks(enum metric metric)
{
	return metric == METRIC_GPU_CLOCK || metric == METRIC_GPU_THROTTLE || metric == METRIC_GPU_BUSY ||
		metric == METRIC_HEAT_CPU_CLOCK || metric == METRIC_HEAT_CPU_THROTTLES;
}

/* Were the CPUs throttled by heat since the previous reading? */
static void note_throttles(struct clock_history *history, struct clock_reading *reading, double throttles)
{
	if (throttles >= history->throttles)
		reading->throttled = throttles > history->throttles;
	history->throttles = throttles;
}

void model_note_clock(struct model *model, const struct record *record)
{
	enum metric metric = record->figure.metric;
	bool is_cpus = metric == METRIC_HEAT_CPU_CLOCK || metric == METRIC_HEAT_CPU_THROTTLES;
	double value = record->figure.value;
	if (!is_of_clocks(metric) || (!is_cpus && !model_gpu(model, record->figure.instance)))
		return;
	struct clock_history *history = make_clock_history(model, is_cpus ? CPUS : record->figure.instance);
	struct clock_reading *reading = history ? clock_history_reading(history, bounded_time(record->time_ns)) : NULL;
	if (!reading)
		return;
	switch (metric) {
	case METRIC_GPU_BUSY: reading->busy_ratio = value <= 1 ? (float)value : (float)NAN; break;
	case METRIC_GPU_THROTTLE:
		reading->throttled = value < 1u << GPU_THROTTLE_COUNT ? (uint32_t)value : CLOCK_HISTORY_THROTTLED_UNKNOWN;
		break;
	case METRIC_HEAT_CPU_THROTTLES: note_throttles(history, reading, value); break;
	default: reading->clock_hz = (float)value; break;
	}
}

static void note_moment(struct model *model, enum window_event_kind kind, int32_t gpu, int64_t from_ns, int64_t to_ns,
	int32_t pid, double value, const char *text)
{
	struct window_notes *notes = window_notes_of(model);
	if (!notes || gpu < 0)
		return;
	model_note_moment(model, kind, from_ns, to_ns, pid, value, text);
	notes->moments[(notes->moment_next + MOMENTS_MAX - 1) % MOMENTS_MAX].gpu = gpu;
}

static bool is_of_tree(const struct model *model, int32_t pid)
{
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == pid)
			return true;
	return false;
}

static bool was_on(const struct gpu *gpu, int32_t pid)
{
	for (size_t i = 0; i < gpu->process_count; i++)
		if (gpu->processes[i].pid == pid)
			return true;
	return false;
}

/* Notes other programs' processes that were not in the previous list. A full list is skipped: it may have been
 * incomplete. */
static void note_processes(struct model *model, const struct record *record)
{
	const struct gpu *gpu = model_gpu(model, record->gpu_processes.gpu);
	if (!gpu || gpu->processes_ns == 0 || gpu->process_count == GPU_PROCESSES_MAX ||
		record->time_ns <= gpu->processes_ns)
		return;
	for (size_t i = 0; record->gpu_processes.rows && i < record->gpu_processes.count; i++) {
		const struct gpu_process_row *row = &record->gpu_processes.rows[i];
		if (row->pid > 0 && !is_of_tree(model, row->pid) && !was_on(gpu, row->pid))
			note_moment(model, WINDOW_GPU_SHARED, gpu->instance, gpu->processes_ns, bounded_time(record->time_ns),
				row->pid, row->busy_ratio, row->command);
	}
}

static void note_loss(struct model *model, const struct record *record)
{
	const struct gpu *gpu = record->gpu ? model_gpu(model, record->gpu->instance) : NULL;
	if (gpu && !gpu->lost[0] && record->gpu->lost && record->gpu->lost[0])
		note_moment(model, WINDOW_GPU_LOST, gpu->instance, gpu->seen_ns, bounded_time(record->time_ns), 0, NAN,
			record->gpu->lost);
}

void model_note_gpu(struct model *model, const struct record *record)
{
	int64_t time_ns = bounded_time(record->time_ns);
	if (record->kind == RECORD_GPU_PROCESSES)
		note_processes(model, record);
	else if (record->kind == RECORD_GPU)
		note_loss(model, record);
	else
		note_moment(model, WINDOW_GPU_REPORTED, record->gpu_event.gpu, time_ns, time_ns, 0, record->gpu_event.code,
			record->gpu_event.text);
}

/* -- windows -- */

bool batch_window_is_on(const struct model *model, const struct run *run, int32_t gpu)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t count = run_gpus(model, run, gpus);
	for (size_t i = 0; i < count; i++)
		if (gpus[i]->instance == gpu || gpus[i]->parent == gpu)
			return true;
	/* A lost GPU has no list of processes any more. */
	const struct gpu *lost = model_gpu(model, gpu);
	return lost && lost->lost[0] && lost->totals.was_ours;
}

static uint32_t main_reason(uint32_t throttled)
{
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (throttled >> reasons[i] & 1)
			return UINT32_C(1) << reasons[i];
	return 0;
}

void batch_window_name_gpu(const struct model *model, int32_t instance, char out[WINDOW_GPU_SIZE])
{
	const struct gpu *gpu = instance >= 0 ? model_gpu(model, instance) : NULL;
	char label[WINDOW_GPU_SIZE];
	put_text(out, WINDOW_GPU_SIZE,
		!gpu                         ? ""
			: model->gpus.count == 1 ? "GPU"
									 : gpu_label(model, gpu, label, sizeof label));
}

static struct window_event *add_fall(struct candidates *candidates, enum window_event_kind kind,
	const struct batch_window *out, const struct clock_fall *fall)
{
	char words[WINDOW_TEXT_SIZE] = "";
	uint32_t reason = kind == WINDOW_GPU_SLOWED ? main_reason(fall->throttled) : 0;
	gpu_throttle_words(reason, words, sizeof words);
	struct window_event *event = batch_window_add(candidates, kind, 0, out->from_ns, fall->clock_hz, words);
	if (!event)
		return NULL;
	event->throttled = reason;
	event->baseline = fall->baseline_hz;
	event->part_ratio = fall->part_ratio;
	event->busy_ratio = fall->baseline_busy_ratio;
	return event;
}

/* A part of a GPU (MIG) has the clock of the GPU. */
static const struct clock_history *clock_history_of(const struct model *model, const struct gpu *gpu)
{
	const struct clock_history *history = find_clock_history(model, gpu->instance);
	return history || gpu->parent < 0 ? history : find_clock_history(model, gpu->parent);
}

/* Of several GPUs, reports the one with the largest drop: the others wait for it. */
void batch_window_add_clocks(
	const struct model *model, const struct run *run, const struct batch_window *out, struct candidates *candidates)
{
	const struct gpu *gpus[GPUS_MAX], *slowest = NULL;
	size_t count = run_gpus(model, run, gpus);
	struct clock_fall fall, farthest = { .part_ratio = 0 };
	for (size_t i = 0; i < count; i++) {
		const struct clock_history *history = clock_history_of(model, gpus[i]);
		if (!history || !clock_history_fall(history, out->from_ns, out->to_ns, &fall))
			continue;
		if (slowest &&
			(1 - fall.clock_hz / fall.baseline_hz) * fall.part_ratio <=
				(1 - farthest.clock_hz / farthest.baseline_hz) * farthest.part_ratio)
			continue;
		slowest = gpus[i];
		farthest = fall;
	}
	struct window_event *event = slowest ? add_fall(candidates, WINDOW_GPU_SLOWED, out, &farthest) : NULL;
	if (event)
		batch_window_name_gpu(model, slowest->instance, event->gpu);
	const struct clock_history *cpus = find_clock_history(model, CPUS);
	if (cpus && clock_history_fall(cpus, out->from_ns, out->to_ns, &fall))
		add_fall(candidates, WINDOW_CPU_SLOWED, out, &fall);
}

double gpu_throttled_ratio(const struct model *model, int32_t instance, uint32_t bits, double seconds, double *clock_hz)
{
	const struct gpu *gpu = model_gpu(model, instance);
	const struct clock_history *history = gpu ? clock_history_of(model, gpu) : NULL;
	if (clock_hz)
		*clock_hz = NAN;
	return history ? clock_history_throttled_ratio(
						 history, bits, model->now_ns - (int64_t)(seconds * 1e9), model->now_ns, clock_hz)
				   : NAN;
}
