/* The themes as data: contrast, colour blindness, terminals without colours, the user's own. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"
#include "ui/themes/theme_book.h"

static struct theme_book book;
static struct reason reason;

static const struct theme *theme_named(const char *name)
{
	theme_book_init(&book);
	int found = theme_book_find(&book, name);
	ck_assert_msg(found >= 0, "no theme %s", name);
	return &book.list[found];
}

static enum status parse(const char *text)
{
	theme_book_init(&book);
	reason = (struct reason){ 0 };
	return theme_book_parse(&book, "themes.yaml", text, strlen(text), &reason);
}

/* -- colours -- */

static double linear(unsigned byte)
{
	double part = byte / 255.0;
	return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
}

static void linear_of(uint32_t rgb, double out[3])
{
	for (int i = 0; i < 3; i++)
		out[i] = linear(rgb >> (16 - 8 * i) & 0xff);
}

/* The contrast ratio of WCAG 2.1. */
static double contrast(uint32_t a, uint32_t b)
{
	double x[3], y[3];
	linear_of(a, x);
	linear_of(b, y);
	double lum_a = .2126 * x[0] + .7152 * x[1] + .0722 * x[2], lum_b = .2126 * y[0] + .7152 * y[1] + .0722 * y[2];
	return (fmax(lum_a, lum_b) + .05) / (fmin(lum_a, lum_b) + .05);
}

/* What an eye without the cones for green sees (Machado, Oliveira and Fernandes 2009, severity 1). */
static void deuteranope(double rgb[3])
{
	static const double matrix[3][3] = { { 0.367322, 0.860646, -0.227968 }, { 0.280085, 0.672501, 0.047413 },
		{ -0.011820, 0.042940, 0.968881 } };
	double out[3];
	for (int i = 0; i < 3; i++)
		out[i] = fmin(1, fmax(0, matrix[i][0] * rgb[0] + matrix[i][1] * rgb[1] + matrix[i][2] * rgb[2]));
	memcpy(rgb, out, sizeof out);
}

static double lab_part(double t) { return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116; }

static void lab_of(uint32_t color, bool is_deuteranope, double out[3])
{
	double rgb[3];
	linear_of(color, rgb);
	if (is_deuteranope)
		deuteranope(rgb);
	double x = lab_part((.4124 * rgb[0] + .3576 * rgb[1] + .1805 * rgb[2]) / .95047),
		   y = lab_part(.2126 * rgb[0] + .7152 * rgb[1] + .0722 * rgb[2]),
		   z = lab_part((.0193 * rgb[0] + .1192 * rgb[1] + .9505 * rgb[2]) / 1.08883);
	out[0] = 116 * y - 16;
	out[1] = 500 * (x - y);
	out[2] = 200 * (y - z);
}

/* CIE 1976, to the eye that distinguishes them less; 2.3 is just noticeable. */
static double apart(int32_t a, int32_t b)
{
	double min = INFINITY;
	for (int eye = 0; eye < 2; eye++) {
		double x[3], y[3];
		lab_of((uint32_t)a, eye, x);
		lab_of((uint32_t)b, eye, y);
		min = fmin(min, sqrt(pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2)));
	}
	return min;
}

START_TEST(high_contrast_has_seven_to_one_everywhere)
{
	static const enum palette palettes[] = { PALETTE_256, PALETTE_DIRECT };
	const struct theme *theme = theme_named("high-contrast");
	for (int i = 0; i < 4 * ROLE_COUNT; i++) {
		enum palette palette = palettes[i / 2 % 2];
		struct style style = theme_style(theme, palette, (enum role)(i / 4), i % 2);
		ck_assert_int_ne(style.foreground, COLOR_NONE);
		ck_assert_int_ne(style.background, COLOR_NONE);
		ck_assert_msg(!style.is_dim, "role %d is dim", i / 4);
		uint32_t ink = palette == PALETTE_256 ? theme_rgb(style.foreground) : (uint32_t)style.foreground,
				 ground = palette == PALETTE_256 ? theme_rgb(style.background) : (uint32_t)style.background;
		ck_assert_msg(contrast(ink, ground) >= 7, "role %d: %.2f", i / 4, contrast(ink, ground));
	}
}
END_TEST

START_TEST(contrast_of_black_and_white_is_the_standards)
{
	ck_assert_double_eq_tol(contrast(0, 0xffffff), 21, 1e-9);
	ck_assert_double_eq_tol(contrast(0x777777, 0xffffff), 4.48, 0.01);
	/* red and green of one lightness, which the matrix must bring together */
	double far[3], near[3];
	lab_of(0xc05000, false, far);
	lab_of(0xc05000, true, near);
	ck_assert_double_gt(fabs(far[1]), 3 * fabs(near[1]));
}
END_TEST

START_TEST(phases_and_severities_differ_for_deuteranopes_too)
{
	static const enum role severities[] = { ROLE_INFO, ROLE_WARNING, ROLE_CRITICAL, ROLE_GOOD };
	static const char *const names[] = { "default", "light", "solarized", "high-contrast" };
	for (size_t t = 0; t < 4; t++) {
		const struct theme_role *roles = theme_named(names[t])->roles;
		for (int a = ROLE_PHASE_0; a <= ROLE_PHASE_7; a++)
			for (int b = a + 1; b <= ROLE_PHASE_7; b++)
				ck_assert_msg(apart(roles[a].rich, roles[b].rich) > 7, "%s: phases %d and %d: %.1f", names[t],
					a - ROLE_PHASE_0, b - ROLE_PHASE_0, apart(roles[a].rich, roles[b].rich));
		for (int a = 0; a < 4; a++)
			for (int b = a + 1; b < 4; b++)
				ck_assert_msg(apart(roles[severities[a]].rich, roles[severities[b]].rich) > 15 ||
						roles[severities[a]].rich_ground != roles[severities[b]].rich_ground,
					"%s: severities %d and %d", names[t], a, b);
	}
}
END_TEST

static bool is_same_style(struct style a, struct style b)
{
	return a.is_bold == b.is_bold && a.is_dim == b.is_dim && a.is_underlined == b.is_underlined &&
		a.is_reversed == b.is_reversed;
}

START_TEST(without_colours_states_differ_by_attributes)
{
	static const enum role states[][2] = { { ROLE_WARNING, ROLE_CRITICAL }, { ROLE_NORMAL, ROLE_WARNING },
		{ ROLE_TAB, ROLE_TAB_ACTIVE }, { ROLE_NORMAL, ROLE_SELECTED }, { ROLE_PLOT, ROLE_FLAG },
		{ ROLE_NORMAL, ROLE_DIM }, { ROLE_PLOT, ROLE_EARLIER } };
	for (size_t t = 0; theme_named("default"), t < book.count; t++)
		for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
			struct style a = theme_style(&book.list[t], PALETTE_MONO, states[i][0], false),
						 b = theme_style(&book.list[t], PALETTE_MONO, states[i][1], false);
			ck_assert_msg(!is_same_style(a, b), "%s: pair %zu", book.list[t].name, i);
		}
	/* the theme that has none, on a terminal that has all */
	struct style style = theme_style(theme_named("mono"), PALETTE_DIRECT, ROLE_WARNING, false);
	ck_assert_int_eq(style.foreground, COLOR_NONE);
	ck_assert(style.is_bold);
}
END_TEST

START_TEST(colours_of_256_are_the_nearest)
{
	for (int color = 16; color < 256; color++)
		ck_assert_uint_eq(theme_rgb(theme_nearest(theme_rgb(color))), theme_rgb(color));
	ck_assert_int_eq(theme_nearest(0xfed75e), 221);
}
END_TEST

START_TEST(a_users_theme_changes_what_it_names)
{
	ck_assert_int_eq(parse("mine:\n  like: light\n  warning: \"#ff0000\"\n  normal: c0c0c0 on 101010 white / bold\n"
						   "solarized: {about: bluer, plot: blue}\n"),
		STATUS_OK);
	const struct theme *mine = &book.list[theme_book_find(&book, "mine")],
					   *light = &book.list[theme_book_find(&book, "light")],
					   *solarized = &book.list[theme_book_find(&book, "solarized")];
	ck_assert_int_eq(mine->roles[ROLE_WARNING].rich, 0xff0000);
	ck_assert_int_eq(mine->roles[ROLE_WARNING].plain, 9);
	ck_assert_int_eq(mine->roles[ROLE_NORMAL].rich_ground, 0x101010);
	ck_assert_int_eq(mine->roles[ROLE_NORMAL].mono, MARK_BOLD);
	ck_assert_int_eq(mine->roles[ROLE_PLOT].rich, light->roles[ROLE_PLOT].rich);
	/* a role without a ground is drawn on the theme's */
	ck_assert_int_eq(theme_style(mine, PALETTE_DIRECT, ROLE_WARNING, false).background, 0x101010);
	ck_assert_str_eq(solarized->about, "bluer");
	ck_assert_int_eq(solarized->roles[ROLE_PLOT].plain, 4);
	ck_assert_int_eq(solarized->roles[ROLE_NORMAL].rich_ground, 0x002b36);
}
END_TEST

START_TEST(faults_of_a_users_theme_are_named_by_line)
{
	static const struct {
		const char *text, *what;
	} faults[] = {
		{ "mine:\n  warnin: red\n", "themes.yaml:2: unknown role \"warnin\"" },
		{ "mine:\n  warning: reddish\n", "themes.yaml:2: \"reddish\" is no look" },
		{ "mine:\n  warning: ff00\n", "themes.yaml:2: \"ff00\" is no look" },
		{ "mine:\n  warning: red / blue\n", "themes.yaml:2: \"red / blue\" is no look" },
		{ "mine:\n  warning: red\n  warning: blue\n", "themes.yaml:3: role \"warning\" is already in line 2" },
		{ "mine:\n  like: others\n", "themes.yaml:2: like: no such theme" },
		{ "mine:\n  color: some\n", "themes.yaml:2: color: not true or false" },
		{ "mine: 5\n", "themes.yaml:1: a theme without roles" },
		{ "mine: &a {}\n", "themes.yaml:1: anchors and aliases (&, *) are not supported" },
	};
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		size_t before = (theme_book_init(&book), book.count);
		ck_assert_int_eq(parse(faults[i].text), STATUS_INVALID);
		ck_assert_str_eq(reason.text, faults[i].what);
		ck_assert_uint_eq(book.count, before);
	}
	ck_assert(strstr((parse(faults[0].text), reason.remedy), "did you mean \"warning\"?") != NULL);
}
END_TEST

START_TEST(an_unknown_theme_is_refused_with_the_names)
{
	struct theme theme;
	ck_assert_int_eq(theme_load("solarised", &theme, &reason), STATUS_INVALID);
	ck_assert_str_eq(reason.text, "no theme \"solarised\"");
	ck_assert(strstr(reason.remedy, "did you mean \"solarized\"? themes are: default, mono, light") != NULL);
	ck_assert_str_eq(theme.name, "default");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("themes");
	TCase *test = tcase_create("themes");
	tcase_add_test(test, high_contrast_has_seven_to_one_everywhere);
	tcase_add_test(test, contrast_of_black_and_white_is_the_standards);
	tcase_add_test(test, phases_and_severities_differ_for_deuteranopes_too);
	tcase_add_test(test, without_colours_states_differ_by_attributes);
	tcase_add_test(test, colours_of_256_are_the_nearest);
	tcase_add_test(test, a_users_theme_changes_what_it_names);
	tcase_add_test(test, faults_of_a_users_theme_are_named_by_line);
	tcase_add_test(test, an_unknown_theme_is_refused_with_the_names);
	suite_add_tcase(suite, test);
	return suite_run(suite);
}
