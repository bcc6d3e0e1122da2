/* rank_waits.h: which of the ranks that hang wait in a collective, or in send or receive, for another one. */
#ifndef PMTOP_MODEL_RANKS_RANK_WAITS_H
#define PMTOP_MODEL_RANKS_RANK_WAITS_H

struct model;
struct ranks;

/* -- within src/model/ranks -- */

/* By the flight recorder: a rank that has entered a collective waits for those that have not, which do not hang while
 * their absence is normal (collectives_judge.h), as during a validation of one rank. */
void rank_waits_take(const struct model *model, struct ranks *out);

#endif
