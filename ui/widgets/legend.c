#include "ui/widgets/legend.h"

#include "ui/widgets/chrome.h"

#define IN(name) (1u << LEGEND_##name)
#define ALL (~0u)
#define STEPS (IN(overview) | IN(batches))
#define PLOTS (STEPS | IN(memory) | IN(gpu) | IN(system) | IN(warnings) | IN(counters))

static const struct legend_row rows[] = {
	/* plots */
	{ "⠒⡇", "▀▄█", "*|", ROLE_PLOT, PLOTS,
		"a plot: a point or column per interval, from its smallest to its largest value; newest at the right" },
	{ "⠒ ⠒", "▀ ▀", "* *", ROLE_PLOT, PLOTS, "a gap: nothing was measured then; a gap is never zero" },
	{ "┤", NULL, NULL, ROLE_DIM, PLOTS, "a value on the scale; the scale grows at once and shrinks slowly" },
	{ "⠤", "─", "-", ROLE_MEDIAN, STEPS, "median of the steps" },
	{ "⡪", "·", ".", ROLE_BAND, STEPS, "the band from the median to the 95th percentile" },
	{ "∘", NULL, "=", ROLE_EARLIER, STEPS, "the earlier run that key o overlays" },
	{ "⠒", "▀", "*", ROLE_MEMORY, IN(overview) | IN(memory),
		"memory of the process and its children; below: of the main process" },
	{ "▲", NULL, NULL, ROLE_FLAG, STEPS,
		"flagged: slower than the rolling median by more than 5 MAD and by 50 % (flags: in pmtop.yaml), or by hand" },
	{ "↑", NULL, "+", ROLE_FLAG, STEPS, "taller than the plot, with its time: the warm-up or a rare very slow step" },
	{ "◆", NULL, NULL, ROLE_ACCENT, STEPS, "a mark that the program published; Enter on its batch shows its text" },
	{ "▼│", NULL, NULL, ROLE_ACCENT, STEPS, "the selected batch; ← → select another one" },
	{ "▂", NULL, "p", ROLE_WARNING, STEPS | IN(gpu), "below a plot: GPU throttled by its power limit" },
	{ "▆", NULL, "t", ROLE_CRITICAL, STEPS | IN(gpu), "below a plot: GPU throttled by heat" },
	/* bars */
	{ "▏▎▍▌▋▊▉█", NULL, "-#", ROLE_NORMAL, ALL, "a bar, in eighths of a cell; its colour is that of the phase" },
	{ "█▓▒░▚▞≡·", NULL, "dfbopqru", ROLE_NORMAL, STEPS,
		"a phase in a stacked bar; the line above the plot names each" },
	{ "█▓▒", NULL, NULL, ROLE_MEMORY, IN(memory),
		"memory of the main process, the workers, and what they share; the list names each" },
	{ "█▒·", NULL, NULL, ROLE_MEMORY, IN(gpu), "memory of a GPU: of this run, of other programs, free" },
	{ "━╸─", NULL, "=.", ROLE_ACCENT, IN(overview), "progress: done, and what remains" },
	/* warnings */
	{ "⚠", NULL, NULL, ROLE_WARNING, ALL,
		"a warning, or a figure that has one; ⚠3 in the tabs: how many; [8] Warnings shows what to try" },
	{ "⚠⚠", NULL, NULL, ROLE_CRITICAL, IN(warnings), "a critical warning" },
	{ "·", NULL, NULL, ROLE_INFO, ALL, "before a line: a note; between words: a separator" },
	{ "•", NULL, NULL, ROLE_INFO, IN(system) | IN(overview), "a figure that has a note in [8] Warnings" },
	{ "✓", NULL, NULL, ROLE_GOOD, IN(warnings), "a cleared warning" },
	{ "▲", NULL, NULL, ROLE_FLAG, IN(warnings), "when the warning was raised" },
	{ "┄", NULL, NULL, ROLE_WARNING, IN(warnings), "the threshold of its rule" },
	{ "→", NULL, NULL, ROLE_NORMAL, ALL,
		"what to do; between two values: from, to; of a loss: steady (↓ falls, ↑ rises)" },
	/* lists */
	{ "▸", NULL, NULL, ROLE_ACCENT, ALL, "the selected row; in the ranks of [1] Overview: the slowest rank" },
	{ "↓↑", NULL, NULL, ROLE_KEY, ALL, "in a heading: the table is sorted by this column, falling or rising" },
	{ "›", NULL, NULL, ROLE_NORMAL, ALL, "between phases: the second is a part of the first" },
	{ "−", NULL, NULL, ROLE_NORMAL, IN(memory) | IN(ranks), "minus: before a number, less" },
	{ "≥", NULL, NULL, ROLE_NORMAL, ALL, "at least: pmtop has not seen all of them" },
	{ "…", NULL, NULL, ROLE_NORMAL, ALL, "a text continues; between numbers: up to" },
	{ "–", NULL, NULL, ROLE_NORMAL, ALL,
		"unknown, never zero; [8] Warnings lists what is missing, why, and how to get it" },
	/* the header */
	{ "●", NULL, NULL, ROLE_GOOD, ALL, "live; ● rec: pmtop records" },
	{ "‖", NULL, NULL, ROLE_WARNING, ALL, "paused" },
};

const struct legend_row *legend_next(const struct view *view, size_t *at)
{
	int index = 0;
	while (index + 1 < view_count && all_views[index] != view)
		index++;
	while (*at < sizeof rows / sizeof *rows) {
		const struct legend_row *row = &rows[(*at)++];
		if (row->views & 1u << index)
			return row;
	}
	return NULL;
}

const char *legend_marks(const struct legend_row *row, enum charset charset)
{
	if (charset == CHARSET_ASCII && row->ascii)
		return row->ascii;
	return charset == CHARSET_BLOCK && row->block ? row->block : row->marks;
}
