#include <stdio.h>

#include "src/explain/collective_words.h"
#include "src/explain/rank_words.h"
#include "src/model/ranks/ranks.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"

enum { ROWS_MAX = 8 };

enum rank_cell {
	CELL_MARK,
	CELL_RANK,
	CELL_PID,
	CELL_BATCHES,
	CELL_STEP,
	CELL_OWN,
	CELL_PHASE,
	CELL_RESIDENT,
	CELL_STATE,
	CELLS
};

static const struct table_column columns[CELLS] = {
	[CELL_MARK] = { "", 1, 0, true, false },
	[CELL_RANK] = { "RANK", 4, 0, false, false },
	[CELL_PID] = { "PID", 8, 3, false, false },
	[CELL_BATCHES] = { "BATCHES", 9, 1, false, false },
	[CELL_STEP] = { "STEP", 8, 2, false, false },
	[CELL_OWN] = { "OWN", 8, 0, false, false },
	[CELL_PHASE] = { "LARGEST PHASE", 22, 4, true, false },
	[CELL_RESIDENT] = { "RESIDENT", 8, 5, false, false },
	[CELL_STATE] = { "STATE", 12, 0, true, true },
};

/* -- one row -- */

static bool is_bad(const struct rank *rank)
{
	return rank->state == RANK_STUCK || rank->state == RANK_STOPPED || rank->state == RANK_KILLED;
}

static const char *state_words(
	const struct scene *scene, const struct ranks *ranks, const struct rank *rank, char *out, size_t size)
{
	char text[NUMBER_SIZE];
	switch (rank->state) {
	case RANK_RUNNING:
		snprintf(out, size, ranks->slowest >= 0 && rank == &ranks->list[ranks->slowest] ? "slowest" : "running");
		break;
	case RANK_WAITING:
	case RANK_STUCK:
		snprintf(out, size, rank->where ? "%s %s in %.20s" : "%s %s", rank_state_name(rank->state),
			parts_waiting(text, rank->still_s), rank->where);
		break;
	case RANK_STOPPED: snprintf(out, size, "stopped %s", parts_waiting(text, rank->still_s)); break;
	case RANK_ENDED:
	case RANK_KILLED:
		snprintf(out, size, rank->state == RANK_ENDED ? "ended %s" : "ended %s (killed)",
			parts_clock(text, scene, rank->ended_ns));
		break;
	default: snprintf(out, size, "%s", rank_state_name(rank->state));
	}
	return out;
}

static enum role state_role(const struct ranks *ranks, const struct rank *rank)
{
	if (is_bad(rank))
		return ROLE_CRITICAL;
	if (ranks->slowest >= 0 && rank == &ranks->list[ranks->slowest])
		return ROLE_WARNING;
	return rank->state == RANK_ENDED ? ROLE_DIM : rank->state == RANK_RUNNING ? ROLE_GOOD : ROLE_NORMAL;
}

static void draw_row(const struct scene *scene, const struct ranks *ranks, const struct rank *rank,
	const struct table *table, struct canvas *canvas, int y)
{
	const struct run *run = &scene->model->runs[rank->run];
	bool is_shown = scene->run == (int)rank->run,
		 is_slowest = ranks->slowest >= 0 && rank == &ranks->list[ranks->slowest];
	enum role role = rank->ended_ns != 0 ? ROLE_DIM : is_shown ? ROLE_STRONG : ROLE_NORMAL;
	char text[80], number[NUMBER_SIZE];
	table_cell(table, canvas, y, CELL_MARK, is_bad(rank) ? ROLE_CRITICAL : ROLE_WARNING,
		is_bad(rank) || is_slowest ? "⚠" : "");
	snprintf(text, sizeof text, is_shown ? "▸%ld" : "%ld", rank->number);
	table_cell(table, canvas, y, CELL_RANK, role, text);
	snprintf(text, sizeof text, "%d", rank->pid);
	table_cell(table, canvas, y, CELL_PID, role, rank->pid != 0 ? text : "–");
	table_cell(table, canvas, y, CELL_BATCHES, role, parts_thousands(number, (double)rank->batches));
	table_cell(table, canvas, y, CELL_STEP, role, parts_time(number, rank->step_s, rank->step_s));
	table_cell(
		table, canvas, y, CELL_OWN, is_slowest ? ROLE_WARNING : role, parts_time(number, rank->own_s, rank->step_s));
	if (rank->phase_count > 0) {
		const struct rank_phase *phase = &rank->phases[0];
		snprintf(text, sizeof text, "%.12s %s", phase->name, parts_time(number, phase->median_s, rank->step_s));
		table_cell(table, canvas, y, CELL_PHASE, phase_role(run, phase->id), text);
	}
	table_cell(table, canvas, y, CELL_RESIDENT, role, format_bytes(number, rank->resident_bytes));
	table_cell(
		table, canvas, y, CELL_STATE, state_role(ranks, rank), state_words(scene, ranks, rank, text, sizeof text));
}

/* -- which rows -- */

/* With fewer rows than ranks: the slowest and the stalled one first, then the shown rank, other unhealthy ranks, the
 * rest in order. */
static size_t choose_rows(const struct scene *scene, const struct ranks *ranks, size_t room, bool shown[MODEL_RUNS_MAX])
{
	size_t count = 0;
	for (size_t i = 0; i < ranks->count; i++)
		shown[i] = false;
	for (int turn = 0; turn < 5; turn++)
		for (size_t i = 0; i < ranks->count && count < room; i++) {
			const struct rank *rank = &ranks->list[i];
			bool is_due[] = { (int)i == ranks->slowest, (int)i == ranks->still, (int)rank->run == scene->run,
				is_bad(rank), true };

			if (!is_due[turn] || shown[i])
				continue;
			shown[i] = true;
			count++;
		}
	return count;
}

static void draw_rows(const struct scene *scene, const struct ranks *ranks, struct canvas *canvas, struct rect rect)
{
	bool shown[MODEL_RUNS_MAX], has_more = ranks->count > (size_t)rect.height;
	struct rect header = rect_take_top(&rect, 1),
				more = rect_take_bottom(&rect, has_more && ranks->count > (size_t)rect.height - 1 ? 1 : 0);
	size_t count = choose_rows(scene, ranks, (size_t)rect.height, shown);
	struct table table;
	table_fit(&table, columns, CELLS, header);
	table_header(&table, canvas, header.y, -1, false);
	for (size_t i = 0, row = 0; i < ranks->count; i++)
		if (shown[i])
			draw_row(scene, ranks, &ranks->list[i], &table, canvas, rect.y + (int)row++);
	if (more.height > 0)
		canvas_printf(canvas, more.x + 2, more.y, more.width - 2, ROLE_DIM, "… %zu more", ranks->count - count);
}

/* -- the panel -- */

/* What ranks wait for now comes first, then the slowest rank, by its spans or by when it enters collectives. */
static enum role write_words(const struct scene *scene, const struct ranks *ranks, char out[COLLECTIVE_WORDS_SIZE])
{
	char words[RANK_WORDS_SIZE];
	if (*collective_words_now(scene->model, out))
		return ROLE_CRITICAL;
	snprintf(out, COLLECTIVE_WORDS_SIZE, "%s", rank_words(ranks, words));
	if (ranks->still >= 0)
		return ROLE_CRITICAL;
	if (ranks->slowest >= 0)
		return ROLE_WARNING;
	if (*collective_words_straggler(scene->model, out))
		return ROLE_WARNING;
	snprintf(out, COLLECTIVE_WORDS_SIZE, "%s", *words ? words : "too few steps to compare the ranks");
	return ROLE_DIM;
}

static void compare(const struct scene *scene, struct ranks *out)
{
	ranks_compare(scene->model, scene->run < 0 ? scene->model->run_count : (unsigned)scene->run, out);
}

/* Ranks of which no steps are known, but collectives: those of a job that hung before pmtop came. */
static size_t count_without_steps(const struct scene *scene, const struct ranks *ranks)
{
	const struct collectives *all = scene->model->collectives;
	size_t count = 0;
	for (size_t i = 0; ranks->count < 2 && all && i < all->rank_count; i++)
		count += !all->ranks[i].is_gone;
	return count;
}

static void draw_without_steps(const struct scene *scene, size_t count, struct canvas *canvas, struct rect rect)
{
	char words[COLLECTIVE_WORDS_SIZE];
	struct line right;
	enum role role = *collective_words_now(scene->model, words) ? ROLE_CRITICAL
		: *collective_words_straggler(scene->model, words)      ? ROLE_WARNING
																: ROLE_NORMAL;
	if (!*words && !*collective_words_verdict(scene->model, words))
		snprintf(words, sizeof words, "no rank keeps the others waiting");
	line_start(&right, " · ");
	line_add(&right, 0, ROLE_NORMAL, "%zu ranks", count);
	line_add(&right, 1, ROLE_KEY, "[0] details");
	if (rect.height > 1)
		rect = parts_panel(canvas, rect, "Ranks", &right, ROLE_TITLE);
	canvas_text(canvas, rect.x + 1, rect.y, rect.width - 1, role, words);
}

int panel_ranks_height(const struct scene *scene, const struct canvas *canvas, int height)
{
	struct ranks ranks;
	compare(scene, &ranks);
	bool has_steps = ranks.count >= 2;
	if (height < 8 || (!has_steps && count_without_steps(scene, &ranks) < 2))
		return 0;
	if (!parts_is_roomy(canvas))
		return 1;
	if (!has_steps)
		return parts_panel_rows(canvas) + 1;
	int rows = ranks.count > ROWS_MAX ? ROWS_MAX + 1 : (int)ranks.count, frame = parts_panel_rows(canvas) + 2,
		max = height * 2 / 5;

	return frame + rows < max ? frame + rows : max;
}

void panel_ranks(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	char words[COLLECTIVE_WORDS_SIZE];
	struct ranks ranks;
	struct line right;
	compare(scene, &ranks);
	if (ranks.count < 2) {
		draw_without_steps(scene, count_without_steps(scene, &ranks), canvas, rect);
		return;
	}
	enum role role = write_words(scene, &ranks, words);
	line_start(&right, " · ");
	if (ranks.world_size > (long)ranks.count)
		line_add(&right, 0, ROLE_NORMAL, "%zu of %ld on this machine", ranks.count, ranks.world_size);
	if (ranks.is_compared)
		line_add(&right, 1, ROLE_DIM,
			ranks.is_synchronous ? "own: step without waiting (backward, sync)" : "own: step time");
	line_add(&right, 2, ROLE_KEY, "[ ] choose");
	if (rect.height == 1) {
		canvas_text(canvas, rect.x + 1, rect.y, rect.width - 1, role, words);
		return;
	}
	struct rect inside = parts_panel(canvas, rect, "Ranks", &right, ROLE_TITLE), last = rect_take_bottom(&inside, 1);

	draw_rows(scene, &ranks, canvas, inside);
	canvas_text(canvas, last.x + 1, last.y, last.width - 1, role, words);
}
