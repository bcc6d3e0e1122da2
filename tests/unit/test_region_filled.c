/* A region that its writer fills after pmtop's first search: the process's virtual memory keeps its size then. */
#define PMTOP_IMPLEMENTATION
#include "src/region/pmtop.h"

#include <check.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

static char *region_of(pid_t pid)
{
	char pattern[64];
	glob_t found;
	snprintf(pattern, sizeof pattern, "/dev/shm/pmtop.*.%d.*", (int)pid);
	char *path = glob(pattern, 0, NULL, &found) == 0 ? strdup(found.gl_pathv[0]) : NULL;
	globfree(&found);
	return path;
}

static void fill_later(void *unused, int in, int out)
{
	(void)unused;
	struct pmtop *pm = pmtop_open("filled", NULL);
	char magic[8], *path = region_of(getpid());
	int file = path ? open(path, O_RDWR) : -1;
	free(path);
	if (file < 0 || pread(file, magic, 8, 0) != 8 || pwrite(file, "\0\0\0\0\0\0\0", 8, 0) != 8)
		_exit(9);
	child_ready(out);
	child_wait(in);
	if (pwrite(file, magic, 8, 0) != 8)
		_exit(9);
	child_ready(out);
	child_wait(in);
	pmtop_close(pm);
}

START_TEST(a_region_that_is_filled_after_the_first_search_is_found)
{
	struct target target;
	struct reason reason;
	struct sample_set set = SAMPLE_SET_INIT;
	struct child child = child_start(fill_later, NULL);
	void *state;
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(region_source.open(&target, &state, &reason), STATUS_OK);
	ck_assert_int_eq(region_source.read(state, clock_monotonic_ns(), &set), STATUS_OK);
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_OPENED), 0);
	child_release(&child);
	child_await(&child);
	sample_set_clear(&set);
	target_refresh(&target);
	ck_assert_int_eq(region_source.read(state, clock_monotonic_ns() + NS_PER_S, &set), STATUS_OK);
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_OPENED), 1);
	char *path = region_of(child.pid);
	child_kill(&child);
	ck_assert_int_eq(unlink(path), 0);
	free(path);
	region_source.close(state);
	sample_set_release(&set);
	target_close(&target);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region filled");
	TCase *tests = tcase_create("filled");
	tcase_add_test(tests, a_region_that_is_filled_after_the_first_search_is_found);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
