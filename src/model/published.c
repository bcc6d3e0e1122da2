#include <stdlib.h>
#include <string.h>

#include "src/model/run_private.h"

enum { META_LENGTH_MOST = 1024, ROWS_FIRST = 4 };

void run_set_name(struct run *run, uint32_t id, const char *text)
{
	if (id == 0 || id > NAMES_MOST || !text)
		return;
	names_set(&run->private->names, id, text);
	if (strcmp(text, "train") == 0)
		run->private->train = id;
	if (strcmp(text, "accumulate") == 0)
		run->private->accumulate = id;
	const char *between = run_meta(run, "between");
	if (between && strcmp(text, between) == 0)
		run->private->between = id;
}

static void note_phase_between(struct run *run)
{
	const char *text = run_meta(run, "between");
	uint32_t id = text && *text ? names_find(&run->private->names, text) : 0;
	run->private->between = id ? id : NAME_BETWEEN;
}

/* Room for one more row of an array that only grows; NULL when it is full or out of memory. */
static void *add_row(void *rows, size_t count, size_t most, size_t size)
{
	if (count >= most)
		return NULL;
	/* A power of two: it is full and has to double. */
	bool is_full = (count & (count - 1)) == 0 && (count == 0 || count >= ROWS_FIRST);
	return is_full ? realloc(rows, (count ? count * 2 : ROWS_FIRST) * size) : rows;
}

void run_set_meta(struct run *run, const char *key, const char *value)
{
	if (!key || !value)
		return;
	size_t at = 0;
	while (at < run->meta_count && strncmp(run->meta[at].key, key, META_LENGTH_MOST) != 0)
		at++;
	char *copy = copy_text(value, META_LENGTH_MOST);
	char *new_key = at == run->meta_count ? copy_text(key, META_LENGTH_MOST) : NULL;
	void *rows = copy && new_key ? add_row(run->meta, run->meta_count, METAS_MOST, sizeof *run->meta) : NULL;
	if (!copy || (at == run->meta_count && !rows)) {
		free(copy);
		free(new_key);
		return;
	}
	if (rows) {
		run->meta = rows;
		run->meta[at].key = new_key;
		run->meta[at].value = NULL;
		run->meta_count++;
	}
	free(run->meta[at].value);
	run->meta[at].value = copy;
	if (strcmp(key, "RANK") == 0)
		put_text(run->rank, sizeof run->rank, value);
	if (strcmp(key, "WORLD_SIZE") == 0)
		put_text(run->world, sizeof run->world, value);
	if (strcmp(key, "between") == 0)
		note_phase_between(run);
}

const char *run_meta(const struct run *run, const char *key)
{
	for (size_t i = 0; i < run->meta_count; i++)
		if (strcmp(run->meta[i].key, key) == 0)
			return run->meta[i].value;
	return NULL;
}

void run_set_gauge(struct run *run, uint32_t name, int64_t time_ns, double value)
{
	size_t at = 0;
	while (at < run->gauge_count && run->gauges[at].name != name)
		at++;
	if (at == run->gauge_count) {
		struct series *series = series_new();
		void *rows = series ? add_row(run->gauges, run->gauge_count, GAUGES_MOST, sizeof *run->gauges) : NULL;
		if (!rows) {
			series_free(series);
			return;
		}
		run->gauges = rows;
		run->gauges[at].name = name;
		run->gauges[at].series = series;
		run->gauge_count++;
	}
	run->gauges[at].value = value;
	series_push(run->gauges[at].series, time_ns, value);
}

void run_set_counter(struct run *run, uint32_t name, double total)
{
	size_t at = 0;
	while (at < run->counter_count && run->counters[at].name != name)
		at++;
	if (at == run->counter_count) {
		void *rows = add_row(run->counters, run->counter_count, COUNTERS_MOST, sizeof *run->counters);
		if (!rows)
			return;
		run->counters = rows;
		run->counters[at].name = name;
		run->counter_count++;
	}
	run->counters[at].total = total;
}

void run_add_mark(struct run *run, int64_t time_ns, const char *text)
{
	if (run->mark_count == MARKS_MOST) {
		memmove(&run->marks[0], &run->marks[1], (MARKS_MOST - 1) * sizeof run->marks[0]);
		run->mark_count--;
	}
	run->marks[run->mark_count].time_ns = time_ns;
	put_text(run->marks[run->mark_count].text, sizeof run->marks[0].text, text);
	run->mark_count++;
}

void run_clear_open_spans(struct run *run, uint16_t lane)
{
	size_t kept = 0;
	for (size_t i = 0; i < run->open_span_count; i++)
		if (run->open_spans[i].lane != lane)
			run->open_spans[kept++] = run->open_spans[i];
	run->open_span_count = kept;
}

void run_set_open_span(struct run *run, const struct record *record)
{
	if (record->span.depth == 0)
		run_clear_open_spans(run, record->lane);
	int64_t begin_ns;
	if (run->open_span_count == OPEN_SPANS_MOST || record->span.duration_ns < 0
		|| __builtin_sub_overflow(record->time_ns, record->span.duration_ns, &begin_ns))
		return;
	run->open_spans[run->open_span_count++] = (struct open_span){ record->lane, record->span.name, record->span.depth, begin_ns };
}

void run_release_published(struct run *run)
{
	for (size_t i = 0; i < run->meta_count; i++) {
		free(run->meta[i].key);
		free(run->meta[i].value);
	}
	for (size_t i = 0; i < run->gauge_count; i++)
		series_free(run->gauges[i].series);
	free(run->meta);
	free(run->gauges);
	free(run->counters);
	names_release(&run->private->names);
}
