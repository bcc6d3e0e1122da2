#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/machine/perf.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

enum { CLOCK, CYCLES, INSTRUCTIONS, FLOPS, BYTES, FAULTS };

static struct script script;
static const struct perf *perf;

static void emit_event_as(double at_s, unsigned number, unsigned role, const char *name)
{
	struct record *record = script_add(&script, RECORD_PERF_EVENT, at_s);
	record->perf_event.event = number;
	record->perf_event.role = role;
	record->perf_event.name = name;
}

static void setup(void)
{
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "train.py", true);
	emit_event_as(0, CLOCK, PERF_ROLE_TASK_CLOCK, "task-clock");
	emit_event_as(0, CYCLES, PERF_ROLE_CYCLES, "cycles");
	emit_event_as(0, INSTRUCTIONS, PERF_ROLE_INSTRUCTIONS, "instructions");
	emit_event_as(0, FLOPS, PERF_ROLE_FLOPS, "FLOPS");
	emit_event_as(0, BYTES, PERF_ROLE_MEMORY_BYTES, "memory traffic");
	script_apply(&script, 0);
	perf = &script.model->perf;
}

static void teardown(void) { script_close(&script); }

static void emit(double at_s, int32_t pid, unsigned event, double value, double counted_ratio)
{
	struct record *record = script_add(&script, RECORD_PERF_COUNT, at_s);
	record->perf_count.pid = pid;
	record->perf_count.event = event;
	record->perf_count.value = value;
	record->perf_count.counted_ratio = counted_ratio;
}

static void emit_one(double at_s, int32_t pid, unsigned event, double value)
{
	emit(at_s, pid, event, value, 1);
	script_apply(&script, at_s);
}

#define NEAR(a, b) ck_assert_double_eq_tol(a, b, 1e-6 * (1 + fabs((double)(b))))

START_TEST(nothing_is_known_before_it_was_counted_twice)
{
	ck_assert_int_eq(perf->since_ns, 0);
	ck_assert_uint_eq(perf->event_count, 5);
	ck_assert(
		isnan(perf->cpus) && isnan(perf->ipc) && isnan(perf->events[CLOCK].total) && isnan(perf->flops_per_batch));
	emit_one(1, 100, CLOCK, 3e9);
	ck_assert(isnan(perf->cpus) && isnan(perf->events[CLOCK].per_s));
	ck_assert_double_eq(perf->events[CLOCK].total, 3e9);
	ck_assert_int_eq(perf->since_ns, script_ns(1));
	ck_assert(isnan(perf->events[CYCLES].total) && isnan(perf->events[CYCLES].counted_ratio));
}
END_TEST

START_TEST(rates_are_summed_over_the_tree)
{
	double value;
	int64_t time_ns;
	for (int i = 1; i <= 2; i++) {
		emit(i, 100, CLOCK, i * 2e9, 1);
		emit(i, 200, CLOCK, i * 0.5e9, 1);
		emit(i, 100, CYCLES, i * 4e9, 0.75);
		emit(i, 200, CYCLES, i * 1e9, 0.5);
		emit(i, 100, INSTRUCTIONS, i * 9e9, 1);
		emit(i, 200, INSTRUCTIONS, i * 1e9, 1);
		script_apply(&script, i);
	}
	NEAR(perf->cpus, 2.5);
	NEAR(perf->ipc, 2);
	NEAR(perf->clock_hz, 2e9);
	NEAR(perf->events[CYCLES].per_s, 5e9);
	NEAR(perf->events[CYCLES].total, 10e9);
	ck_assert_double_eq(perf->events[CYCLES].counted_ratio, 0.5);
	ck_assert_uint_eq(perf->process_count, 2);
	NEAR(perf->processes[1].per_s[CYCLES], 1e9);
	NEAR(perf->processes[0].total[CLOCK], 4e9);
	ck_assert(series_last(perf->ipc_series, &time_ns, &value) && time_ns == script_ns(2));
	NEAR(value, 2);
	ck_assert(series_last(perf->events[CLOCK].series, &time_ns, &value));
	ck_assert_ptr_eq(perf_find(perf, PERF_ROLE_CYCLES), &perf->events[CYCLES]);
	ck_assert_ptr_null(perf_find(perf, PERF_ROLE_BRANCHES));
}
END_TEST

START_TEST(misses_and_stalls_are_shares)
{
	static const struct {
		enum perf_role role;
		double per_s;
	} emitted[] = {
		{ PERF_ROLE_CACHE_REFERENCES, 400 },
		{ PERF_ROLE_CACHE_MISSES, 100 },
		{ PERF_ROLE_BRANCHES, 1000 },
		{ PERF_ROLE_BRANCH_MISSES, 10 },
		{ PERF_ROLE_STALLED_FRONT, 200 },
		{ PERF_ROLE_STALLED_BACK, 500 },
	};
	for (unsigned i = 0; i < 6; i++)
		emit_event_as(1, 10 + i, emitted[i].role, "event");
	for (int at = 1; at <= 2; at++) {
		for (unsigned i = 0; i < 6; i++)
			emit(at, 100, 10 + i, emitted[i].per_s * at, 1);
		emit(at, 100, CYCLES, 1000 * at, 1);
		script_apply(&script, at);
	}
	NEAR(perf->cache_miss_ratio, 0.25);
	NEAR(perf->branch_miss_ratio, 0.01);
	NEAR(perf->stalled_front_ratio, 0.2);
	NEAR(perf->stalled_back_ratio, 0.5);
	ck_assert(!perf->events[7].is_used && isnan(perf->ipc));
}
END_TEST

START_TEST(cycles_of_user_space_alone_make_no_clock)
{
	emit_event_as(1, CYCLES, PERF_ROLE_CYCLES, "cycles:u");
	for (int i = 1; i <= 2; i++) {
		emit(i, 100, CLOCK, i * 1e9, 1);
		emit_one(i, 100, CYCLES, i * 2e9);
	}
	NEAR(perf->events[CYCLES].per_s, 2e9);
	ck_assert(isnan(perf->clock_hz));
}
END_TEST

START_TEST(counts_of_an_ended_process_stay_in_the_sum)
{
	for (int i = 1; i <= 2; i++) {
		emit(i, 200, CLOCK, i * 1e9, 1);
		emit_one(i, 100, CLOCK, i * 1e9);
	}
	NEAR(perf->cpus, 2);
	for (int i = 3; i <= 6; i++)
		emit_one(i, 100, CLOCK, i * 1e9);
	ck_assert_uint_eq(perf->process_count, 1);
	NEAR(perf->cpus, 1);
	NEAR(perf->events[CLOCK].total, 8e9);
	/* Its pid comes back as another process. */
	emit(7, 200, CLOCK, 0.5e9, 1);
	emit_one(7, 100, CLOCK, 7e9);
	NEAR(perf->events[CLOCK].total, 9.5e9);
	NEAR(perf->cpus, 1);
}
END_TEST

START_TEST(counting_that_restarts_is_no_decrease)
{
	emit_one(1, 100, CLOCK, 5e9);
	emit_one(2, 100, CLOCK, 6e9);
	emit_one(3, 100, CLOCK, 1e9);
	ck_assert(isnan(perf->cpus));
	NEAR(perf->events[CLOCK].total, 7e9);
	NEAR(perf->processes[0].total[CLOCK], 7e9);
	emit_one(4, 100, CLOCK, 1.5e9);
	NEAR(perf->cpus, 0.5);
	NEAR(perf->events[CLOCK].total, 7.5e9);
}
END_TEST

START_TEST(an_event_that_is_not_emitted_has_no_rate)
{
	for (int i = 1; i <= 2; i++) {
		emit(i, 100, CYCLES, i * 1e9, 1);
		emit_one(i, 100, CLOCK, i * 1e9);
	}
	NEAR(perf->events[CYCLES].per_s, 1e9);
	emit_one(3, 100, CLOCK, 3e9);
	ck_assert(isnan(perf->events[CYCLES].per_s) && isnan(perf->processes[0].per_s[CYCLES]));
	NEAR(perf->events[CYCLES].total, 2e9);
	NEAR(perf->cpus, 1);
}
END_TEST

START_TEST(counts_that_come_no_more_are_forgotten_and_a_pause_is_no_rate)
{
	emit_one(1, 100, CLOCK, 1e9);
	emit_one(2, 100, CLOCK, 2e9);
	script_apply(&script, 6);
	NEAR(perf->cpus, 1);
	script_apply(&script, 8);
	ck_assert(isnan(perf->cpus) && isnan(perf->events[CLOCK].per_s) && isnan(perf->processes[0].per_s[CLOCK]));
	NEAR(perf->events[CLOCK].total, 2e9);
	emit_one(20, 100, CLOCK, 3e9);
	ck_assert(isnan(perf->cpus));
	emit_one(21, 100, CLOCK, 4e9);
	NEAR(perf->cpus, 1);
}
END_TEST

START_TEST(another_event_under_the_same_number_starts_from_zero)
{
	emit_one(1, 100, CYCLES, 1e9);
	emit_one(2, 100, CYCLES, 2e9);
	emit_event_as(2.5, CYCLES, PERF_ROLE_CYCLES, "cycles");
	script_apply(&script, 2.5);
	NEAR(perf->events[CYCLES].total, 2e9);
	emit_event_as(3, CYCLES, PERF_ROLE_OTHER, "UOPS");
	script_apply(&script, 3);
	ck_assert(isnan(perf->events[CYCLES].total) && isnan(perf->processes[0].total[CYCLES]));
	ck_assert_str_eq(perf->events[CYCLES].name, "UOPS");
	ck_assert_ptr_null(perf_find(perf, PERF_ROLE_CYCLES));
	emit_one(4, 100, CYCLES, 5);
	NEAR(perf->events[CYCLES].total, 5);
}
END_TEST

/* -- memory traffic -- */

/* A second of a machine with 4 CPUs, of which so many are busy; the tree uses three. */
static void emit_second(int at, double busy)
{
	script_figure(&script, at, METRIC_SYSTEM_CPUS, 0, 4);
	script_figure(&script, at, METRIC_SYSTEM_CPU_BUSY, 0, at * busy * 1e9);
	script_figure(&script, at, METRIC_SYSTEM_CPU_IDLE, 0, at * (4 - busy) * 1e9);
	script_figure(&script, at, METRIC_SYSTEM_CPU_IO_WAIT, 0, 0);
	script_figure(&script, at, METRIC_SYSTEM_CPU_STOLEN, 0, 0);
	emit(at, 100, CLOCK, at * 3e9, 1);
	emit(at, 100, FLOPS, at * 40e9, 1);
	emit(at, 0, BYTES, at * 6e9, 1);
	emit(at, 1, BYTES, at * 4e9, 1);
	script_apply(&script, at);
}

START_TEST(sockets_are_summed_and_are_no_processes)
{
	emit_second(1, 3);
	emit_second(2, 3);
	NEAR(perf->bytes_per_s, 10e9);
	ck_assert_uint_eq(perf->process_count, 1);
	NEAR(perf->intensity, 4);
}
END_TEST

START_TEST(intensity_is_known_only_if_others_hardly_compute)
{
	emit_second(1, 3.6);
	emit_second(2, 3.6);
	NEAR(perf->bytes_per_s, 10e9);
	ck_assert(isnan(perf->intensity));
}
END_TEST

/* -- batches -- */

/* Steps of 0.25 s with so many FLOPs each, read four times a second but not at their ends. */
static void run_steps(unsigned count, double flops_a_step, double from_s)
{
	const double step_s = 0.25;
	double reading_s = from_s + 0.1;
	for (unsigned i = 0; i < count; i++) {
		double begin_s = from_s + i * step_s;
		script_batch_begin(&script, 0, begin_s, i);
		while (reading_s < begin_s + step_s) {
			emit(reading_s, 100, FLOPS, (reading_s - from_s) / step_s * flops_a_step, 1);
			reading_s += 0.26;
		}
		script_batch_end(&script, 0, begin_s + 0.2, begin_s, NAN);
		script_apply(&script, begin_s + 0.21);
	}
}

START_TEST(flops_of_a_batch_are_those_counted_over_recent_steps)
{
	struct run_state state = { .samples_per_batch = 32 };
	script_state(&script, &state);
	run_steps(60, 8e9, 1);
	NEAR(perf->flops_per_batch, 8e9);
	NEAR(perf->flops_per_sample, 8e9 / 32);
}
END_TEST

START_TEST(steps_of_less_than_a_second_are_too_few)
{
	run_steps(4, 8e9, 1);
	ck_assert(isnan(perf->flops_per_batch));
}
END_TEST

START_TEST(without_samples_there_are_no_flops_a_sample)
{
	run_steps(60, 8e9, 1);
	NEAR(perf->flops_per_batch, 8e9);
	ck_assert(isnan(perf->flops_per_sample));
}
END_TEST

START_TEST(a_long_run_keeps_to_its_recent_steps)
{
	run_steps(3000, 8e9, 1);
	ck_assert_double_eq_tol(perf->flops_per_batch, 8e9, 8e7);
}
END_TEST

START_TEST(mfu_follows_from_what_was_published)
{
	struct run_state state = { .samples_per_batch = 32 };
	struct run *run = script_run(&script);
	script_state(&script, &state);
	run_steps(60, 8e9, 1);
	run = script_run(&script);
	ck_assert(isnan(run_mfu(script.model, run)));
	script_meta(&script, "flops_per_sample", "1e9");
	script_apply(&script, 20);
	ck_assert(isnan(run_mfu(script.model, script_run(&script))));
	script_meta(&script, "peak_flops", "512e9");
	script_apply(&script, 21);
	/* 32 samples in 0.25 s: 128 a second. */
	NEAR(run_mfu(script.model, script_run(&script)), 0.25);
	static const char *const junk[] = { "", "fast", "1e9x", "-3", "0", "inf", "nan" };
	for (size_t i = 0; i < sizeof junk / sizeof *junk; i++) {
		script_meta(&script, "peak_flops", junk[i]);
		script_apply(&script, 22 + (double)i);
		ck_assert(isnan(run_mfu(script.model, script_run(&script))));
	}
}
END_TEST

/* -- junk -- */

START_TEST(junk_changes_nothing)
{
	emit_one(1, 100, CLOCK, 1e9);
	emit_event_as(1.1, 4000000000u, PERF_ROLE_CYCLES, "far");
	emit_event_as(1.1, 20, 9999, NULL);
	emit(1.2, 100, 31, 5, 1);
	emit(1.2, 100, 4000000000u, 5, 1);
	emit(1.3, 100, CLOCK, NAN, 1);
	emit(1.3, 100, CLOCK, -1, 1);
	emit(0.5, 100, CLOCK, 9e9, 1);
	emit(1.4, 100, CYCLES, 1, 77);
	script_apply(&script, 1.5);
	ck_assert_uint_eq(perf->event_count, 21);
	ck_assert_int_eq(perf->events[20].role, PERF_ROLE_OTHER);
	ck_assert_double_eq(perf->events[CLOCK].total, 1e9);
	ck_assert(isnan(perf->events[CYCLES].counted_ratio));
	emit_one(2, 100, CLOCK, 2e9);
	NEAR(perf->cpus, 1);
}
END_TEST

START_TEST(there_is_a_bound_for_processes_and_sockets)
{
	for (int at = 1; at <= 2; at++) {
		for (int32_t pid = 0; pid < 500; pid++) {
			emit(at, pid, CLOCK, at * 1e9, 1);
			emit(at, pid, BYTES, at * 1e9, 1);
		}
		script_apply(&script, at);
	}
	ck_assert_uint_eq(perf->process_count, PERF_PROCESSES_MAX);
	NEAR(perf->cpus, PERF_PROCESSES_MAX);
	NEAR(perf->bytes_per_s, 16e9);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model of counters");
	TCase *cases = tcase_create("model of counters");
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, nothing_is_known_before_it_was_counted_twice);
	tcase_add_test(cases, rates_are_summed_over_the_tree);
	tcase_add_test(cases, misses_and_stalls_are_shares);
	tcase_add_test(cases, cycles_of_user_space_alone_make_no_clock);
	tcase_add_test(cases, counts_of_an_ended_process_stay_in_the_sum);
	tcase_add_test(cases, counting_that_restarts_is_no_decrease);
	tcase_add_test(cases, an_event_that_is_not_emitted_has_no_rate);
	tcase_add_test(cases, counts_that_come_no_more_are_forgotten_and_a_pause_is_no_rate);
	tcase_add_test(cases, another_event_under_the_same_number_starts_from_zero);
	tcase_add_test(cases, sockets_are_summed_and_are_no_processes);
	tcase_add_test(cases, intensity_is_known_only_if_others_hardly_compute);
	tcase_add_test(cases, flops_of_a_batch_are_those_counted_over_recent_steps);
	tcase_add_test(cases, steps_of_less_than_a_second_are_too_few);
	tcase_add_test(cases, without_samples_there_are_no_flops_a_sample);
	tcase_add_test(cases, a_long_run_keeps_to_its_recent_steps);
	tcase_add_test(cases, mfu_follows_from_what_was_published);
	tcase_add_test(cases, junk_changes_nothing);
	tcase_add_test(cases, there_is_a_bound_for_processes_and_sockets);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
