/* intel_memory.h: how much memory of its own an Intel GPU has, and how much is used: the drivers tell it to programs
 * only (i915_drm.h, xe_drm.h), and the latter only to those with CAP_PERFMON. */
#ifndef PMTOP_SOURCES_GPU_INTEL_INTEL_MEMORY_H
#define PMTOP_SOURCES_GPU_INTEL_INTEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Of all regions of its own; NAN = not told. */
struct intel_memory {
	double total_bytes, used_bytes;
};

/* Asks the driver ("i915" or "xe") by its render node. False: it could not be asked, or has no memory of its own. */
bool intel_memory_ask(const char *driver, const char *node, struct intel_memory *out);
/* What the drivers answer, for tests. */
bool intel_memory_read_i915(const void *answer, size_t length, struct intel_memory *out);
bool intel_memory_read_xe(const void *answer, size_t length, struct intel_memory *out);

#endif
