/* The real program on a real terminal, watching the real trainer: the screen shows the planted causes; the training run
 * and the terminal's modes survive every fault of the terminal. Faults of tests/README.md: 34, 39, 40, 41, 42, 43,
 * 44, 45. */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/suite.h"
#include "tests/support/watching.h"
#include "tests/support/regions.h"
#include "tests/support/waiting.h"

START_TEST(live_run_shows_progress_phases_and_memory)
{
	TRAIN("--name", "live", ENDLESS, "--workers", "2");
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "Epoch");
	ASSERT_SHOWS(vt, "optimizer");
	ASSERT_SHOWS(vt, "backward");
	ASSERT_SHOWS(vt, "live");
	ASSERT_SHOWS(vt, "Memory");
	ASSERT_SHOWS(vt, "median");
	ck_assert_int_eq(quit(vt), 0);
	ck_assert(is_training());
	vt_free(vt);
}
END_TEST

START_TEST(attached_before_the_first_batch_waits_and_then_shows_it)
{
	TRAIN("--name", "early", "--epochs", "1", "--batches", "400", "--step-ms", "4", "--slow-first-ms", "1500");
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "early");
	ASSERT_SHOWS(vt, "first batch");
	quit(vt);
	vt_free(vt);
}
END_TEST

START_TEST(a_person_walks_from_flag_to_flag_and_sees_why)
{
	TRAIN("--name", "flags", ENDLESS, "--workers", "0", "--slow-every", "40", "--slow-ms", "60");
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "flagged");
	vt_press(vt, "2");
	ASSERT_SHOWS(vt, "Flagged");
	ASSERT_SHOWS(vt, "data");
	vt_press(vt, "n");
	vt_press(vt, "\r");
	ASSERT_SHOWS(vt, "was slow");
	ASSERT_SHOWS(vt, "excess");
	vt_press(vt, "f");
	vt_press(vt, "\033");
	ck_assert_int_eq(quit(vt), 0);
	vt_free(vt);
}
END_TEST

START_TEST(every_view_opens_by_its_digit_and_help_lists_the_keys)
{
	static const char *const shows[] = { "Batch time", "Flagged", "unattributed", "Memory", "GPU", "System", "Code",
		"Warnings", "Counters" };
	TRAIN("--name", "views", ENDLESS);
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "optimizer");
	for (size_t i = 1; i < sizeof shows / sizeof *shows; i++) {
		vt_press(vt, (char[]){ (char)('1' + i), '\0' });
		ASSERT_SHOWS(vt, shows[i]);
	}
	vt_press(vt, "?");
	ASSERT_SHOWS(vt, "pause");
	vt_press(vt, "\033");
	quit(vt);
	vt_free(vt);
}
END_TEST

/* The terminal's escape sequence of F2; what is chosen is seen at once, and read by the next pmtop. */
START_TEST(set_up_is_seen_at_once_and_stays)
{
	char path[128];
	TRAIN("--name", "setup", ENDLESS, "--workers", "2");
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "optimizer");
	ck_assert_int_ne(vt_cell(vt, 1, 0).foreground, -1);
	vt_press(vt, "\033OQ");
	ASSERT_SHOWS(vt, "Display");
	vt_press(vt, "\rj ");
	ASSERT_SHOWS(vt, "no colours, only");
	ck_assert_int_eq(vt_cell(vt, 1, 0).foreground, -1);
	vt_press(vt, "k ");
	ASSERT_SHOWS(vt, " 5 Hz");
	vt_press(vt, "\033");
	ASSERT_SHOWS(vt, "saved: ");
	ck_assert_int_eq(quit(vt), 0);
	vt_free(vt);
	vt = watch(120, 40);
	ASSERT_SHOWS(vt, "optimizer");
	ck_assert_int_eq(vt_cell(vt, 1, 0).foreground, -1);
	quit(vt);
	vt_free(vt);
	snprintf(path, sizeof path, "%s/.config/pmtop/pmtop.yaml", watching_home);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(a_paused_screen_does_not_change_and_catches_up)
{
	TRAIN("--name", "pause", ENDLESS);
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "optimizer");
	vt_press(vt, " ");
	ASSERT_SHOWS(vt, "PAUSED");
	vt_settle(vt, 300, 3000);
	struct buffer before = BUFFER_INIT, after = BUFFER_INIT;
	vt_screen(vt, &before);
	vt_pump(vt, 800);
	vt_screen(vt, &after);
	ck_assert_str_eq(before.data, after.data);
	vt_press(vt, " ");
	vt_pump(vt, 800);
	buffer_clear(&after);
	vt_screen(vt, &after);
	ck_assert_str_ne(before.data, after.data);
	ck_assert_ptr_null(strstr(after.data, "PAUSED"));
	buffer_release(&before);
	buffer_release(&after);
	quit(vt);
	vt_free(vt);
}
END_TEST

START_TEST(killed_target_leaves_its_last_picture)
{
	TRAIN("--name", "killed", ENDLESS);
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "backward");
	kill(trainer_pid, SIGKILL);
	waitpid(trainer_pid, NULL, 0);
	ASSERT_SHOWS(vt, "ended");
	ASSERT_SHOWS(vt, "backward");
	ASSERT_SHOWS(vt, " (killed)");
	ASSERT_SHOWS(vt, ") was killed ");
	ck_assert_int_eq(quit(vt), 0);
	ck_assert(vt_saw(vt, "has ended"));
	ck_assert(vt_saw(vt, "pmtop: trainer ("));
	vt_free(vt);
}
END_TEST

START_TEST(hang_names_the_open_span)
{
	TRAIN("--name", "hang", "--epochs", "1", "--batches", "100", "--step-ms", "4", "--hang-at", "60");
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "in backward for");
	quit(vt);
	vt_free(vt);
}
END_TEST

START_TEST(process_that_publishes_nothing_is_shown_all_the_same)
{
	TRAIN(ENDLESS, "--no-publish");
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "pmtop.h");
	ASSERT_SHOWS(vt, "trainer");
	quit(vt);
	vt_free(vt);
}
END_TEST

START_TEST(written_view_is_a_csv_file)
{
	char folder[] = "/tmp/pmtop-write-XXXXXX", command[256], before[PATH_MAX];
	TRAIN("--name", "write", ENDLESS);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_ptr_nonnull(getcwd(before, sizeof before));
	ck_assert_int_eq(chdir(folder), 0);
	struct vt *vt = watch(120, 40);
	ck_assert_int_eq(chdir(before), 0);
	ASSERT_SHOWS(vt, "optimizer");
	vt_press(vt, "3w");
	ASSERT_SHOWS(vt, "written: pmtop-operations-");
	quit(vt);
	snprintf(command, sizeof command,
		"grep -q '^[^,]*,.*' %s/pmtop-operations-*.csv && grep -q forward %s/*.csv && ! find %s -name '*.csv' -perm "
		"/077 | grep -q .",
		folder, folder, folder);
	ck_assert_int_eq(system(command), 0);
	snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
	vt_free(vt);
}
END_TEST

/* Fault 39: no state of the terminal stops collection or training. */
START_TEST(unread_terminal_stops_nothing)
{
	TRAIN("--name", "unread", ENDLESS);
	struct vt *vt = watch(200, 50);
	ASSERT_SHOWS(vt, "optimizer");
	vt_set_reading(vt, false);
	for (int i = 0; i < 200; i++) {
		vt_resize(vt, 190 + i % 10, 50);
		vt_pump(vt, 5);
	}
	vt_set_reading(vt, true);
	vt_resize(vt, 120, 40);
	ASSERT_SHOWS(vt, "Where a");
	ck_assert_int_eq(quit(vt), 0);
	ck_assert(is_training());
	vt_free(vt);
}
END_TEST

static void ignore_hangup(void) { signal(SIGHUP, SIG_IGN); }

/* Fault 40. */
START_TEST(hang_up_ends_it_within_a_second_even_when_sighup_is_ignored)
{
	TRAIN("--name", "hangup", ENDLESS);
	ignore_hangup();
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "optimizer");
	int status;
	vt_hang_up(vt);
	ck_assert(vt_wait_exit(vt, &status, 1000));
	ck_assert(is_training());
	vt_free(vt);
}
END_TEST

/* Fault 42. */
START_TEST(resize_storm_ends_at_the_last_size)
{
	static const int sizes[][2] = { { 1, 1 }, { 1000, 300 }, { 2, 50 }, { 39, 9 }, { 80, 24 }, { 0, 0 }, { 250, 2 },
		{ 40, 10 } };
	TRAIN("--name", "storm", ENDLESS);
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "optimizer");
	for (int i = 0; i < 2000; i++) {
		const int *size = sizes[i % 8];
		vt_resize(vt, size[0] ? size[0] : 1, size[1] ? size[1] : 1);
		if (i % 50 == 0)
			vt_pump(vt, 2);
	}
	vt_resize(vt, 80, 24);
	ASSERT_SHOWS(vt, "Where");
	ck_assert_int_eq(quit(vt), 0);
	vt_free(vt);
}
END_TEST

/* Fault 43. */
START_TEST(odd_locales_and_terminals_are_drawn)
{
	static const char *const odd[][3] = {
		{ "LC_ALL=C", NULL },
		{ "LC_ALL=de_DE.UTF-8", NULL },
		{ "TERM=vt100", NULL },
		{ "TERM=screen", NULL },
		/* ncurses leaks memory in these two. */
		{ "TERM=linux", "ASAN_OPTIONS=detect_leaks=0" },
		{ "TERM=no-such-terminal", "ASAN_OPTIONS=detect_leaks=0" },
		{ "NO_COLOR=1", NULL },
		{ "LC_ALL=nonsense", "TERM=xterm", NULL },
	};
	TRAIN("--name", "odd", ENDLESS);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct vt *vt = watch_with(120, 40, NULL, odd[i]);
		ASSERT_SHOWS(vt, "optimizer");
		ck_assert_int_eq(quit(vt), 0);
		vt_free(vt);
	}
}
END_TEST

/* Fault 44. */
START_TEST(crash_gives_the_terminal_back)
{
	TRAIN("--name", "crash", ENDLESS);
	struct vt *vt = watch(120, 40);
	struct termios after;
	int status;
	ASSERT_SHOWS(vt, "optimizer");
	vt_signal(vt, SIGSEGV);
	ck_assert(vt_wait_exit(vt, &status, SOON_MS));
	after = vt_modes(vt);
	/* A sanitizer ends the program by an exit code of its own. */
	ck_assert(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
	ck_assert(vt_saw(vt, "\033[?1049l"));
	ck_assert_uint_eq(after.c_lflag & (ICANON | ECHO), ICANON | ECHO);
	ck_assert(is_training());
	vt_free(vt);
}
END_TEST

/* Fault 45. */
START_TEST(paste_of_a_megabyte_is_survived)
{
	TRAIN("--name", "paste", ENDLESS);
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "optimizer");
	size_t length = 1 << 20;
	char *paste = malloc(length);
	ck_assert_ptr_nonnull(paste);
	/* Without q and w, which would quit and write files. */
	for (size_t i = 0; i < length; i++)
		paste[i] = "abcdeghijkl\033[31;x\002\xff"[i % 20];
	vt_send(vt, paste, length);
	free(paste);
	vt_press(vt, "\033[");
	/* A flood of keys is dropped; keys count again a second later. */
	vt_pump(vt, 1500);
	vt_press(vt, "\033\033");
	vt_press(vt, "1");
	ASSERT_SHOWS(vt, "Where a");
	ck_assert_int_eq(quit(vt), 0);
	vt_free(vt);
}
END_TEST

/* Fault 34. */
START_TEST(hostile_names_never_reach_the_terminal_raw)
{
	TRAIN("--name",
		"x\033]52;c;aGk=\a\033[2J\xc2\x9b"
		"31m\xe2\x80\xae",
		ENDLESS);
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "optimizer");
	ASSERT_SHOWS(vt, "^[]52");
	ck_assert(!vt_saw(vt, "\033]52"));
	ck_assert(!vt_saw(vt, "\xc2\x9b"));
	ck_assert(!vt_saw(vt, "\xe2\x80\xae"));
	quit(vt);
	vt_free(vt);
}
END_TEST

START_TEST(sigterm_gives_the_terminal_back)
{
	TRAIN("--name", "suspend", ENDLESS);
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "optimizer");
	vt_signal(vt, SIGTERM);
	int status = -1;
	ck_assert(vt_wait_exit(vt, &status, SOON_MS));
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(vt_modes(vt).c_lflag & ECHO, ECHO);
	vt_free(vt);
}
END_TEST

START_TEST(without_a_target_a_run_is_chosen_from_the_list)
{
	TRAIN("--name", "chosen-one", ENDLESS);
	char *const argv[] = { watching_pmtop, NULL };
	const char *const environment[] = { "TERM=xterm-256color", "LC_ALL=C.UTF-8", "HOME=/nonexistent", NULL };
	ck_assert(wait_until(regions_is_there, &trainer_pid, 20));
	struct vt *vt = vt_start(120, 40, argv, environment);
	ASSERT_SHOWS(vt, "chosen-one");
	vt_press(vt, "/chosen-one\r");
	vt_pump(vt, 300);
	vt_press(vt, "\r");
	ASSERT_SHOWS(vt, "optimizer");
	ck_assert_int_eq(quit(vt), 0);
	vt_free(vt);
}
END_TEST

START_TEST(command_of_our_own_outlives_the_screen_and_gives_its_exit_status)
{
	char home_setting[80];
	char *const argv[] = { watching_pmtop, (char[]){ "--" }, (char[]){ "sh" }, (char[]){ "-c" },
		(char[]){ "echo spoils the screen; sleep 2; exit 7" }, NULL };
	snprintf(home_setting, sizeof home_setting, "HOME=%s", watching_home);
	const char *const environment[] = { "TERM=xterm-256color", "LC_ALL=C.UTF-8", home_setting, "XDG_STATE_HOME",
		"XDG_CONFIG_HOME", NULL };
	struct vt *vt = vt_start(120, 40, argv, environment);
	ASSERT_SHOWS(vt, "Overview");
	int status = quit(vt);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	ck_assert(vt_saw(vt, "waiting for it to exit"));
	ck_assert(!vt_saw(vt, "spoils the screen\r\n"));
	vt_free(vt);
}
END_TEST

int main(void)
{
	if (!watching_open())
		return 1;
	Suite *suite = suite_create("watch");
	TCase *tests = tcase_create("watch");
	tcase_set_timeout(tests, 120);
	tcase_add_checked_fixture(tests, NULL, stop_trainer);
	tcase_add_test(tests, live_run_shows_progress_phases_and_memory);
	tcase_add_test(tests, attached_before_the_first_batch_waits_and_then_shows_it);
	tcase_add_test(tests, a_person_walks_from_flag_to_flag_and_sees_why);
	tcase_add_test(tests, set_up_is_seen_at_once_and_stays);
	tcase_add_test(tests, every_view_opens_by_its_digit_and_help_lists_the_keys);
	tcase_add_test(tests, a_paused_screen_does_not_change_and_catches_up);
	tcase_add_test(tests, killed_target_leaves_its_last_picture);
	tcase_add_test(tests, hang_names_the_open_span);
	tcase_add_test(tests, process_that_publishes_nothing_is_shown_all_the_same);
	tcase_add_test(tests, written_view_is_a_csv_file);
	tcase_add_test(tests, unread_terminal_stops_nothing);
	tcase_add_test(tests, hang_up_ends_it_within_a_second_even_when_sighup_is_ignored);
	tcase_add_test(tests, resize_storm_ends_at_the_last_size);
	tcase_add_test(tests, odd_locales_and_terminals_are_drawn);
	tcase_add_test(tests, crash_gives_the_terminal_back);
	tcase_add_test(tests, paste_of_a_megabyte_is_survived);
	tcase_add_test(tests, hostile_names_never_reach_the_terminal_raw);
	tcase_add_test(tests, sigterm_gives_the_terminal_back);
	tcase_add_test(tests, without_a_target_a_run_is_chosen_from_the_list);
	tcase_add_test(tests, command_of_our_own_outlives_the_screen_and_gives_its_exit_status);
	suite_add_tcase(suite, tests);
	int failed = suite_run(suite);
	return !watching_close() || failed != 0;
}
