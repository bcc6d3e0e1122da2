/* pmtop config: shows which pmtop.yaml is in force and what it changes; --init writes one with all defaults and
 * comments. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/base/files/new_file.h"
#include "src/base/text.h"
#include "src/commands/commands.h"
#include "src/session/output.h"
#include "src/settings/settings_builtin.h"
#include "src/settings/settings_show.h"

/* Also where a relative path is given: only the user's own file is written, never one in the working directory. */
static enum status own_path(char *path, unsigned size, struct reason *why_not)
{
	enum status status = settings_path(path, size);
	if (status == STATUS_NOT_FOUND)
		return reason_set(why_not, STATUS_INVALID, "set one of them to an absolute path",
			"no folder for pmtop.yaml: neither XDG_CONFIG_HOME nor HOME names one");
	if (status != STATUS_OK)
		return reason_set(why_not, status, "set XDG_CONFIG_HOME", "the path of pmtop.yaml is too long");
	return STATUS_OK;
}

/* 0 or an errno. Private, as the base directory specification asks for folders of settings. */
static int make_folders(const char *path)
{
	char folder[NEW_FILE_PATH_SIZE];
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
		if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
			int error = errno;
			struct stat there;
			if (stat(folder, &there) != 0)
				return error;
		}
	}
	return 0;
}

static int write_all(int fd, const char *text)
{
	for (size_t left = strlen(text); left > 0;) {
		ssize_t written = write(fd, text, left);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? errno : EIO;
		text += written;
		left -= (size_t)written;
	}
	return 0;
}

static enum exit_code write_default(const char *path)
{
	struct reason reason = { 0 };
	char shown[NEW_FILE_PATH_SIZE];
	text_clean(shown, sizeof shown, path, strlen(path));
	int error = make_folders(path), fd = error ? -1 : new_file_create(path);
	if (!error && fd < 0)
		error = errno;
	if (fd >= 0) {
		error = write_all(fd, settings_builtin);
		if (close(fd) != 0 && !error)
			error = errno;
		if (error)
			unlink(path);
	}
	if (!error) {
		printf("%s written: all settings, with their defaults\n", shown);
		return EXIT_OK;
	}
	if (error == EEXIST)
		return command_fail(reason_set(&reason, STATUS_INVALID,
								"move it away first; pmtop config shows what it changes", "%.180s exists", shown),
			&reason);
	enum status status = error == EACCES || error == EPERM || error == EROFS ? STATUS_DENIED : STATUS_IO;
	return command_fail(reason_set(&reason, status, strerror(error), "cannot write %.180s", shown), &reason);
}

static void show_file(const char *path, bool is_named, struct buffer *out)
{
	char shown[NEW_FILE_PATH_SIZE];
	text_clean(shown, sizeof shown, path, strlen(path));
	if (access(path, R_OK) == 0)
		buffer_printf(out, "file: %s%s\n", shown, is_named ? " (--config)" : "");
	else if (errno == ENOENT || errno == ENOTDIR)
		buffer_printf(out, "file: none; pmtop config --init writes %s\n", shown);
	else
		buffer_printf(out, "file: %s cannot be read: %s\n", shown, strerror(errno));
}

static enum exit_code run_config(const struct options *options, const struct settings *settings)
{
	char path[NEW_FILE_PATH_SIZE];
	struct reason reason = { 0 };
	struct buffer out = BUFFER_INIT;
	int code = 0;
	enum status status = own_path(path, sizeof path, &reason);
	if (options->init)
		return status == STATUS_OK ? write_default(path) : command_fail(status, &reason);
	if (options->config)
		show_file(options->config, true, &out);
	else if (status == STATUS_OK)
		show_file(path, false, &out);
	else
		buffer_printf(&out, "file: %s\n", reason.text);
	if (settings_show_changed(settings, &out) == 0)
		buffer_puts(&out, "all settings have their defaults\n");
	output_flush(&out, &code);
	buffer_release(&out);
	return (enum exit_code)code;
}

const struct command config_command = {
	.name = "config",
	.synopsis = "config",
	.summary = "show the settings in force, or write a pmtop.yaml",
	.details = "Shows the file in use and the settings that differ from their defaults.\n",
	.example = "pmtop config --init",
	.formats = 1u << FORMAT_TEXT,
	.run = run_config,
};
