/* pids.h: whose pid a driver speaks of. A driver may number processes as the host does while pmtop sees them as its
 * container does. */
#ifndef PMTOP_SOURCES_GPU_PIDS_H
#define PMTOP_SOURCES_GPU_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/sources/target/target.h"

struct pid_seen;
struct pid_numbers;

/* What was found out is kept for a time: several GPUs ask for the same process, again and again. */
struct pids {
	const struct target *target;
	const char *device;    /* how the paths of its devices begin ("/dev/nvidia") */
	bool is_inside;        /* pmtop's pids are not those of the whole machine */
	struct pid_seen *seen; /* processes that were looked at */
	size_t seen_count;
	struct pid_numbers *numbers; /* of the target's members, in their order */
	size_t number_count, number_room;
};

enum pid_place {
	PID_GONE, /* it has ended since */
	PID_KNOWN,
	PID_HIDDEN, /* it runs outside the container that pmtop is in */
};

void pids_init(struct pids *pids, const struct target *target, const char *device);
void pids_release(struct pids *pids);
/* *out: its pid as pmtop sees it, where it is known. Inside a container an equal number proves nothing: the process
 * must have a device of the driver open too, or be known by that number elsewhere (NSpid). */
enum pid_place pids_find(struct pids *pids, uint32_t emitted, int64_t now_ns, int32_t *out);
/* What it runs, short and clean; "" of the target's own, and where we may not know. Known for ten seconds. */
void pids_command(struct pids *pids, int32_t pid, int64_t now_ns, char *out, size_t size);

#endif
