/* nvidia_use.h: utilisation of a GPU by process. */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_USE_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_USE_H

#include <stdint.h>

struct nvidia;
struct nvidia_device;
struct sample_set;

/* Reads each process's utilisation since the last reading. Listed processes without a sample were idle. */
void nvidia_read_use(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);
/* NAN: unknown, or the process is newer than the last reading. */
double nvidia_use_of(const struct nvidia_device *device, uint32_t driver_pid);

#endif
