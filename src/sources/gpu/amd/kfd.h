/* kfd.h: AMD's compute driver in sysfs: its nodes, and who computes on them (drivers/gpu/drm/amd/amdkfd/kfd_topology.c,
 * kfd_process.c):
 *
 *   /sys/class/kfd/kfd/topology/nodes/N/{gpu_id,properties}
 *   /sys/class/kfd/kfd/proc/PID/{vram_GPUID,stats_GPUID/cu_occupancy}        everybody's, with the host's pids
 *
 * ROCm's queues are not in fdinfo's engines; this is where they show. Its sdma_GPUID is not read: it stops the
 * process's memory management to ask, and copies alone do not say how busy the GPU was. */
#ifndef PMTOP_SOURCES_GPU_AMD_KFD_H
#define PMTOP_SOURCES_GPU_AMD_KFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KFD_NODES_MAX = 64, KFD_USERS_MAX = 64 };

struct kfd_node {
	uint64_t gpu_id;
	unsigned minor;     /* of its render node */
	uint32_t order;     /* among GPUs: as HIP and ROCR_VISIBLE_DEVICES number them */
	double units;       /* compute units; NAN = not told */
	bool has_cpu;       /* an APU */
	uint64_t unique_id; /* 0 = none */
};

struct kfd_user {
	uint32_t pid;      /* the host's */
	double vram_bytes; /* NAN = not told */
	double units_busy; /* that had a wave of it at the moment of reading; NAN = not told */
};

/* GPUs only, in order. Returns how many; 0 too where there is no KFD. */
size_t kfd_nodes(const char *sys_root, struct kfd_node *out, size_t max);
size_t kfd_users(const char *sys_root, uint64_t gpu_id, struct kfd_user *out, size_t max);

#endif
