/* exchange_hang.h: ranks that hang in sending to or receiving from others, by stack samples: gloo's send and receive
 * are not in the flight recorder. */
#ifndef PMTOP_MODEL_COLLECTIVES_EXCHANGE_HANG_H
#define PMTOP_MODEL_COLLECTIVES_EXCHANGE_HANG_H

#include "src/model/collectives/collectives.h"

/* Ranks are indexes into `ranks`. */
struct exchange_hang {
	size_t waiting_count, late_count; /* waiting_count 0: nothing hangs, or it is unknown; late_count 0: all wait */
	uint8_t waiting[COLLECTIVE_RANKS_MAX], late[COLLECTIVE_RANKS_MAX];
};

/* In order of trust. */
enum exchange_movement {
	EXCHANGE_UNKNOWN, /* their context switches are, as in older recordings */
	EXCHANGE_MOVES,
	EXCHANGE_STANDS /* for 5 s, and 1.5 times the longest time before */
};

/* Whether a function of a library, with or without its class, sends to or receives from single ranks. */
bool exchange_is_function(const char *function);
/* Each living rank has had one stack for the last seconds: some in communication, the late ones elsewhere. All wait:
 * that may also be how a pipeline looks that moves on between two samples. */
void exchange_hang_find(const struct model *model, struct exchange_hang *out);
/* Whether the ranks that wait in it still wake up, by their voluntary context switches: few samples of a slow pipeline
 * look like those of a hang. */
enum exchange_movement exchange_hang_movement(const struct model *model, const struct exchange_hang *hang);
/* For how long none of them has woken up; NAN = unknown. */
double exchange_hang_stands_s(const struct model *model, const struct exchange_hang *hang);

/* -- within src/model -- */

/* As of the rank's latest reading; 0 = unknown. */
void exchange_note_switches(struct collective_rank *rank, uint64_t switches, int64_t now_ns);

#endif
