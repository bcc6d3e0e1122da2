/* energy.h: watts, joules and degrees: of the machine's CPUs and memory (RAPL), of the run's GPUs, by batch and by
 * epoch. Unknown is NAN.
 *
 * Joules are what meters counted, never power × a guess; between two readings of a meter they are shared out evenly
 * over the time, those of a GPU as its power was, which is read more often. What the CPUs used is of the whole machine,
 * whoever computed: said where it is shown. The CPUs' are the packages, and dram where it is a meter of its own;
 * "platform" holds both and more, and is shown but never added. The GPUs' are those that the run was on, whole: of a
 * part of one (MIG) the GPU's. One without an energy counter has its power taken as even between two readings that are
 * not far apart (energy_curve_is_dense).
 *
 * What no meter was read in is a gap: a counter that went on all the same counts in the sums of joules, but belongs to
 * no batch; one that began anew has lost what it was. */
#ifndef PMTOP_MODEL_ENERGY_ENERGY_H
#define PMTOP_MODEL_ENERGY_ENERGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/statistics/series.h"

enum { ENERGY_METERS_MAX = 32, HEAT_SENSORS_MAX = 64, ENERGY_EPOCHS_MAX = 64, ENERGY_NAME_SIZE = 48 };

struct energy_meter {
	int32_t instance;
	char name[ENERGY_NAME_SIZE]; /* "package 0" */
	int64_t seen_ns;
	double watts, joules;  /* between the last two readings; since pmtop attached */
	struct series *series; /* of watts */
};

struct heat_sensor {
	int32_t instance;
	char name[ENERGY_NAME_SIZE];
	int64_t seen_ns;
	double celsius, limit_celsius;
	struct series *series; /* NULL of those beyond the first twelve */
};

/* What one epoch of a run used, as far as pmtop was there; of the GPUs, those of this run (rank). Not whole: it still
 * runs, or was not metered all the time. */
struct epoch_energy {
	unsigned run;
	uint32_t ordinal;
	bool is_whole, is_settled; /* settled: no more will become known */
	double cpu_joules, gpu_joules;
};

struct energy {
	size_t meter_count, sensor_count, epoch_count;
	struct energy_meter meters[ENERGY_METERS_MAX];
	struct heat_sensor sensors[HEAT_SENSORS_MAX];
	struct epoch_energy epochs[ENERGY_EPOCHS_MAX]; /* the newest, oldest first */
	double cpu_watts;                              /* packages (dram with them where it is a meter of its own); NAN */
	double gpu_watts;                              /* of the run's GPUs */
	double cpu_joules, gpu_joules;                 /* since pmtop attached */
	int64_t since_ns;
	/* CPU and GPU, over the last 200 steps (or those since it was metered) of the main run */
	double joules_per_batch, joules_per_sample;
	double cpu_joules_per_batch, gpu_joules_per_batch;
	double grid_g_per_kwh;         /* from the config; NAN = not set */
	double co2_g, co2_g_per_epoch; /* of both, since pmtop attached, and of the newest whole epoch */
	double hottest_celsius;        /* of the CPUs' sensors */
	double throttles_per_s, cpu_clock_hz;
	struct series *cpu_watts_series, *gpu_watts_series, *temperature_series, *cpu_clock_series;
};

/* Whether anything was metered; whether any sensor, or the clock, was read. */
bool energy_is_metered(const struct energy *energy);
bool energy_has_heat(const struct energy *energy);
/* The hottest sensor of a CPU; NULL where none is known. */
const struct heat_sensor *energy_hottest(const struct energy *energy);
/* Of two parts, what is known; NAN where neither is. */
double energy_total(double cpu, double gpu);
double energy_co2_g(const struct energy *energy, double joules);
/* NULL: nothing was metered in it */
const struct epoch_energy *energy_of_epoch(const struct energy *energy, unsigned run, uint32_t ordinal);
/* Whether a meter's name is one of those that make the CPUs'. */
bool energy_is_of_cpus(const char *meter);
/* Whether a sensor is one of a CPU. */
bool heat_is_of_cpus(const char *sensor);

#endif
