/* Energy meters (RAPL) of CPU packages, of memory, and of the whole platform: from powercap's files, or from the
 * events of the PMU "power".
 *
 * Documentation/power/powercap/powercap.rst, Documentation/ABI/testing/sysfs-class-powercap,
 * sysfs-bus-event_source-devices-events. Zones "core" and "uncore" are parts of their package and are skipped, as
 * are those of intel-rapl-mmio, which are the same packages by another interface. */
#include "src/sources/energy/energy_rapl.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/sources/energy/energy.h"
#include "src/sources/energy/energy_private.h"

/* No meter draws more than the first: more means that the counter was reset. No package draws more than the second:
 * a counter that was not read for longer than its range lasts at that power may have wrapped around more than once. */
#define WATTS_IMPLAUSIBLE 20000.0
#define WATTS_OF_METER_MAX 600.0
#define REOPEN_NS (30 * NS_PER_S)

#define POWERCAP "class/powercap"
#define POWER_PMU "bus/event_source/devices/power"

/* What the search found, to explain why there is no meter. */
struct found {
	bool has_zones, has_nameless, is_zone_denied, has_pmu, is_event_denied;
};

static struct rapl_meter *add_meter(struct energy_reader *reader)
{
	if (reader->meter_count == RAPL_METERS_MAX)
		return NULL;
	struct rapl_meter *meter = &reader->meters[reader->meter_count++];
	*meter = (struct rapl_meter){ .fd = -1 };
	return meter;
}

/* -- powercap -- */

/* Turns "package-0-die-1" into "package 0 die 1". */
static void spell(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text);
	for (; *out; out++)
		if (*out == '-')
			*out = ' ';
}

/* The displayed name of a zone: "package 0", "dram 0", "platform"; false if pmtop does not read this kind of zone. */
static bool name_zone(
	const struct energy_reader *reader, const char *zone, struct found *found, char out[METER_NAME_SIZE])
{
	char kind[32], parent[32], above[ENERGY_NAME_MAX];
	if (energy_text(reader, kind, sizeof kind, POWERCAP "/%s/name", zone) != STATUS_OK) {
		found->has_nameless = true;
		return false;
	}
	found->has_zones = true;
	if (strcmp(kind, "psys") == 0)
		snprintf(out, METER_NAME_SIZE, "platform");
	else if (strncmp(kind, "package-", 8) == 0)
		spell(out, METER_NAME_SIZE, kind);
	else if (strcmp(kind, "dram") != 0)
		return false;
	if (strcmp(kind, "dram") != 0)
		return true;
	snprintf(above, sizeof above, "%s", zone);
	*strrchr(above, ':') = '\0';
	if (energy_text(reader, parent, sizeof parent, POWERCAP "/%s/name", above) != STATUS_OK ||
		strncmp(parent, "package-", 8) != 0)
		return false;
	snprintf(out, METER_NAME_SIZE, "dram ");
	spell(out + 5, METER_NAME_SIZE - 5, parent + 8);
	return true;
}

static bool add_zone(struct energy_reader *reader, const char *zone, const char *name, struct found *found)
{
	uint64_t raw, range = 0;
	enum status status = energy_number(reader, &raw, POWERCAP "/%s/energy_uj", zone);
	found->is_zone_denied |= status == STATUS_DENIED;
	if (status != STATUS_OK)
		return false;
	struct rapl_meter *meter = add_meter(reader);
	if (!meter)
		return false;
	energy_number(reader, &range, POWERCAP "/%s/max_energy_range_uj", zone);
	snprintf(meter->name, sizeof meter->name, "%s", name);
	snprintf(meter->path, sizeof meter->path, POWERCAP "/%s/energy_uj", zone);
	meter->range = range;
	meter->joules_per_count = 1e-6;
	return true;
}

/* Adds all zones. Whether any package can be read. */
static bool find_zones(struct energy_reader *reader, struct found *found)
{
	char zones[ENERGY_NAMES_MAX][ENERGY_NAME_MAX], name[METER_NAME_SIZE];
	bool has_package = false;
	size_t count = energy_names(reader, POWERCAP, "intel-rapl:", zones);
	for (size_t i = 0; i < count; i++)
		if (name_zone(reader, zones[i], found, name) && add_zone(reader, zones[i], name, found))
			has_package |= strncmp(name, "package", 7) == 0;
	return has_package;
}

/* -- the PMU "power" -- */

struct power_event {
	const char *event, *name;
	bool is_of_machine;
};

struct opening {
	struct energy_reader *reader;
	const struct power_event *event;
	struct found *found;
	uint32_t type;
	uint64_t config;
	double joules_per_count;
	size_t opened;
};

static bool open_on_cpu(void *context, int cpu)
{
	struct opening *opening = context;
	struct energy_reader *reader = opening->reader;
	uint64_t package = opening->opened;
	int fd = reader->calls->open_event(opening->type, opening->config, cpu);
	if (fd < 0) {
		opening->found->is_event_denied |= status_of_errno(-fd) == STATUS_DENIED;
		return false;
	}
	struct rapl_meter *meter = add_meter(reader);
	if (!meter) {
		close(fd);
		return false;
	}
	energy_number(reader, &package, "devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
	snprintf(meter->name, sizeof meter->name, opening->event->is_of_machine ? "%s" : "%s %u", opening->event->name,
		(unsigned)package);
	meter->fd = fd;
	meter->type = opening->type;
	meter->config = opening->config;
	meter->cpu = cpu;
	meter->joules_per_count = opening->joules_per_count;
	opening->opened++;
	return !opening->event->is_of_machine;
}

/* Parses "event=0x02" and the scale, in joules per count. */
static bool read_event(const struct energy_reader *reader, const struct power_event *event, struct opening *opening)
{
	char text[64], *end;
	if (energy_text(reader, text, sizeof text, POWER_PMU "/events/%s", event->event) != STATUS_OK ||
		strncmp(text, "event=", 6) != 0)
		return false;
	opening->config = strtoull(text + 6, &end, 0);
	if (end == text + 6 || *end ||
		energy_text(reader, text, sizeof text, POWER_PMU "/events/%s.scale", event->event) != STATUS_OK)
		return false;
	opening->joules_per_count = strtod(text, &end);
	return end != text && !*end && isfinite(opening->joules_per_count) && opening->joules_per_count > 0 &&
		opening->joules_per_count < 1;
}

static bool find_events(struct energy_reader *reader, struct found *found)
{
	static const struct power_event events[] = {
		{ "energy-pkg", "package", false },
		{ "energy-ram", "dram", false },
		{ "energy-psys", "platform", true },
	};
	char cpus[256];
	uint64_t type;
	bool has_package = false;
	if (energy_number(reader, &type, POWER_PMU "/type") != STATUS_OK || type > INT32_MAX)
		return false;
	found->has_pmu = true;
	if (energy_text(reader, cpus, sizeof cpus, POWER_PMU "/cpumask") != STATUS_OK)
		snprintf(cpus, sizeof cpus, "0");
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		struct opening opening = { .reader = reader, .event = &events[i], .found = found, .type = (uint32_t)type };
		if (!read_event(reader, &events[i], &opening))
			continue;
		energy_cpu_list(cpus, open_on_cpu, &opening);
		has_package |= i == 0 && opening.opened > 0;
	}
	return has_package;
}

/* -- why there is none -- */

static bool is_virtual(const struct energy_reader *reader)
{
	char path[4096], text[8192];
	size_t length;
	int written = snprintf(path, sizeof path, "%s/cpuinfo", reader->target->proc_root);
	return written > 0 && (size_t)written < sizeof path &&
		file_read(AT_FDCWD, path, text, sizeof text, &length) == STATUS_OK && strstr(text, " hypervisor");
}

static void paranoid_level(const struct energy_reader *reader, char *out, size_t size)
{
	char path[4096];
	size_t length;
	int written = snprintf(path, sizeof path, "%s/sys/kernel/perf_event_paranoid", reader->target->proc_root);
	if (written < 0 || (size_t)written >= sizeof path || file_read(AT_FDCWD, path, out, size, &length) != STATUS_OK)
		snprintf(out, size, "unknown");
	out[strcspn(out, "\n")] = '\0';
}

static enum status explain(const struct energy_reader *reader, const struct found *found, struct reason *why_not)
{
	char level[16];
	paranoid_level(reader, level, sizeof level);
	if (found->is_zone_denied && found->is_event_denied)
		return reason_set(why_not, STATUS_DENIED,
			"sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj (until the next boot), or sudo setcap "
			"cap_perfmon=ep on pmtop",
			"energy_uj (RAPL) is readable by root only, and perf_event_paranoid is %s, not 0", level);
	if (found->is_zone_denied)
		return reason_set(why_not, STATUS_DENIED,
			"sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj (until the next boot)",
			"energy_uj (RAPL) is readable by root only");
	if (found->is_event_denied)
		return reason_set(why_not, STATUS_DENIED,
			"sudo sysctl kernel.perf_event_paranoid=0, or sudo setcap cap_perfmon=ep on pmtop",
			"no permission for power/energy-pkg/: perf_event_paranoid is %s, not 0", level);
	if (found->has_nameless && !found->has_zones)
		return reason_set(
			why_not, STATUS_NOT_FOUND, "run pmtop on the host", "this container hides /sys/class/powercap");
	if (is_virtual(reader))
		return reason_set(
			why_not, STATUS_NOT_FOUND, "", "a virtual machine has no RAPL meters: only its host can read them");
	if (found->has_zones || found->has_pmu)
		return reason_set(why_not, STATUS_NOT_FOUND, "", "RAPL has no package meter on this machine");
	return reason_set(why_not, STATUS_NOT_FOUND, "sudo modprobe intel_rapl_msr, if the CPU has RAPL",
		"this machine has no RAPL meter");
}

enum status energy_find_meters(struct energy_reader *reader, struct reason *why_not)
{
	struct found found = { 0 };
	if (reader->meter_count)
		return STATUS_OK;
	if (find_zones(reader, &found))
		return STATUS_OK;
	/* Without a package, the other zones say little: the meters come from one interface or the other, never mixed. */
	energy_close_meters(reader);
	if (find_events(reader, &found))
		return STATUS_OK;
	energy_close_meters(reader);
	return explain(reader, &found, why_not);
}

/* -- reading -- */

static bool read_event_count(
	const struct energy_reader *reader, struct rapl_meter *meter, int64_t now_ns, uint64_t *raw)
{
	if (meter->fd < 0 && now_ns >= meter->reopen_ns) {
		int fd = reader->calls->open_event(meter->type, meter->config, meter->cpu);
		meter->fd = fd < 0 ? -1 : fd;
		meter->reopen_ns = now_ns + REOPEN_NS;
	}
	if (meter->fd < 0)
		return false;
	if (read(meter->fd, raw, sizeof *raw) == (ssize_t)sizeof *raw)
		return true;
	/* The CPU went offline, and its event stopped counting. */
	close(meter->fd);
	meter->fd = -1;
	meter->reopen_ns = now_ns + REOPEN_NS;
	return false;
}

/* The growth in counts; negative: unknown. */
static double growth(const struct rapl_meter *meter, uint64_t raw, double elapsed_s)
{
	double counts = raw >= meter->raw ? (double)(raw - meter->raw)
		: meter->range >= meter->raw  ? (double)(meter->range - meter->raw) + (double)raw
									  : -1;
	if (elapsed_s <= 0 || counts * meter->joules_per_count > WATTS_IMPLAUSIBLE * elapsed_s)
		return -1;
	return meter->range && (double)meter->range * meter->joules_per_count < WATTS_OF_METER_MAX * elapsed_s ? -1
																										   : counts;
}

static void take(struct rapl_meter *meter, uint64_t raw, int64_t now_ns)
{
	double counts = meter->has_raw ? growth(meter, raw, seconds_between(meter->read_ns, now_ns)) : 0;
	/* Joules that fall to 0 show later layers that the counter was reset. */
	meter->joules = counts < 0 ? 0 : meter->joules + counts * meter->joules_per_count;
	meter->raw = raw;
	meter->has_raw = true;
	meter->read_ns = now_ns;
}

bool energy_read_meters(struct energy_reader *reader, int64_t now_ns, struct sample_set *out)
{
	bool has_any = false;
	for (size_t i = 0; i < reader->meter_count; i++) {
		struct rapl_meter *meter = &reader->meters[i];
		uint64_t raw = 0;
		bool is_read = meter->path[0] ? energy_number(reader, &raw, "%s", meter->path) == STATUS_OK
									  : read_event_count(reader, meter, now_ns, &raw);
		if (!is_read)
			continue;
		has_any = true;
		take(meter, raw, now_ns);
		if (!meter->is_emitted)
			energy_name(out, now_ns, METRIC_ENERGY_USED, (int32_t)i, meter->name);
		meter->is_emitted = true;
		sample_set_figure(out, now_ns, METRIC_ENERGY_USED, (int32_t)i, meter->joules);
	}
	return has_any;
}

void energy_close_meters(struct energy_reader *reader)
{
	for (size_t i = 0; i < reader->meter_count; i++)
		if (reader->meters[i].fd >= 0)
			close(reader->meters[i].fd);
	reader->meter_count = 0;
}
