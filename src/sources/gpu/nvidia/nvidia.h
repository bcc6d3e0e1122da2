/* nvidia.h: reads each GPU and each part of one, group by group. */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_H

#include <stdbool.h>
#include <stdint.h>

#include "src/samples/metric.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"

struct nvml_device;
struct sample_set;

/* Whether a call succeeded; notes that the GPU or the driver is lost. */
bool nvidia_check(struct nvidia *nvidia, struct nvidia_device *device, int code);
/* Emits nothing for NAN. */
void nvidia_emit(
	struct sample_set *out, int64_t now_ns, enum metric metric, const struct nvidia_device *device, double value);
/* NVML_OK: it is not missing */
void nvidia_note_missing(struct nvidia_device *device, enum nvidia_wanted wanted, int code);
void nvidia_lose(struct nvidia *nvidia, struct nvidia_device *device, const char *why, uint32_t xid, int64_t now_ns,
	struct sample_set *out);
struct nvidia_device *nvidia_find(const struct nvidia *nvidia, const struct nvml_device *handle);

#endif
