/* asking.h: asks running programs that the options name, and waits for the files that they write. */
#ifndef PMTOP_COMMANDS_ASKING_H
#define PMTOP_COMMANDS_ASKING_H

#include <limits.h>

#include "src/profiling/job_request.h"
#include "src/session/command.h"
#include "src/session/runs/job_ranks.h"

/* What is asked for: `steps` of a trace, or 0 for a memory snapshot. --output is the folder, --for the time. */
enum status asking_order(const struct options *options, unsigned steps, char folder[PATH_MAX],
	struct profiling_order *order, struct reason *why_not);
/* Asks one program, or all ranks of a job, and waits. Says on standard error what it waits for. Afterwards each has a
 * status; job->ranks is the caller's to free. */
enum status asking_wait(struct job_request *job, struct job_rank *ranks, size_t count,
	const struct profiling_order *order, struct reason *why_not);
/* Says why one failed. The failure of one program is the command's; of a rank, its name stands before. */
enum exit_code asking_report(const struct rank_request *rank);

#endif
