/* gpus_memory.h: the memory of GPUs by process. */
#ifndef PMTOP_MODEL_GPUS_GPUS_MEMORY_H
#define PMTOP_MODEL_GPUS_GPUS_MEMORY_H

struct gpu;
struct model;

void gpus_judge_memory(struct model *model);
void gpu_forget_memory(struct gpu *gpu);

#endif
