/* Python lines as a table with their times, for the Code view and the overview. */
#include "ui/views/code/code_lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text_width.h"
#include "src/model/code/code.h"
#include "src/model/code/code_phases.h"
#include "ui/views/code/code_parts.h"
#include "ui/widgets/parts.h"

static const struct table_column columns[CODE_CELLS] = {
	[CODE_CELL_SHARE] = { "TIME", 5, 0, false, false },
	[CODE_CELL_BAR] = { "", 8, 3, true, false },
	[CODE_CELL_ALL] = { "ALL", 5, 2, false, false },
	[CODE_CELL_LOCATION] = { "LINE", 16, 0, true, false },
	[CODE_CELL_TEXT] = { "CODE", 34, 1, true, true },
	[CODE_CELL_PHASE] = { "PHASE", 13, 2, true, false },
};

enum { LOCATION_WIDTH_MAX = 28 };

/* -- what is shown -- */

static int group_of(const struct scene *scene, int chosen)
{
	const struct code *code = &scene->model->code;
	const struct run *run = scene_run(scene);
	int group = -1;
	if (chosen >= 0 && (size_t)chosen < code->group_count && code->groups[chosen].is_used)
		return chosen;
	if (run)
		group = code_group_of(code, run->pid);
	return group >= 0 ? group : code_main_group(scene->model);
}

bool code_sampled_init(const struct scene *scene, int chosen, bool is_whole, struct code_sampled *sample)
{
	int group = group_of(scene, chosen);
	if (group < 0)
		return false;
	sample->code = &scene->model->code;
	sample->index = (uint32_t)group;
	sample->group = &sample->code->groups[group];
	sample->is_whole = is_whole;
	sample->seconds = is_whole ? sample->group->seen.total_s : sample->group->seen.recent_s;
	return true;
}

double code_seconds(const struct code_sampled *sample, const struct code_time *time)
{
	return sample->is_whole ? time->total_s : time->recent_s;
}

double code_share(const struct code_sampled *sample, const struct code_time *time)
{
	return sample->seconds > 0 ? code_seconds(sample, time) / sample->seconds : NAN;
}

const char *code_location(const struct code_name *name, uint32_t line, char *out, size_t size)
{
	const char *file = code_short_file(name->file), *slash = strrchr(file, '/');
	file = name->is_own && slash ? slash + 1 : file;
	if (line > 0)
		snprintf(out, size, "%s:%u", file, line);
	else
		snprintf(out, size, "%s", file);
	return out;
}

enum role code_phase_role(enum code_phase phase)
{
	static const enum role roles[CODE_PHASE_COUNT] = {
		[CODE_PHASE_OTHER] = ROLE_PHASE_7,
		[CODE_PHASE_DATA] = ROLE_PHASE_0,
		[CODE_PHASE_FORWARD] = ROLE_PHASE_1,
		[CODE_PHASE_INFERENCE] = ROLE_PHASE_5,
		[CODE_PHASE_BACKWARD] = ROLE_PHASE_2,
		[CODE_PHASE_OPTIMIZER] = ROLE_PHASE_3,
		[CODE_PHASE_COMPUTE] = ROLE_PHASE_1,
		[CODE_PHASE_COMMUNICATION] = ROLE_PHASE_4,
		[CODE_PHASE_VALIDATION] = ROLE_PHASE_5,
		[CODE_PHASE_CHECKPOINT] = ROLE_PHASE_6,
		[CODE_PHASE_COMPILE] = ROLE_PHASE_6,
		[CODE_PHASE_IMPORT] = ROLE_PHASE_7,
		[CODE_PHASE_IDLE] = ROLE_PHASE_7,
	};
	return roles[phase];
}

static const char *whose(const struct scene *scene, const struct code_sampled *sample, char *out, size_t size)
{
	const struct model *model = scene->model;
	const char *command = "";
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == sample->group->pid)
			command = model->processes[i].command;
	snprintf(out, size, sample->group->is_workers ? "loader workers of %.60s %d" : "%.60s %d", command,
		(int)sample->group->pid);
	return out;
}

void code_title(const struct scene *scene, const struct code_sampled *sample, struct line *line)
{
	double samples = sample->is_whole ? (double)sample->group->samples : sample->group->recent_samples;
	char text[NUMBER_SIZE], name[96];
	line_start(line, " · ");
	line_add(line, 0, ROLE_STRONG, "%s", whose(scene, sample, name, sizeof name));
	line_add(line, 4, ROLE_NORMAL, "Python %s", sample->group->python);
	if (sample->is_whole)
		line_add(line, 1, ROLE_NORMAL, "since attach, %s", parts_waiting(text, sample->group->time.total_s));
	else
		line_add(line, 1, ROLE_NORMAL, "last %s", parts_waiting(text, rint(sample->group->time.recent_s)));
	line_add(line, 3, ROLE_NORMAL, "%s samples", parts_thousands(text, samples));
	if (samples > 0)
		line_add(line, 2, ROLE_NORMAL, "± %s", format_percent(text, 2 * code_error_ratio(0.5, samples)));
	if (sample->group->samples > 0 && sample->group->partial * 50 > sample->group->samples)
		line_add(line, 5, ROLE_DIM, "%s partly read",
			format_percent(text, (double)sample->group->partial / (double)sample->group->samples));
}

/* -- lines -- */

bool code_line_matches(const struct code_sampled *sample, const struct code_line *line, const char *search)
{
	const struct code_name *name = &sample->code->codes[line->code];
	return parts_matches(name->file, search) || parts_matches(name->function, search) ||
		(line->text && parts_matches(line->text, search));
}

static int compare(const struct code_sampled *sample, int sort, size_t a, size_t b)
{
	const struct code_line *left = &sample->code->lines[a], *right = &sample->code->lines[b];
	const struct code_time *x = sort == CODE_CELL_ALL ? &left->all : &left->self,
						   *y = sort == CODE_CELL_ALL ? &right->all : &right->self;
	double difference = code_seconds(sample, y) - code_seconds(sample, x);
	if (sort == CODE_CELL_LOCATION) {
		int files = strcmp(sample->code->codes[left->code].file, sample->code->codes[right->code].file);

		return files != 0 ? files : left->line < right->line ? -1 : left->line > right->line;
	}
	return difference > 0 ? 1 : difference < 0 ? -1 : 0;
}

/* Insertion sort: the lines are few and nearly sorted. */
void code_rows_collect(const struct code_sampled *sample, int sort, bool is_ascending, struct code_rows *rows)
{
	rows->count = 0;
	for (size_t i = 0; i < sample->code->line_count && i < UINT16_MAX && rows->count < CODE_ROWS_MAX; i++) {
		const struct code_line *line = &sample->code->lines[i];
		size_t at = rows->count;

		if (line->group != sample->index || code_seconds(sample, &line->all) <= 0)
			continue;
		rows->count++;
		for (; at > 0 && compare(sample, sort, i, rows->indices[at - 1]) * (is_ascending ? -1 : 1) < 0; at--)
			rows->indices[at] = rows->indices[at - 1];
		rows->indices[at] = (uint16_t)i;
	}
}

/* The column of indices is as wide as its content. */
void code_rows_fit(const struct code_sampled *sample, const struct code_rows *rows, struct rect rect,
	struct table *table, struct table_column fitted[CODE_CELLS])
{
	char text[300];
	memcpy(fitted, columns, sizeof columns);
	for (size_t i = 0; i < rows->count; i++) {
		const struct code_line *line = &sample->code->lines[rows->indices[i]];
		int cells = (int)text_cells(code_location(&sample->code->codes[line->code], line->line, text, sizeof text));

		if (cells > fitted[CODE_CELL_LOCATION].width)
			fitted[CODE_CELL_LOCATION].width = cells < LOCATION_WIDTH_MAX ? cells : LOCATION_WIDTH_MAX;
	}
	table_fit(table, fitted, CODE_CELLS, rect);
}

/* Code is cut at any character, not between words. */
static void cut_code(char *text, int width)
{
	size_t length = strlen(text), at = 0;
	int cells = 0;
	if ((int)text_cells(text) <= width || width < 1)
		return;
	while (at < length) {
		uint32_t code;
		size_t bytes = utf8_decode(text + at, length - at, &code);
		if (cells + utf8_cells(code) > width - 1)
			break;
		cells += utf8_cells(code);
		at += bytes;
	}
	memcpy(text + at, "…", sizeof "…");
}

/* The source line, or, without it (unreadable, or changed since), the function. */
static void code_text(
	const struct code_sampled *sample, const struct code_line *line, int width, char *text, size_t size)
{
	snprintf(
		text, size, line->text ? "%s" : "in %s", line->text ? line->text : sample->code->codes[line->code].function);
	cut_code(text, width);
}

void code_line_draw(const struct code_sampled *sample, const struct code_line *line, const struct table *table,
	struct canvas *canvas, int y, const char *search)
{
	const struct code_name *name = &sample->code->codes[line->code];
	double share = code_share(sample, &line->self);
	bool is_match = search[0] != '\0' && code_line_matches(sample, line, search);
	char text[300];
	table_cell(table, canvas, y, CODE_CELL_SHARE, ROLE_STRONG, format_percent(text, share));
	if (table->width[CODE_CELL_BAR] > 0 && share > 0)
		canvas_bar(
			canvas, table->x[CODE_CELL_BAR], y, table->width[CODE_CELL_BAR], share, code_phase_role(line->phase));
	table_cell(table, canvas, y, CODE_CELL_ALL, ROLE_DIM, format_percent(text, code_share(sample, &line->all)));
	table_cell(table, canvas, y, CODE_CELL_LOCATION, is_match ? ROLE_KEY : ROLE_NORMAL,
		code_location(name, line->line, text, sizeof text));
	code_text(sample, line, table->width[CODE_CELL_TEXT], text, sizeof text);
	table_cell(table, canvas, y, CODE_CELL_TEXT, line->text ? ROLE_NORMAL : ROLE_DIM, text);
	table_cell(table, canvas, y, CODE_CELL_PHASE, code_phase_role(line->phase),
		line->phase == CODE_PHASE_OTHER ? "" : code_phase_name(line->phase));
}

void code_line_draw_short(
	const struct code_sampled *sample, const struct code_line *line, struct canvas *canvas, struct rect row)
{
	enum { SHARE_CELLS = 6, GAP = 2 };
	const struct code_name *name = &sample->code->codes[line->code];
	char text[300], location[300];
	int width = (int)text_cells(code_location(name, line->line, location, sizeof location)),
		room = row.width - SHARE_CELLS - 2 * GAP - width;
	canvas_text_right(
		canvas, row.x, row.y, SHARE_CELLS, ROLE_STRONG, format_percent(text, code_share(sample, &line->self)));
	if (room < 8) {
		canvas_text(canvas, row.x + SHARE_CELLS + GAP, row.y, row.width - SHARE_CELLS - GAP, ROLE_NORMAL, location);
		return;
	}
	code_text(sample, line, room, text, sizeof text);
	canvas_text(canvas, row.x + SHARE_CELLS + GAP, row.y, room, line->text ? ROLE_NORMAL : ROLE_DIM, text);
	canvas_text_right(canvas, row.x, row.y, row.width - 1, ROLE_DIM, location);
}

void code_phases_row(const struct code_sampled *sample, struct canvas *canvas, struct rect row)
{
	struct line line;
	char text[NUMBER_SIZE];
	bool is_shown[CODE_PHASE_COUNT] = { false };
	line_start(&line, "   ");
	for (int n = 0; n < CODE_PHASE_COUNT; n++) {
		int max = -1;

		for (int i = 0; i < CODE_PHASE_COUNT; i++)
			if (!is_shown[i] &&
				(max < 0 ||
					code_seconds(sample, &sample->group->phases[i]) >
						code_seconds(sample, &sample->group->phases[max])))
				max = i;
		is_shown[max] = true;
		if (code_share(sample, &sample->group->phases[max]) >= 0.005)
			line_add(&line, n, code_phase_role((enum code_phase)max), "%s %s", code_phase_name((enum code_phase)max),
				format_percent(text, code_share(sample, &sample->group->phases[max])));
	}
	line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
}
