#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "ui/core/canvas.h"
#include "ui/core/theme.h"
#include "ui/terminal/term_svg.h"
#include "ui/terminal/term_text.h"
#include "ui/themes/theme_book.h"

static struct theme theme_of(const char *name)
{
	static struct theme_book book;
	theme_book_init(&book);
	return book.list[theme_book_find(&book, name)];
}

START_TEST(a_percentage_never_loses_its_sign)
{
	static const char text[] = "wait explains 100 % of it";
	struct canvas canvas = picture_canvas(26, 4, CHARSET_BRAILLE);
	ck_assert_int_eq(canvas_text(&canvas, 0, 0, 17, ROLE_NORMAL, text), 13);
	ck_assert_int_eq(canvas_text(&canvas, 0, 1, 18, ROLE_NORMAL, text), 13);
	ck_assert_int_eq(canvas_text(&canvas, 0, 2, 19, ROLE_NORMAL, text), 19);
	ck_assert_int_eq(canvas_text(&canvas, 0, 3, 8, ROLE_NORMAL, "100 %     "), 5);
	canvas_release(&canvas);
}
END_TEST

START_TEST(text_is_cut_after_whole_words)
{
	struct canvas canvas = picture_canvas(16, 4, CHARSET_BRAILLE);
	ck_assert_int_eq(canvas_text(&canvas, 0, 0, 16, ROLE_NORMAL, "worker 3 waits for the disk"), 14);
	ck_assert_int_eq(canvas_text(&canvas, 0, 1, 9, ROLE_NORMAL, "resnet50 · rank"), 8);
	ck_assert_int_eq(canvas_text(&canvas, 0, 2, 6, ROLE_NORMAL, "unattributed time"), 6);
	ck_assert_int_eq(canvas_text(&canvas, 0, 3, 16, ROLE_NORMAL, "exactly 16 wide!"), 16);
	picture_expect(&canvas,
		"worker 3 waits  |\n"
		"resnet50        |\n"
		"unatt…          |\n"
		"exactly 16 wide!|\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(a_number_is_never_cut)
{
	struct canvas canvas = picture_canvas(8, 3, CHARSET_BRAILLE);
	canvas_text(&canvas, 0, 0, 5, ROLE_NORMAL, "123456789");
	canvas_text(&canvas, 0, 1, 6, ROLE_NORMAL, "run-1234");
	canvas_text(&canvas, 0, 2, 7, ROLE_NORMAL, "12.345 s");
	picture_expect(&canvas,
		"…       |\n"
		"run-…   |\n"
		"12.345  |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(right_aligned_text_ends_at_its_edge)
{
	struct canvas canvas = picture_canvas(10, 3, CHARSET_BRAILLE);
	ck_assert_int_eq(canvas_text_right(&canvas, 0, 0, 10, ROLE_NORMAL, "0.201 s"), 7);
	ck_assert_int_eq(canvas_text_right(&canvas, 2, 1, 6, ROLE_NORMAL, "数据"), 4);
	ck_assert_int_eq(canvas_text_right(&canvas, 0, 2, 6, ROLE_NORMAL, "unattributed"), 6);
	picture_expect(&canvas,
		"   0.201 s|\n"
		"    数据  |\n"
		"unatt…    |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(wide_characters_take_two_cells_or_none)
{
	struct canvas canvas = picture_canvas(5, 4, CHARSET_BRAILLE);
	ck_assert_int_eq(canvas_text(&canvas, 0, 0, 5, ROLE_NORMAL, "数据集"), 5);
	canvas_put(&canvas, 4, 1, 0x6570, ROLE_NORMAL);
	canvas_put(&canvas, -1, 1, 0x6570, ROLE_NORMAL);
	canvas_text(&canvas, 0, 2, 4, ROLE_NORMAL, "数据");
	canvas_put(&canvas, 1, 2, 'x', ROLE_NORMAL);
	canvas_put(&canvas, 2, 2, 'y', ROLE_NORMAL);
	canvas_text(&canvas, 0, 3, 5, ROLE_NORMAL, "e\u0301te\u0301");
	picture_expect(&canvas,
		"数据…|\n"
		"     |\n"
		" xy  |\n"
		"ete  |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(control_characters_never_reach_a_cell)
{
	struct canvas canvas = picture_canvas(24, 3, CHARSET_BRAILLE);
	canvas_text(&canvas, 0, 0, 24, ROLE_NORMAL, "\033[2J\x9b\xc2\x9b\u202E\n");
	canvas_put(&canvas, 0, 1, 0x1b, ROLE_NORMAL);
	canvas_put(&canvas, 1, 1, 0x9b, ROLE_NORMAL);
	canvas_put(&canvas, 2, 1, 0x202e, ROLE_NORMAL);
	canvas_put(&canvas, 3, 1, 0x301, ROLE_NORMAL);
	canvas_put(&canvas, 4, 1, 0xffffffff, ROLE_NORMAL);
	canvas_put(&canvas, 5, 1, 0, ROLE_NORMAL);
	canvas_fill(&canvas, (struct rect){ 0, 2, 2, 1 }, '\n', ROLE_NORMAL);
	picture_expect(&canvas,
		"^[[2J\uFFFD<U+009B><U+202E>^J|\n"
		"\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD                  |\n"
		"\uFFFD\uFFFD                      |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(drawing_outside_does_no_harm)
{
	static const int positions[] = { INT_MIN, -1000, -1, 0, 3, 4, 1000, INT_MAX };
	enum { COUNT = sizeof positions / sizeof positions[0] };
	struct canvas canvas = picture_canvas(4, 3, CHARSET_BRAILLE);
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < COUNT; k++) {
			canvas_put(&canvas, positions[i], positions[k], 0x6570, ROLE_NORMAL);
			canvas_text(&canvas, positions[i], positions[k], INT_MAX, ROLE_NORMAL, "数a据");
			canvas_text_right(&canvas, positions[i], positions[k], INT_MAX, ROLE_NORMAL, "数a据");
			canvas_fill(&canvas, (struct rect){ positions[i], positions[k], INT_MAX, INT_MAX }, 'x', ROLE_NORMAL);
			canvas_reverse(&canvas, (struct rect){ positions[i], positions[k], INT_MAX, INT_MIN });
			canvas_clip(&canvas, (struct rect){ positions[i], positions[k], INT_MAX, INT_MAX });
			canvas_fill(&canvas, (struct rect){ -5, -5, 100, 100 }, 'y', ROLE_NORMAL);
			canvas_unclip(&canvas);
		}
	ck_assert_int_eq(canvas.width, 4);
	canvas_release(&canvas);
}
END_TEST

START_TEST(a_clip_cuts_all_drawing)
{
	struct canvas canvas = picture_canvas(8, 4, CHARSET_BRAILLE);
	canvas_clip(&canvas, (struct rect){ 2, 1, 4, 2 });
	canvas_fill(&canvas, (struct rect){ 0, 0, 8, 4 }, '.', ROLE_NORMAL);
	canvas_text(&canvas, 1, 1, 8, ROLE_NORMAL, "abcdefgh");
	canvas_unclip(&canvas);
	canvas_put(&canvas, 7, 3, '!', ROLE_NORMAL);
	picture_expect(&canvas,
		"        |\n"
		"  bcde  |\n"
		"  ....  |\n"
		"       !|\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(boxes_carry_two_titles_and_shorten_them)
{
	struct canvas canvas = picture_canvas(30, 9, CHARSET_BRAILLE);
	struct rect inside = canvas_box(&canvas, (struct rect){ 0, 0, 30, 3 }, "Memory", "tree 3.42 GB", ROLE_TITLE);
	ck_assert_int_eq(inside.x, 1);
	ck_assert_int_eq(inside.width, 28);
	ck_assert_int_eq(inside.height, 1);
	canvas_box(&canvas, (struct rect){ 0, 3, 24, 2 }, "Memory", "tree 3.42 GB", ROLE_TITLE);
	inside = canvas_rule(&canvas, (struct rect){ 0, 5, 30, 2 }, "Where", NULL, ROLE_TITLE);
	ck_assert_int_eq(inside.y, 6);
	ck_assert_int_eq(inside.height, 1);
	canvas_box(&canvas, (struct rect){ 0, 7, 30, 1 }, NULL, "last 200", ROLE_TITLE);
	canvas_box(&canvas, (struct rect){ 0, 8, 3, 1 }, "Memory", NULL, ROLE_TITLE);
	picture_expect(&canvas,
		"╭─ Memory ──── tree 3.42 GB ─╮|\n"
		"│                            │|\n"
		"╰────────────────────────────╯|\n"
		"╭─ Memory ─ tree 3.42 ─╮      |\n"
		"╰──────────────────────╯      |\n"
		"─ Where ──────────────────────|\n"
		"                              |\n"
		"─────────────────── last 200 ─|\n"
		"───                           |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(bars_fill_in_eighths)
{
	struct canvas canvas = picture_canvas(4, 7, CHARSET_BRAILLE);
	static const double ratios[] = { 0, 0.001, 0.5, 0.53, 1, 7, NAN };
	for (int i = 0; i < 7; i++)
		canvas_bar(&canvas, 0, i, 4, ratios[i], ROLE_ACCENT);
	picture_expect(&canvas, "    |\n▏   |\n██  |\n██▏ |\n████|\n████|\n    |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(ascii_carries_the_same_meaning)
{
	struct canvas canvas = picture_canvas(24, 5, CHARSET_ASCII);
	canvas_box(&canvas, (struct rect){ 0, 0, 24, 2 }, "Batch time", "5 · max", ROLE_TITLE);
	canvas_text(&canvas, 0, 2, 24, ROLE_NORMAL, "⚠ ▲ → × – … µs 62 °C é Ж");
	canvas_bar(&canvas, 0, 3, 8, 0.55, ROLE_ACCENT);
	canvas_text(&canvas, 0, 4, 24, ROLE_NORMAL, "⣿⡀ ░▒▓█ │─┤ \u2264 \u00a0|");
	picture_expect(&canvas,
		"+- Batch time ----- 5 -+|\n"
		"+----------------------+|\n"
		"! ^ > x - ~ us 62 oC e ?|\n"
		"####                    |\n"
		"#. .+*# |-+ <  |        |\n");
	canvas_release(&canvas);
}
END_TEST

START_TEST(no_ascii_canvas_holds_anything_else)
{
	struct canvas canvas = picture_canvas(1, 1, CHARSET_ASCII);
	for (uint32_t code = 0; code < 0x30000; code++) {
		canvas_put(&canvas, 0, 0, code, ROLE_NORMAL);
		uint32_t shown = canvas.cells[0].code;
		if (shown < 0x20 || shown > 0x7e)
			ck_abort_msg("U+%04X shows U+%04X", (unsigned)code, (unsigned)shown);
	}
	canvas_release(&canvas);
}
END_TEST

START_TEST(text_output_leaves_trailing_blanks_out)
{
	struct canvas canvas = picture_canvas(6, 3, CHARSET_BRAILLE);
	struct buffer out = BUFFER_INIT;
	canvas_text(&canvas, 0, 0, 6, ROLE_NORMAL, "数 a");
	canvas_put(&canvas, 5, 2, 'z', ROLE_NORMAL);
	canvas_as_text(&canvas, &out);
	ck_assert_str_eq(out.data, "数 a\n\n     z\n");
	buffer_release(&out);
	canvas_release(&canvas);
}
END_TEST

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;
	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

START_TEST(svg_draws_shapes_as_shapes_and_escapes_text)
{
	struct canvas canvas = picture_canvas(20, 4, CHARSET_BRAILLE);
	struct buffer out = BUFFER_INIT;
	canvas_text(&canvas, 0, 0, 20, ROLE_NORMAL, "<a> & \"b\"  far");
	canvas_bar(&canvas, 0, 1, 10, 0.525, ROLE_ACCENT);
	canvas_put(&canvas, 0, 2, 0x28ff, ROLE_PLOT);
	canvas_put(&canvas, 1, 2, 0x28ff, ROLE_PLOT);
	canvas_put(&canvas, 3, 2, 0x2592, ROLE_PHASE_1);
	canvas_fill(&canvas, (struct rect){ 0, 3, 20, 1 }, 0x2500, ROLE_BORDER);
	struct theme theme = theme_of("default");
	canvas_as_svg(&canvas, &theme, &out);
	ck_assert_ptr_nonnull(strstr(out.data, ">&lt;a&gt; &amp; \"b\"</text>"));
	ck_assert_ptr_nonnull(strstr(out.data, "x=\"176\" y=\"24\" textLength=\"48\" fill=\"#d0d0d0\">far</text>"));
	ck_assert_uint_eq(count_of(out.data, "<text"), 2);
	ck_assert_ptr_nonnull(strstr(out.data, "d=\"M0 32h80v32h-80zM80 32h4v32h-4z\""));
	ck_assert_ptr_nonnull(strstr(out.data, "d=\"M1 68h30M1 76h30M1 84h30M1 92h30\""));
	ck_assert_ptr_nonnull(strstr(out.data, "fill-opacity=\".5\" d=\"M48 64h16v32h-16z\""));
	ck_assert_ptr_nonnull(strstr(out.data, "d=\"M0 112h320\""));
	for (const char *byte = out.data; *byte; byte++)
		ck_assert((unsigned char)*byte < 0x80);
	buffer_release(&out);
	canvas_release(&canvas);
}
END_TEST

START_TEST(svg_of_a_full_screen_stays_small)
{
	struct canvas canvas = picture_canvas(120, 40, CHARSET_BRAILLE);
	struct buffer out = BUFFER_INIT;
	uint32_t random = 1;
	for (int y = 0; y < 40; y++)
		for (int x = 0; x < 120; x++) {
			random = random * 1664525 + 1013904223;
			canvas_put(&canvas, x, y, 0x2800 + (random >> 24), (enum role)(x / 8 % ROLE_COUNT));
		}
	struct theme theme = theme_of("default");
	canvas_as_svg(&canvas, &theme, &out);
	ck_assert(!out.failed);
	ck_assert_uint_lt(out.length, 200000);
	buffer_release(&out);
	canvas_release(&canvas);
}
END_TEST

START_TEST(warning_colours_are_for_warnings_only)
{
	struct theme theme = theme_of("default");
	static const enum palette palettes[] = { PALETTE_8, PALETTE_16, PALETTE_256 };
	for (size_t i = 0; i < 3; i++)
		for (int role = 0; role < ROLE_COUNT; role++) {
			if (role == ROLE_WARNING || role == ROLE_CRITICAL || role == ROLE_FLAG)
				continue;
			struct style style = theme_style(&theme, palettes[i], (enum role)role, false);
			static const enum role loud[] = { ROLE_WARNING, ROLE_CRITICAL, ROLE_FLAG };
			for (size_t k = 0; k < 3; k++)
				ck_assert_int_ne(style.foreground, theme_style(&theme, palettes[i], loud[k], false).foreground);
		}
}
END_TEST

START_TEST(monochrome_distinguishes_warnings_from_the_selection)
{
	struct theme theme = theme_of("mono");
	for (int role = 0; role < ROLE_COUNT; role++) {
		struct style plain = theme_style(&theme, PALETTE_MONO, (enum role)role, false),
					 selected = theme_style(&theme, PALETTE_MONO, (enum role)role, true);
		ck_assert_int_eq(plain.foreground, COLOR_NONE);
		ck_assert_int_eq(plain.background, COLOR_NONE);
		ck_assert(memcmp(&plain, &selected, sizeof plain) != 0);
	}
	ck_assert(theme_style(&theme, PALETTE_MONO, ROLE_WARNING, false).is_bold);
	ck_assert(theme_style(&theme, PALETTE_MONO, ROLE_CRITICAL, false).is_reversed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("canvas");
	TCase *test = tcase_create("canvas");
	tcase_add_test(test, a_percentage_never_loses_its_sign);
	tcase_add_test(test, text_is_cut_after_whole_words);
	tcase_add_test(test, a_number_is_never_cut);
	tcase_add_test(test, right_aligned_text_ends_at_its_edge);
	tcase_add_test(test, wide_characters_take_two_cells_or_none);
	tcase_add_test(test, control_characters_never_reach_a_cell);
	tcase_add_test(test, drawing_outside_does_no_harm);
	tcase_add_test(test, a_clip_cuts_all_drawing);
	tcase_add_test(test, boxes_carry_two_titles_and_shorten_them);
	tcase_add_test(test, bars_fill_in_eighths);
	tcase_add_test(test, ascii_carries_the_same_meaning);
	tcase_add_test(test, no_ascii_canvas_holds_anything_else);
	tcase_add_test(test, text_output_leaves_trailing_blanks_out);
	tcase_add_test(test, svg_draws_shapes_as_shapes_and_escapes_text);
	tcase_add_test(test, svg_of_a_full_screen_stays_small);
	tcase_add_test(test, warning_colours_are_for_warnings_only);
	tcase_add_test(test, monochrome_distinguishes_warnings_from_the_selection);
	suite_add_tcase(suite, test);
	return suite_run(suite);
}
