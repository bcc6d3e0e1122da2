/* loader.h: turns records of the data set into batches: read, decode, augment, collate; here, or ahead of time in
 * worker processes.
 *
 * Batch k of the run is the same whoever loads it. With workers, batch k comes from worker k mod workers, through a
 * ring of slots in shared memory; two pipes a worker say which slots are free and which are ready. Workers publish into
 * small regions of their own, as those of a DataLoader do, unless an option disables that. */
#ifndef TRAINER_LOADER_H
#define TRAINER_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "faults.h"
#include "pmtop.h"

enum { LOADER_WORKERS_MAX = 16, LOADER_PREFETCH = 2 };

struct loader_plan {
	int fd;                       /* of the data set; loader_stop closes it */
	uint64_t seed, batches;       /* of the whole run */
	unsigned batch_size, workers; /* 0 workers: batches are loaded by the caller */
	uint64_t slow_every;          /* batches slow_every − 1, 2 × slow_every − 1, …; 0 = none */
	int64_t slow_ns;              /* … read and decode so much longer, from when the trainer asks for them */
	struct faults *faults;
	bool is_quiet; /* workers publish nothing */
};

struct loader {
	struct loader_plan plan;
	uint64_t next; /* batch */
	unsigned slots;
	unsigned char *memory; /* the ring: slots of each worker in turn; one slot without workers */
	size_t slot_size;
	struct worker {
		pid_t pid;
		int ask, ready;
	} workers[LOADER_WORKERS_MAX];
};

struct minibatch {
	unsigned samples;
	const float *inputs; /* samples × DIGITS_PIXELS, mean about 0, deviation about 1 */
	const uint8_t *labels;
};

/* Its data is slow by slow_every. */
bool loader_is_planted(const struct loader_plan *plan, uint64_t batch);
/* Forks the workers. False: errno says why; loader_stop still has to be called. */
bool loader_start(struct loader *loader, const struct loader_plan *plan);
void loader_stop(struct loader *loader);
/* The process that loads the batch; 0: this one. */
pid_t loader_worker(const struct loader *loader, uint64_t batch);
/* The next training batch, valid until the next call. False: interrupted by a signal (EINTR), or a worker died. */
bool loader_next(struct loader *loader, struct pmtop *pm, struct minibatch *out);
/* Validation records first … first + samples − 1, as they are; the caller gives the room. False: the file could not be
 * read. */
bool loader_validation(int fd, unsigned first, unsigned samples, float *inputs, uint8_t *labels);

#endif
