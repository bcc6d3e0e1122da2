/* memory.h: the memory of the process tree. */
#ifndef PMTOP_MODEL_MEMORY_MEMORY_H
#define PMTOP_MODEL_MEMORY_MEMORY_H

struct model;

void model_init_memory(struct model *model);
void model_free_memory(struct model *model);

/* The target was replaced by another program (exec): the growth so far is void. */
void model_restart_memory(struct model *model);
void model_refresh_memory(struct model *model);

#endif
