#include "src/session/runs/container_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/session/runs/runs.h"
#include "src/sources/containers/container.h"

static bool is_in(const struct container *container, pid_t pid)
{
	for (size_t i = 0; i < container->count; i++)
		if (container->pids[i] == pid)
			return true;
	return false;
}

enum status container_run_find(const char *text, pid_t *pid, struct reason *why_not)
{
	struct container_roots roots = { .proc = "/proc", .root = "", .home = getenv("HOME") };
	struct container *container = malloc(sizeof *container);
	struct run_row *rows = NULL;
	if (!container)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	enum status status = container_find(&roots, text, container, why_not);
	if (status == STATUS_OK) {
		*pid = container->first;
		size_t count = runs_find(NULL, &rows);
		for (size_t i = count; i-- > 0;)
			if (rows[i].is_live && !rows[i].is_elsewhere && is_in(container, rows[i].pid))
				*pid = rows[i].pid;
		if (!container->is_certain)
			fprintf(stderr, "pmtop: %s: found by HOSTNAME of process %d, which a container can override\n", text,
				(int)*pid);
	}
	free(rows);
	free(container);
	return status;
}
