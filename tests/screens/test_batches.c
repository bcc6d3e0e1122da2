#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/stage.h"
#include "tests/support/suite.h"

/* 300 batches of one epoch; 39, 79, … 279 are slow in data › decode. */
static void play(struct stage *stage, int width, int height)
{
	struct story_options options;
	story_options_default(&options);
	options.epochs = 5;
	options.batches = 1000;
	stage_open(stage, &options, width, height);
	stage_play(stage, 62);
	stage_type(stage, "2");
}

static void expect_picture(int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct stage stage;
	play(&stage, width, height);
	stage_expect_after(&stage, charset, keys, name);
	stage_close(&stage);
}

START_TEST(every_batch_is_a_bar) { expect_picture(120, 40, CHARSET_BRAILLE, "", "batches_120x40"); }
END_TEST
START_TEST(a_flagged_batch_is_explained) { expect_picture(120, 40, CHARSET_BRAILLE, "nN\r", "batches_why_120x40"); }
END_TEST
START_TEST(explained_at_80_columns) { expect_picture(80, 24, CHARSET_BRAILLE, "nN\r", "batches_why_80x24"); }
END_TEST
START_TEST(explained_at_200_columns) { expect_picture(200, 60, CHARSET_BRAILLE, "nN\r", "batches_why_200x60"); }
END_TEST
START_TEST(ascii_has_a_letter_for_each_phase) { expect_picture(80, 24, CHARSET_ASCII, "n", "batches_80x24_ascii"); }
END_TEST
START_TEST(an_ordinary_batch_is_explained_too)
{
	expect_picture(120, 40, CHARSET_BRAILLE, "hh\r", "batches_ordinary_120x40");
}
END_TEST

/* -- moving the selection -- */

/* The line under the bars begins with the focused batch. */
static void expect_focus(const struct stage *stage, const char *text)
{
	ck_assert_msg(stage_shows(stage, text), "the focus is not on \"%s\"", text);
}

START_TEST(n_and_N_select_the_next_flag_and_wrap)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "N");
	expect_focus(&stage, "▲ batch 279 of epoch 1 · ");
	stage_type(&stage, "N");
	expect_focus(&stage, "▲ batch 239 of epoch 1 · ");
	stage_type(&stage, "n");
	expect_focus(&stage, "▲ batch 279 of epoch 1 · ");
	stage_type(&stage, "n");
	expect_focus(&stage, "▲ batch 39 of epoch 1 · ");
	stage_type(&stage, "N");
	expect_focus(&stage, "▲ batch 279 of epoch 1 · ");
	stage_type(&stage, "\033n");
	expect_focus(&stage, "▲ batch 279 of epoch 1 · ");
	stage_close(&stage);
}
END_TEST

START_TEST(arrows_pages_home_and_end_move_the_cursor)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "N");
	stage_press(&stage, KEY_ARROW_RIGHT);
	expect_focus(&stage, "▼ batch 280 of epoch 1 · ");
	stage_press(&stage, KEY_ARROW_LEFT);
	stage_press(&stage, KEY_ARROW_LEFT);
	expect_focus(&stage, "▼ batch 278 of epoch 1 · ");
	stage_press(&stage, KEY_TO_HOME);
	expect_focus(&stage, "▼ batch 0 of epoch 1 · ");
	stage_press(&stage, KEY_ARROW_LEFT);
	expect_focus(&stage, "▼ batch 0 of epoch 1 · ");
	stage_press(&stage, KEY_PAGE_DOWN);
	expect_focus(&stage, "▼ batch 110 of epoch 1 · ");
	stage_press(&stage, KEY_PAGE_UP);
	expect_focus(&stage, "▼ batch 0 of epoch 1 · ");
	stage_press(&stage, KEY_TO_END);
	ck_assert(stage_shows(&stage, " · newest"));
	stage_close(&stage);
}
END_TEST

START_TEST(the_focus_stays_on_its_batch_while_the_run_goes_on)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "N");
	stage_play(&stage, 100);
	expect_focus(&stage, "▲ batch 279 of epoch 1 · ");
	stage_close(&stage);
}
END_TEST

START_TEST(f_flags_and_unflags_by_hand)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "Nhf");
	expect_focus(&stage, "▲ batch 278 of epoch 1 · ");
	ck_assert(stage_shows(&stage, "flagged 1/278 by hand"));
	stage_type(&stage, "\033NN");
	expect_focus(&stage, "▲ batch 278 of epoch 1 · ");
	stage_type(&stage, "f");
	expect_focus(&stage, "▼ batch 278 of epoch 1 · ");
	ck_assert(stage_shows(&stage, "unflagged 1/278 by hand"));
	stage_type(&stage, "n");
	expect_focus(&stage, "▲ batch 279 of epoch 1 · ");
	stage_close(&stage);
}
END_TEST

START_TEST(enter_opens_and_escape_goes_back_step_by_step)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "N\r");
	ck_assert(stage_shows(&stage, "Why batch 279 of epoch 1 was slow"));
	stage_type(&stage, "N");
	ck_assert(stage_shows(&stage, "Why batch 239 of epoch 1 was slow"));
	stage_type(&stage, "\033");
	ck_assert(!stage_shows(&stage, "was slow"));
	expect_focus(&stage, "▲ batch 239 of epoch 1 · ");
	stage_type(&stage, "\033");
	ck_assert(stage_shows(&stage, " · newest"));
	stage_type(&stage, "\033");
	ck_assert_str_eq(screen_view_name(stage.screen), "Overview");
	stage_close(&stage);
}
END_TEST

/* -- the list -- */

START_TEST(up_and_down_follow_the_order_of_the_list)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_press(&stage, KEY_ARROW_DOWN);
	expect_focus(&stage, "▲ batch 279 of epoch 1 · ");
	stage_press(&stage, KEY_ARROW_DOWN);
	expect_focus(&stage, "▲ batch 239 of epoch 1 · ");
	stage_press(&stage, KEY_ARROW_UP);
	expect_focus(&stage, "▲ batch 279 of epoch 1 · ");
	stage_type(&stage, "I");
	stage_press(&stage, KEY_ARROW_UP);
	expect_focus(&stage, "▲ batch 239 of epoch 1 · ");
	stage_close(&stage);
}
END_TEST

START_TEST(angle_keys_sort_the_list)
{
	struct stage stage;
	play(&stage, 120, 40);
	ck_assert(stage_shows(&stage, "by newest"));
	stage_type(&stage, ">");
	ck_assert(stage_shows(&stage, "by time"));
	stage_type(&stage, ">");
	ck_assert(stage_shows(&stage, "by ratio"));
	stage_type(&stage, ">");
	ck_assert(stage_shows(&stage, "by cause"));
	stage_type(&stage, ">");
	ck_assert(stage_shows(&stage, "by newest"));
	stage_type(&stage, "<I");
	ck_assert(stage_shows(&stage, "by cause, reversed"));
	stage_close(&stage);
}
END_TEST

START_TEST(a_click_chooses_a_bar_or_a_row)
{
	struct stage stage;
	int x, y;
	play(&stage, 120, 40);
	ck_assert(stage_find(&stage, "1/119", &x, &y));
	stage_click(&stage, x, y);
	expect_focus(&stage, "▲ batch 119 of epoch 1 · ");
	stage_type(&stage, "\033");
	ck_assert(stage_find(&stage, "     0 ┤", &x, &y));
	stage_click(&stage, x + 9, y);
	ck_assert(!stage_shows(&stage, " · newest"));
	stage_close(&stage);
}
END_TEST

/* -- search -- */

START_TEST(slash_finds_a_batch_by_its_number)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "/1/77\r");
	expect_focus(&stage, "▼ batch 77 of epoch 1 · ");
	stage_type(&stage, "\033/78\r");
	expect_focus(&stage, "▼ batch 78 of epoch 1 · ");
	stage_close(&stage);
}
END_TEST

START_TEST(slash_finds_slow_phases_and_n_walks_matches_until_escape)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "Nhf");
	stage_type(&stage, "\033/deCode\r");
	ck_assert(stage_shows(&stage, "/deCode"));
	expect_focus(&stage, "▲ batch 279 of epoch 1 · ");
	stage_type(&stage, "N");
	expect_focus(&stage, "▲ batch 239 of epoch 1 · ");
	stage_type(&stage, "n\033N");
	expect_focus(&stage, "▲ batch 278 of epoch 1 · ");
	stage_close(&stage);
}
END_TEST

START_TEST(a_search_without_a_match_says_what_can_be_found)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "/9/9\r");
	ck_assert(stage_shows(&stage, "no batch matches \"9/9\""));
	stage_type(&stage, "\033/xx\177\177\033");
	ck_assert(!stage_shows(&stage, "no batch matches"));
	ck_assert(stage_shows(&stage, "Enter why"));
	stage_close(&stage);
}
END_TEST

/* -- zoom and CSV -- */

START_TEST(zoom_widens_bars_and_groups_batches_without_losing_flags)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "-");
	ck_assert(stage_shows(&stage, "each bar: slowest of 2"));
	stage_type(&stage, "-");
	ck_assert(stage_shows(&stage, "each bar: slowest of 5"));
	stage_expect(&stage, "batches_gathered_120x40");
	stage_type(&stage, "+++");
	stage_expect(&stage, "batches_wide_bars_120x40");
	stage_type(&stage, "----------------++++++++++++++++++");
	ck_assert(!stage_shows(&stage, "a bar is"));
	stage_close(&stage);
}
END_TEST

START_TEST(csv_has_every_retained_batch_with_its_phases)
{
	struct buffer csv = BUFFER_INIT;
	struct stage stage;
	size_t rows = 0;
	play(&stage, 120, 40);
	ck_assert(screen_write(stage.screen, &csv));
	for (const char *c = csv.data; *c != '\0'; c++)
		rows += *c == '\n';
	ck_assert_uint_eq(rows, 1 + story_truth(stage.story).steps);
	ck_assert_ptr_eq(
		strstr(
			csv.data, "time_ns,time,epoch,batch,step_s,batch_s,loss,flagged,data_s,forward_s,backward_s,optimizer_s,"),
		csv.data);
	ck_assert_ptr_nonnull(strstr(csv.data, "\n1795183200"));
	ck_assert_ptr_nonnull(strstr(csv.data, ",2026-11-20T14:00:00."));
	buffer_release(&csv);
	stage_close(&stage);
}
END_TEST

START_TEST(without_a_run_it_says_how_to_get_batches)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	options.is_published = false;
	stage_open(&stage, &options, 80, 24);
	stage_play(&stage, 5);
	stage_type(&stage, "2nN\rf");
	ck_assert(stage_shows(&stage, "No instrumentation, and no loop found"));
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("batches");
	TCase *tests = tcase_create("batches");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, every_batch_is_a_bar);
	tcase_add_test(tests, a_flagged_batch_is_explained);
	tcase_add_test(tests, explained_at_80_columns);
	tcase_add_test(tests, explained_at_200_columns);
	tcase_add_test(tests, ascii_has_a_letter_for_each_phase);
	tcase_add_test(tests, an_ordinary_batch_is_explained_too);
	tcase_add_test(tests, n_and_N_select_the_next_flag_and_wrap);
	tcase_add_test(tests, arrows_pages_home_and_end_move_the_cursor);
	tcase_add_test(tests, the_focus_stays_on_its_batch_while_the_run_goes_on);
	tcase_add_test(tests, f_flags_and_unflags_by_hand);
	tcase_add_test(tests, enter_opens_and_escape_goes_back_step_by_step);
	tcase_add_test(tests, up_and_down_follow_the_order_of_the_list);
	tcase_add_test(tests, angle_keys_sort_the_list);
	tcase_add_test(tests, a_click_chooses_a_bar_or_a_row);
	tcase_add_test(tests, slash_finds_a_batch_by_its_number);
	tcase_add_test(tests, slash_finds_slow_phases_and_n_walks_matches_until_escape);
	tcase_add_test(tests, a_search_without_a_match_says_what_can_be_found);
	tcase_add_test(tests, zoom_widens_bars_and_groups_batches_without_losing_flags);
	tcase_add_test(tests, csv_has_every_retained_batch_with_its_phases);
	tcase_add_test(tests, without_a_run_it_says_how_to_get_batches);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
