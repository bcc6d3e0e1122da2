/* memory_spikes.h: short rises of memory. */
#ifndef PMTOP_MODEL_MEMORY_MEMORY_SPIKES_H
#define PMTOP_MODEL_MEMORY_MEMORY_SPIKES_H

#include <stdbool.h>

struct model;

void memory_watch_spikes(struct model *model, bool is_warm);

#endif
