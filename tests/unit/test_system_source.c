#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/mounts.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/fake_proc.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

/* The target's root directory, below the fake /proc. */
#define TARGET_ROOT "100/root"

enum { TARGET = 100 };

static struct target target;
static struct reason reason;
static struct sample_set set;
static struct fake_proc proc;
static void *state;

static const char stat_text[] =
	"cpu  1000 20 300 5000 400 7 8 90 11 12\ncpu0 500 10 150 2500 200 3 4 45 5 6\ncpu1 500 10 150 2500 200 4 4 45 6 6\n"
	"intr 123456 0 9 0 0\nctxt 999\nbtime 1700000000\nprocesses 4242\nprocs_running 3\nprocs_blocked 2\nsoftirq 5 1 1 "
	"1 1 1\n";
static const char meminfo_text[] = "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    9000000 "
								   "kB\nBuffers:          100000 kB\nCached:          7000000 kB\n"
								   "SwapCached:            0 kB\nSwapTotal:       2000000 kB\nSwapFree:        1500000 "
								   "kB\nDirty:               300 kB\nWriteback:            20 kB\n";
static const char vmstat_text[] = "nr_free_pages 1\npgpgin 5\npgpgout 6\npswpin 70\npswpout 80\npgalloc_dma 1\n";
static const char diskstats_text[] = "   7       0 loop0 11 0 22 1 0 0 0 0 0 1 1\n 259       0 nvme0n1 1000 5 8000 250 "
									 "400 6 16000 900 2 700 1150 0 0 0 0\n"
									 " 259       1 nvme0n1p1 900 5 7000 200 300 6 15000 800 0 600 1000 0 0 0 0\n   8   "
									 "    0 sda 10 0 80 5 0 0 0 0 0 4 5\n"
									 " 253       0 dm-0 1000 0 8000 260 400 0 16000 910 0 710 1170\n   8      16 sdb 0 "
									 "0 0 0 0 0 0 0 0 0 0\n 251       0 zram0 5 0 5 5 5 5 5 5 0 5 5\n";
static const char network_text[] = "Inter-|   Receive                                                |  Transmit\n"
								   " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets "
								   "errs drop fifo colls carrier compressed\n"
								   "    lo: 5000 10 0 0 0 0 0 0 5000 10 0 0 0 0 0 0\n  eth0:123456 100 0 0 0 0 0 0 "
								   "654321 90 0 0 0 0 0 0\n docker0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
static const char pressure_text[] =
	"some avg10=1.50 avg60=0.50 avg300=0.10 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n";

static void put_whole_disks(void)
{
	static const char *const names[] = { "loop0", "nvme0n1", "sda", "sdb", "dm-0", "zram0" };
	char path[128];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "sysfs/block/%s/size", names[i]);
		fake_proc_put(&proc, path, "1\n");
	}
}

static void put_mounts(const char *home_type)
{
	char text[1024];
	snprintf(text, sizeof text,
		"20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n21 20 0:5 / /dev rw - devtmpfs devtmpfs rw\n"
		"22 21 0:23 / /dev/shm rw shared:2 - tmpfs tmpfs rw,size=64k\n23 20 0:40 / /home/a\\040b rw - %s server:/x "
		"rw\n",
		home_type);
	fake_proc_puts(&proc, TARGET, "mountinfo", text);
}

static void link_folder(const char *name, const char *to)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%d/%s", proc.root, TARGET, name);
	unlink(path);
	ck_assert_int_eq(symlink(to, path), 0);
}

static void setup(void)
{
	fake_proc_init(&proc);
	fake_proc_add(&proc, TARGET, 1, "trainer");
	fake_proc_put(&proc, "stat", stat_text);
	fake_proc_put(&proc, "loadavg", "1.25 0.50 0.25 3/100 4242\n");
	fake_proc_put(&proc, "meminfo", meminfo_text);
	fake_proc_put(&proc, "vmstat", vmstat_text);
	fake_proc_put(&proc, "pressure/cpu", pressure_text);
	fake_proc_put(&proc, "pressure/memory", pressure_text);
	fake_proc_put(&proc, "pressure/io", pressure_text);
	fake_proc_put(&proc, "diskstats", diskstats_text);
	fake_proc_put(&proc, "100/net/dev", network_text);
	fake_proc_put(&proc, TARGET_ROOT "/dev/shm/.keep", "");
	put_whole_disks();
	put_mounts("nfs4");
	link_folder("cwd", "/");
	ck_assert_int_eq(target_open(&target, TARGET, proc.root, &reason), STATUS_OK);
	ck_assert_int_eq(system_source.open(&target, &state, &reason), STATUS_OK);
}

static void teardown(void)
{
	system_source.close(state);
	sample_set_release(&set);
	target_close(&target);
	fake_proc_release(&proc);
}

static void read_at(double at_s)
{
	sample_set_clear(&set);
	target_refresh(&target);
	ck_assert_int_eq(system_source.read(state, (int64_t)(at_s * 1e9), &set), STATUS_OK);
}

static void ck_figure(enum metric metric, int32_t instance, double wanted)
{
	ck_set_figure(&set, metric, instance, wanted, 0);
}

static void ck_missing(const char *figure, const char *text, const char *remedy)
{
	const struct record *missing = ck_set_missing(&set, figure, text);
	ck_assert_msg(strstr(missing->missing.remedy, remedy) != NULL, "%s: %s", figure, missing->missing.remedy);
}

START_TEST(every_figure_of_the_machine_is_read)
{
	double tick = 1e9 / (double)sysconf(_SC_CLK_TCK), page = (double)sysconf(_SC_PAGESIZE);
	read_at(1);
	ck_figure(METRIC_SYSTEM_CPUS, 0, 2);
	ck_figure(METRIC_SYSTEM_CPU_BUSY, 0, (1000 + 20 + 300 + 7 + 8) * tick);
	ck_figure(METRIC_SYSTEM_CPU_IO_WAIT, 0, 400 * tick);
	ck_figure(METRIC_SYSTEM_CPU_STOLEN, 0, 90 * tick);
	ck_figure(METRIC_SYSTEM_CPU_IDLE, 0, 5000 * tick);
	ck_figure(METRIC_SYSTEM_RUNNING, 0, 3);
	ck_figure(METRIC_SYSTEM_BLOCKED, 0, 2);
	ck_figure(METRIC_SYSTEM_LOAD, 0, 1.25);
	ck_figure(METRIC_SYSTEM_MEMORY, 0, 16000000 * 1024.0);
	ck_figure(METRIC_SYSTEM_MEMORY_AVAILABLE, 0, 9000000 * 1024.0);
	ck_figure(METRIC_SYSTEM_MEMORY_CACHED, 0, 7000000 * 1024.0);
	ck_figure(METRIC_SYSTEM_MEMORY_DIRTY, 0, 320 * 1024.0);
	ck_figure(METRIC_SYSTEM_SWAP, 0, 2000000 * 1024.0);
	ck_figure(METRIC_SYSTEM_SWAP_FREE, 0, 1500000 * 1024.0);
	ck_figure(METRIC_SYSTEM_SWAP_IN, 0, 70 * page);
	ck_figure(METRIC_SYSTEM_SWAP_OUT, 0, 80 * page);
	ck_figure(METRIC_SYSTEM_PRESSURE_CPU, 0, 123456e3);
	ck_figure(METRIC_SYSTEM_PRESSURE_MEMORY, 0, 123456e3);
	ck_figure(METRIC_SYSTEM_PRESSURE_IO, 0, 123456e3);
	ck_assert_double_gt(set_figure(&set, METRIC_SYSTEM_CLOCK_OFFSET, 0), 1e18);
	ck_assert_double_ge(set_figure(&set, METRIC_SYSTEM_SUSPENDED, 0), 0);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
}
END_TEST

START_TEST(slow_files_are_read_once_a_second_and_the_rest_each_time)
{
	read_at(1);
	read_at(1.2);
	ck_figure(METRIC_SYSTEM_MEMORY, 0, NAN);
	ck_figure(METRIC_DISK_READ, 0, NAN);
	ck_figure(METRIC_NETWORK_SENT, 0, NAN);
	ck_figure(METRIC_SYSTEM_SPACE, 0, NAN);
	ck_figure(METRIC_SYSTEM_CPUS, 0, 2);
	ck_figure(METRIC_SYSTEM_PRESSURE_IO, 0, 123456e3);
	read_at(2);
	ck_figure(METRIC_SYSTEM_MEMORY, 0, 16000000 * 1024.0);
	ck_figure(METRIC_DISK_READ, 0, 8000 * 512.0);
	ck_figure(METRIC_SYSTEM_SPACE, 0, NAN);
}
END_TEST

START_TEST(disks_are_whole_and_physical_and_named_once)
{
	read_at(1);
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), 3);
	const struct record *first = set_record(&set, RECORD_INSTANCE, 0), *second = set_record(&set, RECORD_INSTANCE, 1);
	ck_assert_str_eq(first->instance.name, "nvme0n1");
	ck_assert_str_eq(second->instance.name, "sda");
	int32_t disk = first->instance.instance;
	ck_figure(METRIC_DISK_READ, disk, 8000 * 512.0);
	ck_figure(METRIC_DISK_WRITTEN, disk, 16000 * 512.0);
	ck_figure(METRIC_DISK_READS, disk, 1000);
	ck_figure(METRIC_DISK_WRITES, disk, 400);
	ck_figure(METRIC_DISK_READ_TIME, disk, 250e6);
	ck_figure(METRIC_DISK_WRITE_TIME, disk, 900e6);
	ck_figure(METRIC_DISK_BUSY, disk, 700e6);
	ck_figure(METRIC_DISK_READ, second->instance.instance, 80 * 512.0);
	read_at(2);
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), 0);
	ck_figure(METRIC_DISK_BUSY, disk, 700e6);
	/* A disk added later moves the lines: every disk keeps its number. */
	char text[2048];
	snprintf(text, sizeof text, "   8      48 sdd 7 0 7 7 7 0 7 7 0 7 7\n%s", diskstats_text);
	fake_proc_put(&proc, "sysfs/block/sdd/size", "1\n");
	fake_proc_put(&proc, "diskstats", text);
	read_at(3);
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), 1);
	ck_assert_str_eq(set_record(&set, RECORD_INSTANCE, 0)->instance.name, "sdd");
	ck_figure(METRIC_DISK_BUSY, disk, 700e6);
	ck_figure(METRIC_DISK_BUSY, set_record(&set, RECORD_INSTANCE, 0)->instance.instance, 7e6);
}
END_TEST

START_TEST(without_disks_virtual_devices_are_emitted)
{
	fake_proc_put(
		&proc, "diskstats", " 253       0 dm-0 10 0 80 26 4 0 16 9 0 71 17\n 251 0 zram0 5 0 5 5 5 5 5 5 0 5 5\n");
	read_at(1);
	ck_assert_str_eq(set_record(&set, RECORD_INSTANCE, 0)->instance.name, "dm-0");
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), 2);
	fake_proc_put(&proc, "diskstats", " 251 0 zram0 5 0 5 5 5 5 5 5 0 5 5\n");
	read_at(2);
	ck_assert_str_eq(set_record(&set, RECORD_INSTANCE, 0)->instance.name, "zram0");
}
END_TEST

START_TEST(network_is_the_targets_without_lo_and_what_was_never_used)
{
	read_at(1);
	const struct record *named = set_record(&set, RECORD_INSTANCE, 2);
	ck_assert_str_eq(named->instance.name, "eth0");
	ck_assert_int_eq(named->instance.metric, METRIC_NETWORK_RECEIVED);
	ck_figure(METRIC_NETWORK_RECEIVED, named->instance.instance, 123456);
	ck_figure(METRIC_NETWORK_SENT, named->instance.instance, 654321);
	ck_figure(METRIC_NETWORK_SENT, named->instance.instance + 1, NAN);
}
END_TEST

START_TEST(space_and_shm_are_those_of_the_target)
{
	char path[256];
	struct statvfs root, shm;
	snprintf(path, sizeof path, "%s/" TARGET_ROOT "/dev/shm", proc.root);
	ck_assert_int_eq(statvfs("/", &root), 0);
	ck_assert_int_eq(statvfs(path, &shm), 0);
	read_at(1);
	ck_figure(METRIC_SYSTEM_SPACE, 0, (double)root.f_blocks * (double)root.f_frsize);
	ck_figure(METRIC_SYSTEM_SHM, 0, (double)shm.f_blocks * (double)shm.f_frsize);
	ck_assert_double_ge(set_figure(&set, METRIC_SYSTEM_SHM_USED, 0), 0);
	ck_assert_double_le(set_figure(&set, METRIC_SYSTEM_SPACE_FREE, 0), set_figure(&set, METRIC_SYSTEM_SPACE, 0));
	read_at(10);
	ck_figure(METRIC_SYSTEM_SPACE, 0, NAN);
	read_at(11.5);
	ck_figure(METRIC_SYSTEM_SPACE, 0, (double)root.f_blocks * (double)root.f_frsize);
}
END_TEST

START_TEST(a_network_file_system_is_never_asked)
{
	static const char *const types[] = { "nfs4", "cifs", "fuse.sshfs", "9p", "lustre" };
	link_folder("cwd", "/home/a b/run");
	for (int i = 0; i < 5; i++) {
		put_mounts(types[i]);
		read_at(1 + i * 20);
		ck_figure(METRIC_SYSTEM_SPACE, 0, NAN);
		if (i == 0)
			ck_missing("free space", "nfs4", "");
	}
	/* The same path on a disk is read: it does not exist, and that is reported. */
	put_mounts("xfs");
	read_at(200);
	ck_figure(METRIC_SYSTEM_SPACE, 0, NAN);
	link_folder("cwd", "/");
	read_at(220);
	ck_assert(!isnan(set_figure(&set, METRIC_SYSTEM_SPACE, 0)));
	ck_assert_ptr_null(set_missing(&set, "free space")->missing.text);
}
END_TEST

START_TEST(a_shm_behind_what_may_hang_or_none_at_all_is_missing)
{
	fake_proc_puts(
		&proc, TARGET, "mountinfo", "20 1 0:9 / / rw - nfs server:/ rw\n22 20 0:23 / /dev/shm rw - tmpfs tmpfs rw\n");
	read_at(1);
	ck_figure(METRIC_SYSTEM_SHM, 0, NAN);
	ck_missing("/dev/shm", "no tmpfs at /dev/shm", "mount");
	fake_proc_puts(&proc, TARGET, "mountinfo", "20 1 0:9 / / rw - ext4 /dev/sda rw\n");
	read_at(20);
	ck_figure(METRIC_SYSTEM_SHM, 0, NAN);
	put_mounts("ext4");
	read_at(40);
	ck_assert(!isnan(set_figure(&set, METRIC_SYSTEM_SHM, 0)));
	ck_assert_ptr_null(set_missing(&set, "/dev/shm")->missing.text);
}
END_TEST

/* A file that can be opened but not read, as with psi=0. */
static void make_unreadable(const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", proc.root, name);
	ck_assert_int_eq(remove(path), 0);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

START_TEST(pressure_that_the_kernel_does_not_keep_is_missing_with_its_remedy)
{
	make_unreadable("pressure/cpu");
	make_unreadable("pressure/memory");
	make_unreadable("pressure/io");
	read_at(1);
	ck_missing("pressure", "no pressure stall information", "psi=1");
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 1);
	ck_figure(METRIC_SYSTEM_PRESSURE_CPU, 0, NAN);
	read_at(10);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
	char path[256];
	snprintf(path, sizeof path, "%s/pressure/cpu", proc.root);
	ck_assert_int_eq(rmdir(path), 0);
	fake_proc_put(&proc, "pressure/cpu", pressure_text);
	read_at(20);
	ck_figure(METRIC_SYSTEM_PRESSURE_CPU, 0, 123456e3);
	ck_assert_ptr_null(set_missing(&set, "pressure")->missing.text);
}
END_TEST

START_TEST(files_that_are_not_there_are_missing_and_the_others_go_on)
{
	static const char *const names[] = { "stat", "meminfo", "vmstat", "diskstats", "100/net/dev" };
	char path[256];
	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof path, "%s/%s", proc.root, names[i]);
		ck_assert_int_eq(remove(path), 0);
	}
	read_at(1);
	ck_missing("CPU of the machine", "no CPU times", "");
	ck_missing("memory of the machine", "no memory figures", "");
	ck_missing("swapping", "does not count", "CONFIG_VM_EVENT_COUNTERS");
	ck_missing("disks", "no disk statistics", "");
	ck_missing("network", "net/dev could not be read", "");
	ck_figure(METRIC_SYSTEM_LOAD, 0, 1.25);
	ck_figure(METRIC_SYSTEM_PRESSURE_IO, 0, 123456e3);
}
END_TEST

START_TEST(garbage_gives_no_figure)
{
	static const char *const files[] = { "stat", "loadavg", "meminfo", "vmstat", "pressure/cpu", "diskstats",
		"100/net/dev", "100/mountinfo", "pressure/memory", "pressure/io" };
	static const char *const garbage[] = { "", "\n\n\n", "cpu \n", "cpu  1 2 3\n", "cpu  x y z\n", ":::::\n : 1 2\n",
		"some total=\n", "nan inf\n", "8 0 \n8 0 sda\n8 0 sda 1 2 3 x\n", "eth0: 1 2 3\n", "MemTotal: x kB\n",
		"1 2 3:4 / / rw -\n", "some avg10=0 total=99999999999999999999999\n", "-1 -1 -1\n" };
	double at_s = 1;
	for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
		for (size_t k = 0; k < sizeof files / sizeof *files; k++)
			fake_proc_put(&proc, files[k], garbage[i]);
		read_at(at_s += 20);
		for (size_t k = 0; k < set.count; k++)
			if (set.records[k].kind == RECORD_FIGURE)
				ck_assert_msg(set.records[k].figure.metric == METRIC_SYSTEM_CLOCK_OFFSET ||
						set.records[k].figure.metric == METRIC_SYSTEM_SUSPENDED ||
						set.records[k].figure.metric == METRIC_SYSTEM_LOAD || strstr(garbage[i], "99999"),
					"%s from \"%s\"", metric_table[set.records[k].figure.metric].name, garbage[i]);
	}
}
END_TEST

START_TEST(a_line_of_interrupts_longer_than_all_loses_only_what_comes_after)
{
	size_t size = 200 * 1024;
	char *text = malloc(size + 512);
	strcpy(text, "cpu  1000 20 300 5000 400 7 8 90 11 12\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr");
	for (size_t used = strlen(text); used < size; used += 2)
		memcpy(text + used, " 0", 3);
	strcat(text, "\nprocs_running 3\n");
	fake_proc_put(&proc, "stat", text);
	free(text);
	read_at(1);
	ck_figure(METRIC_SYSTEM_CPUS, 0, 1);
	ck_figure(METRIC_SYSTEM_RUNNING, 0, NAN);
}
END_TEST

START_TEST(the_source_ends_with_the_target_and_lets_go_of_its_network)
{
	read_at(1);
	fake_proc_end(&proc, TARGET);
	sample_set_clear(&set);
	target_refresh(&target);
	ck_assert_int_eq(system_source.read(state, 2 * NS_PER_S, &set), STATUS_END);
	ck_assert_uint_eq(set.count, 0);
}
END_TEST

START_TEST(mountinfo_is_parsed)
{
	struct mount mount;
	ck_assert(mount_parse(
		"36 35 98:0 /mnt1 /mnt2/a\\040b rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue\n",
		&mount));
	ck_assert_str_eq(mount.root, "/mnt1");
	ck_assert_str_eq(mount.point, "/mnt2/a b");
	ck_assert_str_eq(mount.type, "ext3");
	ck_assert_str_eq(mount.options, "rw,errors=continue");
	ck_assert(mount_parse("1 2 0:3 / / rw - cgroup cgroup rw,cpu,cpuacct", &mount));
	ck_assert_str_eq(mount.options, "rw,cpu,cpuacct");
	static const char *const bad[] = { "", "1", "1 2 0:3 / /", "1 2 0:3 / / rw", "1 2 0:3 / / rw a b c",
		"1 2 0:3 relative / rw - ext4 x rw" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!mount_parse(bad[i], &mount), "%s", bad[i]);
	static const char text[] = "1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / /home rw - nfs b rw\n3 1 0:3 / /home2 rw - xfs c "
							   "rw\n4 1 0:4 / /home rw - btrfs d rw\n";
	ck_assert(mounts_find(text, "/home/x", &mount));
	ck_assert_str_eq(mount.type, "btrfs"); /* it hides the other */
	ck_assert(mounts_find(text, "/home2", &mount));
	ck_assert_str_eq(mount.type, "xfs");
	ck_assert(mounts_find(text, "/homes", &mount));
	ck_assert_str_eq(mount.type, "ext4");
	ck_assert(!mounts_find("", "/", &mount));
}
END_TEST

START_TEST(the_real_machine_is_read)
{
	struct target real;
	void *real_state;
	struct sample_set real_set = SAMPLE_SET_INIT;
	ck_assert_int_eq(target_open(&real, getpid(), "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(system_source.open(&real, &real_state, &reason), STATUS_OK);
	ck_assert_int_eq(system_source.read(real_state, clock_monotonic_ns(), &real_set), STATUS_OK);
	ck_assert_double_eq(set_figure(&real_set, METRIC_SYSTEM_CPUS, 0), (double)sysconf(_SC_NPROCESSORS_ONLN));
	ck_assert_double_gt(set_figure(&real_set, METRIC_SYSTEM_CPU_BUSY, 0), 0);
	ck_assert_double_eq_tol(set_figure(&real_set, METRIC_SYSTEM_MEMORY, 0),
		(double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), 1e8);
	ck_assert_double_eq_tol(set_figure(&real_set, METRIC_SYSTEM_CLOCK_OFFSET, 0),
		(double)(clock_realtime_ns() - clock_monotonic_ns()), 1e9);
	system_source.close(real_state);
	sample_set_release(&real_set);
	target_close(&real);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("system source");
	TCase *fake = tcase_create("fake"), *real = tcase_create("real");
	tcase_add_checked_fixture(fake, setup, teardown);
	tcase_add_test(fake, every_figure_of_the_machine_is_read);
	tcase_add_test(fake, slow_files_are_read_once_a_second_and_the_rest_each_time);
	tcase_add_test(fake, disks_are_whole_and_physical_and_named_once);
	tcase_add_test(fake, without_disks_virtual_devices_are_emitted);
	tcase_add_test(fake, network_is_the_targets_without_lo_and_what_was_never_used);
	tcase_add_test(fake, space_and_shm_are_those_of_the_target);
	tcase_add_test(fake, a_network_file_system_is_never_asked);
	tcase_add_test(fake, a_shm_behind_what_may_hang_or_none_at_all_is_missing);
	tcase_add_test(fake, pressure_that_the_kernel_does_not_keep_is_missing_with_its_remedy);
	tcase_add_test(fake, files_that_are_not_there_are_missing_and_the_others_go_on);
	tcase_add_test(fake, garbage_gives_no_figure);
	tcase_add_test(fake, a_line_of_interrupts_longer_than_all_loses_only_what_comes_after);
	tcase_add_test(fake, the_source_ends_with_the_target_and_lets_go_of_its_network);
	tcase_add_test(real, mountinfo_is_parsed);
	tcase_add_test(real, the_real_machine_is_read);
	suite_add_tcase(suite, fake);
	suite_add_tcase(suite, real);
	return suite_run(suite);
}
