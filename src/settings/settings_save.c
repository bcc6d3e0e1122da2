#include "src/settings/settings_save.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/files/file.h"
#include "src/base/files/new_file.h"
#include "src/settings/config_reader.h"
#include "src/settings/setting_words.h"
#include "src/settings/settings_place.h"
#include "src/settings/settings_yaml.h"

/* -- the text -- */

static bool ends_a_line(const struct buffer *out)
{
	return out->length == 0 || out->data[out->length - 1] == '\n' || out->data[out->length - 1] == '\r';
}

static void write_change(const struct setting_change *change, const struct place *place, struct buffer *out)
{
	const char *comma = place->is_alone ? "" : ", ";
	switch (place->kind) {
	case PLACE_VALUE:
		buffer_printf(out, "%s%s", out->length > 0 && out->data[out->length - 1] == ':' ? " " : "", change->value);
		break;
	case PLACE_LINE: buffer_printf(out, "\n%*s%s: %s", (int)place->indent, "", change->key, change->value); break;
	case PLACE_FLOW: buffer_printf(out, "%s: %s%s", change->key, change->value, comma); break;
	case PLACE_SECTION:
		buffer_printf(
			out, "%s%s:\n  %s: %s\n", ends_a_line(out) ? "" : "\n", change->section, change->key, change->value);
		break;
	case PLACE_SECTION_FLOW:
		buffer_printf(out, "%s: {%s: %s}%s", change->section, change->key, change->value, comma);
		break;
	case PLACE_SECTION_VALUE: buffer_printf(out, "{%s: %s}", change->key, change->value); break;
	}
}

static bool edit_one(const char *text, size_t length, const struct setting_change *change, struct buffer *out)
{
	struct place place;
	if (!place_find(text, length, change->section, change->key, &place))
		return false;
	size_t end = place.end > place.begin ? place.end : place.begin;
	buffer_add(out, text, place.begin);
	write_change(change, &place, out);
	buffer_add(out, text + end, length - end);
	return !out->failed;
}

/* Whether the text has the value where the change put it: an independent search must find exactly it. */
static bool has_value(const char *text, size_t length, const struct setting_change *change)
{
	struct place place;
	size_t size = strlen(change->value);
	return place_find(text, length, change->section, change->key, &place) && place.kind == PLACE_VALUE &&
		place.end - place.begin == size && memcmp(text + place.begin, change->value, size) == 0;
}

enum status settings_edit(const char *name, const char *text, size_t length, const struct setting_change *changes,
	size_t count, struct buffer *out, struct reason *why_not)
{
	struct settings settings;
	struct buffer now = BUFFER_INIT;
	settings_default(&settings);
	enum status status = settings_parse(&settings, name, text, length, why_not);
	bool can_edit = true;
	buffer_add(&now, text, length);
	for (size_t i = 0; status == STATUS_OK && can_edit && i < count; i++) {
		struct buffer changed = BUFFER_INIT;
		can_edit = edit_one(now.data ? now.data : "", now.length, &changes[i], &changed) &&
			has_value(changed.data, changed.length, &changes[i]);
		buffer_release(&now);
		now = changed;
	}
	if (status == STATUS_OK && can_edit)
		status = settings_parse(&settings, name, now.data ? now.data : "", now.length, why_not);
	else if (status == STATUS_OK)
		status = reason_set(why_not, STATUS_INVALID, "write one \"key: value\" a line in it, or move it away",
			"%s: of a form that pmtop cannot change", name);
	if (status == STATUS_OK)
		buffer_add(out, now.data, now.length);
	buffer_release(&now);
	return status;
}

/* -- the file -- */

/* The folders of a path that do not exist yet. */
static void make_folders(const char *path)
{
	char folder[NEW_FILE_PATH_SIZE];
	snprintf(folder, sizeof folder, "%s", path);
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(folder, 0700); /* what goes wrong here, the file's own error says */
		*slash = '/';
	}
}

enum status settings_save(const char *path, const struct setting_change *changes, size_t count, struct reason *why_not)
{
	static const char beginning[] = "# pmtop.yaml: settings of pmtop; pmtop.yaml(5) documents them.\n";
	char name[CONFIG_NAME_SIZE], *text = NULL;
	size_t length = 0;
	struct buffer out = BUFFER_INIT;
	config_show_path(name, path);
	enum status status = config_load(path, name, &text, &length, why_not);
	if (status != STATUS_OK && status != STATUS_NOT_FOUND)
		return status;
	if (status == STATUS_NOT_FOUND)
		make_folders(path);
	status =
		settings_edit(name, text ? text : beginning, text ? length : strlen(beginning), changes, count, &out, why_not);
	if (status == STATUS_OK) {
		int error = new_file_write(path, NEW_FILE_PUBLIC, out.data, out.length);
		if (error)
			status = reason_set(
				why_not, status_of_errno(error), "make its folder writable", "%s: %s", name, strerror(error));
	}
	free(text);
	buffer_release(&out);
	return status;
}

/* -- values -- */

void settings_panels_value(const struct setting_panels *panels, char out[SETTING_VALUE_SIZE])
{
	size_t used = (size_t)snprintf(out, SETTING_VALUE_SIZE, "[");
	for (unsigned i = 0; i < panels->count; i++)
		used += (size_t)snprintf(
			out + used, SETTING_VALUE_SIZE - used, "%s%s", i ? ", " : "", setting_panel_words[panels->list[i]]);
	snprintf(out + used, SETTING_VALUE_SIZE - used, "]");
}

void settings_name_value(const char *name, char out[SETTING_VALUE_SIZE])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	size_t used = 0;
	if (strspn(name, plain) > 0 &&
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-0123456789") == strlen(name)) {
		snprintf(out, SETTING_VALUE_SIZE, "%s", name);
		return;
	}
	out[used++] = '"';
	for (; *name && used + 3 < SETTING_VALUE_SIZE; name++) {
		if (*name == '"' || *name == '\\')
			out[used++] = '\\';
		out[used++] = *name;
	}
	out[used++] = '"';
	out[used] = '\0';
}

/* -- what has changed -- */

__attribute__((format(printf, 4, 5))) static size_t add_change(
	struct setting_change *change, const char *section, const char *key, const char *format, ...)
{
	va_list arguments;
	change->section = section;
	change->key = key;
	va_start(arguments, format);
	vsnprintf(change->value, sizeof change->value, format, arguments);
	va_end(arguments);
	return 1;
}

static bool is_same_panels(const struct setting_panels *a, const struct setting_panels *b)
{
	return a->count == b->count && memcmp(a->list, b->list, a->count * sizeof *a->list) == 0;
}

static bool has_level(const struct setting_levels *levels, const char *rule, enum setting_level level)
{
	for (unsigned i = 0; i < levels->count; i++)
		if (strcmp(levels->list[i].rule, rule) == 0)
			return levels->list[i].level == level;
	return false;
}

size_t settings_changes(
	const struct settings *before, const struct settings *now, struct setting_change out[SETTING_CHANGES_MAX])
{
	char value[SETTING_VALUE_SIZE];
	size_t count = 0;
	if (now->refresh_s < before->refresh_s || now->refresh_s > before->refresh_s)
		count += add_change(&out[count], "screen", "refresh_seconds", "%.10g", now->refresh_s);
	settings_name_value(now->theme, value);
	if (strcmp(now->theme, before->theme) != 0)
		count += add_change(&out[count], "screen", "theme", "%s", value);
	if (now->color != before->color)
		count += add_change(&out[count], "screen", "color", "%s", setting_color_words[now->color]);
	if (now->marks != before->marks)
		count += add_change(&out[count], "screen", "marks", "%s", setting_marks_words[now->marks]);
	if (now->ascii != before->ascii)
		count += add_change(&out[count], "screen", "ascii", "%s", now->ascii ? "true" : "false");
	settings_panels_value(&now->panels, value);
	if (!is_same_panels(&now->panels, &before->panels))
		count += add_change(&out[count], "screen", "panels", "%s", value);
	for (unsigned i = 0; i < now->levels.count; i++)
		if (!has_level(&before->levels, now->levels.list[i].rule, now->levels.list[i].level))
			count += add_change(
				&out[count], "levels", now->levels.list[i].rule, "%s", setting_level_words[now->levels.list[i].level]);
	return count;
}
