#include "src/model/gpus/gpus.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/gpus/gpus_memory.h"
#include "src/model/gpus/gpus_private.h"
#include "src/model/gpus/gpus_runs.h"
#include "src/model/gpus/gpus_totals.h"
#include "src/model/gpus/gpus_words.h"

#define STALE_NS (15 * NS_PER_S)
enum { STALE_INTERVALS = 4 };
/* Driver calls come in bursts, because expensive ones are made every few seconds: their time per second is averaged
 * over windows of this length. */
#define READING_WINDOW_NS (30 * NS_PER_S)

/* -- init and free -- */

void model_init_gpus(struct model *model) { model->priv->gpus = NULL; }

static void free_gpu(struct gpu *gpu, struct gpu_past *past)
{
#define FREE_SERIES(name) series_free(gpu->series.name);
	GPU_SERIES(FREE_SERIES)
#undef FREE_SERIES
	free(past->trend);
}

void model_free_gpus(struct model *model)
{
	struct gpus *gpus = &model->gpus;
	for (size_t i = 0; i < gpus->count && model->priv->gpus; i++)
		free_gpu(&gpus->gpus[i], &model->priv->gpus->pasts[i]);
	free(gpus->gpus);
	free(model->priv->gpus);
}

/* Allocates room for all GPUs with the first one: untouched pages take no memory. */
static bool make_room(struct model *model)
{
	if (model->priv->gpus)
		return true;
	struct gpus_past *past = calloc(1, sizeof *past);
	struct gpu *gpus = calloc(GPUS_MAX, sizeof *gpus);
	if (!past || !gpus) {
		free(past);
		free(gpus);
		return false;
	}
	model->priv->gpus = past;
	model->gpus.gpus = gpus;
	return true;
}

/* -- stale figures -- */

static void forget_figure(struct gpu *gpu, struct gpu_past *past, size_t at)
{
	gpu->now[at] = gpu->per_s[at] = NAN;
	past->figures[at].is_forgotten = true;
}

static void forget_processes(struct gpu *gpu, struct gpu_past *past)
{
	gpu->process_count = 0;
	gpu->processes_ns = 0;
	past->processes.is_forgotten = true;
	past->has_new_processes = true;
}

static void derive(struct gpu *gpu)
{
	double power = gpu_now(gpu, METRIC_GPU_POWER), bits = gpu_now(gpu, METRIC_GPU_THROTTLE);
	gpu->power_w = isnan(power) ? gpu_rate(gpu, METRIC_GPU_ENERGY) : power;
	gpu->throttle = bits >= 0 && bits <= UINT32_MAX ? (unsigned)bits & ((1u << GPU_THROTTLE_COUNT) - 1) : 0;
	gpu->throttled_power_ratio = gpu_rate(gpu, METRIC_GPU_THROTTLED_POWER) * 1e-9;
	gpu->throttled_thermal_ratio = gpu_rate(gpu, METRIC_GPU_THROTTLED_THERMAL) * 1e-9;
	if (gpu->throttled_power_ratio > 1)
		gpu->throttled_power_ratio = 1;
	if (gpu->throttled_thermal_ratio > 1)
		gpu->throttled_thermal_ratio = 1;
}

static void forget_all(struct gpu *gpu, struct gpu_past *past)
{
	for (size_t i = 0; i < GPU_METRICS; i++)
		forget_figure(gpu, past, i);
	if (gpu->processes_ns)
		forget_processes(gpu, past);
	derive(gpu);
}

/* Reported once: valid as long as the GPU reports anything. */
static bool is_fixed(enum metric metric)
{
	switch (metric) {
	case METRIC_GPU_MEMORY:
	case METRIC_GPU_MEMORY_RESERVED:
	case METRIC_GPU_POWER_LIMIT:
	case METRIC_GPU_TEMPERATURE_LIMIT:
	case METRIC_GPU_CLOCK_MAX:
	case METRIC_GPU_CLOCK_MEMORY_MAX:
	case METRIC_GPU_PCIE_GENERATION_MAX:
	case METRIC_GPU_PCIE_WIDTH_MAX: return true;
	default: return false;
	}
}

static bool is_stale(const struct gpu_figure_past *past, int64_t now_ns)
{
	int64_t age_ns = now_ns - past->time_ns;
	return past->time_ns && !past->is_forgotten && age_ns > STALE_NS && age_ns / STALE_INTERVALS > past->interval_ns;
}

/* Returns the seconds since the previous reading; NAN = none. */
static double note_reading(struct gpu_figure_past *past, int64_t time_ns)
{
	double seconds = past->time_ns && !past->is_forgotten ? seconds_between(past->time_ns, time_ns) : NAN;
	past->interval_ns = past->time_ns ? time_ns - past->time_ns : 0;
	past->time_ns = time_ns;
	past->is_forgotten = false;
	return seconds;
}

static void note_any(struct gpu *gpu, struct gpu_past *past, int64_t time_ns)
{
	if (time_ns > past->any.time_ns)
		note_reading(&past->any, time_ns);
	gpu->seen_ns = past->any.time_ns;
}

static void forget_stale(struct gpu *gpu, struct gpu_past *past, int64_t now_ns)
{
	if (is_stale(&past->any, now_ns)) {
		forget_all(gpu, past);
		past->any.is_forgotten = true;
		gpu->seen_ns = 0;
		return;
	}
	bool has_forgotten = false;
	for (size_t i = 0; i < GPU_METRICS; i++) {
		if (is_fixed((enum metric)(METRIC_GPU_FIRST + i)) || !is_stale(&past->figures[i], now_ns))
			continue;
		forget_figure(gpu, past, i);
		has_forgotten = true;
	}
	if (is_stale(&past->processes, now_ns))
		forget_processes(gpu, past);
	if (has_forgotten)
		derive(gpu);
}

/* -- GPUs -- */

static int find_gpu(const struct model *model, int32_t instance)
{
	for (size_t i = 0; i < model->gpus.count; i++)
		if (model->gpus.gpus[i].instance == instance)
			return (int)i;
	return -1;
}

/* Sorts by the GPU's instance; parts follow their GPU. */
static bool is_before(const struct gpu_row *row, const struct gpu *gpu)
{
	int32_t of_row = row->parent >= 0 ? row->parent : row->instance,
			of_gpu = gpu->parent >= 0 ? gpu->parent : gpu->instance;
	if (of_row != of_gpu)
		return of_row < of_gpu;
	if ((row->parent >= 0) != (gpu->parent >= 0))
		return row->parent < 0;
	return row->instance < gpu->instance;
}

static int add_gpu(struct model *model, const struct gpu_row *row)
{
	struct gpus *gpus = &model->gpus;
	if (!make_room(model) || gpus->count == GPUS_MAX)
		return -1;
	struct gpu_past *pasts = model->priv->gpus->pasts;
	size_t at = 0, after;
	while (at < gpus->count && !is_before(row, &gpus->gpus[at]))
		at++;
	after = gpus->count++ - at;
	memmove(&gpus->gpus[at + 1], &gpus->gpus[at], after * sizeof *gpus->gpus);
	memmove(&pasts[at + 1], &pasts[at], after * sizeof *pasts);
	struct gpu *gpu = &gpus->gpus[at];
	*gpu = (struct gpu){ .instance = row->instance };
	pasts[at] = (struct gpu_past){ .has_new_processes = true };
#define NEW_SERIES(name) gpu->series.name = series_new();
	GPU_SERIES(NEW_SERIES)
#undef NEW_SERIES
	gpu->run_memory_bytes = gpu->run_busy_ratio = gpu->others_memory_bytes = NAN;
	forget_all(gpu, &pasts[at]);
	gpu_forget_totals(gpu, &pasts[at]);
	gpu_forget_memory(gpu);
	return (int)at;
}

static void put(char *out, size_t size, const char *text) { put_text(out, size, text ? text : ""); }

/* The instance belongs to another device now: a part that was recreated. */
static void replace(struct gpu *gpu, struct gpu_past *past)
{
	forget_all(gpu, past);
	gpu_forget_totals(gpu, past);
	gpu_forget_memory(gpu);
	if (past->trend)
		past->trend->count = 0;
}

void model_take_gpu(struct model *model, const struct record *record)
{
	const struct gpu_row *row = record->gpu;
	int at = row ? find_gpu(model, row->instance) : -1;
	if (!row || row->instance < 0 || (at < 0 && (at = add_gpu(model, row)) < 0))
		return;
	struct gpu *gpu = &model->gpus.gpus[at];
	struct gpu_past *past = &model->priv->gpus->pasts[at];
	char before[sizeof gpu->uuid];
	memcpy(before, gpu->uuid, sizeof before);
	gpu->parent = row->parent >= 0 && row->parent != row->instance ? row->parent : -1;
	gpu->index = row->index;
	put(gpu->vendor, sizeof gpu->vendor, row->vendor);
	put(gpu->name, sizeof gpu->name, row->name);
	put(gpu->uuid, sizeof gpu->uuid, row->uuid);
	put(gpu->pci, sizeof gpu->pci, row->pci);
	put(gpu->driver, sizeof gpu->driver, row->driver);
	put(gpu->lost, sizeof gpu->lost, row->lost);
	if (before[0] && strcmp(before, gpu->uuid) != 0)
		replace(gpu, past);
	if (gpu->lost[0])
		forget_all(gpu, past);
	model->priv->gpus->has_new_processes = true;
}

const struct gpu *model_gpu(const struct model *model, int32_t instance)
{
	int at = find_gpu(model, instance);
	return at < 0 ? NULL : &model->gpus.gpus[at];
}

/* -- figures -- */

static void push_gauge(struct gpu *gpu, enum metric metric, int64_t time_ns, double value)
{
	switch (metric) {
	case METRIC_GPU_BUSY: series_push(gpu->series.busy_ratio, time_ns, value); break;
	case METRIC_GPU_SM_ACTIVE: series_push(gpu->series.sm_active_ratio, time_ns, value); break;
	case METRIC_GPU_MEMORY_USED: series_push(gpu->series.memory_used_bytes, time_ns, value); break;
	case METRIC_GPU_POWER: series_push(gpu->series.power_w, time_ns, value); break;
	case METRIC_GPU_TEMPERATURE: series_push(gpu->series.temperature_c, time_ns, value); break;
	case METRIC_GPU_CLOCK: series_push(gpu->series.clock_hz, time_ns, value); break;
	case METRIC_GPU_THROTTLE:
		series_push(gpu->series.throttled, time_ns, gpu_is_throttled(gpu->throttle));
		series_push(gpu->series.throttled_heat, time_ns,
			(gpu->throttle & (GPU_THROTTLED_BY_HEAT | GPU_THROTTLED_BY_HARDWARE)) != 0);
		break;
	default: break;
	}
}

static void push_counter(struct gpu *gpu, struct gpu_past *past, enum metric metric, int64_t time_ns, double seconds)
{
	const struct gpu_figure_past *received = &past->figures[METRIC_GPU_PCIE_RECEIVED - METRIC_GPU_FIRST];
	const struct gpu_figure_past *sent = &past->figures[METRIC_GPU_PCIE_SENT - METRIC_GPU_FIRST];
	double watts = gpu_rate(gpu, METRIC_GPU_ENERGY),
		   bytes = gpu_rate(gpu, METRIC_GPU_PCIE_RECEIVED) + gpu_rate(gpu, METRIC_GPU_PCIE_SENT);
	if (metric == METRIC_GPU_ENERGY && isnan(gpu_now(gpu, METRIC_GPU_POWER)) && !isnan(watts)) {
		series_push(gpu->series.power_w, time_ns, watts);
		gpu_count_gauge(gpu, past, METRIC_GPU_POWER, watts, seconds);
	}
	if ((metric == METRIC_GPU_PCIE_RECEIVED || metric == METRIC_GPU_PCIE_SENT) && received->time_ns == sent->time_ns &&
		!isnan(bytes))
		series_push(gpu->series.pcie_bytes_per_s, time_ns, bytes);
}

/* The first window counts while it is incomplete. */
static double reading_rate(struct gpu_past *past, double value, double growth, double rate, int64_t time_ns)
{
	if (isnan(growth) || past->reading_from_ns == 0) {
		past->has_reading_window = false;
		past->reading_from_ns = time_ns;
		past->reading_from = value;
		return NAN;
	}
	bool is_whole = time_ns - past->reading_from_ns >= READING_WINDOW_NS;
	if (past->has_reading_window && !is_whole)
		return rate;
	rate = (value - past->reading_from) / seconds_between(past->reading_from_ns, time_ns);
	if (is_whole) {
		past->has_reading_window = true;
		past->reading_from_ns = time_ns;
		past->reading_from = value;
	}
	return rate;
}

/* A counter that decreases was reset or has wrapped: its growth is unknown. */
static void take_counter(
	struct gpu *gpu, struct gpu_past *past, const struct record *record, int64_t time_ns, double seconds)
{
	enum metric metric = record->figure.metric;
	double value = record->figure.value;
	size_t at = metric - METRIC_GPU_FIRST;
	double growth = !isnan(seconds) && value >= gpu->now[at] ? value - gpu->now[at] : NAN;
	gpu->per_s[at] =
		metric == METRIC_GPU_READING ? reading_rate(past, value, growth, gpu->per_s[at], time_ns) : growth / seconds;
	if (!isnan(growth))
		gpu_count_growth(gpu, metric, growth);
}

bool model_take_gpu_figure(struct model *model, const struct record *record)
{
	enum metric metric = record->figure.metric;
	if (metric < METRIC_GPU_FIRST || metric > METRIC_GPU_LAST)
		return false;
	int found = find_gpu(model, record->figure.instance);
	double value = record->figure.value;
	bool is_counter = metric_table[metric].kind == KIND_COUNTER,
		 is_absurd = metric_table[metric].unit == UNIT_RATIO && value > 1;
	if (found < 0 || is_absurd)
		return true;
	struct gpu *gpu = &model->gpus.gpus[found];
	struct gpu_past *past = &model->priv->gpus->pasts[found];
	size_t at = metric - METRIC_GPU_FIRST;
	struct gpu_figure_past *before = &past->figures[at];
	int64_t time_ns = bounded_time(record->time_ns);
	if (time_ns <= before->time_ns)
		return true;
	double seconds = note_reading(before, time_ns);
	if (is_counter)
		take_counter(gpu, past, record, time_ns, seconds);
	gpu->now[at] = value;
	note_any(gpu, past, time_ns);
	derive(gpu);
	if (is_counter) {
		push_counter(gpu, past, metric, time_ns, seconds);
	} else {
		push_gauge(gpu, metric, time_ns, value);
		gpu_count_gauge(gpu, past, metric, value, seconds);
	}
	return true;
}

double gpu_now(const struct gpu *gpu, enum metric metric) { return gpu->now[metric - METRIC_GPU_FIRST]; }

double gpu_rate(const struct gpu *gpu, enum metric metric) { return gpu->per_s[metric - METRIC_GPU_FIRST]; }

/* -- processes and happenings -- */

static double known_bytes(double bytes) { return isfinite(bytes) && bytes >= 0 ? bytes : NAN; }

static double known_ratio(double ratio) { return ratio >= 0 && ratio <= 1 ? ratio : NAN; }

/* The run's first, then by descending memory, so that a full list drops the smallest. */
static bool is_more(const struct gpu_process *a, const struct gpu_process *b)
{
	if (a->is_ours != b->is_ours)
		return a->is_ours;
	if (isnan(a->memory_bytes) || isnan(b->memory_bytes))
		return !isnan(a->memory_bytes) && isnan(b->memory_bytes);
	return a->memory_bytes > b->memory_bytes;
}

static void add_process(struct gpu *gpu, const struct gpu_process *process)
{
	size_t at = 0;
	while (at < gpu->process_count && !is_more(process, &gpu->processes[at]))
		at++;
	if (at == GPU_PROCESSES_MAX)
		return;
	gpu->process_count += gpu->process_count < GPU_PROCESSES_MAX;
	memmove(&gpu->processes[at + 1], &gpu->processes[at], (gpu->process_count - at - 1) * sizeof *gpu->processes);
	gpu->processes[at] = *process;
}

void model_take_gpu_processes(struct model *model, const struct record *record)
{
	int found = find_gpu(model, record->gpu_processes.gpu);
	int64_t time_ns = bounded_time(record->time_ns);
	if (found < 0)
		return;
	struct gpu *gpu = &model->gpus.gpus[found];
	struct gpu_past *past = &model->priv->gpus->pasts[found];
	if (time_ns <= past->processes.time_ns)
		return;
	note_reading(&past->processes, time_ns);
	note_any(gpu, past, time_ns);
	gpu->processes_ns = time_ns;
	past->has_new_processes = model->priv->gpus->has_new_processes = true;
	gpu->process_count = 0;
	for (size_t i = 0; record->gpu_processes.rows && i < record->gpu_processes.count; i++) {
		const struct gpu_process_row *row = &record->gpu_processes.rows[i];
		struct gpu_process process = { .pid = row->pid,
			.kind = row->kind,
			.memory_bytes = known_bytes(row->memory_bytes),
			.busy_ratio = known_ratio(row->busy_ratio),
			.is_ours = gpu_process_is_ours(model, row->pid, time_ns) };
		put(process.command, sizeof process.command, row->command);
		if (row->pid > 0)
			add_process(gpu, &process);
	}
}

void model_take_gpu_event(struct model *model, const struct record *record)
{
	struct gpus *gpus = &model->gpus;
	struct gpu_happening *happening = &gpus->happenings[gpus->happening_count++ % GPU_EVENTS_RETAINED];
	*happening =
		(struct gpu_happening){ bounded_time(record->time_ns), record->gpu_event.gpu, record->gpu_event.code, "" };
	put(happening->text, sizeof happening->text, record->gpu_event.text);
}

/* -- after a set -- */

void model_refresh_gpus(struct model *model)
{
	struct gpus_past *past = model->priv->gpus;
	if (!past)
		return;
	bool is_due = !past->renewed_ns || model->now_ns >= past->renewed_ns + NS_PER_S;
	for (size_t i = 0; is_due && i < model->gpus.count; i++)
		forget_stale(&model->gpus.gpus[i], &past->pasts[i], model->now_ns);
	if (!is_due && !past->has_new_processes && past->tree_version == model->priv->tree_version)
		return;
	gpus_find_ours(model);
	past->has_new_processes = false;
	past->tree_version = model->priv->tree_version;
	if (!is_due)
		return;
	past->renewed_ns = model->now_ns;
	gpus_judge_memory(model);
}
