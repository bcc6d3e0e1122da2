#include "src/settings/config_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/text.h"

void config_show_path(char out[CONFIG_NAME_SIZE], const char *path)
{
	const size_t max = CONFIG_NAME_SIZE - 8;
	size_t length = strlen(path);
	const char *from = length > max ? path + length - max : path;
	if (from > path) {
		const char *slash = strchr(from, '/');
		from = slash ? slash : from;
	}
	const char *mark = from > path ? "…" : "";
	snprintf(out, CONFIG_NAME_SIZE, "%s", mark);
	text_clean(out + strlen(mark), CONFIG_NAME_SIZE - strlen(mark), from, strlen(from));
}

/* -- the file -- */

static enum status refuse_open(int error, const char *name, struct reason *why_not)
{
	enum status status = status_of_errno(error);
	const char *remedy =
		status == STATUS_DENIED ? "make it readable (chmod u+r), or move it away" : "check its path and permissions";
	return reason_set(why_not, status, remedy, "%s: %s", name, strerror(error));
}

/* Only a regular file of limited size is read: another could block, or never end. */
static enum status check_kind(int fd, const char *name, struct reason *why_not)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return refuse_open(errno, name, why_not);
	if (S_ISDIR(st.st_mode))
		return reason_set(why_not, STATUS_INVALID, "name the file in it, or remove the directory",
			"%s: is a directory, not a file", name);
	if (!S_ISREG(st.st_mode))
		return reason_set(why_not, STATUS_INVALID, "replace it by a regular file", "%s: not a regular file", name);
	if (st.st_size > CONFIG_FILE_MAX)
		return reason_set(why_not, STATUS_INVALID, "start again from the file that comes with pmtop (folder config)",
			"%s: larger than 1 MiB (%lld bytes)", name, (long long)st.st_size);
	return STATUS_OK;
}

enum status config_load(const char *path, const char *name, char **content, size_t *length, struct reason *why_not)
{
	/* Without O_NONBLOCK, open() of a FIFO blocks until it has a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return refuse_open(errno, name, why_not);
	char *text = NULL;
	enum status status = check_kind(fd, name, why_not);
	if (status != STATUS_OK)
		goto out;
	text = malloc(CONFIG_FILE_MAX + 1);
	if (!text) {
		status = reason_set(why_not, STATUS_NO_MEMORY, NULL, "%s: out of memory", name);
		goto out;
	}
	status = file_reread(fd, text, CONFIG_FILE_MAX + 1, length);
	if (status != STATUS_OK) {
		status = reason_set(why_not, status, "read it with cat to see why", "%s: could not be read", name);
		goto out;
	}
	*content = text;
	text = NULL;
out:
	free(text);
	close(fd);
	return status;
}

/* -- refusals -- */

enum status config_refuse(struct config_reader *reader, size_t line, const char *remedy, const char *format, ...)
{
	char what[160];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return reason_set(reader->why_not, STATUS_INVALID, remedy, "%s:%zu: %s", reader->name, line, what);
}

size_t config_line(const struct config_reader *reader) { return reader->event.start_mark.line + 1; }

const char *config_scalar(const struct config_reader *reader) { return (const char *)reader->event.data.scalar.value; }

const char *config_word(const struct config_reader *reader, char out[CONFIG_WORD_SIZE])
{
	const yaml_event_t *event = &reader->event;
	out[0] = '\0';
	if (event->type == YAML_SCALAR_EVENT)
		text_clean(out, CONFIG_WORD_SIZE, (const char *)event->data.scalar.value, event->data.scalar.length);
	return out;
}

static size_t line_of_offset(const struct config_reader *reader, size_t offset)
{
	size_t line = 1;
	for (size_t i = 0; i < offset && i < reader->length; i++)
		line += reader->content[i] == '\n';
	return line;
}

static enum status refuse_syntax(struct config_reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;
	switch (parser->error) {
	case YAML_MEMORY_ERROR:
		return reason_set(reader->why_not, STATUS_NO_MEMORY, NULL, "%s: out of memory", reader->name);
	case YAML_READER_ERROR:
		return config_refuse(reader, line_of_offset(reader, parser->problem_offset), "save the file as UTF-8 text",
			"not UTF-8 text: %s", parser->problem ? parser->problem : "unreadable");
	default:
		return config_refuse(reader, parser->problem_mark.line + 1,
			"indent with spaces, one \"key: value\" a line; see pmtop.yaml(5)", "not YAML: %s",
			parser->problem ? parser->problem : "unreadable");
	}
}

enum status config_note_line(struct config_reader *reader, size_t *line, const char *what)
{
	char word[CONFIG_WORD_SIZE];
	if (*line)
		return config_refuse(reader, config_line(reader), "remove one of the two", "%s \"%s\" is already in line %zu",
			what, config_word(reader, word), *line);
	*line = config_line(reader);
	return STATUS_OK;
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

enum status config_next(struct config_reader *reader)
{
	yaml_event_delete(&reader->event);
	if (!yaml_parser_parse(&reader->parser, &reader->event))
		return refuse_syntax(reader);
	if (event_anchor(&reader->event))
		return config_refuse(
			reader, config_line(reader), "write the value out", "anchors and aliases (&, *) are not supported");
	if (event_tag(&reader->event))
		return config_refuse(reader, config_line(reader), "write the value alone", "tags (!) are not supported");
	return STATUS_OK;
}

/* A scalar with a NUL is no word: as a C string it would be cut there. */
bool config_is_word(const struct config_reader *reader)
{
	const yaml_event_t *event = &reader->event;
	return event->type == YAML_SCALAR_EVENT &&
		strlen((const char *)event->data.scalar.value) == event->data.scalar.length;
}

bool config_is_plain(const struct config_reader *reader)
{
	return config_is_word(reader) && reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

bool config_is_nothing(const struct config_reader *reader)
{
	if (!config_is_plain(reader))
		return false;
	const char *text = config_scalar(reader);
	return strcmp(text, "") == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0;
}

static enum status read_document(struct config_reader *reader,
	enum status (*read_entry)(struct config_reader *reader, void *argument), void *argument)
{
	enum status status = config_next(reader);
	if (status != STATUS_OK || config_is_nothing(reader))
		return status;
	if (reader->event.type != YAML_MAPPING_START_EVENT)
		return config_refuse(reader, config_line(reader), reader->begin_hint, "%s", reader->begin_what);
	while ((status = config_next(reader)) == STATUS_OK && reader->event.type != YAML_MAPPING_END_EVENT)
		if ((status = read_entry(reader, argument)) != STATUS_OK)
			break;
	return status;
}

static enum status read_stream(struct config_reader *reader,
	enum status (*read_entry)(struct config_reader *reader, void *argument), void *argument)
{
	enum status status = config_next(reader);
	for (unsigned documents = 0; status == STATUS_OK; documents++) {
		status = config_next(reader);
		if (status != STATUS_OK || reader->event.type == YAML_STREAM_END_EVENT)
			break;
		if (documents > 0)
			return config_refuse(
				reader, config_line(reader), "remove what follows \"---\"", "a second document begins");
		status = read_document(reader, read_entry, argument);
		if (status == STATUS_OK)
			status = config_next(reader);
	}
	return status;
}

enum status config_read(struct config_reader *reader,
	enum status (*read_entry)(struct config_reader *reader, void *argument), void *argument)
{
	if (!yaml_parser_initialize(&reader->parser))
		return reason_set(reader->why_not, STATUS_NO_MEMORY, NULL, "%s: out of memory", reader->name);
	yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader->parser, (const unsigned char *)reader->content, reader->length);
	enum status status = read_stream(reader, read_entry, argument);
	yaml_event_delete(&reader->event);
	yaml_parser_delete(&reader->parser);
	return status;
}
