#include "src/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/settings/config_reader.h"
#include "src/settings/settings_yaml.h"

void settings_default(struct settings *settings)
{
	*settings = (struct settings){ .color = COLOR_AUTO, .theme = "default" };
	for (; settings->panels.count < SETTING_PANEL_COUNT; settings->panels.count++)
		settings->panels.list[settings->panels.count] = (enum setting_panel)settings->panels.count;
#define SETTING_DEFAULT(section, key, member, kind, value, min, max) settings->member = value;
	SETTINGS(SETTING_DEFAULT)
#undef SETTING_DEFAULT
}

enum status settings_path(char *path, unsigned size)
{
	static const struct {
		const char *variable, *below;
	} roots[] = {
		{ "XDG_CONFIG_HOME", "pmtop/pmtop.yaml" },
		{ "HOME", ".config/pmtop/pmtop.yaml" },
	};
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		const char *root = getenv(roots[i].variable);
		/* A relative path would depend on the working directory, which another user may control. */
		if (!root || root[0] != '/')
			continue;
		if (strlen(root) + 1 + strlen(roots[i].below) >= size)
			return STATUS_INVALID;
		snprintf(path, size, "%s/%s", root, roots[i].below);
		return STATUS_OK;
	}
	return STATUS_NOT_FOUND;
}

enum status settings_path_beside(const char *name, char *path, unsigned size)
{
	enum status status = settings_path(path, size);
	char *slash = status == STATUS_OK ? strrchr(path, '/') : NULL;
	if (!slash)
		return status;
	size_t room = size - (size_t)(slash + 1 - path);
	if (strlen(name) >= room)
		return STATUS_INVALID;
	snprintf(slash + 1, room, "%s", name);
	return STATUS_OK;
}

enum status settings_load(struct settings *settings, const char *path, struct reason *why_not)
{
	char name[CONFIG_NAME_SIZE], *content;
	size_t length;
	config_show_path(name, path);
	enum status status = config_load(path, name, &content, &length, why_not);
	if (status != STATUS_OK)
		return status;
	status = settings_parse(settings, name, content, length, why_not);
	free(content);
	return status;
}
