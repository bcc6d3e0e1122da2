/* The line of a CPython instruction, in tables of three formats; and invalid layouts. tests/terminal/stack.py reads
 * real ones. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/python/py_code.h"
#include "tests/support/suite.h"

/* One function of ten lines as 3.9, 3.10 and 3.11 compile it, with the lines from their own co_lines() and dis: each
 * offset begins that line. */
static const unsigned char in_pairs[] = { 0, 1, 4, 1, 8, 1, 8, 1, 2, 1, 2, 255, 6, 5 };
static const unsigned char in_ranges[] = { 4, 1, 8, 1, 8, 1, 2, 1, 2, 1, 4, 255, 2, 128, 4, 5 };
static const unsigned char in_locations[] = { 128, 0, 216, 12, 13, 128, 69, 216, 16, 21, 240, 0, 4, 5, 14, 240, 0, 4, 5,
	14, 136, 4, 216, 11, 15, 144, 33, 138, 56, 136, 56, 216, 12, 17, 216, 16, 20, 241, 3, 2, 13, 14, 136, 69, 248, 240,
	10, 0, 12, 17, 128, 76 };

struct known {
	int offset, line;
};
static const struct known of_pairs[] = { { 0, 2 }, { 2, 2 }, { 4, 3 }, { 12, 4 }, { 20, 5 }, { 22, 6 }, { 24, 5 },
	{ 28, 5 }, { 30, 10 }, { 32, 10 } };
static const struct known of_ranges[] = { { 0, 2 }, { 4, 3 }, { 12, 4 }, { 20, 5 }, { 22, 6 }, { 24, 5 }, { 26, 5 },
	{ 28, 0 }, { 30, 10 }, { 32, 10 } };
static const struct known of_locations[] = { { 0, 1 }, { 2, 2 }, { 4, 2 }, { 6, 3 }, { 12, 3 }, { 14, 4 }, { 24, 4 },
	{ 26, 5 }, { 28, 6 }, { 30, 5 }, { 34, 5 }, { 36, 0 }, { 38, 10 }, { 40, 10 } };

static const struct table {
	enum py_line_table format;
	const unsigned char *bytes;
	size_t size;
	const struct known *known;
	size_t count;
} tables[] = {
	{ PY_LINES_PAIRS, in_pairs, sizeof in_pairs, of_pairs, sizeof of_pairs / sizeof *of_pairs },
	{ PY_LINES_RANGES, in_ranges, sizeof in_ranges, of_ranges, sizeof of_ranges / sizeof *of_ranges },
	{ PY_LINES_LOCATIONS, in_locations, sizeof in_locations, of_locations, sizeof of_locations / sizeof *of_locations },
};

START_TEST(each_instruction_has_its_line)
{
	const struct table *table = &tables[_i];
	for (size_t i = 0; i < table->count; i++) {
		int line = py_line_at(table->format, table->bytes, table->size, 1, table->known[i].offset);
		ck_assert_msg(
			line == table->known[i].line, "%d: %d, not %d", table->known[i].offset, line, table->known[i].line);
	}
}
END_TEST

START_TEST(before_the_first_instruction_is_the_first_line)
{
	ck_assert_int_eq(py_line_at(tables[_i].format, tables[_i].bytes, tables[_i].size, 7, -2), 7);
}
END_TEST

/* Random bytes: the reader ends, stays within them (the sanitizers check), and returns a line or none. */
START_TEST(bytes_that_are_no_table_give_some_line_or_none)
{
	unsigned seed = 1;
	for (unsigned round = 0; round < 2000; round++) {
		size_t size = (seed = seed * 1103515245 + 12345) >> 16 & 63;
		unsigned char *bytes = malloc(size + 1);
		for (size_t i = 0; i < size; i++)
			bytes[i] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
		for (int offset = -2; offset < 200; offset += 2)
			ck_assert_int_ge(py_line_at((enum py_line_table)_i, bytes, size, 1, offset), 0);
		free(bytes);
	}
}
END_TEST

/* Eight steps of 2^29 - 1 lines overflow 32 bits to a plausible line. */
START_TEST(lines_beyond_all_numbers_are_none)
{
	static const unsigned char step[] = { 0xe8, 0x7e, 0x7f, 0x7f, 0x7f, 0x3f };
	unsigned char table[8 * sizeof step];
	for (size_t i = 0; i < sizeof table; i++)
		table[i] = step[i % sizeof step];
	ck_assert_int_eq(py_line_at(PY_LINES_LOCATIONS, table, sizeof step, 100, 0), 100 + (1 << 29) - 1);
	ck_assert_int_eq(py_line_at(PY_LINES_LOCATIONS, table, sizeof table, 100, 14), 0);
}
END_TEST

/* The highest possible line, and one more; in the other formats, too. */
START_TEST(lines_end_with_the_largest_number)
{
	static const unsigned char one_more[] = { 2, 1, 2, 1 }, location[] = { 0xe8, 0x02 };
	ck_assert_int_eq(py_line_at(PY_LINES_PAIRS, one_more, 2, INT32_MAX - 1, 2), INT32_MAX);
	ck_assert_int_eq(py_line_at(PY_LINES_PAIRS, one_more, sizeof one_more, INT32_MAX - 1, 4), 0);
	ck_assert_int_eq(py_line_at(PY_LINES_RANGES, one_more, sizeof one_more, INT32_MAX - 1, 0), INT32_MAX);
	ck_assert_int_eq(py_line_at(PY_LINES_RANGES, one_more, sizeof one_more, INT32_MAX - 1, 2), 0);
	ck_assert_int_eq(py_line_at(PY_LINES_LOCATIONS, location, sizeof location, INT32_MAX - 1, 0), INT32_MAX);
	ck_assert_int_eq(py_line_at(PY_LINES_LOCATIONS, location, sizeof location, INT32_MAX, 0), 0);
}
END_TEST

/* -- layouts -- */

static void ck_refused(const uint64_t words[PY_DEBUG_WORDS], enum status expected, const char *what)
{
	struct py_layout layout = { .minor = 99 };
	struct reason why = { "", "" };
	ck_assert_int_eq(py_layout_from_offsets(words, &layout, &why), expected);
	ck_assert_msg(strstr(why.text, what) != NULL, "%s", why.text);
	ck_assert_uint_eq(layout.minor, 99);
}

START_TEST(a_version_that_is_not_known_is_refused_by_name)
{
	struct py_layout layout;
	struct reason why = { "", "" };
	uint64_t words[PY_DEBUG_WORDS] = { 0, 0x03630000 };
	ck_assert_int_eq(py_layout_known(7, &layout, &why), STATUS_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(why.text, "does not support Python 3.7"));
	ck_refused(words, STATUS_NOT_FOUND, "no debug offsets");
	memcpy(words, "xdebugpy", 8);
	ck_refused(words, STATUS_UNSUPPORTED, "does not support Python 3.99");
}
END_TEST

START_TEST(offsets_that_make_no_sense_are_refused)
{
	uint64_t words[PY_DEBUG_WORDS] = { 0, 0x030d0000 };
	memcpy(words, "xdebugpy", 8);
	ck_refused(words, STATUS_DAMAGED, "are invalid"); /* nothing has a size */
	for (size_t i = 3; i < PY_DEBUG_WORDS; i++)
		words[i] = UINT64_MAX;
	ck_refused(words, STATUS_DAMAGED, "are invalid");
	/* all small, but what is read of a frame lies beyond it */
	for (size_t i = 3; i < PY_DEBUG_WORDS; i++)
		words[i] = 200;
	ck_refused(words, STATUS_DAMAGED, "are invalid");
}
END_TEST

START_TEST(every_known_layout_lies_within_its_structs)
{
	for (unsigned minor = PY_MINOR_OLDEST; minor <= 12; minor++) {
		struct py_layout layout;
		struct reason why;
		ck_assert_int_eq(py_layout_known(minor, &layout, &why), STATUS_OK);
		ck_assert_uint_eq(layout.minor, minor);
		ck_assert_uint_le(layout.frame_ip + 4, layout.frame_size);
		ck_assert_uint_le(layout.frame_code + 8, layout.frame_size);
		ck_assert_uint_le(layout.code_lines + 8, layout.code_size);
		ck_assert(minor < 11 ? layout.thread_native == PY_NOWHERE : layout.thread_native + 8 <= layout.thread_size);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("py lines");
	TCase *tests = tcase_create("py lines");
	tcase_add_loop_test(tests, each_instruction_has_its_line, 0, 3);
	tcase_add_loop_test(tests, before_the_first_instruction_is_the_first_line, 0, 3);
	tcase_add_loop_test(tests, bytes_that_are_no_table_give_some_line_or_none, 0, 3);
	tcase_add_test(tests, lines_beyond_all_numbers_are_none);
	tcase_add_test(tests, lines_end_with_the_largest_number);
	tcase_add_test(tests, a_version_that_is_not_known_is_refused_by_name);
	tcase_add_test(tests, offsets_that_make_no_sense_are_refused);
	tcase_add_test(tests, every_known_layout_lies_within_its_structs);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
