/* The region's file: truncated, replaced, of another type, left by a dead process; and a mapping that changes while it
 * is read. */
#define PMTOP_IMPLEMENTATION
#include "src/region/events.h"

#include <check.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "src/region/find.h"
#include "tests/support/publisher_clock.h"
#include "tests/support/regions.h"

static struct pmtop *pm;
static struct region *region;
static char folder[64], name[128], message[REGION_MESSAGE_SIZE];
static struct region_event events[2048];

/* A folder of the test's own in /dev/shm. */
static void setup(void)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	snprintf(folder, sizeof folder, "/dev/shm/pmtop-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(name, sizeof name, "%s/pmtop.0.1.0123456789abcdef", folder);
	options.directory = folder;
	pm = pmtop_open("files", &options);
	ck_assert_ptr_nonnull(pm);
	region = regions_open(pm->path);
	pmtop_epoch_begin(pm, 0);
	for (uint64_t i = 0; i < 100; i++) {
		pmtop_batch_begin(pm, i);
		PMTOP_SPAN(pm, "forward") {}
		pmtop_batch_end(pm, 1);
	}
}

static void teardown(void)
{
	char command[128];
	region_close(region);
	pmtop_close(pm);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(a_region_truncated_under_the_reader_is_reported)
{
	static const off_t sizes[] = { 0, 4096, 8192, 100000, 1000000 };
	size_t count;
	ck_assert_int_eq(regions_read_everything(region), REGION_OK);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct pmtop *other = pmtop_open("cut", NULL);
		struct region *cut = regions_open(other->path);
		pmtop_mark(other, "one");
		/* Tests the SIGBUS guard of the mapping: no call checks the size before these. */
		ck_assert_int_eq(ftruncate(other->file.fd, sizes[i]), 0);
		ck_assert_int_eq(region_read_events(cut, 0, events, 2048, &count), REGION_CUT_SHORT);
		ck_assert_int_eq(regions_read_everything(cut), REGION_CUT_SHORT);
		ck_assert_int_eq(regions_try(other->path, geteuid(), message), REGION_CUT_SHORT);
		ck_assert_str_eq(message, "region was cut short");
		region_close(cut);
		unlink(other->path); /* its writer must not touch it again */
	}
	ck_assert_int_eq(regions_read_everything(region), REGION_OK);
}
END_TEST

static void *read_with_signals_blocked(void *path)
{
	struct region *cut = regions_open(path);
	size_t count;
	int is_truncated = !truncate(path, 4096);
	enum region_status status = region_read_events(cut, 0, events, 2048, &count);
	region_close(cut);
	return (void *)(uintptr_t)(is_truncated && status == REGION_CUT_SHORT);
}

START_TEST(a_thread_that_blocks_all_signals_is_protected_too)
{
	struct pmtop *other = pmtop_open("cut", NULL);
	pthread_t thread;
	void *is_cut;
	sigset_t all;
	pmtop_mark(other, "one");
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_create(&thread, NULL, read_with_signals_blocked, other->path);
	pthread_join(thread, &is_cut);
	ck_assert_ptr_nonnull(is_cut);
	unlink(other->path);
}
END_TEST

static volatile sig_atomic_t passed_on;

static void note_sigbus(int number)
{
	(void)number;
	_exit(passed_on ? 1 : 42);
}

START_TEST(a_sigbus_elsewhere_goes_to_the_previous_handler)
{
	pid_t pid = fork();
	if (!pid) {
		signal(SIGBUS, note_sigbus);
		ck_assert_int_eq(regions_read_everything(region), REGION_OK); /* installs its handler again */
		int fd = open(folder, O_TMPFILE | O_RDWR, 0600);
		volatile char *empty = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		passed_on = empty[0];
		_exit(2);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}
END_TEST

START_TEST(a_replaced_file_is_noticed)
{
	char retained[256];
	struct region_location location = { .is_memfd = false };
	struct stat file;
	struct region *other;
	ck_assert(region_is_in_place(region));
	snprintf(location.path, sizeof location.path, "%s", pm->path);
	ck_assert_int_eq(stat(pm->path, &file), 0);
	location.device = file.st_dev;
	location.inode = file.st_ino;
	snprintf(retained, sizeof retained, "%s.kept", pm->path);
	ck_assert_int_eq(rename(pm->path, retained), 0);
	int fd = open(pm->path, O_RDWR | O_CREAT | O_EXCL, 0600);
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	close(fd);
	ck_assert(!region_is_in_place(region));
	ck_assert_int_eq(region_open(&location, geteuid(), &other, message), REGION_NONE);
	ck_assert_str_eq(message, "region's file was replaced");
}
END_TEST

START_TEST(a_file_that_is_not_regular_is_refused_without_waiting)
{
	ck_assert_int_eq(symlink(pm->path, name), 0);
	ck_assert_int_eq(regions_try(name, geteuid(), message), REGION_NOT_REGULAR);
	unlink(name);
	ck_assert_int_eq(mkfifo(name, 0600), 0);
	ck_assert_int_eq(regions_try(name, geteuid(), message), REGION_NOT_REGULAR);
	unlink(name);
	ck_assert_int_eq(mknod(name, S_IFCHR | 0600, makedev(1, 5)), 0);
	ck_assert_int_eq(regions_try(name, geteuid(), message), REGION_NOT_REGULAR);
	unlink(name);
	ck_assert_int_eq(mkdir(name, 0700), 0);
	ck_assert_int_eq(regions_try(name, geteuid(), message), REGION_NOT_REGULAR);
	ck_assert_str_eq(message, "region is not a regular file");
	ck_assert_int_eq(regions_try("/dev/shm/no such region", geteuid(), message), REGION_NONE);
}
END_TEST

START_TEST(a_wrong_owner_and_an_extra_link_are_refused)
{
	ck_assert_int_eq(regions_try(pm->path, 4711, message), REGION_WRONG_OWNER);
	ck_assert_str_eq(message, "region belongs to another user");
	ck_assert_int_eq(chown(pm->path, 4711, 4711), 0);
	ck_assert_int_eq(regions_try(pm->path, 0, message), REGION_WRONG_OWNER);
	ck_assert_int_eq(regions_try(pm->path, 4711, message), REGION_OK);
	ck_assert_int_eq(chown(pm->path, 0, 0), 0);
	ck_assert_int_eq(link(pm->path, name), 0);
	ck_assert_int_eq(regions_try(pm->path, geteuid(), message), REGION_WRONG_OWNER);
	ck_assert_str_eq(message, "region has an extra hard link");
}
END_TEST

START_TEST(another_users_region_is_denied)
{
	pid_t pid = fork();
	if (!pid) {
		if (setgid(4711) || setuid(4711))
			_exit(2);
		_exit(regions_try(pm->path, 0, message) == REGION_DENIED ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(chmod(folder, 0755), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* -- ends -- */

static void end_by_exit(void) { _exit(0); }
static void end_by_abort(void) { abort(); }
static void end_by_kill(void) { raise(SIGKILL); }

static void check_left_behind(void (*end)(void))
{
	char *path = regions_shared(256);
	pid_t pid = fork();
	if (!pid) {
		struct rlimit no_core = { 0, 0 };
		setrlimit(RLIMIT_CORE, &no_core);
		pmtop_mark(pm, "last words");
		memcpy(path, pm->path, sizeof pm->path);
		end();
	}
	waitpid(pid, NULL, 0);
	struct region *left = regions_open(path);
	ck_assert(!region_is_live(left, -1));
	ck_assert(!regions_state(left).is_ended);
	ck_assert_uint_eq(regions_events(left, 0, events, 10), 1);
	ck_assert_mem_eq(events[0].payload, "last words", 10);
	region_close(left);
}

START_TEST(a_run_that_ends_without_close_can_still_be_read)
{
	check_left_behind(end_by_exit);
	check_left_behind(end_by_abort);
	check_left_behind(end_by_kill);
}
END_TEST

static void age(const char *path, time_t hours)
{
	struct timespec times[2] = { { time(NULL) - hours * 3600, 0 }, { time(NULL) - hours * 3600, 0 } };
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Leaves a region with a dead writer and a file of this age; its name is in *path. */
static void leave_behind(time_t hours, char *path)
{
	pid_t pid = fork();
	if (!pid) {
		pmtop_mark(pm, "x");
		memcpy(path, pm->path, sizeof pm->path);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	age(path, hours);
}

START_TEST(regions_of_the_dead_are_removed_after_a_day_by_the_next_writer)
{
	char *old = regions_shared(256), *young = regions_shared(256);
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	struct region_location locations[8];
	options.directory = folder;
	leave_behind(23, young);
	leave_behind(25, old);
	/* Must remain: files that are no regions, regions of other users, and live regions of any age. */
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(fchown(fd, 4711, 4711), 0);
	close(fd);
	age(name, 100);
	ck_assert_uint_eq(region_list(folder, REGION_ANYBODY, locations, 8), 4);
	pid_t pid = fork();
	if (!pid) {
		age(pm->path, 100);
		struct pmtop *next = pmtop_open("next", &options);
		pmtop_close(next);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(access(old, F_OK), -1);
	ck_assert_int_eq(access(young, F_OK), 0);
	ck_assert_int_eq(access(name, F_OK), 0);
	ck_assert_int_eq(access(pm->path, F_OK), 0);
	ck_assert_uint_eq(region_list(folder, REGION_ANYBODY, locations, 8), 3);
}
END_TEST

/* Closing any descriptor of the file releases a POSIX lock; the mapping still shows that the writer lives. */
START_TEST(a_lost_lock_does_not_make_a_run_dead)
{
	uint32_t *step = regions_shared(4096);
	char *path = (char *)(step + 16);
	pid_t pid = fork();
	if (!pid) {
		pmtop_mark(pm, "x");
		memcpy(path, pm->path, sizeof pm->path);
		step[0] = 1;
		regions_wait(&step[1], 1);
		close(open(pm->path, O_RDONLY));
		pmtop_mark(pm, "y");
		step[0] = 2;
		pause();
	}
	char process[32];
	snprintf(process, sizeof process, "/proc/%d", pid);
	int directory = open(process, O_RDONLY | O_DIRECTORY);
	ck_assert(regions_wait(&step[0], 1));
	struct region *child = regions_open(path);
	struct region_identity identity;
	ck_assert(region_is_live(child, -1));
	ck_assert_int_eq(region_identify(child, &identity), REGION_OK);
	ck_assert_int_eq(identity.writer_pid, pid);
	step[1] = 1;
	ck_assert(regions_wait(&step[0], 2));
	ck_assert(!region_is_live(child, -1));
	ck_assert(region_is_live(child, directory));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert(!region_is_live(child, directory));
	close(directory);
	region_close(child);
}
END_TEST

START_TEST(descriptors_closed_and_used_again_by_the_program_are_not_touched)
{
	char path[256];
	int files[3];
	struct pmtop *own = pmtop_open("descriptors", NULL);
	snprintf(path, sizeof path, "%s/of the program", folder);
	pmtop_batch_begin(own, 0);
	publisher_later_ns += 100000;
	pmtop_batch_end(own, 1);
	PMTOP_SPAN_MEMORY(own, "memory") {}
	ck_assert(own->file.fd >= 3 && own->statm.fd >= 3 && own->lanes[0].schedstat.fd >= 3);
	close(own->file.fd);
	close(own->statm.fd);
	close(own->lanes[0].schedstat.fd);
	for (int i = 0; i < 3; i++)
		files[i] = open(path, O_RDWR | O_CREAT, 0600);
	pmtop_close(own);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(close(files[i]), 0);
}
END_TEST

/* -- a mapping that changes while it is read -- */

static volatile uint32_t stop;

static void *scribble(void *argument)
{
	uint64_t x = 88172645463325252u;
	unsigned char *map = argument;
	while (!stop) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* Mostly near the start, where state, lanes and names are. */
		uint64_t at = x % 3 ? x % 65536 : x % pm->size;
		map[at] = (unsigned char)(x >> 40);
	}
	return NULL;
}

START_TEST(a_hostile_writer_gets_nothing_but_private_copies_read)
{
	pthread_t thread;
	void *map = mmap(NULL, pm->size, PROT_READ | PROT_WRITE, MAP_SHARED, pm->file.fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	stop = 0;
	pthread_create(&thread, NULL, scribble, map);
	for (uint64_t end = pmtop_i_clock(CLOCK_MONOTONIC) + 1500000000; pmtop_i_clock(CLOCK_MONOTONIC) < end;) {
		struct region *other = NULL;
		struct region_location location = { .is_memfd = false };
		snprintf(location.path, sizeof location.path, "%s", pm->path);
		regions_read_everything(region);
		if (region_open(&location, geteuid(), &other, message) == REGION_OK)
			regions_read_everything(other);
		region_close(other);
	}
	stop = 1;
	pthread_join(thread, NULL);
	munmap(map, pm->size);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_region_truncated_under_the_reader_is_reported,
		a_thread_that_blocks_all_signals_is_protected_too,
		a_sigbus_elsewhere_goes_to_the_previous_handler,
		a_replaced_file_is_noticed,
		a_file_that_is_not_regular_is_refused_without_waiting,
		a_wrong_owner_and_an_extra_link_are_refused,
		another_users_region_is_denied,
		a_run_that_ends_without_close_can_still_be_read,
		regions_of_the_dead_are_removed_after_a_day_by_the_next_writer,
		a_lost_lock_does_not_make_a_run_dead,
		descriptors_closed_and_used_again_by_the_program_are_not_touched,
		a_hostile_writer_gets_nothing_but_private_copies_read,
	};
	return regions_run("region: files", setup, teardown, tests, sizeof tests / sizeof tests[0]);
}
