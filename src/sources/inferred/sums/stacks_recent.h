/* stacks_recent.h: the samples since the last reading, in order, so that the model can attribute them to single steps.
 */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_RECENT_H
#define PMTOP_SOURCES_INFERRED_STACKS_RECENT_H

#include "src/samples/sample_set.h"

/* If there are more between two readings, the latest are left out. */
enum { STACKS_RECENT_MAX = 512 };

struct stacks_recent {
	size_t count;
	struct {
		uint32_t node, count;
		int64_t begin_ns, end_ns;
	} list[STACKS_RECENT_MAX]; /* consecutive samples with the same node are one entry */
};

/* A sample whose innermost node this was; 0 is left out. */
void stacks_recent_add(struct stacks_recent *recent, uint32_t node, int64_t now_ns);
/* Emits all (CODE_SAMPLES) and forgets them. */
void stacks_recent_emit(struct stacks_recent *recent, struct sample_set *out);

#endif
