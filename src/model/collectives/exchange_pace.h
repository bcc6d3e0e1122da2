/* exchange_pace.h: the slowest rank of a job whose ranks send to and receive from each other, as the stages of a
 * pipeline do, by the stack samples of the last minute: gloo's send and receive are not in the flight recorder. The
 * slowest rank waits for the others the least. */
#ifndef PMTOP_MODEL_COLLECTIVES_EXCHANGE_PACE_H
#define PMTOP_MODEL_COLLECTIVES_EXCHANGE_PACE_H

#include <stdbool.h>

struct model;

struct exchange_pace {
	int slowest;                    /* index of the rank; −1: none, or unknown */
	double waits_ratio, next_ratio; /* of its time in send and receive, and of the rank's that waits the next least */
};

/* Named if the next rank's share is larger by three tenths of the time and three standard errors, while all ranks move:
 * each has samples in send or receive and outside of them. Of a job with ranks elsewhere, none is named.
 * has_collectives: the ranks also enter collectives, whose samples do not count; if it is unknown in what a rank waits,
 * none is named. */
void exchange_pace_find(const struct model *model, bool has_collectives, struct exchange_pace *out);

#endif
