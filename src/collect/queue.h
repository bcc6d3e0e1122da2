/* queue.h: the bounded queue of sample sets between one producing thread and the main thread.
 *
 * Sets are swapped, not copied, so neither side allocates. When the queue is full the producer keeps its set and
 * continues to fill it: nothing is dropped. Neither side waits for the other longer than one swap. */
#ifndef PMTOP_COLLECT_QUEUE_H
#define PMTOP_COLLECT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

struct queue;

struct queue *queue_new(unsigned capacity); /* NULL when out of memory or file descriptors */
void queue_free(struct queue *queue);
/* Producer. Swaps *set with an empty one. False: the queue is full, *set is unchanged. */
bool queue_push(struct queue *queue, struct sample_set *set);
/* Main thread. Clears *set and swaps it with the oldest one in the queue. False: the queue is empty, and so is *set. */
bool queue_pop(struct queue *queue, struct sample_set *set);
/* An eventfd that is readable while the queue is not empty. */
int queue_fd(const struct queue *queue);

#endif
