/* nvidia_figures.h: utilisation, memory, clocks, power, temperature and settings. */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_FIGURES_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_FIGURES_H

#include <stdint.h>

struct nvidia;
struct nvidia_device;
struct sample_set;

void nvidia_read_figures(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);
void nvidia_read_limits(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);
void nvidia_read_settings(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out);

#endif
