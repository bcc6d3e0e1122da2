/* Rules of the hardware, each from figures made by hand: missing figures, duration, message, clearing. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/rules/alerts_list.h"
#include "src/rules/alerts_private.h"
#include "src/rules/rule_book.h"
#include "src/rules/rule_context.h"
#include "src/rules/rule_now.h"
#include "src/rules/rule_text.h"
#include "tests/support/suite.h"
#include "tests/unit/hand_run.h"
#include "tests/support/model_parts.h"

static struct model model;
static struct run runs[1];
static struct gpu gpus[2];
static struct process trainer;
static struct settings settings;
static struct alerts alerts;
static struct rule_book *book;

static void forget(struct gpu *gpu, int32_t instance)
{
	*gpu = (struct gpu){ .instance = instance,
		.parent = -1,
		.index = (unsigned)instance,
		.vendor = "NVIDIA",
		.name = "H100",
		.is_ours = true,
		.verdict = MEMORY_UNKNOWN,
		.power_w = NAN,
		.throttled_power_ratio = NAN,
		.throttled_thermal_ratio = NAN,
		.run_memory_bytes = NAN,
		.run_busy_ratio = NAN,
		.others_memory_bytes = NAN,
		.slope_per_batch = NAN,
		.full_in_s = NAN };
	for (size_t i = 0; i < GPU_METRICS; i++)
		gpu->now[i] = gpu->per_s[i] = NAN;
}

static void start(void)
{
	static const struct system no_system;
	book = rule_book_new();
	memset(runs, 0, sizeof runs);
	hand_run_init(&runs[0]);
	settings_default(&settings);
	settings.rules = book;
	forget(&gpus[0], 0);
	forget(&gpus[1], 1);
	model = (struct model){
		.now_ns = 1000 * NS_PER_S, .run_count = 1, .runs = runs, .system = no_system, .gpus = { .gpus = gpus }
	};
	trainer = (struct process){ .is_target = true, .cpu_ratio = NAN };
	model.processes = &trainer;
	model.process_count = 1;
	model_set_unknown(&model);
	model.energy.throttles_per_s = model.energy.hottest_celsius = model.energy.cpu_clock_hz = NAN;
}

static void stop(void)
{
	alerts_release(&alerts);
	rule_book_free(book);
}

static void now(size_t gpu, enum metric metric, double value) { gpus[gpu].now[metric - METRIC_GPU_FIRST] = value; }

static void update_after(double seconds)
{
	model.now_ns += (int64_t)(seconds * 1e9);
	alerts_update(&alerts, &model, &settings);
}

static const struct alert *raised(const char *rule) { return alerts_find_raised(&alerts, rule); }

static void batches(double data_s, double forward_s)
{
	hand.batch_count = 0;
	for (size_t i = 0; i < 30; i++) {
		hand.batches[i] = (struct batch){ .ordinal = i, .step_s = data_s + forward_s, .batch_s = data_s + forward_s };
		add_phase(hand.batches[i].phases, &hand.batches[i].phase_count, DATA, NAME_NONE, data_s);
		add_phase(hand.batches[i].phases, &hand.batches[i].phase_count, FORWARD, NAME_NONE, forward_s);
	}
	hand.batch_count = 30;
	runs[0].tracks[0].count = runs[0].tracks[0].end = hand.batch_count;
}

/* -- what makes each rule stand, and what calms it -- */

static void used(double used_gb, double others_gb)
{
	now(0, METRIC_GPU_MEMORY, 80e9);
	now(0, METRIC_GPU_MEMORY_USED, used_gb * 1e9);
	gpus[0].others_memory_bytes = others_gb * 1e9;
	gpus[0].run_memory_bytes = (used_gb - others_gb) * 1e9;
}

static void launches(double cpu_ratio, double busy_ratio)
{
	static struct operation forward;
	forward = (struct operation){ .name = FORWARD, .count = 6000 };
	runs[0].operations = &forward;
	runs[0].operation_count = 1;
	batches(0.01, 0.19);
	trainer.cpu_ratio = cpu_ratio;
	now(0, METRIC_GPU_BUSY, busy_ratio);
	now(0, METRIC_GPU_SM_ACTIVE, 0.02);
}

static void copies(double per_s)
{
	launches(1, 0.48);
	gpus[0].per_s[METRIC_GPU_PCIE_RECEIVED - METRIC_GPU_FIRST] = per_s;
	gpus[0].per_s[METRIC_GPU_PCIE_SENT - METRIC_GPU_FIRST] = 4e8;
}

/* Per step three waits at one line and one, longer in all, at another within forward. */
static void waits(double share_ratio, double busy_ratio)
{
	static const struct operation forward = { .name = FORWARD, .count = 30, .share_ratio = 0.5 };
	static struct operation all[5];
	static const char *const names[] = { "sync", "my train.py:21 .item()", "train.py:9 bool()" };
	batches(0.01, 0.19);
	memcpy(&hand.names[EXTRA], names, sizeof names);
	all[0] = forward;
	all[1] =
		(struct operation){ .name = EXTRA, .parent = FORWARD, .depth = 1, .count = 90, .share_ratio = share_ratio / 3 };
	all[2] = (struct operation){ .name = EXTRA + 2, .parent = EXTRA, .depth = 2, .count = 90, .total_s = 0.3 };
	all[3] = (struct operation){ .name = EXTRA, .count = 30, .share_ratio = share_ratio * 2 / 3 };
	all[4] = (struct operation){ .name = EXTRA + 1, .parent = EXTRA, .depth = 1, .count = 30, .total_s = 0.6 };
	runs[0].operations = all;
	runs[0].operation_count = 5;
	now(0, METRIC_GPU_BUSY, busy_ratio);
}

static void often_waited(void) { waits(0.18, 0.7); }
static void waited_while_busy(void) { waits(0.6, 0.95); }
static void host_bound(void) { launches(0.98, 0.17); }
static void not_host_bound(void) { launches(0.98, 0.8); }
static void much_copied(void) { copies(4.9e9); }
static void little_copied(void)
{
	copies(1e8);
	now(0, METRIC_GPU_BUSY, 0.96);
}
static void full(void) { used(76, 0); }
static void roomy(void) { used(20, 0); }
static void idle(void)
{
	batches(0.02, 0.18);
	now(0, METRIC_GPU_BUSY, 0.6);
}
static void busy(void) { now(0, METRIC_GPU_BUSY, 0.97); }
static void loads(void)
{
	batches(0.05, 0.15);
	now(0, METRIC_GPU_BUSY, 0.4);
}
static void hollow(void)
{
	batches(0.01, 0.19);
	now(0, METRIC_GPU_BUSY, 0.95);
	now(0, METRIC_GPU_SM_ACTIVE, 0.22);
	now(0, METRIC_GPU_SM_OCCUPANCY, 0.1);
}
static void dense(void) { now(0, METRIC_GPU_SM_ACTIVE, 0.8); }
static void no_tensors(void)
{
	batches(0.01, 0.19);
	busy();
	dense();
	now(0, METRIC_GPU_TENSOR_ACTIVE, 0);
}
static void tensors(void) { now(0, METRIC_GPU_TENSOR_ACTIVE, 0.5); }

static void clocked(double mhz)
{
	now(0, METRIC_GPU_CLOCK, mhz * 1e6);
	now(0, METRIC_GPU_CLOCK_MAX, 1980e6);
}

static void hot(void)
{
	clocked(1215);
	now(0, METRIC_GPU_TEMPERATURE, 91);
	gpus[0].throttled_thermal_ratio = 0.63;
}
static void cool(void)
{
	clocked(1980);
	gpus[0].throttled_thermal_ratio = 0;
}
static void capped(void)
{
	clocked(1620);
	gpus[0].power_w = 298;
	now(0, METRIC_GPU_POWER_LIMIT, 300);
	gpus[0].throttled_power_ratio = 0.9;
}
static void uncapped(void) { gpus[0].throttled_power_ratio = 0.1; }

static void link_is(double generation, double width)
{
	busy();
	now(0, METRIC_GPU_PCIE_GENERATION, generation);
	now(0, METRIC_GPU_PCIE_GENERATION_MAX, 4);
	now(0, METRIC_GPU_PCIE_WIDTH, width);
	now(0, METRIC_GPU_PCIE_WIDTH_MAX, 16);
}

static void narrow(void) { link_is(3, 8); }
static void wide(void) { link_is(4, 16); }

static void grows(void)
{
	used(40, 0);
	gpus[0].verdict = MEMORY_LEAK;
	gpus[0].slope = (struct slope){ .per_s = 5e6, .low_per_s = 4e6, .high_per_s = 6e6, .points = 50 };
	gpus[0].slope_per_batch = 1e6;
	gpus[0].full_in_s = 600;
}

static void rests(void)
{
	gpus[0].verdict = MEMORY_PLATEAU;
	gpus[0].full_in_s = NAN;
}

static void crowded(void)
{
	used(60, 30);
	gpus[0].process_count = 4;
	gpus[0].processes[0] =
		(struct gpu_process){ .pid = 100, .is_ours = true, .command = "train.py", .memory_bytes = 30e9 };
	gpus[0].processes[1] = (struct gpu_process){ .pid = 4711, .command = "blender -b", .memory_bytes = 20e9 };
	gpus[0].processes[2] = (struct gpu_process){ .pid = 4712, .memory_bytes = 9e9 };
	gpus[0].processes[3] = (struct gpu_process){ .pid = 4713, .command = "Xorg", .memory_bytes = 1e9 };
}

static void alone(void) { used(30, 0); }
static void lost(void)
{
	gpus[0].totals.was_ours = true;
	snprintf(gpus[0].lost, sizeof gpus[0].lost, "it has fallen off the bus (XID 79)");
}
static void found(void) { gpus[0].lost[0] = '\0'; }

static void reports(void)
{
	model.gpus.happenings[0] = (struct gpu_happening){ model.now_ns, 0, 31, "XID 31: GPU memory page fault" };
	model.gpus.happening_count = 1;
}

static void silent(void) { model.now_ns += 601 * NS_PER_S; }
static void corrupt(void) { now(0, METRIC_GPU_ECC_UNCORRECTED, 2); }
static void sound(void) { now(0, METRIC_GPU_ECC_UNCORRECTED, 0); }
static void hot_cpus(void)
{
	model.energy.throttles_per_s = 12;
	model.energy.hottest_celsius = 99;
	model.energy.cpu_clock_hz = 1.4e9;
}
static void cool_cpus(void) { model.energy.throttles_per_s = 0; }

static const struct row {
	const char *rule;
	double for_s;
	enum severity severity;
	void (*bad)(void), (*good)(void);
	const char *lacks, *message;
} rows[] = {
	{ "gpu_memory", 5, SEVERITY_WARNING, full, roomy, "gpu.memory_ratio", "the GPU's memory is 95 % used; others 0 B" },
	{ "gpu_underused", 30, SEVERITY_INFO, idle, busy, "gpu.busy_ratio",
		"GPU only 60 % busy; data loading takes 10 % of each step" },
	{ "gpu_idle_while_loading", 10, SEVERITY_INFO, loads, busy, "gpu.busy_ratio",
		"GPU only 40 % busy: data loading takes 25 % of each step (0.050 s of 0.200 s)" },
	{ "gpu_waits_for_host", 10, SEVERITY_WARNING, host_bound, not_host_bound, "run.cpu_ratio",
		"GPU idle 83 %, waiting for the CPU: 200 forward calls per step, 98 % CPU" },
	{ "gpu_waits_for_copies", 10, SEVERITY_WARNING, much_copied, little_copied, "gpu.busy_ratio",
		"GPU only 48 % busy: it receives 4.90 GB/s over PCIe, 980 MB per step" },
	{ "waits_for_gpu", 10, SEVERITY_WARNING, often_waited, waited_while_busy, "gpu.busy_ratio",
		"4 waits for the GPU per step, 18 % of it: my train.py:21" },
	{ "gpu_hollow", 20, SEVERITY_INFO, hollow, dense, "gpu.busy_ratio",
		"GPU 95 % busy, but only 22 % of its SMs are active; occupancy 10 %" },
	{ "tensor_cores_idle", 30, SEVERITY_INFO, no_tensors, tensors, "gpu.busy_ratio",
		"tensor cores idle (0 %) while 80 % of the SMs are active" },
	{ "gpu_memory_growing", 5, SEVERITY_WARNING, grows, rests, "gpu.memory_grows",
		"memory leak on the GPU: 5.00 MB/s, 1.00 MB per batch; full in 10:00" },
	{ "gpu_full_soon", 5, SEVERITY_CRITICAL, grows, rests, "gpu.memory_grows",
		"the GPU's memory is full in 10:00: 40.0 GB of 80.0 GB, growing by 5.00 MB/s" },
	{ "gpu_others", 10, SEVERITY_INFO, crowded, alone, "gpu.others_ratio",
		"other programs use 30.0 GB (38 %) of the GPU's memory: blender 4711, process 4712 and 1 more" },
	{ "gpu_throttled_heat", 5, SEVERITY_WARNING, hot, cool, "gpu.throttled_thermal_ratio",
		"the GPU thermally throttled 63 % of the time: 91 °C, 1215 of 1980 MHz" },
	{ "gpu_throttled_power", 5, SEVERITY_INFO, capped, uncapped, "gpu.throttled_power_ratio",
		"the GPU at its power limit 90 % of the time: 298 of 300 W, 1620 of 1980 MHz" },
	{ "pcie_link_below", 30, SEVERITY_WARNING, narrow, wide, "gpu.pcie_ratio",
		"the GPU's PCIe link is gen 3 ×8 instead of gen 4 ×16: 25 % of its speed" },
	{ "gpu_lost", 0, SEVERITY_CRITICAL, lost, found, "gpu.lost",
		"the GPU no longer responds: it has fallen off the bus (XID 79)" },
	{ "gpu_reported", 0, SEVERITY_WARNING, reports, silent, "gpu.reports",
		"the GPU reported XID 31: GPU memory page fault (1 in the last ten minutes)" },
	{ "gpu_ecc_uncorrected", 0, SEVERITY_WARNING, corrupt, sound, "gpu.ecc_uncorrected",
		"the GPU: 2 uncorrected memory errors (ECC) since the driver was loaded" },
	{ "cpu_throttled_heat", 5, SEVERITY_WARNING, hot_cpus, cool_cpus, "heat.cpu_throttles_per_s",
		"CPUs thermally throttled 12.0 times per second: 99 °C, 1400 MHz" },
};

static enum rule_state state_of(const char *rule, struct rule_now *out)
{
	rule_now(&alerts, &model, rule_find(book, rule), out);
	return out->state;
}

START_TEST(a_rule_lacks_is_held_is_raised_and_is_cleared)
{
	const struct row *row = &rows[_i];
	struct rule_now state;
	batches(0.02, 0.18);
	update_after(1);
	ck_assert_msg(state_of(row->rule, &state) == RULE_LACKS, "%s is %s", row->rule, rule_state_name(state.state));
	ck_assert_msg(strncmp(state.lacks, row->lacks, strlen(row->lacks)) == 0, "%s lacks %s", row->rule, state.lacks);

	model.gpus.count = 1;
	row->good();
	update_after(1);
	ck_assert_ptr_null(raised(row->rule));
	row->bad();
	update_after(1);
	for (double passed = 0; passed + 1 < row->for_s; passed += 1) {
		ck_assert_msg(!raised(row->rule), "%s is raised after %g s", row->rule, passed);
		ck_assert_int_eq(state_of(row->rule, &state), RULE_HELD);
		update_after(1);
	}
	update_after(1);
	const struct alert *alert = raised(row->rule);
	ck_assert_msg(alert != NULL, "%s is not raised", row->rule);
	ck_assert_str_eq(alert->message, row->message);
	ck_assert_int_eq(alert->severity, row->severity);
	ck_assert_uint_gt(alert->advice_count, 0);
	ck_assert(alert->meaning[0] != '\0' && !strstr(alert->meaning, "–"));
	row->good();
	update_after(1);
	ck_assert_msg(raised(row->rule) != NULL, "%s is cleared at once", row->rule);
	update_after(11);
	ck_assert_msg(!raised(row->rule), "%s is not cleared", row->rule);
}
END_TEST

/* Copies in each batch of 0.2 s; gpu_s: their time by the GPU's clock. */
static void pageable_copies(double gpu_s, double bytes_per_s)
{
	static const char *const names[] = { "transfer", "gpu.transfer_s", "transfer.h2d_pageable_bytes",
		"transfer.pageable_bytes_per_s", "train.py:19 .to() pageable", "train.py:20 .to()" };
	static struct counter counter;
	static struct operation lines[2];
	static __typeof__(*runs[0].gauges) gauge = { .name = EXTRA + 3, .value = 1.2e9 };
	batches(0.01, 0.19);
	memcpy(&hand.names[EXTRA], names, sizeof names);
	for (size_t i = 0; i < hand.batch_count; i++)
		add_phase(hand.batches[i].phases, &hand.batches[i].phase_count, EXTRA, NAME_NONE, 0.15);
	counter = (struct counter){ .name = EXTRA + 2, .rate_per_s = bytes_per_s };
	lines[0] = (struct operation){ .name = EXTRA + 4, .parent = EXTRA, .depth = 1, .total_s = 1 };
	lines[1] = (struct operation){ .name = EXTRA + 5, .parent = EXTRA, .depth = 1, .total_s = 2 };
	runs[0].counters = &counter;
	runs[0].gauges = &gauge;
	runs[0].counter_count = runs[0].gauge_count = 1;
	runs[0].operations = lines;
	runs[0].operation_count = 2;
	runs[0].late_figure_count = isnan(gpu_s) ? 0u : 1u;
	runs[0].late_figures[0] = (struct late_figure){ .name = EXTRA + 1, .median = gpu_s };
}

/* The host's clock, on which the phase takes 75 % of the step, also has the wait for the kernels before the copy. */
START_TEST(pageable_copies_are_judged_by_the_gpus_clock)
{
	static const double calm[][2] = { { NAN, 3e8 }, { 0.01, 3e8 }, { 0.05, 1e6 } };
	model.gpus.count = 1;
	much_copied();
	for (int i = 0; i < 30; i++) {
		pageable_copies(calm[i / 10][0], calm[i / 10][1]);
		update_after(1);
		ck_assert_ptr_null(raised("pageable_copies"));
	}
	ck_assert_ptr_nonnull(raised("gpu_waits_for_copies"));
	pageable_copies(0.05, 3e8);
	update_after(1);
	ck_assert_ptr_nonnull(raised("pageable_copies"));
	ck_assert_str_eq(raised("pageable_copies")->message,
		"pageable copies to the GPU take 25 % of each step: 1.20 GB/s, train.py:19");
	ck_assert_ptr_null(raised("consider_optimizing"));
	ck_assert_ptr_null(raised("gpu_waits_for_copies"));
}
END_TEST

START_TEST(a_figure_that_is_unknown_again_clears_nothing)
{
	model.gpus.count = 1;
	hot();
	update_after(1);
	update_after(6);
	ck_assert_ptr_nonnull(raised("gpu_throttled_heat"));
	gpus[0].throttled_thermal_ratio = NAN;
	update_after(100);
	ck_assert_ptr_nonnull(raised("gpu_throttled_heat"));
}
END_TEST

START_TEST(a_GPU_that_the_run_is_not_on_warns_of_nothing)
{
	model.gpus.count = 2;
	full();
	hot();
	corrupt();
	lost();
	gpus[0].is_ours = gpus[0].totals.was_ours = false;
	update_after(1);
	update_after(60);
	ck_assert_uint_eq(alerts_raised(&alerts), 0);
}
END_TEST

START_TEST(the_worst_of_several_gpus_is_named)
{
	model.gpus.count = 2;
	used(10, 0);
	hot();
	now(1, METRIC_GPU_MEMORY, 80e9);
	now(1, METRIC_GPU_MEMORY_USED, 79e9);
	gpus[1].throttled_thermal_ratio = 0.05;
	update_after(1);
	update_after(6);
	ck_assert_ptr_null(raised("gpu_memory"));
	ck_assert_str_eq(raised("gpu_memory_full")->message, "GPU 1's memory is nearly full, 99 %");
	ck_assert_int_eq(raised("gpu_memory_full")->action, ALERT_TAKES_SNAPSHOT);
	ck_assert_str_eq(
		raised("gpu_throttled_heat")->message, "GPU 0 thermally throttled 63 % of the time: 91 °C, 1215 of 1980 MHz");
}
END_TEST

START_TEST(an_idle_link_may_be_slow)
{
	model.gpus.count = 1;
	narrow();
	now(0, METRIC_GPU_BUSY, 0.05);
	update_after(1);
	update_after(60);
	ck_assert_ptr_null(raised("pcie_link_below"));
}
END_TEST

START_TEST(the_driver_says_that_the_GPU_waits_where_the_program_does_not)
{
	model.gpus.count = 1;
	batches(0.1, 0.1);
	now(0, METRIC_GPU_BUSY, 0.45);
	update_after(1);
	update_after(40);
	const struct alert *alert = raised("gpu_waits_for_data");
	ck_assert_ptr_nonnull(alert);
	ck_assert_str_eq(alert->message, "GPU waits for data: data loading takes 50 % of each step (0.100 s of 0.200 s)");
	ck_assert_str_eq(alert->meaning, "The driver reports the GPU idle 55 % of the time, while batches load.");
	ck_assert_ptr_null(raised("gpu_idle_while_loading")); /* said once */
	ck_assert_ptr_null(raised("gpu_underused"));
	ck_assert_ptr_null(raised("data_loading"));
}
END_TEST

START_TEST(the_cause_of_an_idle_GPU_is_warned_of_once)
{
	model.gpus.count = 1;
	much_copied();
	update_after(1);
	update_after(40);
	ck_assert_ptr_nonnull(raised("gpu_waits_for_copies"));
	ck_assert_ptr_null(raised("gpu_waits_for_host"));
	ck_assert_ptr_null(raised("gpu_underused"));
	host_bound();
	copies(0);
	now(0, METRIC_GPU_BUSY, 0.17);
	for (int second = 0; second < 60; second++)
		update_after(1);
	ck_assert_ptr_nonnull(raised("gpu_waits_for_host"));
	ck_assert_ptr_null(raised("gpu_waits_for_copies"));
	ck_assert_ptr_null(raised("gpu_underused"));
	batches(0.1, 0.1);
	for (int second = 0; second < 60; second++)
		update_after(1);
	ck_assert_ptr_nonnull(raised("gpu_waits_for_data"));
	ck_assert_ptr_null(raised("gpu_waits_for_host"));
}
END_TEST

START_TEST(an_idle_GPU_with_an_idle_host_does_not_wait_for_it)
{
	model.gpus.count = 1;
	launches(0.4, 0.17);
	update_after(1);
	update_after(60);
	ck_assert_ptr_null(raised("gpu_waits_for_host"));
	ck_assert_ptr_nonnull(raised("gpu_underused"));
}
END_TEST

/* -- shares by its clock -- */

static void clock_says(const char *name, double median_s)
{
	uint32_t id = EXTRA + (uint32_t)runs[0].late_figure_count;
	hand.names[id] = name;
	runs[0].late_figures[runs[0].late_figure_count++] = (struct late_figure){ .name = id, .median = median_s };
}

static void passes(double forward_s, double backward_s, double rest_s)
{
	hand.batch_count = 0;
	for (size_t i = 0; i < 30; i++) {
		hand.batches[i] = (struct batch){
			.ordinal = i, .step_s = forward_s + backward_s + rest_s, .batch_s = forward_s + backward_s + rest_s
		};
		add_phase(hand.batches[i].phases, &hand.batches[i].phase_count, FORWARD, NAME_NONE, forward_s);
		add_phase(hand.batches[i].phases, &hand.batches[i].phase_count, BACKWARD, NAME_NONE, backward_s);
		add_phase(hand.batches[i].phases, &hand.batches[i].phase_count, NAME_UNATTRIBUTED, NAME_NONE, rest_s);
	}
	hand.batch_count = 30;
	runs[0].tracks[0].count = runs[0].tracks[0].end = hand.batch_count;
}

static bool advises(const struct alert *alert, const char *line)
{
	for (size_t i = 0; i < alert->advice_count; i++)
		if (strcmp(alert->advice[i], line) == 0)
			return true;
	return false;
}

START_TEST(forward_and_backward_have_their_shares_by_the_GPU_clock)
{
	passes(0.12, 0.05, 0.03);
	update_after(1);
	ck_assert_str_eq(raised("slow_forward")->message, "forward takes 60 % of each step (0.120 s of 0.200 s)");
	clock_says("gpu.forward_s", 0.04);
	clock_says("gpu.backward_s", 0.14);
	clock_says("gpu.batch_s", 0.2);
	update_after(1);
	update_after(11);
	ck_assert_ptr_null(raised("slow_forward"));
	ck_assert_ptr_null(raised("bottleneck"));
	ck_assert_ptr_null(raised("consider_optimizing"));
	ck_assert_str_eq(
		raised("slow_backward")->message, "backward takes 70 % of each step (0.140 s of 0.200 s, GPU clock)");
	ck_assert_ptr_nonnull(strstr(raised("slow_backward")->meaning, "Backward takes 3.5× as long as forward"));
	ck_assert_int_eq(raised("slow_backward")->severity, SEVERITY_INFO);
	model.gpus.count = 1;
	used(70, 0);
	update_after(1);
	ck_assert(advises(raised("slow_backward"),
		"GPU memory is 88 % used: accumulate gradients of smaller batches, or call torch.cuda.empty_cache() after a "
		"peak"));
}
END_TEST

START_TEST(a_host_that_runs_ahead_has_no_shares_above_the_whole)
{
	passes(0.01, 0.01, 0.001);
	clock_says("gpu.forward_s", 0.04);
	clock_says("gpu.backward_s", 0.14);
	clock_says("gpu.batch_s", 0.2);
	update_after(1);
	ck_assert_str_eq(
		raised("slow_backward")->message, "backward takes 70 % of each step (0.140 s of 0.200 s, GPU clock)");
}
END_TEST

START_TEST(loading_is_warned_of_once)
{
	model.gpus.count = 1;
	batches(0.08, 0.12);
	now(0, METRIC_GPU_BUSY, 0.4);
	clock_says("gpu.forward_s", 0.15);
	update_after(1);
	update_after(20);
	ck_assert_ptr_nonnull(raised("data_loading"));
	ck_assert_ptr_null(raised("gpu_waits_for_data"));
	ck_assert_ptr_null(raised("gpu_idle_while_loading"));
}
END_TEST

static double own_wait(void)
{
	static struct rule_cache cache;
	struct context context;
	const char *none;
	const struct figure_ref ref = { figure_find("gpu.own_wait_ratio", &none), NULL };
	rule_context_init(&context, &cache, &model, 0, NULL);
	return figure_number(&ref, &context);
}

START_TEST(its_own_wait_counts_each_pass_once)
{
	passes(0.12, 0.05, 0.03);
	clock_says("gpu.forward_s", 0.02);
	ck_assert(isnan(own_wait())); /* backward is unknown */
	clock_says("gpu.backward_s", 0.04);
	clock_says("gpu.batch_s", 0.19);
	ck_assert_double_eq_tol(own_wait(), 0.7, 1e-6);
}
END_TEST

START_TEST(time_outside_all_spans_is_warned_of)
{
	passes(0.02, 0.02, 0.16);
	update_after(1);
	ck_assert_str_eq(raised("outside_spans")->message, "80 % of each step is outside all spans (0.160 s of 0.200 s)");
	ck_assert_int_eq(raised("outside_spans")->severity, SEVERITY_INFO);
	passes(0.1, 0.08, 0.02);
	update_after(1);
	update_after(11);
	ck_assert_ptr_null(raised("outside_spans"));
}
END_TEST

START_TEST(a_run_without_spans_is_not_warned_of_time_outside_them)
{
	batches(0.1, 0.1);
	for (size_t i = 0; i < 30; i++) {
		hand.batches[i].phase_count = 0;
		add_phase(hand.batches[i].phases, &hand.batches[i].phase_count, NAME_UNATTRIBUTED, NAME_NONE, 0.2);
	}
	update_after(1);
	ck_assert_ptr_null(raised("outside_spans"));
}
END_TEST

START_TEST(a_GPU_at_its_limit_under_full_load_is_no_fault)
{
	model.gpus.count = 1;
	busy();
	capped();
	update_after(1);
	update_after(6);
	ck_assert_str_eq(raised("gpu_throttled_power")->message,
		"the GPU at its power limit 90 % of the time, normal at full load: 298 of 300 W, 1620 of 1980 MHz");
	ck_assert_int_eq(raised("gpu_throttled_power")->severity, SEVERITY_INFO);
	ck_assert_str_eq(
		raised("gpu_throttled_power")->advice[0], "do nothing: the GPU is as fast as its power limit allows");
	clocked(1200);
	update_after(1);
	ck_assert(!strstr(raised("gpu_throttled_power")->message, "normal at full load"));
	ck_assert_str_eq(raised("gpu_throttled_power")->meaning,
		"The power limit costs much speed: it reduces the clock to 61 % of its maximum.");
}
END_TEST

START_TEST(advice_quotes_what_was_published)
{
	model.gpus.count = 1;
	hand_meta(&runs[0], "batch_size", "32");
	hand_meta(&runs[0], "precision", "32-true");
	hollow();
	used(20, 0);
	now(0, METRIC_GPU_TENSOR_ACTIVE, 0);
	update_after(1);
	update_after(30);
	ck_assert(advises(raised("gpu_hollow"), "raise batch_size from 32 to 64: 60.0 GB of GPU memory are free"));
	ck_assert(advises(
		raised("gpu_hollow"), "precision is fp32, and tensor cores are idle: use torch.autocast with bfloat16"));
	used(74, 0);
	update_after(6);
	update_after(6);
	ck_assert(
		advises(raised("gpu_memory"), "reduce batch_size from 32, and accumulate gradients over several batches"));
	ck_assert(advises(raised("gpu_memory"), "precision is fp32: bf16 autocast halves the memory of activations"));
	ck_assert(advises(raised("gpu_memory"), "use activation checkpointing: torch.utils.checkpoint"));
	ck_assert(
		advises(raised("gpu_memory"), "del large tensors after their last use, such as outputs and hidden states"));
	static __typeof__(*runs[0].gauges) allocator[] = { { .name = EXTRA + 3, .value = 76e9 },
		{ .name = EXTRA + 4, .value = 70e9 } };
	hand.names[EXTRA + 3] = "cuda.reserved_bytes";
	hand.names[EXTRA + 4] = "cuda.peak_bytes";
	runs[0].gauges = allocator;
	runs[0].gauge_count = 2;
	update_after(1);
	ck_assert(advises(raised("gpu_memory"), "6.00 GB are reserved but unused: torch.cuda.empty_cache() after a peak"));
}
END_TEST

START_TEST(advice_says_what_the_host_could_do)
{
	model.gpus.count = 1;
	hand_meta(&runs[0], "batch_size", "16");
	host_bound();
	used(1, 0);
	update_after(1);
	update_after(11);
	ck_assert(advises(
		raised("gpu_waits_for_host"), "call forward once per step, not 200 times (nn.LSTM, not a loop of LSTMCell)"));
	ck_assert(advises(raised("gpu_waits_for_host"), "raise batch_size from 16 to 32: 79.0 GB of GPU memory are free"));
	ck_assert_ptr_null(raised("slow_forward")); /* by the host's clock, which measures only launches */
	hand_meta(&runs[0], "loader.pin_memory", "False");
	much_copied();
	update_after(1);
	update_after(11);
	ck_assert(
		advises(raised("gpu_waits_for_copies"), "set pin_memory=True, and copy with .to(device, non_blocking=True)"));
}
END_TEST

START_TEST(workers_that_restart_each_epoch_advise_persistent_workers)
{
	static const char *const line = "set persistent_workers=True: now each epoch restarts 2 workers";
	static struct rule_cache cache;
	static struct alert alert;
	struct context context;
	struct patterns patterns = { .count = 1 };
	patterns.list[0] = (struct pattern){ .kind = PATTERN_PERIOD,
		.period = 32,
		.count = 9,
		.of = 9,
		.before_s = 0.002,
		.after_s = 0.028,
		.phase = DATA,
		.is_epoch_first = true,
		.candidate = "epoch length 32; persistent_workers=False" };
	hand_meta(&runs[0], "loader.num_workers", "2");
	hand_meta(&runs[0], "loader.persistent_workers", "False");
	batches(0.08, 0.12);
	rule_context_init(&context, &cache, &model, 0, &patterns);
	context.phase = &context.phases[0];
	static const char *const rules[] = { "slow_period", "data_loading", "gpu_idle_while_loading" };
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		alert = (struct alert){ .rule = rules[i] };
		alert_report(&alert, book, rule_find(book, rules[i]), &context);
		ck_assert_msg(strcmp(alert.advice[0], line) == 0, "%s: %s", rules[i], alert.advice[0]);
		ck_assert(i == 0 || strstr(alert.meaning, "first batch of each epoch"));
	}
	patterns.list[0].is_epoch_first = false;
	alert_report(&alert, book, rule_find(book, "data_loading"), &context);
	ck_assert_str_eq(alert.advice[0], "raise num_workers from 2 to 4");
}
END_TEST

/* On a shared machine, most runs drift: without a cause there is nothing to do about it. */
START_TEST(a_drift_without_a_cause_is_no_warning)
{
	static const struct {
		const char *what, *candidate;
		uint32_t phase;
		enum truth is_warned_of;
	} cases[] = {
		{ "unknown", "", NAME_NONE, TRUTH_NO },
		{ "backward", "", BACKWARD, TRUTH_NO },
		{ "data", "", DATA, TRUTH_YES },
		{ "forward: waiting for a CPU", "", FORWARD, TRUTH_YES },
		{ "unknown", "epoch 3 begins there", NAME_NONE, TRUTH_YES },
	};
	static struct rule_cache cache;
	struct context context;
	struct patterns patterns = { .renewed_ns = 1, .count = 1 };
	batches(0.08, 0.12);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pattern *drift = &patterns.list[0];
		*drift = (struct pattern){ .kind = PATTERN_DRIFT, .before_s = 0.1, .after_s = 0.13, .phase = cases[i].phase };
		snprintf(drift->what, sizeof drift->what, "%s", cases[i].what);
		snprintf(drift->candidate, sizeof drift->candidate, "%s", cases[i].candidate);
		rule_context_init(&context, &cache, &model, 0, &patterns);
		const struct rule *rule = rule_find(book, "slow_drift");
		ck_assert_int_eq(rule_terms_hold(&rule->terms, &context, NULL), cases[i].is_warned_of);
		ck_assert(figure_number(&rule->figure, &context) > rule->level);
	}
}
END_TEST

START_TEST(precisions_have_many_names)
{
	static const struct {
		const char *published, *name;
	} cases[] = {
		{ "bf16-mixed", "bf16" },
		{ "torch.bfloat16", "bf16" },
		{ "16-mixed", "fp16" },
		{ "no", "fp32" },
		{ "float32", "fp32" },
		{ "FP8", "fp8" },
		{ "tf32 (32-true)", "tf32" },
		{ "x32", "" },
		{ "", "" },
	};
	const char *argument;
	char text[FIGURE_TEXT_SIZE];
	const struct figure_ref ref = { figure_find("run.precision", &argument), NULL };
	static struct context context;
	static struct rule_cache cache;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		runs[0].meta_count = 0;
		hand_meta(&runs[0], "precision", cases[i].published);
		rule_context_init(&context, &cache, &model, 0, NULL);
		ck_assert(figure_text(&ref, &context, text) == (cases[i].name[0] != '\0'));
		ck_assert_str_eq(text, cases[i].name);
	}
	/* A declared setting has precedence over an observed one. */
	runs[0].meta_count = 0;
	hand_meta(&runs[0], "torch.precision", "32-true");
	rule_context_init(&context, &cache, &model, 0, NULL);
	ck_assert(figure_text(&ref, &context, text));
	ck_assert_str_eq(text, "fp32");
	hand_meta(&runs[0], "precision", "bf16");
	rule_context_init(&context, &cache, &model, 0, NULL);
	ck_assert(figure_text(&ref, &context, text));
	ck_assert_str_eq(text, "bf16");
}
END_TEST

START_TEST(the_slope_of_what_only_caches_is_none)
{
	model.gpus.count = 1;
	grows();
	gpus[0].verdict = MEMORY_CACHE;
	update_after(1);
	update_after(10);
	ck_assert_ptr_null(raised("gpu_memory_growing"));
	ck_assert_ptr_null(raised("gpu_full_soon"));
	gpus[0].verdict = MEMORY_FRAGMENTATION;
	update_after(1);
	update_after(6);
	ck_assert_str_eq(raised("gpu_memory_growing")->message,
		"memory fragmentation on the GPU: reserved memory grows by 5.00 MB/s; full in 10:00");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules of the hardware");
	TCase *tests = tcase_create("rules of the hardware");
	tcase_add_checked_fixture(tests, start, stop);
	tcase_add_loop_test(tests, a_rule_lacks_is_held_is_raised_and_is_cleared, 0, sizeof rows / sizeof *rows);
	const TTest *const all[] = {
		a_figure_that_is_unknown_again_clears_nothing,
		pageable_copies_are_judged_by_the_gpus_clock,
		a_GPU_that_the_run_is_not_on_warns_of_nothing,
		the_worst_of_several_gpus_is_named,
		an_idle_link_may_be_slow,
		the_driver_says_that_the_GPU_waits_where_the_program_does_not,
		advice_quotes_what_was_published,
		a_drift_without_a_cause_is_no_warning,
		precisions_have_many_names,
		the_slope_of_what_only_caches_is_none,
		the_cause_of_an_idle_GPU_is_warned_of_once,
		an_idle_GPU_with_an_idle_host_does_not_wait_for_it,
		forward_and_backward_have_their_shares_by_the_GPU_clock,
		a_host_that_runs_ahead_has_no_shares_above_the_whole,
		its_own_wait_counts_each_pass_once,
		time_outside_all_spans_is_warned_of,
		a_run_without_spans_is_not_warned_of_time_outside_them,
		a_GPU_at_its_limit_under_full_load_is_no_fault,
		loading_is_warned_of_once,
		advice_says_what_the_host_could_do,
		workers_that_restart_each_epoch_advise_persistent_workers,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
