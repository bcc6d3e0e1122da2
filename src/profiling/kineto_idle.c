#include "src/profiling/kineto_idle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/profiling/trace_file.h"

/* The default of PyTorch once Kineto has started: errors. Before, it prints notes on the daemon. */
#define LOG_LEVEL "4"

/* unix(7) has no word on it: a datagram that the receiver's filter drops counts as sent. */
static bool drop_all(int fd)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &drop };
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

static bool bind_idle(const struct kineto_idle *idle)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char name[KINETO_IDLE_FOLDER_SIZE + 16];
	snprintf(address.sun_path, sizeof address.sun_path, "%s/idle", idle->folder);
	snprintf(name, sizeof name, "%s/dynolog", idle->folder);
	return fchmod(idle->fd, 0600) == 0 && drop_all(idle->fd) &&
		bind(idle->fd, (const struct sockaddr *)&address, sizeof address) == 0 && link(address.sun_path, name) == 0;
}

enum status kineto_idle_open(struct kineto_idle *idle, struct reason *why_not)
{
	*idle = (struct kineto_idle){ .fd = -1, .folder = "/tmp/pmtop-kineto-XXXXXX" };
	bool is_made = mkdtemp(idle->folder) != NULL;
	if (is_made) {
		idle->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (idle->fd >= 0 && bind_idle(idle))
			return STATUS_OK;
	}
	int error = errno;
	if (is_made)
		kineto_idle_close(idle);
	*idle = (struct kineto_idle){ .fd = -1 };
	return reason_set(why_not, STATUS_IO, "start the command without --profile",
		"no socket for PyTorch can be made in /tmp: %s", strerror(error));
}

void kineto_idle_set(const struct kineto_idle *idle)
{
	if (!idle->folder[0] || getenv("KINETO_USE_DAEMON"))
		return;
	fcntl(idle->fd, F_SETFD, 0);
	setenv("KINETO_USE_DAEMON", "1", true);
	setenv("KINETO_IPC_SOCKET_DIR", idle->folder, true);
	setenv("KINETO_LOG_LEVEL", LOG_LEVEL, false);
}

void kineto_idle_close(struct kineto_idle *idle)
{
	if (!idle->folder[0])
		return;
	if (idle->fd >= 0)
		close(idle->fd);
	trace_folder_remove(idle->folder);
	*idle = (struct kineto_idle){ .fd = -1 };
}
