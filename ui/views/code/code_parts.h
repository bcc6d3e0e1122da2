/* code_parts.h: what the view of the Python code is made of, and the overview where nothing publishes. */
#ifndef PMTOP_UI_VIEWS_CODE_CODE_PARTS_H
#define PMTOP_UI_VIEWS_CODE_CODE_PARTS_H

#include "ui/core/table.h"
#include "ui/widgets/view.h"

/* What is shown: whose code, and of which time. */
struct code_sampled {
	const struct code *code;
	const struct code_group *group;
	uint32_t index; /* of the group */
	bool is_whole;  /* since pmtop came, not the last minute alone */
	double seconds; /* that shares are of; 0 = nothing was seen in it */
};
/* `chosen`: a group's index, −1 = the shown run's process, else the target's. False: no Python was looked at. */
bool code_sampled_init(const struct scene *scene, int chosen, bool is_whole, struct code_sampled *sample);
double code_seconds(const struct code_sampled *sample, const struct code_time *time);
double code_share(const struct code_sampled *sample, const struct code_time *time); /* NAN where nothing was seen */
/* "train.py:42"; of a person's own file its name alone, of a library from its package on. */
const char *code_place(const struct code_name *name, uint32_t line, char *out, size_t size);
enum role code_phase_role(enum code_phase phase);
bool code_line_matches(const struct code_sampled *sample, const struct code_line *line, const char *search);

/* -- lines as a table -- */
enum code_cell {
	CODE_CELL_SHARE,
	CODE_CELL_BAR,
	CODE_CELL_ALL,
	CODE_CELL_PLACE,
	CODE_CELL_TEXT,
	CODE_CELL_PHASE,
	CODE_CELLS
};
enum { CODE_ROWS_MAX = 1024 };
/* Places in code->lines of those that have had time, sorted by a cell. */
struct code_rows {
	size_t count;
	uint16_t places[CODE_ROWS_MAX];
};
void code_rows_collect(const struct code_sampled *sample, int sort, bool is_ascending, struct code_rows *rows);
void code_rows_fit(const struct code_sampled *sample, const struct code_rows *rows, struct rect rect,
	struct table *table, struct table_column fitted[CODE_CELLS]);
void code_line_draw(const struct code_sampled *sample, const struct code_line *line, const struct table *table,
	struct canvas *canvas, int y, const char *search);
/* Whose, of which time, how many looks. */
struct line;
void code_title(const struct scene *scene, const struct code_sampled *sample, struct line *line);
/* "forward 49 %   backward 42 %", in one row. */
void code_phases_row(const struct code_sampled *sample, struct canvas *canvas, struct rect row);

/* What the line calls, the heaviest first, down to where it stands. */
void code_tree_panel(
	const struct code_sampled *sample, const struct code_line *line, struct canvas *canvas, struct rect rect);
void code_functions_panel(const struct code_sampled *sample, struct canvas *canvas, struct rect rect);

#endif
