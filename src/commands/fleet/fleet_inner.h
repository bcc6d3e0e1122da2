/* fleet_inner.h: the views of one rank: a child process of pmtop, which replays the copy of a host's stream. */
#ifndef PMTOP_COMMANDS_FLEET_FLEET_INNER_H
#define PMTOP_COMMANDS_FLEET_FLEET_INNER_H

#include <sys/types.h>

#include "src/session/command.h"

struct fleet_host;

/* Starts it; the terminal must have been closed. Returns its pid, or −1 with the reason. */
pid_t fleet_inner_start(const struct options *options, const struct settings *settings, struct fleet_host *host,
	pid_t shown, struct reason *why_not);

#endif
