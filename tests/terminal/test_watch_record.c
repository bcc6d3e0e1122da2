/* Recording beside the screen, with the real program: the key r, its mark, flags by hand, and failures of the terminal,
 * the disk or pmtop. Faults of tests/README.md: 39, 40, 44, 46. */
#include <check.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "tests/support/suite.h"
#include "tests/support/watching.h"
#include "tests/support/waiting.h"

/* A region keeps the events of some 80 batches: here 1.7 s, so that pmtop misses none when a busy machine makes it
 * wait. */
#define LASTING "--epochs", "1000", "--batches", "50", "--step-ms", "20"

static char folder[64];

static void setup(void)
{
	snprintf(folder, sizeof folder, "/tmp/pmtop-rec-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void teardown(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	stop_trainer();
	ck_assert_int_eq(system(command), 0);
}

static struct vt *watch_and_record(int width, int height, const char *const environment[])
{
	static const char *const more[] = { "-w", "run.pmtop", NULL };
	return watch_with(width, height, more, environment);
}

static off_t size_of(const char *path)
{
	struct stat file;
	return stat(path, &file) == 0 ? file.st_size : 0;
}

/* The recording with an automatic name. */
static void made_name(char *out, size_t size)
{
	glob_t found;
	ck_assert_int_eq(glob("pmtop-*.pmtop", 0, NULL, &found), 0);
	ck_assert_uint_eq(found.gl_pathc, 1);
	snprintf(out, size, "%s", found.gl_pathv[0]);
	globfree(&found);
}

static void read_last_line(FILE *pipe, struct buffer *out)
{
	char *line = NULL;
	size_t room = 0;
	ck_assert_ptr_nonnull(pipe);
	while (getline(&line, &room, pipe) > 0) {
		buffer_clear(out);
		buffer_puts(out, line);
	}
	free(line);
	ck_assert_int_eq(pclose(pipe), 0);
	ck_assert_uint_gt(out->length, 0);
}

static void replay(const char *path, struct buffer *out)
{
	char command[2 * PATH_MAX];
	snprintf(command, sizeof command, "%.4000s -b --format=json -r %.4000s", watching_pmtop, path);
	read_last_line(popen(command, "r"), out);
}

/* Its last eight bytes are the offset of the index. */
static bool is_closed(const char *path)
{
	unsigned char end[8], magic[4] = { 0 };
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	bool is_read = fseek(file, -8, SEEK_END) == 0 && fread(end, 1, 8, file) == 8;
	unsigned long at = 0;
	for (size_t i = 0; i < 8; i++)
		at |= (unsigned long)end[i] << 8 * i;
	is_read = is_read && fseek(file, (long)at, SEEK_SET) == 0 && fread(magic, 1, 4, file) == 4;
	fclose(file);
	return is_read && memcmp(magic, "pmtB", 4) == 0;
}

static void assert_whole(const char *path)
{
	struct buffer json = BUFFER_INIT;
	replay(path, &json);
	ck_assert_ptr_nonnull(strstr(json.data, "\"batch\":{\"count\":"));
	ck_assert_ptr_nonnull(strstr(json.data, "\"lost_events\":0"));
	buffer_release(&json);
}

/* `"key":` and its value, as text; "" if absent. */
static void part_of(const struct buffer *json, const char *key, struct buffer *out)
{
	char text[64];
	snprintf(text, sizeof text, "\"%s\":", key);
	const char *begin = strstr(json->data, text), *end = begin;
	buffer_clear(out);
	buffer_puts(out, "");
	if (!begin)
		return;
	int depth = 0;
	for (end = begin + strlen(text); *end; end++) {
		depth += *end == '{' || *end == '[';
		depth -= *end == '}' || *end == ']';
		if (depth == 0 && (*end == ',' || *end == '}' || *end == ']'))
			break;
	}
	buffer_add(out, begin, (size_t)(end - begin));
}

/* Equal text except for the last digits of numbers: a span's self time is a float in the stream, and the order of sums
 * differs. */
static bool is_same(const char *a, const char *b)
{
	while (*a && *b) {
		if (!strchr("0123456789", *a)) {
			if (*a++ != *b++)
				return false;
			continue;
		}
		char *a_end, *b_end;
		double x = strtod(a, &a_end), y = strtod(b, &b_end);
		if (a_end == a || b_end == b || fabs(x - y) > 1e-6 * fabs(x))
			return false;
		a = a_end, b = b_end;
	}
	return *a == *b;
}

static void wait_for_size(const char *path, off_t size)
{
	const int64_t deadline_ns = wait_deadline(10);
	while (size_of(path) < size && wait_nap(deadline_ns))
		continue;
	ck_assert_int_ge(size_of(path), size);
}

START_TEST(r_begins_a_recording_and_ends_it)
{
	char path[PATH_MAX];
	TRAIN("--name", "key", LASTING);
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "optimizer");
	vt_press(vt, "r");
	ASSERT_SHOWS(vt, "recording to pmtop-key-");
	ASSERT_SHOWS(vt, "● rec ");
	made_name(path, sizeof path);
	wait_for_size(path, 20000);
	vt_press(vt, "r");
	ASSERT_SHOWS(vt, "recorded ");
	struct buffer screen = BUFFER_INIT;
	vt_pump(vt, 300);
	vt_screen(vt, &screen);
	ck_assert_ptr_null(strstr(screen.data, "● rec "));
	buffer_release(&screen);
	ck_assert_int_eq(quit(vt), 0);
	ck_assert(vt_saw(vt, ", nothing lost"));
	ck_assert(is_closed(path));
	assert_whole(path);
	ck_assert(is_training());
	vt_free(vt);
}
END_TEST

/* Rates cover the last 200 steps; a mode with fewer lacks the single batches from before the recording. */
static void drop_rates(char *text)
{
	static const char key[] = ",\"samples_per_s\":";
	for (char *at; (at = strstr(text, key));) {
		char *end = at + sizeof key - 1;
		end += strspn(end, "0123456789.e+-");
		memmove(at, end, strlen(end) + 1);
	}
}

/* A recording begun in mid-run knows what the region still had: everything except earlier single batches. */
START_TEST(a_recording_begun_in_the_middle_equals_the_live_run)
{
	static const char *const same[] = { "run", "batch", "epochs", "operations", "modes", "epoch", "run_eta_s",
		"lost_events" };
	char path[PATH_MAX], command[PATH_MAX + 128];
	struct buffer live = BUFFER_INIT, again = BUFFER_INIT, of_live = BUFFER_INIT, of_again = BUFFER_INIT;
	TRAIN("--name", "middle", "--epochs", "4", "--batches", "100", "--step-ms", "20", "--workers", "2");
	snprintf(command, sizeof command, "%s -b -d 0.1 --format=json -p %s", watching_pmtop, trainer_pid_text);
	FILE *pipe = popen(command, "r");
	struct vt *vt = watch(120, 40);
	ASSERT_SHOWS(vt, "Epoch 2/4");
	vt_press(vt, "r");
	ASSERT_SHOWS(vt, "● rec ");
	ASSERT_SHOWS(vt, "ended ");
	ck_assert_int_eq(quit(vt), 0);
	vt_free(vt);
	waitpid(trainer_pid, NULL, 0);
	made_name(path, sizeof path);
	replay(path, &again);
	read_last_line(pipe, &live);
	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		part_of(&live, same[i], &of_live);
		part_of(&again, same[i], &of_again);
		if (strcmp(same[i], "modes") == 0) {
			drop_rates(of_live.data);
			drop_rates(of_again.data);
		}
		ck_assert_msg(is_same(of_live.data, of_again.data), "%s\n%s", of_live.data, of_again.data);
	}
	part_of(&again, "batch", &of_again);
	ck_assert_ptr_nonnull(strstr(of_again.data, "\"count\":400"));
	buffer_release(&live);
	buffer_release(&again);
	buffer_release(&of_live);
	buffer_release(&of_again);
	trainer_pid = 0;
}
END_TEST

START_TEST(flag_by_hand_is_in_the_recording)
{
	struct buffer screen = BUFFER_INIT, json = BUFFER_INIT;
	char wanted[64];
	unsigned epoch, batch;
	TRAIN("--name", "hand", LASTING, "--workers", "0");
	struct vt *vt = watch_and_record(120, 40, NULL);
	ASSERT_SHOWS(vt, "optimizer");
	vt_press(vt, "2");
	ASSERT_SHOWS(vt, "Flagged");
	vt_press(vt, "\033[D\033[D\033[D");
	vt_settle(vt, 50, 500);
	vt_press(vt, "f");
	ASSERT_SHOWS(vt, "by hand");
	vt_screen(vt, &screen);
	if (strstr(screen.data, "unflagged ")) { /* the rule had flagged this one: the key took the flag away */
		vt_press(vt, "f");
		ASSERT_SHOWS(vt, " flagged ");
		vt_screen(vt, &screen);
	}
	const char *emitted = strstr(screen.data, " by hand");
	while (emitted > screen.data && emitted[-1] != ' ')
		emitted--;
	ck_assert_int_eq(sscanf(emitted, "%u/%u", &epoch, &batch), 2);
	ck_assert_int_eq(quit(vt), 0);
	vt_free(vt);
	replay("run.pmtop", &json);
	snprintf(wanted, sizeof wanted, "\"batch\":%u,", batch);
	const char *flagged = strstr(json.data, "\"flagged\":[");
	ck_assert_msg(flagged && strstr(flagged, wanted), "%u/%u is not flagged in the replay: %.600s", epoch, batch,
		flagged ? flagged : "no flagged batches");
	buffer_release(&screen);
	buffer_release(&json);
}
END_TEST

START_TEST(mark_needs_no_colour_and_no_unicode)
{
	static const char *const plain[] = { "LC_ALL=C", "NO_COLOR=1", NULL };
	TRAIN("--name", "ascii", LASTING);
	struct vt *vt = watch_and_record(80, 24, plain);
	ASSERT_SHOWS(vt, " rec ");
	quit(vt);
	vt_free(vt);
}
END_TEST

START_TEST(paused_screen_records_on)
{
	TRAIN("--name", "paused", LASTING);
	struct vt *vt = watch_and_record(120, 40, NULL);
	ASSERT_SHOWS(vt, "optimizer");
	vt_press(vt, " ");
	ASSERT_SHOWS(vt, "PAUSED");
	wait_for_size("run.pmtop", size_of("run.pmtop") + 20000);
	quit(vt);
	assert_whole("run.pmtop");
	vt_free(vt);
}
END_TEST

/* Fault 39. */
START_TEST(unread_terminal_records_on)
{
	TRAIN("--name", "unread", LASTING);
	struct vt *vt = watch_and_record(200, 50, NULL);
	ASSERT_SHOWS(vt, "optimizer");
	vt_set_reading(vt, false);
	for (int i = 0; i < 100; i++) {
		vt_resize(vt, 190 + i % 10, 50);
		vt_pump(vt, 2);
	}
	wait_for_size("run.pmtop", size_of("run.pmtop") + 20000);
	vt_set_reading(vt, true);
	ck_assert_int_eq(quit(vt), 0);
	ck_assert(is_closed("run.pmtop"));
	assert_whole("run.pmtop");
	vt_free(vt);
}
END_TEST

/* Fault 40. */
START_TEST(hang_up_closes_the_recording_even_when_sighup_is_ignored)
{
	int status;
	TRAIN("--name", "hangup", LASTING);
	signal(SIGHUP, SIG_IGN);
	struct vt *vt = watch_and_record(120, 40, NULL);
	ASSERT_SHOWS(vt, "optimizer");
	vt_hang_up(vt);
	ck_assert(vt_wait_exit(vt, &status, 1000));
	ck_assert(is_closed("run.pmtop"));
	assert_whole("run.pmtop");
	vt_free(vt);
}
END_TEST

/* Fault 44. */
START_TEST(crash_leaves_all_that_was_recorded)
{
	int status;
	TRAIN("--name", "crash", LASTING);
	struct vt *vt = watch_and_record(120, 40, NULL);
	ASSERT_SHOWS(vt, "optimizer");
	wait_for_size("run.pmtop", 20000);
	vt_signal(vt, SIGSEGV);
	ck_assert(vt_wait_exit(vt, &status, SOON_MS));
	ck_assert(!is_closed("run.pmtop"));
	assert_whole("run.pmtop");
	ck_assert(is_training());
	vt_free(vt);
}
END_TEST

/* Fault 46. */
START_TEST(full_disk_stays_visible_and_the_watch_goes_on)
{
	struct rlimit limit = { .rlim_cur = 120000, .rlim_max = RLIM_INFINITY };
	TRAIN("--name", "full", LASTING);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	struct vt *vt = watch_and_record(120, 40, NULL);
	ASSERT_SHOWS(vt, "optimizer");
	vt_press(vt, "8");
	ASSERT_SHOWS(vt, "file too large; complete up to then");
	vt_press(vt, "1");
	ASSERT_SHOWS(vt, "optimizer");
	ck_assert_int_eq(quit(vt), 0);
	ck_assert(vt_saw(vt, "pmtop: recording stopped "));
	assert_whole("run.pmtop");
	ck_assert(is_training());
	vt_free(vt);
}
END_TEST

START_TEST(a_stream_is_not_written_to_a_terminal)
{
	int status;
	char *const argv[] = { watching_pmtop, (char[]){ "collect" }, (char[]){ "-p" }, (char[]){ "1" }, NULL };
	struct vt *vt = vt_start(120, 10, argv, NULL);
	ASSERT_SHOWS(vt, "does not write its binary stream to a terminal");
	ck_assert(vt_wait_exit(vt, &status, SOON_MS));
	ck_assert_int_eq(WEXITSTATUS(status), 2);
	vt_free(vt);
}
END_TEST

int main(void)
{
	if (!watching_open())
		return 1;
	Suite *suite = suite_create("watch and record");
	TCase *tests = tcase_create("record");
	tcase_set_timeout(tests, 120);
	tcase_add_checked_fixture(tests, setup, teardown);
	const TTest *const all[] = {
		r_begins_a_recording_and_ends_it,
		a_recording_begun_in_the_middle_equals_the_live_run,
		flag_by_hand_is_in_the_recording,
		mark_needs_no_colour_and_no_unicode,
		paused_screen_records_on,
		unread_terminal_records_on,
		hang_up_closes_the_recording_even_when_sighup_is_ignored,
		crash_leaves_all_that_was_recorded,
		full_disk_stays_visible_and_the_watch_goes_on,
		a_stream_is_not_written_to_a_terminal,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	int failed = suite_run(suite);
	return !watching_close() || failed != 0;
}
