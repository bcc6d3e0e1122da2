#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "ui/core/plot.h"
#include "ui/core/plot_axis.h"

static const struct rect ROOM = { 0, 0, 16, 4 };

static struct canvas room(enum charset charset) { return picture_canvas(ROOM.width, ROOM.height, charset); }

/* Seconds near 0.2 with one flagged peak and a gap, at two points a cell. */
static size_t batches(struct plot_point *points, size_t peak, size_t gap, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double value = i == gap ? NAN : i == peak ? 0.5 : i % 3 ? 0.2 : 0.25;
		points[i] = (struct plot_point){ value, value, ROLE_PLOT, i == peak };
	}
	return count;
}

static const struct scale SCALE = { 0, 0.6, 0 };

START_TEST(a_line_in_braille_marks_its_flags_and_keeps_its_gap)
{
	struct plot_point points[32];
	struct canvas canvas = room(CHARSET_BRAILLE);
	plot_points(&canvas, ROOM, &SCALE, points, batches(points, 11, 20, 30), true);
	picture_expect(&canvas,
		"     ▲          |\n"
		"     ⢸          |\n"
		"⠢⠔⠤⠢⠔⠜⠢⠔⠤⠢⠐⠤⠢⠔⠤ |\n"
		"                |\n");
	ck_assert_int_eq(canvas.cells[5].role, ROLE_FLAG);
	ck_assert_int_eq(canvas.cells[ROOM.width + 5].role, ROLE_FLAG);
	ck_assert_int_eq(canvas.cells[2 * ROOM.width + 6].role, ROLE_PLOT);
	canvas_release(&canvas);
}
END_TEST

START_TEST(a_line_in_blocks_means_the_same)
{
	struct plot_point points[32];
	struct canvas canvas = room(CHARSET_BLOCK);
	plot_points(&canvas, ROOM, &SCALE, points, batches(points, 5, 10, 15), true);
	picture_expect(&canvas,
		"     ▲          |\n"
		"     █          |\n"
		"▀▄▄▀▄▀▀▄▄▀ ▄▀▄▄ |\n"
		"                |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(a_line_in_ascii_means_the_same)
{
	struct plot_point points[32];
	struct canvas canvas = room(CHARSET_ASCII);
	plot_points(&canvas, ROOM, &SCALE, points, batches(points, 5, 10, 15), true);
	picture_expect(&canvas,
		"     ^          |\n"
		"     #          |\n"
		"***** **** **** |\n"
		"                |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(strokes_span_least_to_most)
{
	struct plot_point points[16];
	struct canvas canvas = room(CHARSET_ASCII);
	for (size_t i = 0; i < 16; i++)
		points[i] = (struct plot_point){ 0.1, 0.1 + 0.03 * (double)i, ROLE_PLOT, false };
	plot_points(&canvas, ROOM, &SCALE, points, 16, false);
	picture_expect(&canvas,
		"              **|\n"
		"       *******|||\n"
		" ******||||||||||\n"
		"*||||||||||||||||\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(a_flag_at_the_top_of_the_scale_stays_inside)
{
	struct plot_point points[16];
	struct canvas canvas = room(CHARSET_BRAILLE);
	for (size_t i = 0; i < 16; i++)
		points[i] = (struct plot_point){ 9, 9, ROLE_PLOT, i == 4 };
	plot_points(&canvas, ROOM, &SCALE, points, 16, true);
	picture_expect(&canvas,
		"⠉⠉▲⠉⠉⠉⠉⠉        |\n"
		"                |\n"
		"                |\n"
		"                |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(more_points_than_room_show_the_newest)
{
	struct plot_point points[20];
	struct canvas canvas = picture_canvas(6, 2, CHARSET_ASCII);
	for (size_t i = 0; i < 20; i++)
		points[i] = (struct plot_point){ i == 19 ? 0.6 : 0, i == 19 ? 0.6 : 0, ROLE_PLOT, false };
	plot_points(&canvas, (struct rect){ 0, 0, 6, 2 }, &SCALE, points, 20, false);
	picture_expect(&canvas, "     *|\n***** |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(the_median_and_its_range_never_cover_data)
{
	static const enum charset charsets[] = { CHARSET_BRAILLE, CHARSET_BLOCK, CHARSET_ASCII };
	for (size_t i = 0; i < 3; i++) {
		struct plot_point points[32];
		struct canvas before = room(charsets[i]), after = room(charsets[i]);
		size_t count = batches(points, 5, 10, 15);
		plot_points(&before, ROOM, &SCALE, points, count, true);
		plot_points(&after, ROOM, &SCALE, points, count, true);
		plot_level(&after, ROOM, &SCALE, 0.2, ROLE_MEDIAN);
		plot_band(&after, ROOM, &SCALE, 0.2, 0.4, ROLE_BAND);
		int added = 0;
		for (int k = 0; k < ROOM.width * ROOM.height; k++) {
			added += before.cells[k].code == ' ' && after.cells[k].code != ' ';
			if (before.cells[k].code != ' ')
				ck_assert_uint_eq(before.cells[k].code, after.cells[k].code);
		}
		ck_assert_int_gt(added, 4);
		canvas_release(&before);
		canvas_release(&after);
	}
}
END_TEST

START_TEST(data_replaces_a_faint_line_drawn_before)
{
	struct plot_point point = { 0.2, 0.2, ROLE_PLOT, false };
	struct canvas plain = picture_canvas(1, 2, CHARSET_BRAILLE), lined = picture_canvas(1, 2, CHARSET_BRAILLE);
	struct rect rect = { 0, 0, 1, 2 };
	plot_level(&lined, rect, &SCALE, 0.25, ROLE_MEDIAN);
	ck_assert_uint_ne(lined.cells[1].code, ' ');
	plot_points(&lined, rect, &SCALE, &point, 1, true);
	plot_points(&plain, rect, &SCALE, &point, 1, true);
	ck_assert_uint_eq(lined.cells[1].code, plain.cells[1].code);
	ck_assert_int_eq(lined.cells[1].role, ROLE_PLOT);
	canvas_release(&plain);
	canvas_release(&lined);
}
END_TEST

START_TEST(faint_lines_are_drawn_at_their_values)
{
	struct canvas canvas = room(CHARSET_BRAILLE);
	plot_level(&canvas, ROOM, &SCALE, 0.3, ROLE_MEDIAN);
	plot_band(&canvas, ROOM, &SCALE, 0.35, 0.5, ROLE_BAND);
	plot_level(&canvas, ROOM, &SCALE, 7, ROLE_MEDIAN);
	plot_level(&canvas, ROOM, &SCALE, NAN, ROLE_MEDIAN);
	plot_band(&canvas, ROOM, &SCALE, NAN, 0.1, ROLE_BAND);
	picture_expect(&canvas,
		"⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀|\n"
		"⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀|\n"
		"                |\n"
		"                |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(axis_labels_are_round_and_carry_the_unit_once)
{
	struct canvas canvas = picture_canvas(24, 7, CHARSET_BRAILLE);
	struct scale scale = { 0 };
	scale_update(&scale, 0.18, 0.512, true);
	struct rect inside = plot_axis(&canvas, (struct rect){ 0, 0, 24, 7 }, &scale, PLOT_SECONDS);
	ck_assert_int_eq(inside.x, 8);
	ck_assert_int_eq(inside.width, 16);
	picture_expect(&canvas,
		" 0.6 s ┤                |\n"
		"       │                |\n"
		"   0.4 ┤                |\n"
		"       │                |\n"
		"   0.2 ┤                |\n"
		"       │                |\n"
		"     0 ┤                |\n");
	canvas_release(&canvas);
}
END_TEST

static void expect_top_label(enum plot_unit unit, double min, double max, bool from_zero, const char *label)
{
	struct canvas canvas = picture_canvas(20, 2, CHARSET_BRAILLE);
	struct scale scale = { 0 };
	char seen[16] = "";
	size_t length = 0;
	scale_update(&scale, min, max, from_zero);
	plot_axis(&canvas, (struct rect){ 0, 0, 20, 2 }, &scale, unit);
	for (int x = 0; x < 10 && canvas.cells[x].code != 0x2524; x++)
		if (canvas.cells[x].code != ' ' || length > 0)
			seen[length++] = canvas.cells[x].code < 0x80 ? (char)canvas.cells[x].code : 'u';
	while (length > 0 && seen[length - 1] == ' ')
		length--;
	seen[length] = '\0';
	ck_assert_str_eq(seen, label);
	canvas_release(&canvas);
}

START_TEST(the_unit_follows_the_scale)
{
	expect_top_label(PLOT_SECONDS, 0, 0.0042, true, "6 ms");
	expect_top_label(PLOT_SECONDS, 0, 3.1e-6, true, "4 us");
	expect_top_label(PLOT_SECONDS, 0, 800, true, "800 s");
	expect_top_label(PLOT_BYTES, 3.0e9, 3.42e9, false, "3.6 GB");
	expect_top_label(PLOT_BYTES, 0, 700, true, "800 B");
	expect_top_label(PLOT_PERCENT, 0, 0.97, true, "100 %");
	expect_top_label(PLOT_COUNT, 0, 12500, true, "15k");
	expect_top_label(PLOT_COUNT, 0, 0, true, "1");
}
END_TEST

START_TEST(a_scale_grows_at_once)
{
	struct scale scale = { 0 };
	scale_update(&scale, 0, 0.3, true);
	ck_assert_double_eq_tol(scale.max, 0.3, 1e-9);
	scale_update(&scale, 0, 0.301, true);
	ck_assert_double_gt(scale.max, 0.301);
	scale_update(&scale, 0, 7, true);
	ck_assert_double_eq_tol(scale.max, 8, 1e-9);
	ck_assert_double_eq_tol(scale.min, 0, 1e-9);
}
END_TEST

START_TEST(a_scale_shrinks_only_after_forty_calm_updates)
{
	struct scale scale = { 0 };
	scale_update(&scale, 0, 7, true);
	for (int i = 0; i < 39; i++)
		scale_update(&scale, 0, 1, true);
	ck_assert_double_eq_tol(scale.max, 8, 1e-9);
	scale_update(&scale, 0, 5, true);
	for (int i = 0; i < 39; i++)
		scale_update(&scale, 0, 1, true);
	ck_assert_double_eq_tol(scale.max, 8, 1e-9);
	scale_update(&scale, 0, 1, true);
	ck_assert_double_eq_tol(scale.max, 1, 1e-9);
}
END_TEST

START_TEST(a_scale_ignores_what_is_not_known)
{
	struct scale scale = { 0 };
	scale_update(&scale, NAN, NAN, true);
	scale_update(&scale, 0, INFINITY, true);
	ck_assert_double_eq(scale.max, 0);
	scale_update(&scale, 5, 5, false);
	ck_assert_double_lt(scale.min, 5.01);
	ck_assert_double_gt(scale.max, 5);
	struct canvas canvas = room(CHARSET_BRAILLE);
	struct scale none = { 0 };
	struct plot_point point = { 1, 1, ROLE_PLOT, true };
	plot_points(&canvas, ROOM, &none, &point, 1, true);
	picture_expect(&canvas, "                |\n                |\n                |\n                |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(scales_hold_whatever_comes)
{
	static const double values[] = { 0, 1e-300, 3e-9, 0.1, 1, 99.9, 1e9, 1e300, -1, -1e300 };
	enum { COUNT = sizeof values / sizeof values[0] };
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < COUNT; k++) {
			struct scale scale = { 0 };
			if (values[k] < values[i])
				continue;
			scale_update(&scale, values[i], values[k], false);
			ck_assert(scale.max > scale.min);
			double slack = (scale.max - scale.min) * 1e-6;
			ck_assert(scale.min - slack <= values[i] && scale.max + slack >= values[k]);
			struct canvas canvas = picture_canvas(40, 5, CHARSET_BRAILLE);
			for (int unit = PLOT_SECONDS; unit <= PLOT_COUNT; unit++)
				plot_axis(&canvas, (struct rect){ 0, 0, 40, 5 }, &scale, (enum plot_unit)unit);
			canvas_release(&canvas);
		}
}
END_TEST

START_TEST(stacks_grow_from_the_bottom_with_a_sign_for_each_phase)
{
	struct canvas canvas = picture_canvas(5, 6, CHARSET_BRAILLE);
	struct rect rect = { 0, 0, 5, 6 };
	struct stack_part parts[] = { { 0.2, ROLE_PHASE_0 }, { 0.1, ROLE_PHASE_1 }, { NAN, ROLE_PHASE_2 },
		{ 0.1, ROLE_PHASE_3 } };
	plot_stack(&canvas, rect, 0, &SCALE, parts, 4, false, false);
	plot_stack(&canvas, rect, 1, &SCALE, parts, 4, true, false);
	plot_stack(&canvas, rect, 2, &SCALE, parts, 4, true, true);
	parts[0].value = 9;
	plot_stack(&canvas, rect, 3, &SCALE, parts, 4, true, false);
	parts[3].value = 0.0001;
	plot_stack(&canvas, rect, 4, &SCALE, parts + 3, 1, false, false);
	picture_expect(&canvas,
		"  ▼▲ |\n"
		" ▲▲█ |\n"
		"░░░█ |\n"
		"▓▓▓█ |\n"
		"████ |\n"
		"████░|\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(ascii_stacks_use_letters)
{
	struct canvas canvas = picture_canvas(1, 6, CHARSET_ASCII);
	struct stack_part parts[] = { { 0.2, ROLE_PHASE_0 }, { 0.2, ROLE_PHASE_1 }, { 0.1, ROLE_PHASE_2 } };
	plot_stack(&canvas, (struct rect){ 0, 0, 1, 6 }, 0, &SCALE, parts, 3, true, false);
	picture_expect(&canvas, "^|\nb|\nf|\nf|\nd|\nd|\n");
	ck_assert_uint_eq(plot_sign(&canvas, ROLE_PHASE_0), 'd');
	canvas_release(&canvas);
}
END_TEST

START_TEST(signs_differ_between_phases)
{
	static const enum charset charsets[] = { CHARSET_BRAILLE, CHARSET_BLOCK, CHARSET_ASCII };
	for (size_t i = 0; i < 3; i++) {
		struct canvas canvas = { .charset = charsets[i] };
		for (int a = ROLE_PHASE_0; a <= ROLE_PHASE_7; a++)
			for (int b = a + 1; b <= ROLE_PHASE_7; b++)
				ck_assert_uint_ne(plot_sign(&canvas, (enum role)a), plot_sign(&canvas, (enum role)b));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plot");
	TCase *test = tcase_create("plot");
	tcase_add_test(test, a_line_in_braille_marks_its_flags_and_keeps_its_gap);
	tcase_add_test(test, a_line_in_blocks_means_the_same);
	tcase_add_test(test, a_line_in_ascii_means_the_same);
	tcase_add_test(test, strokes_span_least_to_most);
	tcase_add_test(test, a_flag_at_the_top_of_the_scale_stays_inside);
	tcase_add_test(test, more_points_than_room_show_the_newest);
	tcase_add_test(test, the_median_and_its_range_never_cover_data);
	tcase_add_test(test, data_replaces_a_faint_line_drawn_before);
	tcase_add_test(test, faint_lines_are_drawn_at_their_values);
	tcase_add_test(test, axis_labels_are_round_and_carry_the_unit_once);
	tcase_add_test(test, the_unit_follows_the_scale);
	tcase_add_test(test, a_scale_grows_at_once);
	tcase_add_test(test, a_scale_shrinks_only_after_forty_calm_updates);
	tcase_add_test(test, a_scale_ignores_what_is_not_known);
	tcase_add_test(test, scales_hold_whatever_comes);
	tcase_add_test(test, stacks_grow_from_the_bottom_with_a_sign_for_each_phase);
	tcase_add_test(test, ascii_stacks_use_letters);
	tcase_add_test(test, signs_differ_between_phases);
	suite_add_tcase(suite, test);
	return suite_run(suite);
}
