/* pmtop -- COMMAND on a terminal: the key `l` shows the command's output, none of which reaches the terminal as it is;
 * the command has its terminal, input, keys and status as without pmtop, and outlives it. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/suite.h"
#include "tests/support/waiting.h"
#include "tests/support/watching.h"

enum { COMMAND_SIZE = 2048 };

/* Runs `command` by a shell in which $pmtop starts pmtop and $home is a private folder. */
static struct vt *start(int width, int height, const char *command)
{
	static char home[80], home_too[80], pmtop[PATH_MAX + 16];
	char copy[COMMAND_SIZE];
	snprintf(copy, sizeof copy, "%s", command);
	char *const argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, copy, NULL };
	snprintf(home, sizeof home, "HOME=%s", watching_home);
	snprintf(home_too, sizeof home_too, "home=%s", watching_home);
	snprintf(pmtop, sizeof pmtop, "pmtop=%s -d 0.1", watching_pmtop);
	const char *const environment[] = { "TERM=xterm-256color", "LC_ALL=C.UTF-8", home, home_too, pmtop,
		"XDG_STATE_HOME", "XDG_CONFIG_HOME", "NO_COLOR", NULL };
	return vt_start(width, height, argv, environment);
}

static bool lacks(struct vt *vt, void *text)
{
	struct buffer screen = BUFFER_INIT;
	vt_screen(vt, &screen);
	bool is_there = strstr(screen.data, text);
	buffer_release(&screen);
	return !is_there;
}

/* What the file in the private folder holds; empty where there is none. */
static const char *contents(const char *name)
{
	static char text[65536];
	char path[128];
	snprintf(path, sizeof path, "%s/%s", watching_home, name);
	FILE *file = fopen(path, "r");
	size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
	text[length] = '\0';
	if (file)
		fclose(file);
	return text;
}

static bool is_written(void *name) { return contents(name)[0]; }

static int exit_code(struct vt *vt)
{
	int status = -1;
	ck_assert(vt_wait_exit(vt, &status, SOON_MS));
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(l_shows_the_newest_lines_and_hides_them)
{
	struct vt *vt = start(100, 30,
		"$pmtop -- sh -c 'for i in $(seq 200); do echo \"line $i\"; done; printf \"bar 1%%\\rbar 50%%\\rbar 100%%\"; "
		"sleep 1; printf \"\\nafterwards\\n\"; sleep 60'");
	ASSERT_SHOWS(vt, "l output");
	ck_assert(lacks(vt, "line 200"));
	vt_press(vt, "l");
	ASSERT_SHOWS(vt, "line 200");
	ASSERT_SHOWS(vt, "bar 100%");
	ASSERT_SHOWS(vt, "1Over");
	ck_assert(lacks(vt, "bar 50%"));
	ck_assert(lacks(vt, "line 100"));
	ASSERT_SHOWS(vt, "afterwards");
	vt_press(vt, "l");
	ck_assert(vt_wait(vt, lacks, (char[]){ "line 200" }, SOON_MS));
	vt_free(vt);
}
END_TEST

START_TEST(capital_l_shows_the_whole_output_and_scrolls)
{
	struct vt *vt = start(80, 24, "$pmtop -- sh -c 'for i in $(seq 200); do echo \"line $i\"; done; sleep 60'");
	ASSERT_SHOWS(vt, "l output");
	vt_press(vt, "L");
	ASSERT_SHOWS(vt, "line 200");
	ASSERT_SHOWS(vt, "line 185");
	vt_press(vt, "\033[5~");
	ASSERT_SHOWS(vt, "rows before the newest");
	ck_assert(lacks(vt, "line 200"));
	vt_press(vt, "\033[H");
	ASSERT_SHOWS(vt, "line 1");
	vt_press(vt, "\033[F");
	ASSERT_SHOWS(vt, "line 200");
	vt_press(vt, "6");
	ASSERT_SHOWS(vt, "Processes of the run");
	ASSERT_SHOWS(vt, "line 200");
	ck_assert(vt_wait(vt, lacks, (char[]){ "line 185" }, SOON_MS));
	vt_free(vt);
}
END_TEST

START_TEST(nothing_of_it_reaches_the_terminal_as_it_is)
{
	struct vt *vt = start(100, 30,
		"$pmtop -- sh -c 'printf \"\\033]0;evil title\\007\\033[6n\\033[?1049l\\033[41mred\\302\\2335n|\\n\"; "
		"printf \"a\\342\\200\\256b end\\n\"; sleep 60'");
	ASSERT_SHOWS(vt, "l output");
	vt_press(vt, "l");
	ASSERT_SHOWS(vt, "red5n|");
	ASSERT_SHOWS(vt, "end");
	ASSERT_SHOWS(vt, "1Over");
	ck_assert(!vt_saw(vt, "evil title"));
	ck_assert(!vt_saw(vt, "\033[6n"));
	ck_assert(!vt_saw(vt, "\033[?1049l"));
	ck_assert(!vt_saw(vt, "\342\200\256"));
	vt_free(vt);
}
END_TEST

static bool has_new_size(void *context)
{
	(void)context;
	return strstr(contents("sizes"), "20 90");
}

START_TEST(the_command_has_a_terminal_of_the_same_size)
{
	struct vt *vt = start(100, 30,
		"$pmtop -- sh -c '[ -t 1 ] && [ -t 2 ] && ! [ -t 0 ] && echo output is a terminal; "
		"for i in $(seq 300); do stty size <&1 >>$home/sizes; sleep 0.1; done'");
	ASSERT_SHOWS(vt, "l output");
	vt_press(vt, "l");
	ASSERT_SHOWS(vt, "output is a terminal");
	ck_assert(wait_until(is_written, (char[]){ "sizes" }, 10));
	ck_assert_ptr_nonnull(strstr(contents("sizes"), "30 100\n"));
	vt_resize(vt, 90, 20);
	ck_assert(wait_until(has_new_size, NULL, 20));
	vt_free(vt);
}
END_TEST

START_TEST(what_is_redirected_stays_so)
{
	struct vt *vt = start(100, 30,
		"echo from a pipe | $pmtop -- sh -c 'read x; echo \"read: $x\"; echo an error >&2; sleep 60' 2>$home/errors");
	ASSERT_SHOWS(vt, "l output");
	vt_press(vt, "l");
	ASSERT_SHOWS(vt, "read: from a pipe");
	ck_assert(lacks(vt, "an error"));
	ck_assert_str_eq(contents("errors"), "an error\n");
	vt_free(vt);
}
END_TEST

START_TEST(its_status_and_the_end_of_its_output_are_shown)
{
	struct vt *vt = start(100, 30, "$pmtop -- sh -c 'sleep 1; echo ValueError: the last line >&2; exit 7'");
	ASSERT_SHOWS(vt, "the command failed (exit status 7)");
	vt_press(vt, "l");
	ASSERT_SHOWS(vt, "ValueError: the last line");
	vt_press(vt, "q");
	ck_assert_int_eq(exit_code(vt), 7);
	ck_assert(vt_saw(vt, "its output is in "));
	ck_assert(vt_saw(vt, "exited by itself with an error: exit status 7"));
	vt_free(vt);
}
END_TEST

/* The first one is answered by going on, as Lightning does, the second by ending. */
START_TEST(ctrl_c_is_for_the_command_each_time)
{
	struct vt *vt = start(100, 30,
		"exec $pmtop -- sh -c 'trap \"echo caught >>$home/caught\" INT; echo ready; while ! [ -s $home/caught ]; do "
		"sleep 0.1; done; trap \"exit 9\" INT; echo again >$home/again; while :; do sleep 0.1; done'");
	ASSERT_SHOWS(vt, "l output");
	vt_press(vt, "l");
	ASSERT_SHOWS(vt, "ready");
	vt_press(vt, "\003");
	ck_assert(wait_until(is_written, (char[]){ "again" }, 10));
	ASSERT_SHOWS(vt, "waiting for it to exit");
	vt_pump(vt, 300);
	vt_press(vt, "\003");
	ck_assert_int_eq(exit_code(vt), 9);
	vt_free(vt);
}
END_TEST

static bool is_private(const char *path)
{
	struct stat file;
	return stat(path, &file) == 0 && (file.st_mode & 077) == 0;
}

/* kill -9 of pmtop, while the command writes as fast as it can. */
START_TEST(killed_pmtop_leaves_the_command_and_its_whole_output)
{
	char name[64], path[160], expected[32];
	struct vt *vt = start(100, 30,
		"$pmtop -- sh -c 'echo $PPID >$home/pid; echo begun; i=0; while [ $i -lt 20000 ] || ! [ -s $home/killed ]; do "
		"i=$((i + 1)); echo \"line $i\"; done; echo \"the last of $i\"; echo $i >$home/count'; sleep 60");
	ASSERT_SHOWS(vt, "l output");
	vt_press(vt, "l");
	ASSERT_SHOWS(vt, "line ");
	pid_t pid = (pid_t)atoi(contents("pid"));
	ck_assert_int_gt(pid, 1);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	vt_pump(vt, 300);
	snprintf(path, sizeof path, "echo 1 >%s/killed", watching_home);
	ck_assert_int_eq(system(path), 0);
	ck_assert(wait_until(is_written, (char[]){ "count" }, 60));
	snprintf(expected, sizeof expected, "%s", contents("count"));
	snprintf(name, sizeof name, ".local/state/pmtop/output-%d.log", (int)pid);
	snprintf(path, sizeof path, "%s/%s", watching_home, name);
	ck_assert(is_private(path));
	vt_pump(vt, 500);
	FILE *log = fopen(path, "r");
	char line[64] = "";
	int count = 0, number;
	ck_assert_ptr_nonnull(log);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, log));
	ck_assert_str_eq(line, "begun\n");
	while (fgets(line, sizeof line, log) && sscanf(line, "line %d", &number) == 1)
		ck_assert_int_eq(number, ++count);
	ck_assert_int_eq(strncmp(line, "the last of ", 12), 0);
	ck_assert_str_eq(line + 12, expected);
	ck_assert_int_eq(count, atoi(expected));
	fclose(log);
	vt_free(vt);
}
END_TEST

/* Without a home there is no folder for the file, but the output is not lost. */
START_TEST(output_has_a_file_without_a_home)
{
	struct vt *vt = start(120, 30, "HOME= TMPDIR=$home $pmtop -- sh -c 'echo here it is; sleep 60'");
	ASSERT_SHOWS(vt, "l output");
	vt_press(vt, "l");
	ASSERT_SHOWS(vt, "here it is");
	ASSERT_SHOWS(vt, "/output-");
	vt_free(vt);
}
END_TEST

/* A full disk, here a limit on the size of files, does not stop the command; the file says what it lacks. */
START_TEST(full_disk_does_not_stop_the_command)
{
	char command[256];
	struct vt *vt = start(100, 30,
		"ulimit -S -f 16; $pmtop -- sh -c 'for i in $(seq 3000); do echo \"line $i\"; done; sleep 0.5; echo \"later\"; "
		"prlimit --pid $(pgrep -P $PPID output-relay) --fsize=unlimited; echo \"the last\"; exit 4'");
	ASSERT_SHOWS(vt, "exit status 4");
	vt_press(vt, "l");
	ASSERT_SHOWS(vt, "bytes of output could not be written]");
	ASSERT_SHOWS(vt, "the last");
	vt_press(vt, "q");
	ck_assert_int_eq(exit_code(vt), 4);
	/* What is in the file and what it says is missing are all that the command wrote: its lines have 28,893 bytes. */
	snprintf(command, sizeof command,
		"cd %s/.local/state/pmtop && lost=$(sed -n 's/^.pmtop: \\([0-9]*\\) bytes.*/\\1/p' *.log) && "
		"[ $(grep -v '^.pmtop: ' *.log | wc -c) -eq $((28893 + 6 + 9 + 1 - lost)) ]",
		watching_home);
	ck_assert_int_eq(system(command), 0);
	vt_free(vt);
}
END_TEST

/* A terminal that cannot place its cursor gets lines, and the command's output among them. */
START_TEST(dumb_terminal_gets_the_output_itself)
{
	struct vt *vt = start(100, 30, "TERM=dumb $pmtop -- sh -c 'echo plain output; sleep 1'");
	ASSERT_SHOWS(vt, "plain output");
	ck_assert_int_eq(exit_code(vt), 0);
	vt_free(vt);
}
END_TEST

static void clear_home(void)
{
	char command[160];
	snprintf(command, sizeof command, "rm -rf %s/* %s/.local", watching_home, watching_home);
	ck_assert_int_eq(system(command), 0);
}

int main(void)
{
	if (!watching_open())
		return 1;
	Suite *suite = suite_create("launch_log");
	TCase *tests = tcase_create("launch_log");
	tcase_set_timeout(tests, 120);
	tcase_add_checked_fixture(tests, clear_home, NULL);
	tcase_add_test(tests, l_shows_the_newest_lines_and_hides_them);
	tcase_add_test(tests, capital_l_shows_the_whole_output_and_scrolls);
	tcase_add_test(tests, nothing_of_it_reaches_the_terminal_as_it_is);
	tcase_add_test(tests, the_command_has_a_terminal_of_the_same_size);
	tcase_add_test(tests, what_is_redirected_stays_so);
	tcase_add_test(tests, its_status_and_the_end_of_its_output_are_shown);
	tcase_add_test(tests, ctrl_c_is_for_the_command_each_time);
	tcase_add_test(tests, killed_pmtop_leaves_the_command_and_its_whole_output);
	tcase_add_test(tests, output_has_a_file_without_a_home);
	tcase_add_test(tests, full_disk_does_not_stop_the_command);
	tcase_add_test(tests, dumb_terminal_gets_the_output_itself);
	suite_add_tcase(suite, tests);
	int failed = suite_run(suite);
	return !watching_close() || failed != 0;
}
