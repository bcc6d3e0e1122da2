/* gpus_runs.h: which run, and which process of the tree, uses which GPU. */
#ifndef PMTOP_MODEL_GPUS_GPUS_RUNS_H
#define PMTOP_MODEL_GPUS_GPUS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/gpus/gpus.h"
#include "src/samples/metric.h"

struct process;

/* The GPUs that this run (a rank) uses: from its processes, else from LOCAL_RANK and CUDA_VISIBLE_DEVICES in its
 * environment or meta. For an ended run, those that it used. For a part (MIG), without its GPU. run NULL: all GPUs of
 * the process tree. Returns how many. */
size_t run_gpus(const struct model *model, const struct run *run, const struct gpu *out[GPUS_MAX]);
bool run_uses_gpu(const struct model *model, const struct run *run, const struct gpu *gpu);
/* Memory of this run's processes on the GPU, a part of run_memory_bytes; NAN = unknown. */
double gpu_memory_of_run(const struct model *model, const struct run *run, const struct gpu *gpu);
/* The same on all GPUs that the run uses; run NULL: of the process tree. */
double run_gpu_memory(const struct model *model, const struct run *run);
/* One figure over all GPUs that a run uses: the mean of ratios and clocks, the sum of bytes, watts and rates of
 * counters, the maximum of temperatures and counts, all bits of GPU_THROTTLE. If a part (MIG) does not report a figure,
 * its GPU's is used. NAN = unknown. */
double run_gpu_figure(const struct model *model, const struct run *run, enum metric metric);
bool gpu_has_parts(const struct model *model, const struct gpu *gpu);

/* Determines which processes on each GPU are the run's, and the figures that depend on it. */
void gpus_find_ours(struct model *model);
bool gpu_process_is_ours(const struct model *model, int32_t pid, int64_t seen_ns);
const struct process *gpus_find_process(const struct model *model, int32_t pid); /* NULL: not in the process tree */
const struct run *gpus_run_of_pid(const struct model *model, int32_t pid);       /* NULL: no live run */
bool run_is_on_gpu(const struct run *run);                                       /* its allocator reports GPU memory */

#endif
