/* intel_pmu.h: utilisation of a whole i915 GPU, which only perf reports (drivers/gpu/drm/i915/i915_pmu.c): each
 * engine's busy time, with CAP_PERFMON or if kernel.perf_event_paranoid is 0 or less. */
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
	int64_t read_ns;   /* 0 = never */
	double busy_ratio; /* at the last reading; NAN = unknown */
};

/* perf_event_open(2) for all processes on one CPU, or a test's replacement: a descriptor, or −1 and errno. */
typedef int intel_pmu_opener(const struct perf_event_attr *attributes, int cpu);
int intel_pmu_system_opener(const struct perf_event_attr *attributes, int cpu);

/* `pci` "" or "0000:00:02.0": the machine's only GPU. NOT_FOUND: this kernel has no counters; DENIED: no permission. */
enum status intel_pmu_open(
	const char *sys_root, const char *pci, intel_pmu_opener *opener, struct intel_pmu *out, struct reason *why_not);
/* Share of the time since the last reading in which the busiest engine was busy; readings too close together repeat
 * the last value. NAN = unknown. */
double intel_pmu_read(struct intel_pmu *pmu, int64_t now_ns);
void intel_pmu_close(struct intel_pmu *pmu);

#endif
