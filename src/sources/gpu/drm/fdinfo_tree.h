/* fdinfo_tree.h: which processes of the watched tree use which DRM devices, how much memory they use there, and how
 * busy they keep the devices.
 *
 *   members' /proc/PID/fd: links to /dev/dri/… and /dev/accel/… (scanned seldom) → their fdinfo → clients, each once →
 *   one row per process
 *
 * A client that several descriptors or processes share is counted once, for the member that was found first. */
#ifndef PMTOP_SOURCES_GPU_DRM_FDINFO_TREE_H
#define PMTOP_SOURCES_GPU_DRM_FDINFO_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/sources/gpu/drm/drm_devices.h"
#include "src/sources/target/target.h"

enum { FDINFO_CLIENTS_MAX = 512, FDINFO_LINKS_A_READING = 4096, FDINFO_LINKS_A_MEMBER = 8192 };

struct fdinfo_use {
	int32_t pid;
	uint32_t kind;                   /* enum gpu_process_kind, if its engines show it */
	double own_bytes, machine_bytes; /* memory of the GPU itself, and of the machine; NAN = unknown */
	double busy_ratio;               /* of the engine that it used most; NAN = unknown (yet) */
	char driver[DRM_DRIVER_SIZE];
};

struct fdinfo_tree;

/* `target` is the caller's and must outlive the tree. NULL: out of memory. */
struct fdinfo_tree *fdinfo_tree_new(const struct target *target);
void fdinfo_tree_free(struct fdinfo_tree *tree);
/* Scans for descriptors when due, then reads each client. `devices` must be the same in the same order at each call. */
void fdinfo_tree_read(struct fdinfo_tree *tree, const struct drm_device *const *devices, size_t count, int64_t now_ns);
/* The processes that use a device, in the order of the tree; at most `max` rows. Returns how many. */
size_t fdinfo_tree_uses(const struct fdinfo_tree *tree, size_t device, struct fdinfo_use *out, size_t max);
/* Why some users may be missing; false if none are. */
bool fdinfo_tree_why(const struct fdinfo_tree *tree, struct reason *out);

#endif
