/* seek.h: a replay on its way to a moment. What is there then is what playing up to there gives: forward the sets in
 * between are applied, backward a model is made anew from the beginning (session_again). Main thread only. */
#ifndef PMTOP_SESSION_REPLAY_SEEK_H
#define PMTOP_SESSION_REPLAY_SEEK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/playback/moment.h"
#include "src/session/session.h"

/* Until when: all sets up to a time are applied (INT64_MAX: all there are); or the first that tells of a batch's end or
 * an epoch's begin is the last. Before judge_from_ns warnings are looked for seldom. */
enum goal_kind { GOAL_TIME, GOAL_BATCH, GOAL_EPOCH };
struct goal {
	enum goal_kind kind;
	int64_t time_ns;
	uint64_t ordinal;
	int64_t judge_from_ns;
};

struct goal goal_at(int64_t time_ns);

/* Of a moment in a recording of this span. STATUS_INVALID: it lies outside, and *out is the end that is nearer. */
enum status goal_of(const struct moment *moment, const struct session *session, int64_t begin_ns, int64_t end_ns,
	struct goal *out, struct reason *why_not);
/* The model is beyond it, or just there where that was not by time. */
bool goal_is_passed(const struct goal *goal, const struct session *session);

/* no more: the recording ends before, or has no more yet */
enum seek_state { SEEK_GOES_ON, SEEK_ARRIVED, SEEK_NO_MORE };
/* Applies sets for about so long. */
enum seek_state seek_on(struct session *session, const struct goal *goal, int64_t budget_ns);

/* --at, of a command without a screen: plays on to there (`at` NULL: to the end, of a file that grows as far
 * as it is written). EXIT_OK, or the line was said. */
enum exit_code seek_to(struct session *session, const char *at);

#endif
