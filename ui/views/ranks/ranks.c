/* Ranks: which rank keeps the others waiting, how far each is in its collectives, the process groups, and the newest
 * collectives. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/explain/collective_words.h"
#include "src/explain/rank_words.h"
#include "src/explain/ras_words.h"
#include "src/model/code/code_samples.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/ranks/ranks_communicators.h"
#include "ui/views/ranks/ranks_groups.h"
#include "ui/views/ranks/ranks_lost.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/view.h"

/* A rank, from its steps, its collectives, or NCCL's RAS (of the largest communicator); indexes, −1 = unknown. */
struct row {
	long number;
	int32_t pid;
	int rank, collective, ras;
};

/* Ranks that only NCCL knows; of more, the first, and all that are not running. */
enum { REMOTE_MAX = 2048 };

struct rows {
	size_t count;
	struct row list[MODEL_RUNS_MAX + COLLECTIVE_RANKS_MAX + REMOTE_MAX];
	int world; /* the largest communicator */
	struct ranks ranks;
	int group; /* the largest process group */
	struct collective_pace pace;
	struct collective_judgement judgement;
};

enum rank_cell {
	CELL_RANK,
	CELL_PID,
	CELL_STEP,
	CELL_OWN,
	CELL_ENTERED,
	CELL_BEHIND,
	CELL_WAITS,
	CELL_STATE,
	CELL_LINE,
	CELL_GPU, /* where there are GPUs */
	CELLS
};

static const struct table_column columns[CELLS] = {
	[CELL_RANK] = { "RANK", 5, 0, false, false },
	[CELL_PID] = { "PID", 8, 4, false, false },
	[CELL_STEP] = { "STEP", 8, 2, false, false },
	[CELL_OWN] = { "OWN", 8, 3, false, false },
	[CELL_ENTERED] = { "ENTERED", 9, 0, false, false },
	[CELL_BEHIND] = { "BEHIND", 6, 0, false, false },
	[CELL_WAITS] = { "OTHERS WAIT", 11, 1, false, false },
	[CELL_STATE] = { "STATE", 9, 1, true, false },
	[CELL_LINE] = { "PYTHON LINE", 16, 0, true, true },
	[CELL_GPU] = { "GPU", 9, 5, false, false },
};

/* -- rows -- */

static void add_collective(const struct collectives *all, int index, struct rows *rows)
{
	const struct collective_rank *rank = &all->ranks[index];
	for (size_t i = 0; i < rows->count; i++)
		if (rows->list[i].pid == rank->pid) {
			rows->list[i].collective = index;
			return;
		}
	if (!rank->is_gone)
		rows->list[rows->count++] = (struct row){ rank->number, rank->pid, -1, index, -1 };
}

/* The rows of this machine's processes come first. */
static void add_remote(const struct ras *ras, struct rows *rows)
{
	const struct ras_group *group = rows->world >= 0 ? &ras->groups[rows->world] : NULL;
	size_t local = rows->count, room = REMOTE_MAX;
	for (size_t i = 0; group && i < group->rank_count; i++) {
		const struct ras_rank *rank = &group->ranks[i];
		size_t at = 0;
		while (at < local && ((int)rank->host != ras->own_host || rows->list[at].pid != rank->pid))
			at++;
		bool has_room = room > REMOTE_MAX / 2 || (room > 0 && rank->state != RAS_RUNNING);
		if (at < local) {
			rows->list[at].ras = (int)i;
		} else if (has_room) {
			rows->list[rows->count++] = (struct row){ rank->rank, rank->pid, -1, -1, (int)i };
			room--;
		}
	}
}

static void sort_rows(struct rows *rows)
{
	for (size_t i = 1; i < rows->count; i++)
		for (size_t at = i; at > 0 && rows->list[at].number < rows->list[at - 1].number; at--) {
			struct row other = rows->list[at];
			rows->list[at] = rows->list[at - 1];
			rows->list[at - 1] = other;
		}
}

static void gather(const struct scene *scene, struct rows *out)
{
	const struct collectives *all = scene->model->collectives;
	out->count = 0;
	ranks_compare(scene->model, scene->run < 0 ? scene->model->run_count : (unsigned)scene->run, &out->ranks);
	for (size_t i = 0; i < out->ranks.count; i++)
		out->list[out->count++] = (struct row){ out->ranks.list[i].number, out->ranks.list[i].pid, (int)i, -1, -1 };
	for (size_t i = 0; all && i < all->rank_count; i++)
		add_collective(all, (int)i, out);
	out->world = ras_world(scene->model->ras);
	add_remote(scene->model->ras, out);
	sort_rows(out);
	out->group = ranks_groups_largest(scene->model);
	collectives_judge(scene->model, &out->judgement);
	if (out->group >= 0)
		collectives_pace(scene->model, (size_t)out->group, &out->pace);
}

/* -- one row -- */

static int64_t newest_of_group(const struct collectives *all, int group)
{
	int64_t newest = -1;
	for (size_t i = 0; i < all->rank_count; i++)
		if (all->groups[group].members[i].is_member && all->groups[group].members[i].enqueued > newest)
			newest = all->groups[group].members[i].enqueued;
	return newest;
}

static void draw_collectives(const struct scene *scene, const struct rows *rows, const struct row *row,
	const struct table *table, struct canvas *canvas, int y)
{
	const struct collectives *all = scene->model->collectives;
	char text[NUMBER_SIZE];
	if (row->collective < 0 || rows->group < 0 || !all->groups[rows->group].members[row->collective].is_member)
		return;
	int64_t enqueued = all->groups[rows->group].members[row->collective].enqueued,
			behind = newest_of_group(all, rows->group) - enqueued;
	bool is_straggler = rows->pace.straggler == row->collective;
	snprintf(text, sizeof text, "#%lld", (long long)enqueued);
	table_cell(table, canvas, y, CELL_ENTERED, ROLE_NORMAL, text);
	if (behind > 0) {
		snprintf(text, sizeof text, "−%lld", (long long)behind);
		table_cell(table, canvas, y, CELL_BEHIND, ROLE_WARNING, text);
	}
	table_cell(table, canvas, y, CELL_WAITS, is_straggler ? ROLE_WARNING : ROLE_NORMAL,
		format_percent(text, rows->pace.waits_ratio[row->collective]));
}

/* Whether the rank waits in the collective that others have not entered. */
static bool is_waiting(const struct scene *scene, const struct rows *rows, int collective)
{
	const struct collective_judgement *judgement = &rows->judgement;
	if (!judgement->is_due || judgement->finding != COLLECTIVE_BEHIND)
		return false;
	const struct collective_member *member = &scene->model->collectives->groups[judgement->group].members[collective];
	return member->is_member && member->enqueued >= (int64_t)judgement->sequence;
}

static const struct ras_rank *remote_of(const struct scene *scene, const struct rows *rows, const struct row *row)
{
	return row->ras >= 0 ? &scene->model->ras->groups[rows->world].ranks[row->ras] : NULL;
}

static const char *state_words(const struct scene *scene, const struct rows *rows, const struct row *row)
{
	const struct collective_rank *rank =
		row->collective >= 0 ? &scene->model->collectives->ranks[row->collective] : NULL;
	const struct ras_rank *remote = remote_of(scene, rows, row);
	if (remote && (remote->state != RAS_RUNNING || (row->rank < 0 && !rank)))
		return ras_state_name(remote->state);
	if (rank && !rank->is_gone && is_waiting(scene, rows, row->collective))
		return "waiting";
	if (row->rank >= 0)
		return rank_state_name(rows->ranks.list[row->rank].state);
	if (rank && rank->is_gone)
		return "ended";
	return rank && (rank->state == 'T' || rank->state == 't') ? "stopped" : "running";
}

/* "2 · 87 %": those that its process uses, and how busy the first one is. */
static void draw_gpu(
	const struct scene *scene, const struct row *row, const struct table *table, struct canvas *canvas, int y)
{
	const struct gpus *gpus = &scene->model->gpus;
	const struct gpu *first = NULL;
	char text[64] = "", share[NUMBER_SIZE];
	for (size_t i = 0; i < gpus->count; i++)
		for (size_t k = 0; k < gpus->gpus[i].process_count; k++) {
			size_t length = strlen(text);
			if (gpus->gpus[i].processes[k].pid != row->pid || length > sizeof text / 2)
				continue;
			first = first ? first : &gpus->gpus[i];
			snprintf(text + length, sizeof text - length, "%s%u", length ? "," : "", gpus->gpus[i].index);
		}
	double busy_ratio = first ? gpu_now(first, METRIC_GPU_BUSY) : (double)NAN;
	if (isfinite(busy_ratio))
		snprintf(text + strlen(text), sizeof text - strlen(text), " · %s", format_percent(share, busy_ratio));
	table_cell(table, canvas, y, CELL_GPU, ROLE_NORMAL, first ? text : "–");
}

static void draw_row(const struct scene *scene, const struct rows *rows, const struct row *row,
	const struct table *table, struct canvas *canvas, int y)
{
	char text[160], number[NUMBER_SIZE];
	struct newest_line line;
	snprintf(text, sizeof text, row->number >= 0 ? "%ld" : "–", row->number);
	table_cell(table, canvas, y, CELL_RANK, ROLE_STRONG, text);
	snprintf(text, sizeof text, "%d", (int)row->pid);
	table_cell(table, canvas, y, CELL_PID, ROLE_NORMAL, text);
	double step_s = row->rank >= 0 ? rows->ranks.list[row->rank].step_s : (double)NAN,
		   own_s = row->rank >= 0 ? rows->ranks.list[row->rank].own_s : (double)NAN;
	table_cell(table, canvas, y, CELL_STEP, ROLE_NORMAL, parts_time(number, step_s, step_s));
	table_cell(table, canvas, y, CELL_OWN, ROLE_NORMAL, parts_time(number, own_s, step_s));
	draw_collectives(scene, rows, row, table, canvas, y);
	if (scene->model->gpus.count > 0)
		draw_gpu(scene, row, table, canvas, y);
	const struct ras_rank *remote = remote_of(scene, rows, row);
	table_cell(table, canvas, y, CELL_STATE, remote && remote->state != RAS_RUNNING ? ROLE_WARNING : ROLE_NORMAL,
		state_words(scene, rows, row));
	if (remote && row->rank < 0 && row->collective < 0) {
		snprintf(text, sizeof text, "on %s", scene->model->ras->hosts[remote->host]);
		table_cell(table, canvas, y, CELL_LINE, ROLE_DIM, text);
		return;
	}
	if (!code_newest_line(scene->model, row->pid, &line) || line.line == 0)
		return;
	const char *slash = strrchr(line.file, '/');
	snprintf(text, sizeof text, "%.60s:%u  %.80s", slash ? slash + 1 : line.file, (unsigned)line.line,
		line.text ? line.text : line.function);
	table_cell(table, canvas, y, CELL_LINE, ROLE_DIM, text);
}

/* -- the view -- */

static enum role write_verdict(const struct scene *scene, const struct rows *rows, char out[COLLECTIVE_WORDS_SIZE])
{
	char words[RANK_WORDS_SIZE];
	if (*collective_words_now(scene->model, out))
		return ROLE_CRITICAL;
	if (*collective_words_straggler(scene->model, out))
		return ROLE_WARNING;
	snprintf(out, COLLECTIVE_WORDS_SIZE, "%s", rank_words(&rows->ranks, words));
	if (rows->ranks.still >= 0)
		return ROLE_CRITICAL;
	if (!*out && *collective_words_none(scene->model, out))
		return ROLE_NORMAL;
	if (!*out)
		snprintf(out, COLLECTIVE_WORDS_SIZE, "no rank keeps the others waiting");
	return rows->ranks.slowest >= 0 ? ROLE_WARNING : ROLE_GOOD;
}

static void draw_ranks(const struct scene *scene, const struct rows *rows, struct canvas *canvas, struct rect rect)
{
	struct rect header = rect_take_top(&rect, 1);
	struct view_state *state = scene->state;
	struct table table;
	table_fit(&table, columns, scene->model->gpus.count > 0 ? CELLS : CELL_GPU, header);
	table_header(&table, canvas, header.y, -1, false);
	state->list = rect;
	parts_list_settle(state, (int)rows->count, rect.height);
	for (int i = 0; i < rect.height && state->scroll + i < (int)rows->count; i++)
		draw_row(scene, rows, &rows->list[state->scroll + i], &table, canvas, rect.y + i);
	if (rows->count > (size_t)rect.height)
		parts_select(canvas, (struct rect){ rect.x, rect.y + state->row - state->scroll, rect.width, 1 });
}

static bool is_offered(const struct scene *scene)
{
	return scene->model->collectives || scene->model->ras || ranks_any(scene->model) >= 0;
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct rows rows;
	char words[COLLECTIVE_WORDS_SIZE];
	gather(scene, &rows);
	if (rows.count == 0) {
		parts_note(canvas, rect, "Ranks",
			"This run has one process, or no PyTorch process group yet.\nWith several ranks (torchrun), pmtop reads "
			"from "
			"PyTorch's flight recorder which collective each rank has entered.");
		return;
	}
	enum role role = write_verdict(scene, &rows, words);
	int frame = parts_panel_rows(canvas), lines = (int)text_cells(words) > rect.width - frame - 1 ? 2 : 1,
		wanted = (int)rows.count + 1 + lines + frame, most = rect.height / 2;
	bool has_more = rows.group >= 0 || rows.world >= 0;
	struct rect top = rect_take_top(&rect, !has_more ? rect.height : wanted < most ? wanted : most);
	struct rect inside = parts_panel(canvas, top, "Ranks", NULL, ROLE_TITLE), last = rect_take_bottom(&inside, lines);
	draw_ranks(scene, &rows, canvas, inside);
	rect_take_left(&last, 1);
	parts_wrap(canvas, last, role, words);
	if (rows.world >= 0)
		ranks_communicators_draw(scene, canvas, &rect, rows.group >= 0);
	if (rows.group < 0)
		return;
	ranks_lost_draw(scene, canvas, &rect);
	ranks_groups_draw(scene, canvas, rect);
}

static bool handle_key(struct scene *scene, struct key_event event, struct rect rect)
{
	struct rows rows;
	(void)rect;
	gather(scene, &rows);
	return parts_list_key(scene->state, event, (int)rows.count, scene->state->list);
}

static void write_csv(const struct scene *scene, struct buffer *out)
{
	struct rows rows;
	gather(scene, &rows);
	buffer_puts(out, "rank,pid,step_s,own_s,entered,others_wait_ratio,state\n");
	for (size_t i = 0; i < rows.count; i++) {
		const struct row *row = &rows.list[i];
		bool has_group = row->collective >= 0 && rows.group >= 0;
		parts_csv_integer(out, true, row->number);
		parts_csv_integer(out, false, row->pid);
		parts_csv_number(out, false, row->rank >= 0 ? rows.ranks.list[row->rank].step_s : (double)NAN);
		parts_csv_number(out, false, row->rank >= 0 ? rows.ranks.list[row->rank].own_s : (double)NAN);
		parts_csv_number(out, false,
			has_group ? (double)scene->model->collectives->groups[rows.group].members[row->collective].enqueued
					  : (double)NAN);
		parts_csv_number(out, false, has_group ? rows.pace.waits_ratio[row->collective] : (double)NAN);
		parts_csv_text(out, false, state_words(scene, &rows, row));
		buffer_puts(out, "\n");
	}
}

const struct view ranks_view = {
	.name = "Ranks",
	.short_name = "Rank",
	.digit = '0',
	.keys = "q quit  Tab view  ↑↓ rank  [] choose  w save CSV  ? help",
	.keys_short = "q quit  Tab view  ↑↓ rank  [] choose  w save CSV  ? help",
	.is_offered = is_offered,
	.draw = draw,
	.key = handle_key,
	.write = write_csv,
};
