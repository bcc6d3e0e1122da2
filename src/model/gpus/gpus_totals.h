/* gpus_totals.h: utilisation and memory of a run over its GPUs. */
#ifndef PMTOP_MODEL_GPUS_GPUS_TOTALS_H
#define PMTOP_MODEL_GPUS_GPUS_TOTALS_H

#include "src/samples/metric.h"

struct gpu;
struct gpu_past;

void gpu_forget_totals(struct gpu *gpu, struct gpu_past *past);

/* `seconds`: since the previous reading; NAN = first reading. */
void gpu_count_gauge(struct gpu *gpu, struct gpu_past *past, enum metric metric, double value, double seconds);
void gpu_count_growth(struct gpu *gpu, enum metric metric, double growth);
void gpu_count_run_memory(struct gpu *gpu, struct gpu_past *past, double bytes, double seconds);

#endif
