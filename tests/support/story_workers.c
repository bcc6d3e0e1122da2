#include "tests/support/story_workers.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/clock.h"

#define IDLE_S 0.09

/* 0.3 to 0.7 s, the same at each call. */
static double fetch_s(unsigned worker, uint64_t fetch)
{
	uint64_t mixed = (fetch * 16 + worker + 1) * UINT64_C(0x9e3779b97f4a7c15);
	double chance = (double)((mixed ^ mixed >> 29) % 1000) / 1000;
	return 0.3 + 0.4 * chance * chance;
}

static void *allocate(struct sample_set *out, size_t size)
{
	void *storage = sample_set_allocate(out, size);
	if (!storage)
		abort();
	return storage;
}

static void emit_worker(const struct story_options *options, unsigned worker, int64_t now_ns, struct sample_set *out)
{
	struct worker_row *row = allocate(out, sizeof *row);
	uint32_t *histogram = allocate(out, HISTOGRAM_BUCKETS * sizeof *histogram);
	struct worker_span *spans = allocate(out, 2 * sizeof *spans);
	double until_s = seconds_between(options->start_ns, now_ns), at_s = 0.01 * worker;
	*row = (struct worker_row){ .pid = options->pid + 1 + (int32_t)worker,
		.id = worker,
		.count = options->workers,
		.start_ns = options->start_ns,
		.total_s = NAN,
		.min_s = NAN,
		.max_s = NAN,
		.histogram = histogram,
		.span_count = 2,
		.spans = spans };
	for (uint64_t fetch = 0;; fetch++) {
		double seconds = fetch_s(worker, fetch);
		if (at_s <= until_s && at_s + seconds > until_s)
			row->fetch_begin_ns = options->start_ns + llround(at_s * 1e9);
		if (at_s + seconds > until_s)
			break;
		row->total_s = (isnan(row->total_s) ? 0 : row->total_s) + seconds;
		row->min_s = fmin(row->min_s, seconds);
		row->max_s = fmax(row->max_s, seconds);
		histogram[histogram_bucket((uint64_t)llround(seconds * 1e9))]++;
		row->fetches++;
		at_s += seconds + IDLE_S;
	}
	row->items = (double)(row->fetches * STORY_WORKER_ITEMS);
	double total_s = isnan(row->total_s) ? 0 : row->total_s;
	spans[0] = (struct worker_span){ "decode", row->fetches * STORY_WORKER_ITEMS, 0.78 * total_s };
	spans[1] = (struct worker_span){ "augment", row->fetches * STORY_WORKER_ITEMS, 0.15 * total_s };
	struct record *record = sample_set_add(out, RECORD_WORKER, worker, now_ns);
	if (!record)
		abort();
	record->worker = row;
}

void story_emit_workers(const struct story_options *options, int64_t now_ns, struct sample_set *out)
{
	for (unsigned worker = 0; worker < options->workers; worker++)
		emit_worker(options, worker, now_ns, out);
}
