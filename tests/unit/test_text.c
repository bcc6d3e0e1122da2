#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/base/text_width.h"
#include "tests/support/suite.h"

START_TEST(every_code_point_survives_encoding_and_decoding)
{
	for (uint32_t code = 1; code <= 0x10ffff; code++) {
		char bytes[4];
		uint32_t back = 0;
		if (code >= 0xd800 && code <= 0xdfff)
			continue;
		size_t length = utf8_encode(code, bytes);
		if (utf8_decode(bytes, length, &back) != length || back != code)
			ck_abort_msg("U+%04X came back as U+%04X", (unsigned)code, (unsigned)back);
	}
}
END_TEST

START_TEST(malformed_bytes_become_one_replacement_each)
{
	static const char *const damaged[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xe0\x80\x80",
		"\xed\xa0\x80",
		"\xf0\x80\x80\x80",
		"\xf4\x90\x80\x80",
		"\xf8\x88",
		"\xff",
		"\xc3",
		"\xe2\x82",
		"\xf0\x9f\x98",
		"\xc3(",
		"\xe2(\xa1",
		"\xf0\x28\x8c\xbc",
	};
	for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
		uint32_t code = 0;
		ck_assert_uint_eq(utf8_decode(damaged[i], strlen(damaged[i]), &code), 1);
		ck_assert_uint_eq(code, 0xfffd);
	}
}
END_TEST

START_TEST(a_code_point_cut_by_the_length_is_malformed)
{
	uint32_t code = 0;
	ck_assert_uint_eq(utf8_decode("€", 2, &code), 1);
	ck_assert_uint_eq(code, 0xfffd);
}
END_TEST

START_TEST(cells_follow_the_width_of_characters)
{
	static const struct {
		uint32_t code;
		int cells;
	} known[] = {
		{ 'a', 1 },
		{ 0x1b, 0 },
		{ 0x9b, 0 },
		{ 0xe9, 1 },
		{ 0x300, 0 },
		{ 0x3b1, 1 },
		{ 0x20ac, 1 },
		{ 0x2500, 1 },
		{ 0x28ff, 1 },
		{ 0x25b2, 1 },
		{ 0x26a0, 1 },
		{ 0x4e00, 2 },
		{ 0x9fff, 2 },
		{ 0x3042, 2 },
		{ 0xac00, 2 },
		{ 0xd7a3, 2 },
		{ 0x1f600, 2 },
		{ 0x1f680, 2 },
		{ 0xff21, 2 },
		{ 0xff61, 1 },
		{ 0x20dd, 0 },
		{ 0xe000, 1 },
		{ 0x20000, 2 },
		{ 0x10ffff, 1 },
		{ 0xe0100, 0 },
		{ 0xfe0f, 0 },
		{ 0x1100, 2 },
		{ 0x1161, 0 },
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (utf8_cells(known[i].code) != known[i].cells)
			ck_abort_msg("U+%04X: %d cells", (unsigned)known[i].code, utf8_cells(known[i].code));
	ck_assert_uint_eq(text_cells("data 数据 e\u0301"), 11);
	ck_assert_uint_eq(text_cells(""), 0);
}
END_TEST

static const char *clean(const char *text)
{
	static char out[256];
	text_clean(out, sizeof out, text, strlen(text));
	return out;
}

START_TEST(foreign_text_is_made_visible)
{
	ck_assert_str_eq(clean("plain ünïcode 数"), "plain ünïcode 数");
	ck_assert_str_eq(clean("\033[2Jboo\007"), "^[[2Jboo^G");
	ck_assert_str_eq(clean("\033]52;c;ZXZpbA==\007"), "^[]52;c;ZXZpbA==^G");
	ck_assert_str_eq(clean("a\tb\nc\r\177"), "a^Ib^Jc^M^?");
	ck_assert_str_eq(clean("\xc2\x9b"
						   "2J"),
		"<U+009B>2J");
	ck_assert_str_eq(clean("\x9b"
						   "2J"),
		"\uFFFD2J");
	ck_assert_str_eq(clean("\u202Ecod.exe\u202C"), "<U+202E>cod.exe<U+202C>");
	ck_assert_str_eq(clean("a\u200Bb\u2066\uFEFF"), "a<U+200B>b<U+2066><U+FEFF>");
	ck_assert_str_eq(clean("\U000E0041"), "<U+E0041>");
}
END_TEST

START_TEST(a_text_takes_as_many_cells_as_its_clean_form)
{
	ck_assert_uint_eq(text_cells("\033[2J"), 5);
	ck_assert_uint_eq(text_cells("\xc2\x9b^<"), 10);
}
END_TEST

START_TEST(nothing_that_could_command_a_terminal_passes)
{
	for (uint32_t code = 1; code <= 0x10ffff; code++) {
		char bytes[4], out[16];
		if (code >= 0xd800 && code <= 0xdfff)
			continue;
		size_t length = text_clean(out, sizeof out, bytes, utf8_encode(code, bytes)), at = 0;
		if (length != strlen(out))
			ck_abort_msg("U+%04X: %zu bytes", (unsigned)code, length);
		while (at < length) {
			uint32_t shown = 0;
			at += utf8_decode(out + at, length - at, &shown);
			if (shown < 0x20 || (shown >= 0x7f && shown < 0xa0) || (shown >= 0x200b && shown <= 0x200f) ||
				(shown >= 0x202a && shown <= 0x202e))
				ck_abort_msg("U+%04X shows U+%04X", (unsigned)code, (unsigned)shown);
		}
	}
}
END_TEST

START_TEST(a_cut_falls_between_code_points_and_between_marks)
{
	char out[8];
	for (size_t size = 1; size <= sizeof out; size++) {
		size_t length = text_clean(out, size, "a€\001€", strlen("a€\001€"));
		ck_assert_uint_lt(length, size);
		static const size_t lengths[] = { 0, 0, 1, 1, 1, 4, 4, 6, 6 };
		ck_assert_uint_eq(length, lengths[size]);
		ck_assert_uint_eq(strlen(out), length);
	}
	ck_assert_uint_eq(text_clean(out, 0, "x", 1), 0);
}
END_TEST

struct expectation {
	double value;
	const char *text;
};

static void expect(const char *(*format)(char *, double), const struct expectation *expected, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char out[NUMBER_SIZE];
		ck_assert_str_eq(format(out, expected[i].value), expected[i].text);
	}
}

#define EXPECT(format, ...) \
	do { \
		static const struct expectation expected[] = { __VA_ARGS__ }; \
		expect(format, expected, sizeof expected / sizeof expected[0]); \
	} while (0)

START_TEST(seconds_choose_their_unit)
{
	EXPECT(format_seconds, { 0, "0 s" }, { 3.1e-7, "310 ns" }, { 9.996e-7, "1.00 µs" }, { 12.3e-6, "12.3 µs" },
		{ 4.51e-3, "4.51 ms" }, { 0.0999, "99.9 ms" }, { 0.1, "0.100 s" }, { 0.201, "0.201 s" }, { 9.9994, "9.999 s" },
		{ 9.9996, "10.0 s" }, { 12.4, "12.4 s" }, { 59.94, "59.9 s" }, { 59.96, "1:00" }, { 183, "3:03" },
		{ 3599, "59:59" }, { 3599.6, "1 h 00" }, { 14580, "4 h 03" }, { 86399, "1 d 00 h" }, { 187200, "2 d 04 h" },
		{ -0.303, "-0.303 s" }, { 1e300, "1.16e+295 d" }, { NAN, "–" }, { INFINITY, "–" });
	EXPECT(format_fixed_seconds, { 0.201, "0.201 s" }, { 12, "12.000 s" }, { -0.5, "-0.500 s" }, { 1e300, "1e+300 s" },
		{ NAN, "–" });
}
END_TEST

START_TEST(bytes_are_decimal_with_three_digits)
{
	EXPECT(format_bytes, { 0, "0 B" }, { 812, "812 B" }, { 999.6, "1.00 kB" }, { 1.61e6, "1.61 MB" },
		{ 9.996e6, "10.0 MB" }, { 3.42e9, "3.42 GB" }, { 140e9, "140 GB" }, { -3.8e6, "-3.80 MB" }, { -0.2, "0 B" },
		{ 1e25, "1e+07 EB" }, { NAN, "–" });
}
END_TEST

START_TEST(counts_and_rates_stay_short)
{
	EXPECT(format_count, { 0, "0" }, { 642, "642" }, { 1500, "1500" }, { 9999, "9999" }, { 12345, "12.3k" },
		{ 4.56e6, "4.56M" }, { 2.5, "2.50" }, { 1e300, "1e+282E" }, { NAN, "–" });
	EXPECT(format_rate, { 0, "0" }, { 0.0031, "0.003" }, { 0.21, "0.21" }, { 0.996, "1.0" }, { 4.7, "4.7" },
		{ 47.2, "47.2" }, { 150, "150" }, { 12345, "12.3k" }, { NAN, "–" });
}
END_TEST

START_TEST(percents_show_what_is_not_zero)
{
	EXPECT(format_percent, { 0, "0 %" }, { 0.34, "34 %" }, { 0.002, "0.2 %" }, { 0.0001, "<0.1 %" }, { 0.995, "100 %" },
		{ 1.2, "120 %" }, { -0.03, "-3 %" }, { NAN, "–" });
}
END_TEST

START_TEST(watts_joules_clocks_and_degrees_have_their_units)
{
	EXPECT(format_watts, { 0, "0 W" }, { 0.25, "250 mW" }, { 8.52, "8.52 W" }, { 142, "142 W" }, { 1234, "1.23 kW" },
		{ -3, "-3.00 W" }, { NAN, "–" });
	EXPECT(format_joules, { 0, "0 J" }, { 0.00321, "3.21 mJ" }, { 84.2, "84.2 J" }, { 1.23e6, "1.23 MJ" },
		{ INFINITY, "–" });
	EXPECT(format_hertz, { 0, "0.00 Hz" }, { 8e8, "800 MHz" }, { 3.21e9, "3.21 GHz" }, { NAN, "–" });
	EXPECT(format_celsius, { 71.4, "71 °C" }, { -0.2, "0 °C" }, { -5, "-5 °C" }, { NAN, "–" });
}
END_TEST

START_TEST(words_are_quoted_for_a_shell_where_they_must_be)
{
	char out[32];
	ck_assert_str_eq(text_shell_word(out, sizeof out, "train.py-1.4711"), "train.py-1.4711");
	ck_assert_str_eq(text_shell_word(out, sizeof out, "two words"), "'two words'");
	ck_assert_str_eq(text_shell_word(out, sizeof out, "it's $HOME"), "'it'\\''s $HOME'");
	ck_assert_str_eq(text_shell_word(out, sizeof out, "größe"), "'größe'");
	ck_assert_str_eq(text_shell_word(out, sizeof out, ""), "''");
	ck_assert_str_eq(text_shell_word(out, 8, "too long a word"), "");
}
END_TEST

START_TEST(numbers_fit_whatever_the_value)
{
	static const double values[] = { 1e-320, 1e-30, 1.7e308, -1.7e308, 123456789.123, -9.87654321e17 };
	const char *(*const formats[])(char *, double) = {
		format_seconds,
		format_fixed_seconds,
		format_bytes,
		format_count,
		format_rate,
		format_percent,
		format_watts,
		format_joules,
		format_hertz,
		format_celsius,
	};
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
		for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
			char out[NUMBER_SIZE];
			ck_assert_uint_lt(strlen(formats[k](out, values[i])), NUMBER_SIZE - 8);
		}
}
END_TEST

int main(void)
{
	setlocale(LC_CTYPE, "");
	Suite *suite = suite_create("text");
	TCase *test = tcase_create("text");
	tcase_set_timeout(test, 60);
	tcase_add_test(test, every_code_point_survives_encoding_and_decoding);
	tcase_add_test(test, malformed_bytes_become_one_replacement_each);
	tcase_add_test(test, a_code_point_cut_by_the_length_is_malformed);
	tcase_add_test(test, cells_follow_the_width_of_characters);
	tcase_add_test(test, foreign_text_is_made_visible);
	tcase_add_test(test, a_text_takes_as_many_cells_as_its_clean_form);
	tcase_add_test(test, nothing_that_could_command_a_terminal_passes);
	tcase_add_test(test, a_cut_falls_between_code_points_and_between_marks);
	tcase_add_test(test, seconds_choose_their_unit);
	tcase_add_test(test, bytes_are_decimal_with_three_digits);
	tcase_add_test(test, counts_and_rates_stay_short);
	tcase_add_test(test, percents_show_what_is_not_zero);
	tcase_add_test(test, watts_joules_clocks_and_degrees_have_their_units);
	tcase_add_test(test, words_are_quoted_for_a_shell_where_they_must_be);
	tcase_add_test(test, numbers_fit_whatever_the_value);
	suite_add_tcase(suite, test);
	return suite_run(suite);
}
