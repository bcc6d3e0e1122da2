/* fleet_collect.h: `pmtop collect --fleet`: what pmtop fleet needs on a host beside the stream. */
#ifndef PMTOP_COMMANDS_FLEET_FLEET_COLLECT_H
#define PMTOP_COMMANDS_FLEET_FLEET_COLLECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/session/command.h"

struct fleet_target {
	pid_t pid;
	char name[160]; /* of a run that pmtop sees only through its region; "" = by pid */
};

/* The first run of this machine; of a launcher and its ranks the launcher. */
enum status fleet_choose_target(struct fleet_target *out, struct reason *why_not);
/* Whether pmtop fleet has asked for a dictionary since the last call: a person opens the views of a rank. */
bool fleet_wants_dictionary(void);
/* `pmtop collect --relay`: reaches other hosts for pmtop fleet, until that is gone. */
enum exit_code fleet_relay(void);
/* Starts a thread that answers the questions on standard input (fleet_clock.h), until that is closed.
 * ends_with_input: then its reader is gone, and pmtop ends, unless nothing was ever asked: kubectl exec without -i
 * passes on no input. */
void fleet_answer_clock(bool ends_with_input);

#endif
