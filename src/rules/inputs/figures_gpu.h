/* figures_gpu.h: one GPU of those that a run uses. Private to figures_gpu*.c. */
#ifndef PMTOP_RULES_INPUTS_FIGURES_GPU_H
#define PMTOP_RULES_INPUTS_FIGURES_GPU_H

#include "src/rules/rule_figures.h"

typedef double of_gpu(const struct context *context, const struct gpu *gpu);

/* Of the run's (of a rule of the model: the whole tree's) the one where a figure is largest; of equal ones the first.
 * NULL: nobody knows it. */
const struct gpu *gpu_foremost(const struct context *context, of_gpu *of);
/* The figure there; NAN. */
double gpu_max(const struct context *context, of_gpu *of);
/* Mean of the last 10 s; `now` where none was kept. */
double gpu_recent(const struct context *context, const struct series *series, double now);
/* "the GPU"; "GPU 1" where there are several; nothing of NULL. */
void gpu_write_name(const struct context *context, const struct gpu *gpu, char out[FIGURE_TEXT_SIZE]);

#endif
