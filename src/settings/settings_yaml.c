#include "src/settings/settings_yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "src/base/text.h"
#include "src/settings/setting_rows.h"

enum { WORD_SIZE = 40 };

struct reading {
	yaml_parser_t parser;
	yaml_event_t event;              /* the one being looked at */
	const char *name, *content;
	size_t length;
	struct settings values;
	size_t section_lines[SETTING_ROWS], key_lines[SETTING_ROWS];      /* by row; 0 = not met yet */
	struct reason *why_not;
};

void settings_show_path(char out[SETTINGS_NAME_SIZE], const char *path)
{
	const size_t most = SETTINGS_NAME_SIZE - 8;
	size_t length = strlen(path);
	const char *from = length > most ? path + length - most : path;
	if (from > path) {
		const char *slash = strchr(from, '/');
		from = slash ? slash : from;
	}
	const char *mark = from > path ? "…" : "";
	snprintf(out, SETTINGS_NAME_SIZE, "%s", mark);
	text_clean(out + strlen(mark), SETTINGS_NAME_SIZE - strlen(mark), from, strlen(from));
}

/* -- refusals -- */

__attribute__((format(printf, 4, 5)))
static enum status refuse(struct reading *reading, size_t line, const char *remedy, const char *format, ...)
{
	char what[160];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return reason_set(reading->why_not, STATUS_INVALID, remedy, "%s:%zu: %s", reading->name, line, what);
}

static size_t event_line(const struct reading *reading)
{
	return reading->event.start_mark.line + 1;
}

/* The file's own words are foreign text: short and harmless in a message. */
static const char *event_word(const struct reading *reading, char out[WORD_SIZE])
{
	const yaml_event_t *event = &reading->event;
	text_clean(out, WORD_SIZE, (const char *)event->data.scalar.value, event->data.scalar.length);
	return out;
}

static size_t line_of_offset(const struct reading *reading, size_t offset)
{
	size_t line = 1;
	for (size_t i = 0; i < offset && i < reading->length; i++)
		line += reading->content[i] == '\n';
	return line;
}

static enum status refuse_syntax(struct reading *reading)
{
	const yaml_parser_t *parser = &reading->parser;
	switch (parser->error) {
	case YAML_MEMORY_ERROR:
		return reason_set(reading->why_not, STATUS_NO_MEMORY, NULL, "%s: out of memory", reading->name);
	case YAML_READER_ERROR:
		return refuse(reading, line_of_offset(reading, parser->problem_offset), "save the file as UTF-8 text", "not UTF-8 text: %s",
		              parser->problem ? parser->problem : "unreadable");
	default:
		return refuse(reading, parser->problem_mark.line + 1, "indent with spaces, one \"key: value\" a line; see pmtop.yaml(5)",
		              "not YAML: %s", parser->problem ? parser->problem : "unreadable");
	}
}

/* -- events -- */

static const yaml_char_t *event_anchor(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_ALIAS_EVENT: return event->data.alias.anchor;
	case YAML_SCALAR_EVENT: return event->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT: return event->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT: return event->data.mapping_start.anchor;
	default: return NULL;
	}
}

static const yaml_char_t *event_tag(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT: return event->data.scalar.tag;
	case YAML_SEQUENCE_START_EVENT: return event->data.sequence_start.tag;
	case YAML_MAPPING_START_EVENT: return event->data.mapping_start.tag;
	default: return NULL;
	}
}

static enum status next_event(struct reading *reading)
{
	yaml_event_delete(&reading->event);
	if (!yaml_parser_parse(&reading->parser, &reading->event))
		return refuse_syntax(reading);
	if (event_anchor(&reading->event))
		return refuse(reading, event_line(reading), "write the value out", "anchors and aliases (&, *) have no use here");
	if (event_tag(&reading->event))
		return refuse(reading, event_line(reading), "write the value alone", "tags (!) have no use here");
	return STATUS_OK;
}

static bool is_nothing(const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	return event->type == YAML_SCALAR_EVENT && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
		&& (strcmp(text, "") == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

/* A value that cannot be a text (it holds NUL) is no word of ours either. */
static bool is_word(const yaml_event_t *event)
{
	return event->type == YAML_SCALAR_EVENT && strlen((const char *)event->data.scalar.value) == event->data.scalar.length;
}

/* -- the file -- */

static enum status refuse_unknown(struct reading *reading, const char *section)
{
	char word[WORD_SIZE];
	struct buffer advice = BUFFER_INIT;
	event_word(reading, word);
	setting_advise(section, word, &advice);
	const char *remedy = advice.data ? advice.data : "see pmtop.yaml(5)";
	enum status status = section
		? refuse(reading, event_line(reading), remedy, "unknown key \"%s\" in section \"%s\"", word, section)
		: refuse(reading, event_line(reading), remedy, "unknown section \"%s\"", word);
	buffer_release(&advice);
	return status;
}

static enum status note_line(struct reading *reading, size_t *line, const char *what)
{
	char word[WORD_SIZE];
	if (*line)
		return refuse(reading, event_line(reading), "keep one of the two", "%s \"%s\" stands in line %zu already", what,
		              event_word(reading, word), *line);
	*line = event_line(reading);
	return STATUS_OK;
}

static enum status refuse_value(struct reading *reading, const struct setting_row *row, const char *problem)
{
	char word[WORD_SIZE] = "";
	struct buffer remedy = BUFFER_INIT;
	if (reading->event.type == YAML_SCALAR_EVENT)
		event_word(reading, word);
	buffer_puts(&remedy, "write ");
	setting_wanted(row, &remedy);
	enum status status = refuse(reading, event_line(reading), remedy.data ? remedy.data : "see pmtop.yaml(5)", "\"%s\" in section \"%s\" %s%s%s%s",
	                            row->key, row->section, problem, *word ? ": \"" : "", word, *word ? "\"" : "");
	buffer_release(&remedy);
	return status;
}

static enum status read_value(struct reading *reading, const struct setting_row *row)
{
	enum status status = next_event(reading);
	if (status != STATUS_OK)
		return status;
	const yaml_event_t *event = &reading->event;
	if (!is_word(event))
		return refuse_value(reading, row, "is not one value");
	if (is_nothing(event))
		return refuse_value(reading, row, "has no value");
	/* Quotes make a text, as everywhere in YAML. */
	if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE && row->kind != SETTING_COLOR)
		return refuse_value(reading, row, "is a text in quotes");
	switch (setting_take(row, (const char *)event->data.scalar.value, &reading->values)) {
	case SETTING_WRONG_TYPE: return refuse_value(reading, row, "is of the wrong type");
	case SETTING_OUT_OF_RANGE: return refuse_value(reading, row, "is out of range");
	case SETTING_TAKEN: break;
	}
	return STATUS_OK;
}

static enum status read_key(struct reading *reading, const char *section)
{
	if (!is_word(&reading->event))
		return refuse(reading, event_line(reading), "write one \"key: value\" a line", "a key in section \"%s\" is not a word", section);
	int row = setting_row_find(section, (const char *)reading->event.data.scalar.value);
	if (row < 0)
		return refuse_unknown(reading, section);
	enum status status = note_line(reading, &reading->key_lines[row], "key");
	return status == STATUS_OK ? read_value(reading, &setting_rows[row]) : status;
}

static enum status read_section(struct reading *reading)
{
	if (!is_word(&reading->event))
		return refuse(reading, event_line(reading), "write \"section:\" and its keys below it", "a section's name is not a word");
	int row = setting_row_find((const char *)reading->event.data.scalar.value, NULL);
	if (row < 0)
		return refuse_unknown(reading, NULL);
	const char *section = setting_rows[row].section;
	enum status status = note_line(reading, &reading->section_lines[row], "section");
	if (status != STATUS_OK || (status = next_event(reading)) != STATUS_OK)
		return status;
	if (is_nothing(&reading->event))
		return STATUS_OK;
	if (reading->event.type != YAML_MAPPING_START_EVENT)
		return refuse(reading, event_line(reading), "write its keys below it, indented", "section \"%s\" holds no \"key: value\" lines", section);
	while ((status = next_event(reading)) == STATUS_OK && reading->event.type != YAML_MAPPING_END_EVENT)
		if ((status = read_key(reading, section)) != STATUS_OK)
			break;
	return status;
}

static enum status read_document(struct reading *reading)
{
	enum status status = next_event(reading);
	if (status != STATUS_OK || is_nothing(&reading->event))
		return status;
	if (reading->event.type != YAML_MAPPING_START_EVENT)
		return refuse(reading, event_line(reading), "begin with a section, such as \"flags:\"; see pmtop.yaml(5)", "no section here");
	while ((status = next_event(reading)) == STATUS_OK && reading->event.type != YAML_MAPPING_END_EVENT)
		if ((status = read_section(reading)) != STATUS_OK)
			break;
	return status;
}

static enum status read_stream(struct reading *reading)
{
	enum status status = next_event(reading);
	for (unsigned documents = 0; status == STATUS_OK; documents++) {
		status = next_event(reading);
		if (status != STATUS_OK || reading->event.type == YAML_STREAM_END_EVENT)
			break;
		if (documents > 0)
			return refuse(reading, event_line(reading), "remove what follows \"---\"", "a second document begins");
		status = read_document(reading);
		if (status == STATUS_OK)
			status = next_event(reading);
	}
	return status;
}

enum status settings_parse(struct settings *settings, const char *name, const char *content, size_t length, struct reason *why_not)
{
	struct reading reading = { .name = name, .content = content, .length = length, .values = *settings, .why_not = why_not };
	if (!yaml_parser_initialize(&reading.parser))
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "%s: out of memory", name);
	yaml_parser_set_encoding(&reading.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reading.parser, (const unsigned char *)content, length);
	enum status status = read_stream(&reading);
	if (status == STATUS_OK)
		*settings = reading.values;
	yaml_event_delete(&reading.event);
	yaml_parser_delete(&reading.parser);
	return status;
}
