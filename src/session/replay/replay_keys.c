/* The keys of a replay. */
#include "src/session/replay/replay_keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/session/replay/replay.h"
#include "src/session/replay/replay_private.h"

#define STEP_NS (10 * NS_PER_S)
#define SPEED_MIN 0.25
#define SPEED_MAX 1000.0
enum { SHARES = 20 };

/* -- moving -- */

static void go_to(struct replay *replay, int64_t time_ns)
{
	struct goal goal = goal_at(time_ns < replay->begin_ns ? replay->begin_ns : time_ns);
	if (time_ns >= replay->end_ns)
		goal = (struct goal){
			.kind = GOAL_TIME, .time_ns = INT64_MAX, .judge_from_ns = goal_at(replay->end_ns).judge_from_ns
		};
	replay_seek(replay, &goal);
}

/* The time that is shown, or the goal of a seek in progress. */
static int64_t wished_ns(const struct replay *replay)
{
	if (!replay->is_seeking || replay->goal.kind != GOAL_TIME)
		return replay_position_ns(replay);
	return replay->goal.time_ns < replay->end_ns ? replay->goal.time_ns : replay->end_ns;
}

/* Presses during a seek add up. */
static void go_by(struct replay *replay, int64_t by_ns)
{
	if (by_ns > 0 && (replay->is_following || replay->has_ended)) {
		screen_message(
			replay->screen, replay->has_ended ? "this is the end of the recording" : "this is the newest data");
		return;
	}
	go_to(replay, wished_ns(replay) + by_ns);
}

static int64_t share_ns(const struct replay *replay) { return (replay->end_ns - replay->begin_ns) / SHARES; }

static void change_speed(struct replay *replay, bool is_faster)
{
	double speed = replay->speed;
	if (is_faster)
		speed = speed >= SPEED_MAX ? HUGE_VAL : fmin(speed * 2, SPEED_MAX);
	else
		speed = isinf(speed) ? SPEED_MAX : fmax(speed / 2, SPEED_MIN);
	replay_put(replay, replay_position_ns(replay));
	replay->speed = speed;
	if (replay->is_following)
		screen_message(replay->screen, "following the recorder: the speed applies after you seek back");
}

static void pause_or_go_on(struct replay *replay)
{
	bool from_begin = replay->has_ended && !replay->is_paused && replay->is_file;
	if (from_begin) {
		go_to(replay, replay->begin_ns);
		return;
	}
	replay_put(replay, replay_position_ns(replay));
	replay->is_paused = !replay->is_paused;
	replay->is_following = false;
}

/* -- flags -- */

/* The flags of the run and mode that are shown. */
static size_t shown_flags(struct replay *replay, struct timeline_flag *flags)
{
	size_t count = timeline_flags(replay->timeline, flags), retained = 0;
	for (size_t i = 0; i < count; i++)
		if (screen_shows_batches_of(replay->screen, flags[i].run, flags[i].mode))
			flags[retained++] = flags[i];
	return retained;
}

/* The next flag after the focused batch, else after the shown time. */
static const struct timeline_flag *next_flag(
	const struct replay *replay, const struct timeline_flag *flags, size_t count, bool is_later)
{
	uint64_t focused;
	size_t at = count;
	if (replay->is_seeking && replay->focus.is_wanted)
		for (at = 0;
			 at < count && (flags[at].ordinal != replay->focus.flag.ordinal || flags[at].run != replay->focus.flag.run);
			 at++)
			;
	else if (screen_focused(replay->screen, &focused))
		for (at = 0; at < count && flags[at].ordinal != focused; at++)
			;
	if (at < count)
		return is_later ? at + 1 < count ? &flags[at + 1] : NULL : at > 0 ? &flags[at - 1] : NULL;
	int64_t position_ns = wished_ns(replay);
	const struct timeline_flag *before = NULL;
	for (size_t i = 0; i < count; i++) {
		if (is_later && flags[i].seen_ns > position_ns)
			return &flags[i];
		if (flags[i].seen_ns <= position_ns)
			before = &flags[i];
	}
	return is_later ? NULL : before;
}

static void go_to_flag(struct replay *replay, bool is_later)
{
	struct timeline_state seen;
	struct timeline_flag *flags = malloc(TIMELINE_FLAGS_MAX * sizeof *flags);
	size_t count = flags ? shown_flags(replay, flags) : 0;
	const struct timeline_flag *flag = next_flag(replay, flags, count, is_later);
	timeline_read(replay->timeline, &seen);
	if (!seen.is_whole && seen.upto_ns < wished_ns(replay) && !player_is_growing(replay->session->player)) {
		char text[96];
		snprintf(text, sizeof text, "still reading the recording for flags: %.0f %%",
			100 * (double)(seen.upto_ns - seen.begin_ns) / (double)(replay->end_ns - replay->begin_ns + 1));
		screen_message(replay->screen, text);
	} else if (flag) {
		struct goal goal = goal_at(flag->seen_ns);
		replay_seek(replay, &goal);
		replay->focus.is_wanted = replay->is_seeking;
		replay->focus.flag = *flag;
	} else if (!count) {
		screen_message(
			replay->screen, seen.is_whole ? "this recording has no flagged batch" : "no flagged batch so far");
	} else {
		screen_message(replay->screen,
			is_later ? seen.is_whole ? "this is the last flag" : "this is the last flag so far"
					 : "this is the first flag");
	}
	free(flags);
}

/* -- the prompt -- */

static void go_to_typed(struct replay *replay)
{
	struct moment moment;
	struct reason reason = { "", "" };
	struct goal goal;
	if (!replay->line.typed[0])
		return;
	if (!moment_parse(replay->line.typed, &moment)) {
		screen_message(
			replay->screen, "type 14:02:30, 0:05:00, 5m, -5m, 50%, #624 (a batch), @7 (an epoch), begin or end");
		return;
	}
	if (goal_of(&moment, replay->session, replay->begin_ns, replay->end_ns, &goal, &reason) != STATUS_OK)
		screen_message(replay->screen, reason.text);
	replay_seek(replay, &goal);
}

static void type(struct replay *replay, int key)
{
	struct replay_line *line = &replay->line;
	size_t length = strlen(line->typed);
	if (key == KEY_RETURN || key == KEY_ESC) {
		line->is_typing = false;
		if (key == KEY_RETURN)
			go_to_typed(replay);
	} else if (key == KEY_ERASE || key == 8) {
		if (length == 0)
			line->is_typing = false;
		else
			line->typed[length - 1] = '\0';
	} else if (key >= ' ' && key < 127 && length + 1 < sizeof line->typed) {
		line->typed[length] = (char)key;
		line->typed[length + 1] = '\0';
	}
}

static void ask(struct replay *replay)
{
	if (!replay->is_file)
		screen_message(replay->screen, "pmtop cannot seek in a pipe: record to a file first");
	replay->line.is_typing = replay->is_file;
	replay->line.typed[0] = '\0';
}

/* -- keys -- */

bool replay_key(struct replay *replay, struct key_event event)
{
	int64_t time_ns;
	if (event.key == KEY_NOTHING || event.key == KEY_WINDOW || event.key == KEY_HANGUP ||
		screen_is_typing(replay->screen))
		return false;
	if (replay->line.is_typing) {
		type(replay, event.key);
		return true;
	}
	screen_message(replay->screen, "");
	if (event.key == KEY_CLICK && replay_line_hit(&replay->line, event.x, event.y, &time_ns)) {
		go_to(replay, time_ns);
		return true;
	}
	if ((event.key == 'n' || event.key == 'N') && (!replay->timeline || screen_has_matches(replay->screen)))
		return false;
	bool is_pause = event.key == ' ' || event.key == 'p';
	if ((event.key == KEY_ESC && !replay->is_seeking) || (is_pause && !replay->is_file))
		return false;
	switch (event.key) {
	case ',': go_by(replay, -STEP_NS); break;
	case '.': go_by(replay, STEP_NS); break;
	case '(': go_by(replay, -share_ns(replay)); break;
	case ')': go_by(replay, share_ns(replay)); break;
	case '{': change_speed(replay, false); break;
	case '}': change_speed(replay, true); break;
	case '^': go_to(replay, replay->begin_ns); break;
	case '$': go_to(replay, INT64_MAX); break;
	case '@': ask(replay); break;
	case 'n': go_to_flag(replay, true); break;
	case 'N': go_to_flag(replay, false); break;
	case ' ':
	case 'p': pause_or_go_on(replay); break;
	case KEY_ESC: replay_stop_seek(replay); break;
	default: return false;
	}
	return true;
}
