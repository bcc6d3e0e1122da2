#include <check.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/choices.h"
#include "src/sources/perf/perf_reader.h"
#include "src/sources/target/target.h"
#include "tests/support/fake_perf.h"
#include "tests/support/fake_proc.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { TARGET = 100, SOFTWARE_EVENTS = 5 };

static struct fake_proc proc;
static struct fake_perf perf;
static struct source_choices choices;
static struct target target;
static struct reason reason;
static struct sample_set set;
static struct perf_reader *reader;
static double now_s;
static char sys_root[128];

#define CPUINFO_INTEL \
	"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: A CPU\nflags\t\t: fpu " \
	"avx512f\n"
#define CPUINFO_VIRTUAL \
	"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nflags\t\t: fpu hypervisor lahf_lm\n"

static void put_thread(int pid, int tid)
{
	char name[64];
	snprintf(name, sizeof name, "%d/task/%d/children", pid, tid);
	fake_proc_put(&proc, name, "");
}

static void end_thread(int pid, int tid)
{
	char path[160];
	snprintf(path, sizeof path, "task/%d/children", tid);
	fake_proc_remove(&proc, pid, path);
	snprintf(path, sizeof path, "%s/%d/task/%d", proc.root, pid, tid);
	rmdir(path);
}

static void setup(void)
{
	fake_proc_init(&proc);
	fake_proc_add(&proc, TARGET, 1, "trainer");
	fake_proc_put(&proc, "cpuinfo", CPUINFO_INTEL);
	fake_proc_put(&proc, "sys/kernel/perf_event_paranoid", "1\n");
	snprintf(sys_root, sizeof sys_root, "%s/sysfs", proc.root);
	fake_perf_init(&perf);
	choices = (struct source_choices){ .sys_root = sys_root };
	choices.wants_counters = true;
	ck_assert_int_eq(target_open(&target, TARGET, proc.root, &reason), STATUS_OK);
	target.choices = &choices;
	reader = perf_reader_new(&target, &perf.opener);
	set = (struct sample_set)SAMPLE_SET_INIT;
	now_s = 10;
}

static void teardown(void)
{
	perf_reader_free(reader);
	ck_assert_uint_eq(perf.open, 0);
	target_close(&target);
	sample_set_release(&set);
	fake_proc_release(&proc);
}

static enum status read_at(double at_s)
{
	now_s = at_s;
	sample_set_clear(&set);
	return perf_reader_read(reader, (int64_t)(at_s * (double)NS_PER_S), &set);
}

/* The number of the event with this role, from any set so far. */
static int event_numbers[PERF_ROLE_COUNT];
static char event_names[PERF_ROLE_COUNT][64];

static void note_events(void)
{
	for (size_t i = 0; i < PERF_ROLE_COUNT; i++) {
		event_numbers[i] = -1;
		event_names[i][0] = '\0';
	}
	for (size_t i = 0; i < set_count(&set, RECORD_PERF_EVENT); i++) {
		const struct record *record = set_record(&set, RECORD_PERF_EVENT, i);
		event_numbers[record->perf_event.role] = (int)record->perf_event.event;
		snprintf(event_names[record->perf_event.role], sizeof event_names[0], "%s", record->perf_event.name);
	}
}

static enum status begin_counting(void)
{
	enum status status = read_at(10);
	note_events();
	return status;
}

static const struct record *count_of(int pid, enum perf_role role)
{
	for (size_t i = 0; i < set_count(&set, RECORD_PERF_COUNT); i++) {
		const struct record *record = set_record(&set, RECORD_PERF_COUNT, i);
		if (record->perf_count.pid == pid && event_numbers[role] >= 0 &&
			(int)record->perf_count.event == event_numbers[role])
			return record;
	}
	return NULL;
}

static double value_of(int pid, enum perf_role role)
{
	const struct record *record = count_of(pid, role);
	return record ? record->perf_count.value : NAN;
}

static double share_of(int pid, enum perf_role role)
{
	const struct record *record = count_of(pid, role);
	return record ? record->perf_count.counted_ratio : NAN;
}

static const char *missing(const char *figure)
{
	const struct record *record = set_missing(&set, figure);
	return record && record->missing.text ? record->missing.text : NULL;
}

static const char *remedy(const char *figure)
{
	const struct record *record = set_missing(&set, figure);
	return record && record->missing.text ? record->missing.remedy : NULL;
}

static void assert_says(const char *text, const char *part)
{
	ck_assert_msg(text && strstr(text, part), "\"%s\" says nothing of \"%s\"", text ? text : "(nothing)", part);
}

#define NEAR(a, b) ck_assert_double_eq_tol(a, b, 1 + 1e-9 * fabs(b))

/* -- when -- */

START_TEST(nothing_is_opened_before_counters_are_wanted)
{
	choices.wants_counters = false;
	ck_assert_int_eq(read_at(10), STATUS_OK);
	ck_assert_uint_eq(perf.opened + perf.encoded, 0);
	ck_assert_str_eq(missing("counters"), "off until requested");
	ck_assert_str_eq(remedy("counters"), "open view 9, or start with --counters");
	read_at(10.3);
	ck_assert_ptr_null(set_missing(&set, "counters"));
	choices.wants_counters = true;
	read_at(10.6);
	const struct record *withdrawn = set_missing(&set, "counters");
	ck_assert(withdrawn && !withdrawn->missing.text);
	ck_assert_uint_gt(perf.open, 0);
}
END_TEST

START_TEST(counters_no_longer_wanted_are_closed_and_restart)
{
	begin_counting();
	choices.wants_counters = false;
	read_at(10.3);
	ck_assert_uint_eq(perf.open, 0);
	ck_assert_str_eq(missing("counters"), "off until requested");
	choices.wants_counters = true;
	read_at(10.6);
	ck_assert_uint_gt(perf.open, 0);
	ck_assert_uint_gt(set_count(&set, RECORD_PERF_EVENT), SOFTWARE_EVENTS);
}
END_TEST

START_TEST(a_watch_without_a_process_has_nothing_to_count)
{
	struct target none = { .proc_root = proc.root, .pidfd = -1, .choices = &choices };
	struct perf_reader *other = perf_reader_new(&none, &perf.opener);
	ck_assert_int_eq(perf_reader_read(other, 1, &set), STATUS_END);
	ck_assert_uint_eq(set.count, 0);
	perf_reader_free(other);
}
END_TEST

/* -- threads and processes -- */

START_TEST(every_thread_is_counted_and_summed_by_process)
{
	fake_proc_add(&proc, 200, TARGET, "worker");
	fake_proc_puts(&proc, TARGET, "task/100/children", "200 ");
	put_thread(TARGET, 101);
	ck_assert_int_eq(target_refresh(&target), STATUS_OK);
	begin_counting();
	for (enum perf_role role = PERF_ROLE_TASK_CLOCK; role <= PERF_ROLE_FLOPS; role++)
		ck_assert_int_ge(event_numbers[role], 0);
	fake_perf_run(&perf, 100, 0.2);
	fake_perf_run(&perf, 101, 0.1);
	fake_perf_run(&perf, 200, 0.05);
	read_at(10.3);
	NEAR(value_of(TARGET, PERF_ROLE_TASK_CLOCK), 0.3e9);
	NEAR(value_of(200, PERF_ROLE_TASK_CLOCK), 0.05e9);
	NEAR(value_of(TARGET, PERF_ROLE_CYCLES), 0.3e9 * (PERF_COUNT_HW_CPU_CYCLES + 1));
	NEAR(value_of(TARGET, PERF_ROLE_INSTRUCTIONS), 0.3e9 * (PERF_COUNT_HW_INSTRUCTIONS + 1));
	ck_assert_double_eq(share_of(TARGET, PERF_ROLE_CYCLES), 1);
	/* 0x…c7 % 8 + 1 = 8 a nanosecond for each of the five parts: 1 + 2 + 4 + 8 + 16. */
	NEAR(value_of(TARGET, PERF_ROLE_FLOPS), 0.3e9 * 8 * 31);
}
END_TEST

START_TEST(threads_that_come_are_counted_and_those_that_end_keep_their_counts)
{
	put_thread(TARGET, 101);
	begin_counting();
	fake_perf_run(&perf, 101, 0.1);
	unsigned before = perf.open;
	end_thread(TARGET, 101);
	put_thread(TARGET, 103);
	put_thread(TARGET, 104);
	read_at(11);
	ck_assert_uint_eq(perf.open, before / 2 * 3);
	NEAR(value_of(TARGET, PERF_ROLE_TASK_CLOCK), 0.1e9);
	fake_perf_run(&perf, 103, 0.1);
	fake_perf_run(&perf, 104, 0.2);
	read_at(11.3);
	NEAR(value_of(TARGET, PERF_ROLE_TASK_CLOCK), 0.4e9);
	for (int tid = 103; tid <= 104; tid++)
		end_thread(TARGET, tid);
	read_at(12.3);
	NEAR(value_of(TARGET, PERF_ROLE_TASK_CLOCK), 0.4e9);
	ck_assert_uint_eq(perf.open, before / 2);
}
END_TEST

START_TEST(a_process_that_ends_emits_its_last_counts_once)
{
	fake_proc_add(&proc, 200, TARGET, "worker");
	fake_proc_puts(&proc, TARGET, "task/100/children", "200 ");
	target_refresh(&target);
	begin_counting();
	fake_perf_run(&perf, 200, 0.5);
	fake_proc_puts(&proc, TARGET, "task/100/children", "");
	fake_proc_end(&proc, 200);
	target_refresh(&target);
	read_at(11);
	NEAR(value_of(200, PERF_ROLE_TASK_CLOCK), 0.5e9);
	read_at(11.3);
	ck_assert_ptr_null(count_of(200, PERF_ROLE_TASK_CLOCK));
	ck_assert_ptr_nonnull(count_of(TARGET, PERF_ROLE_TASK_CLOCK));
}
END_TEST

START_TEST(the_end_of_the_target_is_the_end)
{
	begin_counting();
	fake_perf_run(&perf, TARGET, 0.25);
	fake_proc_end(&proc, TARGET);
	ck_assert_int_eq(target_refresh(&target), STATUS_END);
	ck_assert_int_eq(read_at(10.1), STATUS_END);
	NEAR(value_of(TARGET, PERF_ROLE_TASK_CLOCK), 0.25e9);
	ck_assert_uint_eq(perf.open, 0);
}
END_TEST

/* -- turns -- */

START_TEST(multiplexed_counters_are_scaled_and_their_share_emitted)
{
	begin_counting();
	perf.share = 0.25;
	fake_perf_run(&perf, TARGET, 1);
	read_at(10.3);
	NEAR(value_of(TARGET, PERF_ROLE_INSTRUCTIONS), 2e9);
	ck_assert_double_eq_tol(share_of(TARGET, PERF_ROLE_INSTRUCTIONS), 0.25, 1e-9);
	ck_assert_double_eq(share_of(TARGET, PERF_ROLE_TASK_CLOCK), 1);
}
END_TEST

START_TEST(counters_without_a_turn_are_omitted_and_caught_up_at_the_next)
{
	perf.share = 0;
	begin_counting();
	fake_perf_run(&perf, TARGET, 1);
	read_at(10.3);
	ck_assert_ptr_null(count_of(TARGET, PERF_ROLE_CYCLES));
	ck_assert_ptr_nonnull(count_of(TARGET, PERF_ROLE_TASK_CLOCK));
	perf.share = 0.5;
	fake_perf_run(&perf, TARGET, 1);
	read_at(10.6);
	NEAR(value_of(TARGET, PERF_ROLE_CYCLES), 2e9);
	ck_assert_double_eq_tol(share_of(TARGET, PERF_ROLE_CYCLES), 0.25, 1e-9);
}
END_TEST

START_TEST(counters_that_never_get_a_turn_are_reported_until_they_do)
{
	perf.share = 0;
	begin_counting();
	fake_perf_run(&perf, TARGET, 1);
	read_at(10.3);
	ck_assert_ptr_null(missing("cycles"));
	fake_perf_run(&perf, TARGET, 1.5);
	read_at(10.6);
	assert_says(missing("cycles"), "not counted: the CPU's counters were never free for it");
	assert_says(remedy("cycles"), "nmi_watchdog");
	ck_assert_ptr_null(missing("task-clock"));
	perf.share = 0.5;
	fake_perf_run(&perf, TARGET, 1);
	read_at(10.9);
	const struct record *withdrawn = set_missing(&set, "cycles");
	ck_assert(withdrawn && !withdrawn->missing.text);
}
END_TEST

START_TEST(a_sum_never_falls_when_the_share_does)
{
	double before = 0, at_s = 10;
	begin_counting();
	for (int i = 0; i < 200; i++) {
		perf.share = (double)((i * 7919) % 11) / 10;
		fake_perf_run(&perf, TARGET, 0.01);
		read_at(at_s += 0.3);
		const struct record *record = count_of(TARGET, PERF_ROLE_CYCLES);
		if (!record)
			continue;
		ck_assert_double_ge(record->perf_count.value, before);
		before = record->perf_count.value;
	}
	/* Cycles are one a nanosecond. */
	ck_assert_double_eq_tol(before, 2e9, 0.03e9);
}
END_TEST

START_TEST(before_a_thread_has_run_hardware_counts_are_unknown)
{
	begin_counting();
	ck_assert_ptr_null(count_of(TARGET, PERF_ROLE_CYCLES));
	ck_assert_double_eq(value_of(TARGET, PERF_ROLE_MAJOR_FAULTS), 0);
}
END_TEST

START_TEST(a_group_that_is_full_is_followed_by_another)
{
	perf.group_max = 2;
	begin_counting();
	fake_perf_run(&perf, TARGET, 0.1);
	read_at(10.3);
	for (enum perf_role role = PERF_ROLE_TASK_CLOCK; role <= PERF_ROLE_FLOPS; role++)
		ck_assert_msg(count_of(TARGET, role) != NULL, "role %d", (int)role);
	NEAR(value_of(TARGET, PERF_ROLE_FLOPS), 0.1e9 * 8 * 31);
}
END_TEST

START_TEST(a_short_reading_is_no_reading)
{
	begin_counting();
	fake_perf_run(&perf, TARGET, 0.1);
	read_at(10.3);
	double before = value_of(TARGET, PERF_ROLE_CYCLES);
	perf.reads_short = true;
	fake_perf_run(&perf, TARGET, 0.1);
	read_at(10.6);
	ck_assert_double_eq(value_of(TARGET, PERF_ROLE_CYCLES), before);
	perf.reads_short = false;
	read_at(10.9);
	NEAR(value_of(TARGET, PERF_ROLE_CYCLES), 2 * before);
}
END_TEST

START_TEST(counters_that_go_back_add_nothing)
{
	begin_counting();
	fake_perf_run(&perf, TARGET, 0.1);
	read_at(10.3);
	double before = value_of(TARGET, PERF_ROLE_CYCLES);
	for (int i = 0; i < FAKE_PERF_MAX; i++) {
		perf.counters[i].enabled_ns = perf.counters[i].running_ns = 0;
		perf.counters[i].value = 0;
	}
	read_at(10.6);
	ck_assert_double_eq(value_of(TARGET, PERF_ROLE_CYCLES), before);
	fake_perf_run(&perf, TARGET, 0.1);
	read_at(10.9);
	NEAR(value_of(TARGET, PERF_ROLE_CYCLES), 2 * before);
}
END_TEST

/* -- what is refused -- */

START_TEST(a_machine_without_hardware_counters_counts_the_kernels_own)
{
	fake_proc_put(&proc, "cpuinfo", CPUINFO_VIRTUAL);
	fake_perf_refuse(&perf, PERF_TYPE_HARDWARE, FAKE_PERF_ANY, FAKE_PERF_ANY, _i ? EOPNOTSUPP : ENOENT);
	fake_perf_refuse(&perf, PERF_TYPE_RAW, FAKE_PERF_ANY, FAKE_PERF_ANY, ENOENT);
	begin_counting();
	assert_says(missing("cycles, instructions"),
		_i ? "virtual machine's kernel offers no hardware counters (EOPNOTSUPP)"
		   : "virtual machine's kernel offers no hardware counters (ENOENT)");
	assert_says(remedy("cycles, instructions"), "run on the host");
	ck_assert_ptr_null(missing("FLOPs"));
	fake_perf_run(&perf, TARGET, 0.1);
	read_at(10.3);
	ck_assert_uint_eq(set_count(&set, RECORD_PERF_COUNT), SOFTWARE_EVENTS);
	NEAR(value_of(TARGET, PERF_ROLE_TASK_CLOCK), 0.1e9);
}
END_TEST

START_TEST(a_level_that_refuses_the_kernels_part_leaves_user_space)
{
	fake_proc_put(&proc, "sys/kernel/perf_event_paranoid", "2\n");
	perf.is_user_only = true;
	begin_counting();
	ck_assert_str_eq(event_names[PERF_ROLE_CYCLES], "cycles:u");
	ck_assert_str_eq(event_names[PERF_ROLE_TASK_CLOCK], "task-clock");
	ck_assert_str_eq(event_names[PERF_ROLE_MINOR_FAULTS], "minor-faults:u");
	/* These happen in the kernel: a counter of user space would be 0. */
	ck_assert_int_eq(event_numbers[PERF_ROLE_SWITCHES], -1);
	ck_assert_int_eq(event_numbers[PERF_ROLE_MIGRATIONS], -1);
	assert_says(missing("counters of the kernel's part"), "perf_event_paranoid is 2");
	assert_says(remedy("counters of the kernel's part"),
		"sudo sysctl kernel.perf_event_paranoid=1, or sudo setcap cap_perfmon=ep");
	assert_says(missing("context switches, CPU migrations"), "in the kernel");
	fake_perf_run(&perf, TARGET, 0.1);
	read_at(10.3);
	NEAR(value_of(TARGET, PERF_ROLE_CYCLES), 0.1e9);
}
END_TEST

START_TEST(a_level_that_refuses_all_is_named_with_what_helps)
{
	fake_proc_put(&proc, "sys/kernel/perf_event_paranoid", _i ? "4\n" : "3\n");
	fake_perf_refuse(&perf, FAKE_PERF_ANY, FAKE_PERF_ANY, FAKE_PERF_ANY, EACCES);
	ck_assert_int_eq(begin_counting(), STATUS_OK);
	assert_says(missing("counters"),
		_i ? "perf_event_paranoid is 4: without CAP_PERFMON nothing may be counted" : "perf_event_paranoid is 3");
	assert_says(missing("counters"), "figures from /proc continue");
	assert_says(remedy("counters"), "sudo sysctl kernel.perf_event_paranoid=2, or sudo setcap cap_perfmon=ep");
	ck_assert_uint_eq(set_count(&set, RECORD_PERF_EVENT), 0);
	/* Opened again later, and the report is withdrawn once it is allowed. */
	perf.refusals[0].error = 0;
	read_at(20);
	ck_assert_uint_eq(set_count(&set, RECORD_PERF_EVENT), 0);
	read_at(41);
	ck_assert_ptr_null(missing("counters"));
	ck_assert_ptr_nonnull(set_missing(&set, "counters"));
	ck_assert_uint_gt(set_count(&set, RECORD_PERF_EVENT), SOFTWARE_EVENTS);
}
END_TEST

START_TEST(a_seccomp_filter_is_distinguished_from_the_level)
{
	fake_perf_refuse(&perf, FAKE_PERF_ANY, FAKE_PERF_ANY, FAKE_PERF_ANY, EPERM);
	begin_counting();
	assert_says(missing("counters"), "the kernel refused perf_event_open (EPERM), probably a seccomp filter");
	assert_says(remedy("counters"), "seccomp");
}
END_TEST

START_TEST(a_kernel_without_perf_is_reported)
{
	fake_perf_refuse(&perf, FAKE_PERF_ANY, FAKE_PERF_ANY, FAKE_PERF_ANY, ENOSYS);
	begin_counting();
	assert_says(missing("counters"), "no perf_event_open (ENOSYS)");
}
END_TEST

START_TEST(a_role_that_this_cpu_lacks_is_missing_by_name)
{
	fake_perf_refuse(&perf, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, FAKE_PERF_ANY, ENOENT);
	begin_counting();
	assert_says(missing("stalled, back end"), "no such counter");
	ck_assert_ptr_null(missing("cycles"));
	ck_assert_ptr_null(missing("FLOPs"));
}
END_TEST

START_TEST(an_unknown_cpu_has_no_formula_for_flops)
{
	fake_proc_put(&proc, "cpuinfo", "processor\t: 0\nisa\t: rv64imafdc\n");
	begin_counting();
	assert_says(missing("FLOPs"), "knows no floating-point counters");
	ck_assert_int_ge(event_numbers[PERF_ROLE_CYCLES], 0);
}
END_TEST

START_TEST(a_process_of_another_user_is_named)
{
	fake_proc_add(&proc, 200, TARGET, "sudo");
	fake_proc_puts(&proc, TARGET, "task/100/children", "200 ");
	target_refresh(&target);
	fake_perf_refuse(&perf, FAKE_PERF_ANY, FAKE_PERF_ANY, 200, EACCES);
	begin_counting();
	assert_says(missing("counters of some processes"), "no permission to count 1 processes (EACCES), such as 200");
	ck_assert_ptr_null(count_of(200, PERF_ROLE_TASK_CLOCK));
	ck_assert_ptr_nonnull(count_of(TARGET, PERF_ROLE_TASK_CLOCK));
}
END_TEST

START_TEST(threads_without_a_descriptor_are_left_out_and_reported)
{
	for (int tid = 101; tid < 110; tid++)
		put_thread(TARGET, tid);
	begin_counting();
	unsigned each = perf.open / 10;
	perf_reader_free(reader);
	ck_assert_uint_eq(perf.open, 0);
	reader = perf_reader_new(&target, &perf.opener);
	perf.open_max = each * 4 + 2;
	begin_counting();
	ck_assert_uint_eq(perf.open, each * 4);
	assert_says(missing("counters of some threads"), "6 threads are not counted (no file descriptor left)");
	assert_says(remedy("counters of some threads"), "ulimit -Hn");
	perf.open_max = FAKE_PERF_MAX;
	read_at(11);
	ck_assert_uint_eq(perf.open, each * 10);
	ck_assert_ptr_null(missing("counters of some threads"));
	ck_assert_ptr_nonnull(set_missing(&set, "counters of some threads"));
}
END_TEST

START_TEST(there_is_a_bound_for_threads)
{
	choices.events[choices.event_count++] = "UOPS:ANY";
	for (int tid = 1000; tid < 2100; tid++)
		put_thread(TARGET, tid);
	begin_counting();
	assert_says(missing("counters of some threads"), "77 threads are not counted (there are too many)");
	ck_assert_uint_eq(perf.open, 1024 * (SOFTWARE_EVENTS + 1));
}
END_TEST

START_TEST(a_limit_of_descriptors_is_raised_and_the_tree_knows_it)
{
	struct rlimit limit, low;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 256;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	target.descriptors = 256;
	begin_counting();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &low), 0);
	ck_assert_uint_ge(low.rlim_cur, limit.rlim_max < 65536 ? limit.rlim_max : 65536);
	ck_assert_int_eq(target.descriptors, (int)low.rlim_cur);
}
END_TEST

/* -- what the user chose -- */

START_TEST(chosen_events_replace_the_default_ones)
{
	static const char *const chosen[] = { "cycles", "instructions", "UOPS:ANY", "NO_SUCH", "faults" };
	for (size_t i = 0; i < 5; i++)
		choices.events[choices.event_count++] = chosen[i];
	begin_counting();
	ck_assert_uint_eq(set_count(&set, RECORD_PERF_EVENT), SOFTWARE_EVENTS + 3);
	ck_assert_str_eq(event_names[PERF_ROLE_OTHER], "UOPS:ANY");
	ck_assert_str_eq(missing("NO_SUCH"), "no event is named NO_SUCH");
	fake_perf_run(&perf, TARGET, 0.1);
	read_at(10.3);
	NEAR(value_of(TARGET, PERF_ROLE_INSTRUCTIONS), 0.2e9);
	NEAR(value_of(TARGET, PERF_ROLE_OTHER), 0.8e9);
}
END_TEST

START_TEST(a_snapshot_emits_every_event_again)
{
	begin_counting();
	size_t emitted = set_count(&set, RECORD_PERF_EVENT);
	sample_set_clear(&set);
	perf_reader_emit_all(reader, 1, &set);
	ck_assert_uint_eq(set_count(&set, RECORD_PERF_EVENT), emitted);
	ck_assert_uint_eq(set.count, emitted);
}
END_TEST

/* -- memory traffic -- */

#define PMUS "sysfs/bus/event_source/devices/"

static void put_imc(int number)
{
	static const struct {
		const char *name, *text;
	} files[] = {
		{ "type", "18\n" },
		{ "cpumask", "0,8\n" },
		{ "format/event", "config:0-7\n" },
		{ "format/umask", "config:8-15,32-33\n" },
		{ "events/cas_count_read", "event=0x04,umask=0x303\n" },
		{ "events/cas_count_write", "event=0x04,umask=0x0c\n" },
		{ "events/cas_count_read.scale", "6.103515625e-5\n" },
		{ "events/cas_count_read.unit", "MiB\n" },
	};
	char name[256];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(name, sizeof name, PMUS "uncore_imc_%d/%s", number, files[i].name);
		fake_proc_put(&proc, name, files[i].text);
	}
	fake_proc_put(&proc, "sysfs/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
	fake_proc_put(&proc, "sysfs/devices/system/cpu/cpu8/topology/physical_package_id", "1\n");
}

START_TEST(memory_traffic_is_emitted_by_socket)
{
	put_imc(0);
	put_imc(1);
	fake_proc_put(&proc, PMUS "uncore_imc_free_running_0/type", "20\n");
	begin_counting();
	ck_assert_int_ge(event_numbers[PERF_ROLE_MEMORY_BYTES], 0);
	unsigned meters = 0, whole = 0;
	for (int i = 0; i < FAKE_PERF_MAX; i++) {
		meters += perf.counters[i].is_open && perf.counters[i].code.type == 18;
		whole += perf.counters[i].is_open && perf.counters[i].code.config == (0x04 | 0x03 << 8 | UINT64_C(3) << 32) &&
			perf.counters[i].cpu >= 0;
	}
	ck_assert_uint_eq(meters, 8);
	ck_assert_uint_eq(whole, 4);
	fake_perf_run(&perf, -1, 0.1);
	read_at(10.3);
	/* Four counters a socket, five counts a nanosecond each, 64 bytes a count. */
	NEAR(value_of(0, PERF_ROLE_MEMORY_BYTES), 4 * 0.1e9 * 5 * 64);
	NEAR(value_of(1, PERF_ROLE_MEMORY_BYTES), 4 * 0.1e9 * 5 * 64);
}
END_TEST

START_TEST(amds_memory_controllers_have_no_names_but_codes)
{
	static const struct {
		const char *name, *text;
	} files[] = { { "type", "30\n" }, { "cpumask", "0\n" }, { "format/event", "config:0-7\n" },
		{ "format/rdwrmask", "config:8-9\n" } };
	char name[256];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(name, sizeof name, PMUS "amd_umc_3/%s", files[i].name);
		fake_proc_put(&proc, name, files[i].text);
	}
	begin_counting();
	unsigned reads = 0, writes = 0;
	for (int i = 0; i < FAKE_PERF_MAX; i++) {
		reads += perf.counters[i].is_open && perf.counters[i].code.type == 30 && perf.counters[i].code.config == 0x10a;
		writes += perf.counters[i].is_open && perf.counters[i].code.type == 30 && perf.counters[i].code.config == 0x20a;
	}
	ck_assert_uint_eq(reads, 1);
	ck_assert_uint_eq(writes, 1);
}
END_TEST

START_TEST(memory_traffic_that_may_not_be_counted_says_at_which_level_it_may)
{
	put_imc(0);
	fake_perf_refuse(&perf, 18, FAKE_PERF_ANY, -1, EACCES);
	begin_counting();
	assert_says(missing("memory traffic"),
		"perf_event_paranoid is 1: without CAP_PERFMON no whole CPU or socket may be counted");
	assert_says(remedy("memory traffic"), "kernel.perf_event_paranoid=0");
	ck_assert_int_ge(event_numbers[PERF_ROLE_CYCLES], 0);
}
END_TEST

START_TEST(a_damaged_description_of_a_controller_opens_nothing)
{
	static const char *const terms[] = { "event=zebra", "nothing=1", "event=", "", "../../type=1", "event=4,,=" };
	put_imc(0);
	fake_proc_put(&proc, PMUS "uncore_imc_0/events/cas_count_read", terms[_i]);
	fake_proc_put(&proc, PMUS "uncore_imc_0/format/event", _i % 2 ? "config:0-7\n" : "config:70-99,x\n");
	fake_proc_put(&proc, PMUS "uncore_imc_0/cpumask", _i == 2 ? "-5,900000000000\n" : "0-999999\n");
	ck_assert_int_eq(begin_counting(), STATUS_OK);
	fake_perf_run(&perf, -1, 0.1);
	ck_assert_int_eq(read_at(10.3), STATUS_OK);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("perf source");
	TCase *cases = tcase_create("perf source");
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_set_timeout(cases, 30);
	tcase_add_test(cases, nothing_is_opened_before_counters_are_wanted);
	tcase_add_test(cases, counters_no_longer_wanted_are_closed_and_restart);
	tcase_add_test(cases, a_watch_without_a_process_has_nothing_to_count);
	tcase_add_test(cases, every_thread_is_counted_and_summed_by_process);
	tcase_add_test(cases, threads_that_come_are_counted_and_those_that_end_keep_their_counts);
	tcase_add_test(cases, a_process_that_ends_emits_its_last_counts_once);
	tcase_add_test(cases, the_end_of_the_target_is_the_end);
	tcase_add_test(cases, multiplexed_counters_are_scaled_and_their_share_emitted);
	tcase_add_test(cases, counters_without_a_turn_are_omitted_and_caught_up_at_the_next);
	tcase_add_test(cases, counters_that_never_get_a_turn_are_reported_until_they_do);
	tcase_add_test(cases, a_sum_never_falls_when_the_share_does);
	tcase_add_test(cases, before_a_thread_has_run_hardware_counts_are_unknown);
	tcase_add_test(cases, a_group_that_is_full_is_followed_by_another);
	tcase_add_test(cases, a_short_reading_is_no_reading);
	tcase_add_test(cases, counters_that_go_back_add_nothing);
	tcase_add_loop_test(cases, a_machine_without_hardware_counters_counts_the_kernels_own, 0, 2);
	tcase_add_test(cases, a_level_that_refuses_the_kernels_part_leaves_user_space);
	tcase_add_loop_test(cases, a_level_that_refuses_all_is_named_with_what_helps, 0, 2);
	tcase_add_test(cases, a_seccomp_filter_is_distinguished_from_the_level);
	tcase_add_test(cases, a_kernel_without_perf_is_reported);
	tcase_add_test(cases, a_role_that_this_cpu_lacks_is_missing_by_name);
	tcase_add_test(cases, an_unknown_cpu_has_no_formula_for_flops);
	tcase_add_test(cases, a_process_of_another_user_is_named);
	tcase_add_test(cases, threads_without_a_descriptor_are_left_out_and_reported);
	tcase_add_test(cases, there_is_a_bound_for_threads);
	tcase_add_test(cases, a_limit_of_descriptors_is_raised_and_the_tree_knows_it);
	tcase_add_test(cases, chosen_events_replace_the_default_ones);
	tcase_add_test(cases, a_snapshot_emits_every_event_again);
	tcase_add_test(cases, memory_traffic_is_emitted_by_socket);
	tcase_add_test(cases, amds_memory_controllers_have_no_names_but_codes);
	tcase_add_test(cases, memory_traffic_that_may_not_be_counted_says_at_which_level_it_may);
	tcase_add_loop_test(cases, a_damaged_description_of_a_controller_opens_nothing, 0, 6);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
