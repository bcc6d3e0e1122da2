/* rank_words.h: the comparison of ranks in one sentence, for the screen, lines, reports and warnings. */
#ifndef PMTOP_EXPLAIN_RANK_WORDS_H
#define PMTOP_EXPLAIN_RANK_WORDS_H

#include <stddef.h>

#include "src/model/ranks/ranks.h"

enum { RANK_WORDS_SIZE = 160 };

/* "rank 1 is slowest: data 0.081 s, others 0.020; the others wait 0.060 s in backward", "no rank is slower than the
 * others"; empty while too few steps are known. */
const char *rank_words_slowest(const struct ranks *ranks, char out[RANK_WORDS_SIZE]);
/* "rank 1 is stopped, for 41 s; the others wait in backward"; empty if all make progress. */
const char *rank_words_still(const struct ranks *ranks, char out[RANK_WORDS_SIZE]);
/* rank_words_still(), or if that is empty rank_words_slowest(). */
const char *rank_words(const struct ranks *ranks, char out[RANK_WORDS_SIZE]);

#endif
