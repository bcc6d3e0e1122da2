/* The engine of rules: durations, both directions, quieting, histories, missing figures; and figures that need more
 * than a run. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/model/requests/requests.h"
#include "src/rules/alerts_list.h"
#include "src/rules/rule_book.h"
#include "src/rules/rule_now.h"
#include "tests/support/model_parts.h"
#include "tests/support/suite.h"
#include "tests/unit/hand_run.h"

static struct model model;
static struct process processes[3];
static struct run runs[2];
static struct settings settings;
static struct alerts alerts;
static struct rule_book *book;

static void start(void)
{
	static const struct system no_system;
	book = rule_book_new();
	memset(runs, 0, sizeof runs);
	hand_run_init(&runs[0]);
	settings_default(&settings);
	settings.rules = book;
	model = (struct model){
		.now_ns = 100 * NS_PER_S, .run_count = 1, .runs = runs, .processes = processes, .system = no_system
	};
	model_set_unknown(&model);
}

static void stop(void)
{
	alerts_release(&alerts);
	rule_book_free(book);
}

static void override(const char *text)
{
	struct reason why_not = { 0 };
	ck_assert_msg(rule_book_parse(book, "mine.yaml", text, strlen(text), &why_not) == STATUS_OK, "%s", why_not.text);
}

static void update_after(double seconds)
{
	model.now_ns += (int64_t)(seconds * 1e9);
	alerts_update(&alerts, &model, &settings);
}

static const struct alert *raised(const char *rule) { return alerts_find_raised(&alerts, rule); }

static void batches(size_t count, double step_s)
{
	for (size_t i = 0; i < count; i++) {
		hand.batches[hand.batch_count] =
			(struct batch){ .ordinal = hand.batch_count, .step_s = step_s, .batch_s = step_s };
		hand.batch_count++;
	}
	runs[0].tracks[0].count = runs[0].tracks[0].end = hand.batch_count;
}

static void cpus(double all_ratio, double run_cpus)
{
	model.system.cpu_ratio = all_ratio;
	model.system.now[METRIC_SYSTEM_CPUS] = 4;
	model.process_count = 1;
	processes[0] = (struct process){ .cpu_ratio = run_cpus, .read_bytes_per_s = 0, .write_bytes_per_s = 0 };
}

/* -- variance -- */

/* Steps of a healthy run on a shared machine: 0.1 s, some up to 2.7 times as long, most of them within a third. */
START_TEST(the_noise_of_a_shared_machine_is_no_variance)
{
	for (size_t i = 0; i < 200; i++)
		batches(1, 0.1 + 0.03 * (double)(i * 7 % 20) / 20 + (i % 25 == 0 ? 0.14 : 0));
	update_after(1);
	ck_assert_ptr_null(raised("variance"));
}
END_TEST

/* Half of the steps take three times as long: a warning, unless other programs use the CPUs. */
START_TEST(steps_vary_where_other_programs_use_the_cpus)
{
	for (size_t i = 0; i < 200; i++)
		batches(1, i % 2 == 0 ? 0.3 : 0.1);
	cpus(0.97, _i ? 1 : 3.8);
	update_after(1);
	ck_assert((raised("variance") == NULL) == _i);
	cpus(0.5, 1);
	update_after(1);
	ck_assert_ptr_nonnull(raised("variance"));
}
END_TEST

/* Every fourth step waits for a CPU. */
START_TEST(waits_for_a_cpu_are_no_variance)
{
	for (size_t i = 0; i < 200; i++) {
		batches(1, i % 4 == 0 ? 0.3 : 0.1);
		hand.batches[i].has_evidence = _i;
		hand.batches[i].evidence.run_queue_wait_s = i % 4 == 0 ? 0.2 : 0.001;
	}
	update_after(1);
	ck_assert((raised("variance") == NULL) == _i);
}
END_TEST

/* -- time -- */

START_TEST(a_figure_must_stay_beyond_its_level_for_the_time_of_its_rule)
{
	cpus(0.96, 1);
	update_after(1);
	for (int i = 0; i < 9; i++) {
		update_after(1);
		ck_assert_ptr_null(raised("busy_machine"));
	}
	update_after(1);
	ck_assert_ptr_nonnull(raised("busy_machine"));
	ck_assert_str_eq(raised("busy_machine")->message, "CPUs 96 % busy: this run 25 %, other programs 71 %");
	ck_assert_int_eq(raised("busy_machine")->severity, SEVERITY_INFO);
	ck_assert_ptr_null(raised("cpu_bound"));
}
END_TEST

START_TEST(a_dip_restarts_the_time)
{
	cpus(0.96, 1);
	update_after(1);
	update_after(9);
	cpus(0.5, 1);
	update_after(0.5);
	cpus(0.96, 1);
	update_after(0.5);
	update_after(9);
	ck_assert_ptr_null(raised("busy_machine"));
	update_after(1);
	ck_assert_ptr_nonnull(raised("busy_machine"));
}
END_TEST

START_TEST(a_machine_that_the_run_itself_uses_is_cpu_bound_and_no_warning)
{
	cpus(0.99, 3.9);
	update_after(1);
	update_after(10);
	ck_assert_ptr_null(raised("busy_machine"));
	ck_assert_ptr_nonnull(raised("cpu_bound"));
	ck_assert_int_eq(raised("cpu_bound")->severity, SEVERITY_INFO);
}
END_TEST

START_TEST(a_rule_may_have_a_lower_limit)
{
	model.memory.limit = "cgroup";
	model.memory.limit_room_bytes = 2e9;
	model.memory.growth_bytes = 3e9;
	model.memory.growth_since_ns = NS_PER_S;
	model.memory.slope = (struct slope){ .per_s = 3.7e6, .low_per_s = 3e6, .high_per_s = 4e6, .points = 100 };
	model.memory.verdict = MEMORY_GROWING;
	model.memory.limit_in_s = 1000;
	update_after(1);
	update_after(6);
	ck_assert_ptr_null(raised("memory_limit_near"));
	model.memory.limit_in_s = 540;
	update_after(1);
	update_after(6);
	const struct alert *alert = raised("memory_limit_near");
	ck_assert_ptr_nonnull(alert);
	ck_assert_int_eq(alert->severity, SEVERITY_CRITICAL);
	ck_assert_str_eq(alert->message, "memory limit (cgroup) reached in 9:00: 2.00 GB left, growing by 3.70 MB/s");
	model.memory.limit_in_s = 1100; /* over the level, and below where it is calm */
	update_after(1);
	update_after(11);
	ck_assert_ptr_nonnull(raised("memory_limit_near"));
	model.memory.limit_in_s = 1300;
	update_after(1);
	update_after(10);
	ck_assert_ptr_null(raised("memory_limit_near"));
}
END_TEST

START_TEST(a_condition_that_holds_no_more_clears_the_warning)
{
	cpus(0.96, 1);
	update_after(1);
	update_after(10);
	ck_assert_ptr_nonnull(raised("busy_machine"));
	cpus(0.96, 3.8); /* as busy, but by the run itself */
	update_after(1);
	ck_assert_ptr_nonnull(raised("busy_machine"));
	update_after(10);
	ck_assert_ptr_null(raised("busy_machine"));
}
END_TEST

START_TEST(unknown_figures_neither_raise_nor_clear)
{
	override(
		"mine: {of: model, if: system.io_wait_ratio > 1 %, figure: system.memory_ratio, above: 50 %, message: hm}");
	model.system.memory_ratio = 0.8;
	update_after(1);
	ck_assert_ptr_null(raised("mine"));
	model.system.io_wait_ratio = 0.5;
	update_after(1);
	ck_assert_ptr_nonnull(raised("mine"));
	model.system.io_wait_ratio = NAN;
	update_after(1);
	update_after(100);
	ck_assert_ptr_nonnull(raised("mine"));
}
END_TEST

/* -- message and evidence -- */

START_TEST(a_history_begins_before_the_warning)
{
	override(
		"mine: {of: model, figure: system.memory_ratio, above: 80 %, message: \"{system.memory_ratio}\", guide: here}");
	model.system.memory_ratio = 0.1;
	update_after(1);
	for (int i = 0; i < 10; i++) {
		model.system.memory_ratio = 0.5 + 0.03 * i;
		update_after(1);
		ck_assert_ptr_null(raised("mine"));
	}
	model.system.memory_ratio = 0.9;
	update_after(1);
	const struct alert *alert = raised("mine");
	double min, max;
	ck_assert_ptr_nonnull(alert->history);
	ck_assert_int_eq(series_first_ns(alert->history), model.now_ns - 10 * NS_PER_S);
	ck_assert(series_extremes(alert->history, &min, &max));
	ck_assert_double_eq_tol(min, 0.5, 1e-12);
	ck_assert_double_eq_tol(max, 0.9, 1e-12);
	ck_assert_double_eq(alert->value, 0.9);
	ck_assert_double_eq(alert->level, 0.8);
	ck_assert_int_eq(alert->unit, FIGURE_RATIO);
	ck_assert_str_eq(alert->guide, "here");
	model.system.memory_ratio = 0.1;
	update_after(1);
	update_after(10);
	ck_assert_ptr_null(raised("mine"));
	int64_t at_ns;
	ck_assert(series_last(alerts.list[0].history, &at_ns, &min));
	ck_assert_double_eq(min, 0.1);
}
END_TEST

/* More rules near their levels than histories: the oldest are dropped; raised warnings are reported all the same. */
START_TEST(histories_are_bounded)
{
	char text[128];
	for (int i = 0; i < 110; i++) {
		snprintf(text, sizeof text,
			"mine_%d: {of: model, figure: system.memory_ratio, above: 0.8, message: hm, severity: info}", i);
		override(text);
	}
	model.system.memory_ratio = 0.9;
	update_after(1);
	update_after(1);
	ck_assert_uint_eq(alerts.count, ALERTS_MAX);
	for (size_t i = 0; i < alerts.count; i++)
		ck_assert(alerts.list[i].is_raised);
}
END_TEST

START_TEST(texts_are_filled_in_and_brackets_left_out)
{
	override("mine: {figure: run.steps, above: 5, message: \"[[{run.steps}]] {{x}} {run.step_mean_s}[ of {run.loss}] "
			 "{run.steps*2} {run.step_mean_s*10|fixed}\","
			 " meaning: [{if: run.steps > 100, say: many}, {if: run.loss is unknown, say: few}], advice: "
			 "[\"{run.loss}\", [{if: run.steps = 7, say: b}, \"c {gauge.none}\", d]]}");
	runs[0].loss = NAN;
	batches(6, 0.25);
	update_after(1);
	const struct alert *alert = raised("mine");
	ck_assert_ptr_nonnull(alert);
	ck_assert_str_eq(alert->message, "[6] {x} 0.250 s 12 2.500 s");
	ck_assert_str_eq(alert->meaning, "few");
	ck_assert_uint_eq(alert->advice_count, 1);
	ck_assert_str_eq(alert->advice[0], "d");
	runs[0].loss = 0.5;
	update_after(1);
	ck_assert_str_eq(raised("mine")->message, "[6] {x} 0.250 s of 0.5 12 2.500 s");
	ck_assert_str_eq(raised("mine")->advice[0], "0.5");
}
END_TEST

START_TEST(published_figures_can_have_rules_and_are_harmless_in_texts)
{
	hand.names[EXTRA] = "queue_depth";
	struct series *series = series_new();
	__typeof__(*runs[0].gauges) gauge = { .name = EXTRA, .value = 1, .series = series };
	runs[0].gauges = &gauge;
	runs[0].gauge_count = 1;
	hand_meta(&runs[0], "size", "16");
	hand_meta(&runs[0], "what", "a\x1b[31m\nb and more than there is room for on a line");
	override("mine: {figure: gauge.queue_depth, below: 2, if: meta.size >= 16 and meta.none is unknown, message: "
			 "\"{gauge.queue_depth} of {meta.size*2}: {meta.what}\"}");
	batches(1, 0.1);
	update_after(1);
	ck_assert_ptr_nonnull(raised("mine"));
	ck_assert_str_eq(raised("mine")->message, "1 of 32: a^[[31m^Jb and more than…");
	series_free(series);
}
END_TEST

/* -- rules beside each other -- */

START_TEST(a_raised_rule_quiets_others_at_once)
{
	override(
		"low: {of: model, figure: system.memory_ratio, above: 50 %, message: low}\n"
		"high: {of: model, figure: system.memory_ratio, above: 80 %, message: high, quiets: [low], action: profile}\n"
		"machine_memory_others: {off: true}");
	model.system.memory_ratio = 0.6;
	update_after(1);
	ck_assert_ptr_nonnull(raised("low"));
	ck_assert_int_eq(raised("low")->action, ALERT_ACTS_NOT);
	model.system.memory_ratio = 0.9;
	update_after(1);
	ck_assert_ptr_null(raised("low"));
	ck_assert_ptr_nonnull(raised("high"));
	ck_assert_int_eq(raised("high")->action, ALERT_TAKES_TRACE);
	model.system.memory_ratio = 0.6;
	update_after(1);
	update_after(10);
	update_after(1);
	ck_assert_ptr_nonnull(raised("low"));
	ck_assert_ptr_null(raised("high"));
}
END_TEST

START_TEST(a_rule_that_is_off_is_not_judged)
{
	override("mine: {of: model, figure: system.memory_ratio, above: 50 %, message: hm, off: true}");
	model.system.memory_ratio = 0.8;
	update_after(1);
	ck_assert_uint_eq(alerts.count, 0);
}
END_TEST

START_TEST(without_rules_of_its_own_it_judges_by_the_built_in_ones)
{
	settings.rules = NULL;
	cpus(0.99, 3.9);
	update_after(1);
	update_after(10);
	ck_assert_ptr_nonnull(raised("cpu_bound"));
}
END_TEST

START_TEST(other_problems_are_among_the_warnings)
{
	struct reason why = { "mine.yaml:3: no \x1b[31m", "write it" };
	alerts_note(&alerts, 5, "rule_file", SEVERITY_WARNING, &why);
	update_after(1);
	update_after(100);
	ck_assert_ptr_nonnull(raised("rule_file"));
	ck_assert_str_eq(raised("rule_file")->message, "mine.yaml:3: no ^[[31m");
	ck_assert_str_eq(raised("rule_file")->advice[0], "write it");
}
END_TEST

/* -- figures of the machine -- */

START_TEST(memory_of_the_machine_is_a_warning_where_the_run_holds_it)
{
	model.system.memory_ratio = 0.9;
	model.system.now[METRIC_SYSTEM_MEMORY] = 10e9;
	model.system.now[METRIC_SYSTEM_MEMORY_AVAILABLE] = 1e9;
	model.memory.tree_rss_bytes = 6e9;
	update_after(1);
	update_after(10);
	ck_assert_str_eq(raised("machine_memory")->message, "machine memory 90 % used, 60 % by this run; 1.00 GB left");
	ck_assert_ptr_null(raised("machine_memory_others"));
	model.memory.tree_rss_bytes = 1e9;
	update_after(1);
	update_after(10);
	update_after(10);
	ck_assert_ptr_null(raised("machine_memory"));
	ck_assert_int_eq(raised("machine_memory_others")->severity, SEVERITY_INFO);
}
END_TEST

START_TEST(pages_of_files_do_not_fill_a_container)
{
	model.system.now[METRIC_CGROUP_MEMORY] = 9.9e9;
	model.system.now[METRIC_CGROUP_MEMORY_FILE] = 9e9;
	model.system.now[METRIC_CGROUP_MEMORY_SHARED] = 1e9;
	model.system.now[METRIC_CGROUP_MEMORY_LIMIT] = 10e9;
	update_after(1);
	update_after(10);
	ck_assert_ptr_null(raised("container_memory"));
	model.system.now[METRIC_CGROUP_MEMORY_SHARED] = 8e9;
	update_after(1);
	update_after(10);
	ck_assert_str_eq(
		raised("container_memory")->message, "container memory 89 % used: 8.90 GB of 10.0 GB, without the page cache");
}
END_TEST

START_TEST(waiting_for_the_disk_is_a_warning_where_the_run_reads_or_writes)
{
	cpus(0.3, 1);
	model.system.io_wait_ratio = 0.4;
	update_after(1);
	update_after(10);
	ck_assert_ptr_null(raised("io_wait"));
	processes[0].read_bytes_per_s = 80e6;
	update_after(1);
	update_after(10);
	ck_assert_str_eq(
		raised("io_wait")->message, "CPUs wait for the disk 40 % of the time; this run transfers 80.0 MB/s");
}
END_TEST

START_TEST(a_spike_of_the_last_minute_is_warned_of)
{
	model.memory.tree_rss_bytes = 2e9;
	model.memory.spike_bytes = 3e9;
	model.memory.spike_ns = model.now_ns;
	update_after(1);
	ck_assert_ptr_nonnull(raised("memory_spike"));
	ck_assert_str_eq(raised("memory_spike")->message, "memory rose by 3.00 GB within a minute, then fell again");
	update_after(61);
	update_after(11);
	ck_assert_ptr_null(raised("memory_spike"));
}
END_TEST

START_TEST(requests_slower_than_their_limit_are_warned_of)
{
	hand.names[EXTRA] = "inference";
	runs[0].track_count = 2;
	runs[0].tracks[1] = (struct track){ .mode = EXTRA, .recent = { .count = 100, .p95_s = 2.2 }, .slow_first_s = NAN };
	update_after(1);
	ck_assert_str_eq(raised("latency_over_sla")->message, "p95 latency of requests is 2.200 s");
}
END_TEST

START_TEST(requests_published_as_spans_are_answers_too)
{
	struct requests *requests = runs[0].requests = requests_new();
	for (int i = 0; i < 19; i++)
		requests_add(requests, "GET /", model.now_ns, 3, false, 2);
	update_after(1);
	ck_assert_ptr_null(raised("latency_over_sla"));
	requests_add(requests, "GET /", model.now_ns, 3, false, 2);
	update_after(1);
	ck_assert_ptr_nonnull(raised("latency_over_sla"));
	/* That warning has all of them. */
	ck_assert_ptr_null(raised("request_over_sla"));
	update_after(400);
	for (int i = 0; i < 20; i++)
		requests_add(requests, "GET /", model.now_ns, 0.01, false, 2);
	update_after(1);
	update_after(11);
	ck_assert_ptr_null(raised("latency_over_sla"));
	requests_free(requests);
	runs[0].requests = NULL;
}
END_TEST

START_TEST(one_late_request_of_many_is_warned_of_by_its_name)
{
	struct requests *requests = runs[0].requests = requests_new();
	for (int i = 0; i < 179; i++)
		requests_add(requests, "GET /user/1", model.now_ns, 0.1, false, 2);
	update_after(1);
	ck_assert_ptr_null(raised("request_over_sla"));
	requests_add(requests, "GET /user/17", model.now_ns, 2.1, false, 2);
	update_after(1);
	ck_assert_ptr_null(raised("latency_over_sla"));
	ck_assert_str_eq(
		raised("request_over_sla")->message, "GET /user/17 took 2.100 s: 1 of 180 requests over 2.000 s in 1 min");
	requests_add(requests, "GET /user/4", model.now_ns, 3, false, 2);
	update_after(1);
	ck_assert_str_eq(
		raised("request_over_sla")->message, "GET /user/4 took 3.000 s: 2 of 181 requests over 2.000 s in 1 min");
	/* A minute later none is. */
	update_after(65);
	update_after(11);
	ck_assert_ptr_null(raised("request_over_sla"));
	requests_free(requests);
	runs[0].requests = NULL;
}
END_TEST

/* Of rollouts or a teacher. */
START_TEST(forwards_without_gradients_are_no_bottleneck)
{
	batches(30, 0.2);
	for (size_t i = 0; i < 30; i++)
		add_phase(hand.batches[i].phases, &hand.batches[i].phase_count, EXTRA, NAME_NONE, 0.12);
	hand.names[EXTRA] = "inference";
	update_after(1);
	ck_assert_ptr_null(raised("bottleneck"));
	ck_assert_ptr_null(raised("consider_optimizing"));
	hand.names[EXTRA] = "update";
	update_after(1);
	ck_assert_ptr_nonnull(raised("bottleneck"));
}
END_TEST

START_TEST(times_by_the_gpus_clock_show_that_it_waits_for_data)
{
	batches(30, 0.2);
	for (size_t i = 0; i < 30; i++)
		add_phase(hand.batches[i].phases, &hand.batches[i].phase_count, DATA, NAME_NONE, 0.1);
	update_after(1);
	ck_assert_ptr_nonnull(raised("data_loading"));
	hand.names[EXTRA] = "gpu.forward_s";
	hand.names[EXTRA + 1] = "gpu.backward_s";
	runs[0].late_figure_count = 2;
	runs[0].late_figures[0] = (struct late_figure){ .name = EXTRA, .median = 0.03 };
	runs[0].late_figures[1] = (struct late_figure){ .name = EXTRA + 1, .median = 0.07 };
	update_after(1);
	ck_assert_ptr_null(raised("data_loading"));
	ck_assert_str_eq(raised("gpu_waits_for_data")->message,
		"GPU waits for data: data loading takes 50 % of each step (0.100 s of 0.200 s)");
	ck_assert_str_eq(
		raised("gpu_waits_for_data")->meaning, "GPU timings show the GPU idle 50 % of each step, while a batch loads.");
}
END_TEST

/* -- how a rule stands -- */

START_TEST(a_rule_says_what_it_lacks)
{
	struct rule_now now;
	batches(10, 0.1);
	add_phase(hand.batches[0].phases, &hand.batches[0].phase_count, DATA, NAME_NONE, 0.05);
	update_after(1);
	rule_now(&alerts, &model, rule_find(book, "gpu_underused"), &now);
	ck_assert_int_eq(now.state, RULE_LACKS);
	ck_assert_str_eq(now.lacks, "needs 20 steps, has 10");
	rule_now(&alerts, &model, rule_find(book, "gpu_memory"), &now);
	ck_assert_int_eq(now.state, RULE_LACKS);
	ck_assert_str_eq(
		now.lacks, "gpu.memory_ratio: no GPU of the run is known, or its driver does not report its memory");
	batches(20, 0.1);
	add_phase(hand.batches[20].phases, &hand.batches[20].phase_count, DATA, NAME_NONE, 0.05);
	rule_now(&alerts, &model, rule_find(book, "data_loading"), &now);
	ck_assert_int_eq(now.state, RULE_CALM);
	ck_assert_str_eq(now.subject, "data");
	cpus(0.96, 1);
	update_after(1);
	rule_now(&alerts, &model, rule_find(book, "busy_machine"), &now);
	ck_assert_int_eq(now.state, RULE_HELD);
	update_after(10);
	rule_now(&alerts, &model, rule_find(book, "busy_machine"), &now);
	ck_assert_int_eq(now.state, RULE_RAISED);
	ck_assert_int_eq(now.since_ns, model.now_ns);
	ck_assert_double_eq_tol(now.value, 0.96, 1e-12);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules");
	TCase *tests = tcase_create("rules");
	tcase_add_checked_fixture(tests, start, stop);
	tcase_add_test(tests, the_noise_of_a_shared_machine_is_no_variance);
	tcase_add_loop_test(tests, steps_vary_where_other_programs_use_the_cpus, 0, 2);
	tcase_add_loop_test(tests, waits_for_a_cpu_are_no_variance, 0, 2);
	tcase_add_test(tests, a_figure_must_stay_beyond_its_level_for_the_time_of_its_rule);
	tcase_add_test(tests, a_dip_restarts_the_time);
	tcase_add_test(tests, a_machine_that_the_run_itself_uses_is_cpu_bound_and_no_warning);
	tcase_add_test(tests, a_rule_may_have_a_lower_limit);
	tcase_add_test(tests, a_condition_that_holds_no_more_clears_the_warning);
	tcase_add_test(tests, unknown_figures_neither_raise_nor_clear);
	tcase_add_test(tests, a_history_begins_before_the_warning);
	tcase_add_test(tests, histories_are_bounded);
	tcase_add_test(tests, texts_are_filled_in_and_brackets_left_out);
	tcase_add_test(tests, published_figures_can_have_rules_and_are_harmless_in_texts);
	tcase_add_test(tests, a_raised_rule_quiets_others_at_once);
	tcase_add_test(tests, a_rule_that_is_off_is_not_judged);
	tcase_add_test(tests, without_rules_of_its_own_it_judges_by_the_built_in_ones);
	tcase_add_test(tests, other_problems_are_among_the_warnings);
	tcase_add_test(tests, memory_of_the_machine_is_a_warning_where_the_run_holds_it);
	tcase_add_test(tests, pages_of_files_do_not_fill_a_container);
	tcase_add_test(tests, waiting_for_the_disk_is_a_warning_where_the_run_reads_or_writes);
	tcase_add_test(tests, a_spike_of_the_last_minute_is_warned_of);
	tcase_add_test(tests, requests_slower_than_their_limit_are_warned_of);
	tcase_add_test(tests, requests_published_as_spans_are_answers_too);
	tcase_add_test(tests, one_late_request_of_many_is_warned_of_by_its_name);
	tcase_add_test(tests, forwards_without_gradients_are_no_bottleneck);
	tcase_add_test(tests, times_by_the_gpus_clock_show_that_it_waits_for_data);
	tcase_add_test(tests, a_rule_says_what_it_lacks);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
