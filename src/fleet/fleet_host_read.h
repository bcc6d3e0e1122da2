/* fleet_host_read.h: the stream of a host, and what its records say of ranks. */
#ifndef PMTOP_FLEET_FLEET_HOST_READ_H
#define PMTOP_FLEET_FLEET_HOST_READ_H

#include "src/fleet/fleet_host.h"

/* Reads its stream. False: it is at its end, or refused; then host->reason has the reason, or "". */
bool fleet_host_read(struct fleet_host *host, int64_t now_ns, char *room, size_t room_size);

#endif
