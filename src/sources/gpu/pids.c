#include "src/sources/gpu/pids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/sources/command.h"

/* The pid namespace of the machine itself has this number: PROC_PID_INIT_INO, include/linux/proc_ns.h. */
#define INITIAL_NAMESPACE "pid:[4026531836]"

enum { PATH_SIZE = 512, LINK_SIZE = 128, STATUS_SIZE = 4096, CMDLINE_SIZE = 4096, FILES_LOOKED_AT = 4096 };

void pids_init(struct pids *pids, const struct target *target, const char *device)
{
	char path[PATH_SIZE], name[LINK_SIZE];
	snprintf(path, sizeof path, "%s/self/ns/pid", target->proc_root);
	ssize_t length = readlink(path, name, sizeof name - 1);
	name[length > 0 ? length : 0] = '\0';
	*pids = (struct pids){ .target = target, .device = device, .is_inside = length > 0 && strcmp(name, INITIAL_NAMESPACE) != 0 };
}

static const struct target_member *member_of(const struct target *target, int32_t pid)
{
	for (size_t i = 0; i < target->member_count; i++)
		if (target->members[i].pid == pid)
			return &target->members[i];
	return NULL;
}

static bool has_device_open(const struct pids *pids, int32_t pid)
{
	char path[PATH_SIZE], file[LINK_SIZE];
	size_t length = strlen(pids->device);
	bool is_found = false;
	snprintf(path, sizeof path, "%s/%d/fd", pids->target->proc_root, (int)pid);
	DIR *directory = opendir(path);
	const struct dirent *entry;
	for (int i = 0; directory && !is_found && i < FILES_LOOKED_AT && (entry = readdir(directory)); i++) {
		ssize_t got = readlinkat(dirfd(directory), entry->d_name, file, sizeof file);
		is_found = got >= (ssize_t)length && memcmp(file, pids->device, length) == 0;
	}
	if (directory)
		closedir(directory);
	return is_found;
}

static bool is_there(const struct pids *pids, int32_t pid)
{
	char path[PATH_SIZE];
	struct stat status;
	snprintf(path, sizeof path, "%s/%d", pids->target->proc_root, (int)pid);
	if (stat(path, &status) == 0)
		return true;
	/* hidepid=2 hides the folder of a process, not the process. */
	return strcmp(pids->target->proc_root, "/proc") == 0 && kill(pid, 0) < 0 && errno == EPERM;
}

/* One of the numbers that a process has from the namespace of /proc down to its own. */
static bool has_number(const struct target_member *member, int32_t told)
{
	char text[STATUS_SIZE];
	size_t length;
	if (file_read(member->directory_fd, "status", text, sizeof text, &length) != STATUS_OK)
		return false;
	const char *at = strstr(text, "\nNSpid:");
	if (!at)
		return false;
	for (at += strlen("\nNSpid:"); *at == '\t' || *at == ' ';) {
		char *end;
		long number = strtol(at, &end, 10);
		if (end == at)
			break;
		if (number == told)
			return true;
		at = end;
	}
	return false;
}

/* NULL where none or several have it. */
static const struct target_member *only_one_with(const struct target *target, int32_t told)
{
	const struct target_member *found = NULL;
	for (size_t i = 0; i < target->member_count; i++) {
		if (!has_number(&target->members[i], told))
			continue;
		if (found)
			return NULL;
		found = &target->members[i];
	}
	return found;
}

enum pid_place pids_find(const struct pids *pids, uint32_t told, int32_t *out)
{
	if (told == 0 || told > INT32_MAX)
		return pids->is_inside ? PID_HIDDEN : PID_GONE;
	int32_t pid = (int32_t)told;
	if (is_there(pids, pid) && (!pids->is_inside || has_device_open(pids, pid))) {
		*out = pid;
		return PID_KNOWN;
	}
	const struct target_member *member = only_one_with(pids->target, pid);
	if (member && (!pids->is_inside || has_device_open(pids, member->pid))) {
		*out = member->pid;
		return PID_KNOWN;
	}
	return pids->is_inside ? PID_HIDDEN : PID_GONE;
}

void pids_command(const struct pids *pids, int32_t pid, char *out, size_t size)
{
	char path[PATH_SIZE], text[CMDLINE_SIZE], comm[64] = "";
	size_t length;
	out[0] = '\0';
	if (member_of(pids->target, pid))
		return;
	snprintf(path, sizeof path, "%s/%d/comm", pids->target->proc_root, (int)pid);
	if (file_read(AT_FDCWD, path, comm, sizeof comm, &length) != STATUS_OK)
		comm[0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	snprintf(path, sizeof path, "%s/%d/cmdline", pids->target->proc_root, (int)pid);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		length = 0;
	command_shorten(out, size, text, length, comm);
}
