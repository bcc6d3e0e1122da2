#include "src/session/children/limited.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"

pid_t limited_fork(int *fd)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid_t child = fork();
	if (child < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	close(ends[child == 0 ? 0 : 1]);
	*fd = ends[child == 0 ? 1 : 0];
	return child;
}

bool limited_wait(pid_t child, int fd, int64_t limit_ns)
{
	struct pollfd ended = { .fd = fd, .events = POLLIN };
	int64_t until_ns = clock_monotonic_ns() + limit_ns, left_ns;
	int got = 0;
	while (got <= 0 && (left_ns = until_ns - clock_monotonic_ns()) > 0)
		got = poll(&ended, 1, (int)(left_ns / NS_PER_MS) + 1);
	close(fd);
	if (got > 0)
		return true;
	kill(child, SIGKILL);
	waitpid(child, NULL, WNOHANG);
	return false;
}
