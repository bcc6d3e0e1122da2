#include "src/export/json/json_energy.h"

#include "src/export/figures/scope.h"
#include "src/export/json/json_events.h"

static void write_sums(struct json *json, const struct energy *energy, int64_t realtime_offset_ns)
{
	const struct {
		const char *key;
		double value;
	} rows[] = {
		{ "power_w", energy_total(energy->cpu_watts, energy->gpu_watts) },
		{ "cpu_power_w", energy->cpu_watts },
		{ "gpu_power_w", energy->gpu_watts },
		{ "energy_j", energy_total(energy->cpu_joules, energy->gpu_joules) },
		{ "cpu_energy_j", energy->cpu_joules },
		{ "gpu_energy_j", energy->gpu_joules },
		{ "per_batch_j", energy->joules_per_batch },
		{ "cpu_per_batch_j", energy->cpu_joules_per_batch },
		{ "gpu_per_batch_j", energy->gpu_joules_per_batch },
		{ "per_sample_j", energy->joules_per_sample },
		{ "grid_g_per_kwh", energy->grid_g_per_kwh },
		{ "co2_g", energy->co2_g },
		{ "co2_per_epoch_g", energy->co2_g_per_epoch },
	};
	json_integer(json, "since_ns", energy->since_ns + realtime_offset_ns);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		json_number(json, rows[i].key, rows[i].value);
}

static void write_epochs(struct json *json, const struct model *model, unsigned run)
{
	const struct energy *energy = &model->energy;
	size_t cut = json_cut(json, energy->epoch_count);
	json_open_array(json, "epochs");
	for (size_t i = cut; i < energy->epoch_count; i++) {
		const struct epoch_energy *used = &energy->epochs[i];
		const struct epoch *epoch = used->run == run ? scope_epoch(&model->runs[run], used->ordinal) : NULL;
		double joules = energy_total(used->cpu_joules, used->gpu_joules);
		if (!epoch)
			continue;
		json_open_object(json, NULL);
		json_epoch_index(json, "index", epoch->index);
		json_epoch_index(json, "ordinal", epoch->index == EPOCH_UNKNOWN ? EPOCH_UNKNOWN : epoch->ordinal);
		json_bool(json, "is_whole", used->is_whole);
		json_number(json, "energy_j", joules);
		json_number(json, "cpu_energy_j", used->cpu_joules);
		json_number(json, "gpu_energy_j", used->gpu_joules);
		json_number(json, "co2_g", energy_co2_g(energy, joules));
		json_close_object(json);
	}
	json_close_array(json);
	json_left_out(json, "epochs_left_out", cut);
}

static void write_meters(struct json *json, const struct energy *energy)
{
	json_open_array(json, "meters");
	for (size_t i = 0; i < energy->meter_count; i++) {
		json_open_object(json, NULL);
		json_text(json, "name", energy->meters[i].name);
		json_number(json, "power_w", energy->meters[i].watts);
		json_number(json, "energy_j", energy->meters[i].joules);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_heat(struct json *json, const struct energy *energy)
{
	json_number(json, "cpu_temperature_c", energy->hottest_celsius);
	json_number(json, "cpu_clock_hz", energy->cpu_clock_hz);
	json_number(json, "cpu_throttles_per_s", energy->throttles_per_s);
	json_open_array(json, "temperatures");
	for (size_t i = 0; i < energy->sensor_count; i++) {
		json_open_object(json, NULL);
		json_text(json, "name", energy->sensors[i].name);
		json_number(json, "temperature_c", energy->sensors[i].celsius);
		json_number(json, "limit_c", energy->sensors[i].limit_celsius);
		json_close_object(json);
	}
	json_close_array(json);
}

void json_energy(struct json *json, const struct model *model, int run, int64_t realtime_offset_ns)
{
	const struct energy *energy = &model->energy;
	bool is_metered = energy_is_metered(energy), has_heat = energy_has_heat(energy);
	if (!is_metered && !has_heat)
		return;
	json_open_object(json, "energy");
	if (is_metered) {
		write_sums(json, energy, realtime_offset_ns);
		write_meters(json, energy);
	}
	if (is_metered && run >= 0 && (unsigned)run < model->run_count)
		write_epochs(json, model, (unsigned)run);
	if (has_heat)
		write_heat(json, energy);
	json_close_object(json);
}
