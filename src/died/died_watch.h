/* died_watch.h: what has to be noted while a process lives, to say afterwards why it ended: its cgroup's count of
 * out-of-memory kills, the files that its output goes to, and its pidfd, which has its exit status (Linux 6.15).
 * Nothing is read in between. A file whose server never answers delays a call by a second. */
#ifndef PMTOP_DIED_DIED_WATCH_H
#define PMTOP_DIED_DIED_WATCH_H

#include <sys/types.h>

#include "src/died/died.h"

enum { DIED_OUTPUTS = 2 };

struct died_watch {
	pid_t pid; /* 0 = none */
	int pidfd;
	int outputs[DIED_OUTPUTS];   /* standard error and output (O_PATH); −1 = unknown */
	int64_t sizes[DIED_OUTPUTS]; /* of them, at the beginning; 0: all of it is its own */
	bool is_child;               /* of pmtop */
	uid_t user;                  /* that the process ran as */
	const char *log;
	char oom_path[DIED_PATH_SIZE]; /* the cgroup's memory.events; empty = unknown */
	double oom_kills;              /* NAN = unknown */
	int64_t begun_ns, begun_us;    /* CLOCK_MONOTONIC; the kernel log's clock */
};

/* `log`: the file that its output goes to, which outlives the watch; NULL: those that its standard output and error are
 * open on. What may not be opened is not known. */
void died_watch_begin(struct died_watch *watch, pid_t pid, const char *log);
/* After its end. Fills in exit status (unless the caller has it), kills, output and kernel log; a child stays to be
 * waited for. */
void died_watch_finish(struct died_watch *watch, struct died_evidence *out);
void died_watch_close(struct died_watch *watch);

#endif
