/* Which lines the time goes to, in short: for the overview of a run that publishes nothing. */
#include "src/model/code.h"

#include "ui/layout.h"
#include "ui/views/code_parts.h"
#include "ui/views/panels.h"
#include "ui/views/parts.h"

enum { ROWS_USUAL = 5, ROWS_LEAST = 2 };

/* Of so many rows a third is for lines. */
int panel_code_height(const struct scene *scene, const struct canvas *canvas, int height)
{
	struct code_look look;
	struct code_rows rows;
	int frame = parts_panel_rows(canvas), room = height / 3 - frame - 1;

	if (!code_look_at(scene, -1, false, &look) || look.seconds <= 0)
		return 0;
	code_rows_collect(&look, CODE_CELL_SHARE, false, &rows);
	int wanted = (int)rows.count < ROWS_USUAL ? (int)rows.count : ROWS_USUAL;

	return room < ROWS_LEAST || wanted == 0 ? 0 : frame + 1 + (wanted < room ? wanted : room);
}

void panel_code(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct table_column fitted[CODE_CELLS];
	struct code_look look;
	struct code_rows rows;
	struct table table;
	struct line title;

	if (!code_look_at(scene, -1, false, &look))
		return;
	code_rows_collect(&look, CODE_CELL_SHARE, false, &rows);
	code_title(scene, &look, &title);
	line_add(&title, 1, ROLE_KEY, "7 for more");
	struct rect inside = parts_panel(canvas, rect, "Your lines", &title, ROLE_TITLE), phases = rect_take_top(&inside, 1);

	code_phases_row(&look, canvas, phases);
	code_rows_fit(&look, &rows, inside, &table, fitted);
	for (int i = 0; i < inside.height && i < (int)rows.count; i++)
		code_line_draw(&look, &look.code->lines[rows.places[i]], &table, canvas, rect_row(inside, i).y, "");
}
