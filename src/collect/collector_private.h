/* collector_private.h: what collector.c and collector_watch.c share. */
#ifndef PMTOP_COLLECT_COLLECTOR_PRIVATE_H
#define PMTOP_COLLECT_COLLECTOR_PRIVATE_H

#include <semaphore.h>
#include <stdatomic.h>

#include "src/base/files/hang_watch.h"
#include "src/collect/collector.h"

enum { SOURCES_MAX = 16, LEFT_BEHIND_MAX = 32, TREE = -1 };

/* A source as it runs. */
struct feed {
	const struct source *source;
	void *state;       /* NULL: not open */
	int64_t next_ns;   /* when it is read, or tried, again */
	int64_t sample_ns; /* when it is looked at before that; INT64_MAX = not */
	int64_t backoff_ns;
	bool is_missed; /* its reason stands in the sets */
	bool is_over;
	bool is_starting; /* it was opened, is awaited, and has told nothing yet */
};

struct collector {
	struct target *target;
	struct queue *queue;
	unsigned feed_count;
	struct feed feeds[SOURCES_MAX];
	struct sample_set set; /* the sampler's, being filled */
	struct ledger *ledger; /* of all that was told */
	uint64_t pushed;       /* sets, by the sampler */
	bool is_queue_full;    /* the set at hand was not taken */

	uint64_t taken; /* sets, by the main thread */
	_Atomic bool wants_snapshot;
	_Atomic bool is_starting;  /* as of the sets that are in the queue */
	_Atomic uint64_t last_set; /* number of the set after which nothing comes; 0 = not known yet */

	struct hang_thread sampler; /* another one after a read was left behind */
	/* the feed that is being read, TREE = the target's tree; the sampler's, as the next two */
	int reading;
	size_t before;       /* records in the set before that */
	size_t before_turn;  /* and before this turn: the ledger has noted them */
	unsigned left_count; /* samplers that were left behind */
	size_t silent_count; /* files that did not answer when it was last emitted … */
	char silent[HANG_PATHS_MAX][HANG_PATH_SIZE];
	int64_t silent_ns; /* … at this time */
	struct hang_thread watcher;
	int watcher_fd; /* eventfd: ends the watcher */
	int wake_fd;    /* eventfd: one of the next two has changed */
	_Atomic int64_t period_ns;
	_Atomic bool is_stopping;
	sem_t has_read;     /* posted after the first reading */
	int64_t refresh_ns; /* when the tree is looked at again */
};

/* The sampler thread. */
void collector_sample(void *collector);

/* -- collector_watch.c: reads that never return -- */

/* The watcher thread: replaces a sampler that hangs in a read. */
void collector_watch(void *collector);
/* Sampler thread. Each file that does not answer is a missing figure by its own name, with its age, until it has
 * answered after all. */
void collector_show_silent(struct collector *collector, int64_t now_ns);

#endif
