/* A live screen and its replay are equal, cell for cell: the test watches and records a real trainer, draws every view
 * at three sizes, and draws again from the recording after as many sets. With the replay's line only the header's mark,
 * that line and the keys differ. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/commands/commands.h"
#include "src/base/clock.h"
#include "src/session/session.h"
#include "ui/screen.h"
#include "ui/terminal/term_text.h"
#include "ui/widgets/chrome.h"
#include "tests/support/regions.h"
#include "tests/support/waiting.h"

/* Last: it has a macro with the name of one of our functions. */
#include <check.h>

enum { SIZES = 3, VIEWS_MAX = 12, SHOTS = 4 };
static const int sizes[SIZES][2] = { { 80, 24 }, { 120, 40 }, { 200, 60 } };
static const unsigned shots_at[SHOTS] = { 3, 8, 15, 25 }; /* sets */

struct gallery {
	struct canvas plain[SHOTS + 1][VIEWS_MAX][SIZES], lined[SHOTS + 1][VIEWS_MAX][SIZES];
};

static char folder[] = "/tmp/pmtop-live-XXXXXX", path[64];
static struct gallery live, again;
static struct settings settings;
static struct replay_line line = { .state = REPLAY_PLAYING, .speed = 1, .has_span = true, .end_ns = 60 * NS_PER_S };

static pid_t start_trainer(void)
{
	char trainer[512];
	snprintf(
		trainer, sizeof trainer, "%s/tests/workloads/trainer", getenv("PMTOP_BUILD") ? getenv("PMTOP_BUILD") : "build");
	pid_t pid = fork();
	if (pid == 0) {
		int nothing = open("/dev/null", O_RDWR);
		dup2(nothing, 1);
		dup2(nothing, 2);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(trainer, trainer, "--name", "recorded", "--epochs", "3", "--batches", "120", "--step-ms", "8",
			"--workers", "2", "--slow-every", "25", "--slow-ms", "40", (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void draw(struct session *session, struct screen *screen, struct canvas out[VIEWS_MAX][SIZES],
	const struct replay_line *replay)
{
	for (int view = 0; view < view_count; view++) {
		ck_assert(screen_open_view(screen, all_views[view]->name));
		for (int size = 0; size < SIZES; size++) {
			struct canvas *canvas = &out[view][size];
			canvas->height = sizes[size][1];
			ck_assert(canvas_resize(
				canvas, sizes[size][0], sizes[size][1] + (replay ? replay_line_rows(replay, canvas) : 0)));
			screen_draw(screen, canvas, session_realtime_ns(session), NS_PER_S / 10);
		}
	}
}

/* Draws after the numbers of sets in shots_at, and at the end. */
static void watch(struct session *session, struct gallery *gallery, bool is_replay)
{
	struct screen *plain = screen_new(session->model, &session->alerts, &settings),
				  *lined = screen_new(session->model, &session->alerts, &settings);
	unsigned sets = 1, shot = 0;
	ck_assert(plain && lined);
	if (is_replay)
		screen_set_replay(lined, &line);
	for (;;) {
		bool is_end = session_has_ended(session);
		if (is_end || sets == shots_at[shot < SHOTS ? shot : SHOTS - 1]) {
			draw(session, plain, gallery->plain[is_end ? SHOTS : shot], NULL);
			draw(session, lined, gallery->lined[is_end ? SHOTS : shot], is_replay ? &line : NULL);
			shot++;
		}
		if (is_end)
			break;
		while (!session_step(session) && !session_has_ended(session))
			session_wait(session, 100);
		sets++;
	}
	ck_assert_uint_gt(shot, SHOTS);
	screen_free(plain);
	screen_free(lined);
}

static void show(const struct canvas *canvas)
{
	struct buffer out = BUFFER_INIT;
	canvas_as_text(canvas, &out);
	fprintf(stderr, "%s\n", out.data);
	buffer_release(&out);
}

static void compare_rows(
	const struct canvas *a, int from_a, const struct canvas *b, int from_b, int rows, const char *what)
{
	for (int row = 0; row < rows; row++) {
		const struct cell *x = a->cells + (size_t)(from_a + row) * (size_t)a->width,
						  *y = b->cells + (size_t)(from_b + row) * (size_t)b->width;
		if (memcmp(x, y, (size_t)a->width * sizeof *x) == 0)
			continue;
		show(a);
		show(b);
		ck_abort_msg("%s: row %d differs (live and replay above)", what, from_a + row);
	}
}

START_TEST(every_view_of_a_replay_is_that_of_the_live_run)
{
	struct session session;
	char pid_command[64], what[64];
	snprintf(path, sizeof path, "%s/run.pmtop", folder);
	settings_default(&settings);
	settings.refresh_s = 0.1;
	settings.counters_always = true;
	pid_t pid = start_trainer();
	ck_assert(wait_until(regions_is_there, &pid, 20));
	ck_assert_int_eq(
		session_open(&session, &(struct options){ .command = &once_command, .pid = pid, .write = path }, &settings),
		EXIT_OK);
	watch(&session, &live, false);
	ck_assert_uint_gt(session.model->runs[0].flagged_count, 0);
	session_close(&session);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(pid_command, sizeof pid_command, "rm -f /dev/shm/pmtop.*.%d.*", (int)pid);
	ck_assert_int_eq(system(pid_command), 0);

	ck_assert_int_eq(
		session_open(&session, &(struct options){ .command = &once_command, .replay = path }, &settings), EXIT_OK);
	watch(&session, &again, true);
	session_close(&session);
	for (int shot = 0; shot <= SHOTS; shot++) {
		for (int view = 0; view < view_count; view++) {
			for (int size = 0; size < SIZES; size++) {
				const struct canvas *a = &live.plain[shot][view][size], *b = &again.plain[shot][view][size],
									*c = &live.lined[shot][view][size], *d = &again.lined[shot][view][size];
				snprintf(what, sizeof what, "shot %d, %s, %dx%d", shot, all_views[view]->name, a->width, a->height);
				compare_rows(a, 0, b, 0, a->height, what);
				/* The rows between the header and the replay's line above the keys; help also has that line's keys. */
				if (all_views[view] != &help_view)
					compare_rows(c, 1, d, 1, c->height - 2, what);
				ck_assert_int_eq(d->height - c->height, size + 1);
			}
		}
	}
}
END_TEST

int main(void)
{
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	if (!mkdtemp(folder))
		return 1;
	Suite *suite = suite_create("live is replay");
	TCase *tests = tcase_create("live is replay");
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, every_view_of_a_replay_is_that_of_the_live_run);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	for (size_t i = 0; i < sizeof live.plain / sizeof(struct canvas); i++) {
		canvas_release(&(&live.plain[0][0][0])[i]);
		canvas_release(&(&again.plain[0][0][0])[i]);
		canvas_release(&(&live.lined[0][0][0])[i]);
		canvas_release(&(&again.lined[0][0][0])[i]);
	}
	char command[64];
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command) != 0 || failed > 0;
}
