/* fdinfo_tree.h: which processes of the watched tree use which DRM devices, how much of their memory, and how busy they
 * keep them.
 *
 *   members' /proc/PID/fd: links to /dev/dri/… and /dev/accel/… (looked for seldom) → their fdinfo → clients, each once
 * → one row for each process
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
	uint32_t kind;                   /* enum gpu_process_kind, as far as its engines tell */
	double own_bytes, machine_bytes; /* NAN = not told; memory of the GPU itself, and of the machine */
	double busy_ratio;               /* of the engine that it used most; NAN = not known (yet) */
	char driver[DRM_DRIVER_SIZE];
};

struct fdinfo_tree;

/* Both are the caller's; NULL when out of memory. */
struct fdinfo_tree *fdinfo_tree_new(const struct target *target);
void fdinfo_tree_free(struct fdinfo_tree *tree);
/* Looks for descriptors where it is time, then reads each client. `devices` must be the same in the same order at each
 * call. */
void fdinfo_tree_read(struct fdinfo_tree *tree, const struct drm_device *const *devices, size_t count, int64_t now_ns);
/* Who uses a device, in the order of the tree; at most `most` rows. Returns how many. */
size_t fdinfo_tree_uses(const struct fdinfo_tree *tree, size_t device, struct fdinfo_use *out, size_t max);
/* Why not all was seen; false where nothing hindered us. */
bool fdinfo_tree_why(const struct fdinfo_tree *tree, struct reason *out);

#endif
