/* code_parts.h: parts of the Code view, also used by the overview without instrumentation. */
#ifndef PMTOP_UI_VIEWS_CODE_CODE_PARTS_H
#define PMTOP_UI_VIEWS_CODE_CODE_PARTS_H

#include "ui/core/table.h"
#include "ui/widgets/view.h"

/* The shown samples: whose code, and over which time. */
struct code_sampled {
	const struct code *code;
	const struct code_group *group;
	uint32_t index; /* of the group */
	bool is_whole;  /* since pmtop attached, not only the last minute */
	double seconds; /* total that shares refer to; 0 = no samples */
};
/* `chosen`: a group's index, −1 = the shown run's process, else the target's. False: no Python was sampled. */
bool code_sampled_init(const struct scene *scene, int chosen, bool is_whole, struct code_sampled *sample);
double code_seconds(const struct code_sampled *sample, const struct code_time *time);
double code_share(const struct code_sampled *sample, const struct code_time *time); /* NAN without samples */
/* "train.py:42": the file name for the user's own files, the path from the package on for libraries. */
const char *code_location(const struct code_name *name, uint32_t line, char *out, size_t size);
enum role code_phase_role(enum code_phase phase);
bool code_line_matches(const struct code_sampled *sample, const struct code_line *line, const char *search);

/* -- lines as a table -- */
enum code_cell {
	CODE_CELL_SHARE,
	CODE_CELL_BAR,
	CODE_CELL_ALL,
	CODE_CELL_LOCATION,
	CODE_CELL_TEXT,
	CODE_CELL_PHASE,
	CODE_CELLS
};
enum { CODE_ROWS_MAX = 1024 };
/* Indices into code->lines of lines with samples, sorted by a column. */
struct code_rows {
	size_t count;
	uint16_t indices[CODE_ROWS_MAX];
};
void code_rows_collect(const struct code_sampled *sample, int sort, bool is_ascending, struct code_rows *rows);
void code_rows_fit(const struct code_sampled *sample, const struct code_rows *rows, struct rect rect,
	struct table *table, struct table_column fitted[CODE_CELLS]);
void code_line_draw(const struct code_sampled *sample, const struct code_line *line, const struct table *table,
	struct canvas *canvas, int y, const char *search);
/* Process, period and number of samples. */
struct line;
void code_title(const struct scene *scene, const struct code_sampled *sample, struct line *line);
/* "forward 49 %   backward 42 %", in one row. */
void code_phases_row(const struct code_sampled *sample, struct canvas *canvas, struct rect row);

/* What the line calls, the most expensive call first, as a tree. */
void code_tree_panel(
	const struct code_sampled *sample, const struct code_line *line, struct canvas *canvas, struct rect rect);
void code_functions_panel(const struct code_sampled *sample, struct canvas *canvas, struct rect rect);

#endif
