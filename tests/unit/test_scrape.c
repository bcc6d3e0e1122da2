#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/export/scrape/scrape.h"
#include "src/export/scrape/scrape_figures.h"
#include "src/export/scrape/scrape_rules.h"
#include "src/rules/rule_figures.h"
#include "tests/support/model_parts.h"
#include "tests/support/rank_group.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

/* What `pmtop exporter` serves, of ranks that are emitted by hand. */
static struct model *model;
static struct alerts alerts;
static struct settings settings;
static struct rank_group group;
static struct buffer out;

static void setup(void)
{
	model = model_new_default();
	settings_default(&settings);
	alerts = (struct alerts){ .count = 0 };
	out = (struct buffer)BUFFER_INIT;
	rank_group_open(&group, model, SCRIPT_BASE_NS);
}

static void teardown(void)
{
	rank_group_close(&group);
	alerts_release(&alerts);
	model_free(model);
	buffer_release(&out);
}

static const char *page(struct scrape_options options)
{
	const struct scrape_source source = {
		.model = model, .alerts = &alerts, .host = "node7", .realtime_offset_ns = 1700000000 * NS_PER_S
	};
	const struct scrape_self self = { .cpu_s = 1.5, .resident_bytes = NAN };
	buffer_clear(&out);
	scrape_write(&out, &source, 1, &options, &self);
	ck_assert(!out.failed);
	return out.data;
}

#define PLAIN ((struct scrape_options){ .is_plain = true })
#define OPENMETRICS ((struct scrape_options){ .is_plain = false })

static void assert_has(const char *text, const char *what)
{
	ck_assert_msg(strstr(text, what) != NULL, "no %s in %.3000s", what, text);
}

static void assert_lacks(const char *text, const char *what)
{
	ck_assert_msg(strstr(text, what) == NULL, "%s in %.3000s", what, text);
}

static struct record *add(enum record_kind kind, unsigned run)
{
	struct record *record = sample_set_add(&group.set, kind, run, SCRIPT_BASE_NS);
	ck_assert_ptr_nonnull(record);
	return record;
}

static void add_name(unsigned run, uint32_t id, const char *text)
{
	struct record *record = add(RECORD_NAME, run);
	record->name.id = id;
	record->name.text = sample_set_text(&group.set, text, strlen(text));
}

static void step_ranks(unsigned count, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++)
		for (unsigned i = 0; i < count; i++)
			rank_group_step(&group, i,
				(struct rank_group_step){ .data_s = i == 1 ? 0.16 : 0.02, .forward_s = 0.05, .backward_s = 0.1 });
}

/* -- a program that publishes as many names as it can -- */

static void add_names(unsigned run)
{
	for (uint32_t i = 0; i < 100; i++) {
		char text[32];
		uint32_t mode = 100 + i % 7, span = 200 + i, gauge = 400 + i, counter = 600 + i;
		snprintf(text, sizeof text, "mode %u", i % 7);
		add_name(run, mode, text);
		snprintf(text, sizeof text, i == 3 ? "other" : "span %u", i);
		add_name(run, span, text);
		snprintf(text, sizeof text, "gauge %u", i);
		add_name(run, gauge, text);
		snprintf(text, sizeof text, i == 1 ? "other" : "counter %u", i);
		add_name(run, counter, text);
		struct total_row *row = sample_set_allocate(&group.set, sizeof *row);
		*row = (struct total_row){ .kind = TOTAL_SPAN, .name = span, .count = 1, .has_histogram = true, .total_s = 1 };
		row->histogram[400] = 1;
		add(RECORD_TOTAL, run)->total = row;
		struct total_row *batches = sample_set_allocate(&group.set, sizeof *batches);
		*batches = (struct total_row){ .kind = TOTAL_BATCH, .mode = mode, .count = 5 };
		add(RECORD_TOTAL, run)->total = batches;
		struct record *record = add(RECORD_GAUGE, run);
		record->gauge.name = gauge;
		record->gauge.value = i;
		struct record *counted = add(RECORD_COUNTER, run);
		counted->counter.name = counter;
		counted->counter.total = 2;
	}
}

static unsigned lines_with(const char *text, const char *what)
{
	unsigned lines = 0;
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		const char *found = strstr(line, what);
		lines += *line != '#' && found && found < strchr(line, '\n');
	}
	return lines;
}

/* Of rank 0, if every figure were known, and the job had no other rank, so that its figures are the rank's. */
static unsigned most_series(const char *text)
{
	enum { GPUS = 8, ABSENT = 10 /* epochs, times until their end, processes: of these ranks they are unknown */ };
	unsigned figures = 0, known = 0;
	const struct figure *figure;
	for (size_t i = 0; (figure = figure_at(i)); i++) {
		enum scrape_scope scope;
		char name[SCRAPE_NAME_SIZE], sample[SCRAPE_NAME_SIZE + 40];
		if (!scrape_figure_find(figure, &scope, name) || scope == SCRAPE_MACHINE)
			continue;
		figures++;
		snprintf(sample, sizeof sample, "pmtop_%s{run_id=\"job\",rank=\"0\"}", name);
		known += lines_with(text, sample);
	}
	return lines_with(text, "rank=\"0\"") - known + figures + GPUS + ABSENT;
}

START_TEST(a_rank_has_at_most_150_series_whatever_it_publishes)
{
	rank_group_add(&group, 0, 2, "job", 100);
	rank_group_add(&group, 1, 2, "job", 101);
	rank_group_apply(&group, 0.1);
	step_ranks(2, 30);
	add_names(0);
	for (unsigned i = 0; i < ALERTS_MAX; i++)
		alerts.list[alerts.count++] = (struct alert){ .rule = "", .is_raised = true, .is_of_model = true };
	static char rules[ALERTS_MAX][16];
	for (unsigned i = 0; i < ALERTS_MAX; i++) {
		snprintf(rules[i], sizeof rules[i], "rule_%u", i);
		alerts.list[i].rule = rules[i];
	}
	rank_group_apply(&group, 20);
	const char *text = page(PLAIN);
	unsigned series = most_series(text);
	ck_assert_msg(series <= SCRAPE_SERIES_MAX && series > 120, "%u series", series);
	assert_has(text, "pmtop_folded_names{run_id=\"job\",rank=\"0\",kind=\"phase\"} 99\n");
	assert_has(text, "pmtop_folded_names{run_id=\"job\",rank=\"0\",kind=\"gauge\"} 96\n");
	assert_has(text, "pmtop_folded_names{run_id=\"job\",rank=\"0\",kind=\"counter\"} 97\n");
	/* The published name "other" is in the sum: 100 counters of 2, without the two that are named. */
	ck_assert_uint_eq(lines_with(text, "pmtop_published_count_total{run_id=\"job\",rank=\"0\",name=\"other\"}"), 1);
	assert_has(text, "pmtop_published_count_total{run_id=\"job\",rank=\"0\",name=\"other\"} 196\n");
	ck_assert_uint_eq(lines_with(text, "pmtop_warning{run_id=\"job\",rank=\"0\""), 5);
	assert_has(text, "pmtop_warning{run_id=\"job\",rank=\"0\",rule=\"other\"} 60\n");
}
END_TEST

START_TEST(no_two_samples_have_the_same_name_and_labels)
{
	rank_group_add(&group, 0, 2, "job", 100);
	rank_group_add(&group, 0, 2, "job", 101);
	rank_group_apply(&group, 0.1);
	step_ranks(2, 12);
	add_names(0);
	rank_group_apply(&group, 20);
	const char *text = page(PLAIN);
	assert_has(text, "pmtop_exporter_ranks_left_out 1\n");
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		size_t length = *line == '#' ? 0 : (size_t)(strchr(strchr(line, '}') ? line : line, '\n') - line);
		while (length && line[length - 1] != ' ')
			length--;
		for (const char *later = strchr(line, '\n') + 1; length && *later; later = strchr(later, '\n') + 1)
			ck_assert_msg(strncmp(line, later, length) != 0, "twice: %.*s", (int)length, line);
	}
}
END_TEST

/* -- figures -- */

START_TEST(steps_are_a_cumulative_histogram)
{
	rank_group_add(&group, 0, 1, NULL, 100);
	rank_group_apply(&group, 0.1);
	for (unsigned i = 0; i < 21; i++)
		rank_group_step(&group, 0, (struct rank_group_step){ .forward_s = i < 10 ? 0.04 : 0.2 });
	rank_group_apply(&group, 20);
	const char *text = page(PLAIN);
	assert_has(text, "# TYPE pmtop_step_seconds histogram\n");
	assert_has(text, "mode=\"train\",le=\"0.025\"} 0\n");
	assert_has(text, "mode=\"train\",le=\"0.05\"} 10\n");
	assert_has(text, "mode=\"train\",le=\"0.1\"} 10\n");
	assert_has(text, "mode=\"train\",le=\"0.25\"} 20\n");
	assert_has(text, "mode=\"train\",le=\"+Inf\"} 20\n");
	assert_has(
		text, "pmtop_step_seconds_sum{run_id=\"00000000000000000000000000000001\",rank=\"0\",mode=\"train\"} 2.4\n");
	assert_has(
		text, "pmtop_step_seconds_count{run_id=\"00000000000000000000000000000001\",rank=\"0\",mode=\"train\"} 20\n");
	assert_has(text, "phase=\"forward\",le=\"0.05\"} 10\n");
	assert_has(text, "pmtop_batches_total{run_id=\"00000000000000000000000000000001\",rank=\"0\",mode=\"train\"} 21\n");
}
END_TEST

START_TEST(own_time_and_excess_show_the_slow_rank)
{
	for (unsigned i = 0; i < 4; i++)
		rank_group_add(&group, i, 4, "job", 100 + (int32_t)i);
	rank_group_apply(&group, 0.1);
	step_ranks(4, 30);
	rank_group_apply(&group, 20);
	const char *text = page(PLAIN);
	assert_has(text, "pmtop_rank_own_step_seconds{run_id=\"job\",rank=\"0\"} 0.17\n");
	assert_has(text, "pmtop_rank_own_step_seconds{run_id=\"job\",rank=\"1\"} 0.31\n");
	/* Of all ranks: without a rank. */
	assert_has(text, "pmtop_ranks_excess_ratio{run_id=\"job\"} 0.82");
}
END_TEST

/* Enters collectives 1 to `last`, one each tenth of a second. */
static void enter_collectives(unsigned rank, uint64_t last)
{
	struct collective_row *rows = sample_set_allocate(&group.set, last * sizeof *rows);
	for (uint64_t i = 0; i < last; i++)
		rows[i] = (struct collective_row){ 1, 1, i + 1, SCRIPT_BASE_NS + (int64_t)(i + 1) * 100 * NS_PER_MS };
	struct record *state = add(RECORD_COLLECTIVE_STATE, 0);
	state->collective_state.pid = 100 + (int32_t)rank;
	state->collective_state.group = 1;
	state->collective_state.enqueued = (int64_t)last;
	state->collective_state.started = state->collective_state.completed = -1;
	struct record *entered = add(RECORD_COLLECTIVES, 0);
	entered->collectives.pid = 100 + (int32_t)rank;
	entered->collectives.state = 'S';
	entered->collectives.rows = rows;
	entered->collectives.count = last;
}

/* Rank 1 is behind since 20.1 s; it is 35 s. */
static void wait_for_rank_1(bool has_steps)
{
	for (unsigned i = 0; i < 2; i++) {
		if (has_steps)
			rank_group_add(&group, i, 2, "job", 100 + (int32_t)i);
		struct record *rank = add(RECORD_COLLECTIVE_RANK, 0);
		rank->collective_rank.pid = 100 + (int32_t)i;
		rank->collective_rank.rank = (int32_t)i;
		rank->collective_rank.world_size = 2;
	}
	struct record *op = add(RECORD_COLLECTIVE_OP, 0);
	op->collective_op.id = 1;
	op->collective_op.name = "gloo:all_reduce";
	op->collective_op.sizes = "[1000]";
	struct record *of = add(RECORD_COLLECTIVE_GROUP, 0);
	of->collective_group.id = 1;
	of->collective_group.name = "0";
	of->collective_group.description = "default_pg";
	assert_lacks(page(PLAIN), "pmtop_rank_behind_seconds");
	rank_group_apply(&group, 0.1);
	enter_collectives(0, 201);
	enter_collectives(1, 200);
	rank_group_apply(&group, 20.5);
	if (has_steps)
		assert_has(page(PLAIN), "pmtop_rank_behind_seconds{run_id=\"job\",rank=\"1\"} 0\n");
	for (unsigned i = 0; i < 2; i++) {
		struct record *record = add(RECORD_COLLECTIVES, 0);
		record->collectives.pid = 100 + (int32_t)i;
		record->collectives.state = 'S';
		record->time_ns = SCRIPT_BASE_NS + 35 * NS_PER_S;
	}
	rank_group_apply(&group, 35);
}

/* A rank whose steps are unknown has no other series of its own. */
START_TEST(rank_without_steps_is_named)
{
	struct record *target = add(RECORD_PROCESS_SEEN, 0);
	target->process.pid = 99;
	target->process.is_target = true;
	target->process.command = "torchrun";
	wait_for_rank_1(false);
	const char *text = page(PLAIN);
	assert_has(text, "pmtop_rank_behind_seconds{run_id=\"pid-99\",rank=\"0\"} 0\n");
	assert_has(text, "pmtop_rank_behind_seconds{run_id=\"pid-99\",rank=\"1\"} 14.9");
}
END_TEST

START_TEST(rank_that_others_wait_for_is_named)
{
	wait_for_rank_1(true);
	const char *text = page(PLAIN);
	assert_has(text, "pmtop_rank_behind_seconds{run_id=\"job\",rank=\"0\"} 0\n");
	assert_has(text, "pmtop_rank_behind_seconds{run_id=\"job\",rank=\"1\"} 14.9");
}
END_TEST

static void add_gpu(int32_t number, int32_t pid)
{
	struct gpu_row *gpu = sample_set_allocate(&group.set, sizeof *gpu);
	struct gpu_process_row *row = sample_set_allocate(&group.set, sizeof *row);
	*gpu = (struct gpu_row){ .instance = number,
		.parent = -1,
		.index = (uint32_t)number,
		.vendor = "NVIDIA",
		.name = "H100",
		.uuid = number ? "GPU-b1" : "GPU-a0",
		.pci = "",
		.driver = "" };
	add(RECORD_GPU, 0)->gpu = gpu;
	*row = (struct gpu_process_row){ pid, GPU_PROCESS_COMPUTE, "", 5e9, 0.5 };
	struct record *record = add(RECORD_GPU_PROCESSES, 0);
	record->gpu_processes.gpu = number;
	record->gpu_processes.rows = row;
	record->gpu_processes.count = 1;
	rank_group_figure(&group, 1, METRIC_GPU_BUSY, number, 0.25);
	rank_group_figure(&group, 1, METRIC_GPU_MEMORY_USED, number, 7e9);
	rank_group_figure(&group, 1, METRIC_GPU_ECC_UNCORRECTED, number, 3 * number);
}

START_TEST(gpus_have_the_labels_of_dcgm_and_join_with_ranks)
{
	for (int i = 0; i < 2; i++) {
		rank_group_add(&group, i, 2, "job", 100 + i);
		struct record *process = add(RECORD_PROCESS_SEEN, 0);
		process->process.pid = 100 + i;
		process->process.parent = i ? 100 : 1;
		process->process.command = "train.py";
		process->process.start_ticks = 1;
		process->process.is_target = i == 0;
	}
	rank_group_apply(&group, 0.1);
	for (int i = 0; i < 2; i++)
		add_gpu(i, 100 + i);
	rank_group_apply(&group, 1.1);
	const char *text = page(PLAIN);
	assert_has(text, "# TYPE pmtop_gpu_ecc_uncorrected_total counter\n");
	assert_has(text, "pmtop_gpu_ecc_uncorrected_total{run_id=\"job\"} 3\n");
	assert_lacks(text, "pmtop_gpu_ecc_uncorrected{");
	assert_has(text, "pmtop_gpu_utilization_ratio{gpu=\"1\",UUID=\"GPU-b1\"} 0.25\n");
	assert_has(text, "pmtop_gpu_memory_used_bytes{gpu=\"0\",UUID=\"GPU-a0\"} 7000000000\n");
	assert_has(text, "pmtop_rank_gpu_info{run_id=\"job\",rank=\"0\",gpu=\"0\",UUID=\"GPU-a0\"} 1\n");
	assert_has(text, "pmtop_rank_gpu_info{run_id=\"job\",rank=\"1\",gpu=\"1\",UUID=\"GPU-b1\"} 1\n");
	ck_assert_uint_eq(lines_with(text, "pmtop_rank_gpu_info"), 2);
}
END_TEST

START_TEST(ended_runs_of_a_process_make_way_but_ranks_stay)
{
	for (unsigned i = 0; i < 3; i++)
		rank_group_add(&group, i, i < 2 ? 2 : 0, i < 2 ? "job" : NULL, 100);
	rank_group_add(&group, 0, 0, NULL, 100);
	rank_group_apply(&group, 0.1);
	rank_group_end(&group, 0, 1, true);
	rank_group_end(&group, 2, 1, false);
	rank_group_apply(&group, 2);
	const char *text = page(PLAIN);
	assert_has(text, "pmtop_up{run_id=\"job\",rank=\"0\"} 0\n");
	assert_has(text, "pmtop_up{run_id=\"job\",rank=\"1\"} 1\n");
	assert_lacks(text, "00000000000000000000000000000003");
	assert_has(text, "pmtop_up{run_id=\"00000000000000000000000000000004\"} 1\n");
}
END_TEST

START_TEST(what_is_unknown_is_absent)
{
	rank_group_add(&group, 0, 1, NULL, 100);
	rank_group_apply(&group, 0.1);
	const char *text = page(PLAIN);
	assert_has(text, "pmtop_up{");
	assert_lacks(text, "pmtop_step_seconds");
	assert_lacks(text, "pmtop_loading_share_ratio");
	assert_lacks(text, "nan");
	assert_lacks(text, "NaN");
	assert_has(text, "pmtop_exporter_cpu_seconds_total 1.5\n");
	assert_lacks(text, "pmtop_exporter_resident_bytes");
}
END_TEST

/* -- formats -- */

START_TEST(exemplars_and_units_are_in_openmetrics_alone)
{
	rank_group_add(&group, 0, 1, NULL, 100);
	rank_group_apply(&group, 0);
	step_ranks(1, 12);
	rank_group_apply(&group, 20);
	const char *text = page(OPENMETRICS);
	assert_has(text, "# {batch=\"10\",recording_offset_seconds=\"1.700\"} 0.17 ");
	assert_has(text, "# UNIT pmtop_step_seconds seconds\n");
	assert_has(text, "# TYPE pmtop_batches counter\n");
	assert_has(text, "# TYPE pmtop_run info\n");
	ck_assert_str_eq(text + strlen(text) - 6, "# EOF\n");
	text = page(PLAIN);
	assert_lacks(text, "# {");
	assert_lacks(text, "# UNIT");
	assert_lacks(text, "# EOF");
	assert_has(text, "# TYPE pmtop_batches_total counter\n");
	assert_has(text, "# TYPE pmtop_run_info gauge\n");
}
END_TEST

START_TEST(command_lines_stay_here_unless_asked_for)
{
	rank_group_add(&group, 0, 1, NULL, 100);
	struct record *process = add(RECORD_PROCESS_SEEN, 0);
	process->process.pid = 100;
	process->process.command = "secret.py";
	process->process.is_target = true;
	process->process.start_ticks = 1;
	rank_group_apply(&group, 0.1);
	assert_has(page(PLAIN), "run=\"resnet50\"");
	assert_lacks(page(PLAIN), "secret");
	assert_has(page((struct scrape_options){ .is_plain = true, .has_commands = true }), "command=\"secret.py\"");
	/* The name of an inferred run is that of its script. */
	model->runs[0].is_counted = true;
	assert_lacks(page(PLAIN), "resnet50");
}
END_TEST

START_TEST(labels_are_escaped)
{
	rank_group_add(&group, 0, 2, "a\\b\"c,d", 100);
	rank_group_add(&group, 1, 2, "a\\b\"c,d", 101);
	rank_group_apply(&group, 0.1);
	step_ranks(2, 12);
	rank_group_apply(&group, 20);
	const char *text = page(PLAIN);
	assert_has(text, "pmtop_up{run_id=\"a\\\\b\\\"c,d\",rank=\"0\"} 1\n");
	assert_has(text, "pmtop_ranks_excess_ratio{run_id=\"a\\\\b\\\"c,d\"} ");
}
END_TEST

/* -- rules -- */

static void write_rules(const char *file)
{
	struct reason why;
	struct rule_book *book = rule_book_new();
	ck_assert_ptr_nonnull(book);
	if (file)
		ck_assert_msg(rule_book_parse(book, "own.yaml", file, strlen(file), &why) == STATUS_OK, "%s", why.text);
	buffer_clear(&out);
	scrape_rules_write(&out, book);
	rule_book_free(book);
}

START_TEST(rules_become_alerts_or_are_listed)
{
	write_rules(NULL);
	assert_has(out.data,
		"- alert: PmtopMemoryGrowth\n        expr: pmtop_memory_growth_bytes > 100000000 and on (instance, "
		"run_id) pmtop_memory_grows == 1\n        labels: {severity: warning, rule: memory_growth}\n");
	assert_has(out.data,
		"expr: pmtop_workers_cpu_ratio > 0.85 and on (instance, run_id, rank) "
		"pmtop_loading_share_ratio > 0.15 and on (instance, run_id, rank) pmtop_workers > 0 and on "
		"(instance, run_id, rank) pmtop_run_steps >= 20\n        for: 10s\n");
	assert_has(out.data, "group_left () quantile by (run_id) (0.5, pmtop_rank_own_step_seconds) > 1.05\n");
	/* Of each rank, so that the alert names it. */
	assert_has(out.data, "- alert: PmtopRankBehind\n        expr: pmtop_rank_behind_seconds > 1\n");
	assert_has(
		out.data, "expr: pmtop_memory_limit_in_seconds < 900 and on (instance, run_id) pmtop_memory_grows == 1 and");
	assert_has(out.data, "#   data_loading             phase.share_ratio\n");
	assert_lacks(out.data, "alert: PmtopDataLoading\n");
	assert_lacks(out.data, "{{ $value | humanize }} (above 0.0");
}
END_TEST

START_TEST(a_rule_that_is_off_is_no_alert_and_levels_are_the_users)
{
	write_rules("memory_growth:\n  off: true\nbusy_disk:\n  above: 55 %\n");
	assert_lacks(out.data, "PmtopMemoryGrowth");
	assert_has(out.data, "pmtop_disk_busy_ratio > 0.55\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scrape");
	TCase *tests = tcase_create("scrape");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_rank_has_at_most_150_series_whatever_it_publishes);
	tcase_add_test(tests, no_two_samples_have_the_same_name_and_labels);
	tcase_add_test(tests, steps_are_a_cumulative_histogram);
	tcase_add_test(tests, own_time_and_excess_show_the_slow_rank);
	tcase_add_test(tests, rank_that_others_wait_for_is_named);
	tcase_add_test(tests, rank_without_steps_is_named);
	tcase_add_test(tests, gpus_have_the_labels_of_dcgm_and_join_with_ranks);
	tcase_add_test(tests, ended_runs_of_a_process_make_way_but_ranks_stay);
	tcase_add_test(tests, what_is_unknown_is_absent);
	tcase_add_test(tests, exemplars_and_units_are_in_openmetrics_alone);
	tcase_add_test(tests, command_lines_stay_here_unless_asked_for);
	tcase_add_test(tests, labels_are_escaped);
	tcase_add_test(tests, rules_become_alerts_or_are_listed);
	tcase_add_test(tests, a_rule_that_is_off_is_no_alert_and_levels_are_the_users);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
