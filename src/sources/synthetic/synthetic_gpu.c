#include "src/sources/synthetic/synthetic_gpu.h"

#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/synthetic/synthetic_private.h"

/* Periods as in src/sources/gpu: of cheap figures, of activity (from two samples), and of processes. */
#define CHEAP_NS (190 * NS_PER_MS)
#define ACTIVITY_NS (990 * NS_PER_MS)
#define PROCESSES_NS (1990 * NS_PER_MS)
#define MEMORY_BYTES 85.52e9
#define DRIVER_BYTES 0.55e9
#define CONTEXT_BYTES 0.52e9 /* of a process, before it allocates anything */
#define RESERVED_BYTES 38.4e9
#define NOTEBOOK_BYTES 0.61e9
#define SECOND_BYTES 16.2e9 /* of the run on the second GPU, which holds the last layers */
#define NEIGHBOUR_BYTES 21.7e9
#define CLOCK_HZ 1980e6
#define LIMIT_W 700
#define COOLS_IN_S 20 /* thermal time constant; the emitted power is a mean of about a second */

enum {
	NOTEBOOK_PID = SYNTHETIC_PID + 2000000,
	NEIGHBOUR_PID,
	THE_FIRST = 0,
	THE_LAST = SYNTHETIC_GPUS - 1,
	XID_FALLEN = 79,
	XID_CONTAINED = 94
};

/* Values while a GPU idles and for each kind of work; shares and watts are means over time, counters grow by so much
 * a second. */
struct work_rate {
	enum metric metric;
	double idle, by_work[WORK_COUNT];
};
enum { BUSY_ROW, WATTS_ROW };
static const struct work_rate cheap_rates[] = {
	[BUSY_ROW] = { METRIC_GPU_BUSY, 0, { 0, 1, 1, 1 } },
	[WATTS_ROW] = { METRIC_GPU_POWER, 118, { 135, 560, 640, 470 } },
	{ METRIC_GPU_MEMORY_BUSY, 0, { 0.04, 0.42, 0.55, 0.8 } },
};
static const struct work_rate activity_rates[] = {
	{ METRIC_GPU_SM_ACTIVE, 0, { 0, 0.78, 0.84, 0.55 } },
	{ METRIC_GPU_SM_OCCUPANCY, 0, { 0, 0.33, 0.38, 0.42 } },
	{ METRIC_GPU_TENSOR_ACTIVE, 0, { 0, 0.44, 0.5, 0.02 } },
	{ METRIC_GPU_DRAM_ACTIVE, 0, { 0.02, 0.38, 0.46, 0.83 } },
};
static const struct work_rate counter_rates[] = {
	{ METRIC_GPU_PCIE_RECEIVED, 4e5, { 8e8, 2e6, 2e6, 1e6 } },
	{ METRIC_GPU_PCIE_SENT, 3e5, { 2e6, 1e6, 1e6, 4e6 } },
	{ METRIC_GPU_NVLINK_RECEIVED, 0, { 0, 0, 6.2e10, 0 } },
	{ METRIC_GPU_NVLINK_SENT, 0, { 0, 0, 6.2e10, 0 } },
};

static bool is_meant(const struct synthetic *synthetic, int gpu)
{
	unsigned which = synthetic->scenario->node.which;
	return !which || (which >> gpu & 1);
}

/* -- work so far -- */

static double watts_of(const struct synthetic *synthetic, int gpu, double baseline_w, bool is_throttled)
{
	const struct scenario_node *node = &synthetic->scenario->node;
	double watts = baseline_w, idle_w = cheap_rates[WATTS_ROW].idle;
	if (node->fill_ratio > 0)
		watts = idle_w + (watts - idle_w) * (0.2 + 0.8 * node->fill_ratio);
	if (is_throttled && is_meant(synthetic, gpu))
		watts = idle_w + (watts - idle_w) * node->clock_ratio;
	return is_throttled && node->limit_w > 0 ? fmin(watts, 0.99 * node->limit_w) : watts;
}

static bool has_neighbour(const struct synthetic *synthetic)
{
	uint64_t at = synthetic->scenario->node.neighbour_at;
	return at && synthetic->batch > at;
}

/* Adds the work since the current batch began to `sums`. */
static void add_batch(const struct synthetic *synthetic, int64_t now_ns, struct synthetic_sums *sums)
{
	const struct synthetic_node *node = &synthetic->node;
	const struct scenario_node *scenario = &synthetic->scenario->node;
	double idle_s = seconds_between(sums->time_ns, now_ns),
		   busy_ratio = scenario->busy_ratio > 0 ? scenario->busy_ratio : 1;
	const struct work_rate *watts = &cheap_rates[WATTS_ROW];
	sums->throttled_s += node->is_throttled ? idle_s : 0;
	for (unsigned i = 0; i < node->work_count; i++) {
		int64_t end_ns = node->works[i].end_ns < now_ns ? node->works[i].end_ns : now_ns;
		double seconds =
			end_ns > node->works[i].begin_ns ? busy_ratio * seconds_between(node->works[i].begin_ns, end_ns) : 0;
		sums->worked_s[node->works[i].work] += seconds;
		idle_s -= seconds;
		for (int gpu = 0; gpu < SYNTHETIC_GPUS; gpu++)
			sums->joules[gpu] +=
				seconds * watts_of(synthetic, gpu, watts->by_work[node->works[i].work], node->is_throttled);
	}
	for (int gpu = 0; gpu < SYNTHETIC_GPUS; gpu++)
		sums->joules[gpu] += fmax(idle_s, 0) *
			(gpu == THE_LAST && has_neighbour(synthetic) ? watts->by_work[WORK_OPTIMIZER] : watts->idle);
	sums->time_ns = now_ns;
}

void synthetic_gpu_begin_batch(struct synthetic *synthetic, bool is_throttled)
{
	add_batch(synthetic, synthetic->written_ns, &synthetic->node.before);
	synthetic->node.is_throttled = is_throttled;
	synthetic->node.work_count = 0;
}

void synthetic_gpu_work(struct synthetic *synthetic, enum synthetic_work work, int64_t begin_ns, int64_t end_ns)
{
	struct synthetic_node *node = &synthetic->node;
	if (node->work_count == SYNTHETIC_WORK_MAX || end_ns <= begin_ns)
		return;
	node->works[node->work_count].work = work;
	node->works[node->work_count].begin_ns = begin_ns;
	node->works[node->work_count++].end_ns = end_ns;
}

static struct synthetic_sums sums_at(const struct synthetic *synthetic, int64_t now_ns)
{
	struct synthetic_sums sums = synthetic->node.before;
	add_batch(synthetic, now_ns, &sums);
	return sums;
}

/* The mean between two moments. */
static double total_of(const struct work_rate *rate, const struct synthetic_sums *from, const struct synthetic_sums *to)
{
	double idle_s = seconds_between(from->time_ns, to->time_ns), sum = 0;
	for (int work = 0; work < WORK_COUNT; work++) {
		double seconds = to->worked_s[work] - from->worked_s[work];
		sum += rate->by_work[work] * seconds;
		idle_s -= seconds;
	}
	return sum + rate->idle * fmax(idle_s, 0);
}

static double mean_of(const struct work_rate *rate, const struct synthetic_sums *from, const struct synthetic_sums *to)
{
	return total_of(rate, from, to) / seconds_between(from->time_ns, to->time_ns);
}

/* Limits a share that rounding may have raised above 1. */
static double share_of(const struct work_rate *rate, const struct synthetic_sums *from, const struct synthetic_sums *to)
{
	return fmin(mean_of(rate, from, to), 1);
}

/* The second GPU has slightly lower values. */
static double of_gpu(int gpu, double value) { return value * (1 - 0.015 * gpu); }

/* -- memory -- */

static double base_bytes(const struct synthetic *synthetic)
{
	const struct scenario_node *node = &synthetic->scenario->node;
	return (node->reserved_bytes > 0 ? node->reserved_bytes : RESERVED_BYTES) +
		node->retained_bytes * (double)synthetic->batch;
}

double synthetic_gpu_reserved(const struct synthetic *synthetic)
{
	return base_bytes(synthetic) + synthetic->scenario->node.cached_bytes * (1 - exp(-(double)synthetic->batch / 300));
}

double synthetic_gpu_allocated(const struct synthetic *synthetic)
{
	return base_bytes(synthetic) - 4.1e9 + 3e7 * (double)(synthetic->batch % 7);
}

double synthetic_gpu_peak(const struct synthetic *synthetic) { return base_bytes(synthetic) - 3.7e9; }

static double process_bytes(const struct synthetic *synthetic, int gpu)
{
	return gpu != THE_FIRST
		? SECOND_BYTES
		: fmin(synthetic_gpu_reserved(synthetic) + CONTEXT_BYTES, MEMORY_BYTES - DRIVER_BYTES - NOTEBOOK_BYTES);
}

/* -- descriptions -- */

static bool is_lost(const struct synthetic *synthetic, int gpu) { return synthetic->node.is_lost && gpu == THE_LAST; }

static void emit_gpu(const struct synthetic *synthetic, int64_t now_ns, int gpu, struct sample_set *out)
{
	static const char *const uuids[SYNTHETIC_GPUS] = { "GPU-00000000-0000-0000-0000-000000000000",
		"GPU-00000000-0000-0000-0000-000000000001" };
	static const char *const addresses[SYNTHETIC_GPUS] = { "0000:17:00.0", "0000:2a:00.0" };
	struct record *record = sample_set_add(out, RECORD_GPU, 0, now_ns);
	struct gpu_row *row = sample_set_allocate(out, sizeof *row);
	if (!record || !row)
		return;
	*row = (struct gpu_row){
		.instance = gpu,
		.parent = -1,
		.index = (uint32_t)gpu,
		.vendor = "NVIDIA",
		.name = "H100 80GB HBM3",
		.uuid = uuids[gpu],
		.pci = addresses[gpu],
		.driver = "synthetic",
		.lost = is_lost(synthetic, gpu) ? "it has fallen off the bus (XID 79)" : NULL,
	};
	record->gpu = row;
}

static void emit_processes(
	const struct synthetic *synthetic, int64_t now_ns, int gpu, double busy_ratio, struct sample_set *out)
{
	bool has_company = gpu == THE_FIRST || has_neighbour(synthetic);
	struct record *record = sample_set_add(out, RECORD_GPU_PROCESSES, 0, now_ns);
	struct gpu_process_row *rows = sample_set_allocate(out, 2 * sizeof *rows);
	if (!record || !rows)
		return;
	rows[0] =
		(struct gpu_process_row){ SYNTHETIC_PID, GPU_PROCESS_COMPUTE, "", process_bytes(synthetic, gpu), busy_ratio };
	rows[1] = gpu == THE_FIRST
		? (struct gpu_process_row){ NOTEBOOK_PID, GPU_PROCESS_COMPUTE, "synthetic notebook", NOTEBOOK_BYTES, 0 }
		: (struct gpu_process_row){ NEIGHBOUR_PID, GPU_PROCESS_COMPUTE, "synthetic neighbour", NEIGHBOUR_BYTES, 0.46 };
	record->gpu_processes.gpu = gpu;
	record->gpu_processes.rows = rows;
	record->gpu_processes.count = has_company ? 2 : 1;
}

static void emit_all_processes(
	const struct synthetic *synthetic, int64_t now_ns, const struct synthetic_sums *sums, struct sample_set *out)
{
	const struct synthetic_sums *from = &synthetic->node.processes;
	for (int gpu = 0; gpu < SYNTHETIC_GPUS && !synthetic->scenario->node.hides_processes; gpu++)
		if (!is_lost(synthetic, gpu))
			emit_processes(synthetic, now_ns, gpu,
				from->time_ns && from->time_ns < now_ns ? of_gpu(gpu, share_of(&cheap_rates[BUSY_ROW], from, sums))
														: NAN,
				out);
}

void synthetic_describe_gpus(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	struct synthetic_sums now = sums_at(synthetic, now_ns);
	struct record *record = sample_set_add(out, RECORD_PROCESS_PLACE, 0, now_ns);
	if (!record)
		return;
	record->placement.pid = SYNTHETIC_PID;
	record->placement.local_rank = -1;
	record->placement.visible_devices = "0,1";
	for (int gpu = 0; gpu < SYNTHETIC_GPUS && !synthetic->scenario->node.is_bare; gpu++)
		emit_gpu(synthetic, now_ns, gpu, out);
	if (synthetic->scenario->node.is_bare)
		sample_set_missing(out, now_ns, "gpu", "the synthetic machine has none", NULL);
	else if (synthetic->scenario->node.hides_processes)
		sample_set_missing(out, now_ns, "GPU processes",
			"the driver reports pids of another namespace: users are inferred from the environment",
			"run the container with --pid=host");
	else
		emit_all_processes(synthetic, now_ns, &now, out);
}

/* -- figures -- */

static void emit_event(struct sample_set *out, int64_t now_ns, int gpu, uint32_t code, const char *text)
{
	struct record *record = sample_set_add(out, RECORD_GPU_EVENT, 0, now_ns);
	if (!record)
		return;
	record->gpu_event.gpu = gpu;
	record->gpu_event.code = code;
	record->gpu_event.text = text;
}

static void emit_happenings(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	const struct scenario_node *scenario = &synthetic->scenario->node;
	struct synthetic_node *node = &synthetic->node;
	if (scenario->lost_at && synthetic->batch > scenario->lost_at && !node->is_lost) {
		node->is_lost = true;
		emit_event(out, now_ns, THE_LAST, XID_FALLEN, "it has fallen off the bus (XID 79)");
		emit_gpu(synthetic, now_ns, THE_LAST, out);
	}
	if (scenario->faulty_at && synthetic->batch > scenario->faulty_at && !node->has_faulted) {
		node->has_faulted = true;
		emit_event(out, now_ns, THE_FIRST, XID_CONTAINED, "contained ECC error: one program affected (XID 94)");
	}
}

static void emit_counters(const struct synthetic *synthetic, int64_t now_ns, int gpu, const struct synthetic_sums *sums,
	struct sample_set *out)
{
	struct synthetic_sums none = { .time_ns = synthetic->start_ns };
	const struct scenario_node *scenario = &synthetic->scenario->node;
	double copied_bytes = scenario->copied_bytes_per_s * seconds_between(synthetic->start_ns, now_ns);
	double throttled_ns = is_meant(synthetic, gpu) ? floor(1e9 * sums->throttled_s) : 0;
	bool is_heat = scenario->throttle & GPU_THROTTLED_BY_HEAT,
		 is_power = scenario->throttle & 1u << GPU_THROTTLE_POWER_CAP;
	for (size_t i = 0; i < sizeof counter_rates / sizeof *counter_rates; i++)
		sample_set_figure(out, now_ns, counter_rates[i].metric, gpu,
			floor(total_of(&counter_rates[i], &none, sums) +
				(counter_rates[i].metric == METRIC_GPU_PCIE_RECEIVED ? copied_bytes : 0)));
	sample_set_figure(out, now_ns, METRIC_GPU_ENERGY, gpu, 2.41e6 + of_gpu(gpu, sums->joules[gpu]));
	sample_set_figure(out, now_ns, METRIC_GPU_THROTTLED_THERMAL, gpu, is_heat ? throttled_ns : 0);
	sample_set_figure(out, now_ns, METRIC_GPU_THROTTLED_POWER, gpu, is_power ? throttled_ns : 0);
	sample_set_figure(out, now_ns, METRIC_GPU_PCIE_REPLAYS, gpu, 0);
	sample_set_figure(out, now_ns, METRIC_GPU_ECC_CORRECTED, gpu, 3);
	sample_set_figure(
		out, now_ns, METRIC_GPU_ECC_UNCORRECTED, gpu, gpu == THE_FIRST && synthetic->node.has_faulted ? 1 : 0);
	sample_set_figure(out, now_ns, METRIC_GPU_READING, gpu, 6e5 * synthetic->node.readings);
}

static void emit_levels(const struct synthetic *synthetic, int64_t now_ns, int gpu, struct sample_set *out)
{
	const struct scenario_node *scenario = &synthetic->scenario->node;
	bool is_throttled = synthetic->node.is_throttled && is_meant(synthetic, gpu);
	double others = gpu == THE_FIRST ? NOTEBOOK_BYTES : has_neighbour(synthetic) ? NEIGHBOUR_BYTES : 0;
	const struct {
		enum metric metric;
		double value;
	} levels[] = {
		{ METRIC_GPU_MEMORY, MEMORY_BYTES },
		{ METRIC_GPU_MEMORY_RESERVED, DRIVER_BYTES },
		{ METRIC_GPU_MEMORY_USED, fmin(process_bytes(synthetic, gpu) + others, MEMORY_BYTES - DRIVER_BYTES) },
		{ METRIC_GPU_POWER_LIMIT, is_throttled && scenario->limit_w > 0 ? scenario->limit_w : LIMIT_W },
		{ METRIC_GPU_TEMPERATURE_LIMIT, 87 },
		{ METRIC_GPU_CLOCK, is_throttled ? CLOCK_HZ * scenario->clock_ratio : CLOCK_HZ },
		{ METRIC_GPU_CLOCK_MAX, CLOCK_HZ },
		{ METRIC_GPU_CLOCK_MEMORY, 2619e6 },
		{ METRIC_GPU_CLOCK_MEMORY_MAX, 2619e6 },
		{ METRIC_GPU_THROTTLE, is_throttled ? scenario->throttle : 0 },
		{ METRIC_GPU_PCIE_GENERATION, 5 },
		{ METRIC_GPU_PCIE_GENERATION_MAX, 5 },
		{ METRIC_GPU_PCIE_WIDTH, scenario->pcie_width && is_meant(synthetic, gpu) ? scenario->pcie_width : 16 },
		{ METRIC_GPU_PCIE_WIDTH_MAX, 16 },
	};
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		sample_set_figure(out, now_ns, levels[i].metric, gpu, levels[i].value);
}

static double degrees_for(const struct synthetic *synthetic, int gpu, double watts)
{
	return 34 - 3 * gpu + 0.055 * watts + (is_meant(synthetic, gpu) ? synthetic->scenario->node.hotter_celsius : 0);
}

/* Values that follow the work slowly: temperature and power. */
static void emit_heat(
	struct synthetic *synthetic, int64_t now_ns, int gpu, const struct synthetic_sums *sums, struct sample_set *out)
{
	struct synthetic_node *node = &synthetic->node;
	double passed_s = seconds_between(node->cheap.time_ns, now_ns);
	double watts = of_gpu(gpu, (sums->joules[gpu] - node->cheap.joules[gpu]) / passed_s);
	if (node->power_w[gpu] == 0) {
		node->power_w[gpu] = watts;
		node->celsius[gpu] = degrees_for(synthetic, gpu, watts);
	}
	node->power_w[gpu] += (watts - node->power_w[gpu]) * (1 - exp(-passed_s / 0.5));
	node->celsius[gpu] += (degrees_for(synthetic, gpu, watts) - node->celsius[gpu]) * (1 - exp(-passed_s / COOLS_IN_S));
	sample_set_figure(out, now_ns, METRIC_GPU_POWER, gpu, round(10 * node->power_w[gpu]) / 10);
	sample_set_figure(out, now_ns, METRIC_GPU_TEMPERATURE, gpu, round(node->celsius[gpu]));
	sample_set_figure(out, now_ns, METRIC_GPU_TEMPERATURE_MEMORY, gpu, round(node->celsius[gpu]) + 8);
}

static void emit_busy(const struct synthetic *synthetic, int64_t now_ns, int gpu, const struct synthetic_sums *sums,
	struct sample_set *out)
{
	bool is_full = synthetic->scenario->node.fill_ratio > 0 || (gpu == THE_LAST && has_neighbour(synthetic));
	for (size_t i = 0; i < sizeof cheap_rates / sizeof *cheap_rates; i++)
		if (i != WATTS_ROW)
			sample_set_figure(out, now_ns, cheap_rates[i].metric, gpu,
				i == BUSY_ROW && is_full ? 1 : of_gpu(gpu, share_of(&cheap_rates[i], &synthetic->node.cheap, sums)));
}

static void emit_activity(const struct synthetic *synthetic, int64_t now_ns, int gpu, const struct synthetic_sums *sums,
	struct sample_set *out)
{
	double fill_ratio = synthetic->scenario->node.fill_ratio > 0 ? synthetic->scenario->node.fill_ratio : 1;
	for (size_t i = 0; i < sizeof activity_rates / sizeof *activity_rates; i++) {
		bool stands_still =
			activity_rates[i].metric == METRIC_GPU_TENSOR_ACTIVE && synthetic->scenario->node.has_idle_tensor_cores;
		sample_set_figure(out, now_ns, activity_rates[i].metric, gpu,
			stands_still ? 0 : of_gpu(gpu, fill_ratio * share_of(&activity_rates[i], &synthetic->node.activity, sums)));
	}
}

static bool is_due(const struct synthetic_sums *last, int64_t now_ns, int64_t pace_ns)
{
	return now_ns - last->time_ns >= pace_ns;
}

void synthetic_emit_gpus(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	struct synthetic_node *node = &synthetic->node;
	struct synthetic_sums sums = sums_at(synthetic, now_ns);
	bool is_first = !synthetic->is_introduced;
	if (is_first)
		synthetic_describe_gpus(synthetic, now_ns, out);
	if (is_first)
		node->cheap = node->activity = node->processes = sums;
	if (synthetic->scenario->node.is_bare || (!is_first && !is_due(&node->cheap, now_ns, CHEAP_NS)))
		return;
	node->readings++;
	emit_happenings(synthetic, now_ns, out);
	bool has_activity = is_due(&node->activity, now_ns, ACTIVITY_NS),
		 has_processes = is_due(&node->processes, now_ns, PROCESSES_NS);
	for (int gpu = 0; gpu < SYNTHETIC_GPUS; gpu++) {
		if (is_lost(synthetic, gpu))
			continue;
		emit_levels(synthetic, now_ns, gpu, out);
		emit_counters(synthetic, now_ns, gpu, &sums, out);
		if (is_first)
			continue;
		emit_busy(synthetic, now_ns, gpu, &sums, out);
		emit_heat(synthetic, now_ns, gpu, &sums, out);
		if (has_activity)
			emit_activity(synthetic, now_ns, gpu, &sums, out);
	}
	if (has_processes)
		emit_all_processes(synthetic, now_ns, &sums, out);
	node->cheap = sums;
	if (has_activity)
		node->activity = sums;
	if (has_processes)
		node->processes = sums;
}
