/* fleet_watch.h: the screen of pmtop fleet. */
#ifndef PMTOP_COMMANDS_FLEET_FLEET_WATCH_H
#define PMTOP_COMMANDS_FLEET_FLEET_WATCH_H

#include "src/session/command.h"

struct fleet;

enum exit_code fleet_watch(const struct options *options, const struct settings *settings, struct fleet *fleet);

#endif
