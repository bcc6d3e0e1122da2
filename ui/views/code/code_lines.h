/* code_lines.h: Python lines as a table with their times, for the Code view and the overview. */
#ifndef PMTOP_UI_VIEWS_CODE_CODE_LINES_H
#define PMTOP_UI_VIEWS_CODE_CODE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/code/code.h"
#include "ui/core/canvas.h"
#include "ui/core/table.h"
#include "ui/views/code/code_parts.h"

struct line;
struct scene;

/* `chosen`: a group's index, −1 = the shown run's process, else the target's. False: no Python was sampled. */
bool code_sampled_init(const struct scene *scene, int chosen, bool is_whole, struct code_sampled *sample);
double code_seconds(const struct code_sampled *sample, const struct code_time *time);
double code_share(const struct code_sampled *sample, const struct code_time *time); /* NAN without samples */

/* "train.py:42": the file name for the user's own files, the path from the package on for libraries. */
const char *code_location(const struct code_name *name, uint32_t line, char *out, size_t size);
enum role code_phase_role(enum code_phase phase);
bool code_line_matches(const struct code_sampled *sample, const struct code_line *line, const char *search);
void code_rows_collect(const struct code_sampled *sample, int sort, bool is_ascending, struct code_rows *rows);
void code_rows_fit(const struct code_sampled *sample, const struct code_rows *rows, struct rect rect,
	struct table *table, struct table_column fitted[CODE_CELLS]);
void code_line_draw(const struct code_sampled *sample, const struct code_line *line, const struct table *table,
	struct canvas *canvas, int y, const char *search);
/* In one row without columns: its share, its text, its place. */
void code_line_draw_short(
	const struct code_sampled *sample, const struct code_line *line, struct canvas *canvas, struct rect row);
void code_title(const struct scene *scene, const struct code_sampled *sample, struct line *line);

/* "forward 49 %   backward 42 %", in one row. */
void code_phases_row(const struct code_sampled *sample, struct canvas *canvas, struct rect row);

#endif
