/* rank_places.h: finds the runs that are ranks of one job, and their order. */
#ifndef PMTOP_MODEL_RANKS_RANK_PLACES_H
#define PMTOP_MODEL_RANKS_RANK_PLACES_H

#include <stdbool.h>

#include "src/model/model.h"

struct run;

/* The first run that is a rank; −1 = none. */
int ranks_any(const struct model *model);
/* The rank's number; −1 = not one of several ranks. */
long rank_number(const struct run *run);
long rank_world_size(const struct run *run); /* as published; −1 = not published */
bool ranks_are_of_one_run(const struct run *a, const struct run *b);

/* All runs in the order of the keys [ and ]: as they were found, ranks of one run by number. Returns how many. */
unsigned ranks_order(const struct model *model, unsigned order[MODEL_RUNS_MAX]);
/* The run to show by default: a live one, the target's own, the lowest rank. `accepts` NULL: any run. −1: none. */
int ranks_first(
	const struct model *model, bool (*accepts)(const struct run *run, const void *argument), const void *argument);

#endif
