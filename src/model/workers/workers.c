#include "src/model/workers/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/model_private.h"
#include "src/model/workers/workers_private.h"

#define WINDOW_NS (WORKER_WINDOW_S * NS_PER_S)
/* A reading that finds nothing new is not told; after so long it must have been made. */
#define QUIET_NS (500 * NS_PER_MS)
#define TAKEN_ALONG_NS (2 * NS_PER_S)
/* For a rate of its own, the window must hold so many. */
enum { FETCHES_LEAST = 3 };

/* -- what was done -- */

static void work_init(struct worker_work *work)
{
	*work = (struct worker_work){ .items = NAN, .item_p5_s = NAN };
	work->fetch = work->item = (struct figures){
		.total_s = NAN, .mean_s = NAN, .min_s = NAN, .max_s = NAN, .last_s = NAN, .p50_s = NAN, .p95_s = NAN
	};
}

static double sum_of_known(double a, double b) { return isnan(a) ? b : isnan(b) ? a : a + b; }

static struct worker_time *find_span(struct worker_work *work, const char *name)
{
	char text[WORKER_NAME_SIZE];
	put_text(text, sizeof text, name);
	for (size_t i = 0; i < work->span_count; i++)
		if (strcmp(work->spans[i].name, text) == 0)
			return &work->spans[i];
	if (work->span_count == WORKER_SPANS_MOST || !text[0])
		return NULL;
	struct worker_time *span = &work->spans[work->span_count++];
	*span = (struct worker_time){ .count = 0 };
	put_text(span->name, sizeof span->name, text);
	return span;
}

/* The figures that follow from the totals and the histogram. */
static void derive(struct worker_work *work, const uint32_t histogram[HISTOGRAM_BUCKETS])
{
	struct figures *fetch = &work->fetch, *item = &work->item;
	fetch->count = work->fetches;
	fetch->mean_s = work->fetches ? fetch->total_s / (double)work->fetches : NAN;
	double quantiles[3];
	histogram_quantiles(histogram, 3, (const double[]){ 0.5, 0.95, 0.05 }, fetch->min_s, fetch->max_s, quantiles);
	fetch->p50_s = quantiles[0];
	fetch->p95_s = quantiles[1];
	double each = work->items > 0 && work->fetches ? work->items / (double)work->fetches : NAN;
	*item = (struct figures){ .count = work->items > 0 ? (uint64_t)fmin(work->items, 0x1p62) : 0,
		.total_s = fetch->total_s,
		.mean_s = fetch->total_s / work->items,
		.min_s = fetch->min_s / each,
		.max_s = fetch->max_s / each,
		.last_s = NAN,
		.p50_s = fetch->p50_s / each,
		.p95_s = fetch->p95_s / each };
	work->item_p5_s = quantiles[2] / each;
	if (isnan(each))
		item->mean_s = NAN;
	for (size_t i = 0; i < work->span_count; i++)
		work->spans[i].share_ratio = work->spans[i].total_s / fetch->total_s;
}

/* -- crews: what survives a worker's end -- */

static struct crew_kept *find_crew(struct workers *workers, int32_t owner)
{
	for (size_t i = 0; i < workers->crew_count; i++)
		if (workers->crews[i]->crew.owner == owner)
			return workers->crews[i];
	struct crew_kept *kept = workers->crew_count < CREWS_MOST ? calloc(1, sizeof *kept) : NULL;
	if (!kept)
		return NULL;
	kept->crew.owner = owner;
	work_init(&kept->crew.work);
	workers->crews[workers->crew_count++] = kept;
	return kept;
}

static void add_to_crew(struct crew_kept *crew, const struct worker_kept *before, const struct worker_row *row)
{
	const struct worker_work *old = &before->worker.work;
	struct worker_work *sum = &crew->crew.work;
	sum->fetches += row->fetches - old->fetches;
	sum->failed += row->failed - old->failed;
	sum->items = sum_of_known(sum->items, row->items - (isnan(old->items) ? 0 : old->items));
	if (row->fetches) {
		sum->fetch.total_s = sum_of_known(sum->fetch.total_s, row->total_s - before->total_s);
		sum->fetch.min_s = fmin(sum->fetch.min_s, row->min_s);
		sum->fetch.max_s = fmax(sum->fetch.max_s, row->max_s);
	}
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		crew->histogram[i] += row->histogram[i] - before->histogram[i];
	for (size_t i = 0; i < row->span_count; i++) {
		struct worker_time *span = find_span(sum, row->spans[i].name);
		for (size_t k = 0; span && k < old->span_count; k++) {
			if (strcmp(old->spans[k].name, span->name) != 0)
				continue;
			span->count -= old->spans[k].count;
			span->total_s -= old->spans[k].total_s;
		}
		if (span) {
			span->count += row->spans[i].count;
			span->total_s += row->spans[i].total_s;
		}
	}
	derive(sum, crew->histogram);
}

/* -- workers -- */

static struct worker_kept *find_kept(const struct workers *workers, unsigned source_id)
{
	for (size_t i = 0; i < workers->count; i++)
		if (workers->kept[i]->source_id == source_id && !workers->kept[i]->is_told_gone)
			return workers->kept[i];
	return NULL;
}

static void drop(struct workers *workers, size_t at)
{
	free(workers->kept[at]);
	memmove(&workers->kept[at], &workers->kept[at + 1], (workers->count - at - 1) * sizeof workers->kept[0]);
	workers->count--;
	workers->is_changed = true;
}

/* One that died is shown until another does its work; or its room is needed. */
static void drop_predecessor(struct workers *workers, int32_t owner, uint32_t id)
{
	bool is_full = workers->count == WORKERS_MOST;
	for (size_t i = 0; i < workers->count; i++) {
		const struct worker *worker = &workers->kept[i]->worker;
		if (worker->is_gone && (is_full || (worker->owner == owner && worker->id == id))) {
			drop(workers, i);
			return;
		}
	}
}

static struct worker_kept *add_kept(struct model *model, const struct record *record)
{
	struct workers *workers = model->private->workers;
	const struct worker_row *row = record->worker;
	int32_t owner = model_owner(model, row->pid);
	drop_predecessor(workers, owner, row->id);
	struct worker_kept *kept = workers->count < WORKERS_MOST ? calloc(1, sizeof *kept) : NULL;
	if (!kept)
		return NULL;
	kept->source_id = record->run;
	kept->worker = (struct worker){ .pid = row->pid,
		.owner = owner,
		.id = row->id,
		.count = row->count,
		.start_ns = row->start_ns,
		.busy_ratio = NAN,
		.fetches_per_s = NAN,
		.items_per_s = NAN };
	work_init(&kept->worker.work);
	kept->moments[0] = (struct worker_moment){ .time_ns = row->start_ns };
	kept->moment_count = 1;
	workers->kept[workers->count++] = kept;
	workers->is_changed = true;
	struct crew_kept *crew = find_crew(workers, owner);
	if (crew)
		crew->crew.seen++;
	return kept;
}

/* The newest and one from the window's begin, or as old as there is. */
static const struct worker_moment *moment_before(const struct worker_kept *kept, int64_t from_ns)
{
	const struct worker_moment *oldest = &kept->moments[kept->newest];
	for (size_t i = 1; i < kept->moment_count && oldest->time_ns > from_ns; i++)
		oldest = &kept->moments[(kept->newest + WORKER_MOMENTS - i) % WORKER_MOMENTS];
	return oldest;
}

static void refresh_rates(struct worker_kept *kept)
{
	struct worker *worker = &kept->worker;
	const struct worker_moment *now = &kept->moments[kept->newest],
							   *then = moment_before(kept, now->time_ns - WINDOW_NS);
	double elapsed_s = (double)(now->time_ns - then->time_ns) * 1e-9;
	if (elapsed_s <= 0)
		return;
	worker->busy_ratio = fmin(fmax((now->busy_s - then->busy_s) / elapsed_s, 0), 1);
	double fetches = (double)(now->fetches - then->fetches), items = now->items - then->items;
	if (fetches < FETCHES_LEAST) {
		elapsed_s = (double)(now->time_ns - worker->start_ns) * 1e-9;
		fetches = (double)now->fetches;
		items = now->items;
	}
	worker->fetches_per_s = fetches / elapsed_s;
	worker->items_per_s = isnan(worker->work.items) ? NAN : items / elapsed_s;
}

static void note_moment(struct worker_kept *kept, int64_t time_ns)
{
	const struct worker *worker = &kept->worker;
	struct worker_moment moment = { .time_ns = time_ns,
		.busy_s = kept->total_s,
		.fetches = worker->work.fetches,
		.items = isnan(worker->work.items) ? 0 : worker->work.items };
	if (time_ns <= kept->moments[kept->newest].time_ns)
		return;
	if (worker->fetch_begin_ns && !worker->is_gone)
		moment.busy_s += fmax((double)(time_ns - worker->fetch_begin_ns) * 1e-9, 0);
	kept->newest = (kept->newest + 1) % WORKER_MOMENTS;
	kept->moments[kept->newest] = moment;
	kept->moment_count += kept->moment_count < WORKER_MOMENTS;
	refresh_rates(kept);
}

/* What is told is foreign: it only ever grows, or it is not believed. */
static bool is_plausible(const struct worker_kept *kept, const struct worker_row *row)
{
	const struct worker_work *old = &kept->worker.work;
	if (row->fetches < old->fetches || row->failed < old->failed || row->items < old->items ||
		row->total_s < kept->total_s)
		return false;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (row->histogram[i] < kept->histogram[i])
			return false;
	return true;
}

static void take_row(struct worker_kept *kept, const struct worker_row *row)
{
	struct worker_work *work = &kept->worker.work;
	work->fetches = row->fetches;
	work->failed = row->failed;
	work->items = row->items;
	work->fetch.total_s = row->total_s;
	work->fetch.min_s = row->min_s;
	work->fetch.max_s = row->max_s;
	kept->total_s = isnan(row->total_s) ? 0 : row->total_s;
	memcpy(kept->histogram, row->histogram, sizeof kept->histogram);
	for (size_t i = 0; i < row->span_count; i++) {
		struct worker_time *span = find_span(work, row->spans[i].name);
		if (!span)
			continue;
		span->count = row->spans[i].count;
		span->total_s = row->spans[i].total_s;
	}
	derive(work, kept->histogram);
}

void model_take_worker(struct model *model, const struct record *record)
{
	struct workers *workers = model->private->workers;
	const struct worker_row *row = record->worker;
	struct worker_kept *kept = workers && row && row->histogram ? find_kept(workers, record->run) : NULL;
	if (kept && (kept->worker.pid != row->pid || kept->worker.start_ns != row->start_ns)) {
		kept->is_told_gone = kept->worker.is_gone = true;
		kept = NULL;
	}
	if (!kept && workers && row && row->histogram)
		kept = add_kept(model, record);
	if (!kept || !is_plausible(kept, row))
		return;
	struct crew_kept *crew = find_crew(workers, kept->worker.owner);
	if (crew)
		add_to_crew(crew, kept, row);
	kept->worker.fetch_begin_ns = row->fetch_begin_ns;
	take_row(kept, row);
	note_moment(kept, record->time_ns);
}

void model_lose_worker(struct model *model, const struct record *record)
{
	struct workers *workers = model->private->workers;
	for (size_t i = 0; workers && i < workers->count; i++) {
		struct worker_kept *kept = workers->kept[i];
		if (kept->source_id != record->run || kept->is_told_gone)
			continue;
		if (record->text && strcmp(record->text, "ended") == 0) {
			drop(workers, i);
			return;
		}
		kept->gone_ns = record->time_ns;
		kept->was_fetching = kept->worker.fetch_begin_ns != 0;
		kept->is_told_gone = kept->worker.is_gone = workers->is_changed = true;
		kept->worker.fetch_begin_ns = 0;
		kept->worker.busy_ratio = kept->worker.fetches_per_s = kept->worker.items_per_s = NAN;
		put_text(kept->worker.ended, sizeof kept->worker.ended, record->text);
		struct crew_kept *crew = find_crew(workers, kept->worker.owner);
		if (crew)
			crew->crew.died++;
		return;
	}
}

/* By an exception, such as a worker's death raises. */
static bool has_failed(const struct run *run)
{
	for (size_t i = 0; i < run->mark_count; i++)
		if (strncmp(run->marks[i].text, "ended by ", strlen("ended by ")) == 0)
			return true;
	return false;
}

static bool was_taken_along(const struct model *model, const struct worker_kept *kept)
{
	bool is_over = model->target_ended, failed = false;
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *run = &model->runs[i];
		is_over |= run->pid == kept->worker.owner && !run->is_live;
		failed |= run->pid == kept->worker.owner && has_failed(run);
	}
	return is_over && !(failed && kept->was_fetching);
}

/* A trainer that ends takes those along that wait for work, and those whose fetch nobody waits for any more. */
static void forget_taken_along(struct model *model)
{
	struct workers *workers = model->private->workers;
	for (size_t i = workers->count; i-- > 0;) {
		const struct worker_kept *kept = workers->kept[i];
		if (!kept->worker.is_gone || model->now_ns - kept->gone_ns > TAKEN_ALONG_NS || !was_taken_along(model, kept))
			continue;
		struct crew_kept *crew = find_crew(workers, kept->worker.owner);
		if (crew && crew->crew.died)
			crew->crew.died--;
		drop(workers, i);
	}
}

void model_refresh_workers(struct model *model)
{
	struct workers *workers = model->private->workers;
	if (!workers)
		return;
	for (size_t i = 0; i < workers->count; i++) {
		struct worker_kept *kept = workers->kept[i];
		if (!kept->worker.is_gone && model->now_ns - kept->moments[kept->newest].time_ns >= QUIET_NS)
			note_moment(kept, model->now_ns);
	}
	forget_taken_along(model);
	model_show_workers(model);
}

const struct crew *model_crew(const struct model *model, int run)
{
	const struct workers *workers = workers_of(model);
	int32_t owner = run >= 0 && (unsigned)run < model->run_count ? model->runs[run].pid : model->target_pid;
	for (size_t i = 0; workers && i < workers->crew_count; i++)
		if (workers->crews[i]->crew.owner == owner)
			return &workers->crews[i]->crew;
	return NULL;
}

void model_init_workers(struct model *model)
{
	model->private->tree_version = 1;
	model->private->workers = calloc(1, sizeof *model->private->workers);
}

void model_free_workers(struct model *model)
{
	struct workers *workers = model->private->workers;
	for (size_t i = 0; workers && i < workers->count; i++)
		free(workers->kept[i]);
	for (size_t i = 0; workers && i < workers->crew_count; i++)
		free(workers->crews[i]);
	free(workers);
}
