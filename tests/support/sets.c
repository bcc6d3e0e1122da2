#include "tests/support/sets.h"

#include <math.h>
#include <string.h>

size_t set_count(const struct sample_set *set, enum record_kind kind)
{
	size_t count = 0;
	for (size_t i = 0; i < set->count; i++)
		count += set->records[i].kind == kind;
	return count;
}

const struct record *set_record(const struct sample_set *set, enum record_kind kind, size_t n)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->records[i].kind == kind && n-- == 0)
			return &set->records[i];
	return NULL;
}

double set_figure(const struct sample_set *set, enum metric metric, int32_t instance)
{
	for (size_t i = set->count; i-- > 0;) {
		const struct record *record = &set->records[i];
		if (record->kind == RECORD_FIGURE && record->figure.metric == metric && record->figure.instance == instance)
			return record->figure.value;
	}
	return (double)NAN;
}

const struct record *set_missing(const struct sample_set *set, const char *figure)
{
	for (size_t i = set->count; i-- > 0;)
		if (set->records[i].kind == RECORD_MISSING && strcmp(set->records[i].missing.figure, figure) == 0)
			return &set->records[i];
	return NULL;
}

const struct record *set_process(const struct sample_set *set, enum record_kind kind, int32_t pid)
{
	for (size_t i = set->count; i-- > 0;)
		if (set->records[i].kind == kind && set->records[i].process.pid == pid)
			return &set->records[i];
	return NULL;
}
