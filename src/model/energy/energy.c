#include "src/model/energy/energy.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/batch_window/batch_window_notes.h"
#include "src/model/energy/energy_gpus.h"
#include "src/model/energy/energy_private.h"
#include "src/model/energy/energy_runs.h"

/* A figure is unknown again when its last reading is older than *_STALE_NS, and a meter no longer counts after
 * METER_GONE_NS. Sensors are read at least every 20 s. */
#define METER_STALE_NS (5 * NS_PER_S)
#define METER_GONE_NS (60 * NS_PER_S)
#define SENSOR_STALE_NS (45 * NS_PER_S)
#define RENEW_NS NS_PER_S
/* Only the first sensors have a history, to save memory: CPUs come first. */
enum { SENSORS_WITH_SERIES = 12 };
#define JOULES_PER_KWH 3.6e6

/* -- init and free -- */

void model_init_energy(struct model *model)
{
	struct energy *energy = &model->energy;
	energy->cpu_watts = energy->gpu_watts = energy->cpu_joules = energy->gpu_joules = energy->joules_per_batch =
		energy->joules_per_sample = NAN;
	energy->cpu_joules_per_batch = energy->gpu_joules_per_batch = energy->co2_g = energy->co2_g_per_epoch = NAN;
	energy->hottest_celsius = energy->throttles_per_s = energy->cpu_clock_hz = NAN;
	energy->grid_g_per_kwh = model->options.grid_g_per_kwh;
	model->priv->energy = calloc(1, sizeof *model->priv->energy);
}

void model_free_energy(struct model *model)
{
	struct energy *energy = &model->energy;
	struct energy_past *past = model->priv->energy;
	for (size_t i = 0; i < energy->meter_count; i++)
		series_free(energy->meters[i].series);
	for (size_t i = 0; i < energy->sensor_count; i++)
		series_free(energy->sensors[i].series);
	series_free(energy->cpu_watts_series);
	series_free(energy->gpu_watts_series);
	series_free(energy->temperature_series);
	series_free(energy->cpu_clock_series);
	for (size_t i = 0; past && i < ENERGY_METERS_MAX; i++)
		energy_curve_release(&past->meters[i].curve);
	for (size_t i = 0; past && i < past->gpu_count; i++)
		energy_curve_release(&past->gpus[i].counter.curve);
	if (past)
		free(past->gpus);
	free(past);
}

/* -- names -- */

static bool begins_with_any(const char *text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(text, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

bool energy_is_of_cpus(const char *meter)
{
	static const char *const words[] = { "package", "dram" };
	return begins_with_any(meter, words, sizeof words / sizeof *words);
}

bool heat_is_of_cpus(const char *sensor)
{
	static const char *const words[] = { "coretemp", "k10temp", "zenpower", "cpu_thermal", "soc_thermal", "apm_xgene" };
	return begins_with_any(sensor, words, sizeof words / sizeof *words);
}

static struct energy_meter *find_meter(struct energy *energy, int32_t instance)
{
	for (size_t i = 0; i < energy->meter_count; i++)
		if (energy->meters[i].instance == instance)
			return &energy->meters[i];
	if (energy->meter_count == ENERGY_METERS_MAX)
		return NULL;
	struct energy_meter *meter = &energy->meters[energy->meter_count++];
	*meter = (struct energy_meter){ .instance = instance, .watts = NAN, .joules = NAN };
	return meter;
}

static struct heat_sensor *find_sensor(struct energy *energy, int32_t instance)
{
	for (size_t i = 0; i < energy->sensor_count; i++)
		if (energy->sensors[i].instance == instance)
			return &energy->sensors[i];
	if (energy->sensor_count == HEAT_SENSORS_MAX)
		return NULL;
	struct heat_sensor *sensor = &energy->sensors[energy->sensor_count++];
	*sensor = (struct heat_sensor){ .instance = instance, .celsius = NAN, .limit_celsius = NAN };
	return sensor;
}

bool model_name_meter(struct model *model, const struct record *record)
{
	enum metric metric = record->instance.metric;
	const char *name = record->instance.name;
	if (metric < METRIC_ENERGY_USED || metric > METRIC_HEAT_CPU_CLOCK)
		return false;
	struct energy_meter *meter =
		metric == METRIC_ENERGY_USED && name ? find_meter(&model->energy, record->instance.instance) : NULL;
	struct heat_sensor *sensor =
		metric != METRIC_ENERGY_USED && name ? find_sensor(&model->energy, record->instance.instance) : NULL;
	if (meter)
		put_text(meter->name, sizeof meter->name, name);
	if (sensor)
		put_text(sensor->name, sizeof sensor->name, name);
	return true;
}

/* -- readings -- */

double energy_take_counter(struct meter_past *past, int64_t time_ns, double value)
{
	double elapsed_s = past->curve.last_ns ? seconds_between(past->curve.last_ns, time_ns) : NAN;
	double growth = past->has_value && value >= past->value ? value - past->value : NAN;
	past->has_value = true;
	past->value = value;
	return growth <= ENERGY_WATTS_MAX * elapsed_s ? growth : NAN;
}

static void take_meter(struct model *model, const struct record *record)
{
	struct energy_meter *meter = find_meter(&model->energy, record->figure.instance);
	int64_t time_ns = record->time_ns;
	if (!meter)
		return;
	struct meter_past *past = &model->priv->energy->meters[meter - model->energy.meters];
	int64_t before_ns = past->curve.last_ns;
	if (time_ns <= before_ns)
		return;
	double growth = energy_take_counter(past, time_ns, record->figure.value);
	meter->watts = growth / seconds_between(before_ns, time_ns);
	energy_curve_push(&past->curve, time_ns, growth);
	meter->joules = past->curve.joules;
	meter->seen_ns = time_ns;
	if (!meter->series)
		meter->series = series_new();
	series_push(meter->series, time_ns, meter->watts);
	if (model->energy.since_ns == 0)
		model->energy.since_ns = time_ns;
	model->priv->energy->is_new_in_set = true;
}

static void take_heat(struct model *model, const struct record *record)
{
	struct heat_sensor *sensor = find_sensor(&model->energy, record->figure.instance);
	if (!sensor || record->time_ns < sensor->seen_ns)
		return;
	if (record->figure.metric == METRIC_HEAT_LIMIT) {
		sensor->limit_celsius = record->figure.value;
		return;
	}
	sensor->celsius = record->figure.value;
	sensor->seen_ns = record->time_ns;
	if (!sensor->series && sensor - model->energy.sensors < SENSORS_WITH_SERIES)
		sensor->series = series_new();
	series_push(sensor->series, record->time_ns, sensor->celsius);
	model->priv->energy->is_new_in_set = true;
}

static void take_throttles(struct model *model, const struct record *record)
{
	struct energy_past *past = model->priv->energy;
	if (record->time_ns <= past->throttles_ns)
		return;
	double growth =
		past->throttles_ns && record->figure.value >= past->throttles ? record->figure.value - past->throttles : NAN;
	model->energy.throttles_per_s = growth / seconds_between(past->throttles_ns, record->time_ns);
	past->throttles = record->figure.value;
	past->throttles_ns = record->time_ns;
	model_note_growth(model, METRIC_HEAT_CPU_THROTTLES, 0, record->time_ns, growth);
}

static void take_clock(struct model *model, const struct record *record)
{
	if (record->time_ns <= model->priv->energy->clock_ns)
		return;
	model->energy.cpu_clock_hz = record->figure.value;
	model->priv->energy->clock_ns = record->time_ns;
	model->priv->energy->is_new_in_set = true;
}

bool model_take_energy_figure(struct model *model, const struct record *record)
{
	enum metric metric = record->figure.metric;
	bool is_ours = metric >= METRIC_ENERGY_USED && metric <= METRIC_HEAT_CPU_CLOCK;
	if (!model->priv->energy)
		return is_ours;
	switch (metric) {
	case METRIC_ENERGY_USED: take_meter(model, record); break;
	case METRIC_HEAT_TEMPERATURE:
	case METRIC_HEAT_LIMIT: take_heat(model, record); break;
	case METRIC_HEAT_CPU_THROTTLES: take_throttles(model, record); break;
	case METRIC_HEAT_CPU_CLOCK: take_clock(model, record); break;
	case METRIC_GPU_ENERGY:
	case METRIC_GPU_POWER: energy_take_gpu(model, record); break;
	default: break;
	}
	return is_ours;
}

/* -- derived figures -- */

double energy_total(double cpu, double gpu) { return isnan(cpu) ? gpu : isnan(gpu) ? cpu : cpu + gpu; }

double energy_co2_g(const struct energy *energy, double joules)
{
	return joules / JOULES_PER_KWH * energy->grid_g_per_kwh;
}

bool energy_is_metered(const struct energy *energy) { return energy->since_ns > 0; }

bool energy_has_heat(const struct energy *energy) { return energy->sensor_count > 0 || energy->cpu_clock_hz > 0; }

const struct heat_sensor *energy_hottest(const struct energy *energy)
{
	const struct heat_sensor *hottest = NULL;
	for (size_t i = 0; i < energy->sensor_count; i++) {
		const struct heat_sensor *sensor = &energy->sensors[i];
		if (heat_is_of_cpus(sensor->name) && !isnan(sensor->celsius) &&
			(!hottest || sensor->celsius > hottest->celsius))
			hottest = sensor;
	}
	return hottest;
}

static void push(struct series **series, int64_t *pushed_ns, int64_t time_ns, double value)
{
	if (time_ns <= *pushed_ns || isnan(value))
		return;
	if (!*series)
		*series = series_new();
	series_push(*series, time_ns, value);
	*pushed_ns = time_ns;
}

static void forget_stale(struct model *model)
{
	struct energy *energy = &model->energy;
	struct energy_past *past = model->priv->energy;
	for (size_t i = 0; i < energy->meter_count; i++)
		if (model->now_ns - energy->meters[i].seen_ns > METER_STALE_NS)
			energy->meters[i].watts = NAN;
	for (size_t i = 0; i < energy->sensor_count; i++)
		if (model->now_ns - energy->sensors[i].seen_ns > SENSOR_STALE_NS)
			energy->sensors[i].celsius = NAN;
	if (model->now_ns - past->throttles_ns > METER_STALE_NS)
		energy->throttles_per_s = NAN;
	if (model->now_ns - past->clock_ns > SENSOR_STALE_NS)
		energy->cpu_clock_hz = NAN;
}

/* Sums up the meters of the CPUs, without those that have disappeared. */
static void refresh_cpus(struct model *model)
{
	struct energy *energy = &model->energy;
	double watts = 0, joules = NAN;
	bool has_any = false;
	int64_t newest_ns = 0;
	for (size_t i = 0; i < energy->meter_count; i++) {
		const struct energy_meter *meter = &energy->meters[i];
		if (!energy_is_of_cpus(meter->name) || isnan(meter->joules))
			continue;
		joules = energy_total(joules, meter->joules);
		if (model->now_ns - meter->seen_ns > METER_GONE_NS)
			continue;
		has_any = true;
		watts += meter->watts;
		newest_ns = meter->seen_ns > newest_ns ? meter->seen_ns : newest_ns;
	}
	energy->cpu_watts = has_any ? watts : NAN;
	energy->cpu_joules = joules;
	push(&energy->cpu_watts_series, &model->priv->energy->cpu_pushed_ns, newest_ns, energy->cpu_watts);
}

/* gpu_watts is of the GPUs that the run uses now, gpu_joules of all that it has used. */
static void refresh_gpus(struct model *model)
{
	struct energy *energy = &model->energy;
	struct energy_past *past = model->priv->energy;
	double joules = NAN;
	int64_t newest_ns = 0;
	for (size_t i = 0; i < past->gpu_count; i++) {
		const struct gpu_meter *gpu = &past->gpus[i];
		if (!gpu->was_ours || gpu->counter.curve.count < 2)
			continue;
		joules = energy_total(joules, gpu->counter.curve.joules);
		newest_ns = gpu->counter.curve.last_ns > newest_ns ? gpu->counter.curve.last_ns : newest_ns;
	}
	energy->gpu_joules = joules;
	push(&energy->gpu_watts_series, &past->gpu_pushed_ns, newest_ns, energy->gpu_watts);
}

static void refresh_heat(struct model *model)
{
	struct energy *energy = &model->energy;
	struct energy_past *past = model->priv->energy;
	int64_t newest_ns = 0;
	energy->hottest_celsius = NAN;
	for (size_t i = 0; i < energy->sensor_count; i++) {
		const struct heat_sensor *sensor = &energy->sensors[i];
		if (!heat_is_of_cpus(sensor->name) || isnan(sensor->celsius))
			continue;
		energy->hottest_celsius = fmax(energy->hottest_celsius, sensor->celsius);
		newest_ns = sensor->seen_ns > newest_ns ? sensor->seen_ns : newest_ns;
	}
	push(&energy->temperature_series, &past->heat_pushed_ns, newest_ns, energy->hottest_celsius);
	push(&energy->cpu_clock_series, &past->clock_pushed_ns, past->clock_ns, energy->cpu_clock_hz);
}

void model_refresh_energy(struct model *model)
{
	struct energy *energy = &model->energy;
	struct energy_past *past = model->priv->energy;
	/* The last epoch may end together with the target. */
	bool is_due = past && (model->target_ended || model->now_ns >= past->renewed_ns + RENEW_NS);
	if (!past || (!past->is_new_in_set && !is_due))
		return;
	/* After the target's end the last figures stay on the screen. */
	if (!model->target_ended)
		forget_stale(model);
	if (is_due) {
		energy_refresh_runs(model);
		past->renewed_ns = model->now_ns;
	}
	if (past->is_new_in_set || !model->target_ended) {
		refresh_cpus(model);
		refresh_gpus(model);
		refresh_heat(model);
	}
	past->is_new_in_set = false;
	energy->co2_g = energy_co2_g(energy, energy_total(energy->cpu_joules, energy->gpu_joules));
}
