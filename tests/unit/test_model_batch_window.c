#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/histogram.h"
#include "src/model/batch_window/batch_window.h"
#include "src/model/machine/readings.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-3
#define TICK 0.2

enum { TRAINER = 100, WORKER = 101, COMPILER = 200 };

static struct script script;
static double at_s;

/* The kernel's counters of the trainer, and their growth per second. */
static double cpu_s, cpu_per_s, read_bytes, read_per_s;

static void emit_trainer(double time_s)
{
	script_figure(&script, time_s, METRIC_PROCESS_STATE, TRAINER, 'S');
	script_figure(&script, time_s, METRIC_PROCESS_CPU_USER, TRAINER, cpu_s * 1e9);
	script_figure(&script, time_s, METRIC_PROCESS_READ, TRAINER, read_bytes);
}

/* Reads on, up to `until_s`, five times a second. */
static void read_until(double until_s)
{
	while (at_s + TICK <= until_s + 1e-9) {
		at_s += TICK;
		cpu_s += cpu_per_s * TICK;
		read_bytes += read_per_s * TICK;
		emit_trainer(at_s);
		script_apply(&script, at_s);
	}
}

static void setup(void)
{
	script_open(&script, NULL);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
	at_s = cpu_s = read_bytes = 0;
	cpu_per_s = 0.5;
	read_per_s = 0;
	emit_trainer(0);
	script_apply(&script, 0);
}

static void teardown(void) { script_close(&script); }

/* One batch, emitted now; its begin and end may be earlier. */
static void batch(double begin_s, double end_s) { script_whole_batch(&script, begin_s, end_s, at_s); }

static struct batch_window batch_window;

static bool read_window(void)
{
	return model_batch_window(script.model, script_run(&script), script_newest_batch(&script), &batch_window);
}

static const struct window_figure *figure(enum metric metric, int32_t instance)
{
	const struct window_figure *found = batch_window_find(&batch_window, metric, instance);
	ck_assert_msg(found != NULL, "%s of %d is not there", metric_table[metric].name, (int)instance);
	return found;
}

static const struct window_event *event(enum window_event_kind kind)
{
	for (size_t i = 0; i < batch_window.event_count; i++)
		if (batch_window.events[i].kind == kind)
			return &batch_window.events[i];
	return NULL;
}

/* -- figures -- */

START_TEST(a_counter_grew_by_what_lies_inside_at_least_and_by_what_encloses_it_at_most)
{
	read_until(10);
	cpu_per_s = 1;
	read_until(12);
	batch(10.1, 11.5);
	ck_assert(read_window());
	ck_assert_uint_eq(batch_window.readings, 7); /* 10.2 … 11.4 */
	ck_assert_double_eq_tol(batch_window.seconds, 1.4, NEAR);
	const struct window_figure *cpu = figure(METRIC_PROCESS_CPU_USER, TRAINER);
	ck_assert_double_eq_tol(cpu->min, 1.2e9, 1e3);
	ck_assert_double_eq_tol(cpu->max, 1.6e9, 1e3);
	ck_assert_double_eq_tol(cpu->baseline, 0.5e9 * 1.4, 1e3);
	const struct window_figure *read = figure(METRIC_PROCESS_READ, TRAINER);
	ck_assert_double_eq(read->min, 0);
	ck_assert_double_eq(read->max, 0);
	ck_assert_double_eq(read->baseline, 0);
}
END_TEST

START_TEST(a_window_between_two_readings_has_bounds_only)
{
	read_until(10);
	read_per_s = 1e6;
	read_until(11);
	batch(10.25, 10.35);
	ck_assert(read_window());
	ck_assert_uint_eq(batch_window.readings, 0);
	ck_assert_double_eq(figure(METRIC_PROCESS_READ, TRAINER)->min, 0);
	ck_assert_double_eq_tol(figure(METRIC_PROCESS_READ, TRAINER)->max, 2e5, 1);
	ck_assert_double_eq(figure(METRIC_PROCESS_READ, TRAINER)->baseline, 0);
}
END_TEST

START_TEST(before_a_reading_after_the_end_has_come_it_is_not_known)
{
	read_until(10);
	batch(9.5, 10.1);
	ck_assert(!read_window());
	read_until(10.2);
	ck_assert(read_window());
}
END_TEST

START_TEST(figures_from_before_pmtop_started_are_unknown)
{
	read_until(2);
	batch(-3, -1);
	ck_assert(!read_window());
	/* A batch that had begun: the growth before the first reading is unknown. */
	batch(-0.5, 1.1);
	ck_assert(read_window());
	ck_assert_double_eq_tol(figure(METRIC_PROCESS_CPU_USER, TRAINER)->min, 0.5e9, 1e3);
	ck_assert(isnan(figure(METRIC_PROCESS_CPU_USER, TRAINER)->max));
	ck_assert(isnan(figure(METRIC_PROCESS_CPU_USER, TRAINER)->baseline));
}
END_TEST

START_TEST(a_counter_that_was_reset_in_the_window_has_no_bound)
{
	read_until(10);
	cpu_s = 0;
	read_until(12);
	batch(9.9, 11.5);
	ck_assert(read_window());
	ck_assert(isnan(figure(METRIC_PROCESS_CPU_USER, TRAINER)->max));
	ck_assert_double_le(figure(METRIC_PROCESS_CPU_USER, TRAINER)->min, 0.7e9);
}
END_TEST

START_TEST(the_baseline_is_a_minute_and_two_minutes_are_retained)
{
	cpu_per_s = 0.9;
	read_until(300);
	cpu_per_s = 0.2;
	read_until(400);
	batch(398, 399);
	ck_assert(read_window());
	ck_assert_double_eq_tol(figure(METRIC_PROCESS_CPU_USER, TRAINER)->baseline, 0.2e9, 1e3);
	ck_assert_double_eq(figure(METRIC_PROCESS_READ, TRAINER)->baseline, 0);
	ck_assert_double_eq(figure(METRIC_PROCESS_READ, TRAINER)->max, 0);
	batch(200, 201);
	ck_assert(!read_window());
}
END_TEST

START_TEST(machine_and_cgroup_are_there_too)
{
	for (int i = 0; i <= 60; i++) {
		double time_s = i * TICK, slow = i > 50 ? 1 : 0;
		script_figure(&script, time_s, METRIC_SYSTEM_CPU_IO_WAIT, 0, 1e7 * i);
		script_figure(&script, time_s, METRIC_CGROUP_THROTTLED, 0, slow * (i - 50) * 1e8);
		script_figure(&script, time_s, METRIC_DISK_BUSY, 1, 2e7 * i);
		read_until(time_s);
	}
	batch(10.5, 11.5);
	ck_assert(read_window());
	ck_assert_double_eq_tol(figure(METRIC_SYSTEM_CPU_IO_WAIT, 0)->min, 4e7, 1);
	ck_assert_double_eq_tol(figure(METRIC_CGROUP_THROTTLED, 0)->min, 4e8, 1);
	ck_assert_double_eq(figure(METRIC_CGROUP_THROTTLED, 0)->baseline, 0);
	ck_assert_double_eq_tol(figure(METRIC_DISK_BUSY, 1)->max, 1.2e8, 1);
}
END_TEST

START_TEST(readings_give_the_bounds_of_every_reading_though_they_keep_fewer)
{
	enum { COUNT = 400 };
	static int64_t time_ns[COUNT];
	static double value[COUNT];
	struct readings readings = { 0 };
	srand(7);
	for (int i = 0; i < COUNT; i++) {
		time_ns[i] = (i ? time_ns[i - 1] : NS_PER_S) + (rand() % 300 + 50) * NS_PER_MS;
		double growth = rand() % 3 ? 0 : rand() % 1000;
		value[i] = (i ? value[i - 1] : 0) + growth;
		readings_push(&readings, time_ns[i], i ? growth : NAN);
	}
	for (int n = 0; n < 5000; n++) {
		int64_t from_ns = time_ns[0] - NS_PER_S + rand() % 85000 * NS_PER_MS,
				to_ns = from_ns + (rand() % 5000 + 1) * NS_PER_MS;
		int before = -1, first = COUNT, last = -1, after = COUNT;
		for (int i = 0; i < COUNT; i++) {
			before = time_ns[i] <= from_ns ? i : before;
			first = time_ns[i] >= from_ns && first == COUNT ? i : first;
			last = time_ns[i] <= to_ns ? i : last;
			after = time_ns[i] >= to_ns && after == COUNT ? i : after;
		}
		double min, max;
		readings_bounds(&readings, from_ns, to_ns, &min, &max);
		ck_assert_double_eq_tol(min, last > first ? value[last] - value[first] : 0, 1e-6);
		if (before < 0 || after == COUNT)
			ck_assert(isnan(max));
		else
			ck_assert_double_eq_tol(max, value[after] - value[before], 1e-6);
	}
	readings_release(&readings);
}
END_TEST

/* -- events -- */

static void emit_child(double time_s, int32_t pid, const char *command)
{
	script_process(&script, time_s, pid, (uint64_t)pid, command, false);
	script.set.records[script.set.count - 1].process.parent = TRAINER;
}

static void lose_child(double time_s, int32_t pid)
{
	script_add(&script, RECORD_PROCESS_GONE, time_s)->process.pid = pid;
}

START_TEST(a_compiler_that_came_and_went_is_an_event_with_its_cpu)
{
	read_until(10);
	emit_child(10.2, COMPILER, "cc1plus");
	for (int i = 1; i <= 5; i++) {
		script_figure(&script, at_s + TICK, METRIC_PROCESS_STATE, COMPILER, 'R');
		script_figure(&script, at_s + TICK, METRIC_PROCESS_CPU_USER, COMPILER, 0.18e9 * i);
		read_until(at_s + TICK);
	}
	batch(9.9, 10.95);
	ck_assert(read_window());
	/* before it came it used nothing */
	ck_assert_double_eq_tol(figure(METRIC_PROCESS_CPU_USER, COMPILER)->max, 0.9e9, 1e3);
	lose_child(11.2, COMPILER);
	read_until(12);
	batch(9.9, 11.9);
	ck_assert(read_window());
	const struct window_event *came = event(WINDOW_CHILD_CAME), *went = event(WINDOW_CHILD_WENT),
							  *ran = event(WINDOW_CHILD_RAN);
	ck_assert_ptr_nonnull(came);
	ck_assert_int_eq(came->pid, COMPILER);
	ck_assert_str_eq(came->text, "cc1plus");
	ck_assert_double_eq_tol(came->value, 0.9, NEAR); /* all since it began */
	ck_assert_ptr_nonnull(went);
	ck_assert_str_eq(went->text, "cc1plus");
	ck_assert_ptr_nonnull(ran);
	ck_assert_double_eq_tol(figure(METRIC_PROCESS_CPU_USER, COMPILER)->min, 0.9e9, 1e3);
	/* its usage after its last reading is unknown */
	ck_assert(isnan(figure(METRIC_PROCESS_CPU_USER, COMPILER)->max));
	/* A later window does not have it. */
	batch(11.5, 11.9);
	ck_assert(read_window());
	ck_assert_ptr_null(event(WINDOW_CHILD_CAME));
	ck_assert_ptr_null(event(WINDOW_CHILD_WENT));
	ck_assert_ptr_null(event(WINDOW_CHILD_RAN));
}
END_TEST

START_TEST(processes_older_than_pmtop_are_not_new)
{
	emit_child(0.2, COMPILER, "nvcc");
	teardown();
	script_open(&script, NULL);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
	emit_child(0, COMPILER, "nvcc");
	at_s = 0;
	emit_trainer(0);
	script_apply(&script, 0);
	read_until(2);
	batch(0.05, 1.5);
	ck_assert(read_window());
	ck_assert_ptr_null(event(WINDOW_CHILD_CAME));
}
END_TEST

/* A worker's row: `fetches` of each_s each. */
static struct worker_row *emit_worker(
	double time_s, unsigned run, int32_t pid, uint32_t id, uint64_t fetches, double total_s, double begin_s)
{
	struct worker_row *row = sample_set_allocate(&script.set, sizeof *row);
	uint32_t *histogram = sample_set_allocate(&script.set, HISTOGRAM_BUCKETS * sizeof *histogram);
	struct record *record = script_add(&script, RECORD_WORKER, time_s);
	record->run = (uint8_t)run;
	record->worker = row;
	histogram[histogram_bucket((uint64_t)(0.1 * 1e9))] = (uint32_t)fetches;
	*row = (struct worker_row){ .pid = pid,
		.id = id,
		.count = 2,
		.start_ns = script_ns(0),
		.fetch_begin_ns = begin_s > 0 ? script_ns(begin_s) : 0,
		.fetches = fetches,
		.items = 8 * (double)fetches,
		.total_s = total_s,
		.min_s = 0.1,
		.max_s = 0.1,
		.histogram = histogram };
	return row;
}

START_TEST(the_longest_of_several_fetches_between_two_readings_is_found)
{
	emit_child(0, WORKER, "pt_data_worker");
	emit_worker(0, 1, WORKER, 0, 100, 10, 0);
	read_until(9.9);
	emit_worker(10, 1, WORKER, 0, 100, 10, 0);
	read_until(10);
	struct worker_row *row = emit_worker(11, 1, WORKER, 0, 104, 10.75, 10.9);
	((uint32_t *)(uintptr_t)row->histogram)[histogram_bucket(100000000)] = 101;
	((uint32_t *)(uintptr_t)row->histogram)[histogram_bucket(600000000)] = 1;
	((uint32_t *)(uintptr_t)row->histogram)[histogram_bucket(10000000)] = 2;
	row->max_s = 0.6;
	read_until(12);
	batch(10.2, 10.8);
	ck_assert(read_window());
	ck_assert_ptr_nonnull(event(WINDOW_WORKER_FETCHED));
	/* until the window's end; the next one began at 10.9 */
	ck_assert_double_eq_tol(event(WINDOW_WORKER_FETCHED)->value, 0.5, 0.02);
	/* It may have ended at any time between the readings at 10 and 11. */
	batch(9.3, 10.2);
	ck_assert(read_window());
	ck_assert_ptr_nonnull(event(WINDOW_WORKER_FETCHED));
	ck_assert_double_eq_tol(event(WINDOW_WORKER_FETCHED)->value, 0.6, 0.02);
	batch(9.3, 9.8);
	ck_assert(read_window());
	ck_assert_ptr_null(event(WINDOW_WORKER_FETCHED));
}
END_TEST

static void states(int32_t pid, char state, double until_s)
{
	while (at_s + TICK <= until_s + 1e-9) {
		script_figure(&script, at_s + TICK, METRIC_PROCESS_STATE, pid, state);
		read_until(at_s + TICK);
	}
}

START_TEST(a_workers_wait_for_the_disk_is_an_event_with_its_length)
{
	emit_child(0, WORKER, "pt_data_worker");
	emit_worker(0, 1, WORKER, 3, 10, 1, 0);
	states(WORKER, 'S', 10);
	states(WORKER, 'D', 11);
	states(WORKER, 'S', 12);
	batch(10.1, 11.9);
	ck_assert(read_window());
	const struct window_event *disk = event(WINDOW_WORKER_ON_DISK);
	ck_assert_ptr_nonnull(disk);
	ck_assert_int_eq(disk->pid, WORKER);
	ck_assert_uint_eq(disk->worker, 3);
	ck_assert_double_eq_tol(disk->value, 1.0, NEAR); /* read at 10.2 … 11.0, over at 11.2 */
	ck_assert_double_eq(disk->baseline, 0);
	ck_assert_ptr_null(event(WINDOW_TARGET_ON_DISK));
	ck_assert_ptr_null(event(WINDOW_CHILD_RAN));
	/* A window between two readings in D: the process may have run in it. */
	batch(10.65, 10.75);
	ck_assert(read_window());
	ck_assert_ptr_null(event(WINDOW_WORKER_ON_DISK));
}
END_TEST

START_TEST(a_stop_that_began_before_and_ended_after_is_an_event)
{
	emit_child(0, WORKER, "pt_data_worker");
	states(WORKER, 'S', 10);
	states(WORKER, 'T', 12);
	states(WORKER, 'S', 13);
	batch(11.05, 11.15);
	ck_assert(read_window());
	const struct window_event *stopped = event(WINDOW_WORKER_STOPPED);
	ck_assert_ptr_nonnull(stopped);
	ck_assert_double_eq_tol(stopped->value, 0.1, NEAR);
	ck_assert_uint_eq(stopped->worker, UINT32_MAX);
	batch(12.5, 12.9);
	ck_assert(read_window());
	ck_assert_ptr_null(event(WINDOW_WORKER_STOPPED));
}
END_TEST

START_TEST(a_dead_worker_and_a_long_fetch_are_events)
{
	emit_child(0, WORKER, "pt_data_worker");
	emit_child(0, WORKER + 1, "pt_data_worker");
	emit_worker(0, 1, WORKER, 0, 100, 10, 0);
	emit_worker(0, 2, WORKER + 1, 1, 100, 10, 0);
	read_until(10);
	emit_worker(10, 1, WORKER, 0, 100, 10, 10);
	read_until(11);
	emit_worker(11, 1, WORKER, 0, 101, 10.9, 0); /* ended at 10.9 */
	struct record *gone = script_add(&script, RECORD_WORKER_GONE, 11.05);
	gone->run = 2;
	gone->text = "killed by signal 9";
	script_apply(&script, 11.05);
	read_until(12);
	batch(10.5, 11.5);
	ck_assert(read_window());
	const struct window_event *fetched = event(WINDOW_WORKER_FETCHED), *went = event(WINDOW_WORKER_WENT);
	ck_assert_ptr_nonnull(fetched);
	ck_assert_uint_eq(fetched->worker, 0);
	ck_assert_double_eq_tol(fetched->value, 0.9, NEAR);
	ck_assert_double_eq_tol(fetched->baseline, 0.1, 0.005);
	ck_assert_ptr_nonnull(went);
	ck_assert_uint_eq(went->worker, 1);
	ck_assert_str_eq(went->text, "killed by signal 9");
}
END_TEST

START_TEST(a_fetch_that_still_runs_counts_up_to_the_end_of_the_window)
{
	emit_child(0, WORKER, "pt_data_worker");
	emit_worker(0, 1, WORKER, 0, 100, 10, 0);
	read_until(10);
	emit_worker(10, 1, WORKER, 0, 100, 10, 10);
	read_until(13);
	batch(10.5, 12);
	ck_assert(read_window());
	ck_assert_ptr_nonnull(event(WINDOW_WORKER_FETCHED));
	ck_assert_double_eq_tol(event(WINDOW_WORKER_FETCHED)->value, 2, NEAR);
	/* A worker as slow as the others is no event. */
	emit_worker(13, 1, WORKER, 0, 101, 13, 13.45);
	read_until(14);
	batch(13.1, 13.5);
	ck_assert(read_window());
	ck_assert_ptr_null(event(WINDOW_WORKER_FETCHED));
}
END_TEST

static void emit_clocks(double time_s, double offset_s, double suspended_s)
{
	script_figure(&script, time_s, METRIC_SYSTEM_CLOCK_OFFSET, 0, offset_s * 1e9);
	script_figure(&script, time_s, METRIC_SYSTEM_SUSPENDED, 0, suspended_s * 1e9);
}

START_TEST(a_clock_step_a_suspend_and_a_mark_are_events)
{
	emit_clocks(9.8, 1000, 0);
	read_until(9.8);
	emit_clocks(10.2, 1000.0001, 0);
	read_until(10.2);
	emit_clocks(10.8, 998, 0);
	read_until(10.8);
	emit_clocks(12, 1028, 30);
	script_event(&script, RECORD_MARK, 0, 10.6)->text = "checkpoint 4";
	read_until(12.4);
	batch(10.3, 12.2);
	ck_assert(read_window());
	ck_assert_ptr_nonnull(event(WINDOW_CLOCK_STEPPED));
	ck_assert_double_eq_tol(event(WINDOW_CLOCK_STEPPED)->value, -2, NEAR);
	ck_assert_ptr_nonnull(event(WINDOW_SUSPENDED));
	ck_assert_double_eq_tol(event(WINDOW_SUSPENDED)->value, 30, NEAR);
	ck_assert_ptr_nonnull(event(WINDOW_MARKED));
	ck_assert_str_eq(event(WINDOW_MARKED)->text, "checkpoint 4");
}
END_TEST

START_TEST(more_than_fits_leaves_the_busiest_and_some_of_each_kind)
{
	for (int i = 0; i < 100; i++)
		emit_child(0, 1000 + i, "helper");
	read_until(10);
	for (int n = 1; n <= 5; n++) {
		for (int i = 0; i < 100; i++) {
			script_figure(&script, at_s + TICK, METRIC_PROCESS_STATE, 1000 + i, i < 50 ? 'D' : 'R');
			script_figure(&script, at_s + TICK, METRIC_PROCESS_CPU_USER, 1000 + i, (i == 42 ? 2e8 : 1e7) * n);
			script_figure(&script, at_s + TICK, METRIC_PROCESS_READ, 1000 + i, 10);
		}
		read_until(at_s + TICK);
	}
	read_until(12);
	batch(10.1, 11.1);
	ck_assert(read_window());
	ck_assert_uint_eq(batch_window.figure_count, WINDOW_FIGURES_MAX);
	ck_assert_uint_le(batch_window.event_count, WINDOW_EVENTS_MAX);
	ck_assert_double_ge(figure(METRIC_PROCESS_CPU_USER, 1042)->min, 7e8);
	figure(METRIC_PROCESS_CPU_USER, TRAINER);
	size_t disks = 0;
	for (size_t i = 0; i < batch_window.event_count; i++)
		disks += batch_window.events[i].kind == WINDOW_WORKER_ON_DISK;
	ck_assert_uint_eq(disks, 3);
	ck_assert_ptr_nonnull(event(WINDOW_CHILD_RAN));
	ck_assert_int_eq(event(WINDOW_CHILD_RAN)->pid, 1042);
}
END_TEST

/* -- flagged batches -- */

static double step_at;

static void steps(size_t count, double step_s)
{
	for (size_t i = 0; i < count; i++) {
		script_batch_begin(&script, 0, step_at, script.batches);
		script_batch_end(&script, 0, step_at + 0.9 * step_s, step_at, NAN);
		step_at += step_s;
		read_until(step_at);
		script_apply(&script, step_at);
	}
}

static const struct flagged *newest_flagged(void)
{
	const struct run *run = script_run(&script);
	return run->flagged_count ? &run->flagged[run->flagged_count - 1] : NULL;
}

START_TEST(a_flagged_batch_has_it_as_soon_as_it_is_known_and_again_with_the_slower_counters)
{
	step_at = 0.05;
	script_figure(&script, 0, METRIC_SYSTEM_SWAP_IN, 0, 0);
	steps(40, 0.1);
	steps(1, 1);
	/* The flag comes with the next begin: before any reading after the step's end. */
	script_batch_begin(&script, 0, step_at, script.batches);
	script_apply(&script, step_at);
	ck_assert_uint_eq(script_run(&script)->flagged_count, 1);
	ck_assert_ptr_null(newest_flagged()->batch_window);
	read_until(step_at + TICK);
	ck_assert_ptr_nonnull(newest_flagged()->batch_window);
	ck_assert_double_eq_tol(newest_flagged()->batch_window->seconds, 1, NEAR);
	ck_assert(isnan(batch_window_find(newest_flagged()->batch_window, METRIC_SYSTEM_SWAP_IN, 0)->max));
	script_figure(&script, at_s, METRIC_SYSTEM_SWAP_IN, 0, 4096);
	read_until(step_at + 2);
	ck_assert(newest_flagged()->is_batch_window_settled);
	ck_assert_double_eq(batch_window_find(newest_flagged()->batch_window, METRIC_SYSTEM_SWAP_IN, 0)->max, 4096);
	const struct batch_window *retained = newest_flagged()->batch_window;
	read_until(step_at + 4);
	ck_assert_ptr_eq(newest_flagged()->batch_window, retained);
}
END_TEST

START_TEST(a_target_that_ends_right_after_leaves_what_is_known)
{
	step_at = 0.05;
	steps(40, 0.1);
	cpu_per_s = 1;
	read_until(5);
	step_at = 4.05;
	script_batch_begin(&script, 0, step_at, script.batches);
	script_batch_end(&script, 0, 5.1, step_at, NAN);
	script_batch_begin(&script, 0, 5.15, script.batches + 1);
	lose_child(5.15, TRAINER);
	script_apply(&script, 5.15);
	ck_assert(script.model->target_ended);
	ck_assert_ptr_nonnull(newest_flagged());
	ck_assert_ptr_nonnull(newest_flagged()->batch_window);
	ck_assert_double_eq_tol(
		batch_window_find(newest_flagged()->batch_window, METRIC_PROCESS_CPU_USER, TRAINER)->min, 0.8e9, 2e8);
	ck_assert(isnan(batch_window_find(newest_flagged()->batch_window, METRIC_PROCESS_CPU_USER, TRAINER)->max));
	ck_assert(newest_flagged()->is_batch_window_settled);
}
END_TEST

START_TEST(a_batch_that_a_person_flags_has_it_at_once_and_unflagged_no_more)
{
	step_at = 0.05;
	steps(40, 0.1);
	read_until(8);
	uint64_t ordinal = script_newest_batch(&script)->ordinal - 3;
	ck_assert(model_flag(script.model, 0, script_run(&script)->main_track, ordinal, true));
	ck_assert_ptr_nonnull(newest_flagged());
	ck_assert_ptr_nonnull(newest_flagged()->batch_window);
	ck_assert(model_flag(script.model, 0, script_run(&script)->main_track, ordinal, false));
	ck_assert_ptr_null(newest_flagged());
}
END_TEST

START_TEST(however_many_are_flagged_nothing_is_lost_or_left)
{
	step_at = 0.05;
	steps(40, 0.01);
	for (int i = 0; i < RUN_FLAGGED_MAX + 300; i++) {
		steps(3, 0.01);
		steps(1, 0.03);
	}
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, RUN_FLAGGED_MAX);
	for (size_t i = 0; i + 40 < run->flagged_count; i++) {
		const struct flagged *flagged = &run->flagged[i];
		ck_assert_ptr_nonnull(flagged->batch_window);
		ck_assert_int_eq(flagged->batch_window->from_ns, flagged->batch.begin_ns);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("batch window");
	TCase *batch_window_case = tcase_create("batch window");
	tcase_add_checked_fixture(batch_window_case, setup, teardown);
	tcase_set_timeout(batch_window_case, 60);
	const TTest *const tests[] = {
		a_counter_grew_by_what_lies_inside_at_least_and_by_what_encloses_it_at_most,
		a_window_between_two_readings_has_bounds_only,
		before_a_reading_after_the_end_has_come_it_is_not_known,
		figures_from_before_pmtop_started_are_unknown,
		a_counter_that_was_reset_in_the_window_has_no_bound,
		the_baseline_is_a_minute_and_two_minutes_are_retained,
		machine_and_cgroup_are_there_too,
		readings_give_the_bounds_of_every_reading_though_they_keep_fewer,
		a_compiler_that_came_and_went_is_an_event_with_its_cpu,
		processes_older_than_pmtop_are_not_new,
		a_workers_wait_for_the_disk_is_an_event_with_its_length,
		a_stop_that_began_before_and_ended_after_is_an_event,
		a_dead_worker_and_a_long_fetch_are_events,
		a_fetch_that_still_runs_counts_up_to_the_end_of_the_window,
		the_longest_of_several_fetches_between_two_readings_is_found,
		a_clock_step_a_suspend_and_a_mark_are_events,
		more_than_fits_leaves_the_busiest_and_some_of_each_kind,
		a_flagged_batch_has_it_as_soon_as_it_is_known_and_again_with_the_slower_counters,
		a_target_that_ends_right_after_leaves_what_is_known,
		a_batch_that_a_person_flags_has_it_at_once_and_unflagged_no_more,
		however_many_are_flagged_nothing_is_lost_or_left,
	};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(batch_window_case, tests[i]);
	suite_add_tcase(suite, batch_window_case);
	return suite_run(suite);
}
