/* amd_sensors.h: what libdrm_amdgpu tells of a card where sysfs does not: its name in the shop, and its sensors. Opened
 * only for a card that lacks something. */
#ifndef PMTOP_SOURCES_GPU_AMD_AMD_SENSORS_H
#define PMTOP_SOURCES_GPU_AMD_AMD_SENSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"

struct amd_sensors;

/* `node` is its render node. DENIED: it may not be opened by us. */
enum status amd_sensors_open(const char *node, struct amd_sensors **out, struct reason *why_not);
void amd_sensors_close(struct amd_sensors *sensors);
/* NULL: not known. */
const char *amd_sensors_name(const struct amd_sensors *sensors);
bool amd_sensors_is_apu(const struct amd_sensors *sensors);
/* Those figures that records from `from` on do not have. */
void amd_sensors_emit(
	const struct amd_sensors *sensors, size_t from, int32_t instance, int64_t now_ns, struct sample_set *out);

#endif
