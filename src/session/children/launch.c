#include "src/session/children/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"

enum { FOLDER_SIZE = 400 };

/* $XDG_STATE_HOME/pmtop (~/.local/state/pmtop), which it makes; empty: there is no home. */
static void make_folder(char folder[FOLDER_SIZE])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	folder[0] = '\0';
	if (state && state[0] == '/')
		snprintf(folder, FOLDER_SIZE, "%s/pmtop", state);
	else if (home && home[0] == '/')
		snprintf(folder, FOLDER_SIZE, "%s/.local/state/pmtop", home);
	else
		return;
	for (char *slash = folder + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(folder, 0700);
		*slash = '/';
	}
	mkdir(folder, 0700);
}

/* While pmtop uses standard output for the screen or the stream, the command's output goes to output-PID.log. */
static int open_log(struct launch *launch, const char *folder)
{
	int log = -1;
	if (folder[0]) {
		snprintf(launch->log, sizeof launch->log, "%s/output-%d.log", folder, (int)getpid());
		log = open(launch->log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (log < 0)
		launch->log[0] = '\0';
	return log >= 0 ? log : open("/dev/null", O_WRONLY | O_CLOEXEC);
}

/* In the child. Does not return. */
static void run(const struct launch *launch, char **command, int log, int ready)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (log >= 0) {
		int nothing = open("/dev/null", O_RDONLY);
		dup2(nothing, STDIN_FILENO);
		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
	}
	launch_python_set(&launch->python);
	execvp(command[0], command);
	int error = errno;
	_exit(write(ready, &error, sizeof error) == (ssize_t)sizeof error ? 127 : 126);
}

enum status launch_start(
	struct launch *launch, char **command, bool is_output_ours, bool instruments, struct reason *why_not)
{
	char folder[FOLDER_SIZE];
	int ready[2];
	*launch = (struct launch){ .python = { .fd = -1 } };
	make_folder(folder);
	if (pipe2(ready, O_CLOEXEC) < 0)
		return reason_set(
			why_not, STATUS_IO, "close some programs", "cannot start %s: %s", command[0], strerror(errno));
	int log = is_output_ours ? open_log(launch, folder) : -1;
	if (instruments)
		launch_python_prepare(&launch->python, command, folder, clock_monotonic_ns());
	pid_t child = fork();
	if (child == 0)
		run(launch, command, log, ready[1]);
	if (log >= 0)
		close(log);
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
	return reason_set(why_not, error == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, "check the command after --",
		"cannot start %s: %s", command[0], strerror(error));
}

int launch_wait(const struct launch *launch)
{
	int status = 0;
	if (launch->child && waitpid(launch->child, &status, 0) < 0)
		status = 0;
	return status;
}
