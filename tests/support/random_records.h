/* random_records.h: random records of all kinds, for readers of sample sets. The same seed gives the same records. */
#ifndef PMTOP_TESTS_RANDOM_RECORDS_H
#define PMTOP_TESTS_RANDOM_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/clock.h"
#include "src/samples/sample_set.h"

#define RANDOM_BASE_NS (INT64_C(5000) * NS_PER_S)

void random_seed(uint64_t seed);
uint64_t random_below(uint64_t n);
/* A time near now; if `has_extremes`, sometimes at the limits of int64_t. */
int64_t random_time(int64_t now_ns, bool is_random);
/* Adds `count` records: mostly batches and spans of three lanes in disorder, or (has_extremes) all kinds equally often.
 * Returns count. */
uint64_t random_add(struct sample_set *set, uint64_t count, int64_t now_ns, bool is_random, uint64_t *sequence);

#endif
