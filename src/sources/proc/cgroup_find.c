#include "src/sources/proc/cgroup_find.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/files/mounts.h"

/* Whether `word` is in a list such as "cpu,cpuacct". */
static bool has_word(const char *words, size_t length, const char *word)
{
	size_t word_length = strlen(word);
	for (const char *at = words, *end = words + length; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t this_length = (size_t)((comma ? comma : end) - at);
		if (this_length == word_length && memcmp(at, word, word_length) == 0)
			return true;
		at += this_length + 1;
	}
	return false;
}

/* "4:memory:/path" is version 1, "0::/path" is version 2. If both are mounted (hybrid), a controller is in only one
 * of them. */
static unsigned find_path(const char *cgroups, const char *controller, char *path, size_t size)
{
	unsigned version = 0;
	for (const char *line = cgroups; *line;) {
		const char *end = strchrnul(line, '\n');
		const char *words = memchr(line, ':', (size_t)(end - line));
		const char *at = words ? memchr(words + 1, ':', (size_t)(end - words - 1)) : NULL;
		bool is_second = at && at == words + 1 && words == line + 1 && *line == '0';
		bool is_first = at && !is_second && has_word(words + 1, (size_t)(at - words - 1), controller);
		if ((is_first || (is_second && version == 0)) && (size_t)(end - at - 1) < size && at[1] == '/') {
			memcpy(path, at + 1, (size_t)(end - at - 1));
			path[end - at - 1] = '\0';
			version = is_first ? 1 : 2;
		}
		line = *end ? end + 1 : end;
	}
	return version;
}

static bool climbs(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")); at += 3)
		if (at[3] == '/' || at[3] == '\0')
			return true;
	return false;
}

/* The folder of `path` under this mount. A path that leads out of the mount ("/../other", seen from a cgroup
 * namespace) is reachable only through a mount whose own root lies there too. */
static bool try_mount(const struct mount *mount, const char *prefix, const char *path, struct cgroup_location *out)
{
	const char *rest = path + (strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root));
	if (!path_is_below(path, mount->root) || climbs(rest))
		return false;
	if (strcmp(rest, "/") == 0)
		rest = "";
	int top = snprintf(out->path, sizeof out->path, "%s%s", prefix, mount->point);
	if (top < 0 || (size_t)top >= sizeof out->path)
		return false;
	int whole = snprintf(out->path + top, sizeof out->path - (size_t)top, "%s", rest);
	out->top_length = (size_t)top;
	return whole >= 0 && (size_t)whole < sizeof out->path - (size_t)top && file_is_there(AT_FDCWD, out->path);
}

static bool try_mounts(const char *mountinfo, const char *prefix, unsigned version, const char *controller,
	const char *path, struct cgroup_location *out)
{
	struct mount mount;
	for (const char *line = mountinfo; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!mount_parse(line, &mount) || strcmp(mount.type, version == 2 ? "cgroup2" : "cgroup") != 0)
			continue;
		if (version == 1 && !has_word(mount.options, strlen(mount.options), controller))
			continue;
		if (try_mount(&mount, prefix, path, out))
			return true;
	}
	return false;
}

bool cgroup_find(const char *proc_root, int pid, const char *cgroups, const char *controller, char *scratch,
	struct cgroup_location *out)
{
	char path[MOUNTS_PATH_SIZE], file[CGROUP_PATH_SIZE], prefix[CGROUP_PATH_SIZE];
	size_t length;
	unsigned version = find_path(cgroups, controller, path, sizeof path);
	out->version = 0;
	if (!version)
		return false;
	snprintf(file, sizeof file, "%s/self/mountinfo", proc_root);
	bool is_found = file_read(AT_FDCWD, file, scratch, CGROUP_TEXT_SIZE, &length) == STATUS_OK &&
		try_mounts(scratch, "", version, controller, path, out);
	if (!is_found) {
		snprintf(file, sizeof file, "%s/%d/mountinfo", proc_root, pid);
		snprintf(prefix, sizeof prefix, "%s/%d/root", proc_root, pid);
		is_found = file_read(AT_FDCWD, file, scratch, CGROUP_TEXT_SIZE, &length) == STATUS_OK &&
			try_mounts(scratch, prefix, version, controller, path, out);
	}
	out->version = is_found ? version : 0;
	return is_found;
}

bool cgroup_go_up(struct cgroup_location *location)
{
	size_t length = strlen(location->path);
	while (length > location->top_length && location->path[--length] != '/')
		continue;
	if (strlen(location->path) <= location->top_length)
		return false;
	location->path[length] = '\0';
	return true;
}
