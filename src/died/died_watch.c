#include "src/died/died_watch.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/hang_watch.h"
#include "src/died/died_kernel.h"
#include "src/died/died_output.h"

/* include/uapi/linux/pidfd.h, Linux 6.13; the exit status since 6.15. */
struct pidfd_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define PIDFD_GET_INFO _IOWR(0xFF, 11, struct pidfd_info)
#define PIDFD_INFO_EXIT (UINT64_C(1) << 3)

enum {
	TEXT_SIZE = 4096,
	CHILD_OPTIONS = WEXITED | WNOHANG | WNOWAIT,
	STATUS_TRIES = 40,
	STATUS_TRY_MS = 50,
	EXIT_CODE_FIELD = 52
};

/* -- the cgroup's count -- */

static bool read_text(const char *path, char out[TEXT_SIZE])
{
	size_t length;
	return file_read(AT_FDCWD, path, out, TEXT_SIZE, &length) == STATUS_OK && length > 0;
}

static double read_kills(const char *path)
{
	char text[TEXT_SIZE];
	double count;
	const char *at = read_text(path, text) ? text : NULL;
	for (; at; at = (at = strchr(at, '\n')) ? at + 1 : NULL)
		if (sscanf(at, "oom_kill %lf", &count) == 1)
			return count;
	return NAN;
}

/* "4:memory:/path" of cgroup v1, "0::/path" of v2, as /sys/fs/cgroup is usually mounted. */
static void find_cgroup(struct died_watch *watch)
{
	char path[64], text[TEXT_SIZE];
	snprintf(path, sizeof path, "/proc/%d/cgroup", (int)watch->pid);
	watch->oom_path[0] = '\0';
	watch->oom_kills = NAN;
	if (!read_text(path, text))
		return;
	for (char *line = strtok(text, "\n"); line && isnan(watch->oom_kills); line = strtok(NULL, "\n")) {
		const char *v1 = strstr(line, ":memory:"), *v2 = strncmp(line, "0::", 3) == 0 ? line + 3 : NULL;
		if (v1)
			snprintf(watch->oom_path, DIED_PATH_SIZE, "/sys/fs/cgroup/memory%.400s/memory.oom_control", v1 + 8);
		else if (v2)
			snprintf(watch->oom_path, DIED_PATH_SIZE, "/sys/fs/cgroup%.400s/memory.events", v2);
		else
			continue;
		watch->oom_kills = read_kills(watch->oom_path);
	}
}

/* -- its output -- */

static void open_outputs(struct died_watch *watch)
{
	char path[64];
	struct stat file;
	snprintf(path, sizeof path, "/proc/%d", (int)watch->pid);
	watch->user = file_stat(AT_FDCWD, path, &file, 0) == 0 ? file.st_uid : (uid_t)-1;
	for (int i = 0; i < DIED_OUTPUTS; i++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)watch->pid, 2 - i);
		if (!watch->log)
			watch->outputs[i] = file_open(AT_FDCWD, path, O_PATH);
		else if (i == 0)
			watch->outputs[i] = file_open(AT_FDCWD, watch->log, O_PATH);
		if (!watch->is_child && watch->outputs[i] >= 0 && file_stat(watch->outputs[i], "", &file, AT_EMPTY_PATH) == 0)
			watch->sizes[i] = file.st_size;
	}
}

static void begin(void *context)
{
	struct died_watch *watch = context;
	find_cgroup(watch);
	open_outputs(watch);
}

/* A file that does not answer is not known, and neither is what follows it. */
void died_watch_begin(struct died_watch *watch, pid_t pid, const char *log)
{
	struct died_watch *begun = malloc(sizeof *begun);
	char path[HANG_PATH_SIZE];
	siginfo_t info;
	*watch = (struct died_watch){ .pid = pid,
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.is_child = waitid(P_PID, (id_t)pid, &info, CHILD_OPTIONS) == 0,
		.log = log,
		.outputs = { -1, -1 },
		.oom_kills = NAN,
		.begun_ns = clock_monotonic_ns() };
	watch->begun_us = watch->begun_ns / 1000;
	if (!begun)
		return;
	*begun = *watch;
	bool has_answered = hang_run(begin, begun, HANG_LIMIT_NS, path);
	*watch = *begun; /* the thread that was abandoned never goes on */
	if (has_answered)
		free(begun);
}

/* -- after the end -- */

static bool status_of_child(const struct died_watch *watch, int *status)
{
	siginfo_t info = { 0 };
	if (!watch->is_child || waitid(P_PID, (id_t)watch->pid, &info, CHILD_OPTIONS) != 0 || !info.si_pid)
		return false;
	*status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
	return true;
}

static bool status_of_pidfd(int pidfd, int *status)
{
	struct pidfd_info info = { .mask = PIDFD_INFO_EXIT };
	if (pidfd < 0 || ioctl(pidfd, PIDFD_GET_INFO, &info) != 0 || !(info.mask & PIDFD_INFO_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}

/* Of a process that its parent has not waited for. To others than its user the kernel shows 0 instead, and does not
 * show /proc/PID/io. */
static bool status_of_zombie(pid_t pid, int *status)
{
	char path[64], text[TEXT_SIZE];
	snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
	if (!read_text(path, text))
		return false;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (!read_text(path, text))
		return false;
	const char *at = strrchr(text, ')');
	if (!at || at[1] != ' ' || at[2] != 'Z')
		return false;
	for (int field = 2; at && field < EXIT_CODE_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	*status = atoi(at + 1);
	return true;
}

static bool find_status(const struct died_watch *watch, int *status)
{
	return status_of_child(watch, status) || status_of_pidfd(watch->pidfd, status) ||
		status_of_zombie(watch->pid, status);
}

/* pmtop may have more rights than the process, which may have been given a file that it cannot read itself. */
static bool may_show(const struct died_watch *watch, const struct stat *file)
{
	return S_ISREG(file->st_mode) &&
		(watch->is_child || watch->user == geteuid() || watch->user == 0 || watch->user == file->st_uid ||
			(file->st_mode & S_IROTH));
}

/* The file is opened only now. */
static void read_output(const struct died_watch *watch, int index, struct died_evidence *out)
{
	char path[64];
	struct stat file;
	if (watch->outputs[index] < 0 || file_stat(watch->outputs[index], "", &file, AT_EMPTY_PATH) != 0 ||
		!may_show(watch, &file))
		return;
	snprintf(path, sizeof path, "/proc/self/fd/%d", watch->outputs[index]);
	out->log_part = (struct died_part){ watch->sizes[index], file.st_size, (int64_t)file.st_ino };
	if (file_link(AT_FDCWD, path, out->log, sizeof out->log) < 0)
		out->log[0] = '\0';
	int fd = file_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return;
	died_output_read_file(fd, &out->log_part, &out->output);
	close(fd);
}

struct finishing {
	const struct died_watch watch;
	struct died_evidence evidence;
};

static void finish(void *context)
{
	struct finishing *finishing = context;
	const struct died_watch *watch = &finishing->watch;
	struct died_evidence *out = &finishing->evidence;
	for (int i = 0; !out->has_status && i < STATUS_TRIES; i++) {
		out->has_status = find_status(watch, &out->status);
		if (!out->has_status && kill(watch->pid, 0) != 0 && i > 2)
			break;
		if (!out->has_status)
			poll(NULL, 0, STATUS_TRY_MS);
	}
	out->oom_kills = read_kills(watch->oom_path) - watch->oom_kills;
	died_kernel_read("/dev/kmsg", out->pid, watch->begun_us, out);
	for (int i = 0; i < DIED_OUTPUTS; i++)
		if (!out->output.exception[0] && out->output.hint == DIED_UNKNOWN)
			read_output(watch, i, out);
}

void died_watch_finish(struct died_watch *watch, struct died_evidence *out)
{
	struct finishing *finishing = watch->pid ? malloc(sizeof *finishing) : NULL;
	char path[HANG_PATH_SIZE];
	if (!finishing)
		return;
	out->is_watched = !watch->is_child;
	out->pid = out->pid ? out->pid : (int32_t)watch->pid;
	out->ran_s = isnan(out->ran_s) ? seconds_between(watch->begun_ns, clock_monotonic_ns()) : out->ran_s;
	memcpy(finishing, &(struct finishing){ *watch, *out }, sizeof *finishing);
	bool has_answered = hang_run(finish, finishing, HANG_LIMIT_NS, path);
	*out = finishing->evidence;
	if (has_answered)
		free(finishing);
}

void died_watch_close(struct died_watch *watch)
{
	for (int i = 0; watch->pid && i < DIED_OUTPUTS; i++)
		if (watch->outputs[i] >= 0)
			close(watch->outputs[i]);
	if (watch->pid && watch->pidfd >= 0)
		close(watch->pidfd);
	watch->pid = 0;
}
