/* nvidia_names.h: the GPUs that the driver lists, their names and their parts (MIG). */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_NAMES_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_NAMES_H

#include <stdint.h>

#include "src/base/status.h"

struct nvidia;
struct nvidia_device;
struct sample_set;

enum status nvidia_find_gpus(struct nvidia *nvidia, struct reason *why_not);
void nvidia_emit_device(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);

/* Updates the MIG parts, which may come and go while pmtop runs. */
void nvidia_read_parts(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);
void nvidia_device_free(struct nvidia *nvidia, struct nvidia_device *device);

#endif
