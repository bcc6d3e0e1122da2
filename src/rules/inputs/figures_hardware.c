/* Figures of the CPUs' counters, of energy and of heat. */
#include <math.h>
#include <stddef.h>

#include "src/rules/rule_figures.h"

#define NUMBER(name) static double name(const struct context *context, const char *argument)
#define UNUSED (void)argument

NUMBER(mfu)
{
	UNUSED;
	return context_run(context) ? run_mfu(context->model, context_run(context)) : NAN;
}
/* Hertz are told in MHz. */
NUMBER(cpu_mhz)
{
	UNUSED;
	return context->model->energy.cpu_clock_hz * 1e-6;
}

#define PERF(name, form, member, what) \
	{ \
		name, FORM_##form, RULE_OF_MODEL, NULL, NULL, offsetof(struct model, perf.member), what, not_counted \
	}
#define ENERGY(name, form, member, what, lacks) \
	{ \
		name, FORM_##form, RULE_OF_MODEL, NULL, NULL, offsetof(struct model, energy.member), what, lacks \
	}

static const char not_counted[] =
	"not counted: CPU counters are opened with --counters, or once 9 was looked at (pmtop doctor says what is missing)";
static const char no_meter[] = "no energy meter can be read (pmtop doctor says why)";
static const char no_grid[] = "energy.grid_g_per_kwh is not set, or no energy meter can be read";
static const char no_sensor[] = "the kernel does not tell it here";

static const struct figure rows[] = {
	PERF("counters.cpus", NUMBER, cpus, "CPUs that the process and its children use, as the kernel counts their time"),
	PERF("counters.ipc", NUMBER, ipc, "instructions a cycle"),
	PERF("counters.clock_hz", NUMBER, clock_hz, "cycles a second of CPU time"),
	PERF("counters.cache_miss_ratio", PERCENT, cache_miss_ratio,
		"of the references to the last cache, those that missed it"),
	PERF("counters.branch_miss_ratio", PERCENT, branch_miss_ratio, "of the branches, those that were guessed wrong"),
	PERF("counters.stalled_front_ratio", PERCENT, stalled_front_ratio,
		"of the cycles, those without instructions to begin"),
	PERF("counters.stalled_back_ratio", PERCENT, stalled_back_ratio,
		"of the cycles, those in which none could be finished"),
	PERF("counters.flops_per_s", RATE, flops_per_s, "floating-point operations a second, on the CPUs"),
	PERF("counters.flops_per_batch", COUNT, flops_per_batch, "the same a batch"),
	PERF("counters.flops_per_sample", COUNT, flops_per_sample, "the same a sample"),
	PERF("counters.memory_bytes_per_s", BYTES_PER_S, bytes_per_s,
		"traffic between the CPUs and memory, of all programs"),
	PERF("counters.intensity", NUMBER, intensity, "floating-point operations for each byte of that traffic"),
	{ "counters.mfu_ratio", FORM_PERCENT, RULE_OF_MODEL, mfu, NULL, 0, "model FLOPs utilisation, by what is published",
		"flops_per_sample and peak_flops are not published (meta)" },
	ENERGY("energy.cpu_w", NUMBER, cpu_watts, "watts of the machine's CPUs, whoever computes", no_meter),
	ENERGY("energy.gpu_w", NUMBER, gpu_watts, "watts of the run's GPUs", no_meter),
	ENERGY("energy.joules_per_batch", NUMBER, joules_per_batch, "joules a batch, CPUs and GPUs", no_meter),
	ENERGY("energy.joules_per_sample", NUMBER, joules_per_sample, "joules a sample", no_meter),
	ENERGY("energy.co2_g", NUMBER, co2_g, "grams of CO₂ since pmtop attached", no_grid),
	ENERGY("energy.co2_g_per_epoch", NUMBER, co2_g_per_epoch, "of the newest whole epoch", no_grid),
	ENERGY("heat.cpu_c", NUMBER, hottest_celsius, "°C of the hottest sensor of the CPUs", no_sensor),
	ENERGY(
		"heat.cpu_throttles_per_s", RATE, throttles_per_s, "how often a second heat slowed the CPUs down", no_sensor),
	{ "heat.cpu_mhz", FORM_NUMBER, RULE_OF_MODEL, cpu_mhz, NULL, 0, "mean clock of the CPUs in MHz", no_sensor },
};

const struct figure_part hardware_figures = { rows, sizeof rows / sizeof *rows };
