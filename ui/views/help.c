/* Help: all keys and signs. */
#include "src/base/text.h"
#include "ui/core/layout.h"
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
	{ "0 … 9  ?", "open a view; Tab and Shift-Tab: next and previous view; F1: help" },
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
	{ "↑", "taller than the plot, with its time: the warm-up or a rare very slow step (in ASCII +)" },
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
	{ NULL, "Signs" },
	{ "▲",
		"flagged: slower than the rolling median by more than 5 MAD and by 50 % (flags: in pmtop.yaml), or by hand" },
	{ "▂  ▆", "below batches: GPU throttled by its power limit (in ASCII p) or by heat (t)" },
	{ "◆", "a mark that the program published; Enter on its batch shows its text" },
	{ "⚠  ·", "a warning ([8] Warnings shows what to try), and a note" },
	{ "–", "unknown, never zero; [8] Warnings lists what is missing, why, and how to get it" },
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
	KEYS_WIDTH = 12
};

/* The entries that precede the common ones. */
static int entries_before(const struct scene *scene)
{
	return scene->replay ? REPLAY_ENTRIES : scene->has_log ? LAUNCH_ENTRIES : 0;
}

static int entry_count(const struct scene *scene) { return ENTRIES + entries_before(scene); }

static const struct entry *entry_at(const struct scene *scene, int row)
{
	int before = entries_before(scene);
	if (row >= before)
		return &entries[row - before];
	return scene->replay ? &replay_entries[row] : &launch_entries[row];
}

/* Draws as many entries as fit, from *next on; *next ends behind the last. */
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
