/* settings_yaml.h: the text of a pmtop.yaml made settings. Private to src/settings; tests feed it from memory. */
#ifndef PMTOP_SETTINGS_SETTINGS_YAML_H
#define PMTOP_SETTINGS_SETTINGS_YAML_H

#include <stddef.h>

#include "src/base/status.h"
#include "src/settings/settings.h"

/* One document of sections of plain `key: value` lines. No anchors, aliases, tags or further nesting: what is not understood is refused
 * at its line, so nothing in a file can grow beyond its own size. */
enum status settings_parse(struct settings *settings, const char *name, const char *content, size_t length, struct reason *why_not);

/* `path` as it stands in messages: made harmless, a long one without its beginning ("…/pmtop/pmtop.yaml"). */
enum { SETTINGS_NAME_SIZE = 96 };
void settings_show_path(char out[SETTINGS_NAME_SIZE], const char *path);

#endif
