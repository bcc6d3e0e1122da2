#include "src/settings/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/settings/settings_yaml.h"

enum { FILE_MOST = 1 << 20 };

void settings_default(struct settings *settings)
{
	*settings = (struct settings){ .color = COLOR_AUTO };
#define SETTING_DEFAULT(section, key, member, kind, value, least, most) settings->member = value;
	SETTINGS(SETTING_DEFAULT)
#undef SETTING_DEFAULT
}

enum status settings_path(char *path, unsigned size)
{
	static const struct { const char *variable, *below; } places[] = {
		{ "XDG_CONFIG_HOME", "pmtop/pmtop.yaml" },
		{ "HOME", ".config/pmtop/pmtop.yaml" },
	};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const char *root = getenv(places[i].variable);
		/* A relative one would mean the working directory, which may be anybody's. */
		if (!root || root[0] != '/')
			continue;
		if (strlen(root) + 1 + strlen(places[i].below) >= size)
			return STATUS_INVALID;
		snprintf(path, size, "%s/%s", root, places[i].below);
		return STATUS_OK;
	}
	return STATUS_NOT_FOUND;
}

static enum status refuse_open(int error, const char *name, struct reason *why_not)
{
	enum status status = status_of_errno(error);
	const char *remedy = status == STATUS_DENIED ? "make it readable (chmod u+r), or move it away" : "look at its path and its rights";
	return reason_set(why_not, status, remedy, "%s: %s", name, strerror(error));
}

/* Only a regular file of a sane size is read: anything else could block or never end. */
static enum status check_kind(int fd, const char *name, struct reason *why_not)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return refuse_open(errno, name, why_not);
	if (S_ISDIR(st.st_mode))
		return reason_set(why_not, STATUS_INVALID, "name the file in it, or remove the directory", "%s: this is a directory, not a file", name);
	if (!S_ISREG(st.st_mode))
		return reason_set(why_not, STATUS_INVALID, "put an ordinary file there", "%s: not a regular file", name);
	if (st.st_size > FILE_MOST)
		return reason_set(why_not, STATUS_INVALID, "start again from the file that comes with pmtop (config/pmtop.yaml)",
		                  "%s: larger than 1 MiB (%lld bytes)", name, (long long)st.st_size);
	return STATUS_OK;
}

enum status settings_load(struct settings *settings, const char *path, struct reason *why_not)
{
	char name[SETTINGS_NAME_SIZE];
	settings_show_path(name, path);

	/* Without O_NONBLOCK a FIFO would hold us here until somebody writes to it. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return refuse_open(errno, name, why_not);

	char *content = NULL;
	size_t length = 0;
	enum status status = check_kind(fd, name, why_not);
	if (status != STATUS_OK)
		goto out;
	content = malloc(FILE_MOST + 1);
	if (!content) {
		status = reason_set(why_not, STATUS_NO_MEMORY, NULL, "%s: out of memory", name);
		goto out;
	}
	status = file_reread(fd, content, FILE_MOST + 1, &length);
	if (status != STATUS_OK)
		status = reason_set(why_not, status, "read it with cat to see why", "%s: could not be read", name);
	else
		status = settings_parse(settings, name, content, length, why_not);
out:
	free(content);
	close(fd);
	return status;
}
