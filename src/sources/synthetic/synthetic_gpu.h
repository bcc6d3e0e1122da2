/* synthetic_gpu.h: GPUs of a synthetic machine. */
#ifndef PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_GPU_H
#define PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "src/sources/synthetic/synthetic_private.h"

/* Begins a batch after the previous one ended; then adds its GPU work. */
void synthetic_gpu_begin_batch(struct synthetic *synthetic, bool is_throttled);
void synthetic_gpu_work(struct synthetic *synthetic, enum synthetic_work work, int64_t begin_ns, int64_t end_ns);

/* Memory of the framework's allocator on the first GPU. */
double synthetic_gpu_allocated(const struct synthetic *synthetic);
double synthetic_gpu_reserved(const struct synthetic *synthetic);

/* The maximum allocated so far. */
double synthetic_gpu_peak(const struct synthetic *synthetic);
/* Emits what does not change: the GPUs, their processes, the run's placement. */
void synthetic_describe_gpus(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);
void synthetic_emit_gpus(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

#endif
