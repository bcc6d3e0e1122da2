/* figures_gpu.h: selects one of the GPUs that a run uses. Private to figures_gpu*.c. */
#ifndef PMTOP_RULES_INPUTS_FIGURES_GPU_H
#define PMTOP_RULES_INPUTS_FIGURES_GPU_H

#include "src/rules/inputs/figures.h"

typedef double of_gpu(const struct context *context, const struct gpu *gpu);

/* The run's GPU (for rules of the model: the process tree's) with the largest value, the first of equal ones; NULL if
 * no value is known. */
const struct gpu *gpu_foremost(const struct context *context, of_gpu *of);
/* That value; NAN if unknown. */
double gpu_max(const struct context *context, of_gpu *of);
/* Mean of the last 10 s; `now` if the series has none. */
double gpu_recent(const struct context *context, const struct series *series, double now);
/* "the GPU", or "GPU 1" if there are several; writes nothing for NULL. */
void gpu_write_name(const struct context *context, const struct gpu *gpu, char out[FIGURE_TEXT_SIZE]);

/* A row of figures_gpu.c and figures_gpu_memory.c. */
#define NUMBER_OF(name, form, function, what, lacks) NUMBER_ROW(name, form, MODEL, function, what, lacks)
#define TEXT_OF(name, function, what, lacks) TEXT_ROW(name, MODEL, function, what, lacks)

#endif
