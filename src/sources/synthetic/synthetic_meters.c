#include "src/sources/synthetic/synthetic_meters.h"

#include <math.h>

#include "src/base/clock.h"
#include "src/sources/synthetic/synthetic_figures.h"
#include "src/sources/synthetic/synthetic_private.h"

#define METERS_NS (190 * NS_PER_MS)
#define CYCLES_PER_S 3.1e9
#define IDLE_W 84
#define WATTS_PER_CPU 13
#define DRAM_W 11

/* The CPU counters: per cycle of a process, or from its other figures (0). The last one did not fit on the CPU and
 * is multiplexed. */
static const struct {
	enum perf_role role;
	const char *name;
	double per_cycle, counted_ratio;
} counters[] = {
	{ PERF_ROLE_TASK_CLOCK, "task-clock", 0, 1 },
	{ PERF_ROLE_MINOR_FAULTS, "minor-faults", 0, 1 },
	{ PERF_ROLE_MAJOR_FAULTS, "major-faults", 0, 1 },
	{ PERF_ROLE_SWITCHES, "context-switches", 0, 1 },
	{ PERF_ROLE_MIGRATIONS, "cpu-migrations", 0, 1 },
	{ PERF_ROLE_CYCLES, "cycles", 1, 1 },
	{ PERF_ROLE_INSTRUCTIONS, "instructions", 1.46, 1 },
	{ PERF_ROLE_CACHE_REFERENCES, "cache-references", 0.041, 1 },
	{ PERF_ROLE_CACHE_MISSES, "cache-misses", 0.0049, 1 },
	{ PERF_ROLE_BRANCHES, "branches", 0.27, 1 },
	{ PERF_ROLE_BRANCH_MISSES, "branch-misses", 0.0031, 1 },
	{ PERF_ROLE_STALLED_FRONT, "stalled-cycles-frontend", 0.08, 1 },
	{ PERF_ROLE_STALLED_BACK, "stalled-cycles-backend", 0.33, 1 },
	{ PERF_ROLE_FLOPS, "RETIRED_SSE_AVX_FLOPS:ANY", 0.62, 0.62 },
};
enum { COUNTERS = sizeof counters / sizeof *counters, PACKAGE = 0, DRAM = 1, CORETEMP = 0, DISK_HEAT = 1 };

static bool is_counted(const struct synthetic *synthetic, size_t event)
{
	return counters[event].per_cycle == 0 || !synthetic->scenario->node.has_no_counters;
}

static void name_meter(struct sample_set *out, int64_t now_ns, enum metric metric, int32_t instance, const char *name)
{
	struct record *record = sample_set_add(out, RECORD_INSTANCE, 0, now_ns);
	if (!record)
		return;
	record->instance.metric = metric;
	record->instance.instance = instance;
	record->instance.name = name;
}

void synthetic_describe_meters(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	sample_set_missing(out, now_ns, "stacks", "this run is synthetic: it has no code", NULL);
	if (synthetic->scenario->node.is_bare) {
		sample_set_missing(out, now_ns, "counters", "the synthetic machine has none", NULL);
		sample_set_missing(out, now_ns, "CPU energy", "the synthetic machine has no meters", NULL);
		return;
	}
	name_meter(out, now_ns, METRIC_ENERGY_USED, PACKAGE, "package 0");
	name_meter(out, now_ns, METRIC_ENERGY_USED, DRAM, "dram 0");
	name_meter(out, now_ns, METRIC_HEAT_TEMPERATURE, CORETEMP, "coretemp Package id 0");
	name_meter(out, now_ns, METRIC_HEAT_TEMPERATURE, DISK_HEAT, "nvme Composite");
	if (synthetic->scenario->node.has_no_counters)
		sample_set_missing(out, now_ns, "counters",
			"the synthetic machine is virtual: no hardware counters, only the kernel's own "
			"events",
			"run on the host");
	for (uint32_t event = 0; event < COUNTERS; event++) {
		struct record *record = is_counted(synthetic, event) ? sample_set_add(out, RECORD_PERF_EVENT, 0, now_ns) : NULL;
		if (!record)
			continue;
		record->perf_event.event = event;
		record->perf_event.role = counters[event].role;
		record->perf_event.name = counters[event].name;
	}
}

/* The count of the trainer, or of a worker. */
static double count_of(const struct synthetic *synthetic, size_t event, enum synthetic_who who, int64_t now_ns)
{
	double cpu_ns = synthetic_grown(synthetic, METRIC_PROCESS_CPU_USER, who, now_ns) +
		synthetic_grown(synthetic, METRIC_PROCESS_CPU_SYSTEM, who, now_ns);
	bool is_trainer = who == OF_TRAINER;
	switch (counters[event].role) {
	case PERF_ROLE_TASK_CLOCK: return cpu_ns;
	case PERF_ROLE_MINOR_FAULTS: return synthetic_grown(synthetic, METRIC_PROCESS_MINOR_FAULTS, who, now_ns);
	case PERF_ROLE_MAJOR_FAULTS: return synthetic_grown(synthetic, METRIC_PROCESS_MAJOR_FAULTS, who, now_ns);
	case PERF_ROLE_SWITCHES:
		return is_trainer ? synthetic_grown(synthetic, METRIC_PROCESS_SWITCHES_WILLING, who, now_ns) +
				synthetic_grown(synthetic, METRIC_PROCESS_SWITCHES_FORCED, who, now_ns)
						  : 45 * seconds_between(synthetic->start_ns, now_ns);
	case PERF_ROLE_MIGRATIONS: return 0.4 * seconds_between(synthetic->start_ns, now_ns);
	/* Workers decode images: more instructions per cycle, hardly any floating point. */
	case PERF_ROLE_INSTRUCTIONS:
		return (is_trainer ? 1 : 1.4) * counters[event].per_cycle * cpu_ns * 1e-9 * CYCLES_PER_S;
	case PERF_ROLE_FLOPS: return (is_trainer ? 1 : 0.05) * counters[event].per_cycle * cpu_ns * 1e-9 * CYCLES_PER_S;
	default: return counters[event].per_cycle * cpu_ns * 1e-9 * CYCLES_PER_S;
	}
}

static void emit_counts(
	const struct synthetic *synthetic, int64_t now_ns, int32_t pid, enum synthetic_who who, struct sample_set *out)
{
	for (uint32_t event = 0; event < COUNTERS; event++) {
		struct record *record = is_counted(synthetic, event) ? sample_set_add(out, RECORD_PERF_COUNT, 0, now_ns) : NULL;
		if (!record)
			continue;
		record->perf_count.pid = pid;
		record->perf_count.event = event;
		record->perf_count.value = floor(count_of(synthetic, event, who, now_ns));
		record->perf_count.counted_ratio = counters[event].counted_ratio;
	}
}

static void emit_energy(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	double seconds = seconds_between(synthetic->start_ns, now_ns),
		   busy_s = synthetic_grown(synthetic, METRIC_SYSTEM_CPU_BUSY, OF_MACHINE, now_ns) / 1e9;
	double wave = sin(seconds / 40), cpus = seconds > 0 ? busy_s / seconds : 0;
	sample_set_figure(out, now_ns, METRIC_ENERGY_USED, PACKAGE, 61440 + IDLE_W * seconds + WATTS_PER_CPU * busy_s);
	sample_set_figure(out, now_ns, METRIC_ENERGY_USED, DRAM, 9120 + DRAM_W * seconds);
	double throttles_per_s = synthetic->scenario->node.cpu_throttles_per_s;
	sample_set_figure(
		out, now_ns, METRIC_HEAT_TEMPERATURE, CORETEMP, throttles_per_s > 0 ? 99 : round(47 + 4 * cpus + 1.5 * wave));
	sample_set_figure(out, now_ns, METRIC_HEAT_LIMIT, CORETEMP, 100);
	sample_set_figure(out, now_ns, METRIC_HEAT_TEMPERATURE, DISK_HEAT, round(41 + wave));
	sample_set_figure(out, now_ns, METRIC_HEAT_LIMIT, DISK_HEAT, 84.8);
	sample_set_figure(out, now_ns, METRIC_HEAT_CPU_THROTTLES, 0, floor(throttles_per_s * seconds));
	sample_set_figure(
		out, now_ns, METRIC_HEAT_CPU_CLOCK, 0, (throttles_per_s > 0 ? 0.6 : 1) * CYCLES_PER_S + 2e7 * wave);
}

void synthetic_emit_meters(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	if (!synthetic->is_introduced)
		synthetic_describe_meters(synthetic, now_ns, out);
	if (synthetic->scenario->node.is_bare ||
		(synthetic->is_introduced && now_ns - synthetic->node.metered_ns < METERS_NS))
		return;
	synthetic->node.metered_ns = now_ns;
	emit_energy(synthetic, now_ns, out);
	emit_counts(synthetic, now_ns, SYNTHETIC_PID, OF_TRAINER, out);
	for (unsigned worker = 0; worker < SYNTHETIC_WORKERS; worker++)
		if (!synthetic_worker_is_gone(synthetic, worker))
			emit_counts(synthetic, now_ns, synthetic_worker_pid(worker), OF_ONE_WORKER, out);
}
