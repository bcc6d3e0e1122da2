#include "src/export/json/json_workers.h"

#include <math.h>

#include "src/model/machine/processes.h"
#include "src/model/workers/workers_shown.h"

static void write_figures(struct json *json, const char *key, const struct figures *figures)
{
	if (isnan(figures->mean_s))
		return;
	json_open_object(json, key);
	json_number(json, "mean", figures->mean_s);
	json_number(json, "p50", figures->p50_s);
	json_number(json, "p95", figures->p95_s);
	json_number(json, "min", figures->min_s);
	json_number(json, "max", figures->max_s);
	json_close_object(json);
}

static void write_spans(struct json *json, const struct worker_work *work)
{
	json_open_array(json, "spans");
	for (size_t i = 0; i < work->span_count; i++) {
		const struct worker_time *span = &work->spans[i];
		json_open_object(json, NULL);
		json_text(json, "name", span->name);
		json_unsigned(json, "count", span->count);
		json_number(json, "total_s", span->total_s);
		json_number(json, "mean_s", span->total_s / (double)span->count);
		json_number(json, "share_ratio", span->share_ratio);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_work(struct json *json, const struct worker_work *work)
{
	json_unsigned(json, "fetches", work->fetches);
	json_unsigned(json, "failed", work->failed);
	json_number(json, "items", work->items);
	write_figures(json, "fetch_s", &work->fetch);
	write_figures(json, "item_s", &work->item);
	write_spans(json, work);
}

static void write_process(struct json *json, const struct process *process)
{
	json_number(json, "cpu_ratio", process->cpu_ratio);
	json_number(json, "rss_bytes", process->now[METRIC_PROCESS_RESIDENT]);
	json_number(json, "read_bytes_per_s", process->read_bytes_per_s);
	json_number(json, "state_since_s", process->state_since_s);
}

static void write_worker(struct json *json, const struct worker_shown *shown)
{
	const struct worker *worker = shown->worker;
	json_open_object(json, NULL);
	json_integer(json, "pid", worker ? worker->pid : shown->process->pid);
	if (worker && worker->id != UINT32_MAX)
		json_unsigned(json, "id", worker->id);
	json_text(json, "state", worker_state_name(shown->state));
	if (worker) {
		json_text(json, "ended", worker->ended[0] ? worker->ended : NULL);
		write_work(json, &worker->work);
		json_number(json, "fetches_per_s", worker->fetches_per_s);
		json_number(json, "items_per_s", worker->items_per_s);
		json_number(json, "busy_ratio", worker->busy_ratio);
		json_number(json, "idle_ratio", 1 - worker->busy_ratio);
	}
	if (shown->process)
		write_process(json, shown->process);
	json_close_object(json);
}

void json_workers(struct json *json, const struct model *model, int run)
{
	size_t count;
	const struct worker_shown *shown = model_workers(model, run, &count);
	const struct worker_group *worker_group = model_worker_group(model, run);
	/* If only a region is read, its processes are unknown. */
	if (!model_target(model))
		return;
	size_t cut = json_cut(json, count);
	json_open_array(json, "workers");
	for (size_t i = 0; i < count - cut; i++)
		write_worker(json, &shown[i]);
	json_close_array(json);
	json_left_out(json, "workers_left_out", cut);
	if (!worker_group)
		return;
	json_open_object(json, "workers_total");
	json_unsigned(json, "seen", worker_group->seen);
	json_unsigned(json, "died", worker_group->died);
	write_work(json, &worker_group->work);
	json_close_object(json);
}
