#include "ui/setup/setup_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/settings/setting_words.h"

/* -- display -- */

enum { ROW_REFRESH, ROW_THEME, ROW_COLOR, ROW_MARKS, DISPLAY_ROWS };

static int display_count(const struct setup *setup)
{
	(void)setup;
	return DISPLAY_ROWS;
}

static const struct theme *theme_of(const struct setup *setup)
{
	int at = theme_book_find(&setup->themes, setup->settings->theme);
	return &setup->themes.list[at < 0 ? 0 : at];
}

static void describe_display(const struct setup *setup, int row, char label[SETUP_TEXT_SIZE],
	char value[SETUP_TEXT_SIZE], char what[SETUP_TEXT_SIZE])
{
	static const char *const labels[] = { "Refresh", "Theme", "Colours", "Plots" },
							 *const color_words[] = { "as the terminal and NO_COLOR say", "also where NO_COLOR is set",
								 "none: bold, dim and reverse" },
							 *const marks_words[] = { "what the terminal can show", "the finest",
								 "for fonts without braille", "for terminals without Unicode" };
	const struct settings *settings = setup->settings;
	snprintf(label, SETUP_TEXT_SIZE, "%s", labels[row]);
	switch (row) {
	case ROW_REFRESH:
		snprintf(value, SETUP_TEXT_SIZE, "%.3g s", settings->refresh_s);
		snprintf(what, SETUP_TEXT_SIZE, "from one sample to the next");
		break;
	case ROW_THEME:
		snprintf(value, SETUP_TEXT_SIZE, "%s", theme_of(setup)->name);
		snprintf(what, SETUP_TEXT_SIZE, "%s", theme_of(setup)->about);
		break;
	case ROW_COLOR:
		snprintf(value, SETUP_TEXT_SIZE, "%s", setting_color_words[settings->color]);
		snprintf(what, SETUP_TEXT_SIZE, "%s", color_words[settings->color]);
		break;
	default:
		snprintf(value, SETUP_TEXT_SIZE, "%s", setting_marks_words[settings->ascii ? MARKS_ASCII : settings->marks]);
		snprintf(what, SETUP_TEXT_SIZE, "%s", marks_words[settings->ascii ? MARKS_ASCII : settings->marks]);
		break;
	}
}

static int around(int value, int by, int count) { return (value + by + count) % count; }

/* The next of some usual intervals. */
static double next_refresh(double now, int by)
{
	static const double usual[] = { 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60 };
	enum { COUNT = sizeof usual / sizeof *usual };
	if (by > 0) {
		for (int i = 0; i < COUNT; i++)
			if (usual[i] > now * 1.001)
				return usual[i];
		return usual[0];
	}
	for (int i = COUNT - 1; i >= 0; i--)
		if (usual[i] < now * 0.999)
			return usual[i];
	return usual[COUNT - 1];
}

static void change_display(struct setup *setup, int row, int by)
{
	struct settings *settings = setup->settings;
	int theme = (int)(theme_of(setup) - setup->themes.list);
	switch (row) {
	case ROW_REFRESH: settings->refresh_s = next_refresh(settings->refresh_s, by); break;
	case ROW_THEME:
		theme = around(theme, by, (int)setup->themes.count);
		snprintf(settings->theme, sizeof settings->theme, "%s", setup->themes.list[theme].name);
		break;
	case ROW_COLOR: settings->color = (enum color_choice)around((int)settings->color, by, 3); break;
	default:
		settings->marks = (enum marks_choice)around((int)(settings->ascii ? MARKS_ASCII : settings->marks), by, 4);
		settings->ascii = false;
		break;
	}
}

/* -- panels -- */

static int panel_count(const struct setup *setup)
{
	(void)setup;
	return SETTING_PANEL_COUNT;
}

static void describe_panel(const struct setup *setup, int row, char label[SETUP_TEXT_SIZE], char value[SETUP_TEXT_SIZE],
	char what[SETUP_TEXT_SIZE])
{
	static const struct {
		const char *name, *what;
	} panels[] = {
		[SETTING_PANEL_steps] = { "Step time", "each step, and those flagged" },
		[SETTING_PANEL_where] = { "Where a step goes", "its phases, and what the workers do" },
		[SETTING_PANEL_memory] = { "Memory", "of the run, with its trend" },
		[SETTING_PANEL_epochs] = { "Epochs", "from 160 columns on" },
		[SETTING_PANEL_processes] = { "Processes", "from 160 columns on" },
		[SETTING_PANEL_warnings] = { "Warnings", "with what to try" },
		[SETTING_PANEL_gpu] = { "GPU", "use, memory, power, temperature" },
		[SETTING_PANEL_machine] = { "Machine", "CPU, I/O wait, memory, disk" },
	};
	enum setting_panel panel = setup->order[row];
	snprintf(label, SETUP_TEXT_SIZE, "%s", panels[panel].name);
	snprintf(value, SETUP_TEXT_SIZE, "%s", setup->is_shown[panel] ? "[x]" : "[ ]");
	snprintf(what, SETUP_TEXT_SIZE, "%s", panels[panel].what);
}

static void take_panels(struct setup *setup)
{
	struct setting_panels *panels = &setup->settings->panels;
	panels->count = 0;
	for (int i = 0; i < SETTING_PANEL_COUNT; i++)
		if (setup->is_shown[setup->order[i]])
			panels->list[panels->count++] = setup->order[i];
}

/* One at least stays. */
static void toggle_panel(struct setup *setup, int row, int by)
{
	bool *is_shown = &setup->is_shown[setup->order[row]];
	(void)by;
	if (*is_shown && setup->settings->panels.count == 1)
		return;
	*is_shown = !*is_shown;
	take_panels(setup);
}

static void move_panel(struct setup *setup, int row, int by)
{
	int to = row + by;
	if (to < 0 || to >= SETTING_PANEL_COUNT)
		return;
	enum setting_panel moved = setup->order[row];
	setup->order[row] = setup->order[to];
	setup->order[to] = moved;
	setup->rows[SETUP_PANELS].row = to;
	take_panels(setup);
}

/* -- warnings -- */

static int rule_count(const struct setup *setup) { return (int)setup->rule_count; }

static void describe_rule(const struct setup *setup, int row, char label[SETUP_TEXT_SIZE], char value[SETUP_TEXT_SIZE],
	char what[SETUP_TEXT_SIZE])
{
	snprintf(label, SETUP_TEXT_SIZE, "%s", setup->list[row].name);
	snprintf(value, SETUP_TEXT_SIZE, "%s", setting_level_words[setup->list[row].level]);
	snprintf(what, SETUP_TEXT_SIZE, "%s", setup->list[row].condition);
}

static void change_rule(struct setup *setup, int row, int by)
{
	struct rule_row *rule = &setup->list[row];
	struct setting_levels *levels = &setup->settings->levels;
	unsigned at = 0;
	while (at < levels->count && strcmp(levels->list[at].rule, rule->name) != 0)
		at++;
	if (at == SETTING_LEVELS_MAX)
		return;
	rule->level = (enum setting_level)around((int)rule->level, by, LEVEL_COUNT);
	levels->count += at == levels->count;
	snprintf(levels->list[at].rule, sizeof levels->list[at].rule, "%s", rule->name);
	levels->list[at].level = rule->level;
}

const struct setup_page_kind setup_pages[SETUP_PAGES] = {
	[SETUP_DISPLAY] = { "Display", "Display", 9, 15, display_count, describe_display, change_display, NULL },
	[SETUP_PANELS] = { "Panels", "Panels of the overview: + - move", 19, 5, panel_count, describe_panel, toggle_panel,
		move_panel },
	[SETUP_WARNINGS] = { "Warnings", "Level of each warning", 25, 10, rule_count, describe_rule, change_rule, NULL },
};
