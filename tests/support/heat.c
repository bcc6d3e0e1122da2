#include "tests/support/heat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"

static struct series *history(int64_t now_ns, double min, double max, double turns)
{
	enum { POINTS = 300 };
	struct series *series = series_new();

	for (int i = 0; i <= POINTS; i++)
		series_push(series, now_ns - (POINTS - i) * NS_PER_S,
			min + (max - min) * (0.5 + 0.5 * sin(i * turns * 6.283 / POINTS)));
	return series;
}

void heat_forget(struct energy *energy)
{
	double *const figures[] = {
		&energy->cpu_watts,
		&energy->gpu_watts,
		&energy->cpu_joules,
		&energy->gpu_joules,
		&energy->joules_per_batch,
		&energy->joules_per_sample,
		&energy->cpu_joules_per_batch,
		&energy->gpu_joules_per_batch,
		&energy->grid_g_per_kwh,
		&energy->co2_g,
		&energy->co2_g_per_epoch,
		&energy->hottest_celsius,
		&energy->throttles_per_s,
		&energy->cpu_clock_hz,
	};

	*energy = (struct energy){ .meter_count = 0 };
	for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
		*figures[i] = NAN;
}

void heat_release(struct model *model)
{
	struct energy *energy = &model->energy;

	for (size_t i = 0; i < energy->meter_count; i++)
		series_free(energy->meters[i].series);
	for (size_t i = 0; i < energy->sensor_count; i++)
		series_free(energy->sensors[i].series);
	series_free(energy->cpu_watts_series);
	series_free(energy->gpu_watts_series);
	series_free(energy->temperature_series);
	series_free(energy->cpu_clock_series);
	heat_forget(energy);
}

static void add_meter(struct model *model, const char *name, double watts, double joules)
{
	struct energy_meter *meter = &model->energy.meters[model->energy.meter_count];

	*meter = (struct energy_meter){ .instance = (int32_t)model->energy.meter_count++,
		.seen_ns = model->now_ns,
		.watts = watts,
		.joules = joules,
		.series = history(model->now_ns, watts * 0.6, watts, 5) };
	snprintf(meter->name, sizeof meter->name, "%s", name);
}

static void add_sensor(struct model *model, const char *name, double celsius, double limit_celsius)
{
	struct heat_sensor *sensor = &model->energy.sensors[model->energy.sensor_count];

	*sensor = (struct heat_sensor){ .instance = (int32_t)model->energy.sensor_count++,
		.seen_ns = model->now_ns,
		.celsius = celsius,
		.limit_celsius = limit_celsius,
		.series = history(model->now_ns, celsius - 9, celsius, 3) };
	snprintf(sensor->name, sizeof sensor->name, "%s", name);
}

static void fill_sums(struct energy *energy)
{
	energy->cpu_watts = 142;
	energy->gpu_watts = 612;
	energy->cpu_joules = 17040;
	energy->gpu_joules = 73440;
	energy->cpu_joules_per_batch = 28.4;
	energy->gpu_joules_per_batch = 122.4;
	energy->joules_per_batch = 150.8;
	energy->joules_per_sample = 4.7125;
	energy->grid_g_per_kwh = 360;
	energy->co2_g = 90480 / 3.6e6 * 360;
	energy->co2_g_per_epoch = 15080 / 3.6e6 * 360;
	energy->epoch_count = 2;
	energy->epochs[0] =
		(struct epoch_energy){ .run = 0, .ordinal = 1, .is_settled = true, .cpu_joules = 900, .gpu_joules = 4000 };
	energy->epochs[1] = (struct epoch_energy){
		.run = 0, .ordinal = 2, .is_whole = true, .is_settled = true, .cpu_joules = 2840, .gpu_joules = 12240
	};
}

void heat_fill(struct model *model)
{
	struct energy *energy = &model->energy;

	heat_release(model);
	energy->since_ns = model->first_ns;
	fill_sums(energy);
	add_meter(model, "package 0", 120, 14400);
	add_meter(model, "dram 0", 22, 2640);
	add_meter(model, "platform", 240, 28800);
	add_sensor(model, "coretemp Package id 0", 71, 100);
	add_sensor(model, "nvme Composite", 81.85, 84.85);
	add_sensor(model, "acpitz", 27.8, NAN);
	energy->hottest_celsius = 71;
	energy->throttles_per_s = 0;
	energy->cpu_clock_hz = 3.21e9;
	energy->cpu_watts_series = history(model->now_ns, 90, 142, 5);
	energy->gpu_watts_series = history(model->now_ns, 200, 612, 7);
	energy->temperature_series = history(model->now_ns, 62, 71, 3);
	energy->cpu_clock_series = history(model->now_ns, 2.4e9, 3.21e9, 4);
}
