#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/stage.h"
#include "tests/support/suite.h"

/* A little more than two epochs, so with validation and checkpoints; the data of every 10th batch is late. */
static void play(struct stage *stage, int width, int height)
{
	struct story_options options;
	story_options_default(&options);
	options.slow_every = 10;
	stage_open(stage, &options, width, height);
	stage_play(stage, 52);
	stage_type(stage, "3");
}

static void expect_picture(int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct stage stage;
	play(&stage, width, height);
	stage_expect_after(&stage, charset, keys, name);
	stage_close(&stage);
}

START_TEST(operations_are_nested_with_what_no_span_covers)
{
	expect_picture(120, 40, CHARSET_BRAILLE, "", "operations_120x40");
}
END_TEST
START_TEST(at_80_columns_whole_columns_are_left_out)
{
	expect_picture(80, 24, CHARSET_BRAILLE, "", "operations_80x24");
}
END_TEST
START_TEST(at_200_columns_there_is_room_for_all)
{
	expect_picture(200, 60, CHARSET_BRAILLE, ">>", "operations_by_total_200x60");
}
END_TEST
START_TEST(ascii_carries_the_same) { expect_picture(80, 24, CHARSET_ASCII, "<", "operations_by_share_80x24_ascii"); }
END_TEST

/* The row of the screen that has the name. */
static int row_of(const struct stage *stage, const char *name)
{
	int x, y;
	ck_assert_msg(stage_find(stage, name, &x, &y), "\"%s\" is not shown", name);
	return y;
}

START_TEST(sorting_keeps_children_under_their_parent)
{
	struct stage stage;
	play(&stage, 120, 40);
	ck_assert_int_lt(row_of(&stage, "│data"), row_of(&stage, "│forward"));
	stage_type(&stage, ">>>>");
	ck_assert(stage_shows(&stage, "MEAN↓"));
	ck_assert_int_eq(row_of(&stage, "│  decode"), row_of(&stage, "│data") + 1);
	ck_assert_int_lt(row_of(&stage, "│backward"), row_of(&stage, "│forward"));
	stage_type(&stage, "I");
	ck_assert(stage_shows(&stage, "MEAN↑"));
	ck_assert_int_eq(row_of(&stage, "│  collate"), row_of(&stage, "│data") + 1);
	ck_assert_int_lt(row_of(&stage, "│forward"), row_of(&stage, "│backward"));
	stage_close(&stage);
}
END_TEST

START_TEST(a_click_on_a_heading_sorts_and_a_second_turns_over)
{
	struct stage stage;
	int x, y;
	play(&stage, 120, 40);
	ck_assert(stage_find(&stage, "TOTAL", &x, &y));
	stage_click(&stage, x, y);
	ck_assert(stage_shows(&stage, "TOTAL↓"));
	stage_click(&stage, x, y);
	ck_assert(stage_shows(&stage, "TOTAL↑"));
	stage_close(&stage);
}
END_TEST

static bool is_selected(const struct stage *stage, const char *name)
{
	int x, y;
	return stage_find(stage, name, &x, &y) && stage->canvas.cells[y * stage->canvas.width + x].role == ROLE_SELECTED;
}

START_TEST(search_walks_matching_rows)
{
	struct stage stage;
	play(&stage, 120, 40);
	ck_assert(is_selected(&stage, "data"));
	stage_type(&stage, "/WARD\r");
	ck_assert(is_selected(&stage, "forward"));
	stage_type(&stage, "n");
	ck_assert(is_selected(&stage, "backward"));
	stage_type(&stage, "N");
	ck_assert(is_selected(&stage, "forward"));
	stage_type(&stage, "\033/nowhere\r");
	ck_assert(stage_shows(&stage, "no operation matches \"nowhere\""));
	ck_assert(is_selected(&stage, "forward"));
	stage_close(&stage);
}
END_TEST

START_TEST(csv_has_every_operation_and_leaves_unknown_cells_empty)
{
	struct buffer csv = BUFFER_INIT;
	struct stage stage;
	play(&stage, 120, 40);
	ck_assert(screen_write(stage.screen, &csv));
	ck_assert_ptr_eq(
		strstr(
			csv.data, "mode,operation,parent,depth,count,total_s,self_s,mean_s,min_s,max_s,p95_s,cpu_s,share_ratio\n"),
		csv.data);
	ck_assert_ptr_nonnull(strstr(csv.data, "\ntrain,decode,data,1,"));
	ck_assert_ptr_nonnull(strstr(csv.data, "\ntrain,unattributed,,0,"));
	ck_assert_ptr_nonnull(strstr(csv.data, "\nvalidation,forward,,0,20,"));
	ck_assert_ptr_null(strstr(csv.data, "nan"));
	buffer_release(&csv);
	stage_close(&stage);
}
END_TEST

START_TEST(without_spans_it_says_how_to_make_some)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	options.is_published = false;
	stage_open(&stage, &options, 80, 24);
	stage_play(&stage, 5);
	stage_type(&stage, "3>n/x\r");
	ck_assert(stage_shows(&stage, "PMTOP_SPAN"));
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("operations");
	TCase *tests = tcase_create("operations");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, operations_are_nested_with_what_no_span_covers);
	tcase_add_test(tests, at_80_columns_whole_columns_are_left_out);
	tcase_add_test(tests, at_200_columns_there_is_room_for_all);
	tcase_add_test(tests, ascii_carries_the_same);
	tcase_add_test(tests, sorting_keeps_children_under_their_parent);
	tcase_add_test(tests, a_click_on_a_heading_sorts_and_a_second_turns_over);
	tcase_add_test(tests, search_walks_matching_rows);
	tcase_add_test(tests, csv_has_every_operation_and_leaves_unknown_cells_empty);
	tcase_add_test(tests, without_spans_it_says_how_to_make_some);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
