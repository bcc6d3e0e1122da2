#include "src/model/workers/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/model_private.h"
#include "src/model/workers/workers_private.h"
#include "src/model/workers/workers_shown.h"

#define WINDOW_NS (WORKER_WINDOW_S * NS_PER_S)
/* Readings without news emit no record: after so long, assume that there was one. */
#define QUIET_NS (500 * NS_PER_MS)
#define TAKEN_ALONG_NS (2 * NS_PER_S)
/* Minimum of fetches in the window for a rate; else the rate is since the worker's start. */
enum { FETCHES_MIN = 3 };

/* -- totals of work -- */

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
	if (work->span_count == WORKER_SPANS_MAX || !text[0])
		return NULL;
	struct worker_time *span = &work->spans[work->span_count++];
	*span = (struct worker_time){ .count = 0 };
	put_text(span->name, sizeof span->name, text);
	return span;
}

/* Derives figures from the totals and the histogram. */
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

/* -- worker groups: totals that include ended workers -- */

static struct worker_group_retained *find_worker_group(struct workers *workers, int32_t owner)
{
	for (size_t i = 0; i < workers->worker_group_count; i++)
		if (workers->worker_groups[i]->worker_group.owner == owner)
			return workers->worker_groups[i];
	struct worker_group_retained *retained =
		workers->worker_group_count < WORKER_GROUPS_MAX ? calloc(1, sizeof *retained) : NULL;
	if (!retained)
		return NULL;
	retained->worker_group.owner = owner;
	work_init(&retained->worker_group.work);
	workers->worker_groups[workers->worker_group_count++] = retained;
	return retained;
}

static void add_to_worker_group(
	struct worker_group_retained *worker_group, const struct worker_retained *before, const struct worker_row *row)
{
	const struct worker_work *old = &before->worker.work;
	struct worker_work *sum = &worker_group->worker_group.work;
	sum->fetches += row->fetches - old->fetches;
	sum->failed += row->failed - old->failed;
	sum->items = sum_of_known(sum->items, row->items - (isnan(old->items) ? 0 : old->items));
	if (row->fetches) {
		sum->fetch.total_s = sum_of_known(sum->fetch.total_s, row->total_s - before->total_s);
		sum->fetch.min_s = fmin(sum->fetch.min_s, row->min_s);
		sum->fetch.max_s = fmax(sum->fetch.max_s, row->max_s);
	}
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		worker_group->histogram[i] += row->histogram[i] - before->histogram[i];
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
	derive(sum, worker_group->histogram);
}

/* -- workers -- */

static struct worker_retained *find_retained(const struct workers *workers, unsigned source_id)
{
	for (size_t i = 0; i < workers->count; i++)
		if (workers->retained[i]->source_id == source_id && !workers->retained[i]->is_emitted_gone)
			return workers->retained[i];
	return NULL;
}

static void drop(struct workers *workers, size_t at)
{
	free(workers->retained[at]);
	memmove(
		&workers->retained[at], &workers->retained[at + 1], (workers->count - at - 1) * sizeof workers->retained[0]);
	workers->count--;
	workers->is_changed = true;
}

/* Drops a worker that died when its successor starts, or when its slot is needed. */
static void drop_predecessor(struct workers *workers, int32_t owner, uint32_t id)
{
	bool is_full = workers->count == WORKERS_MAX;
	for (size_t i = 0; i < workers->count; i++) {
		const struct worker *worker = &workers->retained[i]->worker;
		if (worker->is_gone && (is_full || (worker->owner == owner && worker->id == id))) {
			drop(workers, i);
			return;
		}
	}
}

static struct worker_retained *add_retained(struct model *model, const struct record *record)
{
	struct workers *workers = model->priv->workers;
	const struct worker_row *row = record->worker;
	int32_t owner = model_owner(model, row->pid);
	drop_predecessor(workers, owner, row->id);
	struct worker_retained *retained = workers->count < WORKERS_MAX ? calloc(1, sizeof *retained) : NULL;
	if (!retained)
		return NULL;
	retained->source_id = record->run;
	retained->worker = (struct worker){ .pid = row->pid,
		.owner = owner,
		.id = row->id,
		.count = row->count,
		.start_ns = row->start_ns,
		.busy_ratio = NAN,
		.fetches_per_s = NAN,
		.items_per_s = NAN };
	work_init(&retained->worker.work);
	retained->moments[0] = (struct worker_moment){ .time_ns = row->start_ns };
	retained->moment_count = 1;
	workers->retained[workers->count++] = retained;
	workers->is_changed = true;
	struct worker_group_retained *worker_group = find_worker_group(workers, owner);
	if (worker_group)
		worker_group->worker_group.seen++;
	return retained;
}

/* The moment at or before from_ns, or the oldest. */
static const struct worker_moment *moment_before(const struct worker_retained *retained, int64_t from_ns)
{
	const struct worker_moment *oldest = &retained->moments[retained->newest];
	for (size_t i = 1; i < retained->moment_count && oldest->time_ns > from_ns; i++)
		oldest = &retained->moments[(retained->newest + WORKER_MOMENTS - i) % WORKER_MOMENTS];
	return oldest;
}

static void refresh_rates(struct worker_retained *retained)
{
	struct worker *worker = &retained->worker;
	const struct worker_moment *now = &retained->moments[retained->newest],
							   *then = moment_before(retained, now->time_ns - WINDOW_NS);
	double elapsed_s = (double)(now->time_ns - then->time_ns) * 1e-9;
	if (elapsed_s <= 0)
		return;
	worker->busy_ratio = fmin(fmax((now->busy_s - then->busy_s) / elapsed_s, 0), 1);
	double fetches = (double)(now->fetches - then->fetches), items = now->items - then->items;
	if (fetches < FETCHES_MIN) {
		elapsed_s = (double)(now->time_ns - worker->start_ns) * 1e-9;
		fetches = (double)now->fetches;
		items = now->items;
	}
	worker->fetches_per_s = fetches / elapsed_s;
	worker->items_per_s = isnan(worker->work.items) ? NAN : items / elapsed_s;
}

static void note_moment(struct worker_retained *retained, int64_t time_ns)
{
	const struct worker *worker = &retained->worker;
	struct worker_moment moment = { .time_ns = time_ns,
		.busy_s = retained->total_s,
		.fetches = worker->work.fetches,
		.items = isnan(worker->work.items) ? 0 : worker->work.items };
	if (time_ns <= retained->moments[retained->newest].time_ns)
		return;
	if (worker->fetch_begin_ns && !worker->is_gone)
		moment.busy_s += fmax((double)(time_ns - worker->fetch_begin_ns) * 1e-9, 0);
	retained->newest = (retained->newest + 1) % WORKER_MOMENTS;
	retained->moments[retained->newest] = moment;
	retained->moment_count += retained->moment_count < WORKER_MOMENTS;
	refresh_rates(retained);
}

/* Rejects rows with decreasing counters: the publisher is not trusted. */
static bool is_plausible(const struct worker_retained *retained, const struct worker_row *row)
{
	const struct worker_work *old = &retained->worker.work;
	if (row->fetches < old->fetches || row->failed < old->failed || row->items < old->items ||
		row->total_s < retained->total_s)
		return false;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (row->histogram[i] < retained->histogram[i])
			return false;
	return true;
}

static void take_row(struct worker_retained *retained, const struct worker_row *row)
{
	struct worker_work *work = &retained->worker.work;
	work->fetches = row->fetches;
	work->failed = row->failed;
	work->items = row->items;
	work->fetch.total_s = row->total_s;
	work->fetch.min_s = row->min_s;
	work->fetch.max_s = row->max_s;
	retained->total_s = isnan(row->total_s) ? 0 : row->total_s;
	memcpy(retained->histogram, row->histogram, sizeof retained->histogram);
	for (size_t i = 0; i < row->span_count; i++) {
		struct worker_time *span = find_span(work, row->spans[i].name);
		if (!span)
			continue;
		span->count = row->spans[i].count;
		span->total_s = row->spans[i].total_s;
	}
	derive(work, retained->histogram);
}

void model_take_worker(struct model *model, const struct record *record)
{
	struct workers *workers = model->priv->workers;
	const struct worker_row *row = record->worker;
	struct worker_retained *retained = workers && row && row->histogram ? find_retained(workers, record->run) : NULL;
	if (retained && (retained->worker.pid != row->pid || retained->worker.start_ns != row->start_ns)) {
		retained->is_emitted_gone = retained->worker.is_gone = true;
		retained = NULL;
	}
	if (!retained && workers && row && row->histogram)
		retained = add_retained(model, record);
	if (!retained || !is_plausible(retained, row))
		return;
	struct worker_group_retained *worker_group = find_worker_group(workers, retained->worker.owner);
	if (worker_group)
		add_to_worker_group(worker_group, retained, row);
	retained->worker.fetch_begin_ns = row->fetch_begin_ns;
	take_row(retained, row);
	note_moment(retained, record->time_ns);
}

void model_lose_worker(struct model *model, const struct record *record)
{
	struct workers *workers = model->priv->workers;
	for (size_t i = 0; workers && i < workers->count; i++) {
		struct worker_retained *retained = workers->retained[i];
		if (retained->source_id != record->run || retained->is_emitted_gone)
			continue;
		if (end_is_orderly(record->text)) {
			drop(workers, i);
			return;
		}
		retained->gone_ns = record->time_ns;
		retained->was_fetching = retained->worker.fetch_begin_ns != 0;
		retained->is_emitted_gone = retained->worker.is_gone = workers->is_changed = true;
		retained->worker.fetch_begin_ns = 0;
		retained->worker.busy_ratio = retained->worker.fetches_per_s = retained->worker.items_per_s = NAN;
		put_text(retained->worker.ended, sizeof retained->worker.ended, record->text);
		struct worker_group_retained *worker_group = find_worker_group(workers, retained->worker.owner);
		if (worker_group)
			worker_group->worker_group.died++;
		return;
	}
}

/* Did the run end by an exception, such as the one raised when a worker dies? */
static bool has_failed(const struct run *run)
{
	for (size_t i = 0; i < run->mark_count; i++)
		if (strncmp(run->marks[i].text, "ended by ", strlen("ended by ")) == 0)
			return true;
	return false;
}

static bool was_taken_along(const struct model *model, const struct worker_retained *retained)
{
	bool is_over = model->target_ended, failed = false;
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *run = &model->runs[i];
		is_over |= run->pid == retained->worker.owner && !run->is_live;
		failed |= run->pid == retained->worker.owner && has_failed(run);
	}
	return is_over && !(failed && retained->was_fetching);
}

/* When the trainer ends normally, its workers end too: these do not count as died. */
static void forget_taken_along(struct model *model)
{
	struct workers *workers = model->priv->workers;
	for (size_t i = workers->count; i-- > 0;) {
		const struct worker_retained *retained = workers->retained[i];
		if (!retained->worker.is_gone || model->now_ns - retained->gone_ns > TAKEN_ALONG_NS ||
			!was_taken_along(model, retained))
			continue;
		struct worker_group_retained *worker_group = find_worker_group(workers, retained->worker.owner);
		if (worker_group && worker_group->worker_group.died)
			worker_group->worker_group.died--;
		drop(workers, i);
	}
}

void model_refresh_workers(struct model *model)
{
	struct workers *workers = model->priv->workers;
	if (!workers)
		return;
	for (size_t i = 0; i < workers->count; i++) {
		struct worker_retained *retained = workers->retained[i];
		if (!retained->worker.is_gone && model->now_ns - retained->moments[retained->newest].time_ns >= QUIET_NS)
			note_moment(retained, model->now_ns);
	}
	forget_taken_along(model);
	model_show_workers(model);
}

const struct worker_group *model_worker_group(const struct model *model, int run)
{
	const struct workers *workers = workers_of(model);
	int32_t owner = run >= 0 && (unsigned)run < model->run_count ? model->runs[run].pid : model->target_pid;
	for (size_t i = 0; workers && i < workers->worker_group_count; i++)
		if (workers->worker_groups[i]->worker_group.owner == owner)
			return &workers->worker_groups[i]->worker_group;
	return NULL;
}

void model_init_workers(struct model *model)
{
	model->priv->tree_version = 1;
	model->priv->workers = calloc(1, sizeof *model->priv->workers);
}

void model_free_workers(struct model *model)
{
	struct workers *workers = model->priv->workers;
	for (size_t i = 0; workers && i < workers->count; i++)
		free(workers->retained[i]);
	for (size_t i = 0; workers && i < workers->worker_group_count; i++)
		free(workers->worker_groups[i]);
	free(workers);
}
