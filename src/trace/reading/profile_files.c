#include "src/trace/reading/profile_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/text.h"

enum { PATH_SIZE = 4096 };

static enum status add_path(struct profile_files *files, const char *path, struct reason *why_not)
{
	if (files->count == PROFILE_FILES_MAX)
		return reason_set(why_not, STATUS_INVALID, "name fewer of them", "more than %d traces", PROFILE_FILES_MAX);
	char **paths = realloc(files->paths, (files->count + 1) * sizeof *paths);
	char *copy = paths ? strdup(path) : NULL;
	if (paths)
		files->paths = paths;
	if (!copy)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	files->paths[files->count++] = copy;
	return STATUS_OK;
}

/* JAX writes the same trace once more for Perfetto. */
static int is_trace_name(const struct dirent *entry)
{
	return strcmp(entry->d_name, "perfetto_trace.json.gz") != 0 &&
		(text_ends_with(entry->d_name, ".json") || text_ends_with(entry->d_name, ".json.gz"));
}

/* A link to another file of its folder, as chrome_trace.json of pmtop.torch is one to the newest trace. */
static bool is_link_beside(const char *path)
{
	char target[PATH_SIZE];
	ssize_t length = readlink(path, target, sizeof target);
	return length > 0 && !memchr(target, '/', (size_t)length);
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* JAX and TensorFlow write below the folder that they are given: plugins/profile/TIME/HOST.trace.json.gz. The newest
 * profile replaces the folder. */
static void find_profile(char folder[PATH_SIZE])
{
	struct dirent **entries;
	char profiles[PATH_SIZE];
	snprintf(profiles, sizeof profiles, "%.3000s/plugins/profile", folder);
	int count = scandir(profiles, &entries, is_visible, alphasort);
	if (count > 0)
		snprintf(folder, PATH_SIZE, "%.3500s/%s", profiles, entries[count - 1]->d_name);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
}

static int is_xplane(const struct dirent *entry) { return text_ends_with(entry->d_name, ".xplane.pb"); }

static bool has_xplane(const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_xplane, NULL);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
	return count > 0;
}

static enum status add_folder(struct profile_files *files, const char *given, struct reason *why_not)
{
	struct dirent **entries;
	enum status status = STATUS_OK;
	char folder[PATH_SIZE];
	snprintf(folder, sizeof folder, "%s", given);
	int count = scandir(folder, &entries, is_trace_name, alphasort);
	if (count == 0) {
		free(entries);
		find_profile(folder);
		count = scandir(folder, &entries, is_trace_name, alphasort);
	}
	if (count < 0)
		return reason_set(why_not, status_of_errno(errno), NULL, "%.120s: %s", folder, strerror(errno));
	if (count == 0 && has_xplane(folder))
		status = reason_set(why_not, STATUS_NOT_FOUND, "export a Chrome trace (JSON) from it with TensorBoard or xprof",
			"only XPlane files (*.xplane.pb) in %.120s", folder);
	else if (count == 0)
		status = reason_set(why_not, STATUS_NOT_FOUND, "give a folder of *.pt.trace.json files",
			"no *.json or *.json.gz in %.120s", folder);
	for (int i = 0; i < count; i++) {
		char path[PATH_SIZE];
		snprintf(path, sizeof path, "%.3800s/%s", folder, entries[i]->d_name);
		if (status == STATUS_OK && !is_link_beside(path))
			status = add_path(files, path, why_not);
		free(entries[i]);
	}
	free(entries);
	return status;
}

enum status profile_files_add(struct profile_files *files, const char *word, struct reason *why_not)
{
	struct stat file;
	if (stat(word, &file) == 0 && S_ISDIR(file.st_mode))
		return add_folder(files, word, why_not);
	return add_path(files, word, why_not);
}

void profile_files_release(struct profile_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->paths[i]);
	free(files->paths);
	*files = (struct profile_files){ 0 };
}
