/* exchange.h: time that a rank spends in sending to and receiving from single ranks, by stack samples: gloo's send and
 * receive are not in the flight recorder. A stage of a pipeline that is late because it received late is not the reason
 * for its delay. Private to src/model/collectives. */
#ifndef PMTOP_MODEL_COLLECTIVES_EXCHANGE_H
#define PMTOP_MODEL_COLLECTIVES_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

struct model;
struct collective_group;
struct collective_slot;

/* Of one rank, sums over several spans of time; zeroed at first. Samples count by the time that they stand for, because
 * pmtop samples a rank that waits less often. */
struct exchange {
	double elapsed_s, waited_s; /* waited_s: in collectives */
	double sampled_s, communication_s;
	unsigned samples;
};

/* Of a rank that was late, and of those that entered first, since the collective before. */
struct exchange_pair {
	struct exchange late, first;
	double delays_s;
};

/* Adds a delay of `delay_s` in a collective; nothing if it is shorter than a millisecond. */
void exchange_add(const struct model *model, const struct collective_group *group, const struct collective_slot *slot,
	size_t first, size_t late, double delay_s, struct exchange_pair *pair);
/* For which part of its delays the rank did not wait for other ranks longer than the first ones did: 0 below 0.6, since
 * samples are few; 1 without enough samples. */
double exchange_busy_ratio(const struct exchange_pair *pair);

#endif
