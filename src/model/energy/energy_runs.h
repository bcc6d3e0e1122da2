/* energy_runs.h: the energy of batches and epochs of runs. */
#ifndef PMTOP_MODEL_ENERGY_ENERGY_RUNS_H
#define PMTOP_MODEL_ENERGY_ENERGY_RUNS_H

#include <stdint.h>

struct energy;
struct epoch_energy;
struct model;

/* NULL: nothing was metered in that epoch. */
const struct epoch_energy *energy_of_epoch(const struct energy *energy, unsigned run, uint32_t ordinal);
/* Updates the GPUs used by runs, and the energy of batches and epochs. */
void energy_refresh_runs(struct model *model);

#endif
