/* theme_book.h: all themes: the built-in ones (config/themes.yaml, embedded in the program), then the user's file.
 *
 * An entry with the name of an existing theme changes only the roles that it names. Format: config/themes.yaml. */
#ifndef PMTOP_UI_THEMES_THEME_BOOK_H
#define PMTOP_UI_THEMES_THEME_BOOK_H

#include <stddef.h>

#include "src/base/status.h"
#include "ui/core/theme.h"

enum { THEMES_MAX = 24 };

struct theme_book {
	size_t count;
	struct theme list[THEMES_MAX];
};
/* The built-in themes; the first is "default". */
void theme_book_init(struct theme_book *book);
/* Adds the themes of a text, or none on an error: STATUS_INVALID, with "FILE:LINE: what" and the remedy in why_not. */
enum status theme_book_parse(
	struct theme_book *book, const char *name, const char *text, size_t length, struct reason *why_not);
/* Adds those of the user's file, themes.yaml beside pmtop.yaml. A missing file is no error. */
enum status theme_book_load(struct theme_book *book, struct reason *why_not);
/* The index, or −1. */
int theme_book_find(const struct theme_book *book, const char *name);

/* Finds one theme by name, in the built-in ones and the user's. *out is "default" unless STATUS_OK is returned;
 * STATUS_INVALID: no such theme, or an error in the user's file. */
enum status theme_load(const char *name, struct theme *out, struct reason *why_not);

#endif
