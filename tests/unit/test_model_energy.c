#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/energy/energy_curve.h"
#include "src/model/energy/energy_runs.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-6

enum { PACKAGE, DRAM, PLATFORM, SECOND };

static struct script script;
static const struct energy *energy;

static void open_with(double grid_g_per_kwh)
{
	struct model_options options;
	model_options_default(&options);
	options.grid_g_per_kwh = grid_g_per_kwh;
	script_open(&script, &options);
	script_process(&script, 0, 100, 1, "train.py", true);
	script_apply(&script, 0);
	energy = &script.model->energy;
}

static void setup(void) { open_with(NAN); }

static void teardown(void) { script_close(&script); }

static void ck_near(double value, double wanted)
{
	ck_assert_msg(fabs(value - wanted) <= NEAR * fmax(1, fabs(wanted)) || (isnan(value) && isnan(wanted)),
		"%.9g, not %.9g", value, wanted);
}

static void name(enum metric family, int32_t instance, const char *text)
{
	struct record *record = script_add(&script, RECORD_INSTANCE, 0.001);
	record->instance.metric = family;
	record->instance.instance = instance;
	record->instance.name = text;
}

static void name_meters(void)
{
	name(METRIC_ENERGY_USED, PACKAGE, "package 0");
	name(METRIC_ENERGY_USED, DRAM, "dram 0");
	name(METRIC_ENERGY_USED, PLATFORM, "platform");
}

static void meter(double at_s, int32_t instance, double joules)
{
	script_figure(&script, at_s, METRIC_ENERGY_USED, instance, joules);
}

/* Applies a reading each second from from_s to to_s of one package with this power. Returns its counter. */
static double meter_evenly(double from_s, double to_s, double joules, double watts)
{
	for (double at_s = from_s; at_s <= to_s; at_s++, joules += watts) {
		meter(at_s, PACKAGE, joules);
		script_apply(&script, at_s);
	}
	return joules;
}

static void emit_steps(double at_s, double step_s, size_t count)
{
	for (size_t i = 0; i < count; i++, at_s += step_s) {
		script_batch_begin(&script, 0, at_s, i);
		script_batch_end(&script, 0, at_s + 0.9 * step_s, at_s, NAN);
	}
	script_batch_begin(&script, 0, at_s, count);
}

/* -- meters -- */

START_TEST(nothing_is_known_before_anything_was_read)
{
	script_apply(&script, 5);
	ck_assert(!energy_is_metered(energy) && !energy_has_heat(energy));
	ck_near(energy->cpu_watts, NAN);
	ck_near(energy->cpu_joules, NAN);
	ck_near(energy->gpu_joules, NAN);
	ck_near(energy->joules_per_batch, NAN);
	ck_near(energy->co2_g, NAN);
	ck_assert_ptr_null(energy_hottest(energy));
}
END_TEST

START_TEST(packages_and_memory_are_added_and_the_platform_is_not)
{
	name_meters();
	meter(1, PACKAGE, 5000);
	meter(1, DRAM, 700);
	meter(1, PLATFORM, 90000);
	script_apply(&script, 1);
	ck_near(energy->cpu_watts, NAN);
	ck_near(energy->cpu_joules, 0);
	meter(3, PACKAGE, 5200);
	meter(3, DRAM, 720);
	meter(3, PLATFORM, 90300);
	script_apply(&script, 3);
	ck_near(energy->meters[0].watts, 100);
	ck_near(energy->meters[1].watts, 10);
	ck_near(energy->meters[2].watts, 150);
	ck_near(energy->cpu_watts, 110);
	ck_near(energy->cpu_joules, 220);
	ck_near(energy->meters[2].joules, 300);
	ck_assert_int_eq(energy->since_ns, script_ns(1));
	double watts;
	int64_t time_ns;
	ck_assert(series_last(energy->cpu_watts_series, &time_ns, &watts));
	ck_near(watts, 110);
	ck_assert_int_eq(time_ns, script_ns(3));
}
END_TEST

START_TEST(a_counter_that_restarts_loses_the_energy_between)
{
	name_meters();
	meter_evenly(1, 5, 1000, 100);
	ck_near(energy->cpu_joules, 400);
	meter(6, PACKAGE, 3);
	script_apply(&script, 6);
	ck_near(energy->cpu_watts, NAN);
	ck_near(energy->cpu_joules, 400);
	meter(7, PACKAGE, 53);
	script_apply(&script, 7);
	ck_near(energy->cpu_watts, 50);
	ck_near(energy->cpu_joules, 450);
	/* An old reading, and the same once more, change nothing. */
	meter(6.5, PACKAGE, 1000);
	meter(7, PACKAGE, 1000);
	script_apply(&script, 7);
	ck_near(energy->cpu_joules, 450);
}
END_TEST

START_TEST(a_meter_that_vanishes_is_not_known_then_not_waited_for)
{
	name_meters();
	name(METRIC_ENERGY_USED, SECOND, "package 1");
	for (double at_s = 1; at_s <= 80; at_s++) {
		meter(at_s, PACKAGE, 100 * at_s);
		if (at_s <= 3)
			meter(at_s, SECOND, 40 * at_s);
		script_apply(&script, at_s);
		if (at_s == 3)
			ck_near(energy->cpu_watts, 140);
		if (at_s == 20)
			ck_near(energy->cpu_watts, NAN);
	}
	ck_near(energy->cpu_watts, 100);
	ck_near(energy->cpu_joules, 7900 + 80);
	/* It comes back: its energy meanwhile counts, but gives no power. */
	meter(81, SECOND, 40 * 81);
	meter(81, PACKAGE, 8100);
	script_apply(&script, 81);
	ck_near(energy->cpu_joules, 8000 + 40 * 80);
}
END_TEST

START_TEST(nonsense_is_no_energy)
{
	name_meters();
	meter_evenly(1, 3, 0, 100);
	meter(4, PACKAGE, 1e300);
	script_apply(&script, 4);
	ck_near(energy->cpu_joules, 200);
	for (int32_t i = 0; i < 500; i++) {
		meter(5, i * 1000 - 7, 1);
		script_figure(&script, 5, METRIC_HEAT_TEMPERATURE, i * 977 - 5, 1e300);
		script_figure(&script, 5, METRIC_GPU_ENERGY, i * 31 - 2, 1e308);
		script_figure(&script, 6, METRIC_GPU_POWER, i * 31 - 2, 1e308);
		name(METRIC_ENERGY_USED, i, "package");
	}
	script_apply(&script, 6);
	ck_assert_uint_eq(energy->meter_count, ENERGY_METERS_MAX);
	ck_assert_uint_eq(energy->sensor_count, HEAT_SENSORS_MAX);
}
END_TEST

/* -- batches -- */

START_TEST(batches_get_their_share_of_the_readings)
{
	name_meters();
	/* 100 W for ten seconds, then 300; steps of a second, offset from the readings by a quarter: 9.75 s at 100 W, 10.25
	 * s at 300. */
	double joules = meter_evenly(0, 9, 0, 100);
	joules = meter_evenly(10, 22, joules, 300);
	emit_steps(0.25, 1, 20);
	script_apply(&script, 22.5);
	meter(23, PACKAGE, joules);
	script_apply(&script, 23.6);
	ck_near(energy->cpu_joules_per_batch, (9.75 * 100 + 10.25 * 300) / 20);
	ck_near(energy->joules_per_batch, energy->cpu_joules_per_batch);
	ck_near(energy->gpu_joules_per_batch, NAN);
	ck_near(energy->joules_per_sample, NAN);
}
END_TEST

START_TEST(short_batches_share_a_reading_and_samples_share_a_batch)
{
	struct run_state state = script_run(&script)->state;
	state.samples_per_batch = 32;
	script_state(&script, &state);
	name_meters();
	meter_evenly(0, 8, 0, 80);
	emit_steps(1.1, 0.05, 100);
	script_apply(&script, 8.5);
	meter(9, PACKAGE, 9 * 80);
	script_apply(&script, 9.6);
	ck_near(energy->joules_per_batch, 4);
	ck_near(energy->joules_per_sample, 0.125);
}
END_TEST

START_TEST(only_the_last_200_steps_count)
{
	name_meters();
	double joules = meter_evenly(0, 99, 0, 1000);
	meter_evenly(100, 310, joules, 10);
	emit_steps(1, 1, 305);
	script_apply(&script, 310.5);
	script_apply(&script, 312);
	ck_near(energy->joules_per_batch, 10);
}
END_TEST

START_TEST(a_gap_is_not_shared_out)
{
	name_meters();
	meter_evenly(0, 10, 0, 100);
	/* No readings for half a minute, in which it counted much energy: the total has it, but no batch. */
	meter_evenly(40, 50, 50000, 100);
	emit_steps(1, 1, 45);
	script_apply(&script, 50.5);
	script_apply(&script, 52);
	ck_near(energy->joules_per_batch, 100);
	ck_near(energy->cpu_joules, 51000);
}
END_TEST

START_TEST(slow_readings_are_no_gap_where_all_are_slow)
{
	name_meters();
	for (double at_s = 0; at_s <= 200; at_s += 20) {
		meter(at_s, PACKAGE, at_s * 70);
		script_apply(&script, at_s);
	}
	emit_steps(30, 1, 160);
	script_apply(&script, 201);
	script_apply(&script, 203);
	ck_near(energy->joules_per_batch, 70);
}
END_TEST

START_TEST(too_little_says_nothing)
{
	name_meters();
	meter_evenly(0, 3, 0, 100);
	emit_steps(1, 0.1, 12);
	script_apply(&script, 3.5);
	script_apply(&script, 5);
	ck_near(energy->joules_per_batch, NAN);
}
END_TEST

/* -- GPUs -- */

static void add_gpu(double at_s, int32_t instance, int32_t parent, int32_t pid)
{
	struct gpu_row *row = sample_set_allocate(&script.set, sizeof *row);
	struct gpu_process_row *process = sample_set_allocate(&script.set, sizeof *process);
	ck_assert(row && process);
	*row = (struct gpu_row){ .instance = instance,
		.parent = parent,
		.index = (uint32_t)instance,
		.vendor = "NVIDIA",
		.name = "H100",
		.uuid = "",
		.pci = "",
		.driver = "nvidia" };
	*process = (struct gpu_process_row){
		.pid = pid, .kind = GPU_PROCESS_COMPUTE, .command = "", .memory_bytes = 1e9, .busy_ratio = NAN
	};
	script_add(&script, RECORD_GPU, at_s)->gpu = row;
	struct record *processes = script_add(&script, RECORD_GPU_PROCESSES, at_s);
	processes->gpu_processes.gpu = instance;
	processes->gpu_processes.rows = process;
	processes->gpu_processes.count = 1;
}

START_TEST(a_gpus_counter_is_believed_before_its_power)
{
	name_meters();
	for (double at_s = 0.2; at_s < 30; at_s += 1) {
		add_gpu(at_s, 0, -1, 100);
		add_gpu(at_s, 1, -1, 4711);
		script_figure(&script, at_s, METRIC_GPU_POWER, 0, 999);
		script_figure(&script, at_s, METRIC_GPU_ENERGY, 0, 1e6 + 400 * at_s);
		script_figure(&script, at_s, METRIC_GPU_POWER, 1, 50);
		script_figure(&script, at_s, METRIC_GPU_ENERGY, 1, 50 * at_s);
		meter(at_s, PACKAGE, 100 * at_s);
		script_apply(&script, at_s);
	}
	emit_steps(1, 0.5, 50);
	script_apply(&script, 30);
	script_apply(&script, 31.5);
	ck_near(energy->gpu_watts, 999);
	ck_near(energy->gpu_joules, 400 * 29);
	ck_near(energy->gpu_joules_per_batch, 200);
	ck_near(energy->cpu_joules_per_batch, 50);
	ck_near(energy->joules_per_batch, 250);
}
END_TEST

START_TEST(without_a_counter_power_is_added_up_but_not_over_a_gap)
{
	add_gpu(0.1, 0, -1, 100);
	const double watts[] = { 100, 200, 200, 400 };
	for (int i = 0; i < 4; i++) {
		script_figure(&script, 1 + i, METRIC_GPU_POWER, 0, watts[i]);
		script_apply(&script, 1 + i);
	}
	script_figure(&script, 60, METRIC_GPU_POWER, 0, 400);
	script_apply(&script, 60);
	script_figure(&script, 61, METRIC_GPU_POWER, 0, 300);
	script_apply(&script, 61);
	ck_near(energy->gpu_joules, 150 + 200 + 300 + 350);
}
END_TEST

START_TEST(a_counter_that_is_no_longer_emitted_is_replaced_by_power)
{
	for (double at_s = 0.25; at_s < 200; at_s += 0.25) {
		add_gpu(at_s, 0, -1, 100);
		script_figure(&script, at_s, METRIC_GPU_POWER, 0, 300);
		if (at_s < 20)
			script_figure(&script, at_s, METRIC_GPU_ENERGY, 0, 300 * at_s);
		script_apply(&script, at_s);
	}
	ck_near(energy->gpu_joules, 300 * (199.75 - 0.25));
}
END_TEST

START_TEST(a_part_of_a_gpu_is_metered_by_the_whole)
{
	add_gpu(0.1, 0, -1, 4711);
	add_gpu(0.1, 100, 0, 100);
	for (double at_s = 0.5; at_s < 6; at_s++) {
		script_figure(&script, at_s, METRIC_GPU_POWER, 0, 300);
		script_figure(&script, at_s, METRIC_GPU_ENERGY, 0, 300 * at_s);
		script_apply(&script, at_s);
	}
	ck_near(energy->gpu_joules, 1500);
	ck_near(energy->gpu_watts, 300);
}
END_TEST

/* -- epochs -- */

static void emit_epoch(double begin_s, double end_s, uint32_t index)
{
	script_epoch(&script, RECORD_EPOCH_BEGIN, begin_s, index);
	if (end_s > 0)
		script_epoch(&script, RECORD_EPOCH_END, end_s, index);
}

/* 4 s at 600 W, 4 s at 200 W, in turn; the driver's power is 10 % too low. */
static double swinging_joules(double at_s)
{
	double turns = floor(at_s / 8), rest_s = at_s - 8 * turns;
	return 3200 * turns + 600 * fmin(rest_s, 4) + 200 * fmax(rest_s - 4, 0);
}

static double swinging_watts(double at_s) { return 0.9 * (fmod(at_s, 8) < 4 ? 600 : 200); }

START_TEST(power_says_when_the_joules_between_two_readings_of_a_counter_were_used)
{
	enum { EPOCHS = 10 };
	for (double at_s = 0.25; at_s < 70; at_s += 0.25) {
		uint32_t index = (uint32_t)(at_s / 4) - 2;
		add_gpu(at_s, 0, -1, 100);
		script_figure(&script, at_s, METRIC_GPU_POWER, 0, swinging_watts(at_s));
		if (fmod(at_s, 13) == 0.25)
			script_figure(&script, at_s, METRIC_GPU_ENERGY, 0, swinging_joules(at_s));
		if (at_s > 8 && fmod(at_s, 4) == 0 && index <= EPOCHS)
			script_epoch(&script, RECORD_EPOCH_END, at_s, index - 1);
		if (at_s >= 8 && fmod(at_s, 4) == 0 && index < EPOCHS)
			script_epoch(&script, RECORD_EPOCH_BEGIN, at_s, index);
		script_apply(&script, at_s);
	}
	for (uint32_t i = 0; i < EPOCHS; i++) {
		const struct epoch_energy *epoch = energy_of_epoch(energy, 0, i + 1);
		double wanted = i % 2 ? 800 : 2400;
		ck_assert(epoch && epoch->is_whole);
		ck_assert_msg(fabs(epoch->gpu_joules - wanted) < 150, "epoch %u: %g J, not %g", i, epoch->gpu_joules, wanted);
	}
	/* Counted energy remains. */
	ck_near(energy->gpu_joules, swinging_joules(65.25) - swinging_joules(0.25));
}
END_TEST

START_TEST(epochs_have_sums_in_grams)
{
	teardown();
	open_with(360);
	name_meters();
	double joules = meter_evenly(10, 30, 0, 100);
	emit_epoch(5, 12.5, 0);
	emit_epoch(12.5, 22.5, 1);
	emit_epoch(23, 0, 2);
	script_apply(&script, 30.5);
	meter_evenly(31, 40, joules, 200);
	ck_assert_uint_eq(energy->epoch_count, 3);
	const struct epoch_energy *first = energy_of_epoch(energy, 0, 1), *second = energy_of_epoch(energy, 0, 2),
							  *third = energy_of_epoch(energy, 0, 3);
	ck_assert(first && second && third);
	ck_assert(!first->is_whole && first->is_settled);
	ck_near(first->cpu_joules, 250);
	ck_assert(second->is_whole && second->is_settled);
	ck_near(second->cpu_joules, 1000);
	ck_near(second->gpu_joules, NAN);
	ck_assert(!third->is_whole && !third->is_settled);
	/* From 23 to 31 at 100 W, then at 200. */
	ck_near(third->cpu_joules, 800 + 9 * 200);
	ck_near(energy->co2_g_per_epoch, 1000 / 3.6e6 * 360);
	ck_near(energy->co2_g, energy->cpu_joules / 3.6e6 * 360);
	ck_near(energy->co2_g, 0.39);
}
END_TEST

START_TEST(an_epoch_with_a_gap_in_it_is_not_whole)
{
	name_meters();
	meter_evenly(0, 10, 0, 100);
	meter(11, PACKAGE, 0);
	script_apply(&script, 11);
	meter_evenly(12, 30, 100, 100);
	emit_epoch(2, 9, 0);
	emit_epoch(9, 20, 1);
	script_apply(&script, 30.5);
	script_apply(&script, 31.7);
	ck_assert(energy_of_epoch(energy, 0, 1)->is_whole);
	ck_assert(!energy_of_epoch(energy, 0, 2)->is_whole);
	ck_near(energy_of_epoch(energy, 0, 2)->cpu_joules, 1000);
}
END_TEST

START_TEST(the_oldest_epochs_make_room)
{
	name_meters();
	double joules = 0;
	for (uint32_t i = 0; i < 100; i++) {
		emit_epoch(i * 4 + 1, i * 4 + 4, i);
		joules = meter_evenly(i * 4, i * 4 + 3, joules, i + 1);
	}
	script_apply(&script, 500);
	ck_assert_uint_eq(energy->epoch_count, ENERGY_EPOCHS_MAX);
	ck_assert_ptr_null(energy_of_epoch(energy, 0, 36));
	ck_assert_ptr_nonnull(energy_of_epoch(energy, 0, 37));
	ck_assert_uint_eq(energy->epochs[0].ordinal, 37);
	ck_assert_uint_eq(energy->epochs[ENERGY_EPOCHS_MAX - 1].ordinal, 100);
	ck_assert(energy_of_epoch(energy, 0, 90)->is_whole);
	/* The reading at its end is the first of the next. */
	ck_near(energy_of_epoch(energy, 0, 90)->cpu_joules, 3 * 90);
}
END_TEST

START_TEST(the_last_epoch_is_reported_when_its_target_ends)
{
	name_meters();
	meter_evenly(0, 10, 0, 100);
	emit_epoch(1, 10, 0);
	script_add(&script, RECORD_PROCESS_GONE, 10.1)->process.pid = 100;
	script_apply(&script, 10.2);
	ck_assert(energy_of_epoch(energy, 0, 1)->is_whole);
	ck_near(energy_of_epoch(energy, 0, 1)->cpu_joules, 900);
	script_apply(&script, 200);
	ck_near(energy->cpu_watts, 100);
}
END_TEST

/* -- heat -- */

START_TEST(the_hottest_of_the_cpus_is_known_until_it_is_stale)
{
	name(METRIC_HEAT_TEMPERATURE, 0, "coretemp Package id 0");
	name(METRIC_HEAT_TEMPERATURE, 1, "coretemp Package id 1");
	name(METRIC_HEAT_TEMPERATURE, 2, "nvme Composite");
	script_figure(&script, 1, METRIC_HEAT_TEMPERATURE, 0, 60);
	script_figure(&script, 1, METRIC_HEAT_LIMIT, 0, 100);
	script_figure(&script, 1, METRIC_HEAT_TEMPERATURE, 1, 65);
	script_figure(&script, 1, METRIC_HEAT_TEMPERATURE, 2, 80);
	script_figure(&script, 1, METRIC_HEAT_CPU_CLOCK, 0, 3e9);
	script_apply(&script, 1);
	ck_assert(energy_has_heat(energy) && !energy_is_metered(energy));
	ck_near(energy->hottest_celsius, 65);
	ck_assert_str_eq(energy_hottest(energy)->name, "coretemp Package id 1");
	ck_near(energy->sensors[0].limit_celsius, 100);
	ck_near(energy->sensors[1].limit_celsius, NAN);
	ck_near(energy->cpu_clock_hz, 3e9);
	script_apply(&script, 100);
	ck_near(energy->hottest_celsius, NAN);
	ck_near(energy->cpu_clock_hz, NAN);
	ck_near(energy->sensors[0].limit_celsius, 100);
}
END_TEST

START_TEST(throttling_is_a_rate)
{
	script_figure(&script, 1, METRIC_HEAT_CPU_THROTTLES, 0, 40);
	script_apply(&script, 1);
	ck_near(energy->throttles_per_s, NAN);
	script_figure(&script, 3, METRIC_HEAT_CPU_THROTTLES, 0, 43);
	script_apply(&script, 3);
	ck_near(energy->throttles_per_s, 1.5);
	script_figure(&script, 4, METRIC_HEAT_CPU_THROTTLES, 0, 2);
	script_apply(&script, 4);
	ck_near(energy->throttles_per_s, NAN);
}
END_TEST

/* -- the curve -- */

START_TEST(a_long_curve_is_bounded_and_hardly_blurred)
{
	struct energy_curve curve = { 0 };
	bool is_whole;
	for (int i = 0; i <= 20000; i++)
		energy_curve_push(&curve, (i + 1) * NS_PER_S, i % 2 ? 150 : 50);
	ck_assert_uint_le(curve.count, CURVE_POINTS_MAX);
	ck_near(energy_curve_between(&curve, 19001 * NS_PER_S, 20001 * NS_PER_S, &is_whole), 100000);
	ck_assert(is_whole);
	double old = energy_curve_between(&curve, 500 * NS_PER_S, 5500 * NS_PER_S, &is_whole);
	ck_assert(is_whole);
	ck_assert_double_eq_tol(old, 500000, 1000);
	ck_near(energy_curve_between(&curve, 0, 30000 * NS_PER_S, &is_whole), curve.joules);
	ck_assert(!is_whole);
	ck_near(energy_curve_between(&curve, 30000 * NS_PER_S, 40000 * NS_PER_S, &is_whole), NAN);
	energy_curve_release(&curve);
	ck_near(energy_curve_between(&curve, 0, 1, &is_whole), NAN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model_energy");
	TCase *tests = tcase_create("model_energy");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, nothing_is_known_before_anything_was_read);
	tcase_add_test(tests, packages_and_memory_are_added_and_the_platform_is_not);
	tcase_add_test(tests, a_counter_that_restarts_loses_the_energy_between);
	tcase_add_test(tests, a_meter_that_vanishes_is_not_known_then_not_waited_for);
	tcase_add_test(tests, nonsense_is_no_energy);
	tcase_add_test(tests, batches_get_their_share_of_the_readings);
	tcase_add_test(tests, short_batches_share_a_reading_and_samples_share_a_batch);
	tcase_add_test(tests, only_the_last_200_steps_count);
	tcase_add_test(tests, a_gap_is_not_shared_out);
	tcase_add_test(tests, slow_readings_are_no_gap_where_all_are_slow);
	tcase_add_test(tests, too_little_says_nothing);
	tcase_add_test(tests, a_gpus_counter_is_believed_before_its_power);
	tcase_add_test(tests, without_a_counter_power_is_added_up_but_not_over_a_gap);
	tcase_add_test(tests, a_counter_that_is_no_longer_emitted_is_replaced_by_power);
	tcase_add_test(tests, power_says_when_the_joules_between_two_readings_of_a_counter_were_used);
	tcase_add_test(tests, a_part_of_a_gpu_is_metered_by_the_whole);
	tcase_add_test(tests, epochs_have_sums_in_grams);
	tcase_add_test(tests, an_epoch_with_a_gap_in_it_is_not_whole);
	tcase_add_test(tests, the_oldest_epochs_make_room);
	tcase_add_test(tests, the_last_epoch_is_reported_when_its_target_ends);
	tcase_add_test(tests, the_hottest_of_the_cpus_is_known_until_it_is_stale);
	tcase_add_test(tests, throttling_is_a_rate);
	tcase_add_test(tests, a_long_curve_is_bounded_and_hardly_blurred);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
