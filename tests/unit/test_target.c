#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/sources/target/command.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/fake_proc.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

static struct target target;
static struct reason reason;

/* -- command lines -- */

static const struct {
	const char *arguments, *command; /* arguments separated by | */
} command_rows[] = {
	{ "python3|-u|/home/me/train.py|--lr|3", "train.py" },
	{ "/usr/bin/python3.11|-X|dev|-Wignore|-W|error|train.py", "train.py" },
	{ "python3|-m|torch.distributed.run|--nproc|4|train.py", "torch.distributed.run" },
	{ "python|-um|pkg.train", "pkg.train" },
	{ "python|-mpkg", "pkg" },
	{ "python3|-c|import x", "python3" },
	{ "python3", "python3" },
	{ "python3|-m", "python3" },
	{ "python3|/usr/bin/torchrun|train.py", "torchrun" },
	{ "python-config|--libs", "python-config" },
	{ "/bin/sh|-c|exec ./train", "sh" },
	{ "bash|run.sh|a b", "run.sh" },
	{ "-bash", "bash" },
	{ "./build/trainer|--slow|/tmp/x", "trainer" },
	{ "/opt/my app/trainer|x", "trainer" },
	{ "ray::train /tmp/session", "ray::train /tmp/session" },
	{ "pt_data_worker|||", "pt_data_worker" },
	{ "", "comm" },
	{ "evil\x1b]52;c;x\x07", "evil^[]52;c;x^G" },
};

START_TEST(command_is_what_a_person_would_call_it)
{
	char line[256], out[64];
	strcpy(line, command_rows[_i].arguments);
	size_t length = strlen(line);
	for (size_t i = 0; i < length; i++)
		if (line[i] == '|')
			line[i] = '\0';
	command_shorten(out, sizeof out, line, length ? length + 1 : 0, "comm");
	ck_assert_str_eq(out, command_rows[_i].command);
}
END_TEST

/* -- stat -- */

START_TEST(name_with_parentheses_and_spaces_does_not_shift_fields)
{
	const char text[] = "42 (a) R (b) c) S 7 1 1 0 -1 4194304 11 0 12 0 13 14 0 0 20 0 15 0 16 99 17 "
						"18446744073709551615 18 19 20 0 0\n";
	struct proc_stat stat;
	ck_assert(proc_stat_parse(text, sizeof text - 1, &stat));
	ck_assert_str_eq(stat.comm, "a) R (b) c");
	ck_assert_int_eq(stat.state, 'S');
	ck_assert_int_eq(stat.parent, 7);
	ck_assert_uint_eq(stat.minor_faults, 11);
	ck_assert_uint_eq(stat.major_faults, 12);
	ck_assert_uint_eq(stat.user_ticks, 13);
	ck_assert_uint_eq(stat.system_ticks, 14);
	ck_assert_uint_eq(stat.threads, 15);
	ck_assert_uint_eq(stat.start_ticks, 16);
	ck_assert_uint_eq(stat.virtual_bytes, 99);
	ck_assert_uint_eq(stat.resident_pages, 17);
	ck_assert_uint_eq(stat.start_code, 18);
	ck_assert_uint_eq(stat.start_stack, 20);
}
END_TEST

START_TEST(every_cut_of_a_stat_line_is_refused_or_whole)
{
	const char text[] = "42 (a) S 7 1 1 0 -1 4194304 11 0 12 0 13 14 0 0 20 0 15 0 16 99 17 99 18 19 20";
	size_t refused = 0;
	for (size_t length = 0; length < sizeof text; length++) {
		char *copy = calloc(1, length + 1);
		struct proc_stat stat = { .state = '!' };
		memcpy(copy, text, length);
		if (!proc_stat_parse(copy, length, &stat)) {
			refused++;
			ck_assert_int_eq(stat.state, '!');
		}
		free(copy);
	}
	/* Complete only with a digit of the last field. */
	ck_assert_uint_eq(refused, sizeof text - 3 + 1);
}
END_TEST

START_TEST(numbers_beyond_64_bits_are_refused)
{
	const char text[] =
		"42 (a) S 7 1 1 0 -1 4194304 99999999999999999999999 0 12 0 13 14 0 0 20 0 15 0 16 99 17 99 18 19 20 0\n";
	struct proc_stat stat;
	uint64_t value;
	ck_assert(!proc_stat_parse(text, sizeof text - 1, &stat));
	ck_assert(!proc_field("VmRSS:\t99999999999999999999999 kB\n", "VmRSS", 0, &value));
	ck_assert(!proc_field("VmRSS:\tmuch\n", "VmRSS", 0, &value));
	ck_assert(!proc_field("XVmRSS:\t1 kB\n", "VmRSS", 0, &value));
	ck_assert(proc_field("A:\t1\nUid:\t1\t22 3\n", "Uid", 1, &value));
	ck_assert_uint_eq(value, 22);
}
END_TEST

/* -- a fixture -- */

static struct fake_proc proc;

static void set_up_proc(void) { fake_proc_init(&proc); }

static void tear_down_proc(void)
{
	target_close(&target);
	fake_proc_release(&proc);
}

START_TEST(fixture_process_is_opened_and_ends)
{
	fake_proc_add(&proc, 100, 1, "trainer");
	ck_assert_int_eq(target_open(&target, 100, proc.root, &reason), STATUS_OK);
	ck_assert_uint_eq(target.member_count, 1);
	ck_assert_str_eq(target.members[0].command, "trainer");
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	fake_proc_end(&proc, 100);
	ck_assert_int_eq(target_refresh(&target), STATUS_END);
	ck_assert(target.has_ended);
	ck_assert_uint_eq(target.member_count, 0);
	ck_assert_int_ne(target.ended_realtime_ns, 0);
	ck_assert_int_eq(target_refresh(&target), STATUS_END);
}
END_TEST

START_TEST(other_start_time_is_another_process)
{
	fake_proc_add(&proc, 100, 1, "trainer");
	ck_assert_int_eq(target_open(&target, 100, proc.root, &reason), STATUS_OK);
	fake_proc_puts(&proc, 100, "stat", "100 (trainer) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 999 0 0 0 0 0 0 0 0\n");
	ck_assert_int_eq(target_refresh(&target), STATUS_END);
}
END_TEST

START_TEST(children_beyond_the_most_are_counted)
{
	char *list = calloc(1, 8 * (TARGET_MEMBERS_MAX + 20)), *at = list;
	fake_proc_add(&proc, 100, 1, "trainer");
	for (int i = 0; i < TARGET_MEMBERS_MAX + 9; i++) {
		fake_proc_add(&proc, 1000 + i, 100, "worker");
		at += sprintf(at, "%d ", 1000 + i);
	}
	fake_proc_puts(&proc, 100, "task/100/children", list);
	free(list);
	ck_assert_int_eq(target_open(&target, 100, proc.root, &reason), STATUS_OK);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	ck_assert_uint_eq(target.member_count, TARGET_MEMBERS_MAX);
	ck_assert_uint_eq(target.members_left_out, 10);
	ck_assert(!target.is_short_of_files);
	/* A process in the middle of the list ends: the others keep their order, and a waiting one joins. */
	fake_proc_end(&proc, 1003);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	ck_assert_uint_eq(target.member_count, TARGET_MEMBERS_MAX);
	ck_assert_int_eq(target.members[4].pid, 1004);
	ck_assert_uint_eq(target.members_left_out, 9);
}
END_TEST

static size_t members_with_open_files(rlim_t descriptors)
{
	struct rlimit limit;
	size_t kept = 0;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_ge(limit.rlim_max, descriptors);
	limit.rlim_cur = descriptors;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(target_open(&target, 100, proc.root, &reason), STATUS_OK);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	for (size_t i = 0; i < target.member_count; i++)
		kept += target.members[i].stat_fd >= 0;
	target_close(&target);
	return kept;
}

/* So that a refresh of many processes need not open their files again. */
START_TEST(files_of_as_many_members_stay_open_as_half_of_the_descriptors_allow)
{
	enum { MEMBERS = 150 };
	char list[8 * MEMBERS], *at = list;
	fake_proc_add(&proc, 100, 1, "trainer");
	for (int i = 1; i < MEMBERS; i++) {
		fake_proc_add(&proc, 1000 + i, 100, "worker");
		at += sprintf(at, "%d ", 1000 + i);
	}
	fake_proc_puts(&proc, 100, "task/100/children", list);
	ck_assert_uint_eq(members_with_open_files(512), 64);
	ck_assert_uint_eq(members_with_open_files(1024), 85);
	ck_assert_uint_eq(members_with_open_files(2048), MEMBERS);
}
END_TEST

START_TEST(garbage_in_a_children_file_is_no_child)
{
	fake_proc_add(&proc, 100, 1, "trainer");
	fake_proc_add(&proc, 7, 3, "stranger");
	fake_proc_puts(&proc, 100, "task/100/children", "7 100 -1 99999999999999999999 x");
	ck_assert_int_eq(target_open(&target, 100, proc.root, &reason), STATUS_OK);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	ck_assert_uint_eq(target.member_count, 1);
}
END_TEST

START_TEST(a_kernel_without_children_files_is_noticed)
{
	fake_proc_add(&proc, 100, 1, "trainer");
	fake_proc_remove(&proc, 100, "task/100/children");
	ck_assert_int_eq(target_open(&target, 100, proc.root, &reason), STATUS_OK);
	ck_assert(target.has_no_children_files);
}
END_TEST

START_TEST(an_unreadable_stat_is_refused_with_a_message)
{
	fake_proc_add(&proc, 100, 1, "trainer");
	fake_proc_puts(&proc, 100, "stat", "100 (trainer");
	ck_assert_int_eq(target_open(&target, 100, proc.root, &reason), STATUS_DAMAGED);
	ck_assert_ptr_nonnull(strstr(reason.text, "process 100: its files in /tmp/pmtop-proc-"));
}
END_TEST

/* -- real processes -- */

static void wait_body(void *argument, int in, int out)
{
	(void)argument;
	child_ready(out);
	child_wait(in);
}

START_TEST(no_such_process_is_reported_in_one_line)
{
	struct child child = child_start(wait_body, NULL);
	child_kill(&child);
	char wanted[64];
	snprintf(wanted, sizeof wanted, "no process %d (it may have ended)", (int)child.pid);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_NOT_FOUND);
	ck_assert_str_eq(reason.text, wanted);
	ck_assert_int_eq(target_open(&target, -3, "/proc", &reason), STATUS_INVALID);
}
END_TEST

static void *thread_body(void *argument)
{
	*(pid_t *)argument = (pid_t)syscall(SYS_gettid);
	pause();
	return NULL;
}

static bool is_set(void *argument) { return __atomic_load_n((pid_t *)argument, __ATOMIC_ACQUIRE) != 0; }

START_TEST(a_thread_id_is_reported_with_its_process)
{
	static pid_t tid;
	pthread_t thread;
	pthread_create(&thread, NULL, thread_body, &tid);
	ck_assert(wait_until(is_set, &tid, 5));
	char wanted[64];
	snprintf(wanted, sizeof wanted, "%d is a thread of process %d (test_target)", (int)tid, (int)getpid());
	ck_assert_int_eq(target_open(&target, tid, "/proc", &reason), STATUS_NOT_FOUND);
	ck_assert_str_eq(reason.text, wanted);
	snprintf(wanted, sizeof wanted, "pmtop -p %d", (int)getpid());
	ck_assert_str_eq(reason.remedy, wanted);
}
END_TEST

START_TEST(zombie_is_not_watched)
{
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	kill(child.pid, SIGKILL);
	siginfo_t info;
	waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(reason.text, "it has ended"));
	child_collect(&child);
}
END_TEST

START_TEST(end_is_seen_before_the_parent_collects)
{
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	kill(child.pid, SIGKILL);
	siginfo_t info;
	waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT);
	ck_assert_int_eq(target_refresh(&target), STATUS_END);
	child_collect(&child);
	target_close(&target);
}
END_TEST

static void *outlive_main(void *argument)
{
	const int *ends = argument;
	child_ready(ends[1]);
	child_wait(ends[0]);
	_exit(0);
}

static void leave_main_body(void *argument, int in, int out)
{
	(void)argument;
	static int ends[2];
	ends[0] = in;
	ends[1] = out;
	pthread_t thread;
	pthread_create(&thread, NULL, outlive_main, ends);
	pthread_exit(NULL);
}

static bool main_thread_is_a_zombie(void *argument)
{
	const struct child *child = argument;
	char path[64], text[512];
	size_t length;
	struct proc_stat stat;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)child->pid);
	return file_read(AT_FDCWD, path, text, sizeof text, &length) == STATUS_OK && proc_stat_parse(text, length, &stat) &&
		stat.state == 'Z';
}

/* Its other thread may not wait yet, for all that it is ready. */
static bool is_asleep(void *argument)
{
	(void)argument;
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	ck_assert_int_ne(target.members[0].stat.state, 'Z');
	return target.members[0].stat.state == 'S';
}

START_TEST(process_whose_main_thread_ended_is_still_watched)
{
	struct child child = child_start(leave_main_body, NULL);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	ck_assert(wait_until(main_thread_is_a_zombie, &child, 5));
	/* It has the state of the live thread. */
	ck_assert(wait_until(is_asleep, NULL, 5));
	child_release(&child);
	child_collect(&child);
	ck_assert_int_eq(target_refresh(&target), STATUS_END);
	target_close(&target);
}
END_TEST

/* Three generations; the youngest was forked by a thread other than the main one. */
static void *fork_in_thread(void *argument)
{
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	*(pid_t *)argument = pid;
	pause();
	return NULL;
}

static void family_body(void *argument, int in, int out)
{
	(void)argument;
	if (fork() == 0) {
		static pid_t youngest;
		pthread_t thread;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, fork_in_thread, &youngest);
		wait_until(is_set, &youngest, 5);
		child_ready(out);
		pause();
		_exit(0);
	}
	child_wait(in);
}

START_TEST(grandchildren_of_any_thread_are_members)
{
	struct child child = child_start(family_body, NULL);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	ck_assert_uint_eq(target.member_count, 3);
	ck_assert_int_eq(target.members[1].parent, child.pid);
	ck_assert_int_eq(target.members[2].parent, target.members[1].pid);
	child_kill(&child);
	target_close(&target);
}
END_TEST

static void orphan_body(void *argument, int in, int out)
{
	(void)argument;
	pid_t middle = fork();
	if (middle == 0) {
		if (fork() == 0) {
			child_ready(out);
			pause();
			_exit(0);
		}
		pause();
		_exit(0);
	}
	child_wait(in);
	kill(middle, SIGKILL);
	waitpid(middle, NULL, 0);
	child_ready(out);
	child_wait(in);
}

START_TEST(member_whose_parent_ended_stays_a_member)
{
	struct child child = child_start(orphan_body, NULL);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	ck_assert_uint_eq(target.member_count, 3);
	pid_t orphan = target.members[2].pid;
	child_release(&child);
	child_await(&child);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	ck_assert_uint_eq(target.member_count, 2);
	ck_assert_int_eq(target.members[1].pid, orphan);
	ck_assert_int_ne(target.members[1].parent, child.pid);
	kill(orphan, SIGKILL);
	child_kill(&child);
	target_close(&target);
}
END_TEST

static void exec_body(void *argument, int in, int out)
{
	char *const *arguments = argument;
	child_ready(out);
	child_wait(in);
	execv("/bin/sleep", arguments);
}

static bool has_been_replaced(void *argument)
{
	return target_refresh(&target) == STATUS_OK && target.members[0].generation == *(unsigned *)argument;
}

START_TEST(exec_changes_the_generation_and_keeps_the_identity)
{
	char *arguments[] = { "sleep", "100", NULL };
	struct child child = child_start(exec_body, arguments);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	uint64_t start_ticks = target.members[0].start_ticks;
	unsigned wanted = 1;
	ck_assert_uint_eq(target.members[0].generation, 0);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	ck_assert_uint_eq(target.members[0].generation, 0);
	child_release(&child);
	ck_assert(wait_until(has_been_replaced, &wanted, 5));
	ck_assert_str_eq(target.members[0].command, "sleep");
	ck_assert_uint_eq(target.members[0].start_ticks, start_ticks);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	ck_assert_uint_eq(target.members[0].generation, 1);
	child_kill(&child);
	target_close(&target);
}
END_TEST

static void rename_body(void *argument, int in, int out)
{
	(void)argument;
	child_ready(out);
	child_wait(in);
	prctl(PR_SET_NAME, "x) R (y");
	child_ready(out);
	child_wait(in);
}

START_TEST(new_thread_name_is_no_exec)
{
	struct child child = child_start(rename_body, NULL);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	child_release(&child);
	child_await(&child);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	ck_assert_str_eq(target.members[0].stat.comm, "x) R (y");
	ck_assert_uint_eq(target.members[0].generation, 0);
	child_kill(&child);
	target_close(&target);
}
END_TEST

static void storm_body(void *argument, int in, int out)
{
	(void)argument;
	fcntl(in, F_SETFL, O_NONBLOCK);
	char byte;
	child_ready(out);
	while (read(in, &byte, 1) != 1) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	child_ready(out);
}

static int open_descriptors(void)
{
	int count = 0;
	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

START_TEST(storm_of_short_children_leaves_nothing_behind)
{
	struct child child = child_start(storm_body, NULL);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	int before = open_descriptors();
	for (int i = 0; i < 5000; i++) {
		ck_assert_int_eq(target_refresh(&target), STATUS_OK);
		ck_assert_uint_le(target.member_count, 3);
		ck_assert_int_eq(target.members[0].pid, child.pid);
	}
	child_release(&child);
	child_await(&child);
	target_refresh(&target);
	ck_assert_int_le(open_descriptors(), before + 3);
	child_kill(&child);
	target_close(&target);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("target");
	TCase *texts = tcase_create("texts");
	tcase_add_loop_test(
		texts, command_is_what_a_person_would_call_it, 0, (int)(sizeof command_rows / sizeof *command_rows));
	tcase_add_test(texts, name_with_parentheses_and_spaces_does_not_shift_fields);
	tcase_add_test(texts, every_cut_of_a_stat_line_is_refused_or_whole);
	tcase_add_test(texts, numbers_beyond_64_bits_are_refused);
	suite_add_tcase(suite, texts);

	TCase *fixture = tcase_create("fixture");
	tcase_add_checked_fixture(fixture, set_up_proc, tear_down_proc);
	tcase_set_timeout(fixture, 60);
	tcase_add_test(fixture, fixture_process_is_opened_and_ends);
	tcase_add_test(fixture, other_start_time_is_another_process);
	tcase_add_test(fixture, children_beyond_the_most_are_counted);
	tcase_add_test(fixture, files_of_as_many_members_stay_open_as_half_of_the_descriptors_allow);
	tcase_add_test(fixture, garbage_in_a_children_file_is_no_child);
	tcase_add_test(fixture, a_kernel_without_children_files_is_noticed);
	tcase_add_test(fixture, an_unreadable_stat_is_refused_with_a_message);
	suite_add_tcase(suite, fixture);

	TCase *real = tcase_create("real");
	tcase_set_timeout(real, 30);
	tcase_add_test(real, no_such_process_is_reported_in_one_line);
	tcase_add_test(real, a_thread_id_is_reported_with_its_process);
	tcase_add_test(real, zombie_is_not_watched);
	tcase_add_test(real, end_is_seen_before_the_parent_collects);
	tcase_add_test(real, process_whose_main_thread_ended_is_still_watched);
	tcase_add_test(real, grandchildren_of_any_thread_are_members);
	tcase_add_test(real, member_whose_parent_ended_stays_a_member);
	tcase_add_test(real, exec_changes_the_generation_and_keeps_the_identity);
	tcase_add_test(real, new_thread_name_is_no_exec);
	tcase_add_test(real, storm_of_short_children_leaves_nothing_behind);
	suite_add_tcase(suite, real);

	return suite_run(suite);
}
