/* hooks.h: starts the user's programs when a warning is raised or cleared (hooks: in pmtop.yaml), never through a
 * shell. Main thread only.
 *
 * A hook runs once when a warning is raised, and once when it is cleared if it ran before. A hook that may not start
 * now (its rule's last one was too recent, or too many are running) starts later if the state is still the same. */
#ifndef PMTOP_SESSION_CHILDREN_HOOKS_H
#define PMTOP_SESSION_CHILDREN_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/rules/alerts.h"

struct hooks;

/* Returns NULL if no hook is set (or out of memory). Borrows the settings. */
struct hooks *hooks_new(const struct settings *settings);
/* Starts hooks that are due, reaps those that have ended, and kills those that run too long. `now_ns`: CLOCK_MONOTONIC.
 * Does nothing if `hooks` is NULL. */
void hooks_update(struct hooks *hooks, struct alerts *alerts, const struct model *model, int64_t now_ns);
/* Whether hooks are running or waiting: the caller must then call hooks_update a few times a second. */
bool hooks_are_busy(const struct hooks *hooks);
/* Waits two seconds for running hooks, then kills them. */
void hooks_close(struct hooks *hooks);

#endif
