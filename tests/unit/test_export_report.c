#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/export/csv/csv.h"
#include "src/export/export.h"
#include "src/export/json/json.h"
#include "src/export/text/report.h"
#include "tests/support/fixture.h"
#include "tests/support/machine.h"
#include "tests/support/suite.h"

#define DOUBLE_RULE "==========================================================================================\n"
#define SINGLE_RULE "------------------------------------------------------------------------------------------\n"
#define TITLE(text) DOUBLE_RULE text "\n" DOUBLE_RULE

static struct fixture fixture;
static struct track *train;
static struct buffer out;

static void setup(void)
{
	fixture_init(&fixture);
	train = &fixture.run.tracks[0];
	out = (struct buffer)BUFFER_INIT;
}

static void teardown(void)
{
	buffer_release(&out);
	fixture_release(&fixture);
}

static const char *report_of(int run)
{
	fixture_explain(&fixture);
	buffer_clear(&out);
	export_report(&out, &fixture.model, &fixture.alerts, run);
	return out.data;
}

static bool has(const char *text) { return strstr(report_of(0), text) != NULL; }

/* Without epochs. */
START_TEST(the_progress_of_a_run_without_epochs_is_of_its_batches)
{
	ck_assert(!has("PROGRESS"));
	fixture.run.state.batches_per_epoch = 5000;
	fixture.run.tracks[0].count = 1200;
	fixture.run.run_done_ratio = 0.24;
	fixture.run.run_eta_s = 76;
	ck_assert(has("PROGRESS: 1200 of 5000 batches, 24 %, about 1:16 to go\n"));
	fixture.run.state.epochs_planned = 3;
	ck_assert(!has("PROGRESS"));
}
END_TEST

static void set_times(struct operation *operation, double mean_s, double min_s, double max_s)
{
	operation->mean_s = mean_s;
	operation->min_s = min_s;
	operation->max_s = max_s;
}

/* The figures of the guides' two examples, and other parts of a report. */
static void fill(void)
{
	snprintf(fixture.run.rank, sizeof fixture.run.rank, "0");
	snprintf(fixture.run.world, sizeof fixture.run.world, "2");
	struct epoch *epoch = fixture_begin_epoch(&fixture, 0);
	struct batch *batch = fixture_add_batch(&fixture, train, 0, 0.538);
	batch->phase_count = 2;
	batch->phases[0] = (struct phase_time){ FIXTURE_DATA, NAME_NONE, 0.4f, NAN, 70.4e6f };
	batch->phases[1] = (struct phase_time){ FIXTURE_FORWARD, NAME_NONE, 0.1f, NAN, NAN };
	batch = fixture_add_batch(&fixture, train, 1, 0.185);
	batch->phase_count = 1;
	batch->phases[0] = (struct phase_time){ FIXTURE_DATA, NAME_NONE, 0.1f, NAN, 6.5e6f };
	fixture_end_epoch(&fixture, epoch);
	epoch->batches = 2;
	epoch->mean_s = 0.3615;
	epoch->min_s = 0.185;
	epoch->max_s = 0.538;
	fixture_begin_epoch(&fixture, 1)->total_s = 0.25;

	struct operation *operation =
		fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DATA, FIXTURE_NO_NAME, 150, 15.234);
	set_times(operation, 0.102, 0.085, 0.425);
	operation->share_ratio = 0.6;
	operation->memory_bytes = 76.9e6;
	set_times(
		fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DECODE, FIXTURE_DATA, 150, 8.451), 0.056, 0.048, 0.112);
	operation = fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_FORWARD, FIXTURE_NO_NAME, 150, 2.361);
	operation->share_ratio = 0.3;
	operation = fixture_add_operation(&fixture, FIXTURE_TRAIN, NAME_UNATTRIBUTED, FIXTURE_NO_NAME, 150, 0.5);
	operation->share_ratio = 0.1;

	struct alert *alert =
		fixture_add_alert(&fixture, "data_loading", SEVERITY_WARNING, "data takes 34 % of each batch");
	alert->advice_count = 2;
	snprintf(alert->advice[0], sizeof alert->advice[0], "more workers");
	snprintf(alert->advice[1], sizeof alert->advice[1], "prefetch");
	fixture_add_flagged(&fixture, 0, 624, 0.512, 0.201);

	struct memory *memory = &fixture.model.memory;
	memory->rss_bytes = 1.6489e9;
	memory->peak_rss_bytes = 1.7e9;
	memory->swap_bytes = 0;
	memory->tree_rss_bytes = 3.42e9;
	memory->slope = (struct slope){ 3.8e6, 3.1e6, 4.4e6, 50 };
	memory->verdict = MEMORY_PLATEAU;
}

START_TEST(whole_report_reads_like_the_guides_tables)
{
	fill();
	ck_assert_str_eq(report_of(0),
		"train.py, process 48213, run resnet50, rank 0 of 2\n"
		"\n" TITLE(
			"PERFORMANCE SUMMARY") "Operation                        Time (s)    Percent       CPU (MB)\n" SINGLE_RULE
								   "data                               15.234       84 %          +76.9\n"
								   "  decode                            8.451       47 %              –\n"
								   "forward                             2.361       13 %              –\n"
								   "unattributed                        0.500        3 %              –\n" SINGLE_RULE
								   "TOTAL                              18.095s\n" DOUBLE_RULE "\n" TITLE(
									   "AGGREGATE STATISTICS (for repeated operations)") "Operation                    "
																						 "  Count    Total (s)    Mean "
																						 "(s)     Min (s)      Max "
																						 "(s)\n" SINGLE_RULE
																						 "data                         "
																						 "  150      15.234       "
																						 "0.102        0.085        "
																						 "0.425\n"
																						 "  decode                     "
																						 "  150       8.451       "
																						 "0.056        0.048        "
																						 "0.112\n"
																						 "forward                      "
																						 "  150       2.361           "
																						 "–            –            –\n"
																						 "unattributed                 "
																						 "  150       0.500           "
																						 "–            –            "
																						 "–\n" DOUBLE_RULE "\n" TITLE(
																							 "EPOCHS") "Epoch          "
																									   "               "
																									   " Batches  "
																									   "Total (s)    "
																									   "Mean (s)     "
																									   "Min (s)      "
																									   "Max "
																									   "(s)"
																									   "\n" SINGLE_RULE
																									   "1              "
																									   "               "
																									   " 2         "
																									   "0.723       "
																									   "0.361        "
																									   "0.185        "
																									   "0.538\n"
																									   "2 (running)    "
																									   "               "
																									   " 0         "
																									   "0.250          "
																									   " –            "
																									   "–            "
																									   "–\n" DOUBLE_RULE
																									   "\n" TITLE(
																										   "WARNINGS") "warning: data takes 34 % of each batch\n"
																													   "    try: more workers\n"
																													   "    try: prefetch\n" DOUBLE_RULE
																													   "\n" TITLE(
																														   "FLAGGED BATCHES") "Epoch/batch      Step (s)  Median (s)   Ratio  Causes\n" SINGLE_RULE
																																			  "0/624               0.512       0.201    2.5×  data 100 %\n" DOUBLE_RULE
																																			  "\n" TITLE(
																																				  "MEMORY") "Resident set                      1.65 GB\n"
																																							"Peak                              1.70 GB\n"
																																							"Anonymous                               –\n"
																																							"File                                    –\n"
																																							"Shared                                  –\n"
																																							"Swapped out                           0 B\n"
																																							"Whole tree, upper bound           3.42 GB\n"
																																							"Tree's growth a second            3.80 MB   (95 %: 3.10 MB to 4.40 MB)\n"
																																							"Verdict                           plateau\n" DOUBLE_RULE);
}
END_TEST

START_TEST(leak_says_who_when_it_is_full_and_what_to_try)
{
	struct memory *memory = &fixture.model.memory;
	fill();
	memory->verdict = MEMORY_LEAK;
	memory->growth_per_epoch = 47.5e6;
	snprintf(memory->grower, sizeof memory->grower, "worker 4711");
	memory->grower_kind = MEMORY_KIND_ANONYMOUS;
	memory->grower_share_ratio = 0.97;
	memory->limit = "cgroup";
	memory->limit_bytes = 24e9;
	memory->limit_room_bytes = 20.7e9;
	memory->limit_in_s = 5460;
	const char *fixture_memory = strstr(report_of(0), "Tree's growth a second");
	ck_assert_ptr_nonnull(fixture_memory);
	ck_assert_str_eq(fixture_memory,
		"Tree's growth a second            3.80 MB   (95 %: 3.10 MB to 4.40 MB)\n"
		"Tree's growth an epoch            47.5 MB\n"
		"Grows the most                       97 %   of the growth: worker 4711, anonymous\n"
		"Room to the nearest limit         20.7 GB   (cgroup: 24.0 GB)\n"
		"Full at this rate in               1 h 31\n"
		"Verdict                              leak\n"
		"    A DataLoader worker keeps memory after each batch and does not free it.\n"
		"    try: Check what the dataset's __getitem__ keeps: a list, an unbounded cache, open files. Store samples in "
		"arrays, not in lists of Python "
		"objects. persistent_workers=False restarts workers each epoch.\n" DOUBLE_RULE);
}
END_TEST

START_TEST(unpublished_process_says_what_is_not_known_and_why)
{
	ck_assert_str_eq(report_of(-1),
		"train.py, process 48213\n"
		"\n"
		"No instrumentation, and no loop found whose iterations pmtop can count; in Python, write for batch in "
		"pmtop.batches(loader); "
		"in C or C++, include pmtop.h (man pmtop.h).\n"
		"\n" TITLE("WARNINGS") "none\n" DOUBLE_RULE
							   "\n" TITLE("MEMORY") "Resident set                            –\n"
													"Peak                                    –\n"
													"Anonymous                               –\n"
													"File                                    –\n"
													"Shared                                  –\n"
													"Swapped out                             –\n"
													"Whole tree, upper bound                 –\n"
													"Verdict                           unknown\n" DOUBLE_RULE);
}
END_TEST

START_TEST(long_and_wide_names_are_cut_visibly_and_keep_the_columns)
{
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_LONG, FIXTURE_NO_NAME, 1, 1);
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_LONG, FIXTURE_DATA, 1, 1);
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_WIDE, FIXTURE_NO_NAME, 1, 1);
	ck_assert(has("\nan operation whose n…ts column      1.000       50 %"));
	ck_assert(has("\n  an operation whose…ts column      1.000       50 %"));
	ck_assert(has("\n学習データの読み込み…理の全体       1.000       50 %"));
}
END_TEST

START_TEST(figures_too_large_for_their_column_lose_decimals_not_their_alignment)
{
	struct operation *operation =
		fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DATA, FIXTURE_NO_NAME, 12345678, 1234567.891);
	set_times(operation, 12345.678, 0.001, 99999.5);
	ck_assert(has("\ndata                           1234567.89      100 %\n"));
	ck_assert(has("\ndata                           12.3M   1234568   12345.678        0.001    99999.500\n"));
}
END_TEST

START_TEST(total_sums_the_outermost_operations)
{
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DATA, FIXTURE_NO_NAME, 10, 2);
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DECODE, FIXTURE_DATA, 10, 1);
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_FORWARD, FIXTURE_NO_NAME, 10, 30);
	ck_assert(has("\nTOTAL                              32.000s\n"));
}
END_TEST

START_TEST(operation_that_has_not_finished_yet_is_left_out)
{
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DATA, FIXTURE_NO_NAME, 10, 2);
	fixture_add_operation(&fixture, FIXTURE_TRAIN, NAME_UNATTRIBUTED, FIXTURE_NO_NAME, 0, 0);
	ck_assert(has("\ndata "));
	ck_assert(!has("unattributed"));
}
END_TEST

START_TEST(total_of_nothing_is_unknown)
{
	ck_assert(has("\nTOTAL                                   –\n"));
	ck_assert(!has("EPOCHS"));
}
END_TEST

START_TEST(memory_growth_of_an_operation_is_shown_where_it_was_published)
{
	struct operation *data = fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DATA, FIXTURE_NO_NAME, 1, 0.1);
	ck_assert(has("\ndata                                0.100      100 %\n"));
	data->memory_bytes = 1e6;
	ck_assert(has("\ndata                                0.100      100 %           +1.0\n"));
}
END_TEST

static void set_history(struct series **series, double from, double to)
{
	*series = series_new();
	for (int i = 0; i <= 10; i++)
		series_push(*series, fixture.model.now_ns - (10 - i) * NS_PER_S, from + (to - from) * i / 10);
}

START_TEST(machine_has_means_and_peaks_of_what_was_read)
{
	struct system *system = &fixture.model.system;
	ck_assert(!has("MACHINE"));
	fixture.model.now_ns = 100 * NS_PER_S;
	system->disk_count = 2;
	system->network_count = 1;
	snprintf(system->disks[0].name, sizeof system->disks[0].name, "nvme0n1");
	snprintf(system->disks[1].name, sizeof system->disks[1].name, "idle");
	snprintf(system->networks[0].name, sizeof system->networks[0].name, "eth0");
	set_history(&system->series.cpu_ratio, 0.4, 0.8);
	set_history(&system->disks[0].series, 0, 1);
	set_history(&system->disks[0].bytes_series, 0, 200e6);
	set_history(&system->networks[0].series, 1e6, 3e6);
	const char *table = strstr(report_of(0), "MACHINE");
	ck_assert_ptr_nonnull(table);
	static const char wanted[] = "MACHINE (since pmtop attached)\n" DOUBLE_RULE
								 "Figure                                  Mean          Peak\n" SINGLE_RULE
								 "CPU                                     60 %          80 %\n"
								 "Disk nvme0n1, busy                      50 %         100 %\n"
								 "Disk nvme0n1, read and written      100 MB/s      200 MB/s\n"
								 "Network eth0                       2.00 MB/s     3.00 MB/s\n" DOUBLE_RULE;
	ck_assert_msg(strncmp(table, wanted, strlen(wanted)) == 0, "%s", table);
	buffer_clear(&out);
	export_json(&out, &fixture.model, &fixture.alerts, 0, 1);
	static const char object[] =
		"\"machine\":{\"cpu_ratio\":{\"mean\":0.6,\"max\":0.8},\"disks\":[{\"name\":\"nvme0n1\",\"busy_ratio\":{"
		"\"mean\":0.5,\"max\":1},\"bytes_per_s\":{\"mean\":100000000,\"max\":200000000}}],\"networks\":[{\"name\":"
		"\"eth0\",\"bytes_per_s\":{\"mean\":2000000,\"max\":3000000}}]}";
	ck_assert_msg(strstr(out.data, object) != NULL, "%s", out.data);
	machine_release(&fixture.model);
}
END_TEST

START_TEST(another_mode_gets_tables_of_its_own)
{
	fixture_add_track(&fixture, FIXTURE_VALIDATION);
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DATA, FIXTURE_NO_NAME, 10, 2);
	fixture_add_operation(&fixture, FIXTURE_VALIDATION, FIXTURE_FORWARD, FIXTURE_NO_NAME, 10, 3);
	ck_assert(has("TOTAL                               2.000s\n"));
	ck_assert(has("PERFORMANCE SUMMARY, mode validation\n"));
	ck_assert(has("AGGREGATE STATISTICS (for repeated operations), mode validation\n"));
	ck_assert(has("TOTAL                               3.000s\n"));
	struct track *training = &fixture.run.tracks[0], *validation = &fixture.run.tracks[1];
	training->count = validation->count = 10;
	training->batch = (struct figures){ 10, 2, 0.2, 0.1, 0.3, 0.2, 0.2, 0.29 };
	training->samples_per_s = 160;
	validation->batch = (struct figures){ 10, 1, 0.0004, 0.1, 0.3, 0.1, 0.1, NAN };
	ck_assert(has("Mode                           Batches     Mean (s)   Median (s)      P95 (s)  Samples/s\n"));
	ck_assert(has("train                               10        0.200        0.200        0.290        160\n"));
	ck_assert(has("validation                          10       400 µs        0.100            –          –\n"));
}
END_TEST

START_TEST(only_the_newest_ten_flagged_batches_are_listed)
{
	for (uint64_t i = 0; i < 12; i++)
		fixture_add_flagged(&fixture, 3, 100 + i, 0.5, 0.2);
	ck_assert(has("FLAGGED BATCHES (the newest 10 of 12)\n"));
	ck_assert(!has("\n3/101 "));
	ck_assert(has("\n3/102 "));
	ck_assert(has("\n3/111 "));
}
END_TEST

START_TEST(dropped_epochs_are_named)
{
	fixture.run.epochs_dropped = 12;
	ck_assert(has("\n(12 earlier epochs are not shown)\n"));
}
END_TEST

START_TEST(ended_run_says_how_it_ended)
{
	fixture.run.is_live = false;
	snprintf(fixture.run.ended, sizeof fixture.run.ended, "killed by signal 9");
	ck_assert(has("train.py, process 48213, run resnet50: killed by signal 9\n"));
}
END_TEST

START_TEST(csv_leaves_unknown_figures_empty_and_writes_its_header_once)
{
	snprintf(fixture.run.name, sizeof fixture.run.name, "a,\"b\"");
	fixture.run.state = (struct run_state){ .mode = FIXTURE_VALIDATION, .epochs_begun = 1, .epoch_index = 4 };
	fixture_add_batch(&fixture, train, 17, 0.5);
	train->step = (struct figures){ .count = 1, .last_s = 0.5, .mean_s = 0.25 };
	fixture.model.memory.rss_bytes = 1.5e9;
	export_csv(&out, &fixture.model, 0, INT64_C(1763632140123000000), 1);
	export_csv(&out, &fixture.model, -1, INT64_C(1763632140123000000), 0);
	ck_assert_str_eq(out.data,
		"time_ns,time,pid,run,mode,epoch,batch,batches,step_last_s,step_mean_s,rate_per_s,batch_last_s,batch_mean_s,"
		"loss,samples_per_s,"
		"flagged,run_eta_s,rss_bytes,peak_rss_bytes,tree_rss_bytes,swap_bytes,cpu_ratio,run_queue_wait_ratio,major_"
		"faults_per_s,"
		"read_bytes_per_s,write_bytes_per_s,lost_events,gpu_utilisation_ratio,gpu_sm_active_ratio,gpu_memory_used_"
		"bytes,gpu_process_memory_bytes,gpu_power_w,"
		"gpu_temperature_c,gpu_clock_hz,cpu_power_w,energy_j,energy_per_batch_j\n"
		"1763632140123000000,2025-11-20T09:49:00.123Z,48213,\"a,\"\"b\"\"\",validation,4,17,1,0.5,0.25,,,,,,0,,"
		"1500000000,,,,,,,,,0,,,,,,,,,,\n"
		"1763632140123000000,2025-11-20T09:49:00.123Z,48213,,,,,,,,,,,,,,,1500000000,,,,,,,,,,,,,,,,,,,\n");
}
END_TEST

START_TEST(kinds_and_late_figures_have_tables)
{
	fixture_accumulate(&fixture);
	fixture_add_flagged(&fixture, 0, 5, 0.5, 0.1)->batch.kind = FIXTURE_ACCUMULATE;
	fixture_add_late_figure(&fixture, FIXTURE_TRAIN, FIXTURE_GPU_FORWARD, 0.05);
	fixture_add_late_figure(&fixture, FIXTURE_VALIDATION, FIXTURE_ACCURACY, 0.9);
	fixture_add_gauge(&fixture, FIXTURE_ALLOCATED, 14.4e6);
	const char *report = report_of(0);
	ck_assert_ptr_nonnull(strstr(report,
		TITLE("KINDS OF BATCHES") "Gradients are accumulated over 4 batches\n"
								  "Optimizer steps a second: 1.2\n"
								  "Kind                           Count   Median (s)      P95 (s)\n" SINGLE_RULE
								  "step                              25        0.180        0.200\n"
								  "accumulate                        75        0.100        0.110\n" DOUBLE_RULE
								  "\n" TITLE("LATE FIGURES") "Figure                         Count         Mean  "
															 "     Median         Last\n" SINGLE_RULE
															 "forward (GPU clock)              150      0.055 s  "
															 "    0.045 s      0.050 s\n"
															 "accuracy, validation             150         0.99  "
															 "       0.81          0.9\n" DOUBLE_RULE));
	ck_assert_ptr_nonnull(strstr(report, "0/5                 0.500       0.100    5.0×  (accumulate)  data 100 %\n"));
	ck_assert_ptr_nonnull(strstr(report, "GPU allocated                     14.4 MB\n"));
	ck_assert_ptr_null(strstr(report, "GPU reserved"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("export_report");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, the_progress_of_a_run_without_epochs_is_of_its_batches);
	tcase_add_test(all, whole_report_reads_like_the_guides_tables);
	tcase_add_test(all, leak_says_who_when_it_is_full_and_what_to_try);
	tcase_add_test(all, unpublished_process_says_what_is_not_known_and_why);
	tcase_add_test(all, long_and_wide_names_are_cut_visibly_and_keep_the_columns);
	tcase_add_test(all, figures_too_large_for_their_column_lose_decimals_not_their_alignment);
	tcase_add_test(all, total_sums_the_outermost_operations);
	tcase_add_test(all, operation_that_has_not_finished_yet_is_left_out);
	tcase_add_test(all, total_of_nothing_is_unknown);
	tcase_add_test(all, memory_growth_of_an_operation_is_shown_where_it_was_published);
	tcase_add_test(all, machine_has_means_and_peaks_of_what_was_read);
	tcase_add_test(all, another_mode_gets_tables_of_its_own);
	tcase_add_test(all, only_the_newest_ten_flagged_batches_are_listed);
	tcase_add_test(all, dropped_epochs_are_named);
	tcase_add_test(all, ended_run_says_how_it_ended);
	tcase_add_test(all, csv_leaves_unknown_figures_empty_and_writes_its_header_once);
	tcase_add_test(all, kinds_and_late_figures_have_tables);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
