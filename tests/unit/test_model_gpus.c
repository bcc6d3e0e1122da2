#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/model/gpus/gpus_runs.h"
#include "src/model/gpus/gpus_words.h"
#include "tests/support/script_gpus.h"
#include "tests/support/suite.h"

/* The script's run is of process 100. */
enum { TRAINER = 100, FIRST = 0, SECOND = 1, PART = 100 };

static struct script script;

static void setup(void)
{
	script_open(&script, NULL);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
}

static void teardown(void) { script_close(&script); }

static void emit(double at_s, enum metric metric, int32_t gpu, double value)
{
	script_figure(&script, at_s, metric, gpu, value);
}

static const struct gpu *first(void) { return script_gpu_of(&script, FIRST); }

static void two_gpus(void)
{
	script_gpu(&script, 0, FIRST, -1, 0);
	script_gpu(&script, 0, SECOND, -1, 1);
	script_apply(&script, 0.1);
}

/* -- figures -- */

START_TEST(gpus_are_ordered_by_number_and_parts_follow_their_gpu)
{
	static const int32_t expected[] = { 0, 100, 101, 1, 10000 };
	script_gpu(&script, 0, 10000, -1, 0);
	script_gpu(&script, 0, 1, -1, 1);
	script_gpu(&script, 0, 101, 0, 1);
	script_gpu(&script, 0, 0, -1, 0);
	script_gpu(&script, 0, 100, 0, 0);
	script_gpu(&script, 0, 1, -1, 1)->name = "H200";
	script_apply(&script, 0.1);
	ck_assert_uint_eq(script.model->gpus.count, 5);
	for (size_t i = 0; i < 5; i++)
		ck_assert_int_eq(script.model->gpus.gpus[i].instance, expected[i]);
	ck_assert_str_eq(script_gpu_of(&script, 1)->name, "H200");
	ck_assert_ptr_null(model_gpu(script.model, 7));
}
END_TEST

START_TEST(a_counter_has_a_rate_and_one_that_wraps_has_none_for_one_reading)
{
	two_gpus();
	emit(1, METRIC_GPU_PCIE_RECEIVED, FIRST, 4e9);
	emit(1, METRIC_GPU_PCIE_SENT, FIRST, 1e9);
	script_apply(&script, 1);
	ck_assert_double_nan(gpu_rate(first(), METRIC_GPU_PCIE_RECEIVED));
	emit(1.5, METRIC_GPU_PCIE_RECEIVED, FIRST, 4.2e9);
	emit(1.5, METRIC_GPU_PCIE_SENT, FIRST, 1e9);
	script_apply(&script, 1.5);
	ck_assert_double_eq_tol(gpu_rate(first(), METRIC_GPU_PCIE_RECEIVED), 4e8, 1);
	emit(2, METRIC_GPU_PCIE_RECEIVED, FIRST, 1e5);
	script_apply(&script, 2);
	ck_assert_double_nan(gpu_rate(first(), METRIC_GPU_PCIE_RECEIVED));
	emit(3, METRIC_GPU_PCIE_RECEIVED, FIRST, 1e5 + 3e8);
	script_apply(&script, 3);
	ck_assert_double_eq_tol(gpu_rate(first(), METRIC_GPU_PCIE_RECEIVED), 3e8, 1);
	ck_assert_double_eq_tol(first()->totals.received_bytes, 5e8, 1);
	double value;
	int64_t time_ns;
	ck_assert(series_last(first()->series.pcie_bytes_per_s, &time_ns, &value));
	ck_assert_double_eq_tol(value, 4e8, 1);
}
END_TEST

/* 3 ms every two seconds, 0.1 ms at each other reading: 1.85 ms a second, not 0.4 or 12. */
START_TEST(the_overhead_of_reading_is_averaged_over_half_a_minute)
{
	double taken_ns = 0;
	two_gpus();
	for (int i = 4; i < 400; i++) {
		taken_ns += i % 8 ? 1e5 : 3e6;
		emit(i / 4.0, METRIC_GPU_READING, FIRST, taken_ns);
		script_apply(&script, i / 4.0);
		if (i > 24)
			ck_assert_double_eq_tol(gpu_rate(first(), METRIC_GPU_READING), 1.85e6, 0.3e6);
	}
	/* A reader that was started again. */
	emit(101, METRIC_GPU_READING, FIRST, 5);
	ck_assert_double_eq_tol(gpu_rate(first(), METRIC_GPU_READING), 1.85e6, 0.3e6);
	script_apply(&script, 101);
	ck_assert_double_nan(gpu_rate(first(), METRIC_GPU_READING));
}
END_TEST

START_TEST(unknown_power_is_derived_from_the_energy_counter)
{
	two_gpus();
	emit(1, METRIC_GPU_ENERGY, FIRST, 1000);
	emit(3, METRIC_GPU_ENERGY, FIRST, 1600);
	emit(3, METRIC_GPU_POWER, SECOND, 77);
	script_apply(&script, 3);
	ck_assert_double_eq_tol(first()->power_w, 300, 1e-6);
	ck_assert_double_eq_tol(first()->totals.energy_joules, 600, 1e-6);
	ck_assert_double_eq(script_gpu_of(&script, SECOND)->power_w, 77);
}
END_TEST

START_TEST(a_figure_that_is_no_longer_emitted_becomes_unknown)
{
	two_gpus();
	emit(1, METRIC_GPU_BUSY, FIRST, 0.9);
	emit(1, METRIC_GPU_POWER_LIMIT, FIRST, 700);
	emit(1, METRIC_GPU_BUSY, SECOND, 0.8);
	script_gpu_process(&script, 1, FIRST, TRAINER, 2e9);
	script_apply(&script, 1);
	for (int at_s = 2; at_s <= 17; at_s++) {
		emit(at_s, METRIC_GPU_TEMPERATURE, FIRST, 60);
		script_apply(&script, at_s);
	}
	ck_assert_double_nan(gpu_now(script_gpu_of(&script, SECOND), METRIC_GPU_BUSY));
	ck_assert_double_nan(gpu_now(first(), METRIC_GPU_BUSY));
	ck_assert_double_eq(gpu_now(first(), METRIC_GPU_POWER_LIMIT), 700);
	ck_assert_double_eq(gpu_now(first(), METRIC_GPU_TEMPERATURE), 60);
	script_apply(&script, 18);
	ck_assert_uint_eq(first()->process_count, 0);
	ck_assert_double_nan(first()->run_memory_bytes);
	ck_assert(!first()->is_ours);
	script_apply(&script, 33);
	ck_assert_double_nan(gpu_now(first(), METRIC_GPU_POWER_LIMIT));
	ck_assert_double_nan(gpu_now(first(), METRIC_GPU_TEMPERATURE));
	ck_assert_int_eq(first()->seen_ns, 0);
	/* Its child came again: the counter's first reading has no rate. */
	emit(40, METRIC_GPU_ENERGY, FIRST, 5);
	script_apply(&script, 40);
	ck_assert_double_nan(first()->power_w);
}
END_TEST

START_TEST(a_rare_figure_is_valid_for_four_of_its_intervals)
{
	two_gpus();
	for (int at_s = 0; at_s <= 60; at_s++) {
		emit(at_s, METRIC_GPU_TEMPERATURE, FIRST, 60);
		if (at_s % 10 == 0 && at_s <= 20)
			emit(at_s, METRIC_GPU_SM_ACTIVE, FIRST, 0.4);
		script_apply(&script, at_s);
		if (at_s == 58)
			ck_assert_double_eq(gpu_now(first(), METRIC_GPU_SM_ACTIVE), 0.4);
	}
	script_apply(&script, 62);
	ck_assert_double_nan(gpu_now(first(), METRIC_GPU_SM_ACTIVE));
}
END_TEST

/* A slow driver is read rarely: its figures must not come and go. */
START_TEST(a_gpu_that_is_read_every_half_minute_keeps_its_figures)
{
	two_gpus();
	for (int at_s = 0; at_s <= 150; at_s += 5) {
		if (at_s % 30 == 0) {
			emit(at_s, METRIC_GPU_BUSY, FIRST, 0.9);
			script_gpu_process(&script, at_s, FIRST, TRAINER, 2e9);
		}
		script_apply(&script, at_s);
		ck_assert(at_s < 30 || (gpu_now(first(), METRIC_GPU_BUSY) == 0.9 && first()->is_ours && first()->seen_ns));
	}
	script_apply(&script, 275);
	ck_assert_double_nan(gpu_now(first(), METRIC_GPU_BUSY));
}
END_TEST

START_TEST(a_lost_gpu_says_why_and_has_no_figures)
{
	two_gpus();
	emit(1, METRIC_GPU_BUSY, FIRST, 0.9);
	script_gpu_process(&script, 1, FIRST, TRAINER, 2e9);
	script_apply(&script, 1);
	ck_assert(first()->is_ours);
	script_gpu(&script, 2, FIRST, -1, 0)->lost = "it has fallen off the bus (XID 79)";
	script_apply(&script, 2);
	ck_assert_str_eq(first()->lost, "it has fallen off the bus (XID 79)");
	ck_assert_double_nan(gpu_now(first(), METRIC_GPU_BUSY));
	ck_assert_uint_eq(first()->process_count, 0);
	script_gpu(&script, 3, FIRST, -1, 0);
	emit(3, METRIC_GPU_BUSY, FIRST, 0.1);
	script_apply(&script, 3);
	ck_assert_str_eq(first()->lost, "");
	ck_assert_double_eq(gpu_now(first(), METRIC_GPU_BUSY), 0.1);
}
END_TEST

START_TEST(another_part_under_the_same_number_starts_from_zero)
{
	script_gpu(&script, 0, FIRST, -1, 0);
	script_gpu(&script, 0, PART, FIRST, 0);
	emit(1, METRIC_GPU_MEMORY, PART, 10e9);
	emit(1, METRIC_GPU_BUSY, PART, 1);
	script_apply(&script, 1);
	script_gpu(&script, 2, PART, FIRST, 0)->uuid = "MIG-another";
	script_apply(&script, 2);
	ck_assert_double_nan(gpu_now(script_gpu_of(&script, PART), METRIC_GPU_MEMORY));
	ck_assert_double_nan(script_gpu_of(&script, PART)->totals.busy_ratio.max);
}
END_TEST

START_TEST(junk_is_not_taken)
{
	two_gpus();
	emit(1, METRIC_GPU_BUSY, FIRST, 0.5);
	emit(2, METRIC_GPU_BUSY, FIRST, 42);
	emit(2, METRIC_GPU_BUSY, 77, 0.5);
	emit(2, METRIC_GPU_THROTTLE, FIRST, 1e30);
	script_apply(&script, 2);
	ck_assert_double_eq(gpu_now(first(), METRIC_GPU_BUSY), 0.5);
	ck_assert_uint_eq(first()->throttle, 0);
	ck_assert_uint_eq(script.model->gpus.count, 2);
}
END_TEST

START_TEST(reasons_have_texts_and_only_power_and_heat_throttle)
{
	char words[128];
	ck_assert_str_eq(gpu_throttle_words(0, words, sizeof words), "");
	ck_assert_str_eq(gpu_throttle_words(1u << GPU_THROTTLE_HEAT | 1u << GPU_THROTTLE_POWER_CAP, words, sizeof words),
		"power cap, thermal slowdown");
	gpu_throttle_words(UINT_MAX, words, 12);
	ck_assert_uint_lt(strlen(words), 12);
	ck_assert(gpu_is_throttled(1u << GPU_THROTTLE_HARDWARE));
	ck_assert(!gpu_is_throttled(1u << GPU_THROTTLE_SYNC_BOOST | 1u << GPU_THROTTLE_CLOCKS_SET));
	two_gpus();
	emit(1, METRIC_GPU_THROTTLE, FIRST, 1u << GPU_THROTTLE_HEAT);
	script_apply(&script, 1);
	ck_assert_uint_eq(first()->throttle, 1u << GPU_THROTTLE_HEAT);
}
END_TEST

START_TEST(the_whole_run_is_summed_up_over_time)
{
	two_gpus();
	for (int i = 0; i <= 10; i++) {
		emit(i, METRIC_GPU_BUSY, FIRST, i <= 5 ? 1 : 0.5);
		emit(i, METRIC_GPU_THROTTLE, FIRST, i > 8 ? 1u << GPU_THROTTLE_POWER_CAP : 0);
		emit(i, METRIC_GPU_THROTTLED_POWER, FIRST, 1e9 * i);
		script_apply(&script, i);
	}
	/* No reading for a minute counts as ten seconds. */
	emit(71, METRIC_GPU_BUSY, FIRST, 0);
	script_apply(&script, 71);
	const struct gpu_totals *totals = &first()->totals;
	ck_assert_double_eq_tol(totals->busy_ratio.mean, 7.5 / 20, 1e-9);
	ck_assert_double_eq(totals->busy_ratio.max, 1);
	ck_assert_double_eq_tol(totals->throttled_ratio, 0.2, 1e-9);
	ck_assert_double_eq_tol(totals->reason_ratio[GPU_THROTTLE_POWER_CAP], 0.2, 1e-9);
	ck_assert_double_eq(totals->reason_ratio[GPU_THROTTLE_HEAT], 0);
	ck_assert_double_eq_tol(totals->throttled_power_s, 10, 1e-9);
	ck_assert_double_nan(totals->power_w.mean);
	ck_assert_double_nan(totals->energy_joules);
	ck_assert_double_nan(script_gpu_of(&script, SECOND)->totals.throttled_ratio);
}
END_TEST

START_TEST(the_newest_events_are_retained)
{
	two_gpus();
	for (uint32_t i = 0; i < 20; i++) {
		struct record *record = script_add(&script, RECORD_GPU_EVENT, i);
		record->gpu_event.gpu = FIRST;
		record->gpu_event.code = i;
		record->gpu_event.text = i ? "XID" : NULL;
	}
	script_apply(&script, 20);
	const struct gpus *gpus = &script.model->gpus;
	ck_assert_uint_eq(gpus->happening_count, 20);
	ck_assert_uint_eq(gpus->happenings[19 % GPU_EVENTS_RETAINED].code, 19);
	ck_assert_uint_eq(gpus->happenings[4 % GPU_EVENTS_RETAINED].code, 4);
}
END_TEST

/* -- processes -- */

START_TEST(the_runs_processes_are_first_then_those_with_the_most_memory)
{
	const struct gpu_process_row rows[] = {
		{ 7, GPU_PROCESS_COMPUTE, "other", 9e9, NAN },
		{ 8, GPU_PROCESS_GRAPHICS, "Xorg", NAN, 0.1 },
		{ TRAINER, GPU_PROCESS_COMPUTE, "", 2e9, 0.7 },
		{ 101, GPU_PROCESS_COMPUTE, "", 3e9, 0.2 },
		{ -4, 1, "", 1, 1 },
	};
	two_gpus();
	script_process(&script, 0, 101, 1, "helper", false);
	script_gpu_processes(&script, 1, FIRST, rows, 5);
	script_apply(&script, 1);
	const struct gpu *gpu = first();
	ck_assert_uint_eq(gpu->process_count, 4);
	ck_assert_int_eq(gpu->processes[0].pid, 101);
	ck_assert_str_eq(gpu->processes[1].command, "train.py");
	ck_assert_int_eq(gpu->processes[2].pid, 7);
	ck_assert_int_eq(gpu->processes[3].pid, 8);
	ck_assert(gpu->is_ours && !gpu->is_ours_by_place);
	ck_assert_double_eq(gpu->run_memory_bytes, 5e9);
	ck_assert_double_eq_tol(gpu->run_busy_ratio, 0.9, 1e-12);
	ck_assert_double_eq(gpu->others_memory_bytes, 9e9);
	ck_assert(!script_gpu_of(&script, SECOND)->is_ours);
	ck_assert_double_nan(script_gpu_of(&script, SECOND)->run_memory_bytes);
	script_gpu_processes(&script, 2, SECOND, NULL, 0);
	script_apply(&script, 2);
	ck_assert_double_eq(script_gpu_of(&script, SECOND)->run_memory_bytes, 0);
}
END_TEST

START_TEST(the_runs_processes_remain_if_there_are_too_many)
{
	struct gpu_process_row rows[200];
	two_gpus();
	for (int i = 0; i < 200; i++)
		rows[i] = (struct gpu_process_row){ i == 150 ? TRAINER : 1000 + i, GPU_PROCESS_COMPUTE, "", 1e6 * i, NAN };
	script_gpu_processes(&script, 1, FIRST, rows, 200);
	script_apply(&script, 1);
	ck_assert_uint_eq(first()->process_count, GPU_PROCESSES_MAX);
	ck_assert_int_eq(first()->processes[0].pid, TRAINER);
	ck_assert_int_eq(first()->processes[1].pid, 1199);
	ck_assert_int_eq(first()->processes[63].pid, 1199 - 63);
}
END_TEST

START_TEST(a_process_that_ended_since_the_list_was_read_is_still_of_the_run)
{
	two_gpus();
	script_process(&script, 0, 101, 1, "helper", false);
	script_gpu_process(&script, 1, FIRST, 101, 2e9);
	script_apply(&script, 1);
	script_add(&script, RECORD_PROCESS_GONE, 2)->process.pid = 101;
	script_apply(&script, 2);
	ck_assert_double_eq(first()->run_memory_bytes, 2e9);
	script_gpu_process(&script, 8, FIRST, 101, 2e9);
	script_apply(&script, 8);
	ck_assert(!first()->is_ours);
	ck_assert_double_eq(first()->others_memory_bytes, 2e9);
}
END_TEST

/* -- ranks -- */

static size_t gpus_of(unsigned run, const struct gpu *gpus[GPUS_MAX])
{
	return run_gpus(script.model, &script.model->runs[run], gpus);
}

static void two_ranks(void)
{
	script_process(&script, 0, 200, 1, "rank", false);
	script.set.records[script.set.count - 1].process.parent = TRAINER;
	script_process(&script, 0, 201, 1, "helper", false);
	script.set.records[script.set.count - 1].process.parent = 200;
	script_meta(&script, "RANK", "0");
	script_meta(&script, "WORLD_SIZE", "2");
	script_rank(&script, 1, 200, "1", "2");
}

START_TEST(a_rank_is_on_the_gpus_of_its_processes)
{
	const struct gpu *gpus[GPUS_MAX];
	two_gpus();
	two_ranks();
	script_gpu_process(&script, 1, FIRST, TRAINER, 2e9);
	script_gpu_process(&script, 1, SECOND, 201, 3e9);
	emit(1, METRIC_GPU_POWER, FIRST, 300);
	emit(1, METRIC_GPU_POWER, SECOND, 400);
	emit(1, METRIC_GPU_BUSY, FIRST, 0.5);
	emit(1, METRIC_GPU_BUSY, SECOND, 1);
	emit(1, METRIC_GPU_TEMPERATURE, FIRST, 80);
	emit(1, METRIC_GPU_TEMPERATURE, SECOND, 70);
	emit(1, METRIC_GPU_THROTTLE, FIRST, 1);
	emit(1, METRIC_GPU_THROTTLE, SECOND, 4);
	script_apply(&script, 1);
	ck_assert_uint_eq(gpus_of(0, gpus), 1);
	ck_assert_ptr_eq(gpus[0], first());
	ck_assert_uint_eq(gpus_of(1, gpus), 1);
	ck_assert_int_eq(gpus[0]->instance, SECOND);
	ck_assert_double_eq(run_gpu_memory(script.model, &script.model->runs[1]), 3e9);
	ck_assert_double_eq(run_gpu_memory(script.model, NULL), 5e9);
	ck_assert_uint_eq(run_gpus(script.model, NULL, gpus), 2);
	ck_assert_double_eq(run_gpu_figure(script.model, NULL, METRIC_GPU_POWER), 700);
	ck_assert_double_eq(run_gpu_figure(script.model, NULL, METRIC_GPU_BUSY), 0.75);
	ck_assert_double_eq(run_gpu_figure(script.model, NULL, METRIC_GPU_TEMPERATURE), 80);
	ck_assert_double_eq(run_gpu_figure(script.model, NULL, METRIC_GPU_THROTTLE), 5);
	ck_assert_double_nan(run_gpu_figure(script.model, NULL, METRIC_GPU_CLOCK));
	ck_assert_double_eq(run_gpu_figure(script.model, &script.model->runs[1], METRIC_GPU_POWER), 400);
	/* Its GPU remains known after its end. */
	script_add(&script, RECORD_PROCESS_GONE, 2)->process.pid = 201;
	script_add(&script, RECORD_PROCESS_GONE, 2)->process.pid = 200;
	sample_set_add(&script.set, RECORD_RUN_CLOSED, 1, script_ns(2))->text = "ended";
	script_gpu_processes(&script, 8, SECOND, NULL, 0);
	script_apply(&script, 8);
	ck_assert_uint_eq(gpus_of(1, gpus), 1);
	ck_assert_int_eq(gpus[0]->instance, SECOND);
	ck_assert(!gpus[0]->is_ours && gpus[0]->totals.was_ours);
}
END_TEST

/* Where processes are hidden: visible devices, LOCAL_RANK, meta device → the GPUs, a bit each of four. −2: not set. */
static const struct placement_case {
	const char *visible;
	int local_rank;
	const char *device;
	bool has_allocator;
	unsigned expected;
} placement_cases[] = {
	{ "0", -1, NULL, false, 1 },
	{ "2", -1, NULL, false, 4 },
	{ "1,3", -1, NULL, false, 10 },
	{ "3,1", 0, NULL, false, 8 },
	{ "3,1", 1, NULL, false, 2 },
	{ "3", 2, NULL, false, 8 },
	{ "3,1", 2, NULL, false, 0 },
	{ "", -1, NULL, false, 0 },
	{ "-1", 0, NULL, false, 0 },
	{ "NoDevFiles", 0, NULL, false, 0 },
	{ "1,-1,2", -1, NULL, false, 2 },
	{ "9", -1, NULL, false, 0 },
	{ "all", 1, NULL, false, 2 },
	{ "GPU-00000002", -1, NULL, false, 4 },
	{ "GPU-00000003,GPU-00000001", 1, NULL, false, 2 },
	{ "gpu-00000001", -1, NULL, false, 2 },
	{ "GPU-deadbeef", -1, NULL, false, 0 },
	{ NULL, 3, NULL, false, 8 },
	{ NULL, 9, NULL, false, 0 },
	{ NULL, -1, NULL, false, 0 },
	{ NULL, -1, "cuda:2", false, 4 },
	{ "3,1", -1, "cuda:1", false, 2 },
	{ NULL, 1, "cpu", false, 0 },
	{ NULL, 1, "NVIDIA H100 80GB HBM3", false, 2 },
	{ NULL, -1, NULL, true, 1 },
	{ "2,3", -1, NULL, true, 12 },
	{ "0,0", -1, NULL, false, 1 },
	{ " 1 , 2", -1, NULL, false, 6 },
	{ "1.0", -1, NULL, false, 2 },
	{ "99999999999999999999", -1, NULL, false, 0 },
	{ ",,", -1, NULL, false, 0 },
};

START_TEST(where_processes_are_hidden_the_environment_says_where_a_run_is)
{
	const struct placement_case *one = &placement_cases[_i];
	const struct gpu *gpus[GPUS_MAX];
	unsigned found = 0, of_run = 0;
	for (int32_t i = 0; i < 4; i++) {
		script_gpu(&script, 0, i, -1, (uint32_t)i);
		script_gpu_process(&script, 1, i, 5000 + i, 1e9);
	}
	sample_set_missing(&script.set, script_ns(0), "GPU processes", "hidden", NULL);
	script_placement(&script, 0, TRAINER, one->local_rank, one->visible);
	if (one->device)
		script_meta(&script, "device", one->device);
	if (one->has_allocator)
		script_gauge(&script, 1, 0, STORY_ALLOCATED, 1e9);
	script_apply(&script, 1);
	for (unsigned i = 0; i < 4; i++) {
		const struct gpu *gpu = script_gpu_of(&script, (int32_t)i);
		found |= gpu->is_ours ? 1u << i : 0;
		ck_assert(gpu->is_ours == gpu->is_ours_by_place);
		ck_assert(!gpu->is_ours || isnan(gpu->run_memory_bytes));
	}
	for (size_t i = gpus_of(0, gpus); i-- > 0;)
		of_run |= 1u << gpus[i]->index;
	ck_assert_msg(found == one->expected && of_run == one->expected, "case %d: %x, run %x", _i, found, of_run);
}
END_TEST

START_TEST(where_processes_are_seen_the_environment_says_nothing)
{
	two_gpus();
	script_placement(&script, 0, TRAINER, 1, "0,1");
	script_gpu_processes(&script, 1, FIRST, NULL, 0);
	script_gpu_processes(&script, 1, SECOND, NULL, 0);
	script_apply(&script, 1);
	ck_assert(!first()->is_ours && !script_gpu_of(&script, SECOND)->is_ours);
	/* But it has memory of one GPU: the lists omit it. */
	script_gauge(&script, 2, 0, STORY_RESERVED, 1e9);
	script_apply(&script, 2.5);
	ck_assert(!first()->is_ours && script_gpu_of(&script, SECOND)->is_ours_by_place);
	script_gpu_process(&script, 3, FIRST, TRAINER, 1e9);
	script_apply(&script, 4);
	ck_assert(first()->is_ours && !first()->is_ours_by_place && !script_gpu_of(&script, SECOND)->is_ours);
}
END_TEST

START_TEST(ranks_with_hidden_processes_are_matched_by_their_local_ranks)
{
	const struct gpu *gpus[GPUS_MAX];
	two_gpus();
	two_ranks();
	script_placement(&script, 0, TRAINER, 0, NULL);
	script_placement(&script, 0, 200, 1, NULL);
	script_apply(&script, 1);
	for (unsigned run = 0; run < 2; run++) {
		ck_assert_uint_eq(gpus_of(run, gpus), 1);
		ck_assert_uint_eq(gpus[0]->index, run);
	}
}
END_TEST

/* As CUDA has it, without the driver's prefix. A UUID of no GPU is ignored. */
START_TEST(the_uuid_that_a_run_publishes_goes_before_its_environment)
{
	static const struct {
		const char *published;
		uint32_t index;
	} cases[] = {
		{ "00000001", 1 },
		{ "gpu-00000001", 1 },
		{ "0000000", 0 },
		{ "deadbeef", 0 },
		{ "", 0 },
	};
	const struct gpu *gpus[GPUS_MAX];
	script_gpu(&script, 0, FIRST, -1, 0);
	script_gpu(&script, 0, SECOND, -1, 1);
	script_placement(&script, 0, TRAINER, 0, NULL);
	script_meta(&script, "gpu.uuid", cases[_i].published);
	script_apply(&script, 1);
	ck_assert_uint_eq(gpus_of(0, gpus), 1);
	ck_assert_uint_eq(gpus[0]->index, cases[_i].index);
}
END_TEST

START_TEST(a_part_is_used_in_place_of_its_gpu)
{
	static const struct {
		const char *visible;
		int32_t instance;
	} cases[] = {
		{ "MIG-00000101", 101 },
		{ "0", 100 },
		{ "MIG-GPU-00000000/1/0", 0 },
	};
	const struct gpu *gpus[GPUS_MAX];
	script_gpu(&script, 0, FIRST, -1, 0);
	script_gpu(&script, 0, 100, FIRST, 0);
	script_gpu(&script, 0, 101, FIRST, 1);
	emit(1, METRIC_GPU_POWER, FIRST, 300);
	emit(1, METRIC_GPU_MEMORY_USED, 101, 4e9);
	script_placement(&script, 0, TRAINER, -1, cases[_i].visible);
	script_apply(&script, 1);
	ck_assert_uint_eq(run_gpus(script.model, NULL, gpus), 1);
	ck_assert_int_eq(gpus[0]->instance, cases[_i].instance);
	ck_assert(first()->is_ours);
	ck_assert_double_eq(run_gpu_figure(script.model, NULL, METRIC_GPU_POWER), 300);
	if (cases[_i].instance == 101)
		ck_assert_double_eq(run_gpu_figure(script.model, NULL, METRIC_GPU_MEMORY_USED), 4e9);
}
END_TEST

START_TEST(labels_distinguish_parts_and_vendors)
{
	char label[48];
	script_gpu(&script, 0, FIRST, -1, 3);
	script_gpu(&script, 0, PART, FIRST, 2);
	script_apply(&script, 1);
	ck_assert_str_eq(gpu_label(script.model, script_gpu_of(&script, PART), label, sizeof label), "GPU 3.2");
	script_gpu(&script, 2, 10000, -1, 0)->vendor = "AMD";
	script_apply(&script, 2);
	ck_assert_str_eq(gpu_label(script.model, first(), label, sizeof label), "NVIDIA GPU 3");
	ck_assert_str_eq(gpu_label(script.model, script_gpu_of(&script, 10000), label, sizeof label), "AMD GPU 0");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model gpus");
	TCase *tests = tcase_create("gpus");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, gpus_are_ordered_by_number_and_parts_follow_their_gpu);
	tcase_add_test(tests, the_overhead_of_reading_is_averaged_over_half_a_minute);
	tcase_add_test(tests, a_counter_has_a_rate_and_one_that_wraps_has_none_for_one_reading);
	tcase_add_test(tests, unknown_power_is_derived_from_the_energy_counter);
	tcase_add_test(tests, a_figure_that_is_no_longer_emitted_becomes_unknown);
	tcase_add_test(tests, a_rare_figure_is_valid_for_four_of_its_intervals);
	tcase_add_test(tests, a_gpu_that_is_read_every_half_minute_keeps_its_figures);
	tcase_add_test(tests, a_lost_gpu_says_why_and_has_no_figures);
	tcase_add_test(tests, another_part_under_the_same_number_starts_from_zero);
	tcase_add_test(tests, junk_is_not_taken);
	tcase_add_test(tests, reasons_have_texts_and_only_power_and_heat_throttle);
	tcase_add_test(tests, the_whole_run_is_summed_up_over_time);
	tcase_add_test(tests, the_newest_events_are_retained);
	tcase_add_test(tests, the_runs_processes_are_first_then_those_with_the_most_memory);
	tcase_add_test(tests, the_runs_processes_remain_if_there_are_too_many);
	tcase_add_test(tests, a_process_that_ended_since_the_list_was_read_is_still_of_the_run);
	tcase_add_test(tests, a_rank_is_on_the_gpus_of_its_processes);
	tcase_add_loop_test(tests, where_processes_are_hidden_the_environment_says_where_a_run_is, 0,
		sizeof placement_cases / sizeof *placement_cases);
	tcase_add_test(tests, where_processes_are_seen_the_environment_says_nothing);
	tcase_add_test(tests, ranks_with_hidden_processes_are_matched_by_their_local_ranks);
	tcase_add_loop_test(tests, the_uuid_that_a_run_publishes_goes_before_its_environment, 0, 5);
	tcase_add_loop_test(tests, a_part_is_used_in_place_of_its_gpu, 0, 3);
	tcase_add_test(tests, labels_distinguish_parts_and_vendors);
	return suite_run(suite);
}
