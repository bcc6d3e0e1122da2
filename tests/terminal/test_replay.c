/* The real program replays a recording on a real terminal: keys seek, and the clock shows the position. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/recorded.h"
#include "tests/support/suite.h"
#include "tests/support/vt.h"

#include <check.h>

enum { SOON_MS = 20000 };

static char pmtop[512], folder[] = "/tmp/pmtop-replay-XXXXXX", path[64];

/* Ten minutes; blocks are lost from 4:00 on. */
static void record(void)
{
	recorded_write(path,
		&(struct recorded_options){
			.scenario = "checkpoint:3", .seconds = 600, .period_ns = NS_PER_S, .lost_from_s = 240, .lost_to_s = 250 },
		NULL, NULL);
}

static struct vt *replay(int width, int height, const char *const more[])
{
	static char home[64];
	const char *environment[] = { "TERM=xterm-256color", "LC_ALL=C.UTF-8", "TZ=UTC", home, "XDG_CONFIG_HOME",
		"NO_COLOR", NULL };
	char *argv[12] = { pmtop, (char[]){ "-r" }, path };
	size_t count = 3;
	snprintf(home, sizeof home, "HOME=%s", folder);
	while (more && *more && count < 11)
		argv[count++] = (char *)(uintptr_t)*more++;
	return vt_start(width, height, argv, environment);
}

#define REPLAY(width, height, ...) replay(width, height, (const char *const[]){ __VA_ARGS__, NULL })
#define ASSERT_SHOWS(vt, text) assert_shows(vt, text, __LINE__)

static void assert_shows(struct vt *vt, const char *text, int line)
{
	if (vt_wait_text(vt, text, SOON_MS))
		return;
	struct buffer screen = BUFFER_INIT;
	vt_screen(vt, &screen);
	fprintf(stderr, "%s", screen.data);
	buffer_release(&screen);
	ck_abort_msg("line %d: \"%s\" is not on the screen (above)", line, text);
}

static void quit(struct vt *vt)
{
	int status = -1;
	vt_press(vt, "q");
	ck_assert(vt_wait_exit(vt, &status, SOON_MS));
	ck_assert_int_eq(status, 0);
	vt_free(vt);
}

START_TEST(a_replay_begins_at_the_start_and_its_clock_advances)
{
	struct vt *vt = replay(80, 24, NULL);
	ASSERT_SHOWS(vt, "14:00:00  0:00:00 / 0:10:00");
	ASSERT_SHOWS(vt, "replay 1x");
	ASSERT_SHOWS(vt, "0:00:02 / 0:10:00");
	quit(vt);
}
END_TEST

START_TEST(keys_move_the_clock)
{
	struct vt *vt = REPLAY(120, 40, "--at=50%");
	ASSERT_SHOWS(vt, "0:05:0");
	vt_press(vt, " ");
	ASSERT_SHOWS(vt, "paused");
	vt_press(vt, "^");
	ASSERT_SHOWS(vt, "14:00:00  0:00:00 /");
	vt_press(vt, "...");
	ASSERT_SHOWS(vt, "14:00:30  0:00:30 /");
	vt_press(vt, ",");
	ASSERT_SHOWS(vt, "14:00:20  0:00:20 /");
	vt_press(vt, "))");
	ASSERT_SHOWS(vt, "14:01:20  0:01:20 /");
	vt_press(vt, "(");
	ASSERT_SHOWS(vt, "14:00:50  0:00:50 /");
	vt_press(vt, "@14:08:30\r");
	ASSERT_SHOWS(vt, "14:08:30  0:08:30 /");
	vt_press(vt, "@-5m\r");
	ASSERT_SHOWS(vt, "14:05:00  0:05:00 /");
	vt_press(vt, "@soon\r");
	ASSERT_SHOWS(vt, "type 14:02:30");
	vt_press(vt, "@23:00\r");
	ASSERT_SHOWS(vt, "outside the recording, which goes from 2026-11-20 14:00:00 to 2026-11-20 14:10:00");
	ASSERT_SHOWS(vt, "14:10:00  0:10:00 /");
	vt_press(vt, "@#50\r");
	ASSERT_SHOWS(vt, "14:00:06  0:00:06 /");
	vt_press(vt, "$");
	ASSERT_SHOWS(vt, "14:10:00  0:10:00 /");
	quit(vt);
}
END_TEST

START_TEST(flags_are_walked_across_the_whole_recording)
{
	struct vt *vt = replay(120, 40, NULL);
	ASSERT_SHOWS(vt, "▲1");
	vt_press(vt, " ");
	vt_pump(vt, 1500);
	vt_press(vt, "$N");
	ASSERT_SHOWS(vt, "Enter why");
	ASSERT_SHOWS(vt, "0:09:5");
	vt_press(vt, "^");
	ASSERT_SHOWS(vt, "14:00:00  0:00:00 /");
	vt_press(vt, "n");
	ASSERT_SHOWS(vt, "▲ batch 70 of epoch 1 ");
	ASSERT_SHOWS(vt, "14:00:0");
	vt_press(vt, "n");
	ASSERT_SHOWS(vt, "▲ batch 120 of epoch 1 ");
	vt_press(vt, "N");
	ASSERT_SHOWS(vt, "▲ batch 70 of epoch 1 ");
	vt_press(vt, "N");
	ASSERT_SHOWS(vt, "this is the first flag");
	quit(vt);
}
END_TEST

START_TEST(speed_and_pause)
{
	struct vt *vt = replay(120, 40, NULL);
	ASSERT_SHOWS(vt, "replay 1x");
	vt_press(vt, "}}");
	ASSERT_SHOWS(vt, "replay 4x");
	vt_press(vt, "{{{{{{{");
	ASSERT_SHOWS(vt, "replay 0.25x");
	vt_press(vt, " ");
	ASSERT_SHOWS(vt, "‖ paused");
	vt_settle(vt, 400, 8000);
	uint64_t before = vt_reads(vt);
	vt_pump(vt, 700);
	ck_assert_uint_eq(vt_reads(vt), before);
	vt_press(vt, "}}}}}}}}}}}}}} ");
	ASSERT_SHOWS(vt, "at the end");
	vt_press(vt, " ");
	ASSERT_SHOWS(vt, "replay max");
	quit(vt);
}
END_TEST

START_TEST(losses_are_reported_and_drawn)
{
	struct vt *vt = replay(120, 40, NULL);
	ASSERT_SHOWS(vt, "10 blocks lost");
	struct buffer row = BUFFER_INIT;
	vt_row(vt, 38, &row);
	ck_assert_ptr_nonnull(strstr(row.data, "×"));
	buffer_release(&row);
	quit(vt);
}
END_TEST

START_TEST(a_click_on_the_time_line_goes_there)
{
	struct vt *vt = replay(120, 40, NULL);
	ASSERT_SHOWS(vt, "replay 1x");
	vt_press(vt, " ");
	ASSERT_SHOWS(vt, "paused");
	/* Last but one row, the bar's middle (SGR: column 57 of 31 … 84, row 39). */
	vt_press(vt, "\033[<0;57;39M\033[<0;57;39m");
	ASSERT_SHOWS(vt, "0:04:5");
	quit(vt);
}
END_TEST

START_TEST(all_views_and_sizes_are_drawn_and_help_has_the_keys)
{
	struct vt *vt = REPLAY(80, 24, "--at=1m", "--ascii");
	static const char *const shows[] = { "Step time", "Flagged", "unattributed", "Memory", "GPU", "Capacity", "Code",
		"Warnings", "Derived figures" };
	for (size_t i = 0; i < sizeof shows / sizeof *shows; i++) {
		vt_press(vt, (char[]){ (char)('1' + i), '\0' });
		ASSERT_SHOWS(vt, shows[i]);
		ASSERT_SHOWS(vt, "/ 0:10:00");
	}
	vt_press(vt, "?");
	ASSERT_SHOWS(vt, "double the speed");
	vt_resize(vt, 20, 5);
	vt_pump(vt, 100);
	vt_resize(vt, 1, 1);
	vt_pump(vt, 100);
	vt_resize(vt, 45, 10);
	ASSERT_SHOWS(vt, "0:01:0");
	quit(vt);
}
END_TEST

START_TEST(a_recording_from_a_pipe_is_shown_as_it_arrives)
{
	char command[700];
	snprintf(command, sizeof command, "cat %s | %s -r -", path, pmtop);
	char *const argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, command, NULL };
	const char *const environment[] = { "TERM=xterm-256color", "LC_ALL=C.UTF-8", "TZ=UTC", "HOME=/nonexistent",
		"XDG_CONFIG_HOME", NULL };
	struct vt *vt = vt_start(120, 40, argv, environment);
	ASSERT_SHOWS(vt, "at the end");
	ASSERT_SHOWS(vt, "14:10:00  0:10:00");
	vt_press(vt, ",");
	ASSERT_SHOWS(vt, "pmtop cannot seek in a pipe");
	quit(vt);
}
END_TEST

int main(void)
{
	snprintf(pmtop, sizeof pmtop, "%s/pmtop", getenv("PMTOP_BUILD") ? getenv("PMTOP_BUILD") : "build");
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof path, "%s/run.pmtop", folder);
	record();
	Suite *suite = suite_create("replay");
	TCase *tests = tcase_create("replay");
	tcase_set_timeout(tests, 120);
	const TTest *const all[] = {
		a_replay_begins_at_the_start_and_its_clock_advances,
		keys_move_the_clock,
		flags_are_walked_across_the_whole_recording,
		speed_and_pause,
		losses_are_reported_and_drawn,
		a_click_on_the_time_line_goes_there,
		all_views_and_sizes_are_drawn_and_help_has_the_keys,
		a_recording_from_a_pipe_is_shown_as_it_arrives,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	int failed = suite_run(suite);
	char command[64];
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command) != 0 || failed > 0;
}
