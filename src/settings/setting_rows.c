#include "src/settings/setting_rows.h"

#include <stdint.h>
#include <string.h>

#include "src/settings/config_reader.h"
#include "src/settings/config_words.h"
#include "src/settings/setting_words.h"

#define SETTING_ROW(section, key, member, kind, value, min, max) \
	{ #section, #key, SETTING_##kind, offsetof(struct settings, member), min, max },

const struct setting_row setting_rows[SETTING_ROWS] = {
	{ "screen", "color", SETTING_COLOR, offsetof(struct settings, color), COLOR_AUTO, COLOR_NEVER },
	{ "screen", "marks", SETTING_MARKS, offsetof(struct settings, marks), MARKS_AUTO, MARKS_ASCII },
	{ "screen", "theme", SETTING_NAME, offsetof(struct settings, theme), 0, 0 },
	{ "screen", "panels", SETTING_WORDS, offsetof(struct settings, panels), 0, 0 },
	SETTINGS(SETTING_ROW){ "counters", "events", SETTING_COMMAND, offsetof(struct settings, counter_events), 0, 0 },
	{ "hooks", "on_info", SETTING_COMMAND, offsetof(struct settings, on_info), 0, 0 },
	{ "hooks", "on_warning", SETTING_COMMAND, offsetof(struct settings, on_warning), 0, 0 },
	{ "hooks", "on_critical", SETTING_COMMAND, offsetof(struct settings, on_critical), 0, 0 },
};

int setting_row_find(const char *section, const char *key)
{
	for (int i = 0; i < SETTING_ROWS; i++)
		if (strcmp(setting_rows[i].section, section) == 0 && (!key || strcmp(setting_rows[i].key, key) == 0))
			return i;
	return -1;
}

/* -- values -- */

static bool read_choice(const char *text, const char *const *words, size_t count, double *value)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(text, words[i]) == 0) {
			*value = (double)i;
			return true;
		}
	return false;
}

static bool read_flag(const char *text, double *value)
{
	static const char *const words[] = { "false", "true" };
	return read_choice(text, words, 2, value);
}

static bool read_color(const char *text, double *value) { return read_choice(text, setting_color_words, 3, value); }

static bool read_marks(const char *text, double *value) { return read_choice(text, setting_marks_words, 4, value); }

static const struct {
	bool (*read)(const char *text, double *value);
	const char *wanted;
	bool has_range;
} kinds[] = {
	[SETTING_NUMBER] = { config_number, "a number", true },
	[SETTING_INTEGER] = { config_whole_number, "a whole number", true },
	[SETTING_FLAG] = { read_flag, "true or false", false },
	[SETTING_COLOR] = { read_color, "auto, always or never", false },
	[SETTING_MARKS] = { read_marks, "auto, braille, blocks or ascii", false },
	[SETTING_NAME] = { NULL, "a name", false },
	[SETTING_WORDS] = { NULL, "some of [steps, where, memory, epochs, warnings, gpu, processes, machine], each once",
		false },
	[SETTING_COMMAND] = { NULL, "a program and its arguments, such as [notify-send, --, \"{message}\"]", false },
};

static void store(const struct setting_row *row, double value, struct settings *settings)
{
	void *member = (char *)settings + row->offset;
	switch (row->kind) {
	case SETTING_NUMBER: *(double *)member = value; break;
	case SETTING_INTEGER: *(int64_t *)member = (int64_t)value; break;
	case SETTING_FLAG: *(bool *)member = value > 0; break;
	case SETTING_COLOR: *(enum color_choice *)member = (enum color_choice)value; break;
	case SETTING_MARKS: *(enum marks_choice *)member = (enum marks_choice)value; break;
	case SETTING_NAME:
	case SETTING_WORDS:
	case SETTING_COMMAND: break;
	}
}

enum setting_fault setting_take(const struct setting_row *row, const char *text, struct settings *settings)
{
	double value;
	if (row->kind == SETTING_NAME) {
		if (!text[0] || strlen(text) >= SETTING_NAME_SIZE)
			return SETTING_OUT_OF_RANGE;
		strcpy((char *)settings + row->offset, text);
		return SETTING_TAKEN;
	}
	if (!kinds[row->kind].read(text, &value))
		return SETTING_WRONG_TYPE;
	if (!(value >= row->min && value <= row->max))
		return SETTING_OUT_OF_RANGE;
	store(row, value, settings);
	return SETTING_TAKEN;
}

void setting_take_command(
	const struct setting_row *row, const struct setting_command *command, struct settings *settings)
{
	*(struct setting_command *)(void *)((char *)settings + row->offset) = *command;
}

bool setting_take_panels(const struct setting_command *words, struct settings *settings)
{
	struct setting_panels panels = { 0 };
	const char *word = words->text;
	bool is_taken[SETTING_PANEL_COUNT] = { false };
	for (unsigned i = 0; i < words->count; i++, word += strlen(word) + 1) {
		double value;
		if (!read_choice(word, setting_panel_words, SETTING_PANEL_COUNT, &value) || is_taken[(int)value])
			return false;
		is_taken[(int)value] = true;
		panels.list[panels.count++] = (enum setting_panel)value;
	}
	settings->panels = panels;
	return true;
}

bool setting_take_level(const char *rule, const char *level, struct settings *settings)
{
	struct setting_levels *levels = &settings->levels;
	double value;
	unsigned at = 0;
	if (!read_choice(level, setting_level_words, LEVEL_COUNT, &value) || strlen(rule) >= SETTING_NAME_SIZE)
		return false;
	while (at < levels->count && strcmp(levels->list[at].rule, rule) != 0)
		at++;
	if (at == SETTING_LEVELS_MAX)
		return false;
	levels->count += at == levels->count;
	strcpy(levels->list[at].rule, rule);
	levels->list[at].level = (enum setting_level)value;
	return true;
}

void setting_wanted(const struct setting_row *row, struct buffer *out)
{
	buffer_puts(out, kinds[row->kind].wanted);
	if (kinds[row->kind].has_range)
		buffer_printf(out, " from %.10g to %.10g", row->min, row->max);
}

/* -- advice on an unknown word -- */

/* The next candidate's name: each key of the section, or each section once. */
static const char *next_name(const void *section, size_t *at)
{
	while (*at < SETTING_ROWS) {
		const struct setting_row *row = &setting_rows[(*at)++];
		if (section && strcmp(row->section, section) == 0)
			return row->key;
		if (!section && row == &setting_rows[setting_row_find(row->section, NULL)])
			return row->section;
	}
	if (!section && *at == SETTING_ROWS) {
		(*at)++;
		return SETTING_LEVELS;
	}
	return NULL;
}

void setting_advise(const char *section, const char *word, struct buffer *out)
{
	config_advise(word, section ? "keys are: " : "sections are: ", next_name, section, out);
}
