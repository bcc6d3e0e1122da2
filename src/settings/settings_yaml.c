#include "src/settings/settings_yaml.h"

#include <string.h>

#include "src/settings/config_reader.h"
#include "src/settings/setting_rows.h"

struct reading {
	struct settings values;
	size_t levels_line, section_lines[SETTING_ROWS], key_lines[SETTING_ROWS]; /* by row; 0 = not met yet */
};

static enum status refuse_unknown(struct config_reader *reader, const char *section)
{
	char word[CONFIG_WORD_SIZE];
	struct buffer advice = BUFFER_INIT;
	config_word(reader, word);
	if (!section && strcmp(word, "warnings") == 0)
		buffer_puts(&advice,
			"set levels in a rule file, such as ~/.config/pmtop/rules/mine.yaml: \"data_loading: {above: 40 %}\"; see "
			"pmtop.yaml(5)");
	else
		setting_advise(section, word, &advice);
	const char *remedy = advice.data ? advice.data : "see pmtop.yaml(5)";
	enum status status = section
		? config_refuse(reader, config_line(reader), remedy, "unknown key \"%s\" in section \"%s\"", word, section)
		: config_refuse(reader, config_line(reader), remedy, "unknown section \"%s\"", word);
	buffer_release(&advice);
	return status;
}

static enum status refuse_value(struct config_reader *reader, const struct setting_row *row, const char *problem)
{
	char word[CONFIG_WORD_SIZE];
	struct buffer remedy = BUFFER_INIT;
	config_word(reader, word);
	buffer_puts(&remedy, "write ");
	setting_wanted(row, &remedy);
	enum status status = config_refuse(reader, config_line(reader), remedy.data ? remedy.data : "see pmtop.yaml(5)",
		"\"%s\" in section \"%s\" %s%s%s%s", row->key, row->section, problem, *word ? ": \"" : "", word,
		*word ? "\"" : "");
	buffer_release(&remedy);
	return status;
}

static enum status read_words(
	struct config_reader *reader, const struct setting_row *row, struct setting_command *command)
{
	size_t used = 0;
	enum status status;
	if (config_is_nothing(reader))
		return STATUS_OK;
	if (reader->event.type != YAML_SEQUENCE_START_EVENT)
		return refuse_value(reader, row, "is not a list of words");
	while ((status = config_next(reader)) == STATUS_OK && reader->event.type != YAML_SEQUENCE_END_EVENT) {
		if (!config_is_word(reader))
			return refuse_value(reader, row, "has an entry that is not text");
		size_t size = reader->event.data.scalar.length + 1;
		if (command->count == SETTING_WORDS_MAX || size > sizeof command->text - used)
			return refuse_value(reader, row, "is too long");
		memcpy(command->text + used, config_scalar(reader), size);
		used += size;
		command->count++;
	}
	return status;
}

static enum status read_command(struct config_reader *reader, const struct setting_row *row, struct reading *reading)
{
	struct setting_command command = { 0 };
	enum status status = read_words(reader, row, &command);
	if (status == STATUS_OK && command.count > 0 && (command.text[0] == '\0' || strchr(command.text, '{')))
		return refuse_value(reader, row, "does not begin with a program");
	if (status == STATUS_OK)
		setting_take_command(row, &command, &reading->values);
	return status;
}

static enum status read_panels(struct config_reader *reader, const struct setting_row *row, struct reading *reading)
{
	struct setting_command words = { 0 };
	enum status status = read_words(reader, row, &words);
	if (status == STATUS_OK && words.count > 0 && !setting_take_panels(&words, &reading->values))
		return refuse_value(reader, row, "names a panel that does not exist, or one twice");
	return status;
}

static enum status read_value(struct config_reader *reader, const struct setting_row *row, struct reading *reading)
{
	enum status status = config_next(reader);
	if (status != STATUS_OK)
		return status;
	if (row->kind == SETTING_COMMAND)
		return read_command(reader, row, reading);
	if (row->kind == SETTING_WORDS)
		return read_panels(reader, row, reading);
	if (!config_is_word(reader))
		return refuse_value(reader, row, "is not a single value");
	if (config_is_nothing(reader))
		return refuse_value(reader, row, "has no value");
	/* In YAML quotes make a string: "5" is no number. */
	if (!config_is_plain(reader) && row->kind != SETTING_COLOR && row->kind != SETTING_NAME)
		return refuse_value(reader, row, "is a string in quotes");
	switch (setting_take(row, config_scalar(reader), &reading->values)) {
	case SETTING_WRONG_TYPE: return refuse_value(reader, row, "is of the wrong type");
	case SETTING_OUT_OF_RANGE: return refuse_value(reader, row, "is out of range");
	case SETTING_TAKEN: break;
	}
	return STATUS_OK;
}

static enum status read_key(struct config_reader *reader, const char *section, struct reading *reading)
{
	if (!config_is_word(reader))
		return config_refuse(reader, config_line(reader), "write one \"key: value\" a line",
			"a key in section \"%s\" is not a word", section);
	int row = setting_row_find(section, config_scalar(reader));
	if (row < 0)
		return refuse_unknown(reader, section);
	enum status status = config_note_line(reader, &reading->key_lines[row], "key");
	return status == STATUS_OK ? read_value(reader, &setting_rows[row], reading) : status;
}

/* A key of the section "levels" is the name of a rule, which only src/rules knows. */
static enum status read_level(struct config_reader *reader, struct reading *reading)
{
	char rule[SETTING_NAME_SIZE], word[CONFIG_WORD_SIZE];
	if (!config_is_word(reader) || strlen(config_scalar(reader)) >= sizeof rule)
		return config_refuse(reader, config_line(reader), "pmtop rules lists the rules",
			"a key in section \"levels\" is no rule's name");
	strcpy(rule, config_scalar(reader));
	for (unsigned i = 0; i < reading->values.levels.count; i++)
		if (strcmp(reading->values.levels.list[i].rule, rule) == 0)
			return config_refuse(reader, config_line(reader), "remove one of the two",
				"key \"%s\" is twice in \"levels\"", config_word(reader, word));
	enum status status = config_next(reader);
	if (status != STATUS_OK)
		return status;
	if (!config_is_word(reader) || !setting_take_level(rule, config_scalar(reader), &reading->values))
		return config_refuse(reader, config_line(reader), "write off, info, warning or critical",
			"\"%s\" in section \"levels\" is no level: \"%s\"", rule, config_word(reader, word));
	return STATUS_OK;
}

static enum status read_levels(struct config_reader *reader, struct reading *reading)
{
	reading->values.levels.count = 0;
	enum status status = config_note_line(reader, &reading->levels_line, "section");
	if (status != STATUS_OK || (status = config_next(reader)) != STATUS_OK || config_is_nothing(reader))
		return status;
	if (reader->event.type != YAML_MAPPING_START_EVENT)
		return config_refuse(reader, config_line(reader), "write its keys below it, indented",
			"section \"levels\" holds no \"key: value\" lines");
	while ((status = config_next(reader)) == STATUS_OK && reader->event.type != YAML_MAPPING_END_EVENT)
		if ((status = read_level(reader, reading)) != STATUS_OK)
			break;
	return status;
}

static enum status read_section(struct config_reader *reader, void *argument)
{
	struct reading *reading = argument;
	if (!config_is_word(reader))
		return config_refuse(
			reader, config_line(reader), "write \"section:\" and its keys below it", "a section's name is not a word");
	if (strcmp(config_scalar(reader), SETTING_LEVELS) == 0)
		return read_levels(reader, reading);
	int row = setting_row_find(config_scalar(reader), NULL);
	if (row < 0)
		return refuse_unknown(reader, NULL);
	const char *section = setting_rows[row].section;
	enum status status = config_note_line(reader, &reading->section_lines[row], "section");
	if (status != STATUS_OK || (status = config_next(reader)) != STATUS_OK)
		return status;
	if (config_is_nothing(reader))
		return STATUS_OK;
	if (reader->event.type != YAML_MAPPING_START_EVENT)
		return config_refuse(reader, config_line(reader), "write its keys below it, indented",
			"section \"%s\" holds no \"key: value\" lines", section);
	while ((status = config_next(reader)) == STATUS_OK && reader->event.type != YAML_MAPPING_END_EVENT)
		if ((status = read_key(reader, section, reading)) != STATUS_OK)
			break;
	return status;
}

enum status settings_parse(
	struct settings *settings, const char *name, const char *content, size_t length, struct reason *why_not)
{
	struct reading reading = { .values = *settings };
	struct config_reader reader = {
		.name = name,
		.content = content,
		.length = length,
		.why_not = why_not,
		.begin_what = "no section here",
		.begin_hint = "begin with a section, such as \"flags:\"; see pmtop.yaml(5)",
	};
	enum status status = config_read(&reader, read_section, &reading);
	if (status == STATUS_OK)
		*settings = reading.values;
	return status;
}
