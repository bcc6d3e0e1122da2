#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/machine/processes.h"
#include "src/model/machine/system.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-6

static struct script script;
static const struct system *machine;

static void setup(void)
{
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "train.py", true);
	script_apply(&script, 0);
	machine = &script.model->system;
}

static void teardown(void) { script_close(&script); }

static void emit(double at_s, enum metric metric, double value) { script_figure(&script, at_s, metric, 0, value); }

/* Seconds of all CPUs. */
static void emit_cpu(double at_s, double busy, double io_wait, double stolen, double idle)
{
	emit(at_s, METRIC_SYSTEM_CPU_BUSY, busy * 1e9);
	emit(at_s, METRIC_SYSTEM_CPU_IO_WAIT, io_wait * 1e9);
	emit(at_s, METRIC_SYSTEM_CPU_STOLEN, stolen * 1e9);
	emit(at_s, METRIC_SYSTEM_CPU_IDLE, idle * 1e9);
}

static void name_device(double at_s, enum metric family, int32_t instance, const char *name)
{
	struct record *record = script_add(&script, RECORD_INSTANCE, at_s);
	record->instance.metric = family;
	record->instance.instance = instance;
	record->instance.name = name;
}

START_TEST(nothing_is_known_before_it_was_read_twice)
{
	ck_assert(isnan(machine->cpu_ratio) && isnan(machine->memory_ratio) && isnan(machine->throttled_ratio) &&
		isnan(machine->clock_step_s));
	ck_assert(!machine->owns_cgroup);
	emit_cpu(1, 100, 10, 0, 200);
	script_apply(&script, 1);
	ck_assert(isnan(machine->cpu_ratio) && isnan(machine->io_wait_ratio));
	ck_assert_double_eq(machine->now[METRIC_SYSTEM_CPU_BUSY], 100e9);
	ck_assert(isnan(machine->now[METRIC_SYSTEM_MEMORY]));
}
END_TEST

START_TEST(shares_of_the_cpus_are_those_between_the_last_two_readings)
{
	emit_cpu(1, 100, 10, 5, 200);
	script_apply(&script, 1);
	emit_cpu(2, 101.2, 10.4, 5.1, 200.3);
	script_apply(&script, 2);
	ck_assert_double_eq_tol(machine->cpu_ratio, 0.6, NEAR);
	ck_assert_double_eq_tol(machine->io_wait_ratio, 0.2, NEAR);
	ck_assert_double_eq_tol(machine->stolen_ratio, 0.05, NEAR);
	int64_t time_ns;
	double value;
	ck_assert(series_last(machine->series.cpu_ratio, &time_ns, &value));
	ck_assert_double_eq_tol(value, 0.6, NEAR);
	ck_assert_int_eq(time_ns, script_ns(2));
}
END_TEST

START_TEST(a_counter_that_goes_back_gives_no_rate)
{
	emit_cpu(1, 100, 10, 5, 200);
	script_apply(&script, 1);
	emit_cpu(2, 101, 9.9, 5, 201); /* the kernel's own iowait does that */
	script_apply(&script, 2);
	ck_assert(isnan(machine->cpu_ratio) && isnan(machine->io_wait_ratio));
	emit_cpu(3, 102, 9.9, 5, 202);
	script_apply(&script, 3);
	ck_assert_double_eq_tol(machine->cpu_ratio, 0.5, NEAR);
}
END_TEST

START_TEST(memory_swap_space_and_pressure_are_ratios_and_rates)
{
	for (int i = 0; i < 2; i++) {
		emit(1 + i, METRIC_SYSTEM_MEMORY, 100);
		emit(1 + i, METRIC_SYSTEM_MEMORY_AVAILABLE, 15);
		emit(1 + i, METRIC_SYSTEM_SWAP, 50);
		emit(1 + i, METRIC_SYSTEM_SWAP_FREE, 20);
		emit(1 + i, METRIC_SYSTEM_SWAP_IN, 4096 * i);
		emit(1 + i, METRIC_SYSTEM_SWAP_OUT, 8192 * i);
		emit(1 + i, METRIC_SYSTEM_PRESSURE_IO, 0.25e9 * i);
		emit(1 + i, METRIC_SYSTEM_PRESSURE_CPU, 1.5e9 * i);
		emit(1 + i, METRIC_SYSTEM_SHM, 64);
		emit(1 + i, METRIC_SYSTEM_SHM_USED, 16);
		emit(1 + i, METRIC_SYSTEM_SPACE, 1000);
		emit(1 + i, METRIC_SYSTEM_SPACE_FREE, 100);
		script_apply(&script, 1 + i);
	}
	ck_assert_double_eq_tol(machine->memory_ratio, 0.85, NEAR);
	ck_assert_double_eq_tol(machine->swap_used_bytes, 30, NEAR);
	ck_assert_double_eq_tol(machine->swap_in_bytes_per_s, 4096, NEAR);
	ck_assert_double_eq_tol(machine->swap_out_bytes_per_s, 8192, NEAR);
	ck_assert_double_eq_tol(machine->swap_per_s, 12288, NEAR);
	ck_assert_double_eq_tol(machine->pressure_io_ratio, 0.25, NEAR);
	ck_assert_double_eq_tol(machine->pressure_cpu_ratio, 1, NEAR); /* more than all the time it is not */
	ck_assert(isnan(machine->pressure_memory_ratio));
	ck_assert_double_eq_tol(machine->shm_ratio, 0.25, NEAR);
	ck_assert_double_eq_tol(machine->space_ratio, 0.9, NEAR);
}
END_TEST

START_TEST(the_cgroup_is_compared_with_its_limits)
{
	for (int i = 0; i < 2; i++) {
		emit(1 + i, METRIC_CGROUP_CPU_LIMIT, 4);
		emit(1 + i, METRIC_CGROUP_THROTTLED, 2e9 * i);
		emit(1 + i, METRIC_CGROUP_CPU, 3.5e9 * i);
		emit(1 + i, METRIC_CGROUP_MEMORY, 30);
		emit(1 + i, METRIC_CGROUP_MEMORY_LIMIT, 40);
		emit(1 + i, METRIC_CGROUP_MEMBERS_OUTSIDE, i ? 0 : 2);
		script_apply(&script, 1 + i);
		ck_assert_int_eq(machine->owns_cgroup, i);
	}
	ck_assert_double_eq_tol(machine->throttled_ratio, 0.5, NEAR);
	ck_assert_double_eq_tol(machine->cgroup_cpu_ratio, 3.5, NEAR);
	ck_assert_double_eq_tol(machine->cgroup_memory_ratio, 0.75, NEAR);
}
END_TEST

START_TEST(with_less_than_a_cpu_one_thread_waits)
{
	for (int i = 0; i < 2; i++) {
		emit(1 + i, METRIC_CGROUP_CPU_LIMIT, 0.5);
		emit(1 + i, METRIC_CGROUP_THROTTLED, 0.5e9 * i);
		script_apply(&script, 1 + i);
	}
	ck_assert_double_eq_tol(machine->throttled_ratio, 0.5, NEAR);
}
END_TEST

START_TEST(a_limit_that_was_taken_away_is_forgotten)
{
	emit(1, METRIC_CGROUP_MEMORY, 30);
	emit(1, METRIC_CGROUP_MEMORY_LIMIT, 40);
	script_apply(&script, 1);
	for (int at_s = 2; at_s < 40; at_s++) {
		emit(at_s, METRIC_CGROUP_MEMORY, 30);
		script_apply(&script, at_s);
	}
	ck_assert(isnan(machine->cgroup_memory_ratio));
	ck_assert(isnan(machine->now[METRIC_CGROUP_MEMORY_LIMIT]));
	ck_assert_double_eq(machine->now[METRIC_CGROUP_MEMORY], 30);
}
END_TEST

static void emit_disk(double at_s, int32_t instance, double i)
{
	script_figure(&script, at_s, METRIC_DISK_READ, instance, 4096 * 100 * i);
	script_figure(&script, at_s, METRIC_DISK_WRITTEN, instance, 8192 * i);
	script_figure(&script, at_s, METRIC_DISK_READS, instance, 100 * i);
	script_figure(&script, at_s, METRIC_DISK_WRITES, instance, 0);
	script_figure(&script, at_s, METRIC_DISK_READ_TIME, instance, 100 * 2e6 * i);
	script_figure(&script, at_s, METRIC_DISK_WRITE_TIME, instance, 0);
	script_figure(&script, at_s, METRIC_DISK_BUSY, instance, 0.2e9 * i);
}

START_TEST(disks_have_rates_latency_and_a_busy_share)
{
	name_device(1, METRIC_DISK_READ, 7, "nvme0n1");
	emit_disk(1, 7, 1);
	script_apply(&script, 1);
	ck_assert_uint_eq(machine->disk_count, 1);
	ck_assert(isnan(machine->disks[0].busy_ratio));
	emit_disk(3, 7, 3);
	script_apply(&script, 3);
	const struct device *disk = &machine->disks[0];
	ck_assert_str_eq(disk->name, "nvme0n1");
	ck_assert_int_eq(disk->instance, 7);
	ck_assert_double_eq_tol(disk->read_bytes_per_s, 409600, NEAR);
	ck_assert_double_eq_tol(disk->write_bytes_per_s, 8192, NEAR);
	ck_assert_double_eq_tol(disk->reads_per_s, 100, NEAR);
	ck_assert_double_eq_tol(disk->read_latency_s, 0.002, NEAR);
	ck_assert(isnan(disk->write_latency_s));
	ck_assert_double_eq_tol(disk->busy_ratio, 0.2, NEAR);
	double value;
	int64_t time_ns;
	ck_assert(series_last(disk->series, &time_ns, &value));
	ck_assert_double_eq_tol(value, 0.2, NEAR);
}
END_TEST

START_TEST(a_device_that_is_gone_fades_out_and_the_others_stay_themselves)
{
	name_device(0, METRIC_DISK_READ, 0, "sda");
	name_device(0, METRIC_DISK_READ, 1, "sdb");
	for (int at_s = 1; at_s < 100; at_s++) {
		if (at_s < 10)
			emit_disk(at_s, 0, at_s);
		emit_disk(at_s, 1, at_s);
		script_apply(&script, at_s);
		if (at_s == 20) {
			ck_assert_uint_eq(machine->disk_count, 2);
			ck_assert(isnan(machine->disks[0].busy_ratio));
		}
	}
	ck_assert_uint_eq(machine->disk_count, 1);
	ck_assert_str_eq(machine->disks[0].name, "sdb");
	ck_assert_double_eq_tol(machine->disks[0].busy_ratio, 0.2, NEAR);
	ck_assert_ptr_nonnull(machine->disks[0].series);
}
END_TEST

START_TEST(networks_have_both_directions_and_more_than_there_is_room_for_are_left_out)
{
	for (int i = 0; i < 2; i++) {
		for (int32_t n = 0; n < DEVICES_MAX + 10; n++) {
			script_figure(&script, 1 + i, METRIC_NETWORK_RECEIVED, n, 1000.0 * i);
			script_figure(&script, 1 + i, METRIC_NETWORK_SENT, n, 500.0 * i);
		}
		script_apply(&script, 1 + i);
	}
	ck_assert_uint_eq(machine->network_count, DEVICES_MAX);
	ck_assert_double_eq_tol(machine->networks[5].read_bytes_per_s, 1000, NEAR);
	ck_assert_double_eq_tol(machine->networks[5].write_bytes_per_s, 500, NEAR);
	ck_assert(isnan(machine->networks[5].busy_ratio));
	ck_assert_uint_eq(machine->disk_count, 0);
}
END_TEST

static void emit_clocks(double at_s, double offset_s, double suspended_s)
{
	emit(at_s, METRIC_SYSTEM_CLOCK_OFFSET, offset_s * 1e9);
	emit(at_s, METRIC_SYSTEM_SUSPENDED, suspended_s * 1e9);
	script_apply(&script, at_s);
}

START_TEST(a_clock_that_is_set_steps_and_one_that_is_slewed_does_not)
{
	double offset_s = 1.7e9;
	for (int i = 1; i < 600; i++) {
		offset_s += 0.0005; /* as fast as NTP slews */
		emit_clocks(i, offset_s, 3);
	}
	ck_assert(isnan(machine->clock_step_s));
	/* pmtop was stopped for an hour meanwhile. */
	emit_clocks(4200, offset_s + 1.8, 3);
	ck_assert(isnan(machine->clock_step_s));
	emit_clocks(4201, offset_s + 1.8 - 0.25, 3);
	ck_assert_double_eq_tol(machine->clock_step_s, -0.25, 1e-4);
	ck_assert_int_eq(machine->clock_step_ns, script_ns(4201));
	ck_assert(isnan(machine->suspend_s));
}
END_TEST

START_TEST(a_suspend_is_no_step_though_both_offsets_jump)
{
	emit_clocks(1, 1.7e9, 3);
	emit_clocks(2, 1.7e9 + 600.02, 603);
	ck_assert_double_eq_tol(machine->suspend_s, 600, NEAR);
	ck_assert_int_eq(machine->suspend_ns, script_ns(2));
	ck_assert(isnan(machine->clock_step_s));
}
END_TEST

START_TEST(figures_from_the_targets_end_remain)
{
	emit(1, METRIC_CGROUP_MEMORY, 30);
	emit(1, METRIC_CGROUP_MEMORY_LIMIT, 40);
	script_apply(&script, 1);
	script_add(&script, RECORD_PROCESS_GONE, 2)->process.pid = 100;
	script_apply(&script, 2);
	script_apply(&script, 500);
	ck_assert_double_eq_tol(machine->cgroup_memory_ratio, 0.75, NEAR);
}
END_TEST

START_TEST(a_processs_wait_is_known_until_it_is_gone)
{
	const struct process *process = model_target(script.model);
	ck_assert_str_eq(process->wait, "");
	struct record *record = script_add(&script, RECORD_PROCESS_WAIT, 1);
	record->wait.pid = 100;
	record->wait.text = "folio_wait_bit_common";
	script_apply(&script, 1);
	ck_assert_str_eq(process->wait, "folio_wait_bit_common");
	record = script_add(&script, RECORD_PROCESS_WAIT, 2);
	record->wait.pid = 100;
	record->wait.text = "";
	script_add(&script, RECORD_PROCESS_WAIT, 2)->wait.pid = 4711;
	script_apply(&script, 2);
	ck_assert_str_eq(process->wait, "");
}
END_TEST

START_TEST(hostile_figures_change_nothing)
{
	static const double values[] = { NAN, INFINITY, -INFINITY, -1, 1e308 };
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		for (int metric = METRIC_SYSTEM_CPUS; metric <= METRIC_CGROUP_PERIODS; metric++)
			script_figure(&script, 1 + (double)i, (enum metric)metric, i % 2 ? INT32_MIN : INT32_MAX, values[i]);
		name_device(1, (enum metric)(i * 1000), INT32_MIN, "x");
		script_apply(&script, 1 + (double)i);
	}
	name_device(2, METRIC_DISK_READ, 1, NULL);
	script_apply(&script, 2);
	ck_assert(isnan(machine->cpu_ratio));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("the machine in the model");
	TCase *all = tcase_create("system");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, nothing_is_known_before_it_was_read_twice);
	tcase_add_test(all, shares_of_the_cpus_are_those_between_the_last_two_readings);
	tcase_add_test(all, a_counter_that_goes_back_gives_no_rate);
	tcase_add_test(all, memory_swap_space_and_pressure_are_ratios_and_rates);
	tcase_add_test(all, the_cgroup_is_compared_with_its_limits);
	tcase_add_test(all, with_less_than_a_cpu_one_thread_waits);
	tcase_add_test(all, a_limit_that_was_taken_away_is_forgotten);
	tcase_add_test(all, disks_have_rates_latency_and_a_busy_share);
	tcase_add_test(all, a_device_that_is_gone_fades_out_and_the_others_stay_themselves);
	tcase_add_test(all, networks_have_both_directions_and_more_than_there_is_room_for_are_left_out);
	tcase_add_test(all, a_clock_that_is_set_steps_and_one_that_is_slewed_does_not);
	tcase_add_test(all, a_suspend_is_no_step_though_both_offsets_jump);
	tcase_add_test(all, figures_from_the_targets_end_remain);
	tcase_add_test(all, a_processs_wait_is_known_until_it_is_gone);
	tcase_add_test(all, hostile_figures_change_nothing);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
