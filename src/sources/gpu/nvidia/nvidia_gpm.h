/* nvidia_gpm.h: figures of GPM: use of SMs, tensor cores and memory. */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_GPM_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_GPM_H

#include <stdint.h>

struct nvidia;
struct nvidia_device;
struct sample_set;

/* Takes first samples of all devices, and waits until a second sample can follow. */
void nvidia_begin_gpm(struct nvidia *nvidia);
void nvidia_read_gpm(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);

#endif
