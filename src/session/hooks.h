/* hooks.h: the programs that are started when a warning is raised or cleared (hooks: in pmtop.yaml). Never through a
 * shell; main thread only.
 *
 * Each is told once that a warning stands, and once, if it was told that, that it does not any more. What may not be
 * started now (a rule is told of too often, too many run) is started later, if it still holds then. */
#ifndef PMTOP_SESSION_HOOKS_H
#define PMTOP_SESSION_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/rules/alerts.h"

struct hooks;

/* NULL: none is set (or out of memory). The settings are borrowed. */
struct hooks *hooks_new(const struct settings *settings);
/* Starts what is due, takes note of what has ended, kills what runs for too long. `now_ns`: CLOCK_MONOTONIC. NULL:
 * nothing. */
void hooks_update(struct hooks *hooks, struct alerts *alerts, const struct model *model, int64_t now_ns);
/* Whether some run, or wait to be started: hooks_update is to be called a few times a second. */
bool hooks_are_busy(const struct hooks *hooks);
/* Gives those that still run two seconds, and ends them. */
void hooks_close(struct hooks *hooks);

#endif
