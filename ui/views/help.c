/* Help: every key, and what the signs mean. */
#include "src/base/text.h"
#include "ui/layout.h"
#include "ui/views/parts.h"

/* An entry without a key is a heading. */
static const struct { const char *keys, *what; } entries[] = {
	{ NULL, "Everywhere" },
	{ "1 … 9  ?", "open a view; Tab and Shift-Tab walk through them; F1 is help" },
	{ "Space  p", "pause and go on: the run goes on meanwhile, only the picture stands" },
	{ "[  ]", "the run before or after, where several publish (ranks)" },
	{ "w", "write what this view shows as CSV" },
	{ "r", "record from now on, in the working directory; r again ends it" },
	{ "Esc", "back: ends a search, closes an explanation, returns to the newest batch" },
	{ "q", "quit; the run is not touched" },
	{ NULL, "Batches (1 overview and 2 batches)" },
	{ "← →  h l", "the batch before, after; PgUp PgDn by a page; Home the oldest kept, End the newest" },
	{ "n  N", "the next, the previous flagged batch; from the newest both start at the newest flag" },
	{ "f", "flag or unflag the batch under the cursor by hand" },
	{ "m", "batches of the next mode: training, validation, …" },
	{ "Enter", "why it took so long: each phase against its own median, and what the process did" },
	{ "/", "find a batch (7/624 or 624) or a phase that made batches slow; n N walk the matches until Esc" },
	{ "+  -", "zoom: from the last few batches to the whole run" },
	{ NULL, "Lists and tables (2, 3, 4, 6, 8)" },
	{ "↑ ↓  j k", "choose a row; PgUp PgDn Home End; the wheel" },
	{ "<  >", "sort by the column before, after; I turns the order over; a click on a heading does both" },
	{ "/", "find by name; n N walk the matches until Esc" },
	{ NULL, "Warnings (8)" },
	{ "Enter", "the evidence as a plot: the figure, its level, when it was raised and cleared; Esc back" },
	{ "n", "the newest slow batch, where a warning is about some" },
	{ NULL, "Mouse" },
	{ "click", "a tab opens its view; a bar or a point chooses its batch; a row is selected" },
	{ NULL, "Signs" },
	{ "▲", "flagged: above the rolling median by more than 5 MAD and by half of it (flags: in pmtop.yaml), or by hand" },
	{ "◆", "a mark that the program published; Enter on its batch says which" },
	{ "⚠  ·", "a warning (8 says what to try), and a remark" },
	{ "–", "not known, never zero; 8 lists what is missing, why, and what would bring it" },
	{ "step", "begin of a batch to the begin of the next; a batch is begin to end" },
	{ "between", "what lies between two batches; unattributed: what no span covers" },
	{ "ETA", "time left, validation and checkpoints included" },
};
enum { ENTRIES = sizeof entries / sizeof entries[0], KEYS_WIDTH = 12 };

/* Draws entries from *next on, as many as fit; returns with *next behind the last. */
static void draw_column(struct canvas *canvas, struct rect rect, int *next)
{
	while (*next < ENTRIES && rect.height > 0) {
		struct rect body = rect;
		int rows = 1;

		if (entries[*next].keys == NULL) {
			canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_TITLE, entries[*next].what);
		} else {
			rect_take_left(&body, KEYS_WIDTH);
			canvas_text(canvas, rect.x + 1, rect.y, KEYS_WIDTH - 1, ROLE_KEY, entries[*next].keys);
			rows = parts_wrap(canvas, body, ROLE_NORMAL, entries[*next].what);
		}
		rect_take_top(&rect, rows);
		(*next)++;
	}
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct view_state *state = scene->state;
	int next;

	parts_list_settle(state, ENTRIES, 1);
	next = state->row;
	rect_take_left(&rect, 1);
	draw_column(canvas, rect, &next);
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	return parts_list_key(scene->state, event, ENTRIES - rect.height / 2, rect);
}

const struct view help_view = {
	.name = "help", .short_name = "", .digit = '?',
	.keys = "q quit  Esc back  ↑↓ scroll  1 … 9 views",
	.keys_short = "q quit  Esc back  ↑↓ scroll",
	.draw = draw, .key = key,
};
