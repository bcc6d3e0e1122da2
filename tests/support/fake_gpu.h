/* fake_gpu.h: fake GPUs: their folders in a fake /sys, and processes that have them open in a fake /proc, after the
 * kernel's documents (gpu/amdgpu/thermal.rst, ABI/testing/sysfs-driver-intel-*, drm-usage-stats.rst, …). */
#ifndef PMTOP_TESTS_FAKE_GPU_H
#define PMTOP_TESTS_FAKE_GPU_H

#include "tests/support/fake_proc.h"

/* The folder of a device below the root, and its nodes: "renderD128 card0" in class/drm, "accel0" in class/accel. `ids`
 * is "1002:744c", or NULL: not on PCI. */
void fake_gpu_add(
	const struct fake_proc *sys, const char *folder, const char *driver, const char *nodes, const char *ids);
/* Files "name\tvalue" below the folder, until NULL. */
void fake_gpu_files(const struct fake_proc *sys, const char *folder, const char *const *files);
void fake_gpu_put(const struct fake_proc *sys, const char *folder, const char *name, const char *text);
/* Whole devices. */
#define FAKE_AMD "devices/pci0000:00/0000:00:01.0/0000:03:00.0"
#define FAKE_I915 "devices/pci0000:00/0000:00:06.0/0000:05:00.0"
#define FAKE_XE "devices/pci0000:00/0000:00:07.0/0000:09:00.0"
#define FAKE_PANFROST "devices/platform/ff9a0000.gpu"
#define FAKE_NPU "devices/pci0000:00/0000:00:08.0/0000:c4:00.1"
void fake_gpu_amd(const struct fake_proc *sys);
void fake_gpu_kfd(const struct fake_proc *sys); /* its node in KFD: gpu_id 42700, 96 compute units */
void fake_gpu_i915(const struct fake_proc *sys);
void fake_gpu_xe(const struct fake_proc *sys);
void fake_gpu_panfrost(const struct fake_proc *sys);
void fake_gpu_npu(const struct fake_proc *sys);
/* The table gpu_metrics of `size` bytes: a header, then 0xff. */
unsigned char *fake_gpu_metrics(unsigned char *bytes, unsigned size, unsigned format, unsigned content);
void fake_gpu_write(
	const struct fake_proc *sys, const char *folder, const char *name, const void *bytes, size_t length);

/* The process has the node open as `fd` with the fdinfo `info`. A second call replaces the fdinfo. */
void fake_gpu_open(const struct fake_proc *proc, int pid, int fd, const char *node, const char *info);
void fake_gpu_close(const struct fake_proc *proc, int pid, int fd);

#endif
