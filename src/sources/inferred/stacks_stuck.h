/* stacks_stuck.h: reads of a process's memory that do not return (python/remote_reader.h): since when, and when they
 * are tried again, ever more seldom. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_STUCK_H
#define PMTOP_SOURCES_INFERRED_STACKS_STUCK_H

#include "src/base/files/remote_reader.h"

/* A read that takes longer has not just waited for a disk. */
#define STACKS_STUCK_LIMIT_NS INT64_C(200000000)

/* Of one process; all 0 at first. */
struct stacks_stuck {
	int64_t since_ns;         /* since when its memory cannot be read; 0 = it can */
	int64_t try_ns, after_ns; /* when it is tried again, and how long that is after the last time */
	int64_t ended_ns;         /* when it could be read again */
	pid_t child;              /* the reader's that was left behind */
};

/* After anything that was read of the process. True: the read was given up, and the reader is ready again. */
bool stacks_stuck_note(struct stacks_stuck *stuck, struct remote_reader *reader, int64_t now_ns);
/* Whether a stuck one is tried now. As long as the child that was left behind has not ended, its read would not return
 * either. */
bool stacks_stuck_is_due(struct stacks_stuck *stuck, struct remote_reader *reader, int64_t now_ns);
/* Everything that is read of it has returned. */
void stacks_stuck_end(struct stacks_stuck *stuck, int64_t now_ns);

/* Searches for Python (py_locate.h) may take a twentieth of a CPU, and half a second of it at once: of whom is watched
 * many may begin together. */
struct stacks_search {
	double credit_ns;
	int64_t at_ns;
};

void stacks_search_init(struct stacks_search *search, int64_t now_ns);
bool stacks_search_may(struct stacks_search *search, int64_t now_ns);
void stacks_search_pay(struct stacks_search *search, int64_t cpu_ns);

#endif
