/* replay_keys.h: the keys of a replay. */
#ifndef PMTOP_SESSION_REPLAY_REPLAY_KEYS_H
#define PMTOP_SESSION_REPLAY_REPLAY_KEYS_H

#include <stdbool.h>

#include "ui/core/keys.h"

struct replay;

/* Returns true if the key was for the replay. */
bool replay_key(struct replay *replay, struct key_event event);

#endif
