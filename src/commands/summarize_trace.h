/* summarize_trace.h: the summary of a trace of torch.profiler, so that it can be checked and ranked like a run. */
#ifndef PMTOP_COMMANDS_SUMMARIZE_TRACE_H
#define PMTOP_COMMANDS_SUMMARIZE_TRACE_H

#include "src/base/status.h"

struct profile_analysis;
struct summary;

/* Its operations: "step", the mean of the trace's steps; annotations, their time on the host; operators, their own time
 * on the GPU, or on the host if the trace has no GPU; kernels, with the parent "kernel". Times are per step if the
 * trace has steps, else of the whole trace; the longest are retained. It has no single steps, so nothing has an
 * interval. */
void summary_of_trace(const struct profile_analysis *trace, struct summary *out);
/* Reads the file. On STATUS_OK the caller releases *out. */
enum status summarize_trace(const char *path, struct summary *out, struct reason *why_not);

#endif
