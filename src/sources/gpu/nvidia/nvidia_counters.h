/* nvidia_counters.h: counters: energy, PCIe and NVLink traffic, throttled time, errors. */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_COUNTERS_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_COUNTERS_H

#include <stdint.h>

struct nvidia;
struct nvidia_counter;
struct nvidia_device;
struct sample_set;

void nvidia_read_counters(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);
void nvidia_read_throttled(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);
void nvidia_read_energy(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);
void nvidia_read_errors(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);

/* Adds a rate in bytes per second to a counter, if the GPU has no counter itself. */
void nvidia_add_rate(struct nvidia_counter *counter, double bytes_per_s, double elapsed_s);

#endif
