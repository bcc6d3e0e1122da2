#include "ui/widgets/plots/step_height.h"

#include <math.h>

#include "src/base/text.h"
#include "ui/core/plot_axis.h"

enum { STEPS_A_LONE = 50, LONE_RATIO = 4, STEPS_FEW = 20 };

void step_height_add(struct step_height *height, double step_s, bool is_warmup)
{
	if (isnan(step_s))
		return;
	if (is_warmup) {
		height->warmup_s = height->warmups++ == 0 || step_s > height->warmup_s ? step_s : height->warmup_s;
		return;
	}
	size_t retained = height->count < STEPS_LONE_MAX + 1 ? height->count : STEPS_LONE_MAX + 1, at = retained;

	for (; at > 0 && step_s > height->longest_s[at - 1]; at--)
		if (at <= STEPS_LONE_MAX)
			height->longest_s[at] = height->longest_s[at - 1];
	if (at <= STEPS_LONE_MAX)
		height->longest_s[at] = step_s;
	height->count++;
}

double step_height_reach(const struct step_height *height)
{
	size_t max = height->count / STEPS_A_LONE;
	if (height->count == 0)
		return height->warmups > 0 ? height->warmup_s : NAN;
	max = max < 1 ? 1 : max > STEPS_LONE_MAX ? STEPS_LONE_MAX : max;
	for (size_t lone = max < height->count ? max : height->count - 1; lone > 0; lone--)
		if (height->longest_s[lone - 1] > LONE_RATIO * height->longest_s[lone] && height->longest_s[lone] > 0)
			return height->longest_s[lone];
	return height->longest_s[0];
}

bool step_height_scale(struct scale *scale, const struct step_height *height, const struct step_height *earlier)
{
	double reach_s = step_height_reach(height), earlier_s = earlier ? step_height_reach(earlier) : NAN;
	if (isnan(reach_s))
		return false;
	reach_s = earlier_s > reach_s ? earlier_s : reach_s;
	/* at the start of a run: the scale of a very slow first step is not kept */
	if (height->count < STEPS_FEW && scale->max > LONE_RATIO * reach_s)
		*scale = (struct scale){ 0, 0, 0 };
	scale_update(scale, 0, reach_s, true);
	return true;
}

bool step_is_cut(const struct scale *scale, double step_s) { return scale->max > scale->min && step_s > scale->max; }

/* -- the mark -- */

enum { FLAG_SIGN = 0x25b2, CURSOR_SIGN = 0x25bc, CUT_SIGN = 0x2191 };

static struct cell *cell_in(struct canvas *canvas, struct rect plot, int x, int y)
{
	bool is_inside =
		x >= plot.x && x < plot.x + plot.width && x >= 0 && x < canvas->width && y >= 0 && y < canvas->height;
	return is_inside ? &canvas->cells[y * canvas->width + x] : NULL;
}

/* Faint characters may be overwritten. */
static bool is_free(struct canvas *canvas, struct rect plot, int x, int cells)
{
	for (int i = x; i < x + cells; i++) {
		const struct cell *cell = cell_in(canvas, plot, i, plot.y);

		if (!cell || (cell->code != ' ' && cell->role != ROLE_BAND && cell->role != ROLE_MEDIAN))
			return false;
	}
	return true;
}

static bool is_sign(const struct canvas *canvas, const struct cell *cell, uint32_t sign)
{
	return cell->code == (canvas->charset == CHARSET_ASCII ? canvas_ascii_like(sign) : sign);
}

/* One cell away from the mark and from other text. */
static void write_beside(struct canvas *canvas, struct rect plot, int x, double step_s, enum role role)
{
	char words[NUMBER_SIZE];
	int cells = (int)text_cells(format_seconds(words, step_s)), room = cells + 2;
	int from = is_free(canvas, plot, x + 1, room) ? x + 1 : is_free(canvas, plot, x - room, room) ? x - room : -1;
	if (from < 0)
		return;
	canvas_fill(canvas, (struct rect){ from, plot.y, room, 1 }, ' ', ROLE_NORMAL);
	canvas_text(canvas, from + 1, plot.y, cells, role, words);
}

void step_mark_cut(struct canvas *canvas, struct rect plot, int x, int width, double step_s)
{
	struct cell *top = cell_in(canvas, plot, x, plot.y), *below = cell_in(canvas, plot, x, plot.y + 1);
	if (!top || plot.height < 1)
		return;
	if (plot.height > 1 && below && (is_sign(canvas, top, FLAG_SIGN) || is_sign(canvas, top, CURSOR_SIGN)))
		*below = *top;
	enum role role = top->role == ROLE_FLAG ? ROLE_FLAG : ROLE_STRONG;

	canvas_fill(canvas, (struct rect){ x, plot.y, width, 1 }, ' ', ROLE_NORMAL);
	canvas_put(canvas, x, plot.y, canvas->charset == CHARSET_ASCII ? '+' : CUT_SIGN, role);
	write_beside(canvas, plot, x, step_s, role);
}
