#include "ui/themes/theme_book.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/settings/config_reader.h"
#include "src/settings/config_words.h"
#include "src/settings/settings.h"
#include "ui/themes/theme_builtin.h"
#include "ui/themes/theme_look.h"

/* Keys are the roles in their order, then what else a theme has. */
enum theme_key { THEME_KEY_ABOUT = ROLE_COUNT, THEME_KEY_LIKE, THEME_KEY_COLOR, THEME_KEYS };
static const char *const key_names[] = { "normal", "dim", "strong", "title", "accent", "border", "key", "good", "info",
	"warning", "critical", "flag", "plot", "earlier", "median", "band", "memory", "header", "tab", "tab_active",
	"selected", "phase_0", "phase_1", "phase_2", "phase_3", "phase_4", "phase_5", "phase_6", "phase_7", "about", "like",
	"color" };
_Static_assert(sizeof key_names / sizeof *key_names == THEME_KEYS, "a name for each role and key");

static const char *next_key(const void *argument, size_t *at)
{
	(void)argument;
	return *at < THEME_KEYS ? key_names[(*at)++] : NULL;
}

static int find_key(const char *word)
{
	for (int i = 0; i < THEME_KEYS; i++)
		if (strcmp(key_names[i], word) == 0)
			return i;
	return -1;
}

static enum status refuse_key(struct config_reader *reader)
{
	char word[CONFIG_WORD_SIZE];
	struct buffer advice = BUFFER_INIT;
	config_word(reader, word);
	config_advise(word, "roles are: ", next_key, NULL, &advice);
	enum status status = config_refuse(
		reader, config_line(reader), advice.data ? advice.data : "see pmtop.yaml(5)", "unknown role \"%s\"", word);
	buffer_release(&advice);
	return status;
}

/* -- reading -- */

struct reading {
	struct theme_book *book;
	size_t theme_lines[THEMES_MAX];
};

static enum status take_like(struct config_reader *reader, const struct theme_book *book, struct theme *theme)
{
	int found = theme_book_find(book, config_scalar(reader));
	if (found < 0)
		return config_refuse(reader, config_line(reader), "name a theme that comes before", "like: no such theme");
	memcpy(theme->roles, book->list[found].roles, sizeof theme->roles);
	theme->is_mono = book->list[found].is_mono;
	return STATUS_OK;
}

static enum status take_value(struct config_reader *reader, const struct theme_book *book, int key, struct theme *theme)
{
	bool has_colors;
	char word[CONFIG_WORD_SIZE];
	if (!config_is_word(reader))
		return config_refuse(reader, config_line(reader), THEME_LOOK_REMEDY, "not a single value");
	switch (key) {
	case THEME_KEY_ABOUT: snprintf(theme->about, sizeof theme->about, "%s", config_scalar(reader)); return STATUS_OK;
	case THEME_KEY_LIKE: return take_like(reader, book, theme);
	case THEME_KEY_COLOR:
		if (!config_truth(config_scalar(reader), &has_colors))
			return config_refuse(reader, config_line(reader), "write true or false", "color: not true or false");
		theme->is_mono = !has_colors;
		return STATUS_OK;
	default: break;
	}
	if (theme_look_read(config_scalar(reader), &theme->roles[key]))
		return STATUS_OK;
	return config_refuse(
		reader, config_line(reader), THEME_LOOK_REMEDY, "\"%s\" is no look", config_word(reader, word));
}

static enum status read_theme(struct config_reader *reader, const struct theme_book *book, struct theme *theme)
{
	size_t lines[THEME_KEYS] = { 0 };
	enum status status = config_next(reader);
	if (status == STATUS_OK && reader->event.type != YAML_MAPPING_START_EVENT)
		return config_refuse(
			reader, config_line(reader), "write its roles below it, indented", "a theme without roles");
	while (status == STATUS_OK && (status = config_next(reader)) == STATUS_OK &&
		reader->event.type != YAML_MAPPING_END_EVENT) {
		int key = config_is_word(reader) ? find_key(config_scalar(reader)) : -1;
		if (key < 0)
			return refuse_key(reader);
		status = config_note_line(reader, &lines[key], "role");
		if (status == STATUS_OK && (status = config_next(reader)) == STATUS_OK)
			status = take_value(reader, book, key, theme);
	}
	return status;
}

static enum status read_entry(struct config_reader *reader, void *argument)
{
	struct reading *reading = argument;
	struct theme_book *book = reading->book;
	size_t line = config_line(reader);
	if (!config_is_word(reader) || strlen(config_scalar(reader)) >= THEME_NAME_SIZE)
		return config_refuse(reader, line, "write \"NAME:\" and its roles below it", "the name of a theme is too long");
	int at = theme_book_find(book, config_scalar(reader));
	if (at < 0 && book->count == THEMES_MAX)
		return config_refuse(reader, line, "remove some", "more than %d themes", THEMES_MAX);
	if (at < 0) {
		at = (int)book->count++;
		if (at > 0) /* the very first is what the others begin from */
			book->list[at] = book->list[0];
		snprintf(book->list[at].name, THEME_NAME_SIZE, "%s", config_scalar(reader));
		book->list[at].about[0] = '\0';
	}
	enum status status = config_note_line(reader, &reading->theme_lines[at], "theme");
	return status == STATUS_OK ? read_theme(reader, book, &book->list[at]) : status;
}

enum status theme_book_parse(
	struct theme_book *book, const char *name, const char *text, size_t length, struct reason *why_not)
{
	struct theme_book read = *book;
	struct reading reading = { .book = &read };
	struct config_reader reader = {
		.name = name,
		.content = text,
		.length = length,
		.why_not = why_not,
		.begin_what = "no theme here",
		.begin_hint = "begin with the name of a theme, such as \"mine:\"; see pmtop.yaml(5)",
	};
	enum status status = config_read(&reader, read_entry, &reading);
	if (status == STATUS_OK)
		*book = read;
	return status;
}

void theme_book_init(struct theme_book *book)
{
	struct reason why_not;
	*book = (struct theme_book){ 0 };
	enum status status = theme_book_parse(book, "themes.yaml", theme_builtin, strlen(theme_builtin), &why_not);
	assert(status == STATUS_OK);
	(void)status;
}

enum status theme_book_load(struct theme_book *book, struct reason *why_not)
{
	char path[4096], name[CONFIG_NAME_SIZE], *text;
	size_t length;
	if (settings_path_beside("themes.yaml", path, sizeof path) != STATUS_OK)
		return STATUS_OK;
	config_show_path(name, path);
	enum status status = config_load(path, name, &text, &length, why_not);
	if (status == STATUS_NOT_FOUND)
		return STATUS_OK;
	if (status != STATUS_OK)
		return status;
	status = theme_book_parse(book, name, text, length, why_not);
	free(text);
	return status;
}

int theme_book_find(const struct theme_book *book, const char *name)
{
	for (size_t i = 0; i < book->count; i++)
		if (strcmp(book->list[i].name, name) == 0)
			return (int)i;
	return -1;
}

static const char *next_theme(const void *argument, size_t *at)
{
	const struct theme_book *book = argument;
	return *at < book->count ? book->list[(*at)++].name : NULL;
}

enum status theme_load(const char *name, struct theme *out, struct reason *why_not)
{
	struct theme_book book;
	theme_book_init(&book);
	*out = book.list[0];
	enum status status = theme_book_load(&book, why_not);
	int found = status == STATUS_OK ? theme_book_find(&book, name) : -1;
	if (found >= 0)
		*out = book.list[found];
	if (status != STATUS_OK || found >= 0)
		return status;
	struct buffer remedy = BUFFER_INIT;
	config_advise(name, "themes are: ", next_theme, &book, &remedy);
	status = reason_set(why_not, STATUS_INVALID, remedy.data, "no theme \"%s\"", name);
	buffer_release(&remedy);
	return status;
}
