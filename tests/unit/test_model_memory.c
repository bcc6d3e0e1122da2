#include <check.h>
#include <math.h>
#include <stdio.h>

#include "src/model/machine/processes.h"
#include "src/model/run/steps/tracks.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define NEAR 1e-6

static struct model *emit(const struct story_options *options, double until_s)
{
	struct model_options model_options;
	model_options_default(&model_options);
	struct model *model = model_new(&model_options);
	struct story *story = story_new(options);
	struct sample_set set = SAMPLE_SET_INIT;
	while (story_next(story, &set)) {
		model_apply(model, &set);
		if (seconds_between(options->start_ns, set.time_ns) >= until_s)
			break;
	}
	sample_set_release(&set);
	story_free(story);
	return model;
}

START_TEST(planted_leak_is_found_with_its_slope)
{
	struct story_options options;
	story_options_default(&options);
	options.leak_bytes = 2e6;
	struct model *model = emit(&options, 45);
	const struct memory *memory = &model->memory;
	/* 5.07 batches a second while it trains, 2.6 s in 22 of validation and checkpoint. */
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_double_eq_tol(memory->slope.per_s, 2e6 * 200 / 43, 0.4e6);
	ck_assert_double_lt(memory->slope.low_per_s, memory->slope.per_s);
	ck_assert_double_gt(memory->slope.high_per_s, memory->slope.per_s);
	ck_assert_double_eq_tol(memory->slope_per_batch, 2e6, 0.1e6);
	ck_assert_double_le(memory->slope_per_batch_low, memory->slope_per_batch);
	ck_assert_double_ge(memory->slope_per_batch_high, memory->slope_per_batch);
	uint64_t batches = run_main(&model->runs[0])->count;
	ck_assert_double_eq_tol(memory->growth_bytes, 2e6 * (double)(batches - 1), 4e6);
	/* the first batch's end */
	ck_assert_double_eq_tol(seconds_between(options.start_ns, memory->growth_since_ns), 0.6, 0.11);
	model_free(model);
}
END_TEST

START_TEST(constant_memory_is_a_plateau_and_a_short_history_is_unknown)
{
	struct story_options options;
	story_options_default(&options);
	struct model *model = emit(&options, 5);
	ck_assert_int_eq(model->memory.verdict, MEMORY_UNKNOWN);
	model_free(model);
	model = emit(&options, 30);
	ck_assert_int_eq(model->memory.verdict, MEMORY_PLATEAU);
	ck_assert_double_eq_tol(model->memory.growth_bytes, 0, 4e6);
	model_free(model);
}
END_TEST

START_TEST(growth_of_the_warmup_does_not_count)
{
	struct script script;
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "train.py", true);
	script_batch_begin(&script, 0, 1.0, 0);
	double at_s = 1.0, resident = 1e8;
	for (int i = 0; i < 600; i++) {
		at_s += 0.1;
		resident += at_s < 9 ? 1e7 : 0; /* the first batch takes 8 s and allocates */
		script_figure(&script, at_s, METRIC_PROCESS_RESIDENT, 100, resident);
		if (i == 79 || (i > 79 && i % 2 == 0)) {
			script_batch_end(&script, 0, at_s - 0.001, i == 79 ? 1.0 : at_s - 0.199, NAN);
			script_batch_begin(&script, 0, at_s, 0);
		}
		script_apply(&script, at_s);
		if (i < 79) {
			ck_assert_double_nan(script.model->memory.growth_bytes);
			ck_assert_uint_eq(script.model->memory.slope.points, 0);
		}
	}
	ck_assert_double_eq_tol(script.model->memory.growth_bytes, 0, 1.1e7);
	ck_assert_int_eq(script.model->memory.verdict, MEMORY_PLATEAU);
	script_close(&script);
}
END_TEST

START_TEST(the_slope_covers_ten_minutes_at_most)
{
	struct script script;
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "train.py", true);
	for (int i = 0; i < 2 * 3000; i++) {
		double at_s = 1 + 0.5 * i;
		/* Grows for the first 20 minutes, then stays: after ten more minutes the growth is forgotten. */
		script_figure(&script, at_s, METRIC_PROCESS_RESIDENT, 100, 1e9 + 1e6 * fmin(at_s, 1200));
		script_apply(&script, at_s);
		if (i == 2 * 1190)
			ck_assert_int_eq(script.model->memory.verdict, MEMORY_LEAK);
		if (i == 2 * 1190)
			ck_assert_double_eq_tol(script.model->memory.slope.per_s, 1e6, 1e3);
		if (i >= 2 * 1802)
			ck_assert_int_eq(script.model->memory.verdict, MEMORY_PLATEAU);
	}
	/* since pmtop came: no batch ever began */
	ck_assert_double_eq_tol(script.model->memory.growth_bytes, 1.199e9, 1e6);
	script_close(&script);
}
END_TEST

START_TEST(rates_come_from_counters_and_elapsed_time)
{
	struct script script;
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "train.py", true);
	const struct {
		double at_s, user_ns, read_bytes;
	} readings[] = { { 1, 1e9, 0 }, { 3, 2e9, 4e6 }, { 3.5, 2.5e9, 4e6 } };
	for (int i = 0; i < 3; i++) {
		script_figure(&script, readings[i].at_s, METRIC_PROCESS_CPU_USER, 100, readings[i].user_ns);
		script_figure(&script, readings[i].at_s, METRIC_PROCESS_CPU_SYSTEM, 100, 0.1 * readings[i].user_ns);
		script_figure(&script, readings[i].at_s, METRIC_PROCESS_READ, 100, readings[i].read_bytes);
		script_apply(&script, readings[i].at_s);
		const struct process *target = model_target(script.model);
		if (i == 0) {
			ck_assert_double_nan(target->cpu_ratio);
			ck_assert_double_nan(target->read_bytes_per_s);
		}
		if (i == 1) {
			ck_assert_double_eq_tol(target->cpu_ratio, 0.55, NEAR);
			ck_assert_double_eq_tol(target->read_bytes_per_s, 2e6, NEAR);
		}
		if (i == 2) {
			ck_assert_double_eq_tol(target->cpu_ratio, 1.1, NEAR);
			ck_assert_double_eq_tol(target->read_bytes_per_s, 0, NEAR);
		}
		ck_assert_double_nan(target->write_bytes_per_s); /* never read */
	}
	int64_t time_ns;
	double value;
	ck_assert(series_last(script.model->series.cpu_ratio, &time_ns, &value));
	ck_assert_double_eq_tol(value, 1.1, NEAR);
	ck_assert(!series_last(script.model->series.write_bytes_per_s, &time_ns, &value));
	script_close(&script);
}
END_TEST

START_TEST(counter_that_was_reset_or_wrapped_makes_no_rate)
{
	struct script script;
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "train.py", true);
	const double values[] = { 100, 200, 5, 105, 105 };
	const double wanted[] = { NAN, 100, NAN, 100, 0 };
	for (int i = 0; i < 5; i++) {
		script_figure(&script, 1 + i, METRIC_PROCESS_MAJOR_FAULTS, 100, values[i]);
		script_apply(&script, 1 + i);
		double rate = model_target(script.model)->major_faults_per_s;
		ck_assert(isnan(wanted[i]) ? isnan(rate) : fabs(rate - wanted[i]) < NEAR);
	}
	double min, max;
	ck_assert(series_extremes(script.model->series.major_faults_per_s, &min, &max));
	ck_assert_double_ge(min, 0);
	/* The same time again, or an older one, changes nothing. */
	script_figure(&script, 5, METRIC_PROCESS_MAJOR_FAULTS, 100, 900);
	script_figure(&script, 4, METRIC_PROCESS_MAJOR_FAULTS, 100, 1000);
	script_apply(&script, 6);
	ck_assert_double_eq(model_target(script.model)->major_faults_per_s, 0);
	ck_assert_double_eq(model_target(script.model)->now[METRIC_PROCESS_MAJOR_FAULTS], 105);
	script_close(&script);
}
END_TEST

START_TEST(tree_is_the_sum_of_those_that_live)
{
	struct script script;
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "train.py", true);
	for (int32_t pid = 101; pid <= 103; pid++)
		script_process(&script, 0, pid, 1, "worker", false);
	for (int32_t pid = 100; pid <= 103; pid++) {
		script_figure(&script, 1, METRIC_PROCESS_RESIDENT, pid, 1e6 * (pid - 99));
		script_figure(&script, 1, METRIC_PROCESS_STATE, pid, 'S');
	}
	script_apply(&script, 1);
	const struct memory *memory = &script.model->memory;
	ck_assert_double_eq(memory->tree_rss_bytes, 10e6);
	ck_assert_double_eq(memory->rss_bytes, 1e6);
	ck_assert_double_nan(memory->swap_bytes);
	script_add(&script, RECORD_PROCESS_GONE, 2)->process.pid = 103;
	script_figure(&script, 2, METRIC_PROCESS_STATE, 102, 'Z');
	script_figure(&script, 2, METRIC_PROCESS_RESIDENT, 100, 2e6);
	script_apply(&script, 2);
	ck_assert_double_eq(memory->tree_rss_bytes, 4e6);
	ck_assert_double_eq(memory->tree_peak_bytes, 10e6);
	ck_assert_uint_eq(script.model->process_count, 4);
	ck_assert(script.model->processes[3].is_gone);
	script_apply(&script, 5);
	ck_assert_double_eq_tol(script.model->processes[2].state_since_s, 3, NEAR);
	script_close(&script);
}
END_TEST

START_TEST(pid_that_is_used_again_is_another_process)
{
	struct script script;
	script_open(&script, NULL);
	script_process(&script, 0, 101, 1, "worker", false);
	script_figure(&script, 1, METRIC_PROCESS_RESIDENT, 101, 5e6);
	script_apply(&script, 1);
	script_process(&script, 2, 101, 99, "other", false);
	script_apply(&script, 2);
	ck_assert_uint_eq(script.model->process_count, 2);
	ck_assert(script.model->processes[0].is_gone);
	ck_assert_double_nan(script.model->processes[1].now[METRIC_PROCESS_RESIDENT]);
	script_process(&script, 3, 101, 99, "renamed", false);
	script_apply(&script, 3);
	ck_assert_uint_eq(script.model->process_count, 2);
	ck_assert_str_eq(script.model->processes[1].command, "renamed");
	script_close(&script);
}
END_TEST

START_TEST(exec_and_end_of_the_target_are_known)
{
	struct script script;
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "sh", true);
	script_figure(&script, 1, METRIC_PROCESS_RESIDENT, 100, 5e6);
	script_apply(&script, 1);
	ck_assert_str_eq(script.model->command, "sh");
	ck_assert_double_eq(script.model->memory.growth_bytes, 0);
	struct record *replaced = script_add(&script, RECORD_PROCESS_REPLACED, 2);
	replaced->process.pid = 100;
	replaced->process.start_ticks = 1;
	replaced->process.command = "train.py";
	replaced->process.is_target = true;
	script_figure(&script, 2, METRIC_PROCESS_RESIDENT, 100, 9e6);
	script_apply(&script, 2);
	ck_assert_str_eq(script.model->command, "train.py");
	ck_assert_str_eq(script.model->note, "process replaced itself: now train.py");
	ck_assert_double_eq(script.model->memory.growth_bytes, 0); /* another program's memory is not growth */
	script_add(&script, RECORD_PROCESS_GONE, 3)->process.pid = 100;
	script_apply(&script, 3);
	ck_assert(script.model->target_ended);
	ck_assert_int_eq(script.model->target_ended_ns, script_ns(3));
	ck_assert_str_eq(script.model->note, "process 100 ended");
	ck_assert_double_eq(script.model->memory.rss_bytes, 9e6); /* the last figures remain */
	ck_assert_double_eq(script.model->memory.tree_rss_bytes, 9e6);
	ck_assert_ptr_nonnull(model_target(script.model));
	script_close(&script);
}
END_TEST

START_TEST(processes_are_bounded_and_the_gone_give_way)
{
	struct script script;
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "train.py", true);
	for (int32_t i = 0; i < 2000; i++) {
		script_process(&script, i * 0.05, 1000 + i, 1, "worker", false);
		if (i > 0)
			script_add(&script, RECORD_PROCESS_GONE, i * 0.05)->process.pid = 999 + i;
	}
	script_apply(&script, 100);
	ck_assert_uint_eq(script.model->process_count, 512);
	ck_assert_int_eq(script.model->processes[511].pid, 2999);
	ck_assert_int_eq(model_target(script.model)->pid, 100);
	for (int32_t i = 0; i < 2000; i++)
		script_process(&script, 3000, 10000 + i, 1, "worker", false);
	script_apply(&script, 3000);
	ck_assert_uint_eq(script.model->process_count, 512);
	script_close(&script);
}
END_TEST

/* A run that starts a program now and then, for hours. */
START_TEST(gone_processes_are_dropped_after_two_minutes)
{
	struct script script;
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "train.py", true);
	for (int32_t i = 1; i < 3600; i++) {
		script_process(&script, i, 1000 + i, 1, "nvidia-smi", false);
		if (i > 1)
			script_add(&script, RECORD_PROCESS_GONE, i)->process.pid = 999 + i;
		script_apply(&script, i);
		ck_assert_uint_le(script.model->process_count, 125);
	}
	ck_assert_uint_ge(script.model->process_count, 100);
	ck_assert_int_eq(model_target(script.model)->pid, 100);
	script_close(&script);
}
END_TEST

START_TEST(missing_figures_are_listed_until_they_are_withdrawn)
{
	struct script script;
	script_open(&script, NULL);
	sample_set_missing(&script.set, script_ns(1), "io", "permission denied", "run as root");
	sample_set_missing(&script.set, script_ns(1), "region", "none published", "include pmtop.h");
	sample_set_missing(&script.set, script_ns(1), "io", "another reason", NULL);
	script_apply(&script, 1);
	ck_assert_uint_eq(script.model->missing_count, 2);
	ck_assert_str_eq(script.model->missing[0].figure, "io");
	ck_assert_str_eq(script.model->missing[0].text, "another reason");
	ck_assert_str_eq(script.model->missing[0].remedy, "");
	sample_set_missing(&script.set, script_ns(2), "io", NULL, NULL);
	sample_set_missing(&script.set, script_ns(2), "never there", NULL, NULL);
	script_apply(&script, 2);
	ck_assert_uint_eq(script.model->missing_count, 1);
	ck_assert_str_eq(script.model->missing[0].figure, "region");
	for (int i = 0; i < 100; i++) {
		char figure[32];
		snprintf(figure, sizeof figure, "figure %d", i);
		sample_set_missing(&script.set, script_ns(3), figure, "why", NULL);
	}
	script_apply(&script, 3);
	ck_assert_uint_eq(script.model->missing_count, MODEL_MISSING_MAX);
	script_close(&script);
}
END_TEST

START_TEST(own_cost_and_residents_of_batches_are_known)
{
	struct story_options options;
	story_options_default(&options);
	options.leak_bytes = 1e6;
	struct model *model = emit(&options, 20);
	ck_assert_double_eq_tol(model->self.cpu_ratio, 0.002, NEAR);
	ck_assert_double_eq(model->self.memory_bytes, 5e6);
	const struct track *track = run_main(&model->runs[0]);
	for (uint64_t ordinal = 1; ordinal + 1 < track->end; ordinal++)
		ck_assert_double_eq_tol(track_batch(track, ordinal)->resident_bytes, 2.6e9 + 1e6 * (double)ordinal, 3e6);
	double mean = 0;
	ck_assert_uint_gt(series_mean(model->series.tree_resident, 0, INT64_MAX, &mean), 150);
	ck_assert_double_eq_tol(mean, 3.4e9 + 0.5 * model->memory.growth_bytes, 1e7);
	model_free(model);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model memory");
	TCase *tests = tcase_create("memory and processes");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, planted_leak_is_found_with_its_slope);
	tcase_add_test(tests, constant_memory_is_a_plateau_and_a_short_history_is_unknown);
	tcase_add_test(tests, growth_of_the_warmup_does_not_count);
	tcase_add_test(tests, the_slope_covers_ten_minutes_at_most);
	tcase_add_test(tests, rates_come_from_counters_and_elapsed_time);
	tcase_add_test(tests, counter_that_was_reset_or_wrapped_makes_no_rate);
	tcase_add_test(tests, tree_is_the_sum_of_those_that_live);
	tcase_add_test(tests, pid_that_is_used_again_is_another_process);
	tcase_add_test(tests, exec_and_end_of_the_target_are_known);
	tcase_add_test(tests, processes_are_bounded_and_the_gone_give_way);
	tcase_add_test(tests, gone_processes_are_dropped_after_two_minutes);
	tcase_add_test(tests, missing_figures_are_listed_until_they_are_withdrawn);
	tcase_add_test(tests, own_cost_and_residents_of_batches_are_known);
	return suite_run(suite);
}
