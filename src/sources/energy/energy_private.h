/* energy_private.h: the parts of the energy source: meters (energy_rapl.c), temperatures (energy_heat.c), throttle
 * counts and clock (energy_cpu.c).
 *
 * All files are below one root (/sys, or a fixture). Files that take long to read are read less often. */
#ifndef PMTOP_SOURCES_ENERGY_ENERGY_PRIVATE_H
#define PMTOP_SOURCES_ENERGY_ENERGY_PRIVATE_H

#include "src/base/clock.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"

enum {
	RAPL_METERS_MAX = 32,
	HEAT_READ_MAX = 64,
	CPU_PACKAGES_MAX = 16,
	CPU_CLOCKS_MAX = 8,
	CPUS_COUNTED = 8192,
	METER_NAME_SIZE = 48,
	METER_PATH_SIZE = 96,
};

/* System calls that a test replaces. */
struct energy_calls {
	int (*open_event)(uint32_t type, uint64_t config, int cpu); /* a descriptor, or −errno */
	int64_t (*clock_ns)(void);
};

/* How often a file or a group of files is read, given what a read costs. */
struct energy_pace {
	int64_t period_ns, next_ns;
};

struct rapl_meter {
	char name[METER_NAME_SIZE]; /* "package 0" */
	char path[METER_PATH_SIZE]; /* of its energy_uj; empty: read from `fd` */
	int fd;                     /* −1: none, or lost */
	uint32_t type;              /* of the event, as are the next two */
	uint64_t config;
	int cpu;
	double joules_per_count;
	uint64_t range; /* counts after which it wraps around; 0 = it does not */
	bool has_raw, is_emitted;
	uint64_t raw;
	int64_t read_ns, reopen_ns;
	double joules; /* since the first reading */
};

struct heat_file {
	char name[METER_NAME_SIZE];
	char path[METER_PATH_SIZE]; /* "class/hwmon/hwmon3/temp1" */
	double limit_celsius;       /* NAN */
	bool is_emitted;
	struct energy_pace pace;
};

enum energy_part { ENERGY_RAPL, ENERGY_HEAT, ENERGY_THROTTLES, ENERGY_CLOCK, ENERGY_PARTS };

struct energy_reader {
	struct target *target;
	const struct energy_calls *calls;
	int root_fd;
	bool is_emitted_missing[ENERGY_PARTS];
	int64_t probe_ns[ENERGY_PARTS]; /* when to search for a missing part again */
	size_t meter_count, sensor_count, package_count, clock_count;
	struct rapl_meter meters[RAPL_METERS_MAX];
	struct heat_file sensors[HEAT_READ_MAX];
	int package_cpus[CPU_PACKAGES_MAX], clock_cpus[CPU_CLOCKS_MAX];
	struct energy_pace clock_pace;
};

#endif
