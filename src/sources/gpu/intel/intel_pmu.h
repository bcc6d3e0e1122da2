/* intel_pmu.h: how busy a whole GPU of i915 is, which it tells to perf alone (drivers/gpu/drm/i915/i915_pmu.c): each
 * engine's busy time, for those with CAP_PERFMON or where kernel.perf_event_paranoid is 0 or less. */
#ifndef PMTOP_SOURCES_GPU_INTEL_INTEL_PMU_H
#define PMTOP_SOURCES_GPU_INTEL_INTEL_PMU_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"

enum { INTEL_ENGINES_MAX = 32 };

struct intel_pmu {
	unsigned count; /* 0 = not open */
	int fds[INTEL_ENGINES_MAX];
	uint64_t busy_ns[INTEL_ENGINES_MAX];
	int64_t read_ns;   /* 0 = not yet */
	double busy_ratio; /* as of the last reading; NAN = not known */
};

/* perf_event_open(2) for all processes on one CPU, or what a test puts in its place: a descriptor, or −1 and errno. */
typedef int intel_pmu_opener(const struct perf_event_attr *attributes, int cpu);
int intel_pmu_system_opener(const struct perf_event_attr *attributes, int cpu);

/* `pci` "" or "0000:00:02.0": the machine's only. NOT_FOUND: this kernel does not count; DENIED: not for us. */
enum status intel_pmu_open(
	const char *sys_root, const char *pci, intel_pmu_opener *opener, struct intel_pmu *out, struct reason *why_not);
/* Share of the time since the reading before in which the busiest engine was busy; readings that follow too close give
 * the last one's. NAN = not known. */
double intel_pmu_read(struct intel_pmu *pmu, int64_t now_ns);
void intel_pmu_close(struct intel_pmu *pmu);

#endif
