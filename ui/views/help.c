/* Help: all keys, the marks of the view that was open, and words. */
#include "src/base/text.h"
#include "ui/core/layout.h"
#include "ui/widgets/legend.h"
#include "ui/widgets/parts.h"

/* An entry without a key is a heading. */
struct entry {
	const char *keys, *what;
};

/* Only in a replay. */
static const struct entry replay_entries[] = {
	{ NULL, "Recording" },
	{ ",  .", "10 s back or forward; ( ) 5 % of the recording; repeated presses add up; Esc stops the seek" },
	{ "{  }", "halve or double the speed, from 0.25x to 1000x; above that as fast as possible" },
	{ "Space  p", "pause or resume; at the end: play again from the beginning" },
	{ "^  $", "go to the beginning or the end; the end of a growing recording is followed" },
	{ "@",
		"go to a time: 14:02:30, 0:05:00 or 5m after the beginning, -5m before the end, 50%, #624 (a batch), @7 (an "
		"epoch)" },
	{ "n  N", "next or previous flagged batch of the whole recording" },
	{ "click", "go to that time on the time line; ▲ flagged, × lost blocks, gap: nothing was recorded" },
};

/* Only when pmtop started the command. */
static const struct entry launch_entries[] = {
	{ NULL, "Output of the command that pmtop started" },
	{ "l", "show it below the view; l again hides it (→ selects the next batch)" },
	{ "L", "show it on the whole screen, or below the view again; ↑ ↓ PgUp PgDn Home End scroll, End: newest line" },
};

static const struct entry entries[] = {
	{ NULL, "Everywhere" },
	{ "0 … 9  ?", "open a view; Tab and Shift-Tab: next and previous view; F1: help; there m: the marks of this view" },
	{ "Space  p", "pause or resume the screen; the run continues" },
	{ "[  ]", "previous or next run, if there are several (ranks)" },
	{ "w", "write this view to a CSV file" },
	{ "o", "overlay an earlier run from its recording; o again removes it" },
	{ "r", "start recording into the working directory; r again stops it" },
	{ "P  T",
		"P: take a trace of the next 3 steps of a PyTorch program; P again: withdraw the request; T: open the trace, "
		"in [4] Memory the newest memory snapshot" },
	{ "s", "choose the loop whose iterations are the steps, if the run publishes none" },
	{ "F2  S", "set up: refresh, theme, plots, panels, levels of warnings; saved in pmtop.yaml when you leave" },
	{ "Esc", "go back: end a search, close an explanation, return to the newest batch" },
	{ "q", "quit; the run continues" },
	{ NULL, "Batches ([1] Overview and [2] Batches)" },
	{ "← →  h l", "previous or next batch; PgUp PgDn: one page; Home: oldest retained, End: newest" },
	{ "n  N", "next or previous flagged batch; at the newest batch both select the newest flag" },
	{ "f", "flag or unflag the selected batch" },
	{ "m", "batches of the next mode: training, validation, …" },
	{ "Enter", "explain the batch: each phase against its median, and what the process did" },
	{ "/", "search a batch (7/624 or 624) or a phase that made batches slow; n N: next, previous match; Esc ends" },
	{ "+  -", "zoom: from the last few batches to the whole run" },
	{ NULL, "Lists and tables ([2] to [9])" },
	{ "↑ ↓  j k", "select a row (GPU, event, process); also PgUp PgDn Home End and the mouse wheel" },
	{ "<  >", "sort by the previous or next column; I reverses the order; or click a heading" },
	{ "/", "search by name; n N: next, previous match; Esc ends" },
	{ "← →  -  +", "in [7] Code: ← → another process or the DataLoader's workers; - whole run, + last minute" },
	{ "Enter  n", "in [8] Warnings: Enter: plot of the figure with its threshold, Esc back; n: its newest slow batch" },
	{ "click", "a tab opens its view; a bar or point selects its batch; a row is selected" },
};

static const struct entry words[] = {
	{ NULL, "Words" },
	{ "step",
		"from the start of a batch to that of the next; 1/31 in lists: batch 31 of epoch 1, by the program's count" },
	{ "span",
		"a part of a batch that the program times; unattributed: batch time in no span; between: between two batches" },
	{ "pressure",
		"share of time in which a task waited for it; I/O wait: share of CPU time idle while a task waits for a disk" },
	{ "CPU",
		"of a process: 100 % is one whole CPU; of the machine: 100 % is all CPUs; MAJFLT/s: page faults that read a "
		"disk" },
	{ "main",
		"the process that runs the loop; GROWTH: anonymous memory since warm-up; slowest: rank of most own time" },
	{ "activity", "of a GPU: SM occupancy, use of the tensor cores, share of the peak memory bandwidth" },
	{ "ETA",
		"remaining time with validation, checkpoints; MFU: share of the peak FLOPS; loss ↓ → ↑: falls, steady, rises" },
};
enum {
	ENTRIES = sizeof entries / sizeof entries[0],
	REPLAY_ENTRIES = sizeof replay_entries / sizeof replay_entries[0],
	LAUNCH_ENTRIES = sizeof launch_entries / sizeof launch_entries[0],
	KEYS_WIDTH = 12,
	WORDS = sizeof words / sizeof words[0]
};

/* The entries that precede the common ones. */
static int entries_before(const struct scene *scene)
{
	return scene->replay ? REPLAY_ENTRIES : scene->has_log ? LAUNCH_ENTRIES : 0;
}

static const struct view *legend_view(const struct scene *scene)
{
	return scene->help_of ? scene->help_of : &overview_view;
}

static int legend_count(const struct scene *scene)
{
	int count = 0;
	for (size_t at = 0; legend_next(legend_view(scene), &at);)
		count++;
	return count;
}

/* Keys, then the marks of the view, then words. */
static int entry_count(const struct scene *scene)
{
	return ENTRIES + entries_before(scene) + 1 + legend_count(scene) + WORDS;
}

static void draw_marks(const struct legend_row *row, struct canvas *canvas, int x, int y)
{
	canvas_text(canvas, x, y, KEYS_WIDTH - 1, row->role, legend_marks(row, canvas->charset));
}

/* Returns the rows used. */
static int draw_legend(const struct scene *scene, int index, struct canvas *canvas, struct rect rect)
{
	const struct legend_row *row = NULL;
	size_t at = 0;
	if (index == 0) {
		canvas_printf(canvas, rect.x, rect.y, rect.width, ROLE_TITLE, "Marks in %s", legend_view(scene)->name);
		return 1;
	}
	for (int i = 0; i < index; i++)
		row = legend_next(legend_view(scene), &at);
	if (!row)
		return 1;
	draw_marks(row, canvas, rect.x + 1, rect.y);
	rect_take_left(&rect, KEYS_WIDTH);
	return parts_wrap(canvas, rect, ROLE_NORMAL, row->what);
}

static int draw_entry(const struct entry *entry, struct canvas *canvas, struct rect rect)
{
	if (!entry->keys) {
		canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_TITLE, entry->what);
		return 1;
	}
	canvas_text(canvas, rect.x + 1, rect.y, KEYS_WIDTH - 1, ROLE_KEY, entry->keys);
	rect_take_left(&rect, KEYS_WIDTH);
	return parts_wrap(canvas, rect, ROLE_NORMAL, entry->what);
}

static int draw_row(const struct scene *scene, int row, struct canvas *canvas, struct rect rect)
{
	int before = entries_before(scene), marks = legend_count(scene) + 1;
	if (row < before)
		return draw_entry(scene->replay ? &replay_entries[row] : &launch_entries[row], canvas, rect);
	row -= before;
	if (row < ENTRIES)
		return draw_entry(&entries[row], canvas, rect);
	row -= ENTRIES;
	return row < marks ? draw_legend(scene, row, canvas, rect) : draw_entry(&words[row - marks], canvas, rect);
}

/* Draws as many entries as fit, from *next on; *next ends behind the last. */
static void draw_column(const struct scene *scene, struct canvas *canvas, struct rect rect, int *next)
{
	while (*next < entry_count(scene) && rect.height > 0) {
		rect_take_top(&rect, draw_row(scene, *next, canvas, rect));
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
	if (event.key == 'm') {
		scene->state->row = entries_before(scene) + ENTRIES;
		return true;
	}
	return parts_list_key(scene->state, event, entry_count(scene) - rect.height / 2, rect);
}

const struct view help_view = {
	.name = "help",
	.short_name = "",
	.digit = '?',
	.keys = "q quit  Esc back  ↑↓ scroll  m marks of the view  1 … 9 views",
	.keys_short = "q quit  Esc back  ↑↓ scroll  m marks",
	.draw = draw,
	.key = key,
};
