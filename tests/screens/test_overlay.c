#include <check.h>
#include <math.h>

#include "tests/support/stage.h"
#include "tests/support/suite.h"

enum { EARLIER = 280 };

static struct stage stage;
static struct earlier earlier;
static float steps_s[EARLIER];

/* 300 batches of 0.2 s; 39, 79, … 279 are slow. The earlier run was a tenth faster, slow once, and ended before. */
static void setup(void)
{
	struct story_options options;
	story_options_default(&options);
	options.epochs = 5;
	options.batches = 1000;
	stage_open(&stage, &options, 120, 40);
	for (size_t i = 0; i < EARLIER; i++)
		steps_s[i] = i == 200 ? 0.6f : i % 50 == 0 ? NAN : 0.17f + 0.02f * (float)(i % 7) / 7;
	earlier = (struct earlier){ .is_shown = true, .name = "before.pmtop", .count = EARLIER, .steps_s = steps_s };
	screen_set_earlier(stage.screen, &earlier);
	stage_play(&stage, 62);
}

static void teardown(void) { stage_close(&stage); }

START_TEST(the_earlier_run_is_drawn_under_the_shown_one)
{
	stage_expect(&stage, "overlay_120x40");
	stage_resize(&stage, 80, 24);
	stage_expect(&stage, "overlay_80x24");
}
END_TEST

START_TEST(ascii_has_a_sign_of_its_own)
{
	stage.canvas.charset = CHARSET_ASCII;
	stage_draw(&stage);
	stage_expect(&stage, "overlay_120x40_ascii");
}
END_TEST

START_TEST(bars_are_marked)
{
	stage_type(&stage, "2");
	stage_expect(&stage, "overlay_batches_120x40");
}
END_TEST

START_TEST(the_whole_run_has_it_too_and_other_modes_do_not)
{
	for (int i = 0; i < 6; i++)
		stage_type(&stage, "-");
	ck_assert(stage_shows(&stage, "all "));
	ck_assert(stage_shows(&stage, "earlier 0.179 s, now +"));
	ck_assert(stage_shows(&stage, "∘"));
}
END_TEST

START_TEST(without_one_nothing_changes)
{
	earlier.is_shown = false;
	earlier.count = 0;
	stage_draw(&stage);
	ck_assert(!stage_shows(&stage, "∘"));
	ck_assert(!stage_shows(&stage, "earlier"));
}
END_TEST

START_TEST(no_size_is_too_small)
{
	for (int height = 1; height < 60; height++)
		for (int width = 1; width < 200; width += 13) {
			stage_resize(&stage, width, height);
			stage_type(&stage, height % 2 ? "1" : "2");
		}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("overlay");
	TCase *tests = tcase_create("screens");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, the_earlier_run_is_drawn_under_the_shown_one);
	tcase_add_test(tests, ascii_has_a_sign_of_its_own);
	tcase_add_test(tests, bars_are_marked);
	tcase_add_test(tests, the_whole_run_has_it_too_and_other_modes_do_not);
	tcase_add_test(tests, without_one_nothing_changes);
	tcase_add_test(tests, no_size_is_too_small);
	return suite_run(suite);
}
