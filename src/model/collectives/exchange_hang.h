/* exchange_hang.h: ranks that hang in sending to or receiving from others, by stack samples: gloo's send and receive
 * are not in the flight recorder. */
#ifndef PMTOP_MODEL_COLLECTIVES_EXCHANGE_HANG_H
#define PMTOP_MODEL_COLLECTIVES_EXCHANGE_HANG_H

#include "src/model/collectives/collectives.h"

/* Ranks are indexes into `ranks`. */
struct exchange_hang {
	size_t waiting_count, late_count; /* late_count 0: nothing hangs, or it is unknown */
	uint8_t waiting[COLLECTIVE_RANKS_MAX], late[COLLECTIVE_RANKS_MAX];
};

/* Each living rank has had one stack for the last seconds: some in communication, the late ones elsewhere. */
void exchange_hang_find(const struct model *model, struct exchange_hang *out);

#endif
