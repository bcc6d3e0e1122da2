/* perf_opener.h: how counters are named, opened and read: by libpfm4 and the kernel (perf.c), or by a test's
 * replacement.
 *
 * All calls come from the sampler thread. Interface: perf_event_open(2). */
#ifndef PMTOP_SOURCES_PERF_PERF_OPENER_H
#define PMTOP_SOURCES_PERF_PERF_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"

/* The fields of perf_event_attr that select one counter. */
struct perf_code {
	uint32_t type; /* PERF_TYPE_…, or a PMU's number */
	uint64_t config, config1, config2;
	bool no_user, no_kernel;
};

struct perf_opener {
	/* Returns a descriptor, or −errno. Counts one thread on any CPU (cpu −1; tid 0 = the caller), or everything on
	 * one CPU (tid −1). `group` −1: the counter leads a new group. A read of the leader returns the whole group:
	 * struct perf_reading. */
	int (*open)(void *context, const struct perf_code *code, pid_t tid, int cpu, int group);
	/* Returns bytes, or −errno. */
	ssize_t (*read)(void *context, int fd, void *out, size_t size);
	void (*close)(void *context, int fd);
	/* Encodes an event by its libpfm4 name. NOT_FOUND: libpfm4 does not know it; UNSUPPORTED: libpfm4 is not
	 * installed. */
	enum status (*encode)(void *context, const char *name, struct perf_code *out, struct reason *why_not);
	void *context;
};

enum { PERF_GROUP_MAX = 8 };

struct perf_reading {
	uint64_t count;                  /* of values */
	uint64_t enabled_ns, running_ns; /* while the thread ran; while its group was counted */
	uint64_t values[PERF_GROUP_MAX];
};

/* False if the data read are not those of a group of `count` counters. */
static inline bool perf_reading_fits(const struct perf_reading *reading, ssize_t size, unsigned count)
{
	return size >= (ssize_t)offsetof(struct perf_reading, values) && reading->count == count &&
		size >= (ssize_t)(offsetof(struct perf_reading, values) + count * sizeof *reading->values);
}

#endif
