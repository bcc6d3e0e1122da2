#include "tests/support/sets.h"

#include <check.h>
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

void ck_set_figure(const struct sample_set *set, enum metric metric, int32_t instance, double wanted, double share)
{
	double value = set_figure(set, metric, instance);
	ck_assert_msg(fabs(value - wanted) <= fabs(wanted) * share || (isnan(value) && isnan(wanted)),
		"%s of %d is %.17g, not %.17g", metric_table[metric].name, (int)instance, value, wanted);
}

const struct record *ck_set_missing(const struct sample_set *set, const char *figure, const char *words)
{
	const struct record *missing = set_missing(set, figure);
	ck_assert_msg(missing && missing->missing.text, "%s is not missing", figure);
	ck_assert_msg(strstr(missing->missing.text, words) != NULL, "%s: %s", figure, missing->missing.text);
	return missing;
}

void fill_code_group(struct record *record, uint32_t id, int32_t pid, uint64_t samples, double hz, double seconds)
{
	record->code_group.id = id;
	record->code_group.pid = pid;
	record->code_group.python = "3.11.7";
	record->code_group.samples = samples;
	record->code_group.hz = hz;
	record->code_group.total_ns = (uint64_t)(seconds * 1e9);
}

void fill_code(struct record *record, uint32_t id, const char *function, const char *file, bool is_own)
{
	record->code.id = id;
	record->code.function = function;
	record->code.file = file;
	record->code.is_own = is_own;
}

void fill_code_node(
	struct record *record, uint32_t id, uint32_t parent, uint32_t group, uint32_t code, uint32_t line, const char *text)
{
	record->code_node.id = id;
	record->code_node.parent = parent;
	record->code_node.group = group;
	record->code_node.code = code;
	record->code_node.line = line;
	record->code_node.text = text;
}

void fill_code_time(struct record *record, uint32_t id, double seconds)
{
	record->code_time.id = id;
	record->code_time.total_ns = (uint64_t)(seconds * 1e9);
}
