/* slow_profile.h: decides when pmtop asks for a trace by itself: after a flagged batch (--profile-slow), or when a rule
 * with `action: profile` raises its warning. Its only input is the model, so that it can be tested without a program.
 *
 * A flagged batch that belongs to a pattern with a period leads to a trace with the next batch of the pattern; one that
 * belongs to another pattern, to a trace of the next steps. Of a pattern pmtop knows only after some of its batches:
 * other flagged batches lead to a trace of the next steps after SLOW_PROFILE_WAIT_S. */
#ifndef PMTOP_SESSION_SLOW_PROFILE_H
#define PMTOP_SESSION_SLOW_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/model/model.h"
#include "src/profiling/order.h"
#include "src/rules/alerts.h"

enum { SLOW_PROFILE_STEPS = 3, SLOW_PROFILE_STEPS_MAX = 15, SLOW_PROFILE_WAIT_S = 30, SLOW_PROFILE_WHY_SIZE = 120 };

struct slow_profile {
	bool after_flagged;     /* --profile-slow */
	unsigned limit, traces; /* at most, and asked for so far */
	int64_t since_ns;       /* what came before leads to no trace; 0 = not begun */
};

struct slow_profile_wish {
	pid_t pid;
	struct profiling_order order; /* without its folder */
	char why[SLOW_PROFILE_WHY_SIZE];
};

/* Whether a trace is wanted now; it then counts as asked for. `offset_ns`: CLOCK_REALTIME minus the model's clock. */
bool slow_profile_wish(struct slow_profile *slow, const struct model *model, const struct alerts *alerts,
	int64_t offset_ns, struct slow_profile_wish *out);

#endif
