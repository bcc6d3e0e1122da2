/* config_reader.h: a person's YAML file, event by event, with each fault as "FILE:LINE: what" and its next step. For
 * settings and rules.
 *
 * One document. No anchors, aliases or tags: what is not understood is refused at its line, so nothing in a file can
 * grow beyond its own size. */
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
	yaml_event_t event; /* the one being looked at */
	const char *name, *content;
	size_t length;
	const char *begin_hint; /* what to write where the file does not begin with a mapping: its remedy */
	const char *begin_what; /* "no section here" */
	struct reason *why_not;
};

/* Reads the whole text: `read_entry` is called at each key of the outermost mapping, and leaves the reader at the last
 * event of its value. */
enum status config_read(struct config_reader *reader,
	enum status (*read_entry)(struct config_reader *reader, void *argument), void *argument);

enum status config_next(struct config_reader *reader);
size_t config_line(const struct config_reader *reader);        /* of the event being looked at */
const char *config_scalar(const struct config_reader *reader); /* only where config_is_word() */
/* The file's own words are foreign text: short and harmless in a message. Empty where the event is no scalar. */
const char *config_word(const struct config_reader *reader, char out[CONFIG_WORD_SIZE]);
bool config_is_word(const struct config_reader *reader);    /* a scalar without NUL */
bool config_is_plain(const struct config_reader *reader);   /* … and without quotes */
bool config_is_nothing(const struct config_reader *reader); /* left out, ~ or null */
__attribute__((format(printf, 4, 5))) enum status config_refuse(
	struct config_reader *reader, size_t line, const char *remedy, const char *format, ...);
/* Notes that a key was met; refused where it was met before. */
enum status config_note_line(struct config_reader *reader, size_t *line, const char *what);

/* `path` as it stands in messages: made harmless, a long one without its beginning ("…/pmtop/pmtop.yaml"). */
void config_show_path(char out[CONFIG_NAME_SIZE], const char *path);
/* A regular file of at most CONFIG_FILE_MAX bytes, read whole; never blocks. *content is the caller's to free. `name`
 * as config_show_path gave it. */
enum status config_load(const char *path, const char *name, char **content, size_t *length, struct reason *why_not);

/* -- words -- */

/* A decimal number, with a point in every locale; strtod's hexadecimal, "inf" and "nan" are none. */
bool config_number(const char *text, double *value);
bool config_whole_number(const char *text, double *value);
/* "true" or "false". */
bool config_truth(const char *text, bool *value);
/* Names one after the other from *at = 0 on; NULL at the end. */
typedef const char *config_names(const void *argument, size_t *at);
/* The nearest of the names; NULL where none is near. */
const char *config_closest(const char *word, config_names *next, const void *argument);
/* `did you mean "mad"? keys are: mad, ratio, …` */
void config_advise(const char *word, const char *before, config_names *next, const void *argument, struct buffer *out);

#endif
