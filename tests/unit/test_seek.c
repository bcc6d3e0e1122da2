/* A seek gives the same state as playing up to that time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/commands/commands.h"
#include "src/export/csv/csv.h"
#include "src/export/export.h"
#include "src/export/json/json.h"
#include "src/export/text/report.h"
#include "src/model/run/steps/tracks.h"
#include "src/playback/timeline.h"
#include "src/rules/alerts_list.h"
#include "src/session/replay/seek.h"
#include "src/session/replay/stations.h"
#include "tests/support/recorded.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

/* Last: it has a macro with the name of one of our functions. */
#include <check.h>

static char path[] = "/tmp/pmtop-seek-XXXXXX";
static struct settings settings;
static struct session session;

static void record(const struct recorded_options *options)
{
	recorded_write(path, options, NULL, NULL);
	settings_default(&settings);
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	setenv("TZ", "UTC", 1);
	ck_assert_int_eq(
		session_open(&session, &(struct options){ .command = &watch_command, .replay = path }, &settings), EXIT_OK);
}

static void teardown(void) { session_close(&session); }

static int64_t at(double seconds) { return RECORDED_BEGIN_NS + (int64_t)(seconds * (double)NS_PER_S); }

static enum seek_state seek(struct session *of, const struct goal *goal)
{
	enum seek_state state;
	while ((state = seek_on(of, goal, NS_PER_MS)) == SEEK_GOES_ON)
		continue;
	return state;
}

/* The whole export, as text. */
static char *emitted(struct session *of)
{
	struct buffer out = BUFFER_INIT;
	export_json(&out, of->model, &of->alerts, session_run(of), session_realtime_ns(of));
	export_report(&out, of->model, &of->alerts, session_run(of));
	ck_assert(out.length > 1000 && !out.failed);
	return out.data;
}

static void play_to(struct session *of, int64_t time_ns)
{
	int64_t next_ns;
	while (player_next_ns(of->player, &next_ns) && next_ns <= time_ns)
		session_step(of);
}

static void assert_like_played(struct session *sought, int64_t time_ns)
{
	struct session played;
	ck_assert(session_again(&session, &played));
	play_to(&played, time_ns);
	ck_assert_int_eq(sought->model->now_ns, played.model->now_ns);
	char *a = emitted(sought), *b = emitted(&played);
	ck_assert_str_eq(a, b);
	free(a);
	free(b);
	session_again_close(&played);
}

START_TEST(forward_and_backward_give_what_playing_gives)
{
	static const double positions[] = { 30.05, 75, 45.3, 0, 99.9 };
	record(&(struct recorded_options){ .scenario = "slow-worker:3", .seconds = 100 });
	for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
		struct goal goal = goal_at(at(positions[i]));
		if (!goal_is_passed(&goal, &session)) {
			ck_assert_int_eq(seek(&session, &goal), SEEK_ARRIVED);
		} else {
			struct session again;
			ck_assert(session_again(&session, &again));
			ck_assert_int_eq(seek(&again, &goal), SEEK_ARRIVED);
			session_swap(&session, &again);
			session_again_close(&again);
		}
		assert_like_played(&session, at(positions[i]));
	}
}
END_TEST

/* A seek evaluates rules rarely on the way, and at full rate for the last ten minutes. */
START_TEST(raised_warnings_are_those_of_playing)
{
	record(&(struct recorded_options){ .scenario = "data-bound:2", .seconds = 900, .period_ns = NS_PER_S });
	struct goal goal = goal_at(at(850));
	struct session played;
	ck_assert_int_eq(seek(&session, &goal), SEEK_ARRIVED);
	ck_assert(session_again(&session, &played));
	play_to(&played, at(850));
	ck_assert_uint_gt(alerts_raised(&played.alerts), 0);
	ck_assert_uint_eq(alerts_raised(&session.alerts), alerts_raised(&played.alerts));
	for (size_t i = 0; i < alerts_raised(&played.alerts); i++)
		ck_assert_str_eq(session.alerts.list[i].message, played.alerts.list[i].message);
	session_again_close(&played);
}
END_TEST

START_TEST(a_batch_has_just_ended_and_an_epoch_just_begun)
{
	record(&(struct recorded_options){ .seconds = 120 });
	struct goal batch = { .kind = GOAL_BATCH, .ordinal = 300 }, epoch = { .kind = GOAL_EPOCH, .ordinal = 3 },
				never = { .kind = GOAL_BATCH, .ordinal = 99999 };
	ck_assert(!goal_is_passed(&batch, &session));
	ck_assert_int_eq(seek(&session, &batch), SEEK_ARRIVED);
	const struct run *run = &session.model->runs[session_run(&session)];
	const struct batch *found = track_batch(run_main(run), 300);
	ck_assert_ptr_nonnull(found);
	ck_assert(found->end_ns > 0 && session.model->now_ns - found->end_ns < NS_PER_S);
	ck_assert(goal_is_passed(&batch, &session));
	ck_assert_int_eq(seek(&session, &epoch), SEEK_ARRIVED);
	ck_assert_uint_eq(run_epoch_number(run, run->state.epochs_begun), 3);
	ck_assert_int_eq(seek(&session, &never), SEEK_NO_MORE);
}
END_TEST

/* A damaged recording may have any times. */
START_TEST(times_at_the_limits_of_int64_do_not_overflow)
{
	static const struct moment end = { MOMENT_END, 0 }, begin = { MOMENT_BEGIN, 0 }, half = { MOMENT_SHARE, 0.5 };
	struct goal goal;
	struct reason reason = { "", "" };
	record(&(struct recorded_options){ .seconds = 2 });
	ck_assert_int_eq(goal_at(INT64_MIN + 5).judge_from_ns, INT64_MIN);
	ck_assert_int_eq(goal_of(&end, &session, 0, INT64_MAX - 5, &goal, &reason), STATUS_OK);
	ck_assert_int_eq(goal.time_ns, INT64_MAX);
	ck_assert_int_eq(goal_of(&begin, &session, INT64_MIN + 5, 0, &goal, &reason), STATUS_OK);
	ck_assert_int_eq(goal.time_ns, INT64_MIN + 5);
	ck_assert_int_eq(goal_of(&half, &session, INT64_MIN, INT64_MAX, &goal, &reason), STATUS_OK);
	ck_assert_int_eq(goal.time_ns / NS_PER_S, 0);
	ck_assert_int_eq(
		goal_of(&(struct moment){ MOMENT_DATE, 9e9 }, &session, INT64_MIN, 0, &goal, &reason), STATUS_INVALID);
	ck_assert_ptr_nonnull(strstr(reason.text, "the recording, which goes from"));
}
END_TEST

START_TEST(the_span_is_known_without_reading_the_whole)
{
	int64_t begin_ns, end_ns;
	record(&(struct recorded_options){ .seconds = 100 });
	ck_assert(player_span(session.player, &begin_ns, &end_ns));
	ck_assert_int_eq(begin_ns, at(0));
	ck_assert_int_eq(end_ns, at(100));
	session_close(&session);
	record(&(struct recorded_options){ .seconds = 50, .is_cut = true });
	ck_assert(player_span(session.player, &begin_ns, &end_ns));
	ck_assert_int_eq(end_ns, at(50));
}
END_TEST

static struct goal goal_for(const char *text, enum status wanted)
{
	struct moment moment;
	struct goal goal;
	struct reason why = { "", "" };
	int64_t begin_ns, end_ns;
	ck_assert(moment_parse(text, &moment) && player_span(session.player, &begin_ns, &end_ns));
	ck_assert_int_eq(goal_of(&moment, &session, begin_ns, end_ns, &goal, &why), wanted);
	return goal;
}

START_TEST(moments_outside_are_reported_and_clamped)
{
	record(&(struct recorded_options){ .seconds = 100 });
	ck_assert_int_eq(goal_for("50%", STATUS_OK).time_ns, at(50));
	ck_assert_int_eq(goal_for("14:00:30", STATUS_OK).time_ns, at(30));
	ck_assert_int_eq(goal_for("14:01:40", STATUS_OK).time_ns, INT64_MAX);
	ck_assert_int_eq(goal_for("end", STATUS_OK).time_ns, INT64_MAX);
	ck_assert_int_eq(goal_for("-40s", STATUS_OK).time_ns, at(60));
	ck_assert_int_eq(goal_for("5m", STATUS_INVALID).time_ns, INT64_MAX);
	ck_assert_int_eq(goal_for("-5m", STATUS_INVALID).time_ns, at(0));
	ck_assert_uint_eq(goal_for("#7", STATUS_OK).ordinal, 7);
}
END_TEST

static struct timeline *whole_timeline(struct timeline_state *seen)
{
	struct timeline *timeline = timeline_start(session.player, &session.model_options);
	ck_assert_ptr_nonnull(timeline);
	const int64_t deadline_ns = wait_deadline(60);
	do
		timeline_read(timeline, seen);
	while (!seen->is_whole && wait_nap(deadline_ns));
	ck_assert(seen->is_whole);
	return timeline;
}

START_TEST(the_time_line_has_every_flag_and_when_it_is_seen)
{
	struct timeline_state seen;
	static struct timeline_flag flags[TIMELINE_FLAGS_MAX];
	record(&(struct recorded_options){ .scenario = "cold-read:5", .seconds = 60 });
	struct timeline *timeline = whole_timeline(&seen);
	size_t count = timeline_flags(timeline, flags);
	timeline_stop(timeline);
	ck_assert_uint_gt(count, 10);
	ck_assert_uint_eq(seen.flag_count, count);
	ck_assert_int_eq(seen.upto_ns, at(60));
	ck_assert_uint_eq(seen.lost_blocks, 0);
	for (size_t i = 0; i < count; i += 5) {
		struct session again;
		struct goal goal = goal_at(flags[i].seen_ns);
		ck_assert(session_again(&session, &again));
		ck_assert_int_eq(seek(&again, &goal), SEEK_ARRIVED);
		const struct run *run = &again.model->runs[flags[i].run];
		ck_assert_uint_ge(run->flagged_count, 1);
		const struct flagged *newest = &run->flagged[run->flagged_count - 1];
		ck_assert_uint_ge(newest->batch.ordinal, flags[i].ordinal);
		ck_assert(track_batch(run_main(run), flags[i].ordinal)->is_flagged);
		ck_assert_int_ge(flags[i].seen_ns, flags[i].end_ns);
		session_again_close(&again);
	}
}
END_TEST

/* The model is exact; warnings may differ, since rules began at another time. */
START_TEST(a_station_gives_what_playing_gives)
{
	struct session *station = NULL, played;
	struct buffer a = BUFFER_INIT, b = BUFFER_INIT;
	record(&(struct recorded_options){ .scenario = "checkpoint:3", .seconds = 500, .period_ns = NS_PER_S });
	struct stations *stations = stations_start(&session, at(0), at(500));
	struct goal goal = goal_at(at(300)), before = goal_at(at(200));
	ck_assert_ptr_nonnull(stations);
	ck_assert_ptr_null(stations_take(stations, &before, 0));
	const int64_t deadline_ns = wait_deadline(30);
	while (!(station = stations_take(stations, &goal, at(100))) && wait_nap(deadline_ns))
		continue;
	ck_assert_ptr_nonnull(station);
	ck_assert_int_eq(station->model->now_ns, at(250));
	ck_assert_int_eq(seek(station, &goal), SEEK_ARRIVED);
	ck_assert(session_again(&session, &played));
	play_to(&played, at(300));
	export_csv(&a, station->model, 0, 0, true);
	export_csv(&b, played.model, 0, 0, true);
	ck_assert(a.length > 100);
	ck_assert_str_eq(a.data, b.data);
	ck_assert_uint_eq(station->model->runs[0].flagged_count, played.model->runs[0].flagged_count);
	stations_give(stations, station);
	ck_assert(stations_take(stations, &goal, at(290)) == station);
	session_again_close(station);
	free(station);
	session_again_close(&played);
	stations_stop(stations);
	buffer_release(&a);
	buffer_release(&b);
}
END_TEST

START_TEST(the_time_line_shows_steps_losses_and_silence)
{
	struct timeline_state seen;
	struct replay_column columns[100];
	record(&(struct recorded_options){ .scenario = "clean",
		.seconds = 400,
		.lost_from_s = 100,
		.lost_to_s = 112,
		.silent_from_s = 200,
		.silent_to_s = 260 });
	struct timeline *timeline = whole_timeline(&seen);
	timeline_columns(timeline, at(0), at(400), columns, 100);
	timeline_stop(timeline);
	ck_assert_uint_gt(seen.lost_blocks, 50);
	unsigned lost = 0, silent = 0, steps = 0;
	for (int i = 0; i < 100; i++) {
		lost += columns[i].is_lost;
		silent += columns[i].is_silent;
		steps += isnan(columns[i].step_s) ? 0 : 1;
	}
	ck_assert(columns[24].is_lost || columns[25].is_lost);
	ck_assert_uint_le(lost, 5);
	ck_assert(columns[55].is_silent && !columns[45].is_silent && !columns[70].is_silent);
	ck_assert_uint_ge(silent, 12);
	ck_assert_uint_ge(steps, 70);
}
END_TEST

int main(void)
{
	close(mkstemp(path));
	Suite *suite = suite_create("seek");
	TCase *tests = tcase_create("seek");
	tcase_add_checked_fixture(tests, NULL, teardown);
	tcase_set_timeout(tests, 120);
	const TTest *const all[] = {
		forward_and_backward_give_what_playing_gives,
		raised_warnings_are_those_of_playing,
		a_batch_has_just_ended_and_an_epoch_just_begun,
		times_at_the_limits_of_int64_do_not_overflow,
		the_span_is_known_without_reading_the_whole,
		moments_outside_are_reported_and_clamped,
		the_time_line_has_every_flag_and_when_it_is_seen,
		a_station_gives_what_playing_gives,
		the_time_line_shows_steps_losses_and_silence,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	int failed = suite_run(suite);
	unlink(path);
	return failed > 0;
}
