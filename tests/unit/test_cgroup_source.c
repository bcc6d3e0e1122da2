#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/fake_proc.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

/* The target's root directory, below the fake /proc. */
#define TARGET_ROOT "100/root"

enum { TARGET = 100 };

static struct target target;
static struct reason reason;
static struct sample_set set;
static struct fake_proc proc;
static void *state;

/* Writes a file of the fake hierarchy, which is beside the fake /proc. */
static void put(const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "cg/%s", name);
	fake_proc_put(&proc, path, text);
}

/* `%s` in the lines is the folder of the hierarchy. */
static void put_mounts(const char *owner, const char *format)
{
	char name[64], text[1024], root[96];
	snprintf(name, sizeof name, "%s/mountinfo", owner);
	snprintf(root, sizeof root, "%s/cg", proc.root);
	size_t used = 0;
	for (const char *at = format; *at && used < sizeof text - 1;)
		if (strncmp(at, "%s", 2) == 0) {
			used += (size_t)snprintf(text + used, sizeof text - used, "%s", root);
			at += 2;
		} else {
			text[used++] = *at++;
		}
	text[used] = '\0';
	fake_proc_put(&proc, name, text);
}

static void setup(void)
{
	fake_proc_init(&proc);
	fake_proc_add(&proc, TARGET, 1, "trainer");
}

static void open_source(void)
{
	ck_assert_int_eq(target_open(&target, TARGET, proc.root, &reason), STATUS_OK);
	ck_assert_int_eq(cgroup_source.open(&target, &state, &reason), STATUS_OK);
}

static void close_source(void)
{
	cgroup_source.close(state);
	sample_set_release(&set);
	target_close(&target);
}

static void teardown(void)
{
	close_source();
	fake_proc_release(&proc);
}

static void read_at(double at_s)
{
	sample_set_clear(&set);
	target_refresh(&target);
	ck_assert_int_eq(cgroup_source.read(state, (int64_t)(at_s * 1e9), &set), STATUS_OK);
}

static void ck_figure(enum metric metric, double wanted) { ck_set_figure(&set, metric, 0, wanted, 0); }

#define V2_MOUNT "30 20 0:30 / %s rw - cgroup2 cgroup2 rw\n"

static void put_v2(void)
{
	put_mounts("self", V2_MOUNT);
	fake_proc_puts(&proc, TARGET, "cgroup", "0::/pod/train\n");
	put("pod/cgroup.procs", "");
	put("pod/memory.max", "8589934592\n");
	put("pod/cpu.max", "400000 100000\n");
	put("pod/train/cgroup.procs", "100\n");
	put("pod/train/memory.max", "max\n");
	put("pod/train/memory.current", "1000000\n");
	put("pod/train/memory.stat", "anon 700000\nfile 250000\nkernel 1\nshmem 50000\nfile_mapped 7\nanon_thp 9\n");
	put("pod/train/memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n");
	put("pod/train/cpu.max", "200000 100000\n");
	put("pod/train/cpu.stat",
		"usage_usec 5000\nuser_usec 4000\nsystem_usec 1000\nnr_periods 40\nnr_throttled 10\nthrottled_usec "
		"123\nnr_bursts 0\n");
}

START_TEST(version_2_is_read_with_the_least_limits_on_the_way_up)
{
	put_v2();
	open_source();
	read_at(1);
	ck_figure(METRIC_CGROUP_MEMORY, 1000000);
	ck_figure(METRIC_CGROUP_MEMORY_ANONYMOUS, 700000);
	ck_figure(METRIC_CGROUP_MEMORY_FILE, 250000);
	ck_figure(METRIC_CGROUP_MEMORY_SHARED, 50000);
	ck_figure(METRIC_CGROUP_OOM_KILLS, 2);
	ck_figure(METRIC_CGROUP_MEMORY_LIMIT, 8589934592.0); /* of the one above */
	ck_figure(METRIC_CGROUP_CPU_LIMIT, 2);               /* its own is less */
	ck_figure(METRIC_CGROUP_CPU, 5000e3);
	ck_figure(METRIC_CGROUP_PERIODS, 40);
	ck_figure(METRIC_CGROUP_THROTTLED_PERIODS, 10);
	ck_figure(METRIC_CGROUP_THROTTLED, 123e3);
	ck_figure(METRIC_CGROUP_MEMBERS_OUTSIDE, 0);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
	/* CPU at each reading, memory once a second. */
	put("pod/train/cpu.stat", "usage_usec 6000\nnr_periods 41\nnr_throttled 11\nthrottled_usec 223\n");
	read_at(1.2);
	ck_figure(METRIC_CGROUP_THROTTLED, 223e3);
	ck_figure(METRIC_CGROUP_MEMORY, NAN);
	read_at(2);
	ck_figure(METRIC_CGROUP_MEMORY, 1000000);
}
END_TEST

START_TEST(a_quota_further_up_is_where_throttling_is_counted)
{
	put_v2();
	put("pod/train/cpu.max", "max 100000\n");
	put("pod/cpu.stat", "usage_usec 90000\nnr_periods 400\nnr_throttled 100\nthrottled_usec 777\n");
	open_source();
	read_at(1);
	ck_figure(METRIC_CGROUP_CPU_LIMIT, 4);
	ck_figure(METRIC_CGROUP_THROTTLED, 777e3);
	ck_figure(METRIC_CGROUP_PERIODS, 400);
	ck_figure(METRIC_CGROUP_CPU, 5000e3); /* its usage is its own */
	/* The inner cgroup gets a quota: a few seconds later its counters are emitted. */
	put("pod/train/cpu.max", "100000 100000\n");
	read_at(5);
	ck_figure(METRIC_CGROUP_CPU_LIMIT, 1);
	ck_figure(METRIC_CGROUP_THROTTLED, 123e3);
}
END_TEST

START_TEST(without_a_limit_there_is_no_figure_and_nothing_is_missing)
{
	put_v2();
	put("pod/memory.max", "max\n");
	put("pod/cpu.max", "max 100000\n");
	put("pod/train/cpu.max", "max 100000\n");
	open_source();
	read_at(1);
	ck_figure(METRIC_CGROUP_MEMORY_LIMIT, NAN);
	ck_figure(METRIC_CGROUP_CPU_LIMIT, NAN);
	ck_figure(METRIC_CGROUP_MEMORY, 1000000);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
}
END_TEST

static void put_v1(void)
{
	put_mounts("self",
		"31 30 0:31 / %s/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n32 30 0:32 / %s/memory rw - cgroup cgroup "
		"rw,memory\n"
		"33 30 0:33 / %s/systemd rw - cgroup cgroup rw,name=systemd\n34 30 0:34 / %s/unified rw - cgroup2 cgroup2 "
		"rw\n");
	fake_proc_puts(&proc, TARGET, "cgroup", "12:memory:/job/1\n5:cpu,cpuacct:/job\n1:name=systemd:/x\n0::/other\n");
	put("memory/cgroup.procs", "1\n2\n");
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/job/memory.limit_in_bytes", "4294967296\n");
	put("memory/job/1/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/job/1/memory.usage_in_bytes", "2000000\n");
	put("memory/job/1/memory.stat",
		"cache 1\nrss 2\nshmem 3\nhierarchical_memory_limit 4294967296\ntotal_cache 600000\ntotal_rss "
		"1300000\ntotal_rss_huge 5\ntotal_shmem 70000\n");
	put("memory/job/1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	put("memory/job/1/cgroup.procs", "100\n777\n");
	put("cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
	put("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
	put("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
	put("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	put("cpu,cpuacct/job/cpu.stat", "nr_periods 8\nnr_throttled 3\nthrottled_time 4567\n");
	put("cpu,cpuacct/job/cpuacct.usage", "99887766\n");
	put("unified/other/memory.current", "5\n");
}

START_TEST(version_1_and_a_hybrid_are_read_from_where_each_controller_is)
{
	put_v1();
	open_source();
	read_at(1);
	ck_figure(METRIC_CGROUP_MEMORY, 2000000);
	ck_figure(METRIC_CGROUP_MEMORY_ANONYMOUS, 1300000);
	ck_figure(METRIC_CGROUP_MEMORY_FILE, 600000);
	ck_figure(METRIC_CGROUP_MEMORY_SHARED, 70000);
	ck_figure(METRIC_CGROUP_OOM_KILLS, 4);
	ck_figure(METRIC_CGROUP_MEMORY_LIMIT, 4294967296.0);
	ck_figure(METRIC_CGROUP_CPU_LIMIT, 1.5);
	ck_figure(METRIC_CGROUP_THROTTLED, 4567);
	ck_figure(METRIC_CGROUP_CPU, 99887766);
	ck_figure(METRIC_CGROUP_MEMBERS_OUTSIDE, 1);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
	put("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
	read_at(5);
	ck_figure(METRIC_CGROUP_CPU_LIMIT, NAN);
}
END_TEST

START_TEST(a_part_of_the_hierarchy_is_found_where_a_container_has_it_mounted)
{
	/* pmtop in the same container, without a cgroup namespace: the mount's root is the container's cgroup. */
	put_mounts("self", "30 20 0:30 /docker/abc %s ro - cgroup2 cgroup rw\n");
	fake_proc_puts(&proc, TARGET, "cgroup", "0::/docker/abc\n");
	put("memory.current", "321\n");
	put("memory.max", "1000\n");
	open_source();
	read_at(1);
	ck_figure(METRIC_CGROUP_MEMORY, 321);
	ck_figure(METRIC_CGROUP_MEMORY_LIMIT, 1000);
}
END_TEST

START_TEST(a_cgroup_outside_of_our_namespace_is_reached_only_by_a_mount_from_there)
{
	/* "/../x" under a mount of "/" would be a folder beside the hierarchy. */
	put_mounts("self", "30 20 0:30 / %s/inner rw - cgroup2 cgroup rw\n");
	fake_proc_puts(&proc, TARGET, "cgroup", "0::/../x\n");
	put("inner/memory.current", "1\n");
	put("x/memory.current", "321\n");
	open_source();
	read_at(1);
	ck_figure(METRIC_CGROUP_MEMORY, NAN);
	const struct record *missing = set_missing(&set, "cgroup");
	ck_assert_ptr_nonnull(missing);
	ck_assert_ptr_nonnull(strstr(missing->missing.remedy, "mount"));
	put_mounts("self", "30 20 0:30 /.. %s rw - cgroup2 cgroup rw\n");
	read_at(5);
	ck_figure(METRIC_CGROUP_MEMORY, 321);
	ck_assert_ptr_null(set_missing(&set, "cgroup")->missing.text);
}
END_TEST

START_TEST(a_mount_of_the_target_alone_is_read_through_its_root)
{
	char path[256], to[256];
	put_mounts("self", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	fake_proc_puts(&proc, TARGET, "mountinfo", "30 20 0:30 /pod /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
	fake_proc_puts(&proc, TARGET, "cgroup", "0::/pod/inner\n");
	put("inner/memory.current", "4096\n");
	fake_proc_put(&proc, TARGET_ROOT "/sys/fs/.keep", "");
	snprintf(path, sizeof path, "%s/" TARGET_ROOT "/sys/fs/cgroup", proc.root);
	snprintf(to, sizeof to, "%s/cg", proc.root);
	ck_assert_int_eq(symlink(to, path), 0);
	open_source();
	read_at(1);
	ck_figure(METRIC_CGROUP_MEMORY, 4096);
}
END_TEST

START_TEST(a_target_that_moves_is_followed_within_seconds)
{
	put_v2();
	put("pod/next/memory.current", "5555\n");
	put("pod/next/cgroup.procs", "100\n");
	open_source();
	read_at(1);
	fake_proc_puts(&proc, TARGET, "cgroup", "0::/pod/next\n");
	read_at(2);
	ck_figure(METRIC_CGROUP_MEMORY, 1000000);
	read_at(4.1);
	ck_figure(METRIC_CGROUP_MEMORY, 5555);
	ck_figure(METRIC_CGROUP_CPU_LIMIT, 4);
}
END_TEST

START_TEST(others_are_counted_and_cgroups_below_leave_it_open)
{
	fake_proc_add(&proc, 101, TARGET, "worker");
	fake_proc_puts(&proc, TARGET, "task/100/children", "101 ");
	put_v2();
	char procs[128];
	snprintf(procs, sizeof procs, "100\n101\n%d\n", (int)getpid());
	put("pod/train/cgroup.procs", procs);
	open_source();
	read_at(1);
	ck_figure(METRIC_CGROUP_MEMBERS_OUTSIDE, 0); /* its worker and pmtop are not counted as others */
	put("pod/train/cgroup.procs", "100\n101\n0\n7\n");
	read_at(5);
	ck_figure(METRIC_CGROUP_MEMBERS_OUTSIDE, NAN);
	read_at(12);
	ck_figure(METRIC_CGROUP_MEMBERS_OUTSIDE, 2);
	put("pod/train/cgroup.procs", "100\n");
	put("pod/train/below/cgroup.procs", "");
	read_at(23);
	ck_figure(METRIC_CGROUP_MEMBERS_OUTSIDE, NAN);
}
END_TEST

START_TEST(a_kernel_without_cgroups_is_no_failure)
{
	open_source();
	read_at(1);
	ck_assert_uint_eq(set.count, 0);
}
END_TEST

START_TEST(garbage_gives_no_figure)
{
	static const char *const garbage[] = { "", "\n\n", "max", "x 1\ny 2\n", "anon\nfile x\nusage_usec -\nnr_periods",
		"-5\n", "oom_kill\n", "nan nan\n" };
	static const char *const files[] = { "memory.current", "memory.stat", "memory.events", "cpu.stat", "cpu.max",
		"memory.max", "cgroup.procs" };
	char name[64];
	put_v2();
	put("pod/memory.max", "x");
	put("pod/cpu.max", "100000 0\n");
	open_source();
	for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
		for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
			snprintf(name, sizeof name, "pod/train/%s", files[k]);
			put(name, garbage[i]);
		}
		read_at(1 + 20 * (double)i);
		for (size_t k = 0; k < set.count; k++)
			ck_assert_msg(
				set.records[k].kind != RECORD_FIGURE || set.records[k].figure.metric == METRIC_CGROUP_MEMBERS_OUTSIDE,
				"%s from \"%s\"", metric_table[set.records[k].figure.metric].name, garbage[i]);
	}
	static const char *const cgroups[] = { ":", "0:", "0::", "0::relative\n", "x:memory:/\n4:memory",
		"0::/pod/../../etc\n", "0::/no/such\n", "4:memory:/pod\n" };
	for (size_t i = 0; i < sizeof cgroups / sizeof *cgroups; i++) {
		fake_proc_puts(&proc, TARGET, "cgroup", cgroups[i]);
		read_at(300 + 20 * (double)i);
		ck_figure(METRIC_CGROUP_MEMORY, NAN);
	}
}
END_TEST

/* -- real -- */

static void spin(void *argument, int in, int out)
{
	(void)argument, (void)in;
	child_ready(out);
	for (;;)
		continue;
}

static bool write_text(const char *folder, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "r+e"); /* if the folder is no cgroup, the file does not exist */
	bool is_good = file && fputs(text, file) >= 0;
	return file ? fclose(file) == 0 && is_good : false;
}

/* Makes a CPU cgroup with a twentieth of a CPU, little enough to be throttled on a busy machine, too; false if that
 * fails. */
static bool make_quota(char *folder, size_t size)
{
	static const struct {
		const char *root, *quota, *text;
	} kinds[] = {
		{ "/sys/fs/cgroup", "cpu.max", "5000 100000" },
		{ "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "5000" },
		{ "/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "5000" },
	};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		snprintf(folder, size, "%s/pmtop-test-%d", kinds[i].root, (int)getpid());
		if (mkdir(folder, 0755) != 0)
			continue;
		if (write_text(folder, kinds[i].quota, kinds[i].text))
			return true;
		rmdir(folder);
	}
	return false;
}

/* The kernel refuses until it has reaped the last process. */
static bool is_removed(void *folder) { return rmdir(folder) == 0; }

START_TEST(a_real_quota_is_read_with_its_throttling)
{
	char folder[256], pid[32];
	if (!make_quota(folder, sizeof folder))
		return;
	struct child child = child_start(spin, NULL);
	child_await(&child);
	snprintf(pid, sizeof pid, "%d", (int)child.pid);
	bool is_in = write_text(folder, "cgroup.procs", pid);
	double throttled_ns = NAN, limit = NAN;
	if (is_in) {
		ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
		ck_assert_int_eq(cgroup_source.open(&target, &state, &reason), STATUS_OK);
		const int64_t deadline_ns = wait_deadline(20);
		do {
			sample_set_clear(&set);
			cgroup_source.read(state, clock_monotonic_ns(), &set);
			throttled_ns = set_figure(&set, METRIC_CGROUP_THROTTLED, 0);
			if (!isnan(set_figure(&set, METRIC_CGROUP_CPU_LIMIT, 0)))
				limit = set_figure(&set, METRIC_CGROUP_CPU_LIMIT, 0);
		} while (!(throttled_ns > 0) && wait_nap(deadline_ns));
		close_source();
	}
	child_kill(&child);
	wait_until(is_removed, folder, 5);
	if (!is_in)
		return;
	ck_assert_double_eq(limit, 0.05);
	ck_assert_double_gt(throttled_ns, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cgroup source");
	TCase *fake = tcase_create("fake"), *real = tcase_create("real");
	tcase_add_checked_fixture(fake, setup, teardown);
	tcase_add_test(fake, version_2_is_read_with_the_least_limits_on_the_way_up);
	tcase_add_test(fake, a_quota_further_up_is_where_throttling_is_counted);
	tcase_add_test(fake, without_a_limit_there_is_no_figure_and_nothing_is_missing);
	tcase_add_test(fake, version_1_and_a_hybrid_are_read_from_where_each_controller_is);
	tcase_add_test(fake, a_part_of_the_hierarchy_is_found_where_a_container_has_it_mounted);
	tcase_add_test(fake, a_cgroup_outside_of_our_namespace_is_reached_only_by_a_mount_from_there);
	tcase_add_test(fake, a_mount_of_the_target_alone_is_read_through_its_root);
	tcase_add_test(fake, a_target_that_moves_is_followed_within_seconds);
	tcase_add_test(fake, others_are_counted_and_cgroups_below_leave_it_open);
	tcase_add_test(fake, a_kernel_without_cgroups_is_no_failure);
	tcase_add_test(fake, garbage_gives_no_figure);
	tcase_add_test(real, a_real_quota_is_read_with_its_throttling);
	tcase_set_timeout(real, 40);
	suite_add_tcase(suite, fake);
	suite_add_tcase(suite, real);
	return suite_run(suite);
}
