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

/* Fails the test where the figure differs by more than this share of it; NAN: where it is in the set. */
void ck_set_figure(const struct sample_set *set, enum metric metric, int32_t instance, double wanted, double share);
/* Fails the test where the figure is not reported as missing in these words. */
const struct record *ck_set_missing(const struct sample_set *set, const char *figure, const char *words);

/* Fill a new record about sampled Python code. */
void fill_code_group(struct record *record, uint32_t id, int32_t pid, uint64_t samples, double hz, double seconds);
void fill_code(struct record *record, uint32_t id, const char *function, const char *file, bool is_own);
void fill_code_node(struct record *record, uint32_t id, uint32_t parent, uint32_t group, uint32_t code, uint32_t line,
	const char *text);
void fill_code_time(struct record *record, uint32_t id, double seconds);

#endif
