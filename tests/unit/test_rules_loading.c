/* In the real model: workers that compute, workers that wait for the disk, and a GPU whose clock heat, power or its
 * hardware throttles. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/rules/rule_now.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"
#include "tests/support/model_parts.h"

#define TICK 0.2

enum { TRAINER = 100, WORKER = 201, WORKERS = 4, GPU = 0 };

static struct script script;
static struct settings settings;
static struct alerts alerts;
static struct rule_book *book;
static double at_s, step_at_s, cpu_s, read_bytes, cpu_per_s, read_per_s, received_bytes, received_per_s;
static int disk_of_ten; /* of ten readings, those in state D */
static unsigned held;
static int ticks;

static void emit_gpu(double time_s)
{
	struct gpu_row *row = sample_set_allocate(&script.set, sizeof *row);
	*row = (struct gpu_row){
		.instance = GPU, .parent = -1, .vendor = "NVIDIA", .name = "H100", .uuid = "GPU-0", .pci = "", .driver = ""
	};
	script_add(&script, RECORD_GPU, time_s)->gpu = row;
}

static void emit_processes(double time_s)
{
	struct gpu_process_row *row = sample_set_allocate(&script.set, sizeof *row);
	*row = (struct gpu_process_row){ TRAINER, GPU_PROCESS_COMPUTE, "", 1e9, NAN };
	struct record *record = script_add(&script, RECORD_GPU_PROCESSES, time_s);
	record->gpu_processes.gpu = GPU;
	record->gpu_processes.rows = row;
	record->gpu_processes.count = 1;
}

static void setup(void)
{
	book = rule_book_new();
	settings_default(&settings);
	settings.rules = book;
	script_open(&script, NULL);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
	for (int i = 0; i < WORKERS; i++) {
		script_process(&script, 0, WORKER + i, 1, "pt_data_worker", false);
		script.set.records[script.set.count - 1].process.parent = TRAINER;
	}
	script_meta(&script, "loader.num_workers", "4");
	emit_gpu(0);
	at_s = step_at_s = cpu_s = read_bytes = cpu_per_s = read_per_s = received_bytes = received_per_s = 0;
	disk_of_ten = ticks = 0;
	held = 0;
}

static void teardown(void)
{
	alerts_release(&alerts);
	script_close(&script);
	rule_book_free(book);
}

static void emit_workers(void)
{
	cpu_s += cpu_per_s * TICK;
	read_bytes += read_per_s * TICK;
	script_figure(&script, at_s, METRIC_PROCESS_STATE, TRAINER, 'S');
	script_figure(&script, at_s, METRIC_SYSTEM_CPUS, 0, 16);
	received_bytes += received_per_s * TICK;
	script_figure(&script, at_s, METRIC_NETWORK_RECEIVED, 0, received_bytes);
	script_figure(&script, at_s, METRIC_NETWORK_SENT, 0, 0);
	for (int i = 0; i < WORKERS; i++) {
		script_figure(&script, at_s, METRIC_PROCESS_STATE, WORKER + i, (ticks + 3 * i) % 10 < disk_of_ten ? 'D' : 'S');
		script_figure(&script, at_s, METRIC_PROCESS_CPU_USER, WORKER + i, cpu_s * 1e9);
		script_figure(&script, at_s, METRIC_PROCESS_READ, WORKER + i, read_bytes);
	}
}

/* Half of each step is data. */
static void emit_steps(void)
{
	for (; step_at_s + 0.1 <= at_s; step_at_s += 0.1) {
		script_batch_begin(&script, 0, step_at_s, script.batches);
		script_span(&script, 0, step_at_s, step_at_s + 0.05, STORY_DATA, 0);
		script_span(&script, 0, step_at_s + 0.05, step_at_s + 0.1, STORY_FORWARD, 0);
		script_batch_end(&script, 0, step_at_s + 0.1, step_at_s, NAN);
	}
}

static void go_on(double until_s)
{
	while (at_s + TICK <= until_s + 1e-9) {
		at_s += TICK;
		ticks++;
		emit_workers();
		emit_steps();
		script_figure(&script, at_s, METRIC_GPU_THROTTLE, GPU, held);
		if (ticks % 10 == 0)
			emit_processes(at_s);
		script_apply(&script, at_s);
		alerts_update(&alerts, script.model, &settings);
	}
}

static const struct alert *raised(const char *rule) { return alerts_find_raised(&alerts, rule); }

START_TEST(workers_that_compute_all_the_time_are_CPU_bound)
{
	cpu_per_s = 0.98;
	go_on(8);
	ck_assert_ptr_null(raised("loading_cpu_bound"));
	go_on(20);
	const struct alert *alert = raised("loading_cpu_bound");
	ck_assert_ptr_nonnull(alert);
	ck_assert_str_eq(alert->message, "loading is CPU-bound: 4 workers at 98 % CPU each; steps wait 50 %");
	ck_assert_str_eq(alert->advice[0], "raise num_workers from 4 to 8: 16 CPUs are available");
	ck_assert_ptr_null(raised("loading_io_bound"));
	ck_assert_str_eq(raised("data_loading")->advice[0], "raise num_workers from 4 to 8: 16 CPUs are available");
	cpu_per_s = 0.3;
	go_on(32);
	ck_assert_ptr_nonnull(raised("loading_cpu_bound")); /* not calm for long enough */
	go_on(50);
	ck_assert_ptr_null(raised("loading_cpu_bound"));
}
END_TEST

START_TEST(workers_that_wait_for_the_disk_are_IO_bound)
{
	cpu_per_s = 0.1;
	read_per_s = 10e6;
	disk_of_ten = 7;
	go_on(20);
	const struct alert *alert = raised("loading_io_bound");
	ck_assert_ptr_nonnull(alert);
	ck_assert_str_eq(alert->message, "loading is I/O-bound: 4 workers wait 70 % for disk (40.0 MB/s); steps wait 50 %");
	ck_assert_str_eq(alert->advice[0], "raise num_workers from 4 to 8: more reads overlap");
	ck_assert_ptr_null(raised("loading_cpu_bound"));
	ck_assert_str_eq(raised("data_loading")->advice[0], alert->advice[0]);
	disk_of_ten = 1;
	go_on(50);
	ck_assert_ptr_null(raised("loading_io_bound"));
}
END_TEST

START_TEST(data_that_comes_over_the_network_is_named_with_its_interface)
{
	struct record *record = script_add(&script, RECORD_INSTANCE, 0);
	record->instance.metric = METRIC_NETWORK_RECEIVED;
	record->instance.name = "eth0";
	received_per_s = 20e6;
	go_on(20);
	ck_assert_ptr_null(raised("loading_over_network"));
	received_per_s = 118e6;
	go_on(40);
	ck_assert_ptr_nonnull(raised("loading_over_network"));
	ck_assert_str_eq(raised("loading_over_network")->message, "steps wait 50 % for data while eth0 receives 118 MB/s");
}
END_TEST

START_TEST(workers_that_do_neither_are_neither)
{
	cpu_per_s = 0.4;
	disk_of_ten = 2;
	go_on(30);
	ck_assert_ptr_null(raised("loading_cpu_bound"));
	ck_assert_ptr_null(raised("loading_io_bound"));
	ck_assert_ptr_nonnull(raised("data_loading"));
}
END_TEST

/* An intermittent reason is judged by its share of the last 10 s. */
static void flicker(double until_s, unsigned bits)
{
	while (at_s + TICK <= until_s + 1e-9) {
		held = ticks % 2 ? bits : 0;
		go_on(at_s + TICK);
	}
}

START_TEST(a_gpu_that_is_throttled_at_times_is_judged_by_the_share)
{
	static const struct {
		const char *rule;
		unsigned bit;
		double for_s;
		const char *message;
	} cases[] = {
		{ "gpu_throttled_heat", GPU_THROTTLE_HEAT_SOFTWARE, 20, "the GPU thermally throttled 50 % of the time" },
		{ "gpu_throttled_hardware", GPU_THROTTLE_HARDWARE, 20, "the GPU in hardware slowdown 50 % of the time" },
	};
	go_on(12);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert_ptr_null(raised(cases[i].rule));
		flicker(at_s + cases[i].for_s, 1u << cases[i].bit);
		ck_assert_msg(raised(cases[i].rule) != NULL, "no %s", cases[i].rule);
		ck_assert_msg(
			strncmp(raised(cases[i].rule)->message, cases[i].message, 30) == 0, "%s", raised(cases[i].rule)->message);
	}
	held = 1u << GPU_THROTTLE_POWER_CAP;
	go_on(at_s + 45);
	ck_assert_ptr_nonnull(raised("gpu_throttled_power"));
	ck_assert_ptr_null(raised("gpu_throttled_heat"));
	ck_assert_ptr_null(raised("gpu_throttled_hardware"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules of loading");
	TCase *tests = tcase_create("rules of loading");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, workers_that_compute_all_the_time_are_CPU_bound);
	tcase_add_test(tests, workers_that_wait_for_the_disk_are_IO_bound);
	tcase_add_test(tests, data_that_comes_over_the_network_is_named_with_its_interface);
	tcase_add_test(tests, workers_that_do_neither_are_neither);
	tcase_add_test(tests, a_gpu_that_is_throttled_at_times_is_judged_by_the_share);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
