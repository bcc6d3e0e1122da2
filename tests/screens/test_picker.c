#include <check.h>
#include <stdlib.h>

#include "tests/support/picture.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"
#include "ui/core/keys.h"
#include "ui/widgets/picker.h"

static const struct picker_row rows[] = {
	{ 48213, "resnet50", "0/1", "7/50", "642/1500", "4.7/s", "3.42 GB", NULL, "train", "published (pmtop.h 1.0)", false,
		false },
	{ 51377, NULL, NULL, NULL, NULL, NULL, "1.10 GB", NULL, "running", "Python: pmtop -p 51377", false, false },
	{ 60001, "llama", "3/8", "2/3", "17", "0.21/s", "812 MB", NULL, "slowest, validation", "published (pmtop.h 1.0)",
		false, true },
	{ 40112, "gpt-small", "3/8", "2/3", "99/100", NULL, NULL, NULL, "ended 14:02",
		"last events kept: pmtop -s gpt-small.40112", true, false },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void press(struct picker *picker, struct canvas *canvas, int key, enum picker_wish wanted)
{
	ck_assert_int_eq(picker_key(picker, rows, ROWS, (struct key_event){ .key = key }), wanted);
	picker_draw(picker, rows, ROWS, canvas);
}

static void type(struct picker *picker, struct canvas *canvas, const char *keys)
{
	for (; *keys != '\0'; keys++)
		press(picker, canvas, *keys, PICKER_NOTHING);
}

static void expect_picture(int width, int height, enum charset charset, size_t count, const char *name)
{
	struct canvas canvas = picture_canvas(width, height, charset);
	struct picker picker;
	picker_init(&picker);
	picker_draw(&picker, rows, count, &canvas);
	picture_expect_file(&canvas, name);
	canvas_release(&canvas);
}

static const struct picker_row users[] = {
	{ 48213, "resnet50", "0/2", "7/50", "642/1500", "4.7/s", "3.42 GB", "0: 38.9 GB", "train",
		"published (pmtop.h 1.0)", false, false },
	{ 48214, "resnet50", "1/2", "7/50", "642/1500", "4.7/s", "3.40 GB", "1: 38.9 GB", "train",
		"published (pmtop.h 1.0)", false, false },
	{ 50042, "simulate", NULL, NULL, NULL, NULL, "902 MB", "0, 1: 12.1 GB", "running",
		"process figures: pmtop -p 50042", false, false },
	{ 51377, "notebook", NULL, NULL, NULL, NULL, "1.10 GB", NULL, "running", "process figures: pmtop -p 51377", false,
		false },
};

static void expect_users(int width, int height, const char *name)
{
	struct canvas canvas = picture_canvas(width, height, CHARSET_BRAILLE);
	struct picker picker;
	picker_init(&picker);
	picker_draw(&picker, users, sizeof users / sizeof users[0], &canvas);
	picture_expect_file(&canvas, name);
	canvas_release(&canvas);
}

START_TEST(gpus_have_a_column_where_anybody_uses_one) { expect_users(120, 10, "picker_gpu_120x10"); }
END_TEST
START_TEST(a_narrow_list_keeps_what_says_which_run_it_is) { expect_users(80, 10, "picker_gpu_80x10"); }
END_TEST

START_TEST(every_row_says_how_to_watch_it) { expect_picture(120, 40, CHARSET_BRAILLE, ROWS, "picker_120x40"); }
END_TEST
START_TEST(less_important_columns_are_left_out_whole) { expect_picture(80, 24, CHARSET_BRAILLE, ROWS, "picker_80x24"); }
END_TEST
START_TEST(ascii_carries_the_same) { expect_picture(80, 24, CHARSET_ASCII, ROWS, "picker_80x24_ascii"); }
END_TEST
START_TEST(an_empty_list_says_what_to_do) { expect_picture(80, 24, CHARSET_BRAILLE, 0, "picker_empty_80x24"); }
END_TEST

START_TEST(enter_chooses_the_row_that_arrows_selected)
{
	struct canvas canvas = picture_canvas(80, 24, CHARSET_BRAILLE);
	struct picker picker;
	picker_init(&picker);
	picker_draw(&picker, rows, ROWS, &canvas);
	ck_assert_int_eq(picker_selected(&picker, rows, ROWS), 0);
	press(&picker, &canvas, KEY_ARROW_DOWN, PICKER_NOTHING);
	press(&picker, &canvas, 'j', PICKER_NOTHING);
	press(&picker, &canvas, KEY_RETURN, PICKER_CHOSEN);
	ck_assert_int_eq(picker_selected(&picker, rows, ROWS), 2);
	press(&picker, &canvas, KEY_TO_END, PICKER_NOTHING);
	ck_assert_int_eq(picker_selected(&picker, rows, ROWS), 3);
	press(&picker, &canvas, 'q', PICKER_QUIT);
	canvas_release(&canvas);
}
END_TEST

START_TEST(the_selection_follows_its_run_when_rows_move)
{
	struct canvas canvas = picture_canvas(80, 24, CHARSET_BRAILLE);
	struct picker picker;
	picker_init(&picker);
	picker_draw(&picker, rows, ROWS, &canvas);
	press(&picker, &canvas, KEY_ARROW_DOWN, PICKER_NOTHING);
	press(&picker, &canvas, KEY_ARROW_DOWN, PICKER_NOTHING);
	picker_draw(&picker, rows + 1, ROWS - 1, &canvas);
	ck_assert_int_eq(picker_selected(&picker, rows + 1, ROWS - 1), 1);
	picker_draw(&picker, rows, ROWS, &canvas);
	ck_assert_int_eq(picker_selected(&picker, rows, ROWS), 2);
	canvas_release(&canvas);
}
END_TEST

START_TEST(a_filter_shows_what_matches_until_escape)
{
	struct canvas canvas = picture_canvas(80, 24, CHARSET_BRAILLE);
	struct picker picker;
	picker_init(&picker);
	picker_draw(&picker, rows, ROWS, &canvas);
	type(&picker, &canvas, "/zebra\r");
	ck_assert_int_eq(picker_selected(&picker, rows, ROWS), -1);
	press(&picker, &canvas, KEY_RETURN, PICKER_NOTHING);
	press(&picker, &canvas, KEY_ESC, PICKER_NOTHING);
	ck_assert_int_eq(picker_selected(&picker, rows, ROWS), 0);
	type(&picker, &canvas, "/LLx\177ama\r");
	ck_assert_int_eq(picker_selected(&picker, rows, ROWS), 2);
	press(&picker, &canvas, KEY_RETURN, PICKER_CHOSEN);
	press(&picker, &canvas, KEY_ESC, PICKER_NOTHING);
	press(&picker, &canvas, KEY_ESC, PICKER_QUIT);
	canvas_release(&canvas);
}
END_TEST

START_TEST(a_click_selects_and_a_second_click_chooses)
{
	struct canvas canvas = picture_canvas(80, 24, CHARSET_BRAILLE);
	struct key_event click = { .key = KEY_CLICK, .x = 10 };
	struct picker picker;
	picker_init(&picker);
	picker_draw(&picker, rows, ROWS, &canvas);
	click.y = picker.list.y + 1;
	ck_assert_int_eq(picker_key(&picker, rows, ROWS, click), PICKER_NOTHING);
	ck_assert_int_eq(picker_selected(&picker, rows, ROWS), 1);
	ck_assert_int_eq(picker_key(&picker, rows, ROWS, click), PICKER_CHOSEN);
	canvas_release(&canvas);
}
END_TEST

START_TEST(no_size_does_harm)
{
	for (int width = 1; width <= 60; width += 3) {
		for (int height = 1; height <= 20; height++) {
			struct canvas canvas = picture_canvas(width, height, CHARSET_BRAILLE);
			struct picker picker;

			picker_init(&picker);
			picker_draw(&picker, rows, ROWS, &canvas);
			press(&picker, &canvas, KEY_PAGE_DOWN, PICKER_NOTHING);
			press(&picker, &canvas, KEY_ARROW_UP, PICKER_NOTHING);
			picker_draw(&picker, NULL, 0, &canvas);
			ck_assert_int_eq(picker_selected(&picker, NULL, 0), -1);
			canvas_release(&canvas);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("picker");
	TCase *tests = tcase_create("picker");
	tcase_add_test(tests, every_row_says_how_to_watch_it);
	tcase_add_test(tests, gpus_have_a_column_where_anybody_uses_one);
	tcase_add_test(tests, a_narrow_list_keeps_what_says_which_run_it_is);
	tcase_add_test(tests, less_important_columns_are_left_out_whole);
	tcase_add_test(tests, ascii_carries_the_same);
	tcase_add_test(tests, an_empty_list_says_what_to_do);
	tcase_add_test(tests, enter_chooses_the_row_that_arrows_selected);
	tcase_add_test(tests, the_selection_follows_its_run_when_rows_move);
	tcase_add_test(tests, a_filter_shows_what_matches_until_escape);
	tcase_add_test(tests, a_click_selects_and_a_second_click_chooses);
	tcase_add_test(tests, no_size_does_harm);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
