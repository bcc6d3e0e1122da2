/* drm_devices.h: which DRM devices there are: nodes below /sys/class/drm and /sys/class/accel, and what libdrm
 * (drmGetDevices2) knows beside them.
 *
 * Nothing is opened but libdrm, and no device is woken. libdrm knows no other root than the machine's own: with a root
 * of somebody's choice it is not asked. */
#ifndef PMTOP_SOURCES_GPU_DRM_DRM_DEVICES_H
#define PMTOP_SOURCES_GPU_DRM_DRM_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/sources/choices.h"
#include "src/sources/gpu/sys_file.h"

enum { DRM_DEVICES_MAX = 32, DRM_NODE_SIZE = 24, DRM_DRIVER_SIZE = 32, DRM_PCI_SIZE = 16 };

struct drm_device {
	char driver[DRM_DRIVER_SIZE]; /* as the kernel calls it: "amdgpu" */
	char folder[SYS_PATH_SIZE];   /* of the device itself in sysfs, without symbolic links */
	char pci[DRM_PCI_SIZE];       /* "0000:03:00.0", lower case; "" = not on PCI */
	/* its nodes: "renderD128", "card0", "accel0"; "" = none */
	char render[DRM_NODE_SIZE], card[DRM_NODE_SIZE], accel[DRM_NODE_SIZE];
	unsigned minor;        /* of the render node; 0 = none */
	uint64_t maker, model; /* PCI ids; 0 = not known */
};

const char *drm_sys_root(const struct source_choices *choices);
const char *drm_dev_root(const struct source_choices *choices);

/* Those that `is_mine` takes by their driver's name, of one with a node that programs can compute with, by number of
 * their nodes. Returns how many. */
size_t drm_devices_find(const struct source_choices *choices, bool asks_libdrm, bool (*is_mine)(const char *driver),
	struct drm_device *out, size_t max);
bool drm_devices_are_here(const struct source_choices *choices, bool (*is_mine)(const char *driver));
/* The path of its render or accel node. */
bool drm_device_node(const struct source_choices *choices, const struct drm_device *device, char out[SYS_PATH_SIZE]);
/* Asleep: opening its node, or reading most of its files, would wake it. */
bool drm_device_is_asleep(const struct drm_device *device);
/* "amdgpu 3.57.0", by drmGetVersion; the driver's name alone where that cannot be asked. Opens the node. */
void drm_device_version(const struct source_choices *choices, const struct drm_device *device, char *out, size_t size);

#endif
