/* stacks_private.h: the state of the stack thread. Private to stacks.c and stacks_others.c. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_PRIVATE_H
#define PMTOP_SOURCES_INFERRED_STACKS_PRIVATE_H

#include <stdatomic.h>

#include "src/sources/inferred/stacks_budget.h"
#include "src/sources/inferred/sums/stacks_groups.h"
#include "src/sources/inferred/sums/stacks_lines.h"
#include "src/sources/inferred/steps/stacks_follow.h"
#include "src/sources/inferred/steps/stacks_loaders.h"
#include "src/sources/inferred/steps/stacks_spawned.h"
#include "src/sources/inferred/stacks_missing.h"
#include "src/sources/inferred/stacks_pace.h"
#include "src/sources/inferred/job/stacks_present.h"
#include "src/sources/inferred/job/stacks_ranks.h"
#include "src/sources/inferred/job/stacks_siblings.h"
#include "src/sources/inferred/sums/stacks_recent.h"
#include "src/sources/inferred/stacks_stuck.h"
#include "src/sources/inferred/sums/stacks_threads.h"
#include "src/sources/inferred/sums/stacks_tree.h"
#include "src/sources/own_thread.h"
#include "src/sources/python/counters/py_gradients.h"
#include "src/sources/python/py_sampler.h"
#include "src/sources/target/target.h"

enum { PROCESSES_MAX = STACKS_PROCESSES_MAX, NO_GROUP = STACKS_GROUPS_MAX };

/* The stack thread's state of a process. */
struct sampled {
	struct stacks_process process;
	struct py_sampler *sampler;   /* NULL: not opened (yet) */
	int64_t try_ns, try_after_ns; /* when opening is (re)tried; INT64_MAX = never */
	struct stacks_owner owner;    /* owner of the lines that it runs */
	size_t group;                 /* index, or NO_GROUP: unknown yet */
	struct stacks_loaders loaders;
	int64_t poll_each_ns; /* between its polls */
	int64_t noted_ns;     /* when its user was last noted */
	struct stacks_spawned spawned;
	struct stacks_stuck stuck;
	struct stacks_threads *threads; /* NULL: none yet, or a DataLoader worker */
	int64_t threads_ns;             /* when they are sampled next */
	struct stacks_follow follow;    /* which of its threads trains */
	struct py_gradients *gradients; /* NULL: no memory */
};

struct stacks_state {
	struct target *target;
	struct own_thread thread;
	/* protected by its lock */
	struct stacks_present present;
	struct stacks_tree *tree;
	struct stacks_recent recent;
	struct stacks_waits waits;
	struct stacks_groups groups;
	struct stacks_runs runs;
	struct stacks_found found;
	struct stacks_missing missing;
	int64_t reader_cpu_ns;
	bool is_spawned_rank; /* the target itself; see stacks_spawned.h */
	/* used by the stack thread only */
	struct remote_reader *reader;
	size_t sampled_count;
	struct sampled sampled[PROCESSES_MAX];
	struct stacks_lines *lines;
	struct py_sample sample;
	const char *texts[PY_FRAMES_MAX];
	struct stacks_polled polled;
	struct stacks_budget budget;
	struct stacks_pace pace;
	struct stacks_search search;
	/* used by the collector's thread only */
	int64_t opened_ns;
	bool has_emitted_no_text;
	struct stacks_ranks ranks;
};

#endif
