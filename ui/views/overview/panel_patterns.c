#include "ui/views/overview/panel_patterns.h"

#include "ui/core/layout.h"
#include "ui/core/line.h"
#include "ui/widgets/parts.h"

/* Lines that the list keeps. */
enum { LIST_MIN = 3, GAP = 1 };

/* "Pattern: every 40th batch (12 of 12, from 7/144)  matches prefetch_factor 10 × 4 workers": on one line, or on
 * two. */
static int draw_pattern(
	const struct run *run, const struct pattern *pattern, struct canvas *canvas, struct rect row, int rows)
{
	char label[PATTERN_WORDS_SIZE];
	struct line line;
	pattern_label(pattern, run, label, sizeof label);
	bool has_candidate = pattern->candidate[0] != '\0';
	bool on_one = has_candidate && (int)(text_cells(label) + text_cells(pattern->candidate)) + 21 <= row.width;
	line_start(&line, "  ");
	line_add(&line, 0, ROLE_WARNING, "Pattern: %s", label);
	if (on_one)
		line_add(&line, 1, ROLE_NORMAL, "matches %s", pattern->candidate);
	line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
	if (!has_candidate || on_one || rows < 2)
		return 1;
	line_start(&line, "  ");
	line_add(&line, 0, ROLE_NORMAL, "  matches %s", pattern->candidate);
	line_draw(&line, canvas, row.x + 1, row.y + 1, row.width - 1);
	return 2;
}

void panel_patterns_draw(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect *inside)
{
	const struct patterns *patterns = scene->run < 0 ? NULL : alerts_patterns(scene->alerts, (unsigned)scene->run);
	int spare = inside->height - LIST_MIN - GAP, rows = 0;
	if (!patterns || patterns->count == 0 || spare < 1 || scene_track(scene, run) != run_main(run))
		return;
	int max = 2 * (int)patterns->count < spare ? 2 * (int)patterns->count : spare;
	struct rect foot = { inside->x, inside->y + inside->height - max, inside->width, 1 };

	for (size_t i = 0; i < patterns->count && rows < max; i++)
		rows += draw_pattern(
			run, &patterns->list[i], canvas, (struct rect){ foot.x, foot.y + rows, foot.width, 1 }, max - rows);
	inside->height -= max + GAP;
}
