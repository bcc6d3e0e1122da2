/* system.h: the machine and the cgroup that the target runs in, as rates and shares. Unknown is NAN.
 *
 * A counter's rate is over its last two readings; series keep their history, as everything in series.h. */
#ifndef PMTOP_MODEL_MACHINE_SYSTEM_H
#define PMTOP_MODEL_MACHINE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/statistics/series.h"
#include "src/samples/metric.h"

enum { DEVICES_MAX = 32, DEVICE_NAME_SIZE = 32 };

struct device { /* a disk, or a network interface */
	char name[DEVICE_NAME_SIZE];
	int32_t instance;
	int64_t seen_ns;                            /* its newest figure */
	double read_bytes_per_s, write_bytes_per_s; /* of a network interface: received, sent */
	double reads_per_s, writes_per_s;           /* disks only, as below */
	double read_latency_s, write_latency_s;     /* means of the requests that ended; NAN where none did */
	double busy_ratio;                          /* share of the time with any request in flight */
	struct series *series;                      /* of a disk busy_ratio, of an interface both directions' bytes/s */
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
	double now[METRIC_COUNT];           /* last value of each metric of the machine and the cgroup */
	double cpu_ratio;                   /* 1 = every CPU is busy */
	double io_wait_ratio, stolen_ratio; /* shares of all CPUs' time */
	double memory_ratio;                /* 1 − available ÷ total */
	/* swap_per_s: both directions, bytes */
	double swap_used_bytes, swap_in_bytes_per_s, swap_out_bytes_per_s, swap_per_s;
	/* share of the time in which some task waited for it */
	double pressure_cpu_ratio, pressure_memory_ratio, pressure_io_ratio;
	/* used share of /dev/shm, and of the file system of the target's working directory */
	double shm_ratio, space_ratio;
	double clock_step_s; /* by how much the newest step moved the clock; NAN = none was seen */
	int64_t clock_step_ns;
	double suspend_s; /* how long the newest suspend took; NAN = none was seen */
	int64_t suspend_ns;
	/* the cgroup */
	double throttled_ratio;     /* share of the time in which it waited for its quota, per CPU of its limit */
	double cgroup_cpu_ratio;    /* 1 = one CPU */
	double cgroup_memory_ratio; /* of its limit */
	bool owns_cgroup;           /* nobody else is in it: its memory is the run's */
	size_t disk_count, network_count;
	struct device disks[DEVICES_MAX], networks[DEVICES_MAX];
#define SYSTEM_SERIES_MEMBER(name) struct series *name;
	struct {
		SYSTEM_SERIES(SYSTEM_SERIES_MEMBER)
	} series;
#undef SYSTEM_SERIES_MEMBER
};

#endif
