/* The lines of Python in which the processes of a stalled run are. */
#include <stdio.h>
#include <stdlib.h>

#include "src/explain/stall.h"
#include "src/explain/stall_lines.h"
#include "ui/core/layout.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"

enum { ROWS_MAX = 8 };

static size_t find_lines(const struct scene *scene, const struct run *run, struct stall_line lines[MODEL_RUNS_MAX])
{
	struct stall stall;
	return stall_find(scene->model, run, &stall) ? stall_lines(scene->model, run, lines) : 0;
}

/* At most a third of the rows. */
int panel_stall_height(const struct scene *scene, const struct run *run, const struct canvas *canvas, int height)
{
	struct stall_line lines[MODEL_RUNS_MAX];
	int count = (int)find_lines(scene, run, lines), max = height / 3 - parts_panel_rows(canvas);
	int rows = count <= ROWS_MAX ? count : ROWS_MAX + 1;
	if (count == 0 || max < 1)
		return 0;
	return parts_panel_rows(canvas) + (rows < max ? rows : max);
}

void panel_stall(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	struct stall_line lines[MODEL_RUNS_MAX];
	size_t count = find_lines(scene, run, lines);
	char text[STALL_WORDS_SIZE];
	struct line title;
	line_start(&title, " · ");
	line_add(&title, 0, ROLE_NORMAL, "newest stack samples");
	struct rect inside = parts_panel(canvas, rect, "No progress: where it is", &title, ROLE_CRITICAL);
	size_t shown = count < ROWS_MAX ? count : ROWS_MAX, room = inside.height > 0 ? (size_t)inside.height : 0;

	if (count > room || count > ROWS_MAX)
		shown = shown < room ? shown : room > 0 ? room - 1 : 0;
	shown = room == 1 && count > 0 ? 1 : shown;
	for (size_t i = 0; i < shown; i++)
		canvas_text(canvas, inside.x + 1, inside.y + (int)i, inside.width - 1, ROLE_NORMAL,
			stall_line_words(&lines[i], count, text));
	if (shown < count && shown < room)
		canvas_printf(
			canvas, inside.x + 1, inside.y + (int)shown, inside.width - 1, ROLE_DIM, "and %zu more", count - shown);
}
