/* rank_words.h: what the comparison of ranks says, in one sentence: the same on the screen, in lines, reports and
 * warnings. */
#ifndef PMTOP_EXPLAIN_RANK_WORDS_H
#define PMTOP_EXPLAIN_RANK_WORDS_H

#include <stddef.h>

#include "src/model/ranks/ranks.h"

enum { RANK_WORDS_SIZE = 160 };

/* "rank 1 is slowest: data 0.081 s against 0.020; the others wait 0.060 s in backward", "no rank stands out"; empty
 * while too little is known. */
const char *rank_words_slowest(const struct ranks *ranks, char out[RANK_WORDS_SIZE]);
/* "rank 1 is stopped, for 41 s; the others wait in backward"; empty where none stands still. */
const char *rank_words_still(const struct ranks *ranks, char out[RANK_WORDS_SIZE]);
/* Of the two the one that matters more. */
const char *rank_words(const struct ranks *ranks, char out[RANK_WORDS_SIZE]);

#endif
