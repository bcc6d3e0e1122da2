/* causes_rank.h: waits for other ranks. */
#ifndef PMTOP_EXPLAIN_CAUSES_CAUSES_RANK_H
#define PMTOP_EXPLAIN_CAUSES_CAUSES_RANK_H

#include <stddef.h>

struct case_file;
struct cause;
struct pool;

/* By its collectives: for which rank the step waited longer than the steps before. */
void claim_waited_for(struct case_file *file, struct pool *pools, size_t count);
/* Without them: a phase whose name says that it waits. */
void claim_rank(struct case_file *file, struct pool *pool);
/* Adds the other rank's line to its cause, if both are known. */
void causes_add_other_line(struct case_file *file);

#endif
