/* perf_opener.h: how counters are named, opened and read: by libpfm4 and the kernel (perf.c), or by a test in their
 * place.
 *
 * All calls come from the sampler thread. Interface: perf_event_open(2). */
#ifndef PMTOP_SOURCES_PERF_PERF_OPENER_H
#define PMTOP_SOURCES_PERF_PERF_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"

/* What perf_event_attr says of one counter. */
struct perf_code {
	uint32_t type; /* PERF_TYPE_…, or a PMU's number */
	uint64_t config, config1, config2;
	bool no_user, no_kernel;
};

struct perf_opener {
	/* A descriptor, or −errno. A thread wherever it runs (cpu −1; tid 0 = our own), or all that runs on a CPU (tid −1).
	 * `group` −1: it leads a group of its own. A read of the leader gives the whole group: struct perf_reading. */
	int (*open)(void *context, const struct perf_code *code, pid_t tid, int cpu, int group);
	/* Bytes, or −errno. */
	ssize_t (*read)(void *context, int fd, void *out, size_t size);
	void (*close)(void *context, int fd);
	/* An event by the name that libpfm4 has for it. NOT_FOUND: it knows none; UNSUPPORTED: there is no libpfm4. */
	enum status (*encode)(void *context, const char *name, struct perf_code *out, struct reason *why_not);
	void *context;
};

enum { PERF_GROUP_MAX = 8 };

struct perf_reading {
	uint64_t count;                  /* of values */
	uint64_t enabled_ns, running_ns; /* while the thread ran; while its group was really counted */
	uint64_t values[PERF_GROUP_MAX];
};

/* False where what was read is no reading of a group of so many. */
static inline bool perf_reading_fits(const struct perf_reading *reading, ssize_t size, unsigned count)
{
	return size >= (ssize_t)offsetof(struct perf_reading, values) && reading->count == count &&
		size >= (ssize_t)(offsetof(struct perf_reading, values) + count * sizeof *reading->values);
}

/* "ENOENT" and the like, for those that perf_event_open gives. */
const char *perf_errno_name(int error);

#endif
