/* run_groups.h: the ranks of one run among the rows that can be watched: together, in their order, the slowest
 * marked. */
#ifndef PMTOP_SESSION_RUNS_RUN_GROUPS_H
#define PMTOP_SESSION_RUNS_RUN_GROUPS_H

#include "src/region/reader.h"
#include "src/session/runs/runs.h"

/* Fills in which rank of which run it is, and its mean step and own time (ranks.h) over the whole run. */
void run_groups_read(struct region *region, struct run_row *row);
/* Moves the rows of a group to where its first stands, and marks the slowest. */
void run_groups_arrange(struct run_row *rows, size_t count);
bool run_groups_are_one(const struct run_row *a, const struct run_row *b);

#endif
