#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/export/export.h"
#include "src/export/json/json.h"
#include "tests/support/suite.h"
#include "tests/support/fixture.h"

#define REALTIME_NS INT64_C(1763632140000000000)

static struct fixture fixture;
static struct track *train;
static struct buffer out;
static bool is_cut; /* one object of many: its lists are truncated */

static void setup(void)
{
	fixture_init(&fixture);
	train = &fixture.run.tracks[0];
	out = (struct buffer)BUFFER_INIT;
	is_cut = false;
}

static void teardown(void)
{
	buffer_release(&out);
	fixture_release(&fixture);
}

static const char *object_of(int run)
{
	fixture_explain(&fixture);
	buffer_clear(&out);
	(is_cut ? export_json_newest : export_json)(&out, &fixture.model, &fixture.alerts, run, REALTIME_NS);
	return out.data;
}

/* Passes if Python parses the object, knows every key and its type, and finds each expression over it ("o") true. */
static void assert_holds(int run, const char *expressions)
{
	char command[4096];
	snprintf(command, sizeof command, "python3 tests/support/json_object.py %s", expressions);
	FILE *python = popen(command, "w");
	ck_assert_ptr_nonnull(python);
	fputs(object_of(run), python);
	ck_assert_msg(pclose(python) == 0, "%.2000s", out.data);
}

static void fill_run(void)
{
	fixture.run.state =
		(struct run_state){ .mode = FIXTURE_TRAIN, .epochs_planned = 50, .epochs_begun = 7, .epoch_index = 6 };
	fixture.run.epoch_done_ratio = 0.43;
	fixture.run.epoch_eta_s = 183;
	fixture.run.run_eta_s = 14580;
	fixture.run.loss = 0.3184;
	fixture.run.lost_events = 3;
	fixture.run.refused_events = 7;
	fixture.run.refused_for[REFUSAL_DEEP] = 5;
	fixture.run.before_attach_events = 4;
	snprintf(fixture.run.rank, sizeof fixture.run.rank, "1");
	fixture_add_batch(&fixture, train, 641, 0.2);
	fixture_add_batch(&fixture, train, 642, 0.3)->end_ns = 0;
	train->count = 642;
	train->batch = (struct figures){ 642, 128.4, 0.2, 0.082, 0.538, 0.201, 0.199, 0.248 };
	train->step = (struct figures){ 642, 134.8, 0.21, 0.09, 0.54, 0.211, 0.209, 0.258 };
	train->recent = (struct figures){ 200, 40, 0.22, 0.19, 0.5, 0.21, 0.2, 0.25 };
	train->rate_per_s = 4.7;
	train->samples_per_s = 150;
}

static void fill_operations(void)
{
	struct operation *data = fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DATA, FIXTURE_NO_NAME, 642, 43.6);
	data->share_ratio = 0.34;
	data->cpu_s = 1.5;
	data->p95_s = 0.1;
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DECODE, FIXTURE_DATA, 642, 20);
	fixture_add_operation(&fixture, FIXTURE_TRAIN, NAME_UNATTRIBUTED, FIXTURE_NO_NAME, 642, 6.5);
	struct track *validation = fixture_add_track(&fixture, FIXTURE_VALIDATION);
	validation->count = 30;
	validation->batch = (struct figures){ 30, 3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 };
	fixture_add_operation(&fixture, FIXTURE_VALIDATION, FIXTURE_FORWARD, FIXTURE_NO_NAME, 30, 2.5);
	train = &fixture.run.tracks[0];
}

static void fill_process(void)
{
	struct memory *memory = &fixture.model.memory;
	memory->rss_bytes = 2.61e9;
	memory->peak_rss_bytes = 2.7e9;
	memory->tree_rss_bytes = 3.42e9;
	memory->slope = (struct slope){ 3.8e6, 3.1e6, 4.4e6, 50 };
	memory->slope_per_batch = 0.8e6;
	memory->slope_per_batch_low = 0.7e6;
	memory->slope_per_batch_high = 0.9e6;
	memory->verdict = MEMORY_GROWING;
	fixture.process.cpu_ratio = 0.98;
	fixture.process.now[METRIC_PROCESS_STATE] = 'R';
	fixture.process.now[METRIC_PROCESS_CPU_USER] = 12.5e9;
	fixture.model.self.cpu_ratio = 0.002;
	fixture.model.self.memory_bytes = 9e6;
}

START_TEST(nothing_known_gives_no_keys_and_no_zeroes)
{
	fixture.model.has_target = false;
	fixture.model.process_count = 0;
	ck_assert_str_eq(object_of(-1),
		"{\"time_ns\":1763632140000000000,\"memory\":{\"verdict\":\"unknown\"},\"warnings\":[],\"self\":{\"missing\":[]"
		"}}\n");
}
END_TEST

START_TEST(fresh_run_has_counts_of_zero_and_no_times)
{
	ck_assert_str_eq(object_of(0),
		"{\"time_ns\":1763632140000000000,\"pid\":48213,\"run\":\"resnet50\",\"mode\":\"train\",\"batch\":{\"count\":0}"
		","
		"\"epochs\":[],\"operations\":[],\"modes\":{\"train\":{\"count\":0}},\"flagged_total\":0,\"flagged\":[],"
		"\"patterns\":[],\"lost_events\":0,"
		"\"before_attach_events\":0,\"refused_events\":0,\"memory\":{\"verdict\":\"unknown\"},\"cpu\":{},\"workers\":[]"
		",\"warnings\":[],\"self\":{\"missing\":[]}}\n");
}
END_TEST

START_TEST(run_epoch_and_batches_are_under_their_keys)
{
	fill_run();
	assert_holds(0,
		"'(o[\"pid\"], o[\"run\"], o[\"rank\"], o[\"mode\"]) == (48213, \"resnet50\", 1, \"train\")' "
		"'o[\"epoch\"] == {\"index\": 6, \"ordinal\": 7, \"total\": 50, \"done_ratio\": 0.43, \"eta_s\": 183}' "
		"'o[\"step\"] == {\"last_s\": 0.211, \"mean_s\": 0.21, \"p50_s\": 0.209, \"p95_s\": 0.258, \"rate_per_s\": "
		"4.7}' "
		"'o[\"batch\"] == {\"count\": 642, \"index\": 641, \"last_s\": 0.201, \"mean_s\": 0.2, \"min_s\": 0.082, "
		"\"max_s\": 0.538, "
		"\"p50_s\": 0.199, \"p95_s\": 0.248, \"loss\": 0.3184, \"samples_per_s\": 150}' "
		"'o[\"recent\"] == {\"count\": 200, \"last_s\": 0.21, \"mean_s\": 0.22, \"min_s\": 0.19, \"max_s\": 0.5, "
		"\"p50_s\": 0.2, \"p95_s\": 0.25}' "
		"'(o[\"run_eta_s\"], o[\"lost_events\"], o[\"before_attach_events\"], o[\"refused_events\"]) == (14580, 3, 4, "
		"7)' "
		"'o[\"refused\"] == {\"too_deep\": 5, \"unknown\": 2}'");
}
END_TEST

START_TEST(operations_of_other_modes_are_under_their_mode)
{
	fill_run();
	fill_operations();
	assert_holds(0,
		"'[(p[\"name\"], p[\"depth\"]) for p in o[\"operations\"]] == [(\"data\", 0), (\"decode\", 1), "
		"(\"unattributed\", 0)]' "
		"'o[\"operations\"][0] == {\"name\": \"data\", \"depth\": 0, \"count\": 642, \"total_s\": 43.6, \"self_s\": "
		"43.6, \"cpu_s\": 1.5, \"p95_s\": 0.1, \"share_ratio\": 0.34}' "
		"'o[\"modes\"][\"train\"][\"count\"] == 642' 'o[\"modes\"][\"train\"][\"samples_per_s\"] == 150' "
		"'o[\"modes\"][\"validation\"][\"mean_s\"] == 0.1' "
		"'[p[\"name\"] for p in o[\"modes\"][\"validation\"][\"operations\"]] == [\"forward\"]'");
}
END_TEST

START_TEST(epochs_give_the_published_index_and_leave_out_times_without_batches)
{
	struct epoch *epoch = fixture_begin_epoch(&fixture, 5);
	fixture_add_batch(&fixture, train, 0, 0.5);
	fixture_end_epoch(&fixture, epoch);
	epoch->batches = 1;
	epoch->mean_s = epoch->min_s = epoch->max_s = 0.5;
	fixture_begin_epoch(&fixture, 6)->total_s = 0.25;
	assert_holds(0,
		"'o[\"epochs\"] == [{\"index\": 5, \"batches\": 1, \"total_s\": 0.5, \"mean_s\": 0.5, \"min_s\": 0.5, "
		"\"max_s\": 0.5}, "
		"{\"index\": 6, \"batches\": 0, \"total_s\": 0.25}]'");
}
END_TEST

START_TEST(flagged_batch_has_its_ratio_and_causes_that_add_up)
{
	fixture_add_flagged(&fixture, 6, 624, 0.5, 0.2);
	assert_holds(0,
		"'[(f[\"epoch\"], f[\"batch\"], f[\"seconds\"], f[\"ratio\"]) for f in o[\"flagged\"]] == [(6, 624, 0.5, "
		"2.5)]' "
		"'o[\"flagged\"][0][\"causes\"][0][\"what\"] == o[\"flagged\"][0][\"causes\"][0][\"phase\"] == \"data\"' "
		"'abs(o[\"flagged\"][0][\"causes\"][0][\"evidence\"][\"this_s\"] - 0.5) < 1e-6' "
		"'abs(o[\"flagged\"][0][\"causes\"][0][\"evidence\"][\"usual_s\"] - 0.2) < 1e-6' "
		"'abs(sum(c[\"share_ratio\"] for c in o[\"flagged\"][0][\"causes\"]) - 1) < 0.01'");
}
END_TEST

START_TEST(process_figures_are_under_memory_and_cpu)
{
	fill_process();
	assert_holds(-1,
		"'o[\"memory\"] == {\"rss_bytes\": 2.61e9, \"peak_rss_bytes\": 2.7e9, \"tree_rss_bytes\": 3.42e9, "
		"\"slope_bytes_per_s\": 3.8e6, "
		"\"slope_low_bytes_per_s\": 3.1e6, \"slope_high_bytes_per_s\": 4.4e6, \"slope_bytes_per_batch\": 0.8e6, "
		"\"slope_low_bytes_per_batch\": 0.7e6, \"slope_high_bytes_per_batch\": 0.9e6, \"verdict\": \"growing\"}' "
		"'o[\"cpu\"] == {\"ratio\": 0.98, \"tree_ratio\": 0.98, \"user_s\": 12.5, \"state\": \"running\"}' "
		"'(o[\"self\"][\"cpu_ratio\"], o[\"self\"][\"memory_bytes\"]) == (0.002, 9e6)' "
		"'\"run\" not in o and \"batch\" not in o'");
}
END_TEST

START_TEST(tree_cpu_counts_living_processes)
{
	struct process tree[3] = { fixture.process, fixture.process, fixture.process };
	tree[0].cpu_ratio = 0.5;
	tree[1].cpu_ratio = 0.25;
	tree[1].is_target = tree[2].is_target = false;
	tree[2].cpu_ratio = 4;
	tree[2].is_gone = true;
	fixture.model.processes = tree;
	fixture.model.process_count = 3;
	assert_holds(-1, "'o[\"cpu\"] == {\"ratio\": 0.5, \"tree_ratio\": 0.75}'");
}
END_TEST

START_TEST(warning_carries_evidence_advice_and_when_by_the_wall_clock)
{
	struct alert *alert =
		fixture_add_alert(&fixture, "data_loading", SEVERITY_WARNING, "data takes 34 % of each batch");
	alert->evidence_count = 1;
	alert->evidence[0] = (struct alert_evidence){ "share_ratio", 0.34 };
	alert->advice_count = 2;
	snprintf(alert->advice[0], sizeof alert->advice[0], "more workers");
	snprintf(alert->advice[1], sizeof alert->advice[1], "prefetch");
	fixture_add_alert(&fixture, "variance", SEVERITY_INFO, "cleared")->is_raised = false;
	fixture_add_alert(&fixture, "variance", SEVERITY_INFO, "of another rank")->run = 1;
	fixture.model.now_ns += 1500000000;
	assert_holds(0,
		"'o[\"warnings\"] == [{\"rule\": \"data_loading\", \"severity\": \"warning\", \"message\": \"data takes 34 % "
		"of each batch\", "
		"\"evidence\": {\"share_ratio\": 0.34}, \"advice\": [\"more workers\", \"prefetch\"], \"since_ns\": "
		"1763632138500000000}]'");
}
END_TEST

START_TEST(missing_figure_says_why_and_the_remedy_where_there_is_one)
{
	fixture.model.missing_count = 2;
	fixture.model.missing[0] = (struct missing){ .figure = "io", .text = "not readable", .remedy = "run as root" };
	fixture.model.missing[1] = (struct missing){ .figure = "swap", .text = "no swap here" };
	assert_holds(-1,
		"'o[\"self\"][\"missing\"] == [{\"figure\": \"io\", \"reason\": \"not readable\", \"remedy\": \"run as "
		"root\"}, "
		"{\"figure\": \"swap\", \"reason\": \"no swap here\"}]'");
}
END_TEST

START_TEST(region_read_by_itself_gives_its_writers_pid)
{
	fixture.model.has_target = false;
	fixture.run.pid = 40112;
	assert_holds(0, "'o[\"pid\"] == 40112'");
}
END_TEST

static const char *const no_ranks[] = { "", "first", "3x", "1.5" };

START_TEST(rank_that_is_no_number_is_left_out)
{
	snprintf(fixture.run.rank, sizeof fixture.run.rank, "%.15s", no_ranks[_i]);
	assert_holds(0, "'\"rank\" not in o'");
}
END_TEST

START_TEST(names_with_quotes_and_controls_stay_json)
{
	snprintf(fixture.run.name, sizeof fixture.run.name, "a\"b\\c\n\x1b[31m\xc2\x9b");
	assert_holds(0, "'o[\"run\"] == \"a\\\"b\\\\c\\n\\x1b[31m\\x9b\"'");
}
END_TEST

START_TEST(kinds_have_their_figures_and_flagged_batches_their_kind)
{
	fixture_accumulate(&fixture);
	train->step = (struct figures){ 100, 12, 0.12, 0.1, 0.2, 0.1, 0.1, 0.2 };
	fixture_add_flagged(&fixture, 0, 3, 0.5, 0.18);
	struct flagged *flagged = fixture_add_flagged(&fixture, 0, 5, 0.5, 0.1);
	flagged->batch.kind = FIXTURE_ACCUMULATE;
	flagged->batch.samples = 64;
	flagged->baseline.evidence.samples = 32;
	fixture_add_flagged(&fixture, 0, 9, 0.5, 0.1)->mode = FIXTURE_VALIDATION;
	assert_holds(0,
		"'o[\"kinds\"] == [{\"kind\": \"step\", \"count\": 25, \"median_s\": 0.18, \"p95_s\": 0.2}, "
		"{\"kind\": \"accumulate\", \"count\": 75, \"median_s\": 0.1, \"p95_s\": 0.11}]' "
		"'(o[\"step\"][\"accumulation\"], o[\"step\"][\"optimizer_steps_per_s\"]) == (4, 1.2)' "
		"'[(f[\"kind\"], f.get(\"samples\"), f.get(\"usual_samples\"), f.get(\"mode\")) for f in o[\"flagged\"][:2]] "
		"== "
		"[(\"step\", None, None, None), (\"accumulate\", 64, 32, None)]' "
		"'o[\"flagged\"][2][\"mode\"] == \"validation\" and \"kind\" not in o[\"flagged\"][2]'");
}
END_TEST

START_TEST(late_figures_are_under_their_name_and_mode)
{
	fixture_add_track(&fixture, FIXTURE_VALIDATION);
	fixture_add_late_figure(&fixture, FIXTURE_TRAIN, FIXTURE_GPU_FORWARD, 0.05);
	fixture_add_late_figure(&fixture, FIXTURE_VALIDATION, FIXTURE_GPU_FORWARD, 0.02);
	assert_holds(0,
		"'o[\"figures\"] == {\"gpu.forward_s\": {\"count\": 150, \"last\": 0.05, \"median\": 0.045, \"mean\": 0.055}}' "
		"'o[\"modes\"][\"validation\"][\"figures\"][\"gpu.forward_s\"][\"last\"] == 0.02' '\"figures\" not in "
		"o[\"modes\"][\"train\"]'");
}
END_TEST

START_TEST(a_published_allocator_is_under_memory)
{
	assert_holds(0, "'\"gpu_allocator\" not in o[\"memory\"] and \"figures\" not in o and \"kinds\" not in o'");
	fixture_add_gauge(&fixture, FIXTURE_ALLOCATED, 14.4e6);
	fixture_add_gauge(&fixture, FIXTURE_PEAK, 2880e6);
	assert_holds(
		0, "'o[\"memory\"][\"gpu_allocator\"] == {\"allocated_bytes\": 14400000, \"peak_bytes\": 2880000000}'");
}
END_TEST

/* -- lists that grow with the run -- */

enum { MANY_FLAGGED = RUN_FLAGGED_MAX, MANY_EPOCHS = 1024, MANY_OPERATIONS = 400 };
static struct flagged many_flagged[MANY_FLAGGED];
static struct epoch many_epochs[MANY_EPOCHS];
static struct operation many_operations[MANY_OPERATIONS];

/* As after days; every third operation is slow. */
static void fill_long_run(void)
{
	for (unsigned i = 0; i < MANY_FLAGGED; i++) {
		fixture.run.flagged_count = 0;
		many_flagged[i] = *fixture_add_flagged(&fixture, i / 10, i, 0.5, 0.2);
	}
	for (unsigned i = 0; i < MANY_EPOCHS; i++)
		many_epochs[i] =
			(struct epoch){ .index = i, .ordinal = i + 1, .mode = FIXTURE_TRAIN, .begin_ns = 1 + i, .end_ns = 2 + i };
	for (unsigned i = 0; i < MANY_OPERATIONS; i++) {
		fixture.run.operation_count = 0;
		many_operations[i] = *fixture_add_operation(
			&fixture, FIXTURE_TRAIN, FIXTURE_DATA, FIXTURE_NO_NAME, 1 + i, i % 3 == 0 ? 1000 + i : 1);
	}
	fixture.run.flagged = many_flagged;
	fixture.run.flagged_count = MANY_FLAGGED;
	train->flagged_count = MANY_FLAGGED + 234;
	fixture.run.epochs = many_epochs;
	fixture.run.epoch_count = MANY_EPOCHS;
	fixture.run.epochs_dropped = 76;
	fixture.run.operations = many_operations;
	fixture.run.operation_count = MANY_OPERATIONS;
}

START_TEST(lists_that_grow_are_cut_to_their_newest_and_say_how_many_are_missing)
{
	is_cut = true;
	fill_long_run();
	assert_holds(0,
		"'[f[\"batch\"] for f in o[\"flagged\"]] == list(range(950, 1000))' "
		"'(o[\"flagged_total\"], o[\"flagged_left_out\"]) == (1234, 1184)' "
		"'[e[\"index\"] for e in o[\"epochs\"]] == list(range(974, 1024)) and o[\"epochs_left_out\"] == 974 + 76' "
		"'[p[\"count\"] for p in o[\"operations\"]] == list(range(400, 0, -3))[:50][::-1] and "
		"o[\"operations_left_out\"] == 350'");
	ck_assert_uint_lt(out.length, 100000);
}
END_TEST

START_TEST(the_whole_object_has_all_retained_batches)
{
	fill_long_run();
	assert_holds(0,
		"'[f[\"batch\"] for f in o[\"flagged\"]] == list(range(1000))' "
		"'(o[\"flagged_total\"], o[\"flagged_left_out\"]) == (1234, 234)' "
		"'len(o[\"epochs\"]) == 1024 and o[\"epochs_left_out\"] == 76' "
		"'len(o[\"operations\"]) == 400 and \"operations_left_out\" not in o'");
}
END_TEST

START_TEST(short_lists_are_the_same_in_both)
{
	fill_run();
	fixture_add_flagged(&fixture, 6, 624, 0.5, 0.2);
	struct buffer whole = BUFFER_INIT;
	buffer_puts(&whole, object_of(0));
	is_cut = true;
	ck_assert_str_eq(object_of(0), whole.data);
	buffer_release(&whole);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("export_json");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, nothing_known_gives_no_keys_and_no_zeroes);
	tcase_add_test(all, fresh_run_has_counts_of_zero_and_no_times);
	tcase_add_test(all, run_epoch_and_batches_are_under_their_keys);
	tcase_add_test(all, operations_of_other_modes_are_under_their_mode);
	tcase_add_test(all, epochs_give_the_published_index_and_leave_out_times_without_batches);
	tcase_add_test(all, flagged_batch_has_its_ratio_and_causes_that_add_up);
	tcase_add_test(all, process_figures_are_under_memory_and_cpu);
	tcase_add_test(all, tree_cpu_counts_living_processes);
	tcase_add_test(all, warning_carries_evidence_advice_and_when_by_the_wall_clock);
	tcase_add_test(all, missing_figure_says_why_and_the_remedy_where_there_is_one);
	tcase_add_test(all, region_read_by_itself_gives_its_writers_pid);
	tcase_add_loop_test(all, rank_that_is_no_number_is_left_out, 0, sizeof no_ranks / sizeof no_ranks[0]);
	tcase_add_test(all, names_with_quotes_and_controls_stay_json);
	tcase_add_test(all, kinds_have_their_figures_and_flagged_batches_their_kind);
	tcase_add_test(all, late_figures_are_under_their_name_and_mode);
	tcase_add_test(all, lists_that_grow_are_cut_to_their_newest_and_say_how_many_are_missing);
	tcase_add_test(all, the_whole_object_has_all_retained_batches);
	tcase_add_test(all, short_lists_are_the_same_in_both);
	tcase_add_test(all, a_published_allocator_is_under_memory);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
