/* trace_watch.h: `pmtop trace` on a terminal. */
#ifndef PMTOP_COMMANDS_TRACE_TRACE_WATCH_H
#define PMTOP_COMMANDS_TRACE_TRACE_WATCH_H

#include "src/commands/trace/trace_ranks.h"

/* Reads the traces, showing how far it is, then shows them until the user quits. Prints nothing: the caller reports
 * the failures. */
enum exit_code trace_watch(const struct options *options, const struct settings *settings, struct trace_ranks *ranks);

#endif
