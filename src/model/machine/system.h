/* system.h: rates and shares of the machine and of the target's cgroup. NAN = unknown.
 *
 * Rates are between the last two readings; series hold the history. */
#ifndef PMTOP_MODEL_MACHINE_SYSTEM_H
#define PMTOP_MODEL_MACHINE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/statistics/series.h"
#include "src/samples/metric.h"

enum { DEVICES_MAX = 32, DEVICE_NAME_SIZE = 32 };

struct device { /* a disk or a network interface */
	char name[DEVICE_NAME_SIZE];
	int32_t instance;
	int64_t seen_ns;                            /* time of its latest figure */
	double read_bytes_per_s, write_bytes_per_s; /* network interfaces: received, sent */
	double reads_per_s, writes_per_s;           /* this and the following: disks only */
	double read_latency_s, write_latency_s;     /* mean over completed requests; NAN if there were none */
	double busy_ratio;                          /* share of the time with any request in flight */
	struct series *series;                      /* disks: busy_ratio; network interfaces: bytes/s, both directions */
	struct series *bytes_series;                /* disks: bytes/s, both directions */
};

#define SYSTEM_SERIES(X) \
	X(cpu_ratio) \
	X(io_wait_ratio) \
	X(memory_ratio) \
	X(swap_per_s) \
	X(pressure_cpu_ratio) \
	X(pressure_memory_ratio) \
	X(pressure_io_ratio) \
	X(throttled_ratio)

struct system {
	double now[METRIC_COUNT];           /* latest value of each metric of the machine and the cgroup */
	double cpu_ratio;                   /* 1 = all CPUs are busy */
	double io_wait_ratio, stolen_ratio; /* shares of all CPUs' time */
	double memory_ratio;                /* 1 − available ÷ total */
	/* swap_per_s: bytes/s, both directions */
	double swap_used_bytes, swap_in_bytes_per_s, swap_out_bytes_per_s, swap_per_s;
	/* PSI "some": share of the time in which at least one task waited */
	double pressure_cpu_ratio, pressure_memory_ratio, pressure_io_ratio;
	/* used share of /dev/shm, and of the file system of the target's working directory */
	double shm_ratio, space_ratio;
	double clock_step_s; /* size of the latest step of the clock; NAN = none was seen */
	int64_t clock_step_ns;
	double suspend_s; /* duration of the latest suspend; NAN = none was seen */
	int64_t suspend_ns;
	/* the cgroup */
	double throttled_ratio;     /* throttled share of the time, per CPU of the limit */
	double cgroup_cpu_ratio;    /* 1 = one CPU */
	double cgroup_memory_ratio; /* of its limit */
	bool owns_cgroup;           /* no other processes are in it, so its memory is the run's */
	size_t disk_count, network_count;
	struct device disks[DEVICES_MAX], networks[DEVICES_MAX];
#define SYSTEM_SERIES_MEMBER(name) struct series *name;
	struct {
		SYSTEM_SERIES(SYSTEM_SERIES_MEMBER)
	} series;
#undef SYSTEM_SERIES_MEMBER
};

/* -- within src/model -- */

struct model;
struct record;

void model_init_system(struct model *model);
void model_free_system(struct model *model);
void model_name_instance(struct model *model, const struct record *record);

/* False: not a figure of the machine or the cgroup. */
bool model_take_system_figure(struct model *model, const struct record *record);
/* After a set. */
void model_refresh_system(struct model *model);

#endif
