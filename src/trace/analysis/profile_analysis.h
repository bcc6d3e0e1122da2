/* profile_analysis.h: everything that pmtop finds in one trace. */
#ifndef PMTOP_TRACE_PROFILE_ANALYSIS_H
#define PMTOP_TRACE_PROFILE_ANALYSIS_H

#include "src/trace/analysis/profile_device.h"
#include "src/trace/analysis/profile_idle.h"
#include "src/trace/analysis/profile_memory.h"

struct profile_analysis {
	char path[4096];
	struct profile profile;
	struct profile_ops ops;
	struct profile_waits waits;
	struct profile_idle idle;
	struct profile_memories memories;
};

struct profile_progress;

/* Reads and analyses a file. `progress` may be NULL; once stopped, it returns STATUS_END soon. On failure *why_not is
 * one line, and there is nothing to release. Large: allocate it. */
enum status profile_analyse(struct profile_analysis *analysis, const char *path, enum profile_group group,
	struct profile_progress *progress, struct reason *why_not);
/* The same for a text in memory. */
enum status profile_analyse_memory(struct profile_analysis *analysis, const void *bytes, size_t length,
	enum profile_group group, struct reason *why_not);
/* Groups the operators anew. False: no memory, and the operators are incomplete. */
bool profile_analysis_regroup(struct profile_analysis *analysis, enum profile_group group);
void profile_analysis_release(struct profile_analysis *analysis);
/* Whether the trace is only read in part: a line that says up to where, and why; "" otherwise. Returns `out`. */
const char *profile_analysis_loss(const struct profile_analysis *analysis, char *out, size_t size);

#endif
