/* The synthetic node: its GPUs, counters and meters agree with the batches, and each of its faults occurs. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/synthetic/synthetic.h"
#include "src/sources/target/target.h"
#include "tests/support/stride.h"
#include "tests/support/suite.h"

#define START_NS (INT64_C(3000) * NS_PER_S)
#define READING_NS (200 * NS_PER_MS)

enum { GPUS = 2, LARGEST_PID = 4194304 };

/* The last value of every figure, and sums over all readings. */
struct seen {
	struct synthetic *synthetic;
	struct sample_set set;
	int64_t now_ns;
	struct gpu_row gpus[GPUS];
	bool has_gpu[GPUS];
	double now[GPUS][METRIC_COUNT], sum[GPUS][METRIC_COUNT], min[GPUS][METRIC_COUNT], max[GPUS][METRIC_COUNT];
	unsigned readings[GPUS][METRIC_COUNT];
	unsigned process_count[GPUS];
	struct gpu_process_row processes[GPUS][4];
	unsigned event_code;
	char missing[64];
	enum perf_role roles[PERF_EVENTS_MAX];
	bool has_event[PERF_EVENTS_MAX];
	double counts[PERF_EVENTS_MAX], counted[PERF_EVENTS_MAX]; /* of the trainer */
	double allocated, reserved;
	uint32_t allocated_name, reserved_name;
	double meters[METRIC_COUNT];
	unsigned placements, named_meters;
};

static void begin(struct seen *seen, const char *which)
{
	struct reason reason;
	*seen = (struct seen){ .now_ns = START_NS };
	for (int gpu = 0; gpu < GPUS; gpu++)
		for (int metric = 0; metric < METRIC_COUNT; metric++)
			seen->now[gpu][metric] = seen->min[gpu][metric] = seen->max[gpu][metric] = NAN;
	ck_assert_int_eq(synthetic_new(which, START_NS, &seen->synthetic, &reason), STATUS_OK);
}

static void end(struct seen *seen)
{
	sample_set_release(&seen->set);
	synthetic_free(seen->synthetic);
}

static void take_figure(struct seen *seen, const struct record *record)
{
	enum metric metric = record->figure.metric;
	double value = record->figure.value;
	if (metric >= METRIC_ENERGY_USED && metric <= METRIC_HEAT_CPU_CLOCK && record->figure.instance == 0)
		seen->meters[metric] = value;
	if (metric < METRIC_GPU_FIRST || metric > METRIC_GPU_LAST)
		return;
	int gpu = record->figure.instance;
	ck_assert(gpu >= 0 && gpu < GPUS && seen->has_gpu[gpu] && !seen->gpus[gpu].lost);
	seen->now[gpu][metric] = value;
	seen->sum[gpu][metric] += value;
	seen->min[gpu][metric] = fmin(seen->min[gpu][metric], value);
	seen->max[gpu][metric] = fmax(seen->max[gpu][metric], value);
	seen->readings[gpu][metric]++;
}

static void take_processes(struct seen *seen, const struct record *record)
{
	int gpu = record->gpu_processes.gpu;
	ck_assert(gpu >= 0 && gpu < GPUS && seen->has_gpu[gpu] && record->gpu_processes.count <= 4);
	seen->process_count[gpu] = (unsigned)record->gpu_processes.count;
	memcpy(seen->processes[gpu], record->gpu_processes.rows,
		record->gpu_processes.count * sizeof *record->gpu_processes.rows);
	for (size_t i = 0; i < record->gpu_processes.count; i++)
		ck_assert_int_gt(record->gpu_processes.rows[i].pid, LARGEST_PID);
}

static void take_perf(struct seen *seen, const struct record *record)
{
	uint32_t event = record->perf_count.event;
	ck_assert(event < PERF_EVENTS_MAX && seen->has_event[event]);
	if (record->perf_count.pid != SYNTHETIC_PID)
		return;
	ck_assert(record->perf_count.value >= seen->counts[event]);
	seen->counts[event] = record->perf_count.value;
	seen->counted[event] = record->perf_count.counted_ratio;
}

static void take(struct seen *seen, const struct record *record)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_FIGURE: take_figure(seen, record); break;
	case RECORD_GPU:
		ck_assert(record->gpu->instance >= 0 && record->gpu->instance < GPUS);
		ck_assert_str_eq(record->gpu->driver, "synthetic");
		seen->gpus[record->gpu->instance] = *record->gpu;
		seen->has_gpu[record->gpu->instance] = true;
		break;
	case RECORD_GPU_PROCESSES: take_processes(seen, record); break;
	case RECORD_GPU_EVENT: seen->event_code = record->gpu_event.code; break;
	case RECORD_PROCESS_PLACE: seen->placements++; break;
	case RECORD_INSTANCE: seen->named_meters += record->instance.metric >= METRIC_ENERGY_USED; break;
	case RECORD_MISSING:
		if (record->missing.text)
			strcat(strncat(seen->missing, record->missing.figure, 30), ";");
		break;
	case RECORD_PERF_EVENT:
		seen->roles[record->perf_event.event] = (enum perf_role)record->perf_event.role;
		seen->has_event[record->perf_event.event] = true;
		break;
	case RECORD_PERF_COUNT: take_perf(seen, record); break;
	case RECORD_NAME:
		if (strcmp(record->name.text, "cuda.allocated_bytes") == 0)
			seen->allocated_name = record->name.id;
		if (strcmp(record->name.text, "cuda.reserved_bytes") == 0)
			seen->reserved_name = record->name.id;
		break;
	case RECORD_GAUGE:
		if (record->gauge.name == seen->allocated_name)
			seen->allocated = record->gauge.value;
		if (record->gauge.name == seen->reserved_name)
			seen->reserved = record->gauge.value;
		break;
	default: break;
	}
}

static void read_once(struct seen *seen)
{
	sample_set_clear(&seen->set);
	synthetic_emit(seen->synthetic, seen->now_ns, &seen->set);
	ck_assert(!seen->set.failed);
	for (size_t i = 0; i < seen->set.count; i++)
		take(seen, &seen->set.records[i]);
	seen->now_ns += READING_NS;
}

static void go_on(struct seen *seen, double seconds)
{
	for (int64_t end_ns = seen->now_ns + llround(seconds * 1e9); seen->now_ns < end_ns;)
		read_once(seen);
}

static double mean(const struct seen *seen, int gpu, enum metric metric)
{
	return seen->sum[gpu][metric] / seen->readings[gpu][metric];
}

static double count(const struct seen *seen, enum perf_role role)
{
	for (int event = 0; event < PERF_EVENTS_MAX; event++)
		if (seen->has_event[event] && seen->roles[event] == role)
			return seen->counts[event];
	return NAN;
}

/* -- what holds of each -- */

START_TEST(every_figure_is_possible)
{
	const char *help, *name = synthetic_scenario((unsigned)_i, &help);
	struct seen seen;
	begin(&seen, name);
	go_on(&seen, 25);
	for (int gpu = 0; gpu < GPUS; gpu++) {
		for (int metric = METRIC_GPU_FIRST; metric <= METRIC_GPU_LAST; metric++) {
			if (!seen.readings[gpu][metric])
				continue;
			ck_assert_msg(
				seen.min[gpu][metric] >= 0, "%s: %s is %g", name, metric_table[metric].name, seen.min[gpu][metric]);
			if (metric_table[metric].unit == UNIT_RATIO)
				ck_assert_msg(
					seen.max[gpu][metric] <= 1, "%s: %s is %g", name, metric_table[metric].name, seen.max[gpu][metric]);
		}
		ck_assert(!(seen.max[gpu][METRIC_GPU_MEMORY_USED] + seen.max[gpu][METRIC_GPU_MEMORY_RESERVED] >
			seen.now[gpu][METRIC_GPU_MEMORY]));
		ck_assert(!(seen.max[gpu][METRIC_GPU_POWER] > 700) && !(seen.min[gpu][METRIC_GPU_POWER] < 60));
		ck_assert(!(seen.max[gpu][METRIC_GPU_TEMPERATURE] > 95) && !(seen.min[gpu][METRIC_GPU_TEMPERATURE] < 30));
		ck_assert(!(seen.max[gpu][METRIC_GPU_CLOCK] > seen.now[gpu][METRIC_GPU_CLOCK_MAX]));
	}
	end(&seen);
}
END_TEST

START_TEST(an_ordinary_run_uses_both_gpus)
{
	struct seen seen;
	begin(&seen, "");
	go_on(&seen, 60);
	for (int gpu = 0; gpu < GPUS; gpu++) {
		ck_assert(mean(&seen, gpu, METRIC_GPU_BUSY) > 0.8 && mean(&seen, gpu, METRIC_GPU_BUSY) < 0.97);
		ck_assert(mean(&seen, gpu, METRIC_GPU_SM_ACTIVE) > 0.55 &&
			mean(&seen, gpu, METRIC_GPU_SM_ACTIVE) < mean(&seen, gpu, METRIC_GPU_BUSY));
		ck_assert(mean(&seen, gpu, METRIC_GPU_TENSOR_ACTIVE) > 0.2);
		ck_assert(mean(&seen, gpu, METRIC_GPU_POWER) > 400);
		ck_assert_double_eq(seen.max[gpu][METRIC_GPU_THROTTLE], 0);
		ck_assert_double_eq(seen.now[gpu][METRIC_GPU_ECC_UNCORRECTED], 0);
		ck_assert_int_eq(seen.processes[gpu][0].pid, SYNTHETIC_PID);
	}
	ck_assert_uint_eq(seen.process_count[0], 2);
	ck_assert_uint_eq(seen.process_count[1], 1);
	ck_assert_uint_ge(seen.placements, 1);
	ck_assert_uint_eq(seen.event_code, 0);
	end(&seen);
}
END_TEST

/* Power is the growth of the energy counter. */
START_TEST(power_and_energy_agree)
{
	struct seen seen;
	begin(&seen, "");
	go_on(&seen, 10);
	double joules = seen.now[0][METRIC_GPU_ENERGY], sum = seen.sum[0][METRIC_GPU_POWER];
	unsigned readings = seen.readings[0][METRIC_GPU_POWER];
	go_on(&seen, 50);
	double watts = (seen.sum[0][METRIC_GPU_POWER] - sum) / (seen.readings[0][METRIC_GPU_POWER] - readings);
	ck_assert_double_eq_tol((seen.now[0][METRIC_GPU_ENERGY] - joules) / 50, watts, 0.01 * watts);
	ck_assert(seen.meters[METRIC_ENERGY_USED] > 0 && seen.meters[METRIC_HEAT_TEMPERATURE] > 30);
	ck_assert_uint_eq(seen.named_meters, 4);
	end(&seen);
}
END_TEST

START_TEST(a_stalled_run_leaves_gpus_idle)
{
	struct seen seen;
	begin(&seen, "hang");
	go_on(&seen, 20);
	for (int gpu = 0; gpu < GPUS; gpu++) {
		ck_assert_double_eq(seen.now[gpu][METRIC_GPU_BUSY], 0);
		ck_assert(seen.now[gpu][METRIC_GPU_POWER] < 130);
		ck_assert(seen.now[gpu][METRIC_GPU_TEMPERATURE] < seen.max[gpu][METRIC_GPU_TEMPERATURE] - 5);
	}
	end(&seen);
}
END_TEST

/* In a batch that waits half a second for data the GPUs are idle and draw less power. */
START_TEST(they_idle_while_a_batch_waits)
{
	struct seen seen;
	begin(&seen, "worker-disk");
	go_on(&seen, 60);
	ck_assert(seen.min[0][METRIC_GPU_BUSY] < 0.1);
	ck_assert(seen.min[0][METRIC_GPU_POWER] < 300);
	ck_assert(seen.max[0][METRIC_GPU_POWER] > 450);
	end(&seen);
}
END_TEST

START_TEST(counters_agree_with_cpu_time)
{
	struct seen seen;
	begin(&seen, "");
	go_on(&seen, 30);
	double seconds = seconds_between(START_NS, seen.now_ns - READING_NS);
	ck_assert_double_eq_tol(count(&seen, PERF_ROLE_TASK_CLOCK) / 1e9, 0.86 * seconds, 0.02 * seconds);
	ck_assert_double_eq_tol(count(&seen, PERF_ROLE_INSTRUCTIONS) / count(&seen, PERF_ROLE_CYCLES), 1.46, 0.01);
	ck_assert_double_eq_tol(count(&seen, PERF_ROLE_CYCLES) / count(&seen, PERF_ROLE_TASK_CLOCK), 3.1, 0.01);
	ck_assert(count(&seen, PERF_ROLE_CACHE_MISSES) < count(&seen, PERF_ROLE_CACHE_REFERENCES));
	unsigned multiplexed = 0;
	for (int event = 0; event < PERF_EVENTS_MAX; event++)
		multiplexed += seen.has_event[event] && seen.counted[event] == 0.62;
	ck_assert_uint_eq(multiplexed, 1);
	end(&seen);
}
END_TEST

/* -- what goes wrong -- */

START_TEST(heat_halves_the_clock_of_one)
{
	struct seen seen;
	begin(&seen, "gpu-heat");
	go_on(&seen, 60);
	ck_assert(seen.min[1][METRIC_GPU_CLOCK] < 0.5 * seen.max[1][METRIC_GPU_CLOCK]);
	ck_assert_double_eq(seen.min[0][METRIC_GPU_CLOCK], seen.max[0][METRIC_GPU_CLOCK]);
	ck_assert_double_eq(seen.max[1][METRIC_GPU_THROTTLE], 1 << GPU_THROTTLE_HEAT);
	ck_assert(seen.now[1][METRIC_GPU_THROTTLED_THERMAL] > 5e9 && seen.now[1][METRIC_GPU_THROTTLED_POWER] == 0);
	ck_assert(seen.now[0][METRIC_GPU_THROTTLED_THERMAL] == 0);
	ck_assert(seen.max[1][METRIC_GPU_TEMPERATURE] > 80 && seen.max[0][METRIC_GPU_TEMPERATURE] < 75);
	ck_assert_uint_gt(synthetic_truth(seen.synthetic).planted_count, 20);
	end(&seen);
}
END_TEST

START_TEST(a_lower_power_limit_throttles_by_power_alone)
{
	struct seen seen;
	begin(&seen, "gpu-power-cap");
	go_on(&seen, 60);
	for (int gpu = 0; gpu < GPUS; gpu++) {
		ck_assert_double_eq(seen.min[gpu][METRIC_GPU_POWER_LIMIT], 350);
		ck_assert_double_eq(seen.max[gpu][METRIC_GPU_THROTTLE], 1 << GPU_THROTTLE_POWER_CAP);
		ck_assert(seen.now[gpu][METRIC_GPU_THROTTLED_POWER] > 5e9 && seen.now[gpu][METRIC_GPU_THROTTLED_THERMAL] == 0);
	}
	end(&seen);
}
END_TEST

START_TEST(a_lost_gpu_says_nothing_more)
{
	struct seen seen;
	begin(&seen, "gpu-lost");
	go_on(&seen, 40);
	ck_assert_uint_eq(seen.event_code, 79);
	ck_assert_ptr_nonnull(strstr(seen.gpus[1].lost, "XID 79"));
	ck_assert_ptr_null(seen.gpus[0].lost);
	ck_assert_uint_gt(seen.readings[0][METRIC_GPU_CLOCK], seen.readings[1][METRIC_GPU_CLOCK] + 50);
	end(&seen);
}
END_TEST

START_TEST(a_neighbour_comes)
{
	struct seen seen;
	begin(&seen, "gpu-neighbour");
	go_on(&seen, 10);
	ck_assert_uint_eq(seen.process_count[1], 1);
	double used = seen.now[1][METRIC_GPU_MEMORY_USED];
	go_on(&seen, 20);
	ck_assert_uint_eq(seen.process_count[1], 2);
	ck_assert_double_eq_tol(seen.now[1][METRIC_GPU_MEMORY_USED] - used, seen.processes[1][1].memory_bytes, 1e6);
	ck_assert(seen.processes[1][1].busy_ratio > 0.2);
	end(&seen);
}
END_TEST

static const struct {
	const char *scenario;
	bool uses_more, reserves_more;
} memories[] = { { "", false, false }, { "gpu-leak", true, true }, { "gpu-fragmented", false, true } };

START_TEST(the_allocator_distinguishes_a_leak_from_a_cache)
{
	struct seen seen;
	begin(&seen, memories[_i].scenario);
	go_on(&seen, 10);
	double allocated = seen.allocated, reserved = seen.reserved, memory = seen.processes[0][0].memory_bytes;
	ck_assert(reserved > allocated && allocated > 0 && memory > 0.9 * reserved);
	go_on(&seen, 30);
	ck_assert_int_eq(seen.allocated > allocated + 2e9, memories[_i].uses_more);
	ck_assert_int_eq(seen.reserved > reserved + 2e9, memories[_i].reserves_more);
	ck_assert_int_eq(seen.processes[0][0].memory_bytes > memory + 2e9, memories[_i].reserves_more);
	end(&seen);
}
END_TEST

/* Scenario, GPU, metric, and its mean. */
static const struct {
	const char *scenario;
	int gpu;
	enum metric metric;
	double from, to;
} levels[] = {
	{ "gpu-waits-for-data", 0, METRIC_GPU_BUSY, 0.3, 0.5 },
	{ "gpu-underused", 0, METRIC_GPU_BUSY, 0.35, 0.55 },
	{ "gpu-waits-for-host", 0, METRIC_GPU_BUSY, 0.12, 0.25 },
	{ "gpu-copies", 0, METRIC_GPU_BUSY, 0.35, 0.55 },
	{ "gpu-small-kernels", 0, METRIC_GPU_BUSY, 1, 1 },
	{ "gpu-small-kernels", 0, METRIC_GPU_SM_ACTIVE, 0.15, 0.25 },
	{ "gpu-memory-full", 0, METRIC_GPU_MEMORY_USED, 0.96 * 85.52e9, 85.52e9 },
	{ "pcie-narrow", 1, METRIC_GPU_PCIE_WIDTH, 4, 4 },
	{ "pcie-narrow", 0, METRIC_GPU_PCIE_WIDTH, 16, 16 },
	{ "clean", 0, METRIC_GPU_POWER_LIMIT, 700, 700 },
};

START_TEST(a_level_is_as_its_scenario_says)
{
	struct seen seen;
	begin(&seen, levels[_i].scenario);
	go_on(&seen, 60);
	double value = mean(&seen, levels[_i].gpu, levels[_i].metric);
	ck_assert_msg(value >= levels[_i].from && value <= levels[_i].to, "%s: %s is %g", levels[_i].scenario,
		metric_table[levels[_i].metric].name, value);
	end(&seen);
}
END_TEST

START_TEST(a_memory_error_is_counted_and_emitted)
{
	struct seen seen;
	begin(&seen, "ecc");
	go_on(&seen, 30);
	ck_assert_uint_eq(seen.event_code, 94);
	ck_assert_double_eq(seen.now[0][METRIC_GPU_ECC_UNCORRECTED], 1);
	ck_assert_double_eq(seen.now[1][METRIC_GPU_ECC_UNCORRECTED], 0);
	end(&seen);
}
END_TEST

START_TEST(a_missing_figure_is_named)
{
	struct seen seen;
	begin(&seen, "gpu-hidden");
	go_on(&seen, 5);
	ck_assert_uint_eq(seen.process_count[0], 0);
	ck_assert_ptr_nonnull(strstr(seen.missing, "GPU processes;"));
	end(&seen);
	begin(&seen, "no-counters");
	go_on(&seen, 5);
	ck_assert(isnan(count(&seen, PERF_ROLE_CYCLES)) && count(&seen, PERF_ROLE_TASK_CLOCK) > 0);
	ck_assert_ptr_nonnull(strstr(seen.missing, "counters;"));
	end(&seen);
	begin(&seen, "bare");
	go_on(&seen, 5);
	ck_assert(
		!seen.has_gpu[0] && isnan(count(&seen, PERF_ROLE_TASK_CLOCK)) && seen.named_meters == 0 && seen.allocated == 0);
	ck_assert_ptr_nonnull(strstr(seen.missing, "gpu;"));
	end(&seen);
}
END_TEST

/* A snapshot has the GPUs before their processes. */
START_TEST(a_snapshot_has_all_records)
{
	struct target target = { .synthetic = "" };
	struct reason reason;
	struct seen seen = { 0 };
	void *state = NULL;
	ck_assert_int_eq(synthetic_source.open(&target, &state, &reason), STATUS_OK);
	int64_t now_ns = clock_monotonic_ns() + NS_PER_S;
	ck_assert_int_eq(synthetic_source.read(state, now_ns, &seen.set), STATUS_OK);
	sample_set_clear(&seen.set);
	ck_assert_int_eq(synthetic_source.emit_all(state, now_ns, &seen.set), STATUS_OK);
	for (size_t i = 0; i < seen.set.count; i++)
		take(&seen, &seen.set.records[i]);
	ck_assert(
		seen.has_gpu[0] && seen.has_gpu[1] && seen.process_count[0] == 2 && seen.placements == 1 && seen.has_event[0]);
	synthetic_source.close(state);
	sample_set_release(&seen.set);
}
END_TEST

static Suite *node_suite(void)
{
	Suite *suite = suite_create("synthetic_node");
	TCase *tests = tcase_create("synthetic_node");
	const char *help;
	int scenarios = 0;
	while (synthetic_scenario((unsigned)scenarios, &help))
		scenarios++;
	tcase_set_timeout(tests, 60);
	for (int i = 0; i < scenarios; i += STRIDE)
		tcase_add_loop_test(tests, every_figure_is_possible, i, i + 1);
	tcase_add_test(tests, an_ordinary_run_uses_both_gpus);
	tcase_add_test(tests, power_and_energy_agree);
	tcase_add_test(tests, a_stalled_run_leaves_gpus_idle);
	tcase_add_test(tests, they_idle_while_a_batch_waits);
	tcase_add_test(tests, counters_agree_with_cpu_time);
	tcase_add_test(tests, heat_halves_the_clock_of_one);
	tcase_add_test(tests, a_lower_power_limit_throttles_by_power_alone);
	tcase_add_test(tests, a_lost_gpu_says_nothing_more);
	tcase_add_test(tests, a_neighbour_comes);
	tcase_add_loop_test(tests, the_allocator_distinguishes_a_leak_from_a_cache, 0, sizeof memories / sizeof *memories);
	tcase_add_loop_test(tests, a_level_is_as_its_scenario_says, 0, sizeof levels / sizeof *levels);
	tcase_add_test(tests, a_memory_error_is_counted_and_emitted);
	tcase_add_test(tests, a_missing_figure_is_named);
	tcase_add_test(tests, a_snapshot_has_all_records);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void) { return suite_run(node_suite()); }
