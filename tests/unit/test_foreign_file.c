/* The rights of a process, and files read with them. test_source_rights.sh has a hostile Python and a file system that
 * never answers. */
#include <check.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/sources/target/foreign_file.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

enum { NOBODY = 65534, BUSY_THREADS = 4, READS = 50 };

/* -- rights -- */

#define STATUS(uids, gids, groups, capabilities) \
	"Name:\tpython\tUid:\t0\nUid:\t" uids "\nGid:\t" gids "\nFDSize:\t64\nGroups:\t" groups \
	" \nCapPrm:\t1ff\nCapEff:\t" capabilities "\nCapBnd:\t1ff\n"

START_TEST(ids_and_groups_are_the_processs)
{
	struct foreign_rights rights;
	ck_assert_int_eq(
		foreign_rights_parse(STATUS("7\t7\t7\t7", "8\t8\t8\t8", "8 27 4294967294", "1ff"), true, &rights), STATUS_OK);
	ck_assert_uint_eq(rights.uid, 7);
	ck_assert_uint_eq(rights.gid, 8);
	ck_assert_uint_eq(rights.group_count, 3);
	ck_assert_uint_eq(rights.groups[2], 4294967294U);
	/* Capabilities of an ordinary user are ignored. */
	ck_assert_uint_eq(rights.capabilities, 0);
}
END_TEST

START_TEST(root_keeps_what_lets_it_read)
{
	struct foreign_rights rights;
	ck_assert_int_eq(
		foreign_rights_parse(STATUS("0\t0\t0\t0", "0\t0\t0\t0", "", "000001ffffffffff"), true, &rights), STATUS_OK);
	ck_assert_uint_eq(rights.capabilities, 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
	ck_assert_int_eq(
		foreign_rights_parse(STATUS("0\t0\t0\t0", "0\t0\t0\t0", "", "000001ffffffffff"), false, &rights), STATUS_OK);
	ck_assert_uint_eq(rights.capabilities, 0);
	ck_assert_int_eq(foreign_rights_parse(STATUS("0\t0\t0\t0", "0\t0\t0\t0", "", "0"), true, &rights), STATUS_OK);
	ck_assert_uint_eq(rights.capabilities, 0);
}
END_TEST

START_TEST(ids_that_differ_give_no_rights)
{
	static const char *const refused[] = {
		STATUS("7\t0\t0\t0", "8\t8\t8\t8", "", "0"),
		STATUS("0\t7\t0\t7", "8\t8\t8\t8", "", "0"),
		STATUS("7\t7\t0\t7", "8\t8\t8\t8", "", "0"),
		STATUS("7\t7\t7\t0", "8\t8\t8\t8", "", "0"),
		STATUS("7\t7\t7\t7", "8\t9\t8\t8", "", "0"),
		STATUS("7\t7\t7", "8\t8\t8\t8", "", "0"),
		STATUS("7\t7\t7\t7", "8\t8\t8\t8", "x", "0"),
		STATUS("7\t7\t7\t7", "8\t8\t8\t8", "99999999999", "0"),
		STATUS("-1\t-1\t-1\t-1", "8\t8\t8\t8", "", "0"),
		"",
		"Uid:",
	};
	struct foreign_rights rights;
	ck_assert_int_eq(foreign_rights_parse(refused[_i], true, &rights), STATUS_DENIED);
}
END_TEST

START_TEST(too_many_groups_give_no_rights)
{
	char text[8192] = "Uid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\nGroups:\t";
	struct foreign_rights rights;
	for (int i = 0; i <= FOREIGN_GROUPS_MAX; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", i + 1);
	strcat(text, "\n");
	ck_assert_int_eq(foreign_rights_parse(text, true, &rights), STATUS_DENIED);
}
END_TEST

/* -- files -- */

static char folder[64], path[128];
static int self_fd;
static struct foreign_reader reader;
static const struct foreign_rights nobody = { .uid = NOBODY, .gid = NOBODY };

static void setup(void)
{
	snprintf(folder, sizeof folder, "/tmp/pmtop-foreign-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	chmod(folder, 0755);
	snprintf(path, sizeof path, "%s/train.py", folder);
	self_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	reader = (struct foreign_reader){ .timeouts = 0 };
	ck_assert_msg(geteuid() == 0, "this test needs root");
}

static void teardown(void)
{
	foreign_reader_release(&reader);
	unlink(path);
	rmdir(folder);
	close(self_fd);
}

static void write_file(size_t length, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *bytes = malloc(length + 1);
	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)('a' + i % 23);
	ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	free(bytes);
	close(fd);
}

static enum status read_until(const struct foreign_rights *rights, int64_t newest_ns, size_t *length)
{
	char *text = NULL;
	enum status status;
	const int64_t deadline_ns = wait_deadline(60);
	/* A busy machine may delay the child for a second. */
	do
		status = foreign_file_read(&reader, self_fd, rights, path, newest_ns, &text, length);
	while (status == STATUS_AGAIN && !reader.has_given_up && wait_nap(deadline_ns));
	for (size_t i = 0; status == STATUS_OK && i < *length; i++)
		ck_assert_int_eq(text[i], 'a' + (int)(i % 23));
	free(text);
	ck_assert_uint_eq(geteuid(), 0);
	return status;
}

static enum status read_as(const struct foreign_rights *rights, size_t *length)
{
	return read_until(rights, INT64_MAX, length);
}

START_TEST(a_file_is_read_whole)
{
	static const size_t lengths[] = { 0, 1, 4096, 300000, FOREIGN_FILE_MAX };
	size_t length = 77;
	write_file(lengths[_i], 0644);
	ck_assert_int_eq(read_as(&nobody, &length), STATUS_OK);
	ck_assert_uint_eq(length, lengths[_i]);
}
END_TEST

START_TEST(only_small_regular_files_are_read)
{
	size_t length = 0;
	ck_assert_int_eq(read_as(&nobody, &length), STATUS_NOT_FOUND);
	write_file(FOREIGN_FILE_MAX + 1, 0644);
	ck_assert_int_eq(read_as(&nobody, &length), STATUS_INVALID);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0644), 0);
	ck_assert_int_eq(read_as(&nobody, &length), STATUS_INVALID);
	unlink(path);
	ck_assert_int_eq(symlink("/proc/self/exe", path), 0);
	ck_assert_int_ne(read_as(&nobody, &length), STATUS_OK);
}
END_TEST

START_TEST(rights_are_those_of_the_process)
{
	const struct foreign_rights root = { .uid = 0, .capabilities = 1U << CAP_DAC_OVERRIDE }, bare = { .uid = 0 };
	size_t length = 0;
	write_file(10, 0600);
	ck_assert_int_eq(read_as(&nobody, &length), STATUS_DENIED);
	ck_assert_int_eq(read_as(&bare, &length), STATUS_OK);
	ck_assert_int_eq(chown(path, NOBODY, NOBODY), 0);
	ck_assert_int_eq(read_as(&nobody, &length), STATUS_OK);
	ck_assert_int_eq(read_as(&root, &length), STATUS_OK);
	/* Root without capabilities, as in a container. */
	ck_assert_int_eq(read_as(&bare, &length), STATUS_DENIED);
}
END_TEST

START_TEST(a_newer_file_is_refused)
{
	size_t length = 77;
	write_file(10, 0644);
	ck_assert_int_eq(read_until(&nobody, 1000000000, &length), STATUS_INVALID);
	ck_assert_uint_eq(length, 77);
}
END_TEST

static _Atomic bool is_over;

static void *be_busy(void *argument)
{
	while (!atomic_load(&is_over)) {
		free(malloc(1000));
		FILE *file = fopen("/dev/null", "re");
		if (file)
			fclose(file);
	}
	return argument;
}

/* Each child is forked while others hold the locks of malloc and stdio. */
START_TEST(other_threads_are_no_hindrance)
{
	pthread_t threads[BUSY_THREADS];
	size_t length = 0;
	atomic_store(&is_over, false);
	write_file(50000, 0644);
	for (int i = 0; i < BUSY_THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, be_busy, NULL), 0);
	for (int i = 0; i < READS; i++)
		ck_assert_int_eq(read_as(&nobody, &length), STATUS_OK);
	atomic_store(&is_over, true);
	for (int i = 0; i < BUSY_THREADS; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

int main(void)
{
	TCase *rights = tcase_create("rights"), *files = tcase_create("files");
	tcase_add_test(rights, ids_and_groups_are_the_processs);
	tcase_add_test(rights, root_keeps_what_lets_it_read);
	tcase_add_loop_test(rights, ids_that_differ_give_no_rights, 0, 11);
	tcase_add_test(rights, too_many_groups_give_no_rights);
	tcase_add_checked_fixture(files, setup, teardown);
	tcase_add_loop_test(files, a_file_is_read_whole, 0, 5);
	tcase_add_test(files, only_small_regular_files_are_read);
	tcase_add_test(files, rights_are_those_of_the_process);
	tcase_add_test(files, a_newer_file_is_refused);
	tcase_add_test(files, other_threads_are_no_hindrance);
	tcase_set_timeout(files, 120);
	Suite *suite = suite_create("foreign_file");
	suite_add_tcase(suite, rights);
	suite_add_tcase(suite, files);
	return suite_run(suite);
}
