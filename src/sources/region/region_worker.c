#include "src/sources/region/region_worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/region/tables.h"
#include "src/sources/region/region_calls.h"
#include "src/sources/source.h"

enum { METAS_MAX = 64, TOTALS_MAX = 256, COUNTERS_MAX = 256, SPANS_MAX = 16, META_SIZE = 24, TRIES = 3 };

#define ROW_NS (180 * NS_PER_MS)

struct region_worker {
	struct region *region;
	unsigned id;
	pid_t pid;
	int64_t offset_ns;      /* to be added to the writer's times */
	uint32_t worker, count; /* from the region's meta */
	int64_t start_ns, next_ns;
	bool is_emitted, has_ended;
	uint32_t sequence; /* of the state, as emitted */
};

/* -- meta -- */

static bool find_meta(struct region *region, const char *wanted, char out[META_SIZE])
{
	const char *key, *value;
	size_t key_length, value_length;
	for (uint32_t i = 0; i < METAS_MAX; i++) {
		enum region_status status = region_read_meta(region, i, &key, &key_length, &value, &value_length);
		if (status != REGION_OK && status != REGION_BUSY)
			return false;
		if (status != REGION_OK || key_length != strlen(wanted) || memcmp(key, wanted, key_length) != 0 ||
			value_length >= META_SIZE)
			continue;
		memcpy(out, value, value_length);
		out[value_length] = '\0';
		return true;
	}
	return false;
}

static uint32_t count_meta(struct region *region, const char *key, uint32_t unknown)
{
	char text[META_SIZE], *end;
	if (!find_meta(region, key, text))
		return unknown;
	unsigned long value = strtoul(text, &end, 10);
	return end == text || *end || value >= UINT32_MAX ? unknown : (uint32_t)value;
}

enum region_role region_role(struct region *region, int64_t now_ns)
{
	char role[META_SIZE];
	struct region_identity identity;
	if (find_meta(region, "role", role))
		return strcmp(role, "worker") == 0 ? REGION_IS_WORKER : REGION_IS_RUN;
	if (region_identify(region, &identity) != REGION_OK)
		return REGION_IS_RUN;
	return identity.start_ns <= now_ns && now_ns - identity.start_ns < NS_PER_S ? REGION_IS_YOUNG : REGION_IS_RUN;
}

/* -- a row -- */

struct sums {
	struct worker_row *row;
	uint32_t *histogram;
	uint32_t names[SPANS_MAX], depths[SPANS_MAX];
	struct worker_span *spans;
};

static bool is_time(double seconds) { return isfinite(seconds) && seconds >= 0; }

static bool has_name(struct region *region, uint32_t id, const char *wanted)
{
	const char *text;
	size_t length;
	return id != 0 && region_read_name(region, id, &text, &length) == REGION_OK && strcmp(text, wanted) == 0;
}

static void add_fetches(struct region *region, const struct region_total *total, struct sums *sums)
{
	struct worker_row *row = sums->row;
	if (total->mode != 0 && !has_name(region, total->mode, "train")) {
		row->failed += has_name(region, total->mode, "failed") ? total->count : 0;
		return;
	}
	if (total->count == 0 || !is_time(total->total_s) || !is_time(total->min_s) || !is_time(total->max_s))
		return;
	row->fetches += total->count;
	row->total_s = isnan(row->total_s) ? total->total_s : row->total_s + total->total_s;
	row->min_s = fmin(row->min_s, total->min_s);
	row->max_s = fmax(row->max_s, total->max_s);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		sums->histogram[i] += total->histogram[i];
}

/* One row per name, whatever its parents are; outermost names first. */
static void add_span(const struct region_total *total, struct sums *sums)
{
	size_t count = sums->row->span_count, at = 0;
	if (!is_time(total->total_s) || total->count == 0)
		return;
	while (at < count && sums->names[at] != total->name)
		at++;
	if (at < count) {
		sums->spans[at].count += total->count;
		sums->spans[at].total_s += total->total_s;
		return;
	}
	if (count == SPANS_MAX)
		return;
	for (at = count; at > 0 && sums->depths[at - 1] > total->depth; at--) {
		sums->names[at] = sums->names[at - 1];
		sums->depths[at] = sums->depths[at - 1];
		sums->spans[at] = sums->spans[at - 1];
	}
	sums->names[at] = total->name;
	sums->depths[at] = total->depth;
	sums->spans[at] = (struct worker_span){ .count = total->count, .total_s = total->total_s };
	sums->row->span_count++;
}

/* REGION_BUSY: a total is being written, and without it the row would show less than before. */
static enum region_status add_totals(struct region *region, struct sums *sums)
{
	uint32_t count = region_total_count(region);
	struct region_total *total = malloc(sizeof *total);
	enum region_status status = total ? REGION_OK : REGION_NO_MEMORY;
	for (uint32_t i = 0; i < count && i < TOTALS_MAX && status == REGION_OK; i++) {
		status = region_read_total(region, i, total);
		if (status == REGION_OK && total->kind == TOTAL_BATCH)
			add_fetches(region, total, sums);
		else if (status == REGION_OK && total->kind == TOTAL_SPAN)
			add_span(total, sums);
	}
	free(total);
	return status;
}

static void name_spans(struct region *region, struct sums *sums, struct sample_set *out)
{
	const char *text;
	size_t length;
	for (size_t i = 0; i < sums->row->span_count; i++)
		sums->spans[i].name = region_read_name(region, sums->names[i], &text, &length) == REGION_OK
			? sample_set_text(out, text, length)
			: "";
}

static double items_of(struct region *region, uint32_t count)
{
	uint32_t name;
	double total;
	for (uint32_t i = 0; i < count && i < COUNTERS_MAX; i++)
		if (region_read_counter(region, i, &name, &total) == REGION_OK && has_name(region, name, "samples"))
			return is_time(total) ? total : NAN;
	return NAN;
}

static int64_t time_of(const struct region_worker *worker, int64_t theirs_ns, int64_t now_ns)
{
	int64_t ours_ns = (int64_t)((uint64_t)theirs_ns + (uint64_t)worker->offset_ns);
	return ours_ns > 0 && ours_ns <= now_ns ? ours_ns : now_ns;
}

static enum region_status fill_row(
	struct region_worker *worker, int64_t now_ns, struct sums *sums, struct sample_set *out)
{
	struct region_state state;
	struct worker_row *row = sums->row;
	enum region_status status = region_read_state(worker->region, &state);
	if (status != REGION_OK)
		return status;
	*row = (struct worker_row){ .pid = worker->pid,
		.id = worker->worker,
		.count = worker->count,
		.start_ns = worker->start_ns,
		.total_s = NAN,
		.min_s = NAN,
		.max_s = NAN,
		.histogram = sums->histogram,
		.spans = sums->spans };
	memset(sums->histogram, 0, HISTOGRAM_BUCKETS * sizeof *sums->histogram);
	status = add_totals(worker->region, sums);
	if (status != REGION_OK)
		return status;
	name_spans(worker->region, sums, out);
	row->items = items_of(worker->region, state.counter_count);
	row->fetch_begin_ns = state.in_batch && !state.is_ended ? time_of(worker, state.batch_begin_ns, now_ns) : 0;
	worker->has_ended = state.is_ended;
	return REGION_OK;
}

/* -- the worker -- */

/* Reads again if a fetch began or ended meanwhile, so that no fetch is both running and counted. */
static enum region_status emit_row(struct region_worker *worker, int64_t now_ns, struct sample_set *out)
{
	struct sums sums = { .row = sample_set_allocate(out, sizeof *sums.row) };
	sums.histogram = sample_set_allocate(out, HISTOGRAM_BUCKETS * sizeof *sums.histogram);
	sums.spans = sample_set_allocate(out, SPANS_MAX * sizeof *sums.spans);
	if (!sums.row || !sums.histogram || !sums.spans)
		return REGION_OK;
	enum region_status status = REGION_OK;
	for (int i = 0; i < TRIES; i++) {
		worker->sequence = region_state_sequence(worker->region);
		status = fill_row(worker, now_ns, &sums, out);
		if (region_state_sequence(worker->region) == worker->sequence)
			break;
	}
	struct record *record = status == REGION_OK ? sample_set_add(out, RECORD_WORKER, worker->id, now_ns) : NULL;
	if (record)
		record->worker = sums.row;
	worker->is_emitted = record != NULL;
	return status;
}

enum status region_worker_read(struct region_worker *worker, int64_t now_ns, bool is_last, struct sample_set *out)
{
	bool is_same = worker->is_emitted && region_state_sequence(worker->region) == worker->sequence;
	if (!is_last && (is_same || now_ns < worker->next_ns))
		return STATUS_OK;
	worker->next_ns = now_ns + ROW_NS;
	enum region_status status = emit_row(worker, now_ns, out);
	return status == REGION_OK || status == REGION_BUSY ? STATUS_OK
		: status == REGION_NO_MEMORY                    ? STATUS_NO_MEMORY
														: STATUS_DAMAGED;
}

enum status region_worker_emit(struct region_worker *worker, int64_t now_ns, struct sample_set *out)
{
	enum region_status status = emit_row(worker, now_ns, out);
	return status == REGION_OK || status == REGION_BUSY ? STATUS_OK : STATUS_DAMAGED;
}

enum status region_worker_open(
	struct region *region, unsigned id, pid_t pid, int directory_fd, struct region_worker **out)
{
	struct region_identity identity = { .start_ns = 0 };
	struct region_worker *worker = calloc(1, sizeof *worker);
	if (!worker) {
		region_close(region);
		return STATUS_NO_MEMORY;
	}
	worker->region = region;
	worker->id = id;
	worker->pid = pid;
	worker->offset_ns = region_calls_clock_offset_ns(region, directory_fd);
	worker->worker = count_meta(region, "worker.id", UINT32_MAX);
	worker->count = count_meta(region, "worker.count", 0);
	worker->next_ns = INT64_MIN;
	if (region_identify(region, &identity) == REGION_OK)
		worker->start_ns = time_of(worker, identity.start_ns, clock_monotonic_ns());
	*out = worker;
	return STATUS_OK;
}

void region_worker_close(struct region_worker *worker)
{
	region_close(worker->region);
	free(worker);
}

bool region_worker_has_ended(const struct region_worker *worker) { return worker->has_ended; }
