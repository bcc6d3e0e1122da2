#include "src/sources/gpu/drm/hwmon.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"

enum { TEMPERATURES_MAX = 8, ENERGIES_MAX = 2, ENTRIES_MAX = 256 };

/* An energy counter moves in steps, so power is averaged over at least this time. */
#define POWER_OVER_NS NS_PER_S
/* No single GPU draws more. */
#define POWER_MAX 20000.0

static const struct sys_figure power_figures[] = {
	{ "power1_average", METRIC_GPU_POWER, 1e-6, 0, POWER_MAX },
	{ "power1_input", METRIC_GPU_POWER, 1e-6, 0, POWER_MAX },
	{ NULL, 0, 0, 0, 0 },
};

/* 0 means that no limit is set. */
static const struct sys_figure other_figures[] = {
	{ "power1_cap", METRIC_GPU_POWER_LIMIT, 1e-6, 1e-3, POWER_MAX },
	{ "power1_max", METRIC_GPU_POWER_LIMIT, 1e-6, 1e-3, POWER_MAX },
	{ "power2_max", METRIC_GPU_POWER_LIMIT, 1e-6, 1e-3, POWER_MAX },
	{ "freq1_input", METRIC_GPU_CLOCK, 1, 0, 2e10 },
	{ "freq2_input", METRIC_GPU_CLOCK_MEMORY, 1, 0, 2e10 },
	{ NULL, 0, 0, 0, 0 },
};

/* i915 has one hwmon folder for the GPU and one for each of its parts; the name of a part's ends in _gt…. */
static bool find_folder(const char *device_folder, char out[SYS_PATH_SIZE])
{
	char all[SYS_PATH_SIZE], path[SYS_PATH_SIZE], name[64];
	struct dirent *entry;
	out[0] = '\0';
	DIR *folder = sys_join(all, device_folder, "hwmon") ? opendir(all) : NULL;
	for (unsigned i = 0; folder && i < ENTRIES_MAX && (entry = readdir(folder)); i++) {
		if (strncmp(entry->d_name, "hwmon", 5) != 0 || !sys_join(path, all, entry->d_name) ||
			!sys_text(path, "name", name, sizeof name))
			continue;
		if (!out[0] || !strstr(name, "_gt"))
			memcpy(out, path, sizeof path);
	}
	if (folder)
		closedir(folder);
	return out[0] != '\0';
}

static bool is_readable(const char *folder, const char *name)
{
	double ignored;
	return sys_number(folder, name, &ignored);
}

/* Selects sensors by label: for the chip, amdgpu's "edge" and xe's "pkg" before the hottest spot; a sensor without
 * label is the chip's. */
static void find_temperatures(struct gpu_hwmon *hwmon)
{
	static const struct {
		const char *label;
		unsigned rank;
		bool is_memory;
	} labels[] = {
		{ "edge", 4, false },
		{ "pkg", 3, false },
		{ "", 2, false },
		{ "junction", 1, false },
		{ "mem", 2, true },
		{ "vram", 2, true },
		{ "hbm", 1, true },
	};
	unsigned best[2] = { 0, 0 };
	for (unsigned number = 1; number <= TEMPERATURES_MAX; number++) {
		char file[HWMON_NAME_SIZE], label[64] = "";
		snprintf(file, sizeof file, "temp%u_input", number);
		if (!is_readable(hwmon->folder, file))
			continue;
		snprintf(file, sizeof file, "temp%u_label", number);
		sys_text(hwmon->folder, file, label, sizeof label);
		for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
			if (strcmp(label, labels[i].label) != 0 || labels[i].rank <= best[labels[i].is_memory])
				continue;
			best[labels[i].is_memory] = labels[i].rank;
			*(labels[i].is_memory ? &hwmon->memory : &hwmon->chip) = number;
		}
	}
}

static void find_limit(struct gpu_hwmon *hwmon)
{
	static const char *const ends[] = { "crit", "max", "emergency" };
	for (size_t i = 0; hwmon->chip && !hwmon->limit[0] && i < sizeof ends / sizeof *ends; i++) {
		char file[HWMON_NAME_SIZE];
		snprintf(file, sizeof file, "temp%u_%s", hwmon->chip, ends[i]);
		if (is_readable(hwmon->folder, file))
			memcpy(hwmon->limit, file, sizeof file);
	}
}

void gpu_hwmon_refresh(const char *device_folder, struct gpu_hwmon *out)
{
	*out = (struct gpu_hwmon){ .power_w = NAN };
	if (!find_folder(device_folder, out->folder))
		return;
	find_temperatures(out);
	find_limit(out);
	out->has_power = is_readable(out->folder, "power1_average") || is_readable(out->folder, "power1_input");
	for (unsigned number = 1; number <= ENERGIES_MAX && !out->energy[0]; number++) {
		char file[HWMON_NAME_SIZE];
		snprintf(file, sizeof file, "energy%u_input", number);
		if (is_readable(out->folder, file))
			memcpy(out->energy, file, sizeof file);
	}
}

static void emit_energy(struct gpu_hwmon *hwmon, int32_t instance, int64_t now_ns, struct sample_set *out)
{
	double microjoules;
	if (!hwmon->energy[0] || !sys_number(hwmon->folder, hwmon->energy, &microjoules) || microjoules < 0)
		return;
	double joules = microjoules / 1e6;
	sample_set_figure(out, now_ns, METRIC_GPU_ENERGY, instance, joules);
	if (hwmon->has_power)
		return;
	if (!hwmon->energy_ns || joules < hwmon->energy_j || now_ns - hwmon->energy_ns >= POWER_OVER_NS) {
		bool follows = hwmon->energy_ns && joules >= hwmon->energy_j;
		hwmon->power_w = follows ? (joules - hwmon->energy_j) / seconds_between(hwmon->energy_ns, now_ns) : NAN;
		hwmon->energy_ns = now_ns;
		hwmon->energy_j = joules;
	}
	if (!isnan(hwmon->power_w) && hwmon->power_w <= POWER_MAX)
		sample_set_figure(out, now_ns, METRIC_GPU_POWER, instance, hwmon->power_w);
}

static void emit_temperature(const struct gpu_hwmon *hwmon, unsigned number, enum metric metric, int32_t instance,
	int64_t now_ns, struct sample_set *out)
{
	char file[HWMON_NAME_SIZE];
	snprintf(file, sizeof file, "temp%u_input", number);
	if (number)
		sys_emit(hwmon->folder, &(struct sys_figure){ file, metric, 1e-3, -100, 250 }, instance, now_ns, out);
}

void gpu_hwmon_emit(struct gpu_hwmon *hwmon, int32_t instance, int64_t now_ns, struct sample_set *out)
{
	if (!hwmon->folder[0])
		return;
	emit_temperature(hwmon, hwmon->chip, METRIC_GPU_TEMPERATURE, instance, now_ns, out);
	emit_temperature(hwmon, hwmon->memory, METRIC_GPU_TEMPERATURE_MEMORY, instance, now_ns, out);
	if (hwmon->limit[0])
		sys_emit(hwmon->folder, &(struct sys_figure){ hwmon->limit, METRIC_GPU_TEMPERATURE_LIMIT, 1e-3, 1, 250 },
			instance, now_ns, out);
	sys_emit_all(hwmon->folder, power_figures, instance, now_ns, out);
	sys_emit_all(hwmon->folder, other_figures, instance, now_ns, out);
	emit_energy(hwmon, instance, now_ns, out);
}
