/* amd_sensors.h: a card's product name and sensors from libdrm_amdgpu, opened only if sysfs misses some of them. */
#ifndef PMTOP_SOURCES_GPU_AMD_AMD_SENSORS_H
#define PMTOP_SOURCES_GPU_AMD_AMD_SENSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"

struct amd_sensors;

/* `node` is its render node. DENIED: no permission to open it. */
enum status amd_sensors_open(const char *node, struct amd_sensors **out, struct reason *why_not);
void amd_sensors_close(struct amd_sensors *sensors);
/* NULL: unknown. */
const char *amd_sensors_name(const struct amd_sensors *sensors);
bool amd_sensors_is_apu(const struct amd_sensors *sensors);
/* Emits the figures that the records from `from` on do not include. */
void amd_sensors_emit(
	const struct amd_sensors *sensors, size_t from, int32_t instance, int64_t now_ns, struct sample_set *out);

#endif
