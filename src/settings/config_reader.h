/* config_reader.h: reads a YAML file of settings or rules event by event, and reports each fault as "FILE:LINE: what"
 * with its remedy.
 *
 * The file has one document. Anchors, aliases and tags are refused, so that a file cannot expand beyond its own size.
 */
#ifndef PMTOP_SETTINGS_CONFIG_READER_H
#define PMTOP_SETTINGS_CONFIG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "src/base/buffer.h"
#include "src/base/status.h"

enum { CONFIG_WORD_SIZE = 40, CONFIG_NAME_SIZE = 96, CONFIG_FILE_MAX = 1 << 20 };

struct config_reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	const char *name, *content;
	size_t length;
	const char *begin_hint; /* the remedy if the file does not begin with a mapping */
	const char *begin_what; /* the fault then: "no section here" */
	struct reason *why_not;
};

/* Reads the whole text: `read_entry` is called at each key of the outermost mapping, and leaves the reader at the last
 * event of its value. */
enum status config_read(struct config_reader *reader,
	enum status (*read_entry)(struct config_reader *reader, void *argument), void *argument);

enum status config_next(struct config_reader *reader);
size_t config_line(const struct config_reader *reader);        /* of the current event */
const char *config_scalar(const struct config_reader *reader); /* valid if config_is_word() */
/* The current scalar for a message: cut, without control characters. Empty if the event is no scalar. */
const char *config_word(const struct config_reader *reader, char out[CONFIG_WORD_SIZE]);
bool config_is_word(const struct config_reader *reader);    /* a scalar without NUL */
bool config_is_plain(const struct config_reader *reader);   /* … and without quotes */
bool config_is_nothing(const struct config_reader *reader); /* left out, ~ or null */
__attribute__((format(printf, 4, 5))) enum status config_refuse(
	struct config_reader *reader, size_t line, const char *remedy, const char *format, ...);
/* Notes the line of a key or section; refuses one that occurs twice. */
enum status config_note_line(struct config_reader *reader, size_t *line, const char *what);

/* `path` for messages: without control characters; a long one without its beginning ("…/pmtop/pmtop.yaml"). */
void config_show_path(char out[CONFIG_NAME_SIZE], const char *path);
/* Reads a regular file of at most CONFIG_FILE_MAX bytes; never blocks. The caller frees *content. `name` comes from
 * config_show_path. */
enum status config_load(const char *path, const char *name, char **content, size_t *length, struct reason *why_not);

/* Iterates over the allowed names, from *at = 0 on; returns NULL at the end. */
typedef const char *config_names(const void *argument, size_t *at);

#endif
