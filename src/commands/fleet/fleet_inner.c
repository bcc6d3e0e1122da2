#include "src/commands/fleet/fleet_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/commands/commands.h"
#include "src/fleet/fleet_host.h"
#include "src/fleet/fleet_tee.h"

enum { DESCRIPTORS_MAX = 65536 };

/* The pipes of the hosts must not stay open here. Containers allow a billion descriptors, too many to close each. */
static void close_others(void)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0U) == 0)
		return;
#endif
	long max = sysconf(_SC_OPEN_MAX);
	for (int fd = STDERR_FILENO + 1; fd < (max < DESCRIPTORS_MAX ? max : DESCRIPTORS_MAX); fd++)
		close(fd);
}

static void be_inner(const struct options *options, const struct settings *settings, int stream, pid_t shown)
{
	struct options inner = { .command = &watch_command,
		.replay = "-",
		.color = options->color,
		.ascii = options->ascii,
		.is_inner = true,
		.inner_pid = shown };
	dup2(stream, STDIN_FILENO);
	close_others();
	signal(SIGPIPE, SIG_DFL);
	enum exit_code code = watch_command.run(&inner, settings);
	fflush(NULL);
	_exit((int)code);
}

pid_t fleet_inner_start(const struct options *options, const struct settings *settings, struct fleet_host *host,
	pid_t shown, struct reason *why_not)
{
	int ends[2];
	struct fleet_tee *tee = pipe2(ends, O_CLOEXEC) == 0 ? fleet_tee_new(ends[1]) : NULL;
	pid_t child = -1;
	if (!tee)
		goto out;
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	fflush(NULL);
	child = fork();
	if (child == 0)
		be_inner(options, settings, ends[0], shown);
	close(ends[0]);
	if (child > 0) {
		fleet_host_tee(host, tee);
		return child;
	}
	fleet_tee_free(tee);
out:
	reason_set(why_not, STATUS_IO, NULL, "the views of this rank were not opened: %s", strerror(errno));
	return -1;
}
