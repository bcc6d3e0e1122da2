/* script_gpus.h: GPUs added by hand to a script's model: NVIDIA's as numbers 0, 1, …, with parts at 100 + 16 × GPU +
 * part. */
#ifndef PMTOP_TESTS_SCRIPT_GPUS_H
#define PMTOP_TESTS_SCRIPT_GPUS_H

#include "tests/support/script.h"

/* "GPU-0000000N", 80 GB, not lost. The returned row may be changed until script_apply. */
struct gpu_row *script_gpu(struct script *script, double at_s, int32_t instance, int32_t parent, uint32_t index);
/* `count` processes, `rows` copied. */
void script_gpu_processes(
	struct script *script, double at_s, int32_t instance, const struct gpu_process_row *rows, size_t count);
/* One process with so much memory. */
void script_gpu_process(struct script *script, double at_s, int32_t instance, int32_t pid, double bytes);
void script_placement(struct script *script, double at_s, int32_t pid, int32_t local_rank, const char *visible_devices);
/* A further run, live, of this process; its names are published. Returns its number in the records. */
unsigned script_rank(struct script *script, unsigned id, int32_t pid, const char *rank, const char *world);
void script_gauge(struct script *script, double at_s, unsigned run, uint32_t name, double value);
const struct gpu *script_gpu_of(const struct script *script, int32_t instance);

#endif
