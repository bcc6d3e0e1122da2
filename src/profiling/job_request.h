/* job_request.h: a request for a trace to each rank of a job, which begin at the same time; or to one program. A rank
 * that fails does not end the others' requests. */
#ifndef PMTOP_PROFILING_JOB_REQUEST_H
#define PMTOP_PROFILING_JOB_REQUEST_H

#include <stddef.h>

#include "src/profiling/profiling.h"

struct rank_request {
	pid_t pid;
	const char *rank;   /* the caller's; "": no rank */
	enum status status; /* AGAIN: it goes on; OK: profiling.path is the trace */
	struct reason reason;
	bool is_target_open;
	struct target target;
	struct profiling profiling;
	char said[PROFILING_WORDS_SIZE]; /* for the caller: what it has shown */
};

struct job_request {
	size_t count;
	struct rank_request *ranks; /* with pid and rank, from the caller */
};

void job_request_begin(struct job_request *job, const struct profiling_order *order, int64_t now_ns);
/* False: all have ended. To be called about ten times a second, and when one of profiling_fd() is readable. */
bool job_request_step(struct job_request *job, int64_t now_ns);
/* Withdraws what goes on; what failed for that reason has the status AGAIN. */
void job_request_end(struct job_request *job);

#endif
