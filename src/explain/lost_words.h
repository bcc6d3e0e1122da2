/* lost_words.h: lost time in words, for the screen and reports. */
#ifndef PMTOP_EXPLAIN_LOST_WORDS_H
#define PMTOP_EXPLAIN_LOST_WORDS_H

#include "src/model/collectives/lost_time.h"

enum { LOST_WORDS_SIZE = 128 };

/* "12.3 of 240 GPU-seconds (5 %)" */
const char *lost_words_total(const struct lost_time *lost, char out[LOST_WORDS_SIZE]);
/* "without rank 5's delays a step would take 0.81 s, 1.2 × as fast"; empty if no rank costs 5 %. */
const char *lost_words_without(const struct lost_time *lost, char out[LOST_WORDS_SIZE]);
/* "rank 5", "process 4711", "all" */
const char *lost_words_rank(const struct lost_row *row, char out[LOST_WORDS_SIZE]);
const char *lost_words_cause(enum lost_cause cause);
/* "12.3" */
const char *lost_words_seconds(double seconds, char out[LOST_WORDS_SIZE]);

#endif
