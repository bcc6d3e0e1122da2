#include "src/trace/reading/profile_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/files/file.h"
#include "src/base/text.h"

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

static int is_trace_name(const struct dirent *entry)
{
	return text_ends_with(entry->d_name, ".json") || text_ends_with(entry->d_name, ".json.gz");
}

static enum status add_folder(struct profile_files *files, const char *folder, struct reason *why_not)
{
	struct dirent **entries;
	enum status status = STATUS_OK;
	int count = scandir(folder, &entries, is_trace_name, alphasort);
	if (count < 0)
		return reason_set(why_not, status_of_errno(errno), NULL, "%.120s: %s", folder, strerror(errno));
	if (count == 0)
		status = reason_set(why_not, STATUS_NOT_FOUND, "give a folder of *.pt.trace.json files",
			"no *.json or *.json.gz in %.120s", folder);
	for (int i = 0; i < count; i++) {
		char path[4096];
		snprintf(path, sizeof path, "%.3800s/%s", folder, entries[i]->d_name);
		if (status == STATUS_OK)
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
