/* pids.h: whose pid a driver speaks of. A driver may number processes as the host does while pmtop sees them as its container does. */
#ifndef PMTOP_SOURCES_GPU_PIDS_H
#define PMTOP_SOURCES_GPU_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/sources/target.h"

struct pids {
	const struct target *target;
	const char *device;                  /* how the paths of its devices begin ("/dev/nvidia") */
	bool is_inside;                      /* pmtop's pids are not those of the whole machine */
};

enum pid_place {
	PID_GONE,                            /* it has ended since */
	PID_KNOWN,
	PID_HIDDEN,                          /* it runs outside the container that pmtop is in */
};

void pids_init(struct pids *pids, const struct target *target, const char *device);
/* *out: its pid as pmtop sees it, where it is known. Inside a container an equal number proves nothing: the process must have a device of the driver
 * open too, or be known by that number elsewhere (NSpid). */
enum pid_place pids_find(const struct pids *pids, uint32_t told, int32_t *out);
/* What it runs, short and clean; "" of the target's own, and where we may not know. */
void pids_command(const struct pids *pids, int32_t pid, char *out, size_t size);

#endif
