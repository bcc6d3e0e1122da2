/* For how long a rank's CPU quota throttled it, from the files of cgroup versions 1 and 2 in a temporary folder. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/collectives/rank_throttle.h"
#include "tests/support/fake_proc.h"
#include "tests/support/suite.h"

enum { PID = 100 };

static struct fake_proc proc;
static struct rank_throttle throttle;
static int process_fd;
static int64_t now_ns;

static void setup(void)
{
	char path[128];
	fake_proc_init(&proc);
	fake_proc_add(&proc, PID, 1, "rank");
	snprintf(path, sizeof path, "%s/%d", proc.root, PID);
	process_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	throttle = (struct rank_throttle){ .path = NULL };
	now_ns = NS_PER_S;
}

static void cleanup(void)
{
	rank_throttle_release(&throttle);
	close(process_fd);
	fake_proc_release(&proc);
}

/* The hierarchy of controllers "cpu" (version 1), or the one of version 2, is mounted at cg/ beside the processes. */
static void mount_hierarchy(unsigned version, const char *cgroup)
{
	char text[256];
	snprintf(text, sizeof text, "30 20 0:26 / %s/cg rw - cgroup%s cgroup rw%s\n", proc.root, version == 2 ? "2" : "",
		version == 2 ? "" : ",cpu,cpuacct");
	fake_proc_put(&proc, "self/mountinfo", text);
	snprintf(text, sizeof text, "%s:%s\n", version == 2 ? "0:" : "4:cpu,cpuacct", cgroup);
	fake_proc_puts(&proc, PID, "cgroup", text);
}

/* Half a minute later, so that the cgroup is searched for again. */
static double read_later(void)
{
	now_ns += 30 * NS_PER_S;
	return rank_throttle_read(&throttle, proc.root, PID, process_fd, now_ns);
}

static void assert_seconds(double expected_s)
{
	double seconds = read_later();
	ck_assert_msg(fabs(seconds - expected_s) < 1e-9, "%g s, not %g s", seconds, expected_s);
}

START_TEST(version_2_counts_in_microseconds)
{
	mount_hierarchy(2, "/job/rank0");
	fake_proc_put(&proc, "cg/job/rank0/cpu.stat",
		"usage_usec 90000000\nuser_usec 80000000\nsystem_usec 10000000\nnr_periods 600\nnr_throttled 40\n"
		"throttled_usec 2500000\nnr_bursts 0\nburst_usec 0\n");
	assert_seconds(2.5);
	fake_proc_put(
		&proc, "cg/job/rank0/cpu.stat", "usage_usec 1\nnr_periods 700\nnr_throttled 41\nthrottled_usec 2600000\n");
	assert_seconds(2.6);
}
END_TEST

START_TEST(version_1_counts_in_nanoseconds)
{
	mount_hierarchy(1, "/job/rank0");
	fake_proc_put(&proc, "cg/job/rank0/cpu.stat", "nr_periods 600\nnr_throttled 40\nthrottled_time 1250000000\n");
	assert_seconds(1.25);
}
END_TEST

/* A quota above the rank's own cgroup, as that of a pod, throttles it too. */
START_TEST(cgroup_that_was_throttled_the_longest_counts)
{
	mount_hierarchy(2, "/pod/job/rank0");
	fake_proc_put(&proc, "cg/pod/job/rank0/cpu.stat", "usage_usec 1\nnr_throttled 0\nthrottled_usec 0\n");
	fake_proc_put(&proc, "cg/pod/job/cpu.stat", "usage_usec 1\nnr_throttled 9\nthrottled_usec 7000000\n");
	fake_proc_put(&proc, "cg/pod/cpu.stat", "usage_usec 1\nnr_throttled 1\nthrottled_usec 300000\n");
	assert_seconds(7);
	fake_proc_put(&proc, "cg/pod/cpu.stat", "usage_usec 1\nnr_throttled 80\nthrottled_usec 9000000\n");
	assert_seconds(9);
}
END_TEST

START_TEST(no_quota_and_no_cgroup_are_unknown)
{
	ck_assert(isnan(read_later()));
	mount_hierarchy(2, "/job");
	fake_proc_put(&proc, "cg/job/cpu.stat", "usage_usec 90\nuser_usec 80\nsystem_usec 10\n"); /* no CPU controller */
	ck_assert(isnan(read_later()));
	fake_proc_put(&proc, "cg/job/cpu.stat", "usage_usec 90\nnr_throttled 0\nthrottled_usec 0\n");
	assert_seconds(0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rank_throttle");
	TCase *tests = tcase_create("rank_throttle");
	tcase_add_checked_fixture(tests, setup, cleanup);
	tcase_add_test(tests, version_2_counts_in_microseconds);
	tcase_add_test(tests, version_1_counts_in_nanoseconds);
	tcase_add_test(tests, cgroup_that_was_throttled_the_longest_counts);
	tcase_add_test(tests, no_quota_and_no_cgroup_are_unknown);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
