#include "src/collect/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The lock is held only to swap two structs, so neither side waits for the other's work. The eventfd is written after
 * unlocking, or the woken thread would have to wait for the lock. */
struct queue {
	pthread_mutex_t lock;
	int fd; /* EFD_SEMAPHORE: number of sets announced and not yet taken; at most `count` */
	unsigned capacity, first, count;
	/* a ring; sets outside the `count` full ones are empty but keep their storage */
	struct sample_set *sets;
};

struct queue *queue_new(unsigned capacity)
{
	struct queue *queue = calloc(1, sizeof *queue);
	if (!queue)
		return NULL;
	queue->capacity = capacity;
	queue->sets = calloc(capacity, sizeof *queue->sets);
	queue->fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
	if (!queue->sets || queue->fd < 0) {
		if (queue->fd >= 0)
			close(queue->fd);
		free(queue->sets);
		free(queue);
		return NULL;
	}
	pthread_mutex_init(&queue->lock, NULL);
	return queue;
}

void queue_free(struct queue *queue)
{
	if (!queue)
		return;
	for (unsigned i = 0; i < queue->capacity; i++)
		sample_set_release(&queue->sets[i]);
	pthread_mutex_destroy(&queue->lock);
	close(queue->fd);
	free(queue->sets);
	free(queue);
}

static void swap(struct sample_set *a, struct sample_set *b)
{
	struct sample_set retained = *a;
	*a = *b;
	*b = retained;
}

bool queue_push(struct queue *queue, struct sample_set *set)
{
	pthread_mutex_lock(&queue->lock);
	bool has_room = queue->count < queue->capacity;
	if (has_room) {
		swap(set, &queue->sets[(queue->first + queue->count) % queue->capacity]);
		queue->count++;
	}
	pthread_mutex_unlock(&queue->lock);
	if (has_room)
		eventfd_write(queue->fd, 1);
	return has_room;
}

bool queue_pop(struct queue *queue, struct sample_set *set)
{
	eventfd_t one;
	sample_set_clear(set);
	pthread_mutex_lock(&queue->lock);
	bool is_empty = queue->count == 0;
	pthread_mutex_unlock(&queue->lock);
	/* Saves the system call when the queue is empty. */
	if (is_empty || eventfd_read(queue->fd, &one) < 0)
		return false;
	pthread_mutex_lock(&queue->lock);
	swap(set, &queue->sets[queue->first]);
	queue->first = (queue->first + 1) % queue->capacity;
	queue->count--;
	pthread_mutex_unlock(&queue->lock);
	return true;
}

int queue_fd(const struct queue *queue) { return queue->fd; }
