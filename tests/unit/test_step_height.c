#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "ui/widgets/plots/earlier.h"
#include "ui/widgets/plots/step_height.h"

static void add_many(struct step_height *height, double step_s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		step_height_add(height, step_s, false);
}

START_TEST(the_warm_up_sets_no_scale)
{
	struct step_height height = { .count = 0 };
	for (int i = 0; i < 8; i++)
		step_height_add(&height, 0.3, true);
	ck_assert_double_eq(step_height_reach(&height), 0.3);
	add_many(&height, 0.2, 30);
	ck_assert_double_eq(step_height_reach(&height), 0.2);
}
END_TEST

START_TEST(a_lone_step_far_above_all_others_sets_none)
{
	struct step_height height = { .count = 0 };
	add_many(&height, 0.1, 1);
	step_height_add(&height, 2.3, false);
	add_many(&height, 0.1, 8);
	ck_assert_double_eq(step_height_reach(&height), 0.1);
}
END_TEST

START_TEST(a_slow_step_not_far_above_the_others_sets_the_scale)
{
	struct step_height height = { .count = 0 };
	add_many(&height, 0.1, 100);
	step_height_add(&height, 0.39, false);
	ck_assert_double_eq(step_height_reach(&height), 0.39);
}
END_TEST

START_TEST(slow_steps_that_recur_set_the_scale)
{
	struct step_height height = { .count = 0 };
	add_many(&height, 0.002, 194);
	add_many(&height, 0.03, 6);
	ck_assert_double_eq(step_height_reach(&height), 0.03);
}
END_TEST

START_TEST(one_step_in_fifty_is_an_outlier)
{
	struct step_height height = { .count = 0 };
	step_height_add(&height, 0.5, false);
	add_many(&height, 0.002, 146);
	step_height_add(&height, 4.3, false);
	step_height_add(&height, 0.02, false);
	ck_assert_double_eq(step_height_reach(&height), 0.02);
	add_many(&height, 0.002, 1);
	ck_assert_double_eq(step_height_reach(&height), 0.002);
}
END_TEST

START_TEST(nothing_known_reaches_nowhere)
{
	struct step_height height = { .count = 0 };
	struct scale scale = { 0, 0, 0 };
	step_height_add(&height, NAN, false);
	step_height_add(&height, NAN, true);
	ck_assert(isnan(step_height_reach(&height)));
	ck_assert(!step_height_scale(&scale, &height, NULL));
	ck_assert(!step_is_cut(&scale, 1));
}
END_TEST

START_TEST(the_scale_of_the_first_step_does_not_linger)
{
	struct step_height height = { .count = 0 };
	struct scale scale = { 0, 0, 0 };
	step_height_add(&height, 2.3, false);
	ck_assert(step_height_scale(&scale, &height, NULL));
	ck_assert_double_ge(scale.max, 2.3);
	step_height_add(&height, 0.1, false);
	ck_assert(step_height_scale(&scale, &height, NULL));
	ck_assert_double_lt(scale.max, 0.2);
	ck_assert(step_is_cut(&scale, 2.3));
	ck_assert(!step_is_cut(&scale, 0.1));
}
END_TEST

START_TEST(the_scale_fits_an_earlier_run_without_its_outliers)
{
	struct step_height height = { .count = 0 }, earlier = { .count = 0 };
	struct scale scale = { 0, 0, 0 };
	add_many(&height, 0.1, 50);
	add_many(&earlier, 0.35, 50);
	step_height_add(&earlier, 9, false);
	ck_assert(step_height_scale(&scale, &height, &earlier));
	ck_assert_double_ge(scale.max, 0.35);
	ck_assert_double_lt(scale.max, 1);
}
END_TEST

/* -- the mark -- */

static const struct rect ROOM = { 0, 0, 16, 3 };

static void draw(struct canvas *canvas, size_t cut, bool is_flagged)
{
	static const struct scale scale = { 0, 0.4, 0 };
	struct plot_point points[16];
	for (size_t i = 0; i < 16; i++)
		points[i] =
			(struct plot_point){ i == cut ? 2.5 : 0.1, i == cut ? 2.5 : 0.1, ROLE_PLOT, is_flagged && i == cut };
	plot_points(canvas, ROOM, &scale, points, 16, true);
	plot_band(canvas, ROOM, &scale, 0.2, 0.4, ROLE_BAND);
	step_mark_cut(canvas, ROOM, (int)cut, 1, 2.5);
}

START_TEST(a_step_above_the_scale_has_a_mark_and_its_time)
{
	struct canvas canvas = picture_canvas(ROOM.width, ROOM.height, CHARSET_BLOCK);
	draw(&canvas, 1, false);
	picture_expect(&canvas,
		"·↑ 2.500 s  · · |\n"
		"·█· · · · · · · |\n"
		"▀ ▀▀▀▀▀▀▀▀▀▀▀▀▀▀|\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(at_the_right_edge_the_time_is_left_of_its_mark)
{
	struct canvas canvas = picture_canvas(ROOM.width, ROOM.height, CHARSET_BLOCK);
	draw(&canvas, 14, false);
	picture_expect(&canvas,
		"· · · 2.500 s ↑ |\n"
		"· · · · · · · █ |\n"
		"▀▀▀▀▀▀▀▀▀▀▀▀▀▀ ▀|\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(a_flagged_one_keeps_its_flag_below_the_mark)
{
	struct canvas canvas = picture_canvas(ROOM.width, ROOM.height, CHARSET_BLOCK);
	draw(&canvas, 1, true);
	picture_expect(&canvas,
		"·↑ 2.500 s  · · |\n"
		"·▲· · · · · · · |\n"
		"▀ ▀▀▀▀▀▀▀▀▀▀▀▀▀▀|\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(in_ascii_the_mark_is_not_that_of_a_flag)
{
	struct canvas canvas = picture_canvas(ROOM.width, ROOM.height, CHARSET_ASCII);
	draw(&canvas, 1, true);
	picture_expect(&canvas,
		".+ 2.500 s  . . |\n"
		".^. . . . . . . |\n"
		"* **************|\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(without_room_the_mark_has_no_time)
{
	struct canvas canvas = picture_canvas(ROOM.width, ROOM.height, CHARSET_BLOCK);
	canvas_text(&canvas, 0, 0, 16, ROLE_NORMAL, "x      xx      x");
	step_mark_cut(&canvas, ROOM, 4, 1, 2.5);
	step_mark_cut(&canvas, ROOM, 40, 1, 2.5);
	picture_expect(&canvas,
		"x   ↑  xx      x|\n"
		"                |\n"
		"                |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(an_earlier_run_above_the_scale_is_cut_off_too)
{
	static const struct scale scale = { 0, 0.4, 0 };
	struct canvas canvas = picture_canvas(ROOM.width, ROOM.height, CHARSET_BRAILLE);
	double values[16];
	for (size_t i = 0; i < 16; i++)
		values[i] = i == 3 ? 2.5 : 0.39;
	earlier_plot(&canvas, ROOM, &scale, values, 8);
	earlier_mark(&canvas, ROOM, 10, &scale, 2.5);
	earlier_mark(&canvas, ROOM, 12, &scale, 0.1);
	picture_expect(&canvas,
		"∘∘∘↑∘∘∘∘  ↑     |\n"
		"                |\n"
		"            ∘   |\n");
	canvas_release(&canvas);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("step_height");
	TCase *tcase = tcase_create("step_height");
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, the_warm_up_sets_no_scale);
	tcase_add_test(tcase, a_lone_step_far_above_all_others_sets_none);
	tcase_add_test(tcase, a_slow_step_not_far_above_the_others_sets_the_scale);
	tcase_add_test(tcase, slow_steps_that_recur_set_the_scale);
	tcase_add_test(tcase, one_step_in_fifty_is_an_outlier);
	tcase_add_test(tcase, nothing_known_reaches_nowhere);
	tcase_add_test(tcase, the_scale_of_the_first_step_does_not_linger);
	tcase_add_test(tcase, the_scale_fits_an_earlier_run_without_its_outliers);
	tcase_add_test(tcase, a_step_above_the_scale_has_a_mark_and_its_time);
	tcase_add_test(tcase, at_the_right_edge_the_time_is_left_of_its_mark);
	tcase_add_test(tcase, a_flagged_one_keeps_its_flag_below_the_mark);
	tcase_add_test(tcase, in_ascii_the_mark_is_not_that_of_a_flag);
	tcase_add_test(tcase, an_earlier_run_above_the_scale_is_cut_off_too);
	tcase_add_test(tcase, without_room_the_mark_has_no_time);
	return suite_run(suite);
}
