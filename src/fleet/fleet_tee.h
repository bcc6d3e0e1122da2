/* fleet_tee.h: passes a copy of a host's stream on to another reader, who comes late: from the next dictionary on, with
 * a header before it. The reader may be slow: beyond PENDING_MAX bytes blocks are dropped, and it notices the gap. */
#ifndef PMTOP_FLEET_FLEET_TEE_H
#define PMTOP_FLEET_FLEET_TEE_H

#include <stdbool.h>
#include <stddef.h>

struct stream_header;
struct fleet_tee;

/* `fd`: non-blocking, closed by fleet_tee_free. NULL: out of memory, and fd stays open. */
struct fleet_tee *fleet_tee_new(int fd);
void fleet_tee_free(struct fleet_tee *tee);
/* The next bytes of the stream, in order. */
void fleet_tee_feed(struct fleet_tee *tee, const struct stream_header *header, const char *bytes, size_t length);
/* Writes what the reader takes now. False: the reader is gone. */
bool fleet_tee_flush(struct fleet_tee *tee);

#endif
