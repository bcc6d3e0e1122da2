/* energy.h: power, energy and temperature of the machine's CPUs and memory (RAPL) and of the run's GPUs, also per batch
 * and per epoch. NAN = unknown.
 *
 * Energy comes from energy counters. Between two readings of a counter it is distributed evenly, or, for GPUs, in
 * proportion to their power, which is read more often. CPU energy is that of the whole machine, all processes; screens
 * say so. It is the sum of the packages and of dram where that is a separate meter; "platform" includes both and is
 * shown but never added. GPU energy is that of whole GPUs used by the run, also if it uses only a part (MIG). For a GPU
 * without an energy counter, power is integrated between readings that are close enough (energy_curve_is_dense).
 *
 * A time without readings is a gap: energy counted in it is added to totals but not to batches. A counter that was
 * reset loses that energy. */
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
	double watts, joules;  /* power between the last two readings; energy since pmtop attached */
	struct series *series; /* of watts */
};

struct heat_sensor {
	int32_t instance;
	char name[ENERGY_NAME_SIZE];
	int64_t seen_ns;
	double celsius, limit_celsius;
	struct series *series; /* NULL beyond the first twelve sensors */
};

/* Energy of one epoch of a run, as far as pmtop measured it; GPUs of this run (rank) only. Not whole: the epoch is
 * still running, or was not metered all the time. */
struct epoch_energy {
	unsigned run;
	uint32_t ordinal;
	bool is_whole, is_settled; /* settled: the figures will not change any more */
	double cpu_joules, gpu_joules;
};

struct energy {
	size_t meter_count, sensor_count, epoch_count;
	struct energy_meter meters[ENERGY_METERS_MAX];
	struct heat_sensor sensors[HEAT_SENSORS_MAX];
	struct epoch_energy epochs[ENERGY_EPOCHS_MAX]; /* the newest, oldest first */
	double cpu_watts;                              /* packages, plus dram if it is a separate meter; NAN */
	double gpu_watts;                              /* of the run's GPUs */
	double cpu_joules, gpu_joules;                 /* since pmtop attached */
	int64_t since_ns;
	/* CPU and GPU, over the last 200 metered steps of the first run */
	double joules_per_batch, joules_per_sample;
	double cpu_joules_per_batch, gpu_joules_per_batch;
	double grid_g_per_kwh;         /* from the configuration; NAN = not set */
	double co2_g, co2_g_per_epoch; /* of CPU and GPU: since pmtop attached; of the latest whole epoch */
	double hottest_celsius;        /* of the CPUs' sensors */
	double throttles_per_s, cpu_clock_hz;
	struct series *cpu_watts_series, *gpu_watts_series, *temperature_series, *cpu_clock_series;
};

/* Was any energy metered? Was any sensor or the CPU clock read? */
bool energy_is_metered(const struct energy *energy);
bool energy_has_heat(const struct energy *energy);
/* The hottest CPU sensor; NULL = none known. */
const struct heat_sensor *energy_hottest(const struct energy *energy);
/* The sum of the known parts; NAN if neither is known. */
double energy_total(double cpu, double gpu);
double energy_co2_g(const struct energy *energy, double joules);
/* Does this meter count as CPU energy? */
bool energy_is_of_cpus(const char *meter);
/* Is this the name of a CPU sensor? */
bool heat_is_of_cpus(const char *sensor);

/* -- within src/model -- */

struct meter_past;
struct model;
struct record;

/* Returns the joules since the previous reading; NAN: first reading, the counter was reset, or the value is invalid. */
double energy_take_counter(struct meter_past *past, int64_t time_ns, double value);
void model_init_energy(struct model *model);
void model_free_energy(struct model *model);

/* Names of meters and sensors. False: not a metric of this family. */
bool model_name_meter(struct model *model, const struct record *record);
/* Call before model_take_gpu_figure: uses the power and energy of GPUs too, but returns false for them. */
bool model_take_energy_figure(struct model *model, const struct record *record);
/* After model_refresh_gpus. */
void model_refresh_energy(struct model *model);

#endif
