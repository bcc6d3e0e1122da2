/* kfd.h: AMD's compute driver in sysfs: its nodes, and their users (drivers/gpu/drm/amd/amdkfd/kfd_topology.c,
 * kfd_process.c):
 *
 *   /sys/class/kfd/kfd/topology/nodes/N/{gpu_id,properties}
 *   /sys/class/kfd/kfd/proc/PID/{vram_GPUID,stats_GPUID/cu_occupancy}        of all users, with the host's pids
 *
 * fdinfo's engines do not include ROCm's queues, only KFD does. sdma_GPUID is not read: reading it stops the
 * process's memory management, and copies alone do not show how busy the GPU was. */
#ifndef PMTOP_SOURCES_GPU_AMD_KFD_H
#define PMTOP_SOURCES_GPU_AMD_KFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KFD_NODES_MAX = 64, KFD_USERS_MAX = 64 };

struct kfd_node {
	uint64_t gpu_id;
	unsigned minor;     /* of its render node */
	uint32_t order;     /* index among GPUs, as in HIP and ROCR_VISIBLE_DEVICES */
	double units;       /* compute units; NAN = unknown */
	bool has_cpu;       /* an APU */
	uint64_t unique_id; /* 0 = none */
};

struct kfd_user {
	uint32_t pid;      /* the host's */
	double vram_bytes; /* NAN = unknown */
	double units_busy; /* compute units that ran a wave of it when read; NAN = unknown */
};

/* Lists GPUs only, in order. Returns how many; also 0 without KFD. */
size_t kfd_nodes(const char *sys_root, struct kfd_node *out, size_t max);
size_t kfd_users(const char *sys_root, uint64_t gpu_id, struct kfd_user *out, size_t max);

#endif
