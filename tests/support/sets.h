/* sets.h: finds records in a sample set. */
#ifndef PMTOP_TESTS_SETS_H
#define PMTOP_TESTS_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

size_t set_count(const struct sample_set *set, enum record_kind kind);
/* The n-th record of a kind (from 0), or NULL. */
const struct record *set_record(const struct sample_set *set, enum record_kind kind, size_t n);
/* The newest value of a figure, NAN where it is not in the set. */
double set_figure(const struct sample_set *set, enum metric metric, int32_t instance);
/* The newest RECORD_MISSING of a figure, or NULL. */
const struct record *set_missing(const struct sample_set *set, const char *figure);
/* The newest record of a kind about a process (SEEN, GONE, REPLACED), or NULL. */
const struct record *set_process(const struct sample_set *set, enum record_kind kind, int32_t pid);

#endif
