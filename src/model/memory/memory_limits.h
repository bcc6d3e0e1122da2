/* memory_limits.h: the limit that memory grows towards, and when it will be reached. */
#ifndef PMTOP_MODEL_MEMORY_MEMORY_LIMITS_H
#define PMTOP_MODEL_MEMORY_MEMORY_LIMITS_H

struct model;

void memory_find_limit(struct model *model);

#endif
