/* nvidia_missing.h: emits which figures are missing, and why. */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_MISSING_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_MISSING_H

#include <stdint.h>

struct nvidia;
struct sample_set;

/* Emits what is missing, or no longer is, since the last call. */
void nvidia_emit_missing(struct nvidia *nvidia, int64_t now_ns, struct sample_set *out);

#endif
