/* joined.h: ranks that have used up their inputs and wait in torch's Join (uneven inputs): they enter each collective
 * of the others at once, with nothing of their own to do. The others are not late for them. By stack samples of
 * Join.__exit__. Private to src/model/collectives. */
#ifndef PMTOP_MODEL_COLLECTIVES_JOINED_H
#define PMTOP_MODEL_COLLECTIVES_JOINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOINED_SPANS = 8 };

struct model;
struct collective_rank;

/* Of one rank; zeroed at first. */
struct joined {
	double joined_s, sampled_s; /* of its samples so far: in Join, and all; 0 = not sampled */
	int64_t sampled_ns;         /* when sampled_s last changed */
	int64_t first_ns;           /* when it first was, in a job that uses Join: none is accused for the time before */
	int64_t outside_ns;         /* the last reading, if it is the first one outside of Join; else 0 */
	struct {
		int64_t since_ns, until_ns; /* since 0: none; until 0: it is in Join still */
	} spans[JOINED_SPANS];          /* the latest times in Join, newest first */
};

bool joined_at(const struct collective_rank *rank, int64_t at_ns);
bool joined_now(const struct collective_rank *rank);
void model_refresh_joined(struct model *model);

#endif
