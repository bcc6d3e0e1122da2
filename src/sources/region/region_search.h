/* region_search.h: when which process of the tree is searched for regions. A search reads the process's maps, which may
 * be long: the interval grows while none is found, and a process whose virtual memory has kept its size maps no new
 * region. Launch mode's reports that a process publishes from now on (choices->instrumented) begin all anew. Private to
 * src/sources/region. */
#ifndef PMTOP_SOURCES_REGION_REGION_SEARCH_H
#define PMTOP_SOURCES_REGION_REGION_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/sources/target/target.h"

struct region_search {
	pid_t pid;
	uint64_t start_ticks;
	unsigned generation;
	int64_t next_ns, interval_ns, interval_max_ns;
	int64_t anyway_ns, changed_ns;
	uint64_t virtual_bytes; /* at the last search; 0 = unknown, or what was found then is not settled */
};

/* Zeroed at first. */
struct region_searches {
	unsigned instrumented; /* choices->instrumented, as of the last call */
	size_t count;
	struct region_search list[TARGET_MEMBERS_MAX]; /* in the order of the target's members */
};

/* To be called first, with the target's members as they are now. */
void region_searches_follow(struct region_searches *searches, const struct target *target);
/* From next_ns on: whether to search the process now; sets the next time. */
bool region_search_is_due(struct region_search *search, const struct target_member *member, int64_t now_ns);

#endif
