/* nvidia_processes.h: the processes that use a GPU. */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_PROCESSES_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_PROCESSES_H

#include <stdint.h>

struct nvidia;
struct nvidia_device;
struct sample_set;

void nvidia_read_processes(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);
void nvidia_read_graphics(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);

/* Emits the listed processes with their utilisation. */
void nvidia_read_users(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);

#endif
