/* collective_words.h: who keeps the others waiting in a collective, in one sentence, for the screen, lines, reports and
 * warnings. */
#ifndef PMTOP_EXPLAIN_COLLECTIVE_WORDS_H
#define PMTOP_EXPLAIN_COLLECTIVE_WORDS_H

#include <stddef.h>

#include "src/model/collectives/collectives_judge.h"
#include "src/model/model.h"

enum { COLLECTIVE_WORDS_SIZE = 200, COLLECTIVE_RANK_SIZE = 32 };

/* "rank 1 has not entered all_reduce #231 (default_pg): it is in data.py:88; rank 0 has waited 4.4 s", "rank 1 entered
 * broadcast #101 [1000], rank 0 all_reduce [1000] (default_pg)"; empty if all is well. */
const char *collective_words(
	const struct model *model, const struct collective_judgement *judgement, char out[COLLECTIVE_WORDS_SIZE]);
/* "rank 1 enters last: the others wait 0.081 s for it, 62 % of the time (default_pg)"; empty without a straggler. */
const char *collective_words_pace(
	const struct model *model, int group, const struct collective_pace *pace, char out[COLLECTIVE_WORDS_SIZE]);
/* What keeps the others waiting now, if that is due; the straggler; the rank that a CPU quota throttles; ranks in
 * Join; the slowest stage of a pipeline; ranks that hang in send or receive, that there are no collectives, or none for
 * a minute; the first of these. Empty if there is
 * none. What NCCL's RAS says of other machines' ranks (ras_words.h) comes before a collective that all of this
 * machine's entered, and dead ranks come first. */
const char *collective_words_now(const struct model *model, char out[COLLECTIVE_WORDS_SIZE]);
const char *collective_words_straggler(const struct model *model, char out[COLLECTIVE_WORDS_SIZE]);
const char *collective_words_throttled(const struct model *model, char out[COLLECTIVE_WORDS_SIZE]);
const char *collective_words_none(const struct model *model, char out[COLLECTIVE_WORDS_SIZE]);
/* Ranks that hang in send or receive, or in a barrier that is not recorded. Returns since when no waiting rank has
 * woken up, in seconds; 0 = none hangs, or that is unknown; NAN = there are no ranks. *pid: a rank that the others wait
 * for; 0 = each waits for another. */
double collective_words_exchange(const struct model *model, int32_t *pid, char out[COLLECTIVE_WORDS_SIZE]);
const char *collective_words_verdict(const struct model *model, char out[COLLECTIVE_WORDS_SIZE]);
/* "rank 1", or "process 4711" if its number is unknown. `rank`: an index. */
const char *collective_rank_words(const struct model *model, size_t rank, char out[COLLECTIVE_RANK_SIZE]);

#endif
