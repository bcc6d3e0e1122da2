/* container.h: the processes of a container or a pod, by its name: -p docker:NAME, podman:NAME, pod/NAME.
 *
 * The runtimes' files give the id of a name, and /proc/PID/cgroup names the id of each process. Docker and Podman are
 * also asked on their sockets, for at most two seconds. No client of a runtime is started. */
#ifndef PMTOP_SOURCES_CONTAINERS_CONTAINER_H
#define PMTOP_SOURCES_CONTAINERS_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/base/status.h"

enum { CONTAINER_PIDS_MAX = 1024 };

struct container_roots {
	const char *proc; /* "/proc" */
	const char *root; /* "" */
	const char *home; /* of the user, for Podman without root; NULL */
};

struct container {
	size_t count; /* at least 1 */
	pid_t pids[CONTAINER_PIDS_MAX];
	pid_t first;     /* the oldest process that no other of them started */
	bool is_certain; /* false: a pod found by HOSTNAME, which a container can override */
};

/* "docker:NAME", "podman:NAME", "pod/NAME", "pod/NAMESPACE/NAME". */
bool container_is_name(const char *text);
/* Also "NAMESPACE/NAME". STATUS_NOT_FOUND, STATUS_DENIED (the remedy has the runtime's command), STATUS_INVALID (no
 * such name is possible, or several pods have it). */
enum status container_find(
	const struct container_roots *roots, const char *text, struct container *out, struct reason *why_not);

#endif
