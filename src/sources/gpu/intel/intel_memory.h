/* intel_memory.h: total and used device memory of an Intel GPU. The drivers report it by ioctl only (i915_drm.h,
 * xe_drm.h), and the used part only with CAP_PERFMON. */
#ifndef PMTOP_SOURCES_GPU_INTEL_INTEL_MEMORY_H
#define PMTOP_SOURCES_GPU_INTEL_INTEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* The sum of its device memory regions; NAN = unknown. */
struct intel_memory {
	double total_bytes, used_bytes;
};

/* Queries the driver ("i915" or "xe") through its render node. False: the query failed, or it has no memory of its
 * own. */
bool intel_memory_query(const char *driver, const char *node, struct intel_memory *out);
/* Parse the drivers' answers; public for tests. */
bool intel_memory_read_i915(const void *answer, size_t length, struct intel_memory *out);
bool intel_memory_read_xe(const void *answer, size_t length, struct intel_memory *out);

#endif
