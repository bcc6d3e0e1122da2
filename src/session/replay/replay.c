#include "src/session/replay/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/session/replay/replay_private.h"

/* The time slice of work between two checks for keys. */
#define SLICE_NS (40 * NS_PER_MS)
/* Up to this distance the session itself plays on; farther away a station may be nearer. */
#define SHORT_WAY_NS (30 * NS_PER_S)
enum { FRAME_MS = 33, FOLLOW_MS = 100, MOVE_MS = 250 };

/* -- the clock -- */

bool replay_is_running(const struct replay *replay)
{
	return !replay->is_paused && !replay->has_ended && !replay->is_following && !replay->is_seeking;
}

int64_t replay_position_ns(const struct replay *replay)
{
	if (!replay_is_running(replay) || isinf(replay->speed))
		return replay->at_ns;
	double gone_ns = (double)(clock_monotonic_ns() - replay->wall_ns) * replay->speed;
	int64_t left_ns = replay->end_ns - replay->at_ns;
	return gone_ns < (double)left_ns     ? replay->at_ns + (int64_t)gone_ns
		: replay->end_ns > replay->at_ns ? replay->end_ns
										 : replay->at_ns;
}

void replay_put(struct replay *replay, int64_t at_ns)
{
	replay->at_ns = at_ns;
	replay->wall_ns = clock_monotonic_ns();
}

static void note_end(struct replay *replay)
{
	struct timeline_state seen;
	timeline_read(replay->timeline, &seen);
	int64_t now_ns = replay->session->model->now_ns;
	replay->end_ns = seen.upto_ns > replay->end_ns ? seen.upto_ns : replay->end_ns;
	replay->end_ns = now_ns > replay->end_ns ? now_ns : replay->end_ns;
}

/* -- seeking -- */

static void give_up_again(struct replay *replay)
{
	if (replay->again)
		stations_give(replay->stations, replay->again);
	replay->again = NULL;
}

static struct session *from_the_beginning(const struct session *session)
{
	struct session *again = malloc(sizeof *again);
	if (again && session_again(session, again))
		return again;
	free(again);
	return NULL;
}

/* Chooses the session to seek with: the shown one, a station, or a new one. Returns false when out of memory. */
static bool choose_start(struct replay *replay, const struct goal *goal)
{
	struct session *session = replay->session;
	bool is_behind = goal_is_passed(goal, session);
	int64_t best_ns = is_behind ? INT64_MIN : session->model->now_ns + SHORT_WAY_NS;
	if (replay->again && !goal_is_passed(goal, replay->again) && replay->again->model->now_ns > best_ns)
		best_ns = replay->again->model->now_ns;
	else
		give_up_again(replay);
	struct session *nearer = stations_take(replay->stations, goal, best_ns);
	if (nearer) {
		give_up_again(replay);
		replay->again = nearer;
	}
	if (is_behind && !replay->again)
		replay->again = from_the_beginning(session);
	return !is_behind || replay->again;
}

void replay_seek(struct replay *replay, const struct goal *goal)
{
	if (!replay->is_file) {
		screen_message(replay->screen, "pmtop cannot seek in a pipe: record to a file first");
		return;
	}
	replay->focus.is_wanted = false;
	replay_put(replay, replay_position_ns(replay));
	if (!choose_start(replay, goal)) {
		screen_message(replay->screen, "out of memory: cannot seek in the recording");
		replay->is_seeking = false;
		return;
	}
	replay->goal = *goal;
	replay->is_seeking = true;
	replay->is_following = replay->has_ended = false;
	const struct model *model = (replay->again ? replay->again : replay->session)->model;
	replay->seek_from_ns = model->now_ns ? model->now_ns : replay->begin_ns;
}

void replay_stop_seek(struct replay *replay)
{
	bool is_back = replay->again != NULL;
	give_up_again(replay);
	replay->is_seeking = false;
	replay_put(replay, is_back ? replay->at_ns : replay->session->model->now_ns);
	replay->has_ended = player_has_ended(replay->session->player);
	replay->session->judge_from_ns = 0;
}

static void report_missing(struct replay *replay)
{
	char text[96];
	snprintf(text, sizeof text, "the recording has no %s %llu: this is its end",
		replay->goal.kind == GOAL_BATCH ? "batch" : "epoch", (unsigned long long)replay->goal.ordinal);
	screen_message(replay->screen, text);
}

static void arrive(struct replay *replay, enum seek_state state)
{
	struct session *session = replay->session;
	if (replay->again) {
		session_swap(session, replay->again);
		screen_set_model(replay->screen, session->model);
		give_up_again(replay);
	}
	screen_moved(replay->screen);
	replay->is_seeking = false;
	session->judge_from_ns = 0;
	note_end(replay);
	bool is_time = replay->goal.kind == GOAL_TIME && replay->goal.time_ns != INT64_MAX;
	replay_put(replay,
		is_time                     ? replay->goal.time_ns
			: state == SEEK_NO_MORE ? replay->end_ns
									: session->model->now_ns);
	replay->has_ended = state == SEEK_NO_MORE && player_has_ended(session->player);
	replay->is_following = state == SEEK_NO_MORE && !replay->has_ended && !replay->is_paused;
	if (state == SEEK_NO_MORE && replay->goal.kind != GOAL_TIME)
		report_missing(replay);
	if (replay->focus.is_wanted)
		screen_focus(replay->screen, (int)replay->focus.flag.run, replay->focus.flag.ordinal);
	replay->focus.is_wanted = false;
}

static bool step_seek(struct replay *replay)
{
	enum seek_state state = seek_on(replay->again ? replay->again : replay->session, &replay->goal, SLICE_NS);
	if (state != SEEK_GOES_ON)
		arrive(replay, state);
	return true;
}

/* -- playing -- */

/* No more sets can be read now: the recording has ended, or its recorder has not written more yet. */
static void run_out(struct replay *replay)
{
	replay->has_ended = player_has_ended(replay->session->player);
	if (!replay->has_ended && !replay->is_following && replay_position_ns(replay) >= replay->session->model->now_ns)
		replay->is_following = true;
	note_end(replay);
	if (replay->has_ended || replay->is_following)
		replay_put(replay, replay->has_ended ? replay->end_ns : replay->session->model->now_ns);
}

static bool play(struct replay *replay)
{
	struct session *session = replay->session;
	int64_t begun_ns = clock_monotonic_ns(), next_ns,
			upto_ns = replay_is_running(replay) && !isinf(replay->speed) ? replay_position_ns(replay) : INT64_MAX;
	bool did = false;
	for (;;) {
		if (!player_next_ns(session->player, &next_ns)) {
			run_out(replay);
			return did || replay->has_ended;
		}
		if (next_ns > upto_ns)
			return did;
		session_step(session);
		did = true;
		if (isinf(replay->speed) || replay->is_following)
			replay_put(replay, session->model->now_ns);
		/* Playing is slower than the chosen speed: the clock waits. */
		if (clock_monotonic_ns() - begun_ns > SLICE_NS) {
			replay_put(replay, session->model->now_ns);
			return true;
		}
	}
}

bool replay_step(struct replay *replay)
{
	int64_t now_ns = clock_monotonic_ns();
	bool did = false;
	if (replay->is_seeking)
		did = step_seek(replay);
	else if (!replay->is_paused && !replay->has_ended)
		did = play(replay);
	struct timeline_state seen;
	timeline_read(replay->timeline, &seen);
	if (seen.is_whole && !replay->has_stations) {
		replay->stations = stations_start(replay->session, replay->begin_ns, replay->end_ns);
		replay->has_stations = true;
	}
	if (now_ns - replay->shown_ns >= MOVE_MS * NS_PER_MS && (!seen.is_whole || replay_is_running(replay)))
		did = true;
	return did;
}

int replay_wait_ms(const struct replay *replay)
{
	struct timeline_state seen;
	int64_t since_ms = (clock_monotonic_ns() - replay->shown_ns) / NS_PER_MS, next_ns;
	timeline_read(replay->timeline, &seen);
	int frame_ms = since_ms < FRAME_MS ? FRAME_MS - (int)since_ms : 0,
		move_ms = since_ms < MOVE_MS ? MOVE_MS - (int)since_ms : 0;
	if (replay->is_seeking)
		return 0;
	if (replay->is_paused || replay->has_ended)
		return replay->timeline && !seen.is_whole ? move_ms : -1;
	if (replay->is_following)
		return FOLLOW_MS;
	if (isinf(replay->speed))
		return 0;
	if (!player_next_ns(replay->session->player, &next_ns))
		return FOLLOW_MS;
	double due_ms = (double)(next_ns - replay_position_ns(replay)) / (double)NS_PER_MS / replay->speed;
	int wait_ms = due_ms <= 0 ? 0 : due_ms >= move_ms ? move_ms : (int)due_ms + 1;
	return wait_ms > frame_ms ? wait_ms : frame_ms;
}

/* -- what is shown -- */

static enum replay_state state_of(const struct replay *replay)
{
	if (!replay->is_file)
		return screen_is_paused(replay->screen)  ? REPLAY_PAUSED
			: session_has_ended(replay->session) ? REPLAY_ENDED
												 : REPLAY_FOLLOWING;
	return replay->is_seeking  ? REPLAY_SEEKING
		: replay->is_paused    ? REPLAY_PAUSED
		: replay->has_ended    ? REPLAY_ENDED
		: replay->is_following ? REPLAY_FOLLOWING
							   : REPLAY_PLAYING;
}

static double done_ratio(const struct replay *replay)
{
	int64_t goal_ns =
		replay->goal.kind == GOAL_TIME && replay->goal.time_ns < replay->end_ns ? replay->goal.time_ns : replay->end_ns;
	const struct session *session = replay->again ? replay->again : replay->session;
	double whole = (double)(goal_ns - replay->seek_from_ns),
		   done = (double)(session->model->now_ns - replay->seek_from_ns);
	return whole > 0 && done > 0 ? fmin(done / whole, 1) : 0;
}

void replay_show(struct replay *replay, int width)
{
	struct replay_line *line = &replay->line;
	struct timeline_state seen;
	timeline_read(replay->timeline, &seen);
	note_end(replay);
	replay->shown_ns = clock_monotonic_ns();
	line->state = state_of(replay);
	line->speed = replay->speed;
	line->has_span = replay->is_file;
	line->begin_ns = replay->is_file ? replay->begin_ns : replay->session->model->first_ns;
	line->at_ns = replay->is_file ? replay_position_ns(replay) : replay->session->model->now_ns;
	line->end_ns = replay->end_ns;
	line->realtime_offset_ns = replay->realtime_offset_ns;
	line->done_ratio = replay->is_seeking ? done_ratio(replay) : 0;
	line->lost_blocks = replay->timeline ? seen.lost_blocks : player_losses(replay->session->player)->blocks;
	line->flag_count = seen.flag_count;
	line->column_count = (size_t)replay_line_bar(line, width);
	timeline_columns(replay->timeline, line->begin_ns, line->end_ns, line->columns, line->column_count);
}

/* -- opening -- */

static enum exit_code begin_at(struct replay *replay, const char *at)
{
	struct moment moment = { MOMENT_END, 0 };
	struct reason reason = { "", "" };
	struct goal goal;
	enum status status = STATUS_OK;
	if (at && !moment_parse(at, &moment))
		status = reason_set(&reason, STATUS_INVALID, NULL, "--at takes %s, not %.60s", moment_takes, at);
	else if (at && !replay->is_file)
		status =
			reason_set(&reason, STATUS_INVALID, "record it first", "--at needs a file: pmtop cannot seek in a pipe");
	else if (!at && !player_is_growing(replay->session->player))
		return EXIT_OK;
	if (status == STATUS_OK)
		status = goal_of(&moment, replay->session, replay->begin_ns, replay->end_ns, &goal, &reason);
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	replay_seek(replay, &goal);
	return EXIT_OK;
}

enum exit_code replay_open(
	struct session *session, const struct options *options, struct screen *screen, struct replay **out)
{
	struct replay *replay = calloc(1, sizeof *replay);
	const struct stream_header *header = player_header(session->player);
	struct reason reason = { "", "" };
	if (!replay)
		return command_fail(reason_set(&reason, STATUS_NO_MEMORY, "close some programs", "out of memory"), &reason);
	replay->session = session;
	replay->screen = screen;
	replay->speed = options->speed > 0 ? options->speed : 1;
	replay->realtime_offset_ns = header->realtime_ns - header->monotonic_ns;
	replay->is_file = !player_is_pipe(session->player);
	replay->begin_ns = replay->end_ns = session->model->first_ns;
	if (replay->is_file && player_span(session->player, &replay->begin_ns, &replay->end_ns))
		replay->timeline = timeline_start(session->player, &session->model_options);
	replay_put(replay, replay->begin_ns);
	enum exit_code code = begin_at(replay, options->at);
	if (code != EXIT_OK) {
		replay_close(replay);
		return code;
	}
	screen_set_replay(screen, &replay->line);
	*out = replay;
	return EXIT_OK;
}

bool replay_is_file(const struct replay *replay) { return replay->is_file; }

void replay_close(struct replay *replay)
{
	if (!replay)
		return;
	timeline_stop(replay->timeline);
	give_up_again(replay);
	stations_stop(replay->stations);
	free(replay);
}
