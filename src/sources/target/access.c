#include "src/sources/target/access.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/sources/proc/proc_file.h"

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
	snprintf(
		remedy, sizeof remedy, "run as root (sudo pmtop -p %d), or watch a process of your own (pmtop list)", (int)pid);
	return reason_set(out, STATUS_DENIED, remedy, "process %d belongs to %s", (int)pid, user);
}

static enum status explain_hidden(pid_t pid, struct reason *out)
{
	char remedy[sizeof out->remedy];
	snprintf(remedy, sizeof remedy, "run as root (sudo pmtop -p %d)", (int)pid);
	return reason_set(out, STATUS_DENIED, remedy, "process %d is hidden: /proc is mounted with hidepid", (int)pid);
}

enum status access_explain_unopened(
	const char *proc_root, pid_t pid, bool is_alive, enum status status, struct reason *out)
{
	char path[4096];
	struct stat directory;
	switch (status) {
	case STATUS_NOT_FOUND:
		if (is_alive)
			return explain_hidden(pid, out);
		return reason_set(out, status, "pmtop list shows the runs", "no process %d (it may have ended)", (int)pid);
	case STATUS_DENIED:
		snprintf(path, sizeof path, "%s/%d", proc_root, (int)pid);
		return file_stat(AT_FDCWD, path, &directory, 0) == 0 ? explain_owner(pid, directory.st_uid, out)
															 : explain_hidden(pid, out);
	case STATUS_AGAIN:
		return reason_set(
			out, STATUS_IO, "raise the limit (ulimit -n)", "process %d: no file descriptor left", (int)pid);
	default:
		return reason_set(out, status, NULL, "process %d: its files in %s could not be parsed", (int)pid, proc_root);
	}
}

static uid_t uid_of(int directory_fd, uid_t otherwise)
{
	char text[STATUS_SIZE];
	size_t length;
	uint64_t uid = otherwise;
	if (file_read(directory_fd, "status", text, sizeof text, &length) == STATUS_OK)
		proc_field(text, "Uid", 1, &uid);
	return (uid_t)uid;
}

/* The files of a process that is not dumpable belong to root, so the uid in its status file decides. */
void access_explain_file(int directory_fd, pid_t pid, uid_t owner, struct reason *out)
{
	uid_t uid = uid_of(directory_fd, owner);
	if (geteuid() == 0)
		reason_set(out, STATUS_DENIED, "run on the host, or start the container with --cap-add=SYS_PTRACE",
			"not readable: root may not inspect process %d in this container", (int)pid);
	else if (uid == geteuid())
		reason_set(out, STATUS_DENIED, "run as root", "not readable: process is not dumpable");
	else
		explain_owner(pid, uid, out);
}

/* Bit of CapEff: linux/capability.h. */
static bool has_ptrace_right(void)
{
	enum { CAP_SYS_PTRACE_BIT = 19 };
	char text[STATUS_SIZE];
	size_t length;
	unsigned long long rights;
	if (file_read(AT_FDCWD, "/proc/self/status", text, sizeof text, &length) != STATUS_OK)
		return geteuid() == 0;
	const char *line = strstr(text, "\nCapEff:");
	return line && sscanf(line, "\nCapEff: %llx", &rights) == 1 && (rights >> CAP_SYS_PTRACE_BIT & 1);
}

/* The kernel gives the files of a process that is not dumpable to root (proc(5)). */
static bool is_dumpable(int directory_fd, uid_t uid)
{
	struct stat file;
	return uid == 0 || file_stat(directory_fd, "environ", &file, 0) < 0 || file.st_uid == uid;
}

static void explain_yama(pid_t pid, int scope, struct reason *out)
{
	static const char *const readers[] = { NULL, "a process may read its own children only",
		"only root may read other processes", "no process may read another" };
	char remedy[sizeof out->remedy];
	if (scope == 1)
		snprintf(remedy, sizeof remedy, "run as root (sudo pmtop stack %d), or sudo sysctl kernel.yama.ptrace_scope=0",
			(int)pid);
	else
		snprintf(remedy, sizeof remedy, "run as root (sudo pmtop stack %d)", (int)pid);
	reason_set(out, STATUS_DENIED, scope == 3 ? "reboot: level 3 cannot be lowered at run time" : remedy,
		"kernel.yama.ptrace_scope is %d: %s", scope, readers[scope]);
}

static void explain_filter(int error, struct reason *out)
{
	if (error == ENOSYS)
		reason_set(out, STATUS_DENIED, "run pmtop outside the container",
			"pmtop cannot read process memory: process_vm_readv is missing (kernel or seccomp filter)");
	else
		reason_set(out, STATUS_DENIED,
			"run pmtop outside the container, or allow process_vm_readv in its seccomp profile",
			"pmtop cannot read process memory: a seccomp filter forbids process_vm_readv");
}

/* If several reasons hold, the order is that of the kernel's own checks (__ptrace_may_access). A seccomp filter
 * comes first, but it does not protect /proc/PID/maps. */
void access_explain_memory(int directory_fd, pid_t pid, uid_t owner, int self_error, struct reason *out)
{
	static const char scope_file[] = "/proc/sys/kernel/yama/ptrace_scope";
	char text[16] = "";
	size_t length;
	uid_t uid = uid_of(directory_fd, owner);
	bool may_trace = has_ptrace_right();
	int scope = file_read(AT_FDCWD, scope_file, text, sizeof text, &length) == STATUS_OK ? text[0] - '0' : 0;
	if (self_error)
		explain_filter(self_error, out);
	else if (geteuid() == 0 && !may_trace)
		reason_set(out, STATUS_DENIED, "run on the host, or start the container with --cap-add=SYS_PTRACE",
			"not readable: root lacks CAP_SYS_PTRACE in this container");
	else if (uid != geteuid() && !may_trace)
		explain_owner(pid, uid, out);
	else if (!may_trace && !is_dumpable(directory_fd, uid))
		reason_set(out, STATUS_DENIED, "run as root", "not readable: process is not dumpable");
	else if (scope == 3 || (scope > 0 && scope < 3 && !may_trace))
		explain_yama(pid, scope, out);
	else if (geteuid() == 0)
		reason_set(out, STATUS_DENIED, "run on the host, or start the container with --cap-add=SYS_PTRACE",
			"not readable: root may not inspect process %d in this container", (int)pid);
	else
		reason_set(out, STATUS_DENIED, "run as root",
			"not readable: process %d has rights that pmtop lacks (capabilities, user namespace)", (int)pid);
}
