#include "src/sources/access.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/sources/proc_file.h"

enum { STATUS_SIZE = 16 * 1024 };

static void name_of_user(uid_t uid, char *out, size_t size)
{
	char room[4096];
	struct passwd entry, *found = NULL;
	if (getpwuid_r(uid, &entry, room, sizeof room, &found) == 0 && found)
		snprintf(out, size, "%s", found->pw_name);
	else
		snprintf(out, size, "uid %u", (unsigned)uid);
}

static enum status explain_owner(pid_t pid, uid_t owner, struct reason *out)
{
	char user[64], remedy[sizeof out->remedy];
	name_of_user(owner, user, sizeof user);
	snprintf(remedy, sizeof remedy, "run as root (sudo pmtop -p %d), or watch a process of your own (pmtop list)", (int)pid);
	return reason_set(out, STATUS_DENIED, remedy, "process %d belongs to %s", (int)pid, user);
}

static enum status explain_hidden(pid_t pid, struct reason *out)
{
	char remedy[sizeof out->remedy];
	snprintf(remedy, sizeof remedy, "run as root (sudo pmtop -p %d)", (int)pid);
	return reason_set(out, STATUS_DENIED, remedy, "process %d is hidden: /proc is mounted with hidepid", (int)pid);
}

enum status access_explain_unopened(const char *proc_root, pid_t pid, bool is_alive, enum status status, struct reason *out)
{
	char path[4096];
	struct stat directory;
	switch (status) {
	case STATUS_NOT_FOUND:
		if (is_alive)
			return explain_hidden(pid, out);
		return reason_set(out, status, NULL, "no process %d (it may have ended)", (int)pid);
	case STATUS_DENIED:
		snprintf(path, sizeof path, "%s/%d", proc_root, (int)pid);
		return file_stat(AT_FDCWD, path, &directory, 0) == 0 ? explain_owner(pid, directory.st_uid, out) : explain_hidden(pid, out);
	case STATUS_AGAIN:
		return reason_set(out, STATUS_IO, "raise the limit (ulimit -n)", "process %d: no file descriptor left", (int)pid);
	default:
		return reason_set(out, status, NULL, "process %d: what %s says of it makes no sense", (int)pid, proc_root);
	}
}

/* The files of a process that is not dumpable belong to root, though it runs as somebody else: what counts is its own uid. */
void access_explain_file(int directory_fd, pid_t pid, uid_t owner, struct reason *out)
{
	char text[STATUS_SIZE];
	size_t length;
	uint64_t uid = owner;
	if (file_read(directory_fd, "status", text, sizeof text, &length) == STATUS_OK)
		proc_field(text, "Uid", 1, &uid);
	if (geteuid() == 0)
		reason_set(out, STATUS_DENIED, "run on the host, or start the container with --cap-add=SYS_PTRACE",
			"not readable: root may not inspect process %d here", (int)pid);
	else if (uid == geteuid())
		reason_set(out, STATUS_DENIED, "run as root", "not readable: process is not dumpable");
	else
		explain_owner(pid, (uid_t)uid, out);
}

void access_explain_memory(int directory_fd, pid_t pid, uid_t owner, struct reason *out)
{
	static const char *const allowed[] = { NULL, "only its own children", "nobody but root", "nobody" };
	char text[16] = "", remedy[sizeof out->remedy];
	size_t length;
	int scope = file_read(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof text, &length) == STATUS_OK ? text[0] - '0' : 0;
	if (scope < 1 || scope > 3 || (scope < 3 && geteuid() == 0)) {
		access_explain_file(directory_fd, pid, owner, out);
		return;
	}
	snprintf(remedy, sizeof remedy, "run as root (sudo pmtop stack %d)", (int)pid);
	reason_set(out, STATUS_DENIED, scope == 3 ? "it stays so until the machine is started again" : remedy, "this machine lets a program look into %s (kernel.yama.ptrace_scope is %d)", allowed[scope], scope);
}
