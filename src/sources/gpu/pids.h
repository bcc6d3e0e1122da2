/* pids.h: translates the pids that a driver reports. A driver may use the host's pids while pmtop sees those of its
 * container. */
#ifndef PMTOP_SOURCES_GPU_PIDS_H
#define PMTOP_SOURCES_GPU_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/sources/target/target.h"

struct pid_entry;
struct pid_numbers;

/* Results are cached for a while, because several GPUs ask for the same processes repeatedly. */
struct pids {
	const struct target *target;
	const char *device;        /* prefix of the paths of its devices ("/dev/nvidia") */
	bool is_inside;            /* pmtop runs in a pid namespace of its own */
	struct pid_entry *entries; /* cached processes */
	size_t entry_count;
	struct pid_numbers *numbers; /* of the target's members, in their order */
	size_t number_count, number_room;
};

enum pid_status {
	PID_GONE, /* it has ended */
	PID_KNOWN,
	PID_HIDDEN, /* it runs outside pmtop's container */
};

void pids_init(struct pids *pids, const struct target *target, const char *device);
void pids_release(struct pids *pids);
/* *out: its pid as pmtop sees it, for PID_KNOWN. In a container an equal number is no proof: the process must also
 * have a device of the driver open, or have that number in another namespace (NSpid). */
enum pid_status pids_find(struct pids *pids, uint32_t driver_pid, int64_t now_ns, int32_t *out);
/* Its short, cleaned command; "" for the target's own processes, and if pmtop may not read it. Cached for ten
 * seconds. */
void pids_command(struct pids *pids, int32_t pid, int64_t now_ns, char *out, size_t size);

#endif
