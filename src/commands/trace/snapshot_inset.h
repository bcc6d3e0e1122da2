/* snapshot_inset.h: the newest memory snapshot of a watched program, searched for and read in a thread, for the view
 * Memory. Main thread only. */
#ifndef PMTOP_COMMANDS_TRACE_SNAPSHOT_INSET_H
#define PMTOP_COMMANDS_TRACE_SNAPSHOT_INSET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/trace/snapshot/snapshot_digest.h"

struct snapshot_search;

struct snapshot_inset {
	struct snapshot_search *search; /* goes on in a thread; NULL: none */
	struct snapshot_digest *digest; /* the newest one that could be read; NULL: none */
	char failed[4096];              /* the newest one that could not */
	int64_t searched_ns;
};

/* Begins to look into the working directories of pmtop and of the process, unless it has done so less than
 * `every_ns` ago or is at it. */
void snapshot_inset_search(struct snapshot_inset *inset, pid_t pid, int64_t now_ns, int64_t every_ns);
/* To be called often while inset->search. True: inset->digest is a new one; or there is news in `why_not`. */
bool snapshot_inset_step(struct snapshot_inset *inset, struct reason *why_not);
/* Does not wait for a folder that does not answer. */
void snapshot_inset_close(struct snapshot_inset *inset);

#endif
