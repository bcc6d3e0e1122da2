/* flight_world.h: which rank a process is, from PyTorch's registry of process groups (c10d's GroupRegistry.cpp) in its
 * memory. It needs no variables of a launcher. The layout is that of PyTorch 2.13 and 2.14 on x86-64 and libstdc++. */
#ifndef PMTOP_SOURCES_COLLECTIVES_FLIGHT_WORLD_H
#define PMTOP_SOURCES_COLLECTIVES_FLIGHT_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct flight_world {
	uint32_t rank, size; /* of the default group */
};

/* `registry`: its address (flight_locate.h). False: there is no default group, or the layout is another one. */
bool flight_world_read(pid_t pid, uint64_t registry, struct flight_world *out);

#endif
