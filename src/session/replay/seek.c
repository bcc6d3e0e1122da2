#include "src/session/replay/seek.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/model/run/steps/tracks.h"

/* Rules use at most ten minutes of history (memory, patterns): evaluated that long, warnings are the same as after a
 * full replay. */
#define JUDGE_BEFORE_NS (600 * NS_PER_S)

static const char *clock_of(char out[NUMBER_SIZE], int64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	struct tm parts;
	if (!localtime_r(&seconds, &parts) || !strftime(out, NUMBER_SIZE, "%Y-%m-%d %H:%M:%S", &parts))
		snprintf(out, NUMBER_SIZE, "–");
	return out;
}

struct goal goal_at(int64_t time_ns)
{
	return (
		struct goal){ .kind = GOAL_TIME, .time_ns = time_ns, .judge_from_ns = clock_add(time_ns, -JUDGE_BEFORE_NS) };
}

enum status goal_of(const struct moment *moment, const struct session *session, int64_t begin_ns, int64_t end_ns,
	struct goal *out, struct reason *why_not)
{
	const struct stream_header *header = player_header(session->player);
	int64_t offset_ns =
		clock_add(header->realtime_ns, header->monotonic_ns == INT64_MIN ? INT64_MAX : -header->monotonic_ns);
	if (!moment_is_time(moment)) {
		*out = (struct goal){ .kind = moment->kind == MOMENT_BATCH ? GOAL_BATCH : GOAL_EPOCH,
			.ordinal = (uint64_t)moment->value };
		return STATUS_OK;
	}
	int64_t time_ns = moment_time_ns(moment, begin_ns, end_ns, offset_ns);
	*out = goal_at(time_ns < begin_ns ? begin_ns : time_ns > end_ns ? end_ns : time_ns);
	/* Read the whole file: its last block need not be the newest. */
	if (time_ns >= end_ns)
		out->time_ns = INT64_MAX;
	/* A person types whole seconds, so accept the second in which the recording ends. */
	if (time_ns >= clock_add(begin_ns, -NS_PER_S) && time_ns <= clock_add(end_ns, NS_PER_S))
		return STATUS_OK;
	char from[NUMBER_SIZE], to[NUMBER_SIZE], length[NUMBER_SIZE];
	return reason_set(why_not, STATUS_INVALID, NULL, "outside the recording, which goes from %s to %s (%s)",
		clock_of(from, clock_add(begin_ns, offset_ns)), clock_of(to, clock_add(end_ns, offset_ns)),
		format_seconds(length, seconds_between(begin_ns, end_ns)));
}

static bool is_there(const struct goal *goal, const struct session *session)
{
	int index = session_run(session);
	if (goal->kind == GOAL_TIME || index < 0)
		return false;
	const struct run *run = &session->model->runs[index];
	if (goal->kind == GOAL_EPOCH)
		return run->state.epochs_begun && run_epoch_number(run, run->state.epochs_begun) >= goal->ordinal;
	const struct track *track = run_main(run);
	const struct batch *batch = track_batch(track, goal->ordinal);
	return track->end > goal->ordinal + 1 || (batch && batch->end_ns);
}

bool goal_is_passed(const struct goal *goal, const struct session *session)
{
	return goal->kind == GOAL_TIME ? session->model->now_ns > goal->time_ns : is_there(goal, session);
}

static enum seek_state apply_sets(struct session *session, const struct goal *goal, int64_t budget_ns)
{
	int64_t until_ns = clock_monotonic_ns() + budget_ns, next_ns;
	session->judge_from_ns = goal->judge_from_ns;
	for (;;) {
		bool is_end = !player_next_ns(session->player, &next_ns);
		if (goal->kind == GOAL_TIME ? !is_end && next_ns > goal->time_ns : is_there(goal, session))
			return SEEK_ARRIVED;
		if (is_end)
			return SEEK_NO_MORE;
		session_step(session);
		if (clock_monotonic_ns() >= until_ns)
			return SEEK_GOES_ON;
	}
}

/* The player reads ahead, so damage may be found even without applying a set. */
enum seek_state seek_on(struct session *session, const struct goal *goal, int64_t budget_ns)
{
	enum seek_state state = apply_sets(session, goal, budget_ns);
	session_note_damage(session);
	return state;
}

enum exit_code seek_to(struct session *session, const char *at)
{
	struct moment moment = { MOMENT_END, 0 };
	struct reason reason = { "", "" };
	struct goal goal = { GOAL_TIME, INT64_MAX, 0, 0 };
	int64_t begin_ns, end_ns;
	if (!session->player)
		return at
			? command_fail(reason_set(&reason, STATUS_INVALID, "pmtop -r FILE", "--at needs a recording"), &reason)
			: EXIT_OK;
	if (at && !moment_parse(at, &moment))
		return command_fail(
			reason_set(&reason, STATUS_INVALID, NULL, "--at takes %s, not %.60s", moment_takes, at), &reason);
	if (player_is_pipe(session->player) && at)
		return command_fail(
			reason_set(&reason, STATUS_INVALID, "record it first", "--at needs a file: pmtop cannot seek in a pipe"),
			&reason);
	while (player_is_pipe(session->player) && !session_has_ended(session))
		if (!session_step(session))
			session_wait(session, -1);
	if (at && player_span(session->player, &begin_ns, &end_ns) &&
		goal_of(&moment, session, begin_ns, end_ns, &goal, &reason) != STATUS_OK)
		return command_fail(STATUS_INVALID, &reason);
	/* Without a screen speed matters less: evaluate the rules all the way, to get every warning. */
	goal.judge_from_ns = 0;
	enum seek_state state;
	while ((state = seek_on(session, &goal, NS_PER_S)) == SEEK_GOES_ON)
		continue;
	if (state == SEEK_NO_MORE && goal.kind != GOAL_TIME)
		return command_fail(reason_set(&reason, STATUS_INVALID, NULL, "the recording has no %s %llu",
								goal.kind == GOAL_BATCH ? "batch" : "epoch", (unsigned long long)goal.ordinal),
			&reason);
	return EXIT_OK;
}
