/* causes_gpu.h: time that a batch lost to lower clocks of GPUs and CPUs. */
#ifndef PMTOP_EXPLAIN_CAUSES_CAUSES_GPU_H
#define PMTOP_EXPLAIN_CAUSES_CAUSES_GPU_H

struct case_file;
struct pool;

void claim_gpu(struct case_file *file, struct pool *pool);

/* For rows that the device's clock measured. */
void claim_device(struct case_file *file, struct pool *pool);
void claim_cpu_heat(struct case_file *file, struct pool *pool);

#endif
