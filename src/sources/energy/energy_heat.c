/* Temperatures of the machine, from hwmon (Documentation/hwmon/sysfs-interface.rst): a few sensors of each chip that
 * is known to have meaningful ones. */
#include "src/sources/energy/energy_heat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/sources/energy/energy.h"
#include "src/sources/energy/energy_private.h"

#define HWMON "class/hwmon"
#define EACH_READING_NS (900 * NS_PER_MS)
#define CELSIUS_MIN (-50.0)
#define CELSIUS_MAX 200.0

enum { CHIP_FILES_MAX = 32 };

/* In the order of emission. `labels`: if a chip has a sensor whose label begins like this, only those sensors are
 * read, because the others are parts of it. Not read: GPUs (their drivers report more), drivetemp (reading may keep
 * a disk from sleeping) and board chips whose inputs may be unconnected. */
static const struct chip {
	const char *name;
	const char *labels[2];
	size_t max;
	int64_t period_ns;
} chips[] = {
	{ "coretemp", { "Package id" }, 16, EACH_READING_NS },
	{ "k10temp", { "Tdie", "Tctl" }, 16, EACH_READING_NS },
	{ "zenpower", { "Tdie", "Tctl" }, 16, EACH_READING_NS },
	{ "cpu_thermal", { NULL }, 4, EACH_READING_NS },
	{ "soc_thermal", { NULL }, 4, EACH_READING_NS },
	{ "apm_xgene", { "SoC" }, 4, 5 * NS_PER_S },
	{ "nvme", { "Composite" }, 2, 5 * NS_PER_S },
	{ "jc42", { NULL }, 1, 10 * NS_PER_S },
	{ "spd5118", { NULL }, 1, 10 * NS_PER_S },
	{ "acpitz", { NULL }, 2, 10 * NS_PER_S },
};

/* -- search -- */

static bool is_name_used(const struct energy_reader *reader, const char *name)
{
	for (size_t i = 0; i < reader->sensor_count; i++)
		if (strcmp(reader->sensors[i].name, name) == 0)
			return true;
	return false;
}

/* Names a sensor "k10temp Tctl", and that of a second such chip "k10temp Tctl 2". */
static void name_sensor(
	const struct energy_reader *reader, struct heat_file *sensor, const char *chip, const char *label)
{
	char name[METER_NAME_SIZE];
	snprintf(name, sizeof name, "%.15s%s%.26s", chip, *label ? " " : "", label);
	snprintf(sensor->name, sizeof sensor->name, "%s", name);
	for (unsigned number = 2; is_name_used(reader, sensor->name); number++)
		snprintf(sensor->name, sizeof sensor->name, "%.42s %u", name, number % 1000);
}

static double read_limit(const struct energy_reader *reader, const char *path)
{
	static const char *const kinds[] = { "crit", "max" };
	uint64_t limit;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (energy_number(reader, &limit, "%s_%s", path, kinds[i]) == STATUS_OK && limit > 0 &&
			(double)limit < CELSIUS_MAX * 1000)
			return (double)limit / 1000;
	return NAN;
}

static void add_sensor(
	struct energy_reader *reader, const struct chip *chip, const char *folder, unsigned number, const char *label)
{
	if (reader->sensor_count == HEAT_READ_MAX)
		return;
	struct heat_file *sensor = &reader->sensors[reader->sensor_count];
	*sensor = (struct heat_file){ .pace = { chip->period_ns, 0 } };
	name_sensor(reader, sensor, chip->name, label);
	snprintf(sensor->path, sizeof sensor->path, HWMON "/%s/temp%u", folder, number);
	sensor->limit_celsius = read_limit(reader, sensor->path);
	reader->sensor_count++;
}

struct chip_file {
	unsigned number;
	char label[32];
};

static size_t list_files(const struct energy_reader *reader, const char *folder, struct chip_file files[CHIP_FILES_MAX])
{
	char names[ENERGY_NAMES_MAX][ENERGY_NAME_MAX], path[METER_PATH_SIZE];
	size_t count = 0;
	snprintf(path, sizeof path, HWMON "/%s", folder);
	size_t name_count = energy_names(reader, path, "temp", names);
	for (size_t i = 0; i < name_count && count < CHIP_FILES_MAX; i++) {
		char *end;
		unsigned long number = strtoul(names[i] + 4, &end, 10);
		if (strcmp(end, "_input") != 0 || number > 999)
			continue;
		files[count].number = (unsigned)number;
		if (energy_text(reader, files[count].label, sizeof files[count].label, "%s/temp%lu_label", path, number) !=
			STATUS_OK)
			files[count].label[0] = '\0';
		count++;
	}
	return count;
}

static bool has_label(const struct chip_file *file, const char *label)
{
	return !label || strncmp(file->label, label, strlen(label)) == 0;
}

static void add_chip(struct energy_reader *reader, const struct chip *chip, const char *folder)
{
	struct chip_file files[CHIP_FILES_MAX];
	const char *label = NULL;
	size_t count = list_files(reader, folder, files), added = 0;
	for (size_t k = 0; k < sizeof chip->labels / sizeof *chip->labels && !label; k++)
		for (size_t i = 0; chip->labels[k] && i < count && !label; i++)
			label = has_label(&files[i], chip->labels[k]) ? chip->labels[k] : NULL;
	for (size_t i = 0; i < count && added < chip->max; i++) {
		if (!has_label(&files[i], label))
			continue;
		add_sensor(reader, chip, folder, files[i].number, files[i].label);
		added++;
	}
}

enum status energy_find_sensors(struct energy_reader *reader, struct reason *why_not)
{
	char folders[ENERGY_NAMES_MAX][ENERGY_NAME_MAX], names[ENERGY_NAMES_MAX][16];
	if (reader->sensor_count)
		return STATUS_OK;
	size_t count = energy_names(reader, HWMON, "hwmon", folders);
	for (size_t i = 0; i < count; i++)
		if (energy_text(reader, names[i], sizeof names[i], HWMON "/%s/name", folders[i]) != STATUS_OK)
			names[i][0] = '\0';
	for (size_t k = 0; k < sizeof chips / sizeof *chips; k++)
		for (size_t i = 0; i < count; i++)
			if (strcmp(names[i], chips[k].name) == 0)
				add_chip(reader, &chips[k], folders[i]);
	if (reader->sensor_count)
		return STATUS_OK;
	if (count)
		return reason_set(why_not, STATUS_NOT_FOUND, "load its driver (sudo sensors-detect)",
			"the kernel's sensors include none of a CPU");
	return reason_set(why_not, STATUS_NOT_FOUND,
		"sudo modprobe coretemp (Intel) or k10temp (AMD); virtual machines have none",
		"the kernel has no temperature sensor");
}

/* -- reading -- */

/* Millidegrees, which may be negative. */
static bool read_celsius(const struct energy_reader *reader, const struct heat_file *sensor, double *out)
{
	char text[32], *end;
	if (energy_text(reader, text, sizeof text, "%s_input", sensor->path) != STATUS_OK)
		return false;
	long millidegrees = strtol(text, &end, 10);
	if (end == text || *end)
		return false;
	*out = (double)millidegrees / 1000;
	return *out > CELSIUS_MIN && *out < CELSIUS_MAX;
}

bool energy_read_sensors(struct energy_reader *reader, int64_t now_ns, struct sample_set *out)
{
	bool has_any = false;
	for (size_t i = 0; i < reader->sensor_count; i++) {
		struct heat_file *sensor = &reader->sensors[i];
		double celsius;
		if (now_ns < sensor->pace.next_ns) {
			has_any |= sensor->is_emitted;
			continue;
		}
		int64_t begin_ns = reader->calls->clock_ns();
		bool is_read = read_celsius(reader, sensor, &celsius);
		energy_paced(&sensor->pace, now_ns, reader->calls->clock_ns() - begin_ns);
		if (!is_read)
			continue;
		has_any = true;
		if (!sensor->is_emitted)
			energy_name(out, now_ns, METRIC_HEAT_TEMPERATURE, (int32_t)i, sensor->name);
		sensor->is_emitted = true;
		sample_set_figure(out, now_ns, METRIC_HEAT_TEMPERATURE, (int32_t)i, celsius);
		if (!isnan(sensor->limit_celsius))
			sample_set_figure(out, now_ns, METRIC_HEAT_LIMIT, (int32_t)i, sensor->limit_celsius);
	}
	return has_any;
}
