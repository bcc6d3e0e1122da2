/* hwmon.h: what a GPU's driver tells through the kernel's sensors (Linux Documentation/hwmon/sysfs-interface.rst):
 * heat, power, energy, clocks. */
#ifndef PMTOP_SOURCES_GPU_DRM_HWMON_H
#define PMTOP_SOURCES_GPU_DRM_HWMON_H

#include <stdbool.h>
#include <stdint.h>

#include "src/sources/gpu/sys_file.h"

enum { HWMON_NAME_SIZE = 24 };

struct gpu_hwmon {
	char folder[SYS_PATH_SIZE];   /* "" = the driver has none */
	unsigned chip, memory;        /* which of its temperatures these are; 0 = none */
	char limit[HWMON_NAME_SIZE];  /* the chip's temperature from where it slows down; "" = not told */
	char energy[HWMON_NAME_SIZE]; /* "" = not counted */
	bool has_power;               /* it tells the power itself */
	int64_t energy_ns;            /* of a reading before: power follows from two */
	double energy_j, power_w;     /* power_w: NAN = not known yet */
};

/* Looks what there is, once. */
void gpu_hwmon_refresh(const char *device_folder, struct gpu_hwmon *out);
void gpu_hwmon_emit(struct gpu_hwmon *hwmon, int32_t instance, int64_t now_ns, struct sample_set *out);

#endif
