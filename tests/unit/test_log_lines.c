/* The output of a command as lines: what a terminal would show of it, whatever it holds. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/log_lines.h"
#include "src/base/text.h"
#include "src/session/children/log_limit.h"
#include "tests/support/suite.h"

static struct log_lines *log_;

static void begin(void) { ck_assert_ptr_nonnull(log_ = calloc(1, sizeof *log_)); }

static void end(void)
{
	log_lines_release(log_);
	free(log_);
}

static void feed(const char *text) { log_lines_feed(log_, text, strlen(text)); }

/* The line without blanks at its end; as if it were empty where there is none. */
static const char *line(int index)
{
	static char text[LOG_CELLS_MAX * 4 + 1];
	size_t length = 0, end = 0;
	const struct log_line *at = log_lines_at(log_, index);
	for (int i = 0; index < log_->count && i < at->count; i++) {
		if (LOG_CODE(at->cells[i]) != 0)
			length += utf8_encode(LOG_CODE(at->cells[i]), text + length);
		if (LOG_CODE(at->cells[i]) != ' ')
			end = length;
	}
	text[end] = '\0';
	return text;
}

static uint32_t style(int index, int column) { return LOG_STYLE(log_lines_at(log_, index)->cells[column]); }

START_TEST(a_progress_bar_is_one_line)
{
	feed("\rstep 1:  10%|#         |\rstep 1: 100%|##########| done\r\nnext");
	ck_assert_int_eq(log_->count, 2);
	ck_assert_str_eq(line(0), "step 1: 100%|##########| done");
	ck_assert_str_eq(line(1), "next");
}
END_TEST

/* Two tqdm bars: the inner one is below, and moves the cursor up again. */
START_TEST(nested_progress_bars_keep_their_lines)
{
	feed("outer 1\n\rinner 1\033[A\n\rinner 2\033[A\router 2\n\r       \033[A\router 3");
	ck_assert_str_eq(line(0), "outer 3");
	ck_assert_str_eq(line(1), "");
	ck_assert_int_eq(log_->count, 2);
}
END_TEST

START_TEST(cursor_and_erasing_are_those_of_a_terminal)
{
	feed("abc\b\bX\n\ta\ntoo long\r\033[Kcut\n1\n2\n3\033[3F\033[Jend\n12345\033[3G\033[1K\033[1CZ");
	ck_assert_str_eq(line(0), "aXc");
	ck_assert_str_eq(line(1), "        a");
	ck_assert_str_eq(line(2), "end");
	ck_assert_str_eq(line(3), "   Z5");
}
END_TEST

START_TEST(colours_become_styles)
{
	feed("\033[31mr\033[1;92mg\033[0mn\033[38;5;3my\033[38;2;1;2;3mt\033[2;48;5;9md\033[m.");
	ck_assert_str_eq(line(0), "rgnytd.");
	ck_assert_uint_eq(style(0, 0), 2);
	ck_assert_uint_eq(style(0, 1), 3 | LOG_BOLD);
	ck_assert_uint_eq(style(0, 2), 0);
	ck_assert_uint_eq(style(0, 3), 4);
	ck_assert_uint_eq(style(0, 4), 0);
	ck_assert_uint_eq(style(0, 5), LOG_DIM);
	ck_assert_uint_eq(style(0, 6), 0);
}
END_TEST

START_TEST(other_sequences_are_dropped_whole)
{
	feed("a\033]0;title\007b\033]8;;http://x\033\\c\033[?25ld\033[2Je\033(Bf\033P+q\033\\g\033[>4;1mh\033ci\a\177j");
	ck_assert_str_eq(line(0), "abcdefghij");
	ck_assert_uint_eq(style(0, 7), 0);
	feed("\033]unended\nnext");
	ck_assert_str_eq(line(1), "next");
	feed("\033[12;\nmore");
	ck_assert_str_eq(line(2), "more");
	feed("\xc2\x9b"
		 "5n \xc2\x85|");
	ck_assert_str_eq(line(2), "more5n |");
}
END_TEST

START_TEST(characters_survive_any_cut_and_malformed_ones_are_replaced)
{
	static const char text[] = "µ € 界 \xff \xe2\x82x \033[1;31m✓\033[0m e\xcc\x81 \xed\xa0\x80|\n";
	for (size_t i = 0; i < sizeof text - 1; i++)
		log_lines_feed(log_, text + i, 1);
	ck_assert_str_eq(line(0), "µ € 界 � �x ✓ e �|");
	feed("界界\r\033[Cx");
	ck_assert_str_eq(line(1), " x界");
}
END_TEST

START_TEST(the_newest_lines_are_kept)
{
	char text[32];
	for (int i = 0; i < LOG_LINES_MAX + 500; i++) {
		snprintf(text, sizeof text, "line %d\n", i);
		feed(text);
	}
	ck_assert_int_eq(log_->count, LOG_LINES_MAX);
	ck_assert_str_eq(line(0), "line 501");
	ck_assert_str_eq(line(LOG_LINES_MAX - 2), "line 2499");
	feed("last\033[1Aabove");
	ck_assert_str_eq(line(LOG_LINES_MAX - 1), "last");
	ck_assert_str_eq(line(LOG_LINES_MAX - 2), "lineabove");
}
END_TEST

START_TEST(a_line_without_end_is_cut)
{
	for (int i = 0; i < 1000; i++)
		feed("0123456789");
	ck_assert_int_eq(log_lines_at(log_, 0)->count, LOG_CELLS_MAX);
	feed("\033[9999999999Cx\rstart\nnext");
	ck_assert_int_eq(strncmp(line(0), "start56789", 10), 0);
	ck_assert_str_eq(line(1), "next");
}
END_TEST

/* Under the sanitizers of CI: no bytes lead outside. */
START_TEST(random_bytes_are_survived)
{
	static const char likely[] = "\033[];:?mAKJHGCDEF0123456789\r\n\b\t\xe7\x95\x8c\xff\\";
	unsigned seed = 7;
	for (int i = 0; i < 400000; i++) {
		seed = seed * 1103515245 + 12345;
		char byte = seed >> 28 ? likely[(seed >> 8) % (sizeof likely - 1)] : (char)(seed >> 16);
		log_lines_feed(log_, &byte, 1);
		if (i % 50000 == 0)
			log_lines_clear(log_);
	}
	for (int i = 0; i < log_->count; i++)
		ck_assert_int_le(log_lines_at(log_, i)->count, LOG_CELLS_MAX);
	ck_assert_int_lt(log_->row, log_->count);
}
END_TEST

enum { KB = 1 << 10 };

/* Appends as a launched command does, until the file has `size` bytes. */
static void append_until(int fd, off_t size)
{
	char path[40], lines[64 * KB];
	struct stat file;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int end = open(path, O_WRONLY | O_APPEND);
	memset(lines, 'x', sizeof lines);
	lines[sizeof lines - 1] = '\n';
	for (file.st_size = lseek(end, 0, SEEK_END); file.st_size < size; fstat(end, &file))
		ck_assert_int_eq(write(end, lines, sizeof lines), sizeof lines);
	close(end);
}

static struct log_limit limit_of(int fd)
{
	ck_assert_int_ge(fd, 0);
	return (struct log_limit){ .fd = fd, .used_max = 2048 * KB, .first_kept = 64 * KB, .last_kept = 512 * KB };
}

START_TEST(a_flooded_log_keeps_its_beginning_and_its_newest_part)
{
	struct log_limit limit = limit_of(memfd_create("log", MFD_CLOEXEC));
	struct stat file;
	char text[64];
	append_until(limit.fd, 1024 * KB);
	ck_assert_int_eq(log_limit_apply(&limit), LOG_LIMIT_NOTHING);
	append_until(limit.fd, 8192 * KB);
	ck_assert_int_eq(log_limit_apply(&limit), LOG_LIMIT_CUT);
	append_until(limit.fd, 16384 * KB);
	ck_assert_int_eq(log_limit_apply(&limit), LOG_LIMIT_NOTHING);
	ck_assert_int_eq(fstat(limit.fd, &file), 0);
	ck_assert_int_eq(file.st_size, 16384 * KB);
	ck_assert_int_le(file.st_blocks * 512, (64 + 64 + 512) * KB);
	ck_assert_int_eq(pread(limit.fd, text, 8, 64 * KB - 8), 8);
	ck_assert_mem_eq(text, "xxxxxxx\n", 8);
	ck_assert_int_eq(pread(limit.fd, text, 41, 64 * KB), 41);
	ck_assert_mem_eq(text, "\n[pmtop removed the output between here an", 41);
	ck_assert_int_eq(pread(limit.fd, text, 4, (16384 - 512) * KB - 2), 4);
	ck_assert_mem_eq(text, "\0\0xx", 4);
	log_limit_close(&limit);
}
END_TEST

START_TEST(a_log_from_which_nothing_can_be_removed_is_left_alone)
{
	struct log_limit limit = limit_of(memfd_create("log", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	append_until(limit.fd, 4096 * KB);
	ck_assert_int_eq(fcntl(limit.fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	ck_assert_int_eq(log_limit_apply(&limit), LOG_LIMIT_REFUSED);
	ck_assert_int_eq(log_limit_apply(&limit), LOG_LIMIT_NOTHING);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log_lines");
	TCase *tests = tcase_create("log_lines");
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, a_progress_bar_is_one_line);
	tcase_add_test(tests, nested_progress_bars_keep_their_lines);
	tcase_add_test(tests, cursor_and_erasing_are_those_of_a_terminal);
	tcase_add_test(tests, colours_become_styles);
	tcase_add_test(tests, other_sequences_are_dropped_whole);
	tcase_add_test(tests, characters_survive_any_cut_and_malformed_ones_are_replaced);
	tcase_add_test(tests, the_newest_lines_are_kept);
	tcase_add_test(tests, a_line_without_end_is_cut);
	tcase_add_test(tests, random_bytes_are_survived);
	tcase_add_test(tests, a_flooded_log_keeps_its_beginning_and_its_newest_part);
	tcase_add_test(tests, a_log_from_which_nothing_can_be_removed_is_left_alone);
	suite_add_tcase(suite, tests);
	return suite_run(suite) != 0;
}
