/* stacks_stuck.h: reads of a process's memory that block (base/files/remote_reader.h): since when, and when they are
 * retried, at growing intervals. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_STUCK_H
#define PMTOP_SOURCES_INFERRED_STACKS_STUCK_H

#include "src/base/files/remote_reader.h"

/* A longer read is blocked, not just waiting for a disk. */
#define STACKS_STUCK_LIMIT_NS INT64_C(200000000)

/* State of one process; zeroed at first. */
struct stacks_stuck {
	int64_t since_ns;         /* since when its memory cannot be read; 0 = it can */
	int64_t try_ns, after_ns; /* time of the next retry, and the interval before it */
	int64_t ended_ns;         /* when it became readable again */
	pid_t child;              /* the reader's child that was left behind */
};

/* Call after every read of the process. True: the read was given up, and the reader is ready again. */
bool stacks_stuck_note(struct stacks_stuck *stuck, struct remote_reader *reader, int64_t now_ns);
/* Whether to retry a blocked process now. While the child that was left behind has not ended, a new read would block
 * too. */
bool stacks_stuck_is_due(struct stacks_stuck *stuck, struct remote_reader *reader, int64_t now_ns);
/* All reads of the process returned. */
void stacks_stuck_end(struct stacks_stuck *stuck, int64_t now_ns);

/* Searches for Python (py_locate.h) may use 5 % of a CPU, with bursts of half a second, because many watched
 * processes may start together. */
struct stacks_search {
	double credit_ns;
	int64_t at_ns;
};

void stacks_search_init(struct stacks_search *search, int64_t now_ns);
bool stacks_search_may(struct stacks_search *search, int64_t now_ns);
void stacks_search_pay(struct stacks_search *search, int64_t cpu_ns);

#endif
