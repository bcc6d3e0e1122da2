#include "ui/views/overview/panel_workers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/model/workers/workers_shown.h"
#include "ui/widgets/parts.h"

/* -- in words -- */

/* Minimum widths for idle workers and for the range of item times. */
enum { WITH_WAITING = 50, WITH_RANGE = 70 };

static void add_states(struct line *line, const struct worker_group_now *now, bool is_wide)
{
	static const struct {
		enum worker_state state;
		const char *words;
	} table[] = {
		{ WORKER_BUSY, "busy" },
		{ WORKER_IDLE, "idle" },
		{ WORKER_SLEEPING, "sleeping" },
		{ WORKER_DISK, "waiting for disk" },
		{ WORKER_STOPPED, "stopped" },
	};
	char text[LINE_PIECE_SIZE];
	size_t length = (size_t)snprintf(text, sizeof text, "workers %u", now->count);
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		unsigned count = now->states[table[i].state];

		bool is_waiting = table[i].state == WORKER_IDLE || table[i].state == WORKER_SLEEPING;

		if (table[i].state == WORKER_BUSY || (count > 0 && (is_wide || !is_waiting)))
			length += (size_t)snprintf(text + length, sizeof text - length, "%s %u %s",
				strchr(text, ':') != NULL ? "," : ":", count, table[i].words);
	}
	line_add(line, 1, ROLE_NORMAL, "%s", text);
}

static void add_disk(struct line *line, const struct worker_group_now *now)
{
	const struct worker *worker = now->on_disk ? now->on_disk->worker : NULL;
	char text[NUMBER_SIZE];
	if (!now->on_disk)
		return;
	if (worker && worker->id != UINT32_MAX)
		line_add(
			line, 0, ROLE_WARNING, "worker %u waits for disk for %s", worker->id, format_seconds(text, now->on_disk_s));
	else
		line_add(line, 0, ROLE_WARNING, "worker %d waits for disk for %s", now->on_disk->process->pid,
			format_seconds(text, now->on_disk_s));
}

void workers_add(struct line *line, const struct model *model, int run)
{
	struct worker_group_now now;
	model_worker_group_now(model, run, &now);
	if (now.count == 0 || now.published > 0)
		return;
	add_states(line, &now, false);
	add_disk(line, &now);
}

static const struct worker_time *longest_span(const struct worker_work *work)
{
	const struct worker_time *longest = NULL;
	for (size_t i = 0; i < work->span_count; i++)
		if (!longest || work->spans[i].total_s > longest->total_s)
			longest = &work->spans[i];
	return longest;
}

static void add_work(struct line *line, const struct worker_work *work, bool is_wide)
{
	const struct figures *of = isnan(work->item.mean_s) ? &work->fetch : &work->item;
	const struct worker_time *span = longest_span(work);
	char mean[NUMBER_SIZE], low[NUMBER_SIZE], high[NUMBER_SIZE], range[3 * NUMBER_SIZE] = "";
	if (isnan(of->mean_s)) {
		line_add(line, 2, ROLE_DIM, "no sample yet");
		return;
	}
	if (is_wide && of == &work->item)
		snprintf(range, sizeof range, " (p5–p95 %s–%s)", parts_time_bare(low, work->item_p5_s, of->mean_s, false),
			parts_time_bare(high, of->p95_s, of->mean_s, false));
	line_add(line, 2, ROLE_STRONG, "%s %s%s", format_seconds(mean, of->mean_s),
		of == &work->item ? "per sample" : "per batch", range);
	if (span)
		line_add(line, 3, ROLE_NORMAL, "%s %s", span->name, format_percent(low, span->share_ratio));
}

bool workers_are_instrumented(const struct scene *scene)
{
	return model_worker_group(scene->model, scene->run) != NULL;
}

void panel_workers_line(const struct scene *scene, struct canvas *canvas, struct rect row)
{
	const struct worker_group *worker_group = model_worker_group(scene->model, scene->run);
	struct worker_group_now now;
	struct line line;
	char text[NUMBER_SIZE];
	if (!worker_group)
		return;
	model_worker_group_now(scene->model, scene->run, &now);
	line_start(&line, " · ");
	add_states(&line, &now, row.width >= WITH_WAITING);
	add_disk(&line, &now);
	if (now.states[WORKER_GONE] > 0)
		line_add(&line, 0, ROLE_CRITICAL, "%u died", now.states[WORKER_GONE]);
	add_work(&line, &worker_group->work, row.width >= WITH_RANGE);
	if (!isnan(now.busy_ratio))
		line_add(&line, 5, ROLE_DIM, "busy %s of the time", format_percent(text, now.busy_ratio));
	line_draw(&line, canvas, row.x, row.y, row.width);
}

/* -- in the table of processes -- */

const struct worker_shown *worker_of(const struct model *model, int32_t pid)
{
	size_t count;
	const struct worker_shown *shown = model_workers(model, -1, &count);
	for (size_t i = 0; i < count; i++)
		if (shown[i].worker && shown[i].worker->pid == pid)
			return &shown[i];
	return NULL;
}

static const char *state_words(enum worker_state state)
{
	return state == WORKER_DISK ? "waits for disk" : worker_state_name(state);
}

const char *worker_cell(const struct worker_shown *shown, enum worker_cell cell, char out[NUMBER_SIZE])
{
	const struct worker *worker = shown->worker;
	const struct figures *item = &worker->work.item;
	switch (cell) {
	case WORKER_CELL_NAME:
		if (worker->id == UINT32_MAX)
			return "worker";
		snprintf(out, NUMBER_SIZE, "worker %u", worker->id);
		return out;
	case WORKER_CELL_STATE: return state_words(shown->state);
	case WORKER_CELL_BUSY: return format_percent(out, worker->busy_ratio);
	case WORKER_CELL_ITEM: return parts_time(out, item->mean_s, item->mean_s);
	case WORKER_CELL_RATE: return format_rate(out, worker->items_per_s);
	default: return "";
	}
}
