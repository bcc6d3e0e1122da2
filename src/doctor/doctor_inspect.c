/* How pmtop doctor reads files, links and folders. Tests choose another root. */
#include "src/doctor/doctor_inspect.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/text.h"
#include "src/doctor/doctor.h"

enum { PATH_SIZE = 512 };

__attribute__((format(printf, 3, 0))) static bool make_path(
	const struct doctor *doctor, char path[PATH_SIZE], const char *format, va_list arguments)
{
	int root = snprintf(path, PATH_SIZE, "%s", doctor->root ? doctor->root : "");
	if (root < 0 || root >= PATH_SIZE)
		return false;
	int rest = vsnprintf(path + root, (size_t)(PATH_SIZE - root), format, arguments);
	return rest >= 0 && rest < PATH_SIZE - root;
}

bool doctor_read(const struct doctor *doctor, char *out, size_t size, const char *format, ...)
{
	char path[PATH_SIZE], text[1024];
	size_t length;
	va_list arguments;
	va_start(arguments, format);
	bool good = make_path(doctor, path, format, arguments) &&
		file_read(AT_FDCWD, path, text, sizeof text, &length) == STATUS_OK;
	va_end(arguments);
	if (good)
		text_clean(out, size, text, strcspn(text, "\n"));
	return good;
}

int doctor_access(const struct doctor *doctor, int mode, const char *format, ...)
{
	char path[PATH_SIZE];
	va_list arguments;
	va_start(arguments, format);
	bool good = make_path(doctor, path, format, arguments);
	va_end(arguments);
	return !good ? ENAMETOOLONG : access(path, mode) == 0 ? 0 : errno;
}

bool doctor_link(const struct doctor *doctor, char *out, size_t size, const char *format, ...)
{
	char path[PATH_SIZE], target[PATH_SIZE];
	va_list arguments;
	va_start(arguments, format);
	ssize_t length = make_path(doctor, path, format, arguments) ? readlink(path, target, sizeof target - 1) : -1;
	va_end(arguments);
	if (length <= 0)
		return false;
	target[length] = '\0';
	const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
	text_clean(out, size, name, strlen(name));
	return true;
}

static int by_version(const void *left, const void *right) { return strverscmp(left, right); }

size_t doctor_names(
	const struct doctor *doctor, const char *folder, const char *begin, char names[][DOCTOR_NAME_SIZE], size_t max)
{
	char path[PATH_SIZE];
	size_t count = 0;
	snprintf(path, sizeof path, "%s%s", doctor->root ? doctor->root : "", folder);
	DIR *open_folder = opendir(path);
	for (const struct dirent *entry; open_folder && (entry = readdir(open_folder));) {
		if (entry->d_name[0] == '.' || strncmp(entry->d_name, begin, strlen(begin)) != 0)
			continue;
		if (count < max)
			snprintf(names[count], DOCTOR_NAME_SIZE, "%.63s", entry->d_name);
		count++;
	}
	if (open_folder)
		closedir(open_folder);
	qsort(names, count < max ? count : max, DOCTOR_NAME_SIZE, by_version);
	return count;
}

bool doctor_has_right(const struct doctor *doctor, unsigned capability)
{
	enum { STATUS_SIZE = 8192 };
	char path[PATH_SIZE], text[STATUS_SIZE];
	size_t length;
	unsigned long long rights;
	snprintf(path, sizeof path, "%s/proc/self/status", doctor->root ? doctor->root : "");
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		return false;
	const char *line = strstr(text, "\nCapEff:");
	return line && sscanf(line, "\nCapEff: %llx", &rights) == 1 && (rights >> capability & 1);
}

void doctor_say_library(struct doctor *doctor, const char *file, const char *package, const char *what)
{
	void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
	if (!library) {
		char remedy[128];
		snprintf(remedy, sizeof remedy, "install %s", package);
		doctor_say(doctor, FINDING_MISSING, remedy, "no %s: %s", file, what);
		return;
	}
	doctor_say(doctor, FINDING_OK, NULL, "%s", file);
	dlclose(library);
}
