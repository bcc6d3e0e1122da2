/* random_records.h: records of all kinds with anything in them, for what takes sample sets. The same seed draws the
 * same. */
#ifndef PMTOP_TESTS_RANDOM_RECORDS_H
#define PMTOP_TESTS_RANDOM_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/clock.h"
#include "src/samples/sample_set.h"

#define RANDOM_BASE_NS (INT64_C(5000) * NS_PER_S)

void random_seed(uint64_t seed);
uint64_t random_below(uint64_t n);
/* About now; where it is wild, sometimes at the ends of its range. */
int64_t random_time(int64_t now_ns, bool is_random);
/* Adds `count` records: disorderly batches and spans of three lanes for the most part, or (wild) all kinds alike.
 * Returns count. */
uint64_t random_add(struct sample_set *set, uint64_t count, int64_t now_ns, bool is_random, uint64_t *sequence);

#endif
