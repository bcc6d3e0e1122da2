/* Figures of CPU counters, energy and heat. */
#include <math.h>
#include <stddef.h>

#include "src/rules/inputs/figures.h"
#include "src/rules/rule_context.h"
#include "src/rules/rule_figures.h"

NUMBER(mfu) { return context_run(context) ? run_mfu(context->model, context_run(context)) : NAN; }
NUMBER(cpu_mhz) { return context->model->energy.cpu_clock_hz * 1e-6; }

#define PERF(name, form, member, what) MEMBER_ROW(name, form, perf.member, what, not_counted)
#define ENERGY(name, form, member, what, lacks) MEMBER_ROW(name, form, energy.member, what, lacks)

static const char not_counted[] =
	"CPU counters are not open: use --counters or view 9 (pmtop doctor shows what is missing)";
static const char no_meter[] = "no energy meter can be read (pmtop doctor shows why)";
static const char no_grid[] = "energy.grid_g_per_kwh is not set, or no energy meter can be read";
static const char no_sensor[] = "the kernel does not report it on this machine";

static const struct figure rows[] = {
	PERF("counters.cpus", NUMBER, cpus, "CPUs used by the process and its children, by CPU time"),
	PERF("counters.ipc", NUMBER, ipc, "instructions per cycle"),
	PERF("counters.clock_hz", NUMBER, clock_hz, "cycles per second of CPU time"),
	PERF("counters.cache_miss_ratio", PERCENT, cache_miss_ratio, "last-level cache misses ÷ references"),
	PERF("counters.branch_miss_ratio", PERCENT, branch_miss_ratio, "mispredicted branches ÷ branches"),
	PERF("counters.stalled_front_ratio", PERCENT, stalled_front_ratio, "front-end stalled cycles ÷ cycles"),
	PERF("counters.stalled_back_ratio", PERCENT, stalled_back_ratio, "back-end stalled cycles ÷ cycles"),
	PERF("counters.flops_per_s", RATE, flops_per_s, "floating-point operations per second, on the CPUs"),
	PERF("counters.flops_per_batch", COUNT, flops_per_batch, "the same, per batch"),
	PERF("counters.flops_per_sample", COUNT, flops_per_sample, "the same, per sample"),
	PERF("counters.memory_bytes_per_s", BYTES_PER_S, bytes_per_s, "memory bandwidth used by the CPUs, of all programs"),
	PERF("counters.intensity", NUMBER, intensity,
		"arithmetic intensity: floating-point operations per byte of memory traffic"),
	{ "counters.mfu_ratio", FORM_PERCENT, RULE_OF_MODEL, mfu, NULL, 0,
		"model FLOPs utilization (MFU), from published values",
		"flops_per_sample and peak_flops are not published (meta)" },
	ENERGY("energy.cpu_w", NUMBER, cpu_watts, "power of the machine's CPUs in W, all programs", no_meter),
	ENERGY("energy.gpu_w", NUMBER, gpu_watts, "power of the run's GPUs in W", no_meter),
	ENERGY("energy.joules_per_batch", NUMBER, joules_per_batch, "joules per batch, CPUs and GPUs", no_meter),
	ENERGY("energy.joules_per_sample", NUMBER, joules_per_sample, "joules per sample", no_meter),
	ENERGY("energy.co2_g", NUMBER, co2_g, "grams of CO₂ since pmtop attached", no_grid),
	ENERGY("energy.co2_g_per_epoch", NUMBER, co2_g_per_epoch, "the same, of the newest complete epoch", no_grid),
	ENERGY("heat.cpu_c", NUMBER, hottest_celsius, "temperature of the hottest CPU sensor in °C", no_sensor),
	ENERGY(
		"heat.cpu_throttles_per_s", RATE, throttles_per_s, "thermal throttle events of the CPUs per second", no_sensor),
	{ "heat.cpu_mhz", FORM_NUMBER, RULE_OF_MODEL, cpu_mhz, NULL, 0, "mean clock of the CPUs in MHz", no_sensor },
};

const struct figure_part hardware_figures = { rows, sizeof rows / sizeof *rows };
