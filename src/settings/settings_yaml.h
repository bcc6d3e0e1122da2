/* settings_yaml.h: parses the text of a pmtop.yaml. Private to src/settings; tests call it with text from memory. */
#ifndef PMTOP_SETTINGS_SETTINGS_YAML_H
#define PMTOP_SETTINGS_SETTINGS_YAML_H

#include <stddef.h>

#include "src/base/status.h"
#include "src/settings/settings.h"

/* Parses one document of sections with `key: value` lines; see config_reader.h. Only a command is a list. */
enum status settings_parse(
	struct settings *settings, const char *name, const char *content, size_t length, struct reason *why_not);

#endif
