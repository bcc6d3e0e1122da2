#include "src/session/children/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"

enum { LIMIT_MS = 1000 };

void launch_folder(char folder[LAUNCH_FOLDER_SIZE])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	size_t given = 0; /* the home must be there */
	folder[0] = '\0';
	if (state && state[0] == '/')
		snprintf(folder, LAUNCH_FOLDER_SIZE, "%s/pmtop", state);
	else if (home && home[0] == '/' && (given = strlen(home)) < LAUNCH_FOLDER_SIZE / 2)
		snprintf(folder, LAUNCH_FOLDER_SIZE, "%s/.local/state/pmtop", home);
	else
		return;
	for (char *slash = folder + given + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(folder, 0700);
		*slash = '/';
	}
	mkdir(folder, 0700);
}

static int open_new(const char *path)
{
	unlink(path); /* of an earlier process of the same number */
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* A file in a new folder below $TMPDIR. */
static int open_temporary(struct launch *launch)
{
	const char *below = getenv("TMPDIR");
	char folder[LAUNCH_FOLDER_SIZE];
	int length = snprintf(folder, sizeof folder, "%s/pmtop-XXXXXX", below && below[0] == '/' ? below : "/tmp");
	if (length >= LAUNCH_FOLDER_SIZE || !mkdtemp(folder))
		return -1;
	snprintf(launch->log, sizeof launch->log, "%s/output-%d.log", folder, (int)getpid());
	return open_new(launch->log);
}

/* While pmtop uses standard output for the screen or the stream, the command's output goes to output-PID.log in
 * `folder`. */
static int open_log(struct launch *launch, const char *folder)
{
	int log = -1;
	if (folder[0]) {
		snprintf(launch->log, sizeof launch->log, "%s/output-%d.log", folder, (int)getpid());
		log = open_new(launch->log);
	}
	if (log < 0)
		log = open_temporary(launch);
	if (log < 0)
		launch->log[0] = '\0';
	return log >= 0 ? log : open("/dev/null", O_WRONLY | O_CLOEXEC);
}

/* What is redirected stays so. `terminal` replaces that of the screen, whose keys two programs cannot share. */
static void set_descriptors(int log, int terminal)
{
	bool has_screen = isatty(STDOUT_FILENO);
	if (has_screen && isatty(STDIN_FILENO)) {
		int nothing = open("/dev/null", O_RDONLY);
		dup2(nothing, STDIN_FILENO);
		close(nothing);
	}
	if (!has_screen || isatty(STDERR_FILENO))
		dup2(terminal >= 0 ? terminal : log, STDERR_FILENO);
	dup2(terminal >= 0 ? terminal : log, STDOUT_FILENO);
}

/* In the child. Does not return. */
static void run(const struct launch *launch, char **command, int log, int terminal, int ready)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (log >= 0)
		set_descriptors(log, terminal);
	launch_python_set(&launch->python);
	kineto_idle_set(&launch->kineto);
	execvp(command[0], command);
	int error = errno;
	_exit(write(ready, &error, sizeof error) == (ssize_t)sizeof error ? 127 : 126);
}

enum status launch_start(
	struct launch *launch, char **command, bool is_output_ours, unsigned changes, struct reason *why_not)
{
	char folder[LAUNCH_FOLDER_SIZE];
	int ready[2];
	*launch = (struct launch){ .python = { .fd = -1 }, .kineto = { .fd = -1 }, .limit = { .fd = -1 } };
	launch_folder(folder);
	enum status status = changes & LAUNCH_PROFILES ? kineto_idle_open(&launch->kineto, why_not) : STATUS_OK;
	if (status != STATUS_OK)
		return status;
	if (pipe2(ready, O_CLOEXEC) < 0)
		return reason_set(
			why_not, STATUS_IO, "close some programs", "cannot start %s: %s", command[0], strerror(errno));
	int log = is_output_ours ? open_log(launch, folder) : -1;
	if (launch->log[0])
		launch->limit = log_limit_open(launch->log);
	int terminal = log >= 0 && isatty(STDOUT_FILENO) ? relay_start(&launch->relay, log) : -1;
	if (changes & LAUNCH_INSTRUMENTS)
		launch_python_prepare(&launch->python, command, folder, clock_monotonic_ns());
	pid_t child = fork();
	if (child == 0)
		run(launch, command, log, terminal, ready[1]);
	if (log >= 0)
		close(log);
	if (terminal >= 0)
		close(terminal);
	close(ready[1]);
	int error = child < 0 ? errno : 0;
	if (child > 0 && read(ready[0], &error, sizeof error) > 0)
		waitpid(child, NULL, 0);
	close(ready[0]);
	if (!error) {
		launch->child = child;
		return STATUS_OK;
	}
	launch_python_end(&launch->python);
	kineto_idle_close(&launch->kineto);
	log_limit_close(&launch->limit);
	relay_end(&launch->relay);
	return reason_set(why_not, error == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, "check the command after --",
		"cannot start %s: %s", command[0], strerror(error));
}

void launch_ignore_keys(const struct launch *launch)
{
	if (!launch->child)
		return;
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

bool launch_has_failed(const struct launch *launch, char *text, size_t size)
{
	siginfo_t info = { 0 };
	if (!launch->child || waitid(P_PID, (id_t)launch->child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || !info.si_pid)
		return false;
	if (info.si_code == CLD_EXITED)
		snprintf(text, size, "exit status %d", info.si_status);
	else
		snprintf(text, size, "signal %d, %s", info.si_status, strsignal(info.si_status));
	return info.si_code != CLD_EXITED || info.si_status != 0;
}

bool launch_limit_log(struct launch *launch, struct reason *news)
{
	enum log_limit_result result = log_limit_apply(&launch->limit);
	if (result == LOG_LIMIT_CUT)
		reason_set(news, STATUS_OK, "to keep all of it, redirect it: pmtop -- sh -c 'COMMAND > FILE 2>&1'",
			"the log exceeds 512 MB: pmtop keeps its first MB and newest 256 MB");
	else if (result == LOG_LIMIT_REFUSED)
		reason_set(news, STATUS_OK, "redirect it, or end the command",
			"the log exceeds 512 MB, and its file system cannot remove the old part");
	return result != LOG_LIMIT_NOTHING;
}

/* Bounds the log until the command ends. */
static void limit_until_end(struct launch *launch)
{
	struct reason news;
	struct pollfd ended = { .fd = -1, .events = POLLIN };
	if (launch->limit.fd >= 0)
		ended.fd = (int)syscall(SYS_pidfd_open, launch->child, 0);
	while (ended.fd >= 0 && poll(&ended, 1, LIMIT_MS) == 0)
		launch_limit_log(launch, &news);
	if (ended.fd >= 0)
		close(ended.fd);
}

int launch_wait(struct launch *launch)
{
	int status = 0;
	if (launch->child) {
		limit_until_end(launch);
		status = waitpid(launch->child, &status, 0) < 0 ? 0 : status;
		log_limit_close(&launch->limit);
	}
	kineto_idle_close(&launch->kineto);
	relay_end(&launch->relay);
	return status;
}
