/* workers_load.h: how DataLoader workers spend their time: on the CPU or waiting for the disk. */
#ifndef PMTOP_MODEL_WORKERS_WORKERS_LOAD_H
#define PMTOP_MODEL_WORKERS_WORKERS_LOAD_H

struct model;
struct worker_group_load;

void model_worker_group_load(const struct model *model, int run, struct worker_group_load *out);

#endif
