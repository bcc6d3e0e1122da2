/* seek.h: moves a replay to a moment, with the same result as playing up to it: forward by applying the sets in
 * between, backward with a new model from the beginning (session_again). Main thread only. */
#ifndef PMTOP_SESSION_REPLAY_SEEK_H
#define PMTOP_SESSION_REPLAY_SEEK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/playback/moment.h"
#include "src/session/session.h"

/* GOAL_TIME applies all sets up to a time (INT64_MAX: all); GOAL_BATCH and GOAL_EPOCH stop after the set with the
 * batch's end or the epoch's begin. Before judge_from_ns rules are evaluated rarely. */
enum goal_kind { GOAL_TIME, GOAL_BATCH, GOAL_EPOCH };
struct goal {
	enum goal_kind kind;
	int64_t time_ns;
	uint64_t ordinal;
	int64_t judge_from_ns;
};

struct goal goal_at(int64_t time_ns);

/* Converts a moment in a recording of this span. STATUS_INVALID: it is outside, and *out is the nearer end. */
enum status goal_of(const struct moment *moment, const struct session *session, int64_t begin_ns, int64_t end_ns,
	struct goal *out, struct reason *why_not);
/* Whether the model is beyond the goal (a batch or epoch: has reached it). */
bool goal_is_passed(const struct goal *goal, const struct session *session);

/* NO_MORE: the recording ends before the goal, or has no more data yet. */
enum seek_state { SEEK_GOES_ON, SEEK_ARRIVED, SEEK_NO_MORE };
/* Applies sets for about budget_ns. */
enum seek_state seek_on(struct session *session, const struct goal *goal, int64_t budget_ns);

/* --at for commands without a screen: plays up to `at` (NULL: to the end, or to the present end of a file that is being
 * written). Unless it returns EXIT_OK, it has printed the error. */
enum exit_code seek_to(struct session *session, const char *at);

#endif
