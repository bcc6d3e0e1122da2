/* queue.h: the bounded queue of sample sets between one producing thread and the main thread.
 *
 * Sets are exchanged, not copied: both sides give a set and get one back, so nothing is allocated on the way. When it
 * is full the newest set waits with the producer, which goes on filling it: nothing is thrown away. Neither side ever
 * waits for the other but for the moment of a swap. */
#ifndef PMTOP_COLLECT_QUEUE_H
#define PMTOP_COLLECT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

struct queue;

struct queue *queue_new(unsigned capacity); /* NULL when out of memory or file descriptors */
void queue_free(struct queue *queue);
/* Producer. Swaps *set (full) against an empty one. False: the queue is full, *set stays as it is. */
bool queue_push(struct queue *queue, struct sample_set *set);
/* Main thread. Clears *set and swaps it against the oldest full one. False: nothing there; *set is empty. */
bool queue_pop(struct queue *queue, struct sample_set *set);
/* An eventfd that is readable while something is in the queue. */
int queue_fd(const struct queue *queue);

#endif
