#include "src/model/run/published.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/run/run_private.h"
#include "src/model/run/steps/tracks.h"

enum { META_LENGTH_MAX = 1024, ROWS_FIRST = 4 };

void run_set_name(struct run *run, uint32_t id, const char *text)
{
	if (id == 0 || id > NAMES_MAX || !text)
		return;
	struct run_private *priv = run->priv;
	const struct {
		const char *text;
		uint32_t *id;
	} meant[] = {
		{ "train", &priv->train },
		{ "accumulate", &priv->accumulate },
		{ "profile", &priv->profile },
		{ "loss", &priv->loss },
		{ "cuda.allocated_bytes", &priv->allocated },
		{ "inference", &priv->inference },
		{ "error", &priv->error },
		{ "gc", &priv->gc },
		{ "sync", &priv->sync },
		{ "gpu.batch_s", &priv->device_batch },
	};
	names_set(&priv->names, id, text);
	for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
		if (strcmp(text, meant[i].text) == 0)
			*meant[i].id = id;
	const char *between = run_meta(run, "between");
	if (between && strcmp(text, between) == 0)
		run->priv->between = id;
}

static void note_phase_between(struct run *run)
{
	const char *text = run_meta(run, "between");
	uint32_t id = text && *text ? names_find(&run->priv->names, text) : 0;
	run->priv->between = id ? id : NAME_BETWEEN;
}

/* Makes room for one more row of an array that only grows; NULL: full or out of memory. */
static void *add_row(void *rows, size_t count, size_t max, size_t size)
{
	if (count >= max)
		return NULL;
	/* At a power of two the array is full and must double. */
	bool is_full = (count & (count - 1)) == 0 && (count == 0 || count >= ROWS_FIRST);
	return is_full ? realloc(rows, (count ? count * 2 : ROWS_FIRST) * size) : rows;
}

void run_set_meta(struct run *run, const char *key, const char *value)
{
	if (!key || !value)
		return;
	size_t at = 0;
	while (at < run->meta_count && strncmp(run->meta[at].key, key, META_LENGTH_MAX) != 0)
		at++;
	char *copy = copy_text(value, META_LENGTH_MAX);
	char *new_key = at == run->meta_count ? copy_text(key, META_LENGTH_MAX) : NULL;
	void *rows = copy && new_key ? add_row(run->meta, run->meta_count, METAS_MAX, sizeof *run->meta) : NULL;
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
	for (size_t i = 0; i < run->flagged_count; i++)
		run->flagged[i].has_news = true;
	if (strcmp(key, "RANK") == 0)
		put_text(run->rank, sizeof run->rank, value);
	if (strcmp(key, "WORLD_SIZE") == 0)
		put_text(run->world, sizeof run->world, value);
	if (strcmp(key, "rank.certain") == 0)
		run->is_rank_guessed = strcmp(value, "no") == 0;
	if (strcmp(key, "rank.apart") == 0)
		run->is_rank_apart = strcmp(value, "yes") == 0;
	if (strcmp(key, "between") == 0)
		note_phase_between(run);
}

/* Published about the batch's end, before or after. */
static void note_allocated(struct run *run, double value)
{
	const struct run_private *priv = run->priv;
	const struct lane *lane = priv->step_lane < priv->lane_count ? &priv->lanes[priv->step_lane] : NULL;
	struct batch *batch = lane && lane->has_step ? track_slot(&run->tracks[lane->track], lane->ordinal) : NULL;
	if (batch && value >= 0)
		batch->allocated_bytes = value;
}

void run_set_gauge(struct run *run, uint32_t name, int64_t time_ns, double value)
{
	size_t at = 0;
	while (at < run->gauge_count && run->gauges[at].name != name)
		at++;
	if (at == run->gauge_count) {
		struct series *series = series_new();
		void *rows = series ? add_row(run->gauges, run->gauge_count, GAUGES_MAX, sizeof *run->gauges) : NULL;
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
	if (name != 0 && name == run->priv->allocated)
		note_allocated(run, value);
	series_push(run->gauges[at].series, time_ns, value);
}

/* A slow counter has long gaps between its points, a fast one a second. */
static void add_point(struct counter *counter, int64_t time_ns, double total)
{
	unsigned count = counter->point_count;
	if (count > 0 && total < counter->points[count - 1].total)
		count = counter->point_count = 0;
	if (count > 0 &&
		(total == counter->points[count - 1].total ||
			time_ns < bounded_time(counter->points[count - 1].time_ns) + NS_PER_S))
		return;
	if (count == COUNTER_POINTS_MAX)
		memmove(&counter->points[0], &counter->points[1], --count * sizeof counter->points[0]);
	counter->points[count].time_ns = bounded_time(time_ns);
	counter->points[count].total = total;
	counter->point_count = count + 1;
	double elapsed_s = (double)(counter->points[count].time_ns - counter->points[0].time_ns) * 1e-9;
	counter->rate_per_s = count > 0 ? (total - counter->points[0].total) / elapsed_s : NAN;
}

void run_set_counter(struct run *run, uint32_t name, int64_t time_ns, double total)
{
	size_t at = 0;
	while (at < run->counter_count && run->counters[at].name != name)
		at++;
	if (at == run->counter_count) {
		void *rows = add_row(run->counters, run->counter_count, COUNTERS_MAX, sizeof *run->counters);
		if (!rows)
			return;
		run->counters = rows;
		run->counters[at] = (struct counter){ .name = name, .rate_per_s = NAN };
		run->counter_count++;
	}
	run->counters[at].total = total;
	add_point(&run->counters[at], time_ns, total);
}

void run_add_mark(struct run *run, int64_t time_ns, const char *text)
{
	if (run->mark_count == RUN_MARKS_MAX) {
		memmove(&run->marks[0], &run->marks[1], (RUN_MARKS_MAX - 1) * sizeof run->marks[0]);
		run->mark_count--;
		run->marks_dropped++;
	}
	run->marks[run->mark_count].time_ns = time_ns;
	put_text(run->marks[run->mark_count].text, sizeof run->marks[0].text, text);
	run->mark_count++;
}

void run_clear_open_spans(struct run *run, uint16_t lane)
{
	size_t retained = 0;
	for (size_t i = 0; i < run->open_span_count; i++)
		if (run->open_spans[i].lane != lane)
			run->open_spans[retained++] = run->open_spans[i];
	run->open_span_count = retained;
}

void run_set_open_span(struct run *run, const struct record *record)
{
	if (record->span.depth == 0)
		run_clear_open_spans(run, record->lane);
	int64_t begin_ns;
	if (run->open_span_count == OPEN_SPANS_MAX || record->span.duration_ns < 0 ||
		__builtin_sub_overflow(record->time_ns, record->span.duration_ns, &begin_ns))
		return;
	run->open_spans[run->open_span_count++] =
		(struct open_span){ record->lane, record->span.name, record->span.depth, begin_ns };
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
	names_release(&run->priv->names);
}
