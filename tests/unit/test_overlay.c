/* An earlier run drawn over this one: its recording, its text, and the keys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/model/run/steps/tracks.h"
#include "src/playback/overlay.h"
#include "tests/support/recorded.h"
#include "tests/support/suite.h"
#include "ui/widgets/plots/earlier.h"

/* Last: it has a macro with the name of one of our functions. */
#include <check.h>

static char path[] = "/tmp/pmtop-overlay-XXXXXX";
static struct model_options options;
static struct settings settings;
static struct alerts alerts;
static struct model *model;
static struct screen *screen;
static struct canvas canvas;
static struct overlay *overlay;

static void setup(void)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	close(mkstemp(path));
	settings_default(&settings);
	model_options_default(&options);
	model = model_new(&options);
	screen = screen_new(model, &alerts, &settings);
	overlay = overlay_new(screen, &options);
	ck_assert(canvas_resize(&canvas, 120, 40));
}

static void teardown(void)
{
	overlay_free(overlay);
	screen_free(screen);
	canvas_release(&canvas);
	alerts_release(&alerts);
	model_free(model);
	unlink(path);
}

static void press(const char *keys)
{
	for (; *keys; keys++) {
		struct key_event event = { .key = *keys == '\r' ? KEY_RETURN
				: *keys == '\033'                       ? KEY_ESC
				: *keys == '\b'                         ? KEY_ERASE
														: *keys };
		if (!overlay_type(overlay, event) && !overlay_key(overlay, event))
			screen_key(screen, event, &canvas);
	}
	screen_draw(screen, &canvas, 0, 0);
}

static const char *last_line(void)
{
	static char text[1024];
	size_t length = 0;
	for (int x = 0; x < canvas.width; x++) {
		uint32_t code = canvas.cells[(canvas.height - 1) * canvas.width + x].code;
		text[length++] = code > 0 && code < 127 ? (char)code : '?';
	}
	text[length] = '\0';
	return text;
}

/* The model's own figures from the same sets. */
struct truth {
	struct model *model;
};

static void note(void *context, const struct sample_set *set) { model_apply(((struct truth *)context)->model, set); }

START_TEST(the_steps_are_those_of_the_recorded_run)
{
	struct truth truth = { model_new(&options) };
	struct reason why;
	recorded_write(path, &(struct recorded_options){ .seconds = 60 }, note, &truth);
	ck_assert_int_eq(overlay_open(overlay, path, &why), STATUS_OK);
	overlay_finish(overlay);
	const struct track *track = run_main(&truth.model->runs[0]);
	ck_assert_uint_gt(track->end, 100);
	ck_assert_int_eq(overlay_wait_ms(overlay), -1);
	ck_assert(!overlay_read(overlay));
	const struct earlier *shown = overlay_earlier(overlay);
	ck_assert(!shown->is_reading);
	ck_assert_uint_ge(shown->count, track->end - 1);
	for (uint64_t i = track->first; i < track->end - 1; i++) {
		const struct batch *batch = track_batch(track, i);
		if (batch && !isnan(batch->step_s))
			ck_assert_double_eq_tol((double)shown->steps_s[i], batch->step_s, 1e-6);
	}
	model_free(truth.model);
}
END_TEST

START_TEST(it_is_read_on_the_side)
{
	struct reason why;
	recorded_write(path, &(struct recorded_options){ .seconds = 3600 }, NULL, NULL);
	ck_assert_int_eq(overlay_open(overlay, path, &why), STATUS_OK);
	ck_assert_int_gt(overlay_wait_ms(overlay), 0);
	char words[128];
	ck_assert(overlay_read(overlay));
	earlier_words(overlay_earlier(overlay), 0, 10, 0.2, words, sizeof words);
	ck_assert_msg(strncmp(words, "reading pmtop-overlay-", 22) == 0, "%s", words);
	/* Removed in mid-read, and put back. */
	press("o");
	ck_assert(!overlay_earlier(overlay)->is_shown);
	ck_assert_int_eq(overlay_open(overlay, path, &why), STATUS_OK);
	overlay_finish(overlay);
	ck_assert_uint_gt(overlay_earlier(overlay)->count, 1000);
}
END_TEST

START_TEST(o_asks_for_a_file_and_takes_it_away)
{
	recorded_write(path, &(struct recorded_options){ .seconds = 10 }, NULL, NULL);
	press("o");
	ck_assert(strstr(last_line(), "overlay: _"));
	press("/tmp/qw\b\b");
	ck_assert(strstr(last_line(), "overlay: /tmp/_"));
	press("\033");
	ck_assert(!strstr(last_line(), "overlay"));
	press("o");
	press(path);
	press("\r");
	overlay_finish(overlay);
	ck_assert(overlay_earlier(overlay)->is_shown);
	ck_assert_uint_gt(overlay_earlier(overlay)->count, 10);
	press("o");
	ck_assert(!overlay_earlier(overlay)->is_shown);
	/* Opened again, it offers the same run. */
	press("o\r");
	overlay_finish(overlay);
	ck_assert(overlay_earlier(overlay)->is_shown);
}
END_TEST

START_TEST(a_file_that_is_no_recording_is_reported_in_one_line)
{
	press("o/nonexistent/run.pmtop\r");
	ck_assert(strstr(last_line(), "no overlay: cannot read /nonexistent/run.pmtop"));
	press("o");
	for (size_t i = 0; i < 30; i++)
		press("\b");
	press("-\r");
	ck_assert(strstr(last_line(), "no overlay: an overlay cannot be read from a pipe"));
	ck_assert(!overlay_earlier(overlay)->is_shown);
}
END_TEST

START_TEST(words_say_how_much_slower_it_is)
{
	static float steps_s[1000];
	struct earlier earlier = { .is_shown = true, .name = "run.pmtop", .count = 1000, .steps_s = steps_s };
	char words[128];
	for (size_t i = 0; i < 1000; i++)
		steps_s[i] = i % 10 == 3 ? NAN : 0.182f;
	ck_assert_str_eq(earlier_words(&earlier, 0, 200, 0.198, words, sizeof words), "earlier 0.182 s, now +9 %");
	ck_assert_str_eq(earlier_words(&earlier, 900, 1200, 0.182, words, sizeof words), "earlier 0.182 s, now +0 %");
	ck_assert_str_eq(
		earlier_words(&earlier, 1000, 1200, 0.182, words, sizeof words), "earlier run: 1,000 batches only");
	ck_assert_str_eq(earlier_words(&earlier, 0, 200, NAN, words, sizeof words), "earlier 0.182 s");
	ck_assert(isnan(earlier_mean(&earlier, 3, 4)));
	ck_assert_double_eq_tol(earlier_mean(&earlier, 0, UINT64_MAX), 0.182, 1e-6);
	earlier.count = 0;
	ck_assert_str_eq(earlier_words(&earlier, 0, 200, 0.2, words, sizeof words), "no batches in run.pmtop");
	earlier.is_reading = true;
	earlier.done_ratio = 0.431;
	ck_assert_str_eq(earlier_words(&earlier, 0, 200, 0.2, words, sizeof words), "reading run.pmtop 43 %");
	earlier.is_shown = false;
	ck_assert_str_eq(earlier_words(&earlier, 0, 200, 0.2, words, sizeof words), "");
	ck_assert_str_eq(earlier_words(NULL, 0, 200, 0.2, words, sizeof words), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("overlay");
	TCase *tests = tcase_create("overlay");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, the_steps_are_those_of_the_recorded_run);
	tcase_add_test(tests, it_is_read_on_the_side);
	tcase_add_test(tests, o_asks_for_a_file_and_takes_it_away);
	tcase_add_test(tests, a_file_that_is_no_recording_is_reported_in_one_line);
	tcase_add_test(tests, words_say_how_much_slower_it_is);
	return suite_run(suite);
}
