/* Faults of tests/README.md: 10 and 11 (namespaces), 12 (time namespace), 20 (truncated), 21 (replaced), 22 (not a
 * regular file), 23 (wrong owner, hard link), 24 and 25 (hostile bytes), 35 (dead process) and 36 (lost lock), seen
 * through the region source: one message names the fault, other sources are unaffected. */
#define PMTOP_IMPLEMENTATION
#include "src/region/pmtop.h"

#include <check.h>
#include <glob.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "src/base/clock.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/run_account.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { NOBODY = 65534 };

static struct target target;
static struct reason reason;
static struct sample_set set;
static struct run_account account, other = { .run = 1 };
static void *state;
static int64_t later_ns;

static void open_source(pid_t pid)
{
	ck_assert_int_eq(target_open(&target, pid, "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(region_source.open(&target, &state, &reason), STATUS_OK);
}

static enum status read_source(void)
{
	sample_set_clear(&set);
	target_refresh(&target);
	enum status status = region_source.read(state, clock_monotonic_ns() + later_ns, &set);
	run_account_apply(&account, &set);
	run_account_apply(&other, &set);
	ck_assert_msg(!account.wrong[0], "%s", account.wrong);
	return status;
}

static enum status read_source_later(void)
{
	later_ns += 60 * NS_PER_S;
	return read_source();
}

static void close_source(void)
{
	region_source.close(state);
	sample_set_release(&set);
	target_close(&target);
}

static const char *missing_text(void)
{
	const struct record *missing = set_missing(&set, "region");
	return missing ? missing->missing.text : "(not said)";
}

/* The named region of the process with this number (in its own namespace). */
static void find_region(int pid, char *out, size_t size)
{
	char pattern[64];
	glob_t found;
	snprintf(pattern, sizeof pattern, "/dev/shm/pmtop.*.%d.*", pid);
	ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
	ck_assert_uint_eq(found.gl_pathc, 1);
	snprintf(out, size, "%s", found.gl_pathv[0]);
	globfree(&found);
}

static void publish(struct pmtop *pm, int batches)
{
	for (int i = 0; i < batches; i++) {
		pmtop_batch_begin(pm, (uint64_t)i);
		pmtop_batch_end(pm, 1);
	}
}

static struct pmtop *published;

static void train_body(void *argument, int in, int out)
{
	if (argument) {
		setgroups(0, NULL);
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(98);
		prctl(PR_SET_DUMPABLE, 1);
	}
	published = pmtop_open("train", NULL);
	for (;;) {
		publish(published, 10);
		child_ready(out);
		child_wait(in);
	}
}

static void go_on(struct child *child)
{
	child_release(child);
	child_await(child);
}

/* -- the file under the reader -- */

START_TEST(a_truncated_region_is_closed_with_a_message)
{
	char path[256];
	struct child child = child_start(train_body, NULL);
	child_await(&child);
	open_source(child.pid);
	read_source();
	ck_assert_uint_eq(account.batch_ends, 10);
	find_region(child.pid, path, sizeof path);
	kill(child.pid, SIGSTOP);
	ck_assert_int_eq(truncate(path, 8192), 0);
	ck_assert_int_eq(read_source(), STATUS_OK);
	ck_assert_uint_eq(account.closed, 1);
	ck_assert_str_eq(account.why, "region was cut short");
	ck_assert_str_eq(missing_text(), "region was cut short");
	/* Later readings do not open it again. */
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(read_source_later(), STATUS_OK);
	ck_assert_uint_eq(account.opened, 1);
	child_kill(&child);
	ck_assert_int_eq(read_source(), STATUS_END);
	close_source();
	unlink(path);
}
END_TEST

START_TEST(a_replaced_region_file_is_closed)
{
	char path[256];
	struct child child = child_start(train_body, NULL);
	child_await(&child);
	open_source(child.pid);
	read_source();
	find_region(child.pid, path, sizeof path);
	unlink(path);
	int fd = open(path, O_CREAT | O_RDWR, 0600);
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	close(fd);
	read_source_later();
	ck_assert_uint_eq(account.closed, 1);
	ck_assert_str_eq(account.why, "region file was removed or replaced");
	for (int i = 0; i < 3; i++)
		read_source_later();
	ck_assert_uint_eq(account.opened, 1);
	child_kill(&child);
	close_source();
	unlink(path);
}
END_TEST

START_TEST(region_with_a_second_link_is_refused)
{
	char path[256];
	struct child child = child_start(train_body, NULL);
	child_await(&child);
	find_region(child.pid, path, sizeof path);
	ck_assert_int_eq(link(path, "/dev/shm/second-link"), 0);
	open_source(child.pid);
	ck_assert_int_eq(read_source(), STATUS_OK);
	ck_assert_uint_eq(account.opened, 0);
	ck_assert_str_ne(missing_text(), "(not said)");
	/* Once the owner is right again, it is read. */
	unlink("/dev/shm/second-link");
	read_source_later();
	ck_assert_uint_eq(account.batch_ends, 10);
	child_kill(&child);
	close_source();
	unlink(path);
}
END_TEST

START_TEST(region_of_another_owner_is_refused)
{
	char path[256];
	struct child child = child_start(train_body, &target);
	child_await(&child);
	find_region(child.pid, path, sizeof path);
	ck_assert_int_eq(chown(path, 1, 1), 0);
	open_source(child.pid);
	ck_assert_uint_eq(target.uid, NOBODY);
	read_source();
	ck_assert_uint_eq(account.opened, 0);
	ck_assert_str_ne(missing_text(), "(not said)");
	ck_assert_str_ne(missing_text(), "no instrumentation");
	ck_assert_int_eq(chown(path, NOBODY, NOBODY), 0);
	read_source_later();
	ck_assert_uint_eq(account.opened, 1);
	child_kill(&child);
	close_source();
	unlink(path);
}
END_TEST

/* Its region then belongs to root, and its children publish into regions of their own. */
static void became_another_user_body(void *argument, int in, int out)
{
	(void)argument;
	published = pmtop_open("train", NULL);
	setgroups(0, NULL);
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(98);
	for (;;) {
		publish(published, 10);
		child_ready(out);
		child_wait(in);
	}
}

START_TEST(region_of_one_who_was_root_is_its_own)
{
	char path[256];
	struct child child = child_start(became_another_user_body, NULL);
	child_await(&child);
	find_region(child.pid, path, sizeof path);
	open_source(child.pid);
	ck_assert_uint_eq(target.uid, NOBODY);
	read_source();
	ck_assert_uint_eq(account.opened, 1);
	ck_assert_uint_eq(account.batch_ends, 10);
	child_kill(&child);
	close_source();
	unlink(path);
}
END_TEST

START_TEST(a_region_that_is_no_regular_file_is_refused_as_such)
{
	char path[] = "/dev/shm/pmtop-test-fifo";
	unlink(path);
	if (_i == 0)
		ck_assert_int_eq(mkfifo(path, 0600), 0);
	else
		ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(target_open(&target, 0, "/proc", &reason), STATUS_OK);
	target.region_path = path;
	ck_assert_int_eq(region_source.open(&target, &state, &reason), STATUS_OK);
	ck_assert_int_eq(read_source(), STATUS_END);
	ck_assert_msg(strstr(missing_text(), "not a regular file") != NULL, "%s", missing_text());
	close_source();
	unlink(path);
}
END_TEST

/* Bytes all over the region change while it is read. Emitted values may be nonsense, but times and depths are bounded,
 * so that no later layer fails. The sanitizers check the reads. */
START_TEST(hostile_bytes_do_no_harm)
{
	char path[256];
	struct stat file;
	unsigned random = 12345u + (unsigned)_i;
	struct child child = child_start(train_body, NULL);
	child_await(&child);
	kill(child.pid, SIGSTOP);
	find_region(child.pid, path, sizeof path);
	int fd = open(path, O_RDWR);
	ck_assert_int_eq(fstat(fd, &file), 0);
	uint64_t *words = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	size_t count = (size_t)file.st_size / sizeof *words, emitted = 0;
	open_source(child.pid);
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < 200; k++) {
			random = random * 1103515245u + 12345u;
			size_t at = 512 + (random >> 4) % (k % 4 ? count - 512 : 8192);
			words[at] = k % 3 == 0 ? UINT64_MAX : k % 3 == 1 ? words[at] + 2 : (uint64_t)random << 32 | random;
		}
		sample_set_clear(&set);
		target_refresh(&target);
		ck_assert_int_eq(region_source.read(state, clock_monotonic_ns() + later_ns, &set), STATUS_OK);
		ck_assert_uint_lt(set.count, 200000);
		for (size_t k = 0; k < set.count; k++) {
			const struct record *record = &set.records[k];
			ck_assert(record->time_ns >= 0 && record->time_ns <= INT64_MAX / 2);
			if (record->kind == RECORD_SPAN || record->kind == RECORD_OPEN_SPAN)
				ck_assert(record->span.depth < 32 && record->span.duration_ns >= 0);
			if (record->kind == RECORD_BATCH_END)
				ck_assert(record->batch.begin_ns <= record->time_ns);
		}
		emitted += set.count;
	}
	ck_assert_uint_gt(emitted, 1000);
	munmap(words, (size_t)file.st_size);
	close(fd);
	child_kill(&child);
	close_source();
	unlink(path);
}
END_TEST

/* Closing any other descriptor of the file drops the writer's lock; the mapping in /proc still shows that it is alive.
 */
static void lose_lock_body(void *argument, int in, int out)
{
	(void)argument;
	char path[256];
	published = pmtop_open("train", NULL);
	publish(published, 10);
	find_region(getpid(), path, sizeof path);
	close(open(path, O_RDWR));
	for (;;) {
		child_ready(out);
		child_wait(in);
		publish(published, 10);
	}
}

START_TEST(region_whose_lock_was_lost_is_still_live)
{
	char path[256];
	struct child child = child_start(lose_lock_body, NULL);
	child_await(&child);
	open_source(child.pid);
	read_source();
	ck_assert(set_record(&set, RECORD_RUN_OPENED, 0)->opened.is_live);
	for (int i = 0; i < 3; i++) {
		go_on(&child);
		read_source_later();
	}
	ck_assert_uint_eq(account.closed, 0);
	ck_assert_uint_eq(account.batch_ends, 40);
	find_region(child.pid, path, sizeof path);
	child_kill(&child);
	close_source();
	unlink(path);
}
END_TEST

/* -- namespaces -- */

/* Runs train_body in a child that is in new namespaces, as its process number 1. */
static int namespaces;
static const char *clock_offset;

static void inner_body(void *argument, int in, int out)
{
	(void)argument;
	if (unshare(namespaces) != 0)
		_exit(97);
	if (clock_offset) {
		int fd = open("/proc/self/timens_offsets", O_WRONLY);
		if (fd < 0 || write(fd, clock_offset, strlen(clock_offset)) < 0)
			_exit(96);
		close(fd);
	}
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		train_body(NULL, in, out);
	}
	waitpid(pid, NULL, 0);
}

static void remove_regions_of(int inner_pid)
{
	char pattern[64];
	glob_t found;
	snprintf(pattern, sizeof pattern, "/dev/shm/pmtop.*.%d.*", inner_pid);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			unlink(found.gl_pathv[i]);
	globfree(&found);
}

START_TEST(a_process_in_namespaces_is_read_and_both_pids_emitted)
{
	static const int kinds[] = { CLONE_NEWPID, CLONE_NEWPID | CLONE_NEWNS, CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER };
	namespaces = kinds[_i];
	struct child child = child_start(inner_body, NULL);
	child_await(&child);
	open_source(child.pid);
	read_source();
	ck_assert_uint_eq(target.member_count, 2);
	ck_assert_uint_eq(account.opened, 1);
	ck_assert_int_eq(account.pid, target.members[1].pid);
	ck_assert_int_eq(account.inner_pid, 1);
	ck_assert_uint_eq(account.batch_ends, 10);
	child_kill(&child);
	close_source();
	remove_regions_of(1);
}
END_TEST

static void two_containers_body(void *argument, int in, int out)
{
	for (int i = 0; i < 2; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			inner_body(argument, in, out);
			_exit(0);
		}
	child_wait(in);
}

START_TEST(two_containers_with_the_same_number_are_two_runs)
{
	namespaces = CLONE_NEWPID;
	struct child child = child_start(two_containers_body, NULL);
	child_await(&child);
	child_await(&child);
	open_source(child.pid);
	read_source();
	ck_assert_uint_eq(account.opened, 1);
	ck_assert_uint_eq(other.opened, 1);
	ck_assert_int_eq(account.inner_pid, 1);
	ck_assert_int_eq(other.inner_pid, 1);
	ck_assert_int_ne(account.pid, other.pid);
	ck_assert_str_ne(account.uuid, other.uuid);
	ck_assert_uint_eq(account.batch_ends, 10);
	ck_assert_uint_eq(other.batch_ends, 10);
	child_kill(&child);
	close_source();
	remove_regions_of(1);
}
END_TEST

START_TEST(times_of_a_time_namespace_are_converted)
{
	namespaces = CLONE_NEWTIME;
	clock_offset = _i ? "monotonic -20 0\n" : "monotonic 864000 500\n";
	int64_t before_ns = clock_monotonic_ns();
	struct child child = child_start(inner_body, NULL);
	child_await(&child);
	open_source(child.pid);
	read_source();
	int64_t after_ns = clock_monotonic_ns();
	ck_assert_uint_eq(account.batch_ends, 10);
	int64_t start_ns = set_record(&set, RECORD_RUN_OPENED, 0)->opened.start_ns;
	ck_assert_int_gt(start_ns, before_ns);
	ck_assert_int_lt(start_ns, after_ns);
	for (size_t i = 0; i < set.count; i++) {
		const struct record *record = &set.records[i];
		if (record->kind < RECORD_EPOCH_BEGIN)
			continue;
		ck_assert_int_gt(record->time_ns, before_ns);
		ck_assert_int_lt(record->time_ns, after_ns);
		if (record->kind == RECORD_BATCH_END)
			ck_assert_int_gt(record->batch.begin_ns, before_ns);
	}
	ck_assert_int_gt(account.state.batch_begin_ns, before_ns);
	ck_assert_int_lt(account.state.batch_begin_ns, after_ns);
	remove_regions_of(target.members[1].pid);
	child_kill(&child);
	close_source();
}
END_TEST

/* -- nobody there any more -- */

START_TEST(region_of_a_dead_process_is_read_as_ended)
{
	char path[256];
	struct child child = child_start(train_body, NULL);
	child_await(&child);
	find_region(child.pid, path, sizeof path);
	child_kill(&child);
	ck_assert_int_eq(target_open(&target, 0, "/proc", &reason), STATUS_OK);
	target.region_path = path;
	ck_assert_int_eq(region_source.open(&target, &state, &reason), STATUS_OK);
	ck_assert_int_eq(read_source(), STATUS_END);
	ck_assert(!set_record(&set, RECORD_RUN_OPENED, 0)->opened.is_live);
	ck_assert_uint_eq(account.batch_ends, 10);
	ck_assert_str_eq(account.why, "killed or crashed: its last events were read");
	close_source();
	unlink(path);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("invalid regions");
	TCase *all = tcase_create("region");
	tcase_set_timeout(all, 60);
	tcase_add_test(all, a_truncated_region_is_closed_with_a_message);
	tcase_add_test(all, a_replaced_region_file_is_closed);
	tcase_add_test(all, region_with_a_second_link_is_refused);
	tcase_add_test(all, region_of_another_owner_is_refused);
	tcase_add_test(all, region_of_one_who_was_root_is_its_own);
	tcase_add_loop_test(all, a_region_that_is_no_regular_file_is_refused_as_such, 0, 2);
	tcase_add_loop_test(all, hostile_bytes_do_no_harm, 0, 2);
	tcase_add_test(all, region_whose_lock_was_lost_is_still_live);
	tcase_add_loop_test(all, a_process_in_namespaces_is_read_and_both_pids_emitted, 0, 3);
	tcase_add_test(all, two_containers_with_the_same_number_are_two_runs);
	tcase_add_loop_test(all, times_of_a_time_namespace_are_converted, 0, 2);
	tcase_add_test(all, region_of_a_dead_process_is_read_as_ended);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
