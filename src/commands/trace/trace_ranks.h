/* trace_ranks.h: the traces of a command line, read and analysed one after the other: on the main thread, or on one of
 * its own while a screen shows the progress. */
#ifndef PMTOP_COMMANDS_TRACE_TRACE_RANKS_H
#define PMTOP_COMMANDS_TRACE_TRACE_RANKS_H

#include <stdatomic.h>

#include "src/session/command.h"
#include "src/trace/analysis/profile_analysis.h"
#include "src/trace/reading/profile_files.h"
#include "src/trace/reading/profile_progress.h"

struct trace_failure {
	enum status status;
	struct reason reason;
};

struct trace_ranks {
	struct profile_files files;
	enum profile_group group;
	/* Written by trace_ranks_read(). */
	struct profile_analysis **rows; /* by rank, then by path */
	size_t count;
	struct trace_failure *failures; /* files that could not be read; the others are shown */
	size_t failure_count;
	bool has_no_memory;
	/* For another thread. */
	struct profile_progress progress; /* of one file */
	atomic_size_t at;                 /* its index */
	atomic_bool is_done;
};

/* Reads all; returns early if progress.is_stopped is set. */
void trace_ranks_read(struct trace_ranks *ranks);
/* Prints the failures; returns the exit code for them, EXIT_OK if there are none. */
enum exit_code trace_ranks_report(const struct trace_ranks *ranks);
void trace_ranks_release(struct trace_ranks *ranks);

#endif
