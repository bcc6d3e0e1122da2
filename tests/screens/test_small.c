#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/stage.h"
#include "tests/support/suite.h"

/* Draws every view at a size in a state, then presses the keys that depend on the drawn positions. */
static void draw_all(struct stage *stage, int width, int height)
{
	static const char views[] = "1234567890?";
	stage_resize(stage, width, height);
	for (const char *view = views; *view != '\0'; view++)
		stage_press(stage, *view);
	stage_type(stage, "2n\r");
	stage_press(stage, KEY_PAGE_UP);
	stage_press(stage, KEY_ARROW_DOWN);
	stage_click(stage, width / 2, height / 2);
	stage_type(stage, "-");
	stage_type(stage, "+\033\033");
}

static void draw_sizes(struct stage *stage)
{
	for (int width = 1; width <= 60; width++)
		for (int height = 1 + width % 2; height <= 20; height += width < 39 ? 5 : 2)
			draw_all(stage, width, height);
}

START_TEST(no_size_does_harm_to_a_run)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 80, 24);
	stage_play(&stage, 60);
	draw_sizes(&stage);
	stage_close(&stage);
}
END_TEST

START_TEST(no_size_does_harm_to_a_process_without_instrumentation)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	options.is_published = false;
	stage_open(&stage, &options, 80, 24);
	stage_play(&stage, 20);
	draw_sizes(&stage);
	stage_close(&stage);
}
END_TEST

START_TEST(no_size_does_harm_before_the_first_set)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 80, 24);
	draw_sizes(&stage);
	stage_close(&stage);
}
END_TEST

START_TEST(huge_and_odd_sizes_do_no_harm)
{
	static const int sizes[][2] = { { 500, 10 }, { 40, 300 }, { 1000, 1000 }, { 4200, 12 }, { 99, 29 }, { 100, 30 },
		{ 159, 60 }, { 160, 30 }, { 39, 50 }, { 80, 9 } };
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 80, 24);
	stage_play(&stage, 60);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		draw_all(&stage, sizes[i][0], sizes[i][1]);
	stage_close(&stage);
}
END_TEST

/* -- one line that says what matters -- */

static void expect_line(int width, int height, const char *wanted)
{
	struct story_options options;
	struct stage stage;
	int x, y;
	story_options_default(&options);
	options.slow_every = 10;
	stage_open(&stage, &options, width, height);
	stage_play(&stage, 40);
	ck_assert_msg(stage_find(&stage, wanted, &x, &y), "no \"%s\" at %dx%d", wanted, width, height);
	ck_assert_int_eq(x, 0);
	ck_assert_int_eq(y, 0);
	ck_assert(!stage_shows(&stage, "…"));
	stage_close(&stage);
}

START_TEST(below_40_by_10_one_line_says_what_matters)
{
	expect_line(39, 24, "0.200 s · epoch 2 · ");
	expect_line(80, 9, "0.200 s · epoch 2 · ");
	expect_line(20, 5, "0.200 s");
	expect_line(7, 1, "0.200 s");
}
END_TEST

START_TEST(the_smallest_screen_shows_a_sign)
{
	expect_line(6, 3, "⚠");
	expect_line(1, 1, "⚠");
}
END_TEST

START_TEST(pieces_of_a_line_are_left_out_whole)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 40, 10);
	for (int width = 40; width <= 160; width++) {
		stage_resize(&stage, width, 10);
		stage_play(&stage, 40);
		ck_assert_msg(!stage_shows(&stage, "· ·") && !stage_shows(&stage, "·  ●"),
			"a separator without its piece at %d columns", width);
	}
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("small");
	TCase *tests = tcase_create("small");
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, no_size_does_harm_to_a_run);
	tcase_add_test(tests, no_size_does_harm_to_a_process_without_instrumentation);
	tcase_add_test(tests, no_size_does_harm_before_the_first_set);
	tcase_add_test(tests, huge_and_odd_sizes_do_no_harm);
	tcase_add_test(tests, below_40_by_10_one_line_says_what_matters);
	tcase_add_test(tests, the_smallest_screen_shows_a_sign);
	tcase_add_test(tests, pieces_of_a_line_are_left_out_whole);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
