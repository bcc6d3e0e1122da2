#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/hang_watch.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

#define LIMIT_NS (50 * NS_PER_MS)

/* A pipe without data acts as a file that does not answer. */
struct reading {
	int fd;
	ssize_t length;
	char byte;
};

static void read_byte(void *context)
{
	struct reading *reading = context;
	char byte;
	reading->length = file_read_some(reading->fd, &byte, 1);
	reading->byte = byte;
}

static struct reading *begin(int ends[2])
{
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	struct reading *reading = calloc(1, sizeof *reading);
	ck_assert_ptr_nonnull(reading);
	reading->fd = ends[0];
	reading->length = -2;
	return reading;
}

START_TEST(work_that_reads_is_waited_for)
{
	int ends[2];
	char path[HANG_PATH_SIZE];
	struct reading *reading = begin(ends);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert(hang_run(read_byte, reading, LIMIT_NS, path));
	ck_assert_int_eq(reading->length, 1);
	ck_assert_int_eq(reading->byte, 'x');
	free(reading);
}
END_TEST

static bool all_have_answered(void *context)
{
	struct hang_path silent[HANG_PATHS_MAX];
	(void)context;
	return hang_paths(silent) == 0;
}

START_TEST(read_that_does_not_return_is_left_behind_and_its_file_refused)
{
	int ends[2];
	char path[HANG_PATH_SIZE] = "";
	struct hang_path silent[HANG_PATHS_MAX];
	struct reading *reading = begin(ends);
	ck_assert(!hang_run(read_byte, reading, LIMIT_NS, path));
	ck_assert_ptr_nonnull(strstr(path, "pipe:["));
	ck_assert_uint_eq(hang_paths(silent), 1);
	ck_assert_str_eq(silent[0].path, path);

	char byte;
	ck_assert_int_eq(file_read_some(ends[0], &byte, 1), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);

	/* It answers after all: the answer is discarded, and the file is read again. */
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert(wait_until(all_have_answered, NULL, 10));
	ck_assert_int_eq(reading->length, -2);
	ck_assert_int_eq(write(ends[1], "y", 1), 1);
	ck_assert_int_eq(file_read_some(ends[0], &byte, 1), 1);
	ck_assert_int_eq(byte, 'y');
	free(reading);
}
END_TEST

static void read_many(void *context)
{
	int *fd = context;
	char text[8];
	for (int64_t until_ns = clock_monotonic_ns() + 4 * LIMIT_NS; clock_monotonic_ns() < until_ns;)
		if (pread(*fd, text, sizeof text, 0) < 0 || file_read_some(*fd, text, sizeof text) < 0)
			return;
	*fd = -1;
}

START_TEST(many_short_reads_are_no_hang)
{
	char path[HANG_PATH_SIZE];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert(hang_run(read_many, &fd, LIMIT_NS, path));
	ck_assert_int_eq(fd, -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hang_watch");
	TCase *tcase = tcase_create("hang_watch");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, work_that_reads_is_waited_for);
	tcase_add_test(tcase, read_that_does_not_return_is_left_behind_and_its_file_refused);
	tcase_add_test(tcase, many_short_reads_are_no_hang);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
