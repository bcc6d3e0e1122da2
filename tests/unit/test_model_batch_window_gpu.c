/* Figures of the GPU and of hot CPUs in a batch's window, in the real model, and their causes. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/explain/causes/causes.h"
#include "src/explain/explain.h"
#include "src/model/batch_window/batch_window.h"
#include "src/model/batch_window/batch_window_clocks.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-3
#define TICK 0.25

enum { TRAINER = 100, GPU = 0, OTHER_GPU = 1 };

static struct script script;
static struct batch_window batch_window;
static double at_s, clock_hz, other_clock_hz, busy;
static unsigned throttled;
static bool has_clocks;

static void emit_gpu(double time_s, int32_t instance, const char *lost)
{
	struct gpu_row *row = sample_set_allocate(&script.set, sizeof *row);
	*row = (struct gpu_row){ .instance = instance,
		.parent = -1,
		.index = (uint32_t)instance,
		.vendor = "NVIDIA",
		.name = "H100",
		.uuid = instance ? "GPU-1" : "GPU-0",
		.pci = "",
		.driver = "",
		.lost = lost };
	script_add(&script, RECORD_GPU, time_s)->gpu = row;
}

static void emit_processes(double time_s, int32_t instance, const struct gpu_process_row *rows, size_t count)
{
	struct gpu_process_row *copy = sample_set_allocate(&script.set, (count + 1) * sizeof *copy);
	memcpy(copy, rows, count * sizeof *copy);
	struct record *record = script_add(&script, RECORD_GPU_PROCESSES, time_s);
	record->gpu_processes.gpu = instance;
	record->gpu_processes.rows = copy;
	record->gpu_processes.count = count;
}

static const struct gpu_process_row trainer_row = { TRAINER, GPU_PROCESS_COMPUTE, "", 1e9, NAN };

static void emit_clock(double time_s, int32_t instance, double hz, unsigned bits)
{
	script_figure(&script, time_s, METRIC_GPU_CLOCK, instance, hz);
	script_figure(&script, time_s + 0.002, METRIC_GPU_THROTTLE, instance, bits);
	script_figure(&script, time_s + 0.004, METRIC_GPU_BUSY, instance, busy);
}

static void read_until(double until_s)
{
	while (at_s + TICK <= until_s + 1e-9) {
		at_s += TICK;
		script_figure(&script, at_s, METRIC_PROCESS_STATE, TRAINER, 'S');
		if (has_clocks) {
			emit_clock(at_s, GPU, clock_hz, throttled);
			emit_clock(at_s, OTHER_GPU, other_clock_hz, 0);
		}
		if (fmod(at_s, 2) == 0)
			emit_processes(at_s, GPU, &trainer_row, 1);
		script_apply(&script, at_s);
	}
}

static void setup(void)
{
	script_open(&script, NULL);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
	emit_gpu(0, GPU, NULL);
	emit_processes(0, GPU, &trainer_row, 1);
	script_figure(&script, 0, METRIC_PROCESS_STATE, TRAINER, 'S');
	script_apply(&script, 0);
	at_s = 0;
	clock_hz = other_clock_hz = 1980e6;
	busy = 0.9;
	throttled = 0;
	has_clocks = true;
}

static void teardown(void) { script_close(&script); }

static void batch(double begin_s, double end_s) { script_whole_batch(&script, begin_s, end_s, at_s); }

static const struct window_event *event(enum window_event_kind kind)
{
	ck_assert(model_batch_window(script.model, script_run(&script), script_newest_batch(&script), &batch_window));
	for (size_t i = 0; i < batch_window.event_count; i++)
		if (batch_window.events[i].kind == kind)
			return &batch_window.events[i];
	return NULL;
}

static void slow(double hz, unsigned bits)
{
	clock_hz = hz;
	throttled = bits;
}

static const unsigned heat = 1u << GPU_THROTTLE_HEAT, power = 1u << GPU_THROTTLE_POWER_CAP;

/* -- a clock that fell -- */

START_TEST(a_clock_throttled_by_heat_is_compared_with_the_one_before)
{
	read_until(10);
	slow(1215e6, heat);
	read_until(11);
	slow(1980e6, 0);
	read_until(12);
	batch(10.1, 11.1);
	const struct window_event *slowed = event(WINDOW_GPU_SLOWED);
	ck_assert_ptr_nonnull(slowed);
	ck_assert_double_eq_tol(slowed->value, 1215e6, 1e3);
	ck_assert_double_eq_tol(slowed->baseline, 1980e6, 1e3);
	ck_assert_double_eq_tol(slowed->part_ratio, 1, NEAR);
	ck_assert_double_eq_tol(slowed->busy_ratio, 0.9, NEAR);
	ck_assert_str_eq(slowed->text, "thermal slowdown");
	ck_assert_str_eq(slowed->gpu, "GPU");
	ck_assert_uint_eq(slowed->throttled, heat);
	batch(11.1, 11.9);
	ck_assert_ptr_null(event(WINDOW_GPU_SLOWED));
}
END_TEST

START_TEST(a_part_of_the_window_is_a_part)
{
	read_until(10);
	slow(1215e6, heat | power);
	read_until(10.5);
	slow(1980e6, power);
	read_until(12);
	batch(10.1, 11.05);
	const struct window_event *slowed = event(WINDOW_GPU_SLOWED);
	ck_assert_ptr_nonnull(slowed);
	ck_assert_double_eq_tol(slowed->part_ratio, 0.5, NEAR); /* 10.25, 10.5 of four */
	ck_assert_str_eq(slowed->text, "thermal slowdown");
}
END_TEST

START_TEST(a_constant_throttle_reason_is_no_event)
{
	slow(1215e6, heat);
	read_until(12);
	batch(10.1, 11.1);
	ck_assert_ptr_null(event(WINDOW_GPU_SLOWED));
	slow(1100e6, heat | power); /* an additional reason is an event */
	read_until(14);
	batch(12.1, 13.1);
	ck_assert_ptr_nonnull(event(WINDOW_GPU_SLOWED));
	ck_assert_str_eq(event(WINDOW_GPU_SLOWED)->text, "power cap");
}
END_TEST

START_TEST(a_clock_that_falls_for_lack_of_work_is_no_cause)
{
	read_until(10);
	slow(345e6, 0);
	busy = 0;
	read_until(12);
	batch(10.1, 11.1);
	ck_assert_ptr_null(event(WINDOW_GPU_SLOWED));
}
END_TEST

START_TEST(a_window_too_short_for_the_sampler_claims_nothing)
{
	read_until(10);
	slow(1215e6, heat);
	read_until(10.25);
	slow(1980e6, 0);
	read_until(12);
	batch(10.2, 10.35); /* one reading, and its neighbours disagree */
	ck_assert_ptr_null(event(WINDOW_GPU_SLOWED));
	batch(10.3, 10.45); /* none */
	ck_assert_ptr_null(event(WINDOW_GPU_SLOWED));
	slow(1215e6, heat);
	read_until(13.5);
	batch(12.7, 12.8); /* one, between others that agree */
	ck_assert_double_eq_tol(event(WINDOW_GPU_SLOWED)->part_ratio, 1, NEAR);
	batch(12.2, 12.3); /* one, and only the next agrees */
	ck_assert_double_eq_tol(event(WINDOW_GPU_SLOWED)->part_ratio, 0.5, NEAR);
	batch(12.8, 12.9); /* none, between two close ones that agree */
	ck_assert_double_eq_tol(event(WINDOW_GPU_SLOWED)->part_ratio, 1, NEAR);
	batch(12.05, 12.2); /* none, and only one of the two agrees */
	ck_assert_ptr_null(event(WINDOW_GPU_SLOWED));
}
END_TEST

/* Two seconds between readings: the time between is unknown. */
START_TEST(a_window_between_two_distant_readings_has_no_event)
{
	read_until(10);
	slow(1215e6, heat);
	read_until(10.25);
	has_clocks = false;
	read_until(12);
	has_clocks = true;
	read_until(13);
	batch(11, 11.2);
	ck_assert_ptr_null(event(WINDOW_GPU_SLOWED));
	batch(12.3, 12.45);
	ck_assert_ptr_nonnull(event(WINDOW_GPU_SLOWED));
}
END_TEST

START_TEST(without_history_there_is_no_baseline)
{
	slow(1215e6, heat);
	read_until(3);
	batch(1.1, 2.1);
	ck_assert_ptr_null(event(WINDOW_GPU_SLOWED));
}
END_TEST

START_TEST(a_GPU_that_the_run_is_not_on_says_nothing_of_it)
{
	emit_gpu(0.1, OTHER_GPU, NULL);
	read_until(10);
	other_clock_hz = 990e6;
	read_until(12);
	batch(10.1, 11.1);
	ck_assert_ptr_null(event(WINDOW_GPU_SLOWED));
	slow(1215e6, heat);
	read_until(14);
	batch(12.1, 13.1);
	ck_assert_str_eq(event(WINDOW_GPU_SLOWED)->gpu, "GPU 0");
}
END_TEST

/* -- others -- */

START_TEST(a_new_process_an_error_report_and_a_lost_gpu_are_events)
{
	const struct gpu_process_row rows[] = { trainer_row, { 777, GPU_PROCESS_GRAPHICS, "blender scene", 2e9, 0.4 } };
	read_until(10.5);
	emit_processes(10.6, GPU, rows, 2);
	struct record *record = script_add(&script, RECORD_GPU_EVENT, 10.7);
	record->gpu_event.gpu = GPU;
	record->gpu_event.code = 94;
	record->gpu_event.text = "XID 94: contained memory error";
	read_until(10.75);
	emit_gpu(10.9, GPU, "it has fallen off the bus");
	read_until(12);
	batch(10.1, 11.1);
	ck_assert_ptr_nonnull(event(WINDOW_GPU_SHARED));
	ck_assert_str_eq(event(WINDOW_GPU_SHARED)->text, "blender scene");
	ck_assert_int_eq(event(WINDOW_GPU_SHARED)->pid, 777);
	ck_assert_double_eq(event(WINDOW_GPU_SHARED)->value, 0.4);
	ck_assert_double_eq(event(WINDOW_GPU_REPORTED)->value, 94);
	ck_assert_str_eq(event(WINDOW_GPU_REPORTED)->gpu, "GPU");
	ck_assert_str_eq(event(WINDOW_GPU_LOST)->text, "it has fallen off the bus");
	batch(11.1, 11.6);
	ck_assert_ptr_null(event(WINDOW_GPU_SHARED));
	ck_assert_ptr_null(event(WINDOW_GPU_REPORTED));
}
END_TEST

START_TEST(throttled_CPUs_are_events_if_the_kernel_counts_them)
{
	for (int i = 1; i <= 48; i++) {
		bool is_hot = i >= 41 && i <= 44;
		script_figure(&script, at_s + TICK, METRIC_HEAT_CPU_CLOCK, 0, is_hot ? 1.5e9 : 3e9);
		script_figure(&script, at_s + TICK, METRIC_HEAT_CPU_THROTTLES, 0, 7 + (i > 40 ? fmin(i - 40, 4) : 0));
		read_until(at_s + TICK);
	}
	batch(10.1, 11.1);
	ck_assert_ptr_nonnull(event(WINDOW_CPU_SLOWED));
	ck_assert_double_eq_tol(event(WINDOW_CPU_SLOWED)->value, 1.5e9, 1e3);
	ck_assert_double_eq_tol(event(WINDOW_CPU_SLOWED)->baseline, 3e9, 1e3);
	batch(8.1, 9.1);
	ck_assert_ptr_null(event(WINDOW_CPU_SLOWED));
}
END_TEST

/* -- for how long -- */

START_TEST(the_throttled_share_of_the_last_seconds_is_known)
{
	ck_assert(isnan(gpu_throttled_ratio(script.model, GPU, heat, 10, NULL)));
	read_until(20);
	ck_assert_double_eq(gpu_throttled_ratio(script.model, GPU, heat, 10, NULL), 0);
	slow(1500e6, heat);
	read_until(22.5);
	slow(1980e6, power);
	read_until(30);
	double hz;
	ck_assert_double_eq_tol(gpu_throttled_ratio(script.model, GPU, heat, 10, &hz), 0.25, 0.03);
	ck_assert_double_eq_tol(hz, 1500e6, 1e3);
	ck_assert_double_eq_tol(gpu_throttled_ratio(script.model, GPU, power, 10, NULL), 0.75, 0.03);
	has_clocks = false;
	read_until(60);
	ck_assert(isnan(gpu_throttled_ratio(script.model, GPU, heat, 10, NULL)));
	ck_assert(isnan(gpu_throttled_ratio(script.model, 7, heat, 10, NULL)));
}
END_TEST

/* -- all of it together: the clock falls, batches take so much longer, and the explanation says why -- */

static double steps(double from_s, size_t count, double step_s)
{
	for (size_t i = 0; i < count; i++, from_s += step_s) {
		script_batch_begin(&script, 0, from_s, script.batches);
		script_span(&script, 0, from_s, from_s + 0.2 * step_s, STORY_DATA, 0);
		script_span(&script, 0, from_s + 0.2 * step_s, from_s + 0.9 * step_s, STORY_FORWARD, 0);
		script_batch_end(&script, 0, from_s + 0.9 * step_s, from_s, NAN);
		read_until(from_s + step_s);
		script_apply(&script, from_s + step_s);
	}
	return from_s;
}

START_TEST(a_batch_that_heat_slowed_down_is_explained)
{
	double next_s = steps(0.01, 40, 0.5);
	struct explanation why;
	slow(990e6, heat);
	next_s = steps(next_s, 1, 1.0);
	slow(1980e6, 0);
	next_s = steps(next_s, 6, 0.5);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, 1);
	const struct flagged *flagged = &run->flagged[0];
	explain_batch(run, &flagged->batch, &flagged->baseline, flagged->batch_window, &why);
	ck_assert_uint_ge(why.cause_count, 1);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_GPU_HEAT);
	ck_assert_ptr_nonnull(strstr(why.causes[0].what, "GPU clock fell from 1980 to 990 MHz, thermal slowdown"));
	ck_assert_double_gt(why.causes[0].share_ratio, 0.6);
}
END_TEST

/* The same batch with an unchanged clock: no cause. */
START_TEST(a_batch_that_was_slow_for_another_reason_is_not)
{
	struct explanation why;
	slow(990e6, heat);
	double next_s = steps(0.01, 40, 0.5);
	next_s = steps(next_s, 1, 1.0);
	next_s = steps(next_s, 6, 0.5);
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->flagged_count, 1);
	explain_batch(run, &run->flagged[0].batch, &run->flagged[0].baseline, run->flagged[0].batch_window, &why);
	for (size_t i = 0; i < why.cause_count; i++)
		ck_assert_int_ne(why.causes[i].kind, CAUSE_GPU_HEAT);
}
END_TEST

/* Figures without a GPU leave the room to existing ones. */
START_TEST(figures_without_a_gpu_take_no_room)
{
	for (int32_t i = 1000; i < 1200; i++)
		emit_clock(0.1, i, 1e9, heat);
	script_figure(&script, 0.1, METRIC_GPU_CLOCK, -5, 1e9);
	script_apply(&script, 0.1);
	read_until(10);
	slow(1215e6, heat);
	read_until(12);
	batch(10.1, 11.1);
	ck_assert_ptr_nonnull(event(WINDOW_GPU_SLOWED));
}
END_TEST

START_TEST(hours_of_readings_take_bounded_room_and_say_the_same)
{
	read_until(900);
	slow(1215e6, heat);
	read_until(901);
	slow(1980e6, 0);
	read_until(902);
	batch(900.1, 901.1);
	ck_assert_double_eq_tol(event(WINDOW_GPU_SLOWED)->baseline, 1980e6, 1e3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("batch window: GPU");
	TCase *tests = tcase_create("batch window: GPU");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	const TTest *const all[] = {
		a_clock_throttled_by_heat_is_compared_with_the_one_before,
		a_part_of_the_window_is_a_part,
		a_constant_throttle_reason_is_no_event,
		a_clock_that_falls_for_lack_of_work_is_no_cause,
		a_window_too_short_for_the_sampler_claims_nothing,
		a_window_between_two_distant_readings_has_no_event,
		without_history_there_is_no_baseline,
		a_GPU_that_the_run_is_not_on_says_nothing_of_it,
		a_new_process_an_error_report_and_a_lost_gpu_are_events,
		throttled_CPUs_are_events_if_the_kernel_counts_them,
		the_throttled_share_of_the_last_seconds_is_known,
		a_batch_that_heat_slowed_down_is_explained,
		a_batch_that_was_slow_for_another_reason_is_not,
		figures_without_a_gpu_take_no_room,
		hours_of_readings_take_bounded_room_and_say_the_same,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
