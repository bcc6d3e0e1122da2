/* collector_private.h: shared by collector.c and collector_watch.c. */
#ifndef PMTOP_COLLECT_COLLECTOR_PRIVATE_H
#define PMTOP_COLLECT_COLLECTOR_PRIVATE_H

#include <semaphore.h>
#include <stdatomic.h>

#include "src/base/files/hang_watch.h"
#include "src/collect/collector.h"

enum { SOURCES_MAX = 16, LEFT_BEHIND_MAX = 32, TREE = -1 };

/* The state of one source. */
struct feed {
	const struct source *source;
	void *state;       /* NULL: not open */
	int64_t next_ns;   /* when to read it, or to retry opening it */
	int64_t sample_ns; /* when to call its `sample`; INT64_MAX = not at all */
	int64_t backoff_ns;
	bool is_missed; /* a RECORD_MISSING was emitted for it */
	bool is_over;
	bool is_starting; /* opened, is_awaited, and nothing delivered yet */
};

struct collector {
	struct target *target;
	struct queue *queue;
	unsigned feed_count;
	struct feed feeds[SOURCES_MAX];
	struct sample_set set; /* sampler thread: the set being filled */
	struct ledger *ledger; /* current state, for snapshots */
	uint64_t pushed;       /* number of sets, sampler thread */
	bool is_queue_full;    /* `set` was not pushed */

	uint64_t taken; /* number of sets, main thread */
	_Atomic bool wants_snapshot;
	_Atomic bool is_starting;  /* as of the last set pushed */
	_Atomic uint64_t last_set; /* number of the last set; 0 = not known yet */

	struct hang_thread sampler; /* replaced after its thread was abandoned */
	/* index of the feed being read, TREE = the target's process tree; sampler thread, as are the next two */
	int reading;
	size_t before;       /* records in the set before that feed */
	size_t before_turn;  /* records in the set before this period: the ledger has noted them */
	unsigned left_count; /* abandoned samplers */
	size_t silent_count; /* files reported as not answering … */
	char silent[HANG_PATHS_MAX][HANG_PATH_SIZE];
	int64_t silent_ns; /* … at this time */
	struct hang_thread watcher;
	int watcher_fd; /* eventfd: stops the watcher */
	int wake_fd;    /* eventfd: one of the next two has changed */
	_Atomic int64_t period_ns;
	_Atomic bool is_stopping;
	sem_t has_read;     /* posted when the first set has been pushed */
	int64_t refresh_ns; /* when to refresh the process tree */
};

#endif
