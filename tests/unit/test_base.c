/* The small parts of src/base and src/samples. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "tests/support/suite.h"

START_TEST(buffer_grows_and_keeps_its_text)
{
	struct buffer buffer = BUFFER_INIT;
	for (int i = 0; i < 1000; i++)
		buffer_printf(&buffer, "%d,", i);
	ck_assert(!buffer.failed);
	ck_assert_int_eq(strncmp(buffer.data, "0,1,2,", 6), 0);
	ck_assert_str_eq(buffer.data + buffer.length - 4, "999,");
	buffer_clear(&buffer);
	ck_assert_uint_eq(buffer.length, 0);
	buffer_puts(&buffer, "again");
	ck_assert_str_eq(buffer.data, "again");
	buffer_release(&buffer);
}
END_TEST

START_TEST(absurd_length_fails_the_buffer_and_keeps_the_text)
{
	struct buffer buffer = BUFFER_INIT;
	buffer_puts(&buffer, "kept");
	buffer_add(&buffer, "x", (size_t)-1 / 2);
	ck_assert(buffer.failed);
	ck_assert_str_eq(buffer.data, "kept");
	buffer_release(&buffer);
}
END_TEST

START_TEST(an_open_descriptor_reads_the_current_contents)
{
	char path[] = "/tmp/pmtop-test-XXXXXX", text[8];
	int fd = mkstemp(path);
	size_t length = 99;
	ck_assert_int_eq(write(fd, "one", 3), 3);
	ck_assert_int_eq(file_reread(fd, text, sizeof text, &length), STATUS_OK);
	ck_assert_str_eq(text, "one");
	ck_assert_int_eq(pwrite(fd, "0123456789", 10, 0), 10);
	ck_assert_int_eq(file_reread(fd, text, sizeof text, &length), STATUS_OK);
	ck_assert_str_eq(text, "0123456");
	ck_assert_uint_eq(length, 7);
	close(fd);
	unlink(path);
	ck_assert_int_eq(file_read(AT_FDCWD, path, text, sizeof text, &length), STATUS_NOT_FOUND);
	ck_assert_uint_eq(length, 7);
}
END_TEST

START_TEST(reason_carries_cause_and_remedy)
{
	struct reason reason;
	ck_assert_int_eq(reason_set(&reason, STATUS_DENIED, "run as root", "process %d belongs to root", 1), STATUS_DENIED);
	ck_assert_str_eq(reason.text, "process 1 belongs to root");
	ck_assert_str_eq(reason.remedy, "run as root");
	ck_assert_int_eq(reason_set(NULL, STATUS_IO, NULL, "nobody asks"), STATUS_IO);
}
END_TEST

START_TEST(records_and_texts_live_until_the_set_is_cleared)
{
	struct sample_set set = SAMPLE_SET_INIT;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 5000; i++) {
			char text[32];
			int length = snprintf(text, sizeof text, "name %d", i);
			struct record *record = sample_set_add(&set, RECORD_NAME, 3, i);
			ck_assert_ptr_nonnull(record);
			record->name.id = (uint32_t)i;
			record->name.text = sample_set_text(&set, text, (size_t)length);
		}
		ck_assert_uint_eq(set.count, 5000);
		ck_assert_str_eq(set.records[4999].name.text, "name 4999");
		ck_assert_str_eq(set.records[0].name.text, "name 0");
		ck_assert_uint_eq(set.records[17].run, 3);
		sample_set_clear(&set);
		ck_assert_uint_eq(set.count, 0);
	}
	sample_set_release(&set);
}
END_TEST

START_TEST(foreign_text_is_cleaned_at_the_door)
{
	struct sample_set set = SAMPLE_SET_INIT;
	const char *text = sample_set_text(&set, "a\033]52;c;x\007b\xc2\x9b", 13);
	for (const char *c = text; *c; c++)
		ck_assert_int_ge((unsigned char)*c, 0x20);
	ck_assert_ptr_null(strstr(text, "\xc2\x9b"));
	ck_assert_ptr_nonnull(strstr(text, "]52;c;x"));
	sample_set_release(&set);
}
END_TEST

START_TEST(huge_text_is_cut_not_refused)
{
	struct sample_set set = SAMPLE_SET_INIT;
	size_t length = 1 << 20;
	char *huge = malloc(length);
	memset(huge, 'x', length);
	const char *text = sample_set_text(&set, huge, length);
	ck_assert_uint_gt(strlen(text), 1000);
	ck_assert_uint_lt(strlen(text), length);
	ck_assert(!set.failed);
	free(huge);
	sample_set_release(&set);
}
END_TEST

START_TEST(impossible_size_fails_the_set_only)
{
	struct sample_set set = SAMPLE_SET_INIT;
	ck_assert_ptr_null(sample_set_allocate(&set, (size_t)-1));
	ck_assert(set.failed);
	ck_assert_ptr_nonnull(sample_set_allocate(&set, 100));
	sample_set_release(&set);
}
END_TEST

START_TEST(every_metric_and_record_has_a_name)
{
	for (int i = 0; i < METRIC_COUNT; i++)
		ck_assert_ptr_nonnull(metric_table[i].name);
	ck_assert_str_eq(record_kind_name(RECORD_BATCH_END), "BATCH_END");
	ck_assert_str_eq(record_kind_name(RECORD_KIND_COUNT), "?");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base");
	TCase *tests = tcase_create("base");
	tcase_add_test(tests, buffer_grows_and_keeps_its_text);
	tcase_add_test(tests, absurd_length_fails_the_buffer_and_keeps_the_text);
	tcase_add_test(tests, an_open_descriptor_reads_the_current_contents);
	tcase_add_test(tests, reason_carries_cause_and_remedy);
	tcase_add_test(tests, records_and_texts_live_until_the_set_is_cleared);
	tcase_add_test(tests, foreign_text_is_cleaned_at_the_door);
	tcase_add_test(tests, huge_text_is_cut_not_refused);
	tcase_add_test(tests, impossible_size_fails_the_set_only);
	tcase_add_test(tests, every_metric_and_record_has_a_name);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
