/* amd_metrics.h: amdgpu's file gpu_metrics: the firmware's table, whose layout depends on the version in its header
 * (drivers/gpu/drm/amd/include/kgd_pp_interface.h). Unknown versions are refused. */
#ifndef PMTOP_SOURCES_GPU_AMD_AMD_METRICS_H
#define PMTOP_SOURCES_GPU_AMD_AMD_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"

enum { AMD_METRICS_SIZE = 8192, AMD_RESIDENCIES = 5 };

struct amd_metrics {
	bool has_throttle; /* the current reasons */
	uint32_t throttle; /* bits 1 << enum gpu_throttle */
	/* how long each reason was active, in ticks of its own clock: a value that grew was active since */
	bool has_residencies;
	uint32_t residencies[AMD_RESIDENCIES];
	double energy_j; /* NAN = unknown */
};

/* UNSUPPORTED: an unknown version; DAMAGED: not such a table. */
enum status amd_metrics_parse(
	const unsigned char *bytes, size_t length, struct amd_metrics *out, struct reason *why_not);
/* The throttle reason of a residency. */
uint32_t amd_metrics_residency_reason(unsigned number);

#endif
