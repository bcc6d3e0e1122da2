/* run_groups.h: groups the ranks of one run in the list of runs, in their order, and marks the slowest. */
#ifndef PMTOP_SESSION_RUNS_RUN_GROUPS_H
#define PMTOP_SESSION_RUNS_RUN_GROUPS_H

#include "src/region/reader.h"
#include "src/session/runs/runs.h"

/* Fills in the rank, the run's id, and the mean step and own time (ranks.h) over the whole run. */
void run_groups_read(struct region *region, struct run_row *row);
/* Moves the rows of each group behind its first row, and marks the slowest. */
void run_groups_arrange(struct run_row *rows, size_t count);
bool run_groups_are_one(const struct run_row *a, const struct run_row *b);

#endif
