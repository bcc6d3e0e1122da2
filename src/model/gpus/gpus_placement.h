/* gpus_placement.h: which GPU a process computes on, by its environment and meta. Results are bit masks
 * (gpu_bit). */
#ifndef PMTOP_MODEL_GPUS_GPUS_PLACES_H
#define PMTOP_MODEL_GPUS_GPUS_PLACES_H

#include <stdint.h>

struct model;
struct run;

uint64_t gpus_by_run_placement(const struct model *model, const struct run *run);
uint64_t gpus_by_all_placements(const struct model *model);

#endif
