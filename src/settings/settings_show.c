#include "src/settings/settings_show.h"

#include <inttypes.h>
#include <string.h>

#include "src/settings/setting_rows.h"
#include "src/settings/setting_words.h"
#include "src/settings/settings_save.h"

/* "[logger, -t, pmtop]"; "none" without words */
static void show_command(const struct setting_command *command, struct buffer *out)
{
	const char *word = command->text;
	for (unsigned i = 0; i < command->count; i++, word += strlen(word) + 1)
		buffer_printf(out, "%s%s", i ? ", " : "[", word);
	buffer_puts(out, command->count ? "]" : "none");
}

static void show_value(const struct setting_row *row, const struct settings *settings, struct buffer *out)
{
	char text[SETTING_VALUE_SIZE];
	const void *member = (const char *)settings + row->offset;
	switch (row->kind) {
	case SETTING_NUMBER: buffer_printf(out, "%.10g", *(const double *)member); break;
	case SETTING_INTEGER: buffer_printf(out, "%" PRId64, *(const int64_t *)member); break;
	case SETTING_FLAG: buffer_puts(out, *(const bool *)member ? "true" : "false"); break;
	case SETTING_COLOR: buffer_puts(out, setting_color_words[*(const enum color_choice *)member]); break;
	case SETTING_MARKS: buffer_puts(out, setting_marks_words[*(const enum marks_choice *)member]); break;
	case SETTING_NAME: buffer_puts(out, member); break;
	case SETTING_WORDS:
		settings_panels_value(member, text);
		buffer_puts(out, text);
		break;
	case SETTING_COMMAND: show_command(member, out); break;
	}
}

unsigned settings_show_changed(const struct settings *settings, struct buffer *out)
{
	struct settings usual;
	struct buffer value = BUFFER_INIT, by_default = BUFFER_INIT;
	unsigned count = 0;
	settings_default(&usual);
	for (int i = 0; i < SETTING_ROWS; i++) {
		const struct setting_row *row = &setting_rows[i];
		buffer_clear(&value);
		buffer_clear(&by_default);
		show_value(row, settings, &value);
		show_value(row, &usual, &by_default);
		if (value.failed || by_default.failed || strcmp(value.data, by_default.data) == 0)
			continue;
		buffer_printf(out, "%s: %s: %s (default %s)\n", row->section, row->key, value.data, by_default.data);
		count++;
	}
	for (unsigned i = 0; i < settings->levels.count; i++, count++)
		buffer_printf(out, SETTING_LEVELS ": %s: %s\n", settings->levels.list[i].rule,
			setting_level_words[settings->levels.list[i].level]);
	buffer_release(&value);
	buffer_release(&by_default);
	return count;
}
