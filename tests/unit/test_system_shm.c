/* Which files of /dev/shm are the run's, with real processes. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/machine/system_shm.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

#define MB 1048576.0

static void name_file(char out[96], const char *begin, pid_t pid)
{
	snprintf(out, 96, "/dev/shm/%s%d_1234_0", begin, (int)pid);
}

static int create(const char *begin, pid_t pid, size_t megabytes)
{
	static char data[1 << 20];
	char path[96];
	name_file(path, begin, pid);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	for (size_t i = 0; i < megabytes; i++)
		if (write(fd, data, sizeof data) != sizeof data)
			return -1;
	return fd;
}

/* Holds one file open, maps another, and has closed a third, whose name alone is the process's. */
static void hold_files_body(void *argument, int in, int out)
{
	(void)argument;
	create("pmtop-test-open-", getppid(), 3);
	int mapped = create("pmtop-test-mapped-", getppid(), 5);
	mmap(NULL, 5 << 20, PROT_READ, MAP_SHARED, mapped, 0);
	close(mapped);
	close(create("torch_", getpid(), 7));
	child_ready(out);
	child_wait(in);
}

static void remove_file(const char *begin, pid_t pid)
{
	char path[96];
	name_file(path, begin, pid);
	unlink(path);
}

START_TEST(files_that_the_run_maps_has_open_or_created_are_its_own)
{
	struct target target;
	struct reason reason;
	struct sample_set set = SAMPLE_SET_INIT;
	struct system_shm *shm = system_shm_new();
	struct child child = child_start(hold_files_body, NULL);
	child_await(&child);
	/* Another program's, with its pid. */
	close(create("pmtop-test-other-", getpid(), 11));
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	system_shm_read(shm, &target, 100 * MB, 10 * NS_PER_S, &set);
	ck_assert_double_eq_tol(set_figure(&set, METRIC_SYSTEM_SHM_OWN, 0), (3 + 5 + 7) * MB, 0.1 * MB);
	target_close(&target);
	system_shm_free(shm);
	sample_set_release(&set);
	remove_file("pmtop-test-open-", getpid());
	remove_file("pmtop-test-mapped-", getpid());
	remove_file("torch_", child.pid);
	remove_file("pmtop-test-other-", getpid());
	child_kill(&child);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("system_shm");
	TCase *tests = tcase_create("system_shm");
	tcase_add_test(tests, files_that_the_run_maps_has_open_or_created_are_its_own);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
