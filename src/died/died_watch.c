#include "src/died/died_watch.h"

#include <errno.h>
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
#include <unistd.h>

#include "src/base/clock.h"
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

enum { TEXT_SIZE = 4096, STATUS_TRIES = 40, STATUS_TRY_MS = 50, EXIT_CODE_FIELD = 52 };

/* -- the cgroup's count -- */

static bool read_text(const char *path, char out[TEXT_SIZE])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd >= 0 ? read(fd, out, TEXT_SIZE - 1) : -1;
	if (fd >= 0)
		close(fd);
	out[got > 0 ? got : 0] = '\0';
	return got > 0;
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

static void open_outputs(struct died_watch *watch, const char *log)
{
	char path[64];
	for (int i = 0; i < DIED_OUTPUTS; i++) {
		struct stat status;
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)watch->pid, 2 - i);
		const char *from = log ? log : path;
		bool is_file = (!log || !watch->log[0]) && stat(from, &status) == 0 && S_ISREG(status.st_mode);
		watch->outputs[i] = is_file ? open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
		if (log)
			snprintf(watch->log, sizeof watch->log, "%.500s", log);
		ssize_t length = is_file && !watch->log[0] ? readlink(path, watch->log, sizeof watch->log - 1) : -1;
		if (length >= 0)
			watch->log[length] = '\0';
	}
}

void died_watch_begin(struct died_watch *watch, pid_t pid, const char *log)
{
	*watch = (struct died_watch){ .pid = pid, .begun_ns = clock_monotonic_ns() };
	watch->begun_us = watch->begun_ns / 1000;
	watch->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	find_cgroup(watch);
	open_outputs(watch, log);
}

/* -- after the end -- */

static bool status_of_pidfd(int pidfd, int *status)
{
	struct pidfd_info info = { .mask = PIDFD_INFO_EXIT };
	if (pidfd < 0 || ioctl(pidfd, PIDFD_GET_INFO, &info) != 0 || !(info.mask & PIDFD_INFO_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}

/* Of a process that its parent has not waited for. */
static bool status_of_zombie(pid_t pid, int *status)
{
	char path[64], text[TEXT_SIZE];
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

void died_watch_finish(struct died_watch *watch, struct died_evidence *out)
{
	if (!watch->pid)
		return;
	for (int i = 0; !out->has_status && i < STATUS_TRIES; i++) {
		out->has_status = status_of_pidfd(watch->pidfd, &out->status) || status_of_zombie(watch->pid, &out->status);
		if (!out->has_status && kill(watch->pid, 0) != 0 && i > 2)
			break;
		if (!out->has_status)
			poll(NULL, 0, STATUS_TRY_MS);
	}
	memcpy(out->log, watch->log, sizeof out->log);
	double kills = read_kills(watch->oom_path);
	out->pid = out->pid ? out->pid : (int32_t)watch->pid;
	out->oom_kills = kills - watch->oom_kills;
	out->ran_s = isnan(out->ran_s) ? seconds_between(watch->begun_ns, clock_monotonic_ns()) : out->ran_s;
	for (int i = 0; i < DIED_OUTPUTS; i++)
		if (watch->outputs[i] >= 0 && !out->output.exception[0])
			died_output_read_file(watch->outputs[i], &out->output);
	died_kernel_read("/dev/kmsg", out->pid, watch->begun_us, out);
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
