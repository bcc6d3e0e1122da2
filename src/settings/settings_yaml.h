/* settings_yaml.h: the text of a pmtop.yaml made settings. Private to src/settings; tests feed it from memory. */
#ifndef PMTOP_SETTINGS_SETTINGS_YAML_H
#define PMTOP_SETTINGS_SETTINGS_YAML_H

#include <stddef.h>

#include "src/base/status.h"
#include "src/settings/settings.h"

/* One document of sections of `key: value` lines; see config_reader.h. A command is a list of words; nothing nests
 * further. */
enum status settings_parse(
	struct settings *settings, const char *name, const char *content, size_t length, struct reason *why_not);

#endif
