/* settings_save.h: changes single values in a pmtop.yaml and leaves the rest of its text, comments too, as it is. */
#ifndef PMTOP_SETTINGS_SETTINGS_SAVE_H
#define PMTOP_SETTINGS_SETTINGS_SAVE_H

#include <stddef.h>

#include "src/base/buffer.h"
#include "src/base/status.h"
#include "src/settings/settings.h"

enum { SETTING_VALUE_SIZE = 160, SETTING_CHANGES_MAX = SETTING_LEVELS_MAX + 8 };

/* `value` is YAML: a plain word, a number, or a list in brackets. */
struct setting_change {
	const char *section, *key;
	char value[SETTING_VALUE_SIZE];
};

/* What the set-up screen can change, where `now` differs from `before`; returns how many. Keys may point into `now`. */
size_t settings_changes(
	const struct settings *before, const struct settings *now, struct setting_change out[SETTING_CHANGES_MAX]);

/* Writes the changed text to *out. STATUS_INVALID: the text is no pmtop.yaml, or of a form in which pmtop cannot set
 * the value. */
enum status settings_edit(const char *name, const char *text, size_t length, const struct setting_change *changes,
	size_t count, struct buffer *out, struct reason *why_not);
/* Changes the file, which it replaces as a whole, or creates it with its folders. On an error the file is as before. */
enum status settings_save(const char *path, const struct setting_change *changes, size_t count, struct reason *why_not);

/* A name as YAML: in quotes unless it is a plain word. */
void settings_name_value(const char *name, char out[SETTING_VALUE_SIZE]);
/* "[steps, where]" */
void settings_panels_value(const struct setting_panels *panels, char out[SETTING_VALUE_SIZE]);

#endif
