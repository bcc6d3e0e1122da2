#include "src/fleet/reach/fleet_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/files/start.h"

/* 256 kB a call: all that a pipe holds when its process has ended, and of a flood a few ms of work. */
enum { PIECES_MAX = 64 };

static void close_fds(int fds[3])
{
	for (int i = 0; i < 3; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

static int open_pipes(int ours[3], int theirs[3])
{
	for (int i = 0; i < 3; i++) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) < 0)
			return errno;
		ours[i] = ends[i == STDIN_FILENO];
		theirs[i] = ends[i != STDIN_FILENO];
		fcntl(ours[i], F_SETFL, O_NONBLOCK);
	}
	return 0;
}

/* Each process has three pipes: the default limit of 1,024 descriptors allows 340 of them. */
void fleet_process_raise_limit(size_t processes)
{
	enum { FDS_EACH = 3, FDS_MORE = 64 };
	struct rlimit limit;
	rlim_t wanted = (rlim_t)(processes * FDS_EACH + FDS_MORE);
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int fleet_process_start(struct fleet_process *process, const char *command)
{
	char *const words[] = { "sh", "-c", (char *)command, NULL };
	int theirs[3] = { -1, -1, -1 };
	*process = (struct fleet_process)FLEET_PROCESS_INIT;
	int error = open_pipes(process->fds, theirs);
	if (!error)
		error = start_program_with(words, environ, theirs, &process->pid);
	close_fds(theirs);
	if (error) {
		process->pid = 0;
		close_fds(process->fds);
	}
	return error;
}

static void take_line(struct fleet_process *process, fleet_line_taker *take, void *context)
{
	process->line[process->line_length] = '\0';
	if (process->line_length)
		take(context, process->line);
	process->line_length = 0;
}

/* False: there may be more. */
static bool read_piece(struct fleet_process *process, fleet_line_taker *take, void *context)
{
	char bytes[4096];
	int fd = process->fds[STDERR_FILENO];
	ssize_t length = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
	for (ssize_t i = 0; i < length; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r')
			take_line(process, take, context);
		else if (process->line_length + 1 < sizeof process->line)
			process->line[process->line_length++] = bytes[i];
	}
	if (length == 0) {
		take_line(process, take, context);
		close(fd);
		process->fds[STDERR_FILENO] = -1;
	}
	return length < (ssize_t)sizeof bytes;
}

bool fleet_process_read_errors(struct fleet_process *process, fleet_line_taker *take, void *context)
{
	for (int i = 0; i < PIECES_MAX; i++)
		if (read_piece(process, take, context))
			return true;
	return false;
}

int fleet_process_write(struct fleet_process *process, const char *bytes, size_t length)
{
	return write(process->fds[STDIN_FILENO], bytes, length) < 0 ? errno : 0;
}

void fleet_process_close_output(struct fleet_process *process)
{
	close(process->fds[STDOUT_FILENO]);
	process->fds[STDOUT_FILENO] = -1;
}

bool fleet_process_has_ended(const struct fleet_process *process)
{
	siginfo_t info = { 0 };
	return waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

bool fleet_process_reap(struct fleet_process *process, int *status)
{
	if (!process->pid || !fleet_process_has_ended(process))
		return false;
	/* Until it is reaped no other group can have its number. */
	kill(-process->pid, SIGKILL);
	waitpid(process->pid, status, WNOHANG);
	process->pid = 0;
	return true;
}

pid_t fleet_process_detach(struct fleet_process *process)
{
	pid_t pid = process->pid;
	close_fds(process->fds);
	process->pid = 0;
	process->line_length = 0;
	return pid;
}

void fleet_dying_add(struct fleet_dying *dying, pid_t pid)
{
	if (!pid)
		return;
	if (dying->count == dying->capacity) {
		size_t capacity = dying->capacity ? 2 * dying->capacity : 16;
		pid_t *pids = realloc(dying->pids, capacity * sizeof *pids);
		if (!pids)
			return;
		dying->pids = pids;
		dying->capacity = capacity;
	}
	dying->pids[dying->count++] = pid;
}

void fleet_dying_reap(struct fleet_dying *dying)
{
	for (size_t i = dying->count; i-- > 0;)
		if (waitpid(dying->pids[i], NULL, WNOHANG) != 0)
			dying->pids[i] = dying->pids[--dying->count];
}

void fleet_dying_release(struct fleet_dying *dying)
{
	free(dying->pids);
	*dying = (struct fleet_dying){ 0 };
}
