/* Regions of processes in other pid, mount, user and time namespaces. */
#define PMTOP_IMPLEMENTATION
#include "src/region/find.h"

#include <check.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "src/region/pmtop.h"
#include "tests/support/regions.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

struct container {
	pid_t outer, inner;
	int directory;
	uint32_t *is_ready;
	char path[REGION_PATH_SIZE];
};

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(3);
	close(fd);
}

/* The first process of the new namespaces: publishes, and waits to be killed. */
static void be_contained(int flags, uint32_t *is_ready)
{
	if (flags & CLONE_NEWNS &&
		(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=16m")))
		_exit(3);
	struct pmtop *pm = pmtop_open("contained", NULL);
	pmtop_mark(pm, "inside");
	__atomic_store_n(is_ready, pm ? 1 : 2, __ATOMIC_RELEASE);
	pause();
}

static void unshare_and_fork(int flags, uint32_t *is_ready)
{
	if (unshare(flags))
		_exit(3);
	if (flags & CLONE_NEWUSER) {
		write_file("/proc/self/setgroups", "deny");
		write_file("/proc/self/uid_map", "0 0 1");
		write_file("/proc/self/gid_map", "0 0 1");
	}
	if (flags & CLONE_NEWTIME)
		write_file("/proc/self/timens_offsets", "monotonic 1000 5\n");
	pid_t pid = fork();
	if (!pid)
		be_contained(flags, is_ready);
	waitpid(pid, NULL, 0);
	_exit(0);
}

static pid_t child_of(pid_t pid)
{
	char path[64], text[32] = "";
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
	int fd = open(path, O_RDONLY);
	ssize_t length = read(fd, text, sizeof text - 1);
	close(fd);
	ck_assert_int_gt(length, 0);
	return (pid_t)atoi(text);
}

static struct container start(int flags)
{
	struct container container = { .is_ready = regions_shared(4096) };
	container.outer = fork();
	if (!container.outer)
		unshare_and_fork(flags, container.is_ready);
	ck_assert(regions_wait(container.is_ready, 1));
	char path[32];
	container.inner = child_of(container.outer);
	snprintf(path, sizeof path, "/proc/%d", container.inner);
	container.directory = open(path, O_RDONLY | O_DIRECTORY);
	return container;
}

static void stop(struct container *container)
{
	kill(container->inner, SIGKILL);
	waitpid(container->outer, NULL, 0);
	close(container->directory);
	unlink(container->path);
}

static struct region *find(struct container *container)
{
	struct region_location locations[4];
	struct region *region = NULL;
	char message[REGION_MESSAGE_SIZE] = "";
	bool is_unfilled;
	ck_assert_uint_eq(region_find(container->directory, container->inner, locations, 4, &is_unfilled), 1);
	/* Its path in this mount namespace, unless its /dev/shm is private. */
	snprintf(container->path, sizeof container->path, "/dev/shm%s", strrchr(locations[0].path, '/'));
	ck_assert_msg(
		region_open(&locations[0], geteuid(), &region, message) == REGION_OK, "%s: %s", locations[0].path, message);
	return region;
}

static struct region_identity identify(struct region *region)
{
	struct region_identity identity;
	ck_assert_int_eq(region_identify(region, &identity), REGION_OK);
	return identity;
}

static void check_contained(int flags)
{
	struct container container = start(flags);
	struct region *region = find(&container);
	struct region_event event;
	struct region_identity identity = identify(region);
	ck_assert_int_eq(identity.pid, flags & CLONE_NEWPID ? 1 : container.inner);
	ck_assert(region_is_live(region, container.directory));
	ck_assert_int_eq(identity.writer_pid, container.inner);
	ck_assert_uint_eq(regions_events(region, 0, &event, 1), 1);
	ck_assert_mem_eq(event.payload, "inside", 6);
	stop(&container);
	ck_assert(!region_is_live(region, -1));
	region_close(region);
}

START_TEST(a_process_in_other_namespaces_is_read_as_any)
{
	check_contained(CLONE_NEWPID);
	check_contained(CLONE_NEWPID | CLONE_NEWNS);
	check_contained(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS);
}
END_TEST

START_TEST(two_containers_with_pid_1_and_one_shm_are_distinguished)
{
	struct container first = start(CLONE_NEWPID), second = start(CLONE_NEWPID);
	struct region *a = find(&first), *b = find(&second);
	struct region_identity of_a = identify(a), of_b = identify(b);
	ck_assert_int_eq(of_a.pid, 1);
	ck_assert_int_eq(of_b.pid, 1);
	ck_assert_mem_ne(of_a.uuid, of_b.uuid, 16);
	ck_assert_int_eq(of_a.writer_pid, first.inner);
	ck_assert_int_eq(of_b.writer_pid, second.inner);
	stop(&first);
	ck_assert(!region_is_live(a, -1));
	ck_assert(region_is_live(b, -1));
	stop(&second);
	region_close(a);
	region_close(b);
}
END_TEST

START_TEST(times_of_another_time_namespace_are_brought_to_ours)
{
	struct container container = start(CLONE_NEWTIME);
	struct region *region = find(&container);
	struct region_event event;
	ck_assert_uint_eq(regions_events(region, 0, &event, 1), 1);
	int64_t offset_ns = region_clock_offset_ns(region, container.directory),
			now_ns = (int64_t)pmtop_i_clock(CLOCK_MONOTONIC);
	ck_assert_int_eq(offset_ns, -INT64_C(1000000000005));
	ck_assert_int_le(event.time_ns + offset_ns, now_ns);
	ck_assert_int_gt(event.time_ns + offset_ns, now_ns - INT64_C(60000000000));
	ck_assert_int_eq(region_clock_offset_ns(region, -1), 0);
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(region_clock_offset_ns(region, self), 0);
	close(self);
	stop(&container);
	region_close(region);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_process_in_other_namespaces_is_read_as_any,
		two_containers_with_pid_1_and_one_shm_are_distinguished,
		times_of_another_time_namespace_are_brought_to_ours,
	};
	return regions_run("region: namespaces", NULL, NULL, tests, sizeof tests / sizeof tests[0]);
}
