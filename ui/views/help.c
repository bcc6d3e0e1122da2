/* Help: every key, and what the signs mean. */
#include "src/base/text.h"
#include "ui/core/layout.h"
#include "ui/widgets/parts.h"

/* An entry without a key is a heading. */
struct entry {
	const char *keys, *what;
};

/* Only where they work. */
static const struct entry replay_entries[] = {
	{ NULL, "Recording" },
	{ ",  .",
		"ten seconds back, on; ( ) by a twentieth of the whole; pressed again they add up; Esc stops on the way" },
	{ "{  }", "half, twice the speed: from 0.25x to 1000x, then as fast as it goes" },
	{ "Space  p", "stop the clock, and let it go on; at the end: from the beginning again" },
	{ "^  $", "the beginning, the end; where it is still being written, its end is followed" },
	{ "@",
		"go to a moment: 14:02:30, 0:05:00 or 5m since the beginning, -5m before the end, 50%, #624 (a batch), @7 (an "
		"epoch)" },
	{ "n  N", "the next, the previous flagged batch of the whole recording: just after its end" },
	{ "click", "on the time line: there. On it: ▲ flagged, × blocks lost, a hole where nothing was recorded" },
};

static const struct entry entries[] = {
	{ NULL, "Everywhere" },
	{ "1 … 9  ?", "open a view; Tab and Shift-Tab walk through them; F1 is help" },
	{ "Space  p", "pause and go on: the run goes on meanwhile, only the picture stands" },
	{ "[  ]", "the run before or after, where several publish (ranks)" },
	{ "w", "write what this view shows as CSV" },
	{ "o", "an earlier run beside this one, from its recording; o again takes it away" },
	{ "r", "record from now on, in the working directory; r again ends it" },
	{ "Esc", "back: ends a search, closes an explanation, returns to the newest batch" },
	{ "q", "quit; the run is not touched" },
	{ NULL, "Batches (1 overview and 2 batches)" },
	{ "← →  h l", "the batch before, after; PgUp PgDn by a page; Home the oldest kept, End the newest" },
	{ "n  N", "the next, the previous flagged batch; from the newest both start at the newest flag" },
	{ "f", "flag or unflag the batch under the cursor by hand" },
	{ "↑", "above the plot, with its time: the warm-up, or a lone step far above all others (in ASCII +)" },
	{ "m", "batches of the next mode: training, validation, …" },
	{ "Enter", "why it took so long: each phase against its own median, and what the process did" },
	{ "/", "find a batch (7/624 or 624) or a phase that made batches slow; n N walk the matches until Esc" },
	{ "+  -", "zoom: from the last few batches to the whole run" },
	{ NULL, "Lists and tables (2 to 9)" },
	{ "↑ ↓  j k", "choose a row: a GPU, an event, a process; PgUp PgDn Home End; the wheel" },
	{ "<  >", "sort by the column before, after; I turns the order over; a click on a heading does both" },
	{ "/", "find by name; n N walk the matches until Esc" },
	{ "← →  -  +", "on 7 Code: another process, or a loader's workers; the whole run, or the last minute" },
	{ NULL, "Warnings (8)" },
	{ "Enter  n",
		"the evidence as a plot: the figure, its level, raised and cleared, Esc back; n its newest slow batch" },
	{ NULL, "Mouse" },
	{ "click", "a tab opens its view; a bar or a point chooses its batch; a row is selected" },
	{ NULL, "Signs" },
	{ "▲",
		"flagged: above the rolling median by more than 5 MAD and by half of it (flags: in pmtop.yaml), or by hand" },
	{ "▂  ▆", "below batches: the GPU was at its power limit (in ASCII p), was slowed by heat (t)" },
	{ "◆", "a mark that the program published; Enter on its batch says which" },
	{ "⚠  ·", "a warning (8 says what to try), and a remark" },
	{ "–", "not known, never zero; 8 lists what is missing, why, and what would bring it" },
	{ "step", "begin of a batch to the begin of the next; a batch is begin to end" },
	{ "between", "what lies between two batches; unattributed: what no span covers" },
	{ "ETA", "time left, validation and checkpoints included" },
};
enum {
	ENTRIES = sizeof entries / sizeof entries[0],
	REPLAY_ENTRIES = sizeof replay_entries / sizeof replay_entries[0],
	KEYS_WIDTH = 12
};

static int entry_count(const struct scene *scene) { return ENTRIES + (scene->replay ? REPLAY_ENTRIES : 0); }

static const struct entry *entry_at(const struct scene *scene, int place)
{
	int before = scene->replay ? REPLAY_ENTRIES : 0;
	return place < before ? &replay_entries[place] : &entries[place - before];
}

/* Draws entries from *next on, as many as fit; returns with *next behind the last. */
static void draw_column(const struct scene *scene, struct canvas *canvas, struct rect rect, int *next)
{
	while (*next < entry_count(scene) && rect.height > 0) {
		const struct entry *entry = entry_at(scene, *next);
		struct rect body = rect;
		int rows = 1;
		if (!entry->keys) {
			canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_TITLE, entry->what);
		} else {
			rect_take_left(&body, KEYS_WIDTH);
			canvas_text(canvas, rect.x + 1, rect.y, KEYS_WIDTH - 1, ROLE_KEY, entry->keys);
			rows = parts_wrap(canvas, body, ROLE_NORMAL, entry->what);
		}
		rect_take_top(&rect, rows);
		(*next)++;
	}
}

static void draw(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct view_state *state = scene->state;
	int next;
	parts_list_settle(state, entry_count(scene), 1);
	next = state->row;
	rect_take_left(&rect, 1);
	draw_column(scene, canvas, rect, &next);
}

static bool key(struct scene *scene, struct key_event event, struct rect rect)
{
	return parts_list_key(scene->state, event, entry_count(scene) - rect.height / 2, rect);
}

const struct view help_view = {
	.name = "help",
	.short_name = "",
	.digit = '?',
	.keys = "q quit  Esc back  ↑↓ scroll  1 … 9 views",
	.keys_short = "q quit  Esc back  ↑↓ scroll",
	.draw = draw,
	.key = key,
};
