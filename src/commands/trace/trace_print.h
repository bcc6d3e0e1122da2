/* trace_print.h: traces as text or JSON on standard output: for `pmtop trace` and `pmtop profile`. */
#ifndef PMTOP_COMMANDS_TRACE_TRACE_PRINT_H
#define PMTOP_COMMANDS_TRACE_TRACE_PRINT_H

#include "src/commands/trace/trace_ranks.h"
#include "src/trace/output/profile_view.h"

/* Several traces: the table of ranks first. `with_paths`: text ends with the path of each. Then says on standard error
 * what of them could not be read. */
enum exit_code trace_print(
	const struct options *options, const struct settings *settings, const struct trace_ranks *ranks, bool with_paths);

/* Says on standard error what of a trace could not be read. */
void trace_report_loss(const struct profile_analysis *analysis);
/* Which rows the options choose. */
struct profile_view trace_view(
	const struct options *options, const struct settings *settings, enum profile_group group);

#endif
