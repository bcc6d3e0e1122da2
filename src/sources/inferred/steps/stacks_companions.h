/* stacks_companions.h: loaders that are read together in each step (zip(a, b), a labelled and an unlabelled one): the
 * passes of one of them are the steps, those of its companions are not counted besides. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_COMPANIONS_H
#define PMTOP_SOURCES_INFERRED_STACKS_COMPANIONS_H

#include "src/sources/python/counters/py_counter.h"

enum { COMPANIONS_LOADERS_MAX = 8 };

enum companion {
	COMPANION_NONE,  /* counted */
	COMPANION_MAYBE, /* not counted before it is known */
	COMPANION_IS_ONE
};

struct companion_pass {
	uint64_t serial;
	enum companion state;
	uint64_t with;             /* serial of the pass that is counted; 0 = none yet */
	uint64_t own_at, other_at; /* batches of both when it was found */
	uint64_t own_by, other_by; /* how many more at the last poll */
	unsigned together;         /* polls that found both advanced */
	int64_t since_ns;
};

/* Zeroed at first. */
struct stacks_companions {
	size_t count;
	struct companion_pass passes[PY_COUNTED_MAX];
	size_t loader_count;
	uint64_t loaders[COMPANIONS_LOADERS_MAX]; /* samplers of loaders whose passes were companions */
};

/* Removes from the polled passes those that are not counted. Returns how many remain. */
size_t stacks_companions_remove(
	struct stacks_companions *companions, struct py_counted *counted, size_t count, int64_t now_ns);

#endif
