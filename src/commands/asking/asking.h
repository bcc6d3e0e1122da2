/* asking.h: asks the running program that the options name, and waits for the file that it writes. */
#ifndef PMTOP_COMMANDS_ASKING_H
#define PMTOP_COMMANDS_ASKING_H

#include "src/profiling/profiling.h"
#include "src/session/command.h"

/* `steps` of a trace, or 0 for a memory snapshot. Says on standard error what it waits for. --output is the folder,
 * --for the time. */
enum status asking_take(
	const struct options *options, unsigned steps, char path[PROFILING_PATH_SIZE], struct reason *why_not);

#endif
