/* hwmon.h: a GPU's sensors in hwmon (Linux Documentation/hwmon/sysfs-interface.rst): temperature, power, energy,
 * clocks. */
#ifndef PMTOP_SOURCES_GPU_DRM_HWMON_H
#define PMTOP_SOURCES_GPU_DRM_HWMON_H

#include <stdbool.h>
#include <stdint.h>

#include "src/sources/gpu/sys_file.h"

enum { HWMON_NAME_SIZE = 24 };

struct gpu_hwmon {
	char folder[SYS_PATH_SIZE];   /* "" = the driver has none */
	unsigned chip, memory;        /* numbers of these temperatures; 0 = none */
	char limit[HWMON_NAME_SIZE];  /* the chip's temperature at which it throttles; "" = unknown */
	char energy[HWMON_NAME_SIZE]; /* "" = no energy counter */
	bool has_power;               /* it has a power sensor */
	int64_t energy_ns;            /* of an earlier reading: power is computed from two */
	double energy_j, power_w;     /* power_w: NAN = unknown yet */
};

/* Finds the sensors. */
void gpu_hwmon_refresh(const char *device_folder, struct gpu_hwmon *out);
void gpu_hwmon_emit(struct gpu_hwmon *hwmon, int32_t instance, int64_t now_ns, struct sample_set *out);

#endif
