/* drm_devices.h: finds DRM devices: nodes below /sys/class/drm and /sys/class/accel, and further ones that libdrm
 * (drmGetDevices2) knows.
 *
 * Nothing is opened except libdrm, and no device is woken. libdrm always uses the machine's own /sys, so it is
 * skipped if another root is set. */
#ifndef PMTOP_SOURCES_GPU_DRM_DRM_DEVICES_H
#define PMTOP_SOURCES_GPU_DRM_DRM_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/sources/choices.h"
#include "src/sources/gpu/sys_file.h"

enum { DRM_DEVICES_MAX = 32, DRM_NODE_SIZE = 24, DRM_DRIVER_SIZE = 32, DRM_PCI_SIZE = 16 };

struct drm_device {
	char driver[DRM_DRIVER_SIZE]; /* the kernel's name: "amdgpu" */
	char folder[SYS_PATH_SIZE];   /* of the device itself in sysfs, without symbolic links */
	char pci[DRM_PCI_SIZE];       /* "0000:03:00.0", lower case; "" = not on PCI */
	/* its nodes: "renderD128", "card0", "accel0"; "" = none */
	char render[DRM_NODE_SIZE], card[DRM_NODE_SIZE], accel[DRM_NODE_SIZE];
	unsigned minor;        /* of the render node; 0 = none */
	uint64_t maker, model; /* PCI ids; 0 = unknown */
};

const char *drm_sys_root(const struct source_choices *choices);
const char *drm_dev_root(const struct source_choices *choices);

/* Finds the devices whose driver `is_mine` accepts and that have a node for computing, ordered by node number.
 * Returns how many. */
size_t drm_devices_find(const struct source_choices *choices, bool with_libdrm, bool (*is_mine)(const char *driver),
	struct drm_device *out, size_t max);
bool drm_devices_are_here(const struct source_choices *choices, bool (*is_mine)(const char *driver));
/* The path of its render or accel node. */
bool drm_device_node(const struct source_choices *choices, const struct drm_device *device, char out[SYS_PATH_SIZE]);
/* Whether it is suspended: opening its node, or reading most of its files, would wake it. */
bool drm_device_is_asleep(const struct drm_device *device);
/* "amdgpu 3.57.0", from drmGetVersion; the driver's name alone if that fails. Opens the node. */
void drm_device_version(const struct source_choices *choices, const struct drm_device *device, char *out, size_t size);

#endif
