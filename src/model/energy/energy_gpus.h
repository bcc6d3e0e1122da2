/* energy_gpus.h: the energy of GPUs, from their energy counters and their power. */
#ifndef PMTOP_MODEL_ENERGY_ENERGY_GPUS_H
#define PMTOP_MODEL_ENERGY_ENERGY_GPUS_H

#include <stdint.h>

struct energy_past;
struct gpu_meter;
struct model;
struct record;

struct gpu_meter *energy_gpu_meter(struct energy_past *past, int32_t instance); /* NULL: none */
void energy_take_gpu(struct model *model, const struct record *record);         /* an energy or power figure */

#endif
