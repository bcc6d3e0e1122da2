/* How often pmtop calls NVIDIA's driver, and the overhead of that. */
#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/gpu/vendor.h"
#include "tests/support/fake_gpus.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

static struct fake_gpus gpus;
static struct sample_set set;
static void *state;

static void setup(void) { fake_gpus_open(&gpus, ""); }

static void teardown(void)
{
	if (state)
		nvidia_gpus.close(state);
	sample_set_release(&set);
	fake_gpus_close(&gpus);
}

static void ck_open(void)
{
	struct reason why = { "", "" };
	ck_assert_msg(nvidia_gpus.open(&gpus.target, 0, &state, &why) == STATUS_OK, "%s", why.text);
}

static void ck_read(double seconds)
{
	sample_set_clear(&set);
	ck_assert_int_eq(nvidia_gpus.read(state, fake_gpus_at(&gpus, seconds), &set), STATUS_OK);
}

static void ck_figure(enum metric metric, int32_t instance, double expected)
{
	ck_set_figure(&set, metric, instance, expected, 1e-6);
}

static void ck_absent(enum metric metric, int32_t instance) { ck_set_figure(&set, metric, instance, NAN, 0); }

static void ck_missing(const char *figure, const char *words) { ck_set_missing(&set, figure, words); }

/* Calls that the fake library counted. */
static unsigned calls_of(const char *symbol, unsigned gpu)
{
	unsigned (*calls)(const char *, unsigned);
	void *library = dlopen(gpus.nvml, RTLD_NOW | RTLD_NOLOAD), *found = library ? dlsym(library, "fake_calls") : NULL;
	ck_assert_ptr_nonnull(found);
	memcpy(&calls, &found, sizeof found);
	dlclose(library);
	return calls(symbol, gpu);
}

static size_t processes_in(double from_s, double to_s)
{
	size_t count = 0;
	for (double at_s = from_s; at_s < to_s; at_s += 0.25) {
		ck_read(at_s);
		const struct record *record;
		for (size_t i = 0; (record = set_record(&set, RECORD_GPU_PROCESSES, i)); i++)
			count += record->gpu_processes.gpu == 1;
	}
	return count;
}

START_TEST(processes_are_asked_for_seldom_and_figures_often)
{
	ck_open();
	ck_assert_uint_eq(processes_in(0, 10), 5);
	ck_read(10);
	ck_figure(METRIC_GPU_POWER_LIMIT, 1, 700);
	ck_read(10.25);
	ck_figure(METRIC_GPU_BUSY, 1, 0.9);
	ck_absent(METRIC_GPU_POWER_LIMIT, 1);
}
END_TEST

static double burnt_us(void)
{
	double (*burnt)(void);
	void *library = dlopen(gpus.nvml, RTLD_NOW | RTLD_NOLOAD),
		 *found = library ? dlsym(library, "fake_burnt_us") : NULL;
	ck_assert_ptr_nonnull(found);
	memcpy(&burnt, &found, sizeof found);
	dlclose(library);
	return burnt();
}

static void say_node(unsigned count)
{
	static char script[24576];
	size_t used = (size_t)snprintf(script, sizeof script, "driver 580.82.07\ntime 10\n" FAKE_H100_COSTS);
	for (unsigned i = 0; i < count; i++)
		used += (size_t)snprintf(script + used, sizeof script - used,
			"gpu NVIDIA H100 80GB HBM3\npci 0:%x:0\n" FAKE_GPU "process 100 compute 1Gi 90\n", i + 1);
	ck_assert_uint_lt(used, sizeof script);
	fake_gpus_say_only(&gpus, script);
}

/* So many seconds at four readings a second, nearly each with figures: on a busy machine one may be late. Returns the
 * driver's CPU time in ms per second. */
static double ms_a_second(double from_s, double seconds)
{
	double before_us = burnt_us(), readings = 0, with_figures = 0;
	for (double at_s = from_s; at_s < from_s + seconds; at_s += 0.25, readings++) {
		ck_read(at_s);
		with_figures += set_figure(&set, METRIC_GPU_BUSY, 0) > 0 && set_figure(&set, METRIC_GPU_POWER, 0) > 0;
	}
	ck_assert_msg(with_figures > 0.7 * readings, "figures in %g of %g readings", with_figures, readings);
	return (burnt_us() - before_us) / 1e3 / seconds;
}

/* Only calls are counted, so a busy machine does not matter. */
START_TEST(an_h100_takes_three_ms_of_cpu_a_second)
{
	say_node(1);
	ck_open();
	ck_read(0);
	double ms = ms_a_second(0.25, 60);
	ck_assert_msg(ms > 1.5 && ms < 3.2, "%g ms a second", ms);
	unsigned energy = calls_of("field/83", 0), throttled = calls_of("field/270", 0),
			 limits = calls_of("nvmlDeviceGetMaxClockInfo", 0);
	ck_assert_msg(energy >= 25 && energy <= 32, "energy %u times", energy);
	ck_assert_msg(throttled >= 25 && throttled <= 32, "time throttled %u times", throttled);
	ck_assert_uint_ge(calls_of("field/197", 0), 55);
	ck_assert_msg(limits <= 4, "highest clocks %u times", limits);
	/* Fixed values of emitted figures are read once, and the call that a field replaces never. */
	ck_assert_uint_eq(calls_of("field/75", 0), 1);
	ck_assert_uint_eq(calls_of("nvmlDeviceGetTotalEnergyConsumption", 0), 0);
}
END_TEST

START_TEST(eight_h100_take_less_than_a_hundredth_of_a_cpu)
{
	say_node(8);
	ck_open();
	ck_read(0);
	ms_a_second(0.25, 15);
	double ms = ms_a_second(15.25, 60);
	ck_assert_msg(ms > 3 && ms < 9, "%g ms a second", ms);
	/* Interrupted calls seem slow and are made less often: the bound is a third of an idle machine's count. */
	for (unsigned i = 0; i < 8; i++)
		ck_assert_msg(calls_of("field/83", i) >= 3 && calls_of("field/270", i) >= 3 && calls_of("field/197", i) >= 10,
			"GPU %u: energy %u, time throttled %u, PCIe %u times", i, calls_of("field/83", i), calls_of("field/270", i),
			calls_of("field/197", i));
}
END_TEST

START_TEST(slow_calls_are_spread_over_the_gpus)
{
	double max_us = 0;
	say_node(8);
	ck_open();
	ck_read(0);
	for (double at_s = 0.25; at_s < 8; at_s += 0.25) {
		double before_us = burnt_us();
		ck_read(at_s);
		max_us = fmax(max_us, burnt_us() - before_us);
	}
	ck_assert_msg(max_us < 8 * 2000, "%g us in one reading", max_us);
}
END_TEST

START_TEST(limits_are_read_again_after_a_change_and_emitted_always)
{
	ck_open();
	ck_read(0);
	fake_gpus_say(&gpus, "clock_max 1755\n");
	ck_read(2);
	ck_figure(METRIC_GPU_CLOCK_MAX, 1, 1980e6);
	fake_gpus_say(&gpus, "clock_max 1755\npower_limit 500\n");
	ck_read(4);
	ck_figure(METRIC_GPU_POWER_LIMIT, 1, 500);
	ck_read(6);
	ck_figure(METRIC_GPU_CLOCK_MAX, 1, 1755e6);
	/* Without an event the new limit is known a minute later. */
	fake_gpus_say(&gpus, "clock_max 1500\npower_limit 500\n");
	ck_read(66.5);
	ck_figure(METRIC_GPU_CLOCK_MAX, 1, 1500e6);
}
END_TEST

START_TEST(a_slow_call_is_made_less_often_and_reported)
{
	ck_open();
	fake_gpus_say(&gpus, "slow nvmlDeviceGetUtilizationRates 40\n");
	ck_read(0);
	ck_missing("GPU pace", "GPU 0, 1: the driver is slow");
	ck_assert_double_gt(set_figure(&set, METRIC_GPU_READING, 0), 40e6);
	/* 40 ms are 2 % of 2 s. */
	ck_read(1);
	ck_absent(METRIC_GPU_BUSY, 0);
	fake_gpus_say(&gpus, "");
	ck_read(5);
	ck_figure(METRIC_GPU_BUSY, 0, 0.9);
	ck_assert_ptr_null(set_missing(&set, "GPU pace")->missing.text);
	ck_read(5.25);
	ck_figure(METRIC_GPU_BUSY, 0, 0.9);
}
END_TEST

START_TEST(room_for_samples_that_was_enough_is_offered_again)
{
	static const struct {
		const char *kind, *call;
		unsigned first, later;
	} cases[] = {
		{ "", "nvmlDeviceGetProcessesUtilizationInfo", 2, 1 },
		{ "r535", "nvmlDeviceGetProcessUtilization", 2, 1 },
	};
	enum { MANY = 100 };
	static char script[MANY * 40];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t used = (size_t)snprintf(script, sizeof script, "burn %s 1\n", cases[i].call);
		for (int n = 0; n < MANY; n++)
			used += (size_t)snprintf(script + used, sizeof script - used, "process %d compute 1M 5\n", 1000 + n);
		fake_gpus_library(cases[i].kind, gpus.nvml, sizeof gpus.nvml);
		fake_gpus_say(&gpus, script);
		ck_open();
		ck_read(0);
		ck_assert_uint_eq(calls_of(cases[i].call, 1), cases[i].first);
		ck_read(3);
		ck_assert_uint_eq(calls_of(cases[i].call, 1), cases[i].first + cases[i].later);
		nvidia_gpus.close(state);
		state = NULL;
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		room_for_samples_that_was_enough_is_offered_again,
		processes_are_asked_for_seldom_and_figures_often,
		an_h100_takes_three_ms_of_cpu_a_second,
		eight_h100_take_less_than_a_hundredth_of_a_cpu,
		slow_calls_are_spread_over_the_gpus,
		limits_are_read_again_after_a_change_and_emitted_always,
		a_slow_call_is_made_less_often_and_reported,
	};
	Suite *suite = suite_create("reading intervals of NVIDIA GPUs");
	TCase *cases = tcase_create("fake library");
	tcase_add_checked_fixture(cases, setup, teardown);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(cases, tests[i]);
	tcase_set_timeout(cases, 60);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
