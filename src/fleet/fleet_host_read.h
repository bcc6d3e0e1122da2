/* fleet_host_read.h: the stream of a host, and what its records say of ranks. */
#ifndef PMTOP_FLEET_FLEET_HOST_READ_H
#define PMTOP_FLEET_FLEET_HOST_READ_H

#include "src/fleet/fleet_host.h"

enum fleet_reading {
	FLEET_READING_WAITS,
	FLEET_READING_ENDED,
	FLEET_READING_REFUSED /* host->reason says why */
};

/* Reads its stream from its process. */
enum fleet_reading fleet_host_read(struct fleet_host *host, int64_t now_ns, char *room, size_t room_size);
/* The next bytes of its stream. False: it is refused. */
bool fleet_host_feed(struct fleet_host *host, const char *bytes, size_t length, int64_t now_ns);
/* No more will come. False: what was left is refused. */
bool fleet_host_finish(struct fleet_host *host, int64_t now_ns);

#endif
