/* Summaries of runs, their files, and comparisons of two or more. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"
#include "src/compare/comparison_text.h"
#include "src/compare/judgement.h"
#include "src/compare/judgement_text.h"
#include "src/compare/ranking.h"
#include "src/compare/summary/keeper.h"
#include "src/compare/summary/summary_file.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"
#include "tests/unit/steps_run.h"

static struct chance chance;
static struct reason reason;
static char path[64];

static void setup(void)
{
	chance.state = 42;
	memset(&reason, 0, sizeof reason);
	snprintf(path, sizeof path, "/tmp/pmtop-compare-%d", (int)getpid());
}

static void teardown(void) { unlink(path); }

/* -- runs -- */

/* A run of `count` batches with the phases data and forward; the rest of a step is unattributed. */
static void summarize_counts(
	struct summary *out, size_t count, double data_s, double forward_s, const char *batch_size, const char *workers)
{
	struct script script;
	struct keeper keeper;
	double at_s = 1;
	script_open(&script, NULL);
	summary_init(out);
	keeper_init(&keeper, out);
	if (batch_size)
		script_meta(&script, "batch_size", batch_size);
	if (workers)
		script_meta(&script, "loader.num_workers", workers);
	for (size_t i = 0; i < count; i++) {
		double data = data_s * exp(0.02 * chance_normal(&chance)),
			   forward = forward_s * exp(0.02 * chance_normal(&chance));
		script_batch_begin(&script, 0, at_s, i);
		script_span(&script, 0, at_s, at_s + data, STORY_DATA, NAME_NONE);
		script_span(&script, 0, at_s + data, at_s + data + forward, STORY_FORWARD, NAME_NONE);
		double end_s = at_s + data + forward + 0.002;
		script_batch_end(&script, 0, end_s, at_s, 0.5);
		at_s = end_s + 0.001;
		if (i % 50 == 49) {
			script_apply(&script, at_s);
			keeper_read(&keeper, script.model, 0);
		}
	}
	script_apply(&script, at_s);
	ck_assert(keeper_end(&keeper, script.model, 0));
	script_close(&script);
}

static void summarize_steps(struct summary *out, const double *steps, size_t count)
{
	struct script script;
	struct keeper keeper;
	double at_s = 1;
	script_open(&script, NULL);
	summary_init(out);
	keeper_init(&keeper, out);
	for (size_t from = 0; from < count; from += 100) {
		at_s = script_steps(&script, at_s, steps + from, count - from < 100 ? count - from : 100);
		keeper_read(&keeper, script.model, 0);
	}
	ck_assert(keeper_end(&keeper, script.model, 0));
	script_close(&script);
}

START_TEST(summary_keeps_every_step_of_a_short_run_and_leaves_the_warmup_out)
{
	double steps[100];
	struct summary summary;
	for (size_t i = 0; i < 100; i++)
		steps[i] = i < 2 ? 1 : 0.1 + 0.0001 * (double)i;
	summarize_steps(&summary, steps, 100);
	ck_assert_uint_eq(summary.warmup, 2);
	/* The last has no next one yet, and no epoch that ended. */
	ck_assert_uint_eq(summary.seen, 97);
	ck_assert_uint_eq(summary.step_count, 97);
	ck_assert_uint_eq(summary.stride, 1);
	for (size_t i = 0; i < 97; i++)
		ck_assert_double_eq_tol(summary.steps[i], steps[i + 2], 1e-6);
	ck_assert_double_eq_tol(summary.median_s, 0.10505, 1e-4);
	ck_assert_double_le(summary.most_s, 0.11);
	summary_release(&summary);
	summarize_steps(&summary, (double[]){ 0.1, 0.1, 0.2, 0.1 }, 4); /* two steps have no middle */
	summary_release(&summary);
}
END_TEST

START_TEST(summary_of_a_long_run_is_bounded_and_true_to_its_periods)
{
	enum { LONG = 20000 };
	double *steps = calloc(LONG, sizeof *steps), total_s = 0;
	struct summary summary;
	/* Every fourth is twice as long: a regular selection would retain only one kind. */
	for (size_t i = 0; i < LONG; i++)
		total_s += steps[i] = i % 4 ? 0.01 : 0.02;
	summarize_steps(&summary, steps, LONG);
	ck_assert_uint_le(summary.step_count, SUMMARY_STEPS_MAX);
	ck_assert_uint_ge(summary.step_count, SUMMARY_STEPS_MAX / 2);
	ck_assert_uint_eq(summary.stride, 16);
	ck_assert_uint_ge(summary.seen, LONG - 2);
	ck_assert_double_eq_tol(summary.total_s, total_s, 0.05);
	size_t slow = 0;
	for (size_t i = 0; i < summary.step_count; i++)
		slow += summary.steps[i] > 0.015;
	ck_assert_double_eq_tol((double)slow / (double)summary.step_count, 0.25, 0.04);
	summary_release(&summary);
	free(steps);
}
END_TEST

START_TEST(phases_sum_up_to_the_step)
{
	struct summary summary;
	summarize_counts(&summary, 200, 0.012, 0.1, "32", NULL);
	double means = 0, shares = 0;
	for (unsigned i = 0; i < summary.phase_count; i++) {
		means += summary.phases[i].mean_s;
		shares += summary.phases[i].share_ratio;
	}
	ck_assert_double_eq_tol(means, summary.middle_s, 1e-6);
	ck_assert_double_eq_tol(shares, 1, 1e-4);
	ck_assert_double_eq_tol(summary_phase(&summary, "data")->mean_s, 0.012, 3e-4);
	ck_assert_double_eq_tol(summary.samples_per_s, 32 / summary.mean_s, 1);
	summary_release(&summary);
}
END_TEST

/* -- files -- */

START_TEST(saved_summary_comes_back_as_it_was)
{
	struct summary was, is;
	summarize_counts(&was, 120, 0.012, 0.1, "64", "4");
	snprintf(was.host, sizeof was.host, "node-7");
	was.cpus = 16;
	was.made_ns = INT64_C(1763632140123456789);
	ck_assert_int_eq(summary_save(path, &was, &reason), STATUS_OK);
	ck_assert(summary_is_file(path));
	ck_assert_msg(summary_load(path, &is, &reason) == STATUS_OK, "%s", reason.text);
	ck_assert_int_eq(is.origin, ORIGIN_SAVED);
	ck_assert_str_eq(is.host, "node-7");
	ck_assert_str_eq(is.run, was.run);
	ck_assert_str_eq(summary_meta(&is, "loader.num_workers"), "4");
	ck_assert_double_eq(is.cpus, 16);
	ck_assert_double_eq(is.batch_size, 64);
	ck_assert_uint_eq(is.seen, was.seen);
	ck_assert_uint_eq(is.warmup, was.warmup);
	ck_assert_uint_eq(is.step_count, was.step_count);
	ck_assert_uint_eq(is.phase_count, was.phase_count);
	ck_assert_uint_eq(is.operation_count, was.operation_count);
	ck_assert_double_eq_tol(is.median_s, was.median_s, 1e-6);
	ck_assert_double_eq_tol(is.samples_per_s, was.samples_per_s, 1e-6 * was.samples_per_s);
	for (size_t i = 0; i < is.step_count; i++)
		ck_assert_double_eq_tol(is.steps[i], was.steps[i], 1e-6);
	ck_assert_double_eq_tol(summary_phase(&is, "data")->mean_s, summary_phase(&was, "data")->mean_s, 1e-6);
	summary_release(&is);
	summary_release(&was);
}
END_TEST

static enum status load_text(const char *text, size_t length)
{
	struct summary summary;
	FILE *file = fopen(path, "w");
	ck_assert_uint_eq(fwrite(text, 1, length, file), length);
	fclose(file);
	enum status status = summary_load(path, &summary, &reason);
	if (status == STATUS_OK)
		summary_release(&summary);
	return status;
}

START_TEST(cut_summary_is_refused_wherever_it_is_cut)
{
	struct summary summary;
	struct buffer text = BUFFER_INIT;
	summarize_counts(&summary, 40, 0.012, 0.1, "64", "4");
	summary_write(&text, &summary);
	ck_assert_int_eq(load_text(text.data, text.length), STATUS_OK);
	/* The last two are the end of the whole and of its line. */
	for (size_t length = 0; length < text.length - 2; length += 1 + length % 3)
		ck_assert_msg(load_text(text.data, length) == STATUS_DAMAGED, "%zu of %zu bytes", length, text.length);
	buffer_release(&text);
	summary_release(&summary);
}
END_TEST

START_TEST(summary_with_any_byte_changed_is_read_or_refused)
{
	struct summary summary;
	struct buffer text = BUFFER_INIT;
	summarize_counts(&summary, 24, 0.012, 0.1, "64", "4");
	summary_write(&text, &summary);
	for (size_t i = 0; i < 3000; i++) {
		size_t at = (size_t)((double)text.length * chance_even(&chance));
		char was = text.data[at];
		text.data[at] = (char)(was ^ (1 << (int)(8 * chance_even(&chance))));
		load_text(text.data, text.length);
		text.data[at] = was;
	}
	ck_assert_int_eq(load_text(text.data, text.length), STATUS_OK);
	buffer_release(&text);
	summary_release(&summary);
}
END_TEST

START_TEST(a_file_that_is_no_summary_is_refused_in_a_line)
{
	static const struct {
		const char *text;
		enum status status;
		const char *says;
	} cases[] = {
		{ "", STATUS_DAMAGED, "empty" },
		{ "{}", STATUS_DAMAGED, "neither a summary nor a report" },
		{ "[1, 2]", STATUS_DAMAGED, "neither" },
		{ "{\"format\": \"pmtop summary\"}", STATUS_UNSUPPORTED, "version" },
		{ "{\"format\": \"pmtop summary\", \"summary_version\": 2}", STATUS_UNSUPPORTED, "version 2, not 1" },
		{ "{\"format\": \"pmtop summary\", \"summary_version\": 1}", STATUS_DAMAGED, "steps" },
		{ "{\"format\": \"pmtop summary\", \"summary_version\": 1, \"steps\": [0.1, -1]}", STATUS_DAMAGED, "steps" },
		{ "{\"format\": \"pmtop summary\", \"summary_version\": 1, \"steps\": [0.1, 0]}", STATUS_DAMAGED, "no time" },
		{ "{\"format\": \"pmtop summary\", \"summary_version\": 1, \"steps\": [0.1], \"phases\": [{\"name\": \"data\", "
		  "\"total_s\": 1, \"seconds\": []}]}",
			STATUS_DAMAGED, "phase" },
		{ "{\"format\": \"pmtop summary\", \"summary_version\": 1, \"steps\": [0.1]}", STATUS_DAMAGED, "totals" },
		{ "{\"a\": 1,\n \"b\" 2}", STATUS_DAMAGED, "line 2: expected a colon" },
		{ "{\"a\": 01}", STATUS_DAMAGED, "neither a number" },
		{ "{\"a\": \"\\q\"}", STATUS_DAMAGED, "escape" },
		{ "{\"time_ns\": 1, \"self\": {}}", STATUS_DAMAGED, "has no batches" },
		{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", STATUS_DAMAGED,
			"nested too deeply" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert_msg(load_text(cases[i].text, strlen(cases[i].text)) == cases[i].status, "%s", cases[i].text);
		ck_assert_msg(strstr(reason.text, cases[i].says) != NULL, "%s: %s", cases[i].text, reason.text);
		ck_assert_ptr_null(strchr(reason.text, '\n'));
	}
}
END_TEST

START_TEST(saved_report_is_read_with_what_it_has)
{
	static const char report[] =
		"{\"time_ns\":1763632140000000000,\"run\":\"resnet50\",\"meta\":{\"batch_size\":\"64\"},\"mode\":\"train\","
		"\"step\":{\"mean_s\":0.21,\"p50_s\":0.2,\"p95_s\":0.24},"
		"\"batch\":{\"count\":642,\"p50_s\":0.19,\"samples_per_s\":300},\"operations\":[{\"name\":\"data\",\"depth\":0,"
		"\"count\":642,\"mean_s\":0.02,\"total_s\":13,\"share_ratio\":0.1},{\"name\":\"decode\",\"depth\":1,\"mean_s\":"
		"0.01}],"
		"\"gauges\":{\"accuracy\":0.9},\"energy\":{\"energy_j\":500},\"machine\":{\"gpus\":[{\"utilisation_ratio\":"
		"{\"mean\":0.7}}]},\"memory\":{\"peak_rss_bytes\":1e9,\"verdict\":\"plateau\"},\"self\":{}}\n";
	struct summary summary;
	ck_assert_int_eq(load_text(report, strlen(report)), STATUS_OK);
	ck_assert_int_eq(summary_load(path, &summary, &reason), STATUS_OK);
	ck_assert_int_eq(summary.origin, ORIGIN_REPORT);
	ck_assert_double_eq(summary.median_s, 0.2);
	ck_assert_double_eq(summary.batch_size, 64);
	ck_assert_uint_eq(summary.seen, 642);
	ck_assert(!summary_has_steps(&summary));
	ck_assert_double_eq(summary_gauge(&summary, "accuracy"), 0.9);
	ck_assert_double_eq(summary.joules, 500);
	ck_assert_str_eq(summary_operation(&summary, "decode", NULL)->parent, "data");
	ck_assert_double_eq(summary.gpu_busy_ratio, 0.7);
	ck_assert(isnan(summary.gpu_used_bytes));
	ck_assert_double_eq_tol(summary_phase(&summary, "data")->mean_s, 0.021, 1e-9);
	/* Compared with a run that has steps: an interval, marked as rough. */
	struct summary other;
	static struct comparison comparison;
	summarize_counts(&other, 100, 0.05, 0.25, "64", NULL);
	compare(&summary, &other, &comparison);
	ck_assert(comparison.is_rough && comparison.rows[0].has_interval);
	ck_assert_int_eq(comparison.rows[0].verdict, VERDICT_SLOWER);
	ck_assert_ptr_nonnull(strstr(comparison.notes[0], "rough"));
	summary_release(&other);
	summary_release(&summary);
}
END_TEST

/* -- two -- */

START_TEST(slower_run_is_explained_by_its_phase_and_its_meta)
{
	struct summary a, b;
	static struct comparison comparison;
	char sentence[600];
	summarize_counts(&a, 200, 0.012, 0.1, "32", "4");
	summarize_counts(&b, 200, 0.043, 0.1, "32", "0");
	compare(&a, &b, &comparison);
	ck_assert_int_eq(comparison.rows[0].verdict, VERDICT_SLOWER);
	ck_assert_double_eq_tol(comparison.rows[0].change, 1.27, 0.02);
	ck_assert_double_gt(comparison.rows[0].low, 1.2);
	ck_assert_double_gt(comparison.rows[0].effect, 0.99);
	ck_assert_str_eq(comparison.explains[0]->what, "data");
	ck_assert_double_eq_tol(comparison.explains[0]->change, 0.031, 0.001);
	ck_assert_ptr_null(comparison.explains[1]);
	ck_assert_uint_eq(comparison.meta_count, 1);
	ck_assert_str_eq(comparison.meta[0].key, "loader.num_workers");
	ck_assert_str_eq(comparison.meta[0].a, "4");
	ck_assert_str_eq(comparison.meta[0].b, "0");
	comparison_sentence(&comparison, sentence, sizeof sentence);
	ck_assert_ptr_nonnull(strstr(sentence, "B is slower: a step takes 1.27 times as long"));
	ck_assert_ptr_nonnull(strstr(sentence, "data: +3"));
	summary_release(&a);
	summary_release(&b);
}
END_TEST

START_TEST(two_of_the_same_are_the_same)
{
	struct summary a, b;
	static struct comparison comparison;
	summarize_counts(&a, 200, 0.012, 0.1, "32", "4");
	summarize_counts(&b, 150, 0.012, 0.1, "32", "4");
	compare(&a, &b, &comparison);
	ck_assert_int_eq(comparison.rows[0].verdict, VERDICT_SAME);
	ck_assert_ptr_null(comparison.explains[0]);
	ck_assert_uint_eq(comparison.meta_count, 0);
	summary_release(&a);
	summary_release(&b);
}
END_TEST

START_TEST(text_fits_its_width)
{
	struct summary a, b;
	static struct comparison comparison;
	static const int widths[] = { 80, 120, 200 };
	summarize_counts(&a, 200, 0.012, 0.1, "32", "4");
	summarize_counts(&b, 200, 0.043, 0.1, "64", "0");
	snprintf(a.label, sizeof a.label,
		"/var/lib/runs/a-very-long-name-of-a-recording-that-nobody-would-choose-but-somebody-has.pmtop");
	compare(&a, &b, &comparison);
	ck_assert(comparison.is_by_samples);
	for (size_t i = 0; i < 3; i++) {
		struct buffer out = BUFFER_INIT;
		comparison_as_text(&out, &comparison, widths[i], false);
		ck_assert_ptr_null(strchr(out.data, '\033'));
		for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
			ck_assert_msg(text_cells(line) <= (size_t)widths[i] + (strstr(line, "a-very-long") ? 30 : 0), "%d: %s",
				widths[i], line);
		buffer_release(&out);
	}
	summary_release(&a);
	summary_release(&b);
}
END_TEST

START_TEST(several_are_ordered_by_samples_a_second)
{
	struct summary summaries[3];
	const struct summary *of[3];
	static struct ranking ranking;
	static const struct {
		const char *size;
		double forward_s;
	} runs[] = { { "16", 0.05 }, { "64", 0.065 }, { "128", 0.2 } };
	char sentence[700];
	struct buffer out = BUFFER_INIT;
	for (size_t i = 0; i < 3; i++) {
		summarize_counts(&summaries[i], 100, 0.01, runs[i].forward_s, runs[i].size, NULL);
		of[i] = &summaries[i];
	}
	ck_assert_int_eq(ranking_make(&ranking, of, 3, NULL, &reason), STATUS_OK);
	ranking_sentence(&ranking, sentence, sizeof sentence);
	ck_assert_ptr_eq(ranking.rows[0].of, of[1]);
	ck_assert_ptr_eq(ranking.rows[1].of, of[2]);
	ck_assert_ptr_eq(ranking.rows[2].of, of[0]);
	ck_assert_ptr_eq(strstr(sentence, "best: batch size 64 (8"), sentence);
	ck_assert_ptr_nonnull(strstr(sentence, "samples/s), 1.3"));
	ck_assert_int_eq(ranking.rows[2].verdict, VERDICT_SLOWER);
	ranking_as_text(&out, &ranking, 80, false);
	ck_assert_ptr_nonnull(strstr(out.data, "samples/s"));
	buffer_release(&out);
	for (size_t i = 0; i < 3; i++)
		summary_release(&summaries[i]);
}
END_TEST

/* -- checks -- */

START_TEST(budgets_are_read_as_people_write_them)
{
	struct budget_list list;
	ck_assert_int_eq(budget_parse("data:20%,step:0.3s,memory:4GB,forward:80ms,a:b:1.5us", &list, &reason), STATUS_OK);
	ck_assert_uint_eq(list.count, 5);
	ck_assert_double_eq_tol(list.budgets[0].limit, 0.2, 1e-12);
	ck_assert_int_eq(list.budgets[1].what, BUDGET_STEP);
	ck_assert_double_eq_tol(list.budgets[2].limit, 4e9, 1);
	ck_assert_double_eq_tol(list.budgets[3].limit, 0.08, 1e-12);
	ck_assert_str_eq(list.budgets[4].name, "a:b");
	static const char *const wrong[] = { "data", "data:", ":20%", "data:20", "data:x%", "step:20%", "memory:3s",
		"data:4GB", "step:nans", "step:-1s", "data:20%%" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(budget_parse(wrong[i], &list, &reason) == STATUS_INVALID, "%s", wrong[i]);
}
END_TEST

START_TEST(budget_of_an_unknown_phase_lists_those_there_are)
{
	struct summary summary;
	struct budget_list list;
	summarize_counts(&summary, 40, 0.012, 0.1, NULL, NULL);
	ck_assert_int_eq(budget_parse("dat:20%", &list, &reason), STATUS_OK);
	ck_assert_int_eq(budget_check_names(&list, &summary, false, &reason), STATUS_INVALID);
	ck_assert_ptr_nonnull(strstr(reason.text, "dat"));
	ck_assert_ptr_nonnull(strstr(reason.remedy, "data, forward"));
	summary_release(&summary);
}
END_TEST

static void judge_with(
	const struct summary *now, const struct summary *baseline, const char *budgets, struct judgement *out)
{
	struct budget_list list;
	ck_assert_int_eq(budget_parse(budgets, &list, &reason), STATUS_OK);
	judge(now, baseline, 0, &list, out);
}

START_TEST(exceeded_budgets_fail_and_met_ones_pass)
{
	static const struct {
		const char *budget;
		enum outcome outcome;
	} cases[] = {
		{ "data:20%", OUTCOME_FAILED },
		{ "data:40%", OUTCOME_PASSED },
		{ "step:0.1s", OUTCOME_FAILED },
		{ "step:0.2s", OUTCOME_PASSED },
		{ "forward:90ms", OUTCOME_FAILED },
		{ "forward:110ms", OUTCOME_PASSED },
		{ "mean:0.1s", OUTCOME_FAILED },
		{ "p95:0.2s", OUTCOME_PASSED },
		{ "memory:4GB", OUTCOME_INCONCLUSIVE },
		{ "memory:4GB,step:0.1s", OUTCOME_FAILED },
	};
	struct summary summary;
	static struct judgement judgement;
	summarize_counts(&summary, 100, 0.043, 0.1, NULL, NULL);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		judge_with(&summary, NULL, cases[i].budget, &judgement);
		ck_assert_msg(judgement.outcome == cases[i].outcome, "%s: %s", cases[i].budget, judgement.figures[0].text);
	}
	summary_release(&summary);
}
END_TEST

START_TEST(too_few_batches_are_inconclusive_and_the_number_needed_is_shown)
{
	struct summary now, baseline;
	static struct judgement judgement;
	summarize_counts(&baseline, 100, 0.012, 0.1, NULL, NULL);
	summarize_counts(&now, 15, 0.5, 0.1, NULL, NULL);
	judge_with(&now, &baseline, NULL, &judgement);
	ck_assert_int_eq(judgement.outcome, OUTCOME_INCONCLUSIVE);
	ck_assert_ptr_nonnull(strstr(judgement.figures[0].text, "20 are required"));
	summary_release(&now);
	summary_release(&baseline);
}
END_TEST

START_TEST(noise_that_hides_the_answer_is_named_with_the_batches_it_takes)
{
	double steps[60];
	struct summary now, baseline;
	static struct judgement judgement;
	for (size_t i = 0; i < 60; i++)
		steps[i] = 0.1 * exp(1.5 * chance_normal(&chance));
	summarize_steps(&baseline, steps, 60);
	summarize_steps(&now, steps, 60);
	judge_with(&now, &baseline, NULL, &judgement);
	ck_assert_int_eq(judgement.outcome, OUTCOME_INCONCLUSIVE);
	ck_assert_ptr_nonnull(strstr(judgement.figures[0].text, "batches of each run"));
	summary_release(&now);
	summary_release(&baseline);
}
END_TEST

START_TEST(baseline_of_another_machine_or_batch_size_is_warned_of)
{
	struct summary now, baseline;
	static struct judgement judgement;
	struct buffer out = BUFFER_INIT;
	summarize_counts(&baseline, 100, 0.012, 0.1, "32", "4");
	summarize_counts(&now, 100, 0.012, 0.1, "64", "2");
	snprintf(baseline.host, sizeof baseline.host, "old");
	snprintf(now.host, sizeof now.host, "new");
	baseline.cpus = 16;
	now.cpus = 4;
	judge_with(&now, &baseline, NULL, &judgement);
	judgement_as_text(&out, &judgement, false);
	ck_assert_int_eq(judgement.outcome, OUTCOME_PASSED);
	static const char *const said[] = { "another machine: old, this is new", "with 16 CPUs, this has 4",
		"batch size 32, this run of 64", "loader.num_workers: the baseline has 4, this run 2" };
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		ck_assert_msg(strstr(out.data, said[i]) != NULL, "%s: %s", said[i], out.data);
	buffer_release(&out);
	summary_release(&now);
	summary_release(&baseline);
}
END_TEST

START_TEST(rare_long_steps_are_warned_of_though_medians_are_equal)
{
	double steps[300];
	struct summary now, baseline;
	static struct judgement judgement;
	for (size_t i = 0; i < 300; i++)
		steps[i] = 0.1 * exp(0.02 * chance_normal(&chance));
	summarize_steps(&baseline, steps, 300);
	for (size_t i = 20; i < 300; i += 20)
		steps[i] = 1;
	summarize_steps(&now, steps, 300);
	judge_with(&now, &baseline, NULL, &judgement);
	ck_assert_int_eq(judgement.outcome, OUTCOME_PASSED);
	ck_assert_uint_eq(judgement.warning_count, 1);
	ck_assert_ptr_nonnull(strstr(judgement.warnings[0], "rare long steps"));
	summary_release(&now);
	summary_release(&baseline);
}
END_TEST

/* -- beside steps -- */

/* A run that tracked one operation once, and publishes no batches. */
static void summarize_operation(struct summary *out, double seconds)
{
	struct script script;
	struct keeper keeper;
	script_open(&script, NULL);
	summary_init(out);
	keeper_init(&keeper, out);
	script_span(&script, 0, 1, 1 + seconds, STORY_FORWARD, NAME_NONE);
	script_span(&script, 0, 1, 1 + seconds / 2, STORY_DATA, STORY_FORWARD);
	script_apply(&script, 2 + seconds);
	keeper_read(&keeper, script.model, 0);
	ck_assert(keeper_end(&keeper, script.model, 0));
	script_close(&script);
}

START_TEST(one_tracked_operation_is_a_baseline)
{
	struct summary was, baseline, now;
	static struct judgement judgement;
	static struct comparison comparison;
	char sentence[600];
	summarize_operation(&was, 10);
	summarize_operation(&now, 15);
	ck_assert(summary_has_content(&was) && was.batches == 0);
	ck_assert_double_eq_tol(was.train_s, 10, 1e-6);
	ck_assert_int_eq(summary_save(path, &was, &reason), STATUS_OK);
	ck_assert_int_eq(summary_load(path, &baseline, &reason), STATUS_OK);
	judge_with(&now, &baseline, NULL, &judgement);
	ck_assert_int_eq(judgement.outcome, OUTCOME_FAILED);
	ck_assert_uint_eq(judgement.count, 2);
	ck_assert_str_eq(judgement.figures[0].name, "forward");
	ck_assert_str_eq(judgement.figures[1].name, "forward › data");
	ck_assert_str_eq(
		judgement.figures[0].text, "slower: 1.50 times the baseline, 15.0 s against 10.0 s; 1.20 is allowed");
	judge_with(&was, &baseline, NULL, &judgement);
	ck_assert_int_eq(judgement.outcome, OUTCOME_PASSED);
	compare(&baseline, &now, &comparison);
	comparison_sentence(&comparison, sentence, sizeof sentence);
	ck_assert_str_eq(sentence, "B compared with A, without an interval: forward takes 1.50 times as long");
	summary_release(&now);
	summary_release(&baseline);
	summary_release(&was);
}
END_TEST

/* Figures that a machine without GPUs and meters cannot give. */
static void set_wholes(struct summary *summary, double factor)
{
	summary->gpu_busy_ratio = 0.9 / factor;
	summary->gpu_used_bytes = 8e9 * factor;
	summary->joules = 12e3 * factor;
	summary->joules_per_sample = 2 * factor;
	summary->requests = 1000;
	summary->request_p50_s = 0.05 * factor;
	summary->request_p95_s = 0.1 * factor;
	summary->gauge_count = 2;
	summary->gauges[0] = (struct summary_gauge){ "accuracy", 0.92 / factor };
	summary->gauges[1] = (struct summary_gauge){ "val_loss", 0.4 * factor };
	summary->operation_count = 1;
	summary->operations[0] = (struct summary_operation){ .name = "evaluate",
		.count = 40,
		.mean_s = 2 * factor,
		.p50_s = 2 * factor,
		.p95_s = 2.2 * factor,
		.total_s = 80 * factor,
		.share_ratio = NAN };
}

START_TEST(budgets_limit_more_than_steps)
{
	static const struct {
		const char *budget;
		enum outcome outcome;
		const char *says;
	} cases[] = {
		{ "accuracy:min=0.9", OUTCOME_PASSED, "0.92; at least 0.9 is required" },
		{ "accuracy:min=0.95", OUTCOME_FAILED, "below its budget: 0.92; at least 0.95 is required" },
		{ "val_loss:max=0.3", OUTCOME_FAILED, "over its budget: 0.4; 0.3 is allowed" },
		{ "loss:max=1", OUTCOME_PASSED, "0.5; 1 is allowed" },
		{ "gpu:min=80%", OUTCOME_PASSED, "90.0 %; at least 80.0 % is required" },
		{ "gpu-used:4GB", OUTCOME_FAILED, "over its budget: 8.00 GB; 4.00 GB is allowed" },
		{ "energy:10kJ", OUTCOME_FAILED, "over its budget: 12.0 kJ; 10.0 kJ is allowed" },
		{ "request-p95:80ms", OUTCOME_FAILED, "over its budget: 0.100 s; 80.0 ms is allowed" },
		{ "evaluate:3s", OUTCOME_PASSED, "2.000 s (mean of 40); 3.000 s is allowed" },
		{ "evaluate:1s", OUTCOME_FAILED, "over its budget: 2.000 s (mean of 40); 1.000 s is allowed" },
		{ "samples/s:min=1", OUTCOME_INCONCLUSIVE, "samples/s of the run is unknown" },
	};
	struct summary summary;
	static struct judgement judgement;
	summarize_counts(&summary, 100, 0.043, 0.1, NULL, NULL);
	set_wholes(&summary, 1);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		judge_with(&summary, NULL, cases[i].budget, &judgement);
		ck_assert_msg(judgement.outcome == cases[i].outcome, "%s: %s", cases[i].budget, judgement.figures[0].text);
		ck_assert_str_eq(judgement.figures[0].text, cases[i].says);
	}
	summary_release(&summary);
}
END_TEST

START_TEST(budgets_relative_to_the_baseline_judge_anything)
{
	static const struct {
		const char *budget;
		enum outcome outcome;
		const char *says;
	} cases[] = {
		{ "evaluate:1.2x", OUTCOME_FAILED, "over its budget: 1.50 times the baseline (95 %: " },
		{ "accuracy:min=0.9x", OUTCOME_FAILED, "below its budget: 0.67 times the baseline, 0.6133 against 0.92" },
		{ "gpu-used:2x", OUTCOME_PASSED, "1.50 times the baseline, 12.0 GB against 8.00 GB; 2.00 is allowed" },
		{ "forward:1.2x", OUTCOME_PASSED, "times the baseline (95 %: " },
		{ "step:0.5x", OUTCOME_FAILED, "over its budget: 1.00 times the baseline (95 %: " },
		{ "p95:0.5x", OUTCOME_FAILED, "times the baseline" },
	};
	struct summary now, baseline;
	struct budget_list list;
	static struct judgement judgement;
	summarize_counts(&baseline, 100, 0.012, 0.1, NULL, NULL);
	summarize_counts(&now, 100, 0.012, 0.1, NULL, NULL);
	set_wholes(&baseline, 1);
	set_wholes(&now, 1.5);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		judge_with(&now, &baseline, cases[i].budget, &judgement);
		const struct judged_figure *figure = &judgement.figures[judgement.count - 1];
		ck_assert_msg(figure->outcome == cases[i].outcome, "%s: %s", cases[i].budget, figure->text);
		ck_assert_msg(strstr(figure->text, cases[i].says) != NULL, "%s: %s", cases[i].budget, figure->text);
	}
	ck_assert_int_eq(budget_parse("evaluate:1.2x", &list, &reason), STATUS_OK);
	ck_assert_int_eq(budget_check_names(&list, &now, false, &reason), STATUS_INVALID);
	ck_assert_ptr_nonnull(strstr(reason.text, "relative to a baseline"));
	ck_assert_int_eq(budget_parse("acuracy:min=1", &list, &reason), STATUS_OK);
	ck_assert_int_eq(budget_check_names(&list, &now, true, &reason), STATUS_INVALID);
	ck_assert_ptr_nonnull(strstr(reason.text, "no gauge \"acuracy\""));
	ck_assert_ptr_nonnull(strstr(reason.remedy, "its gauges are accuracy, val_loss"));
	summary_release(&now);
	summary_release(&baseline);
}
END_TEST

START_TEST(operations_and_requests_are_judged_and_the_rest_is_warned_of)
{
	struct summary now, baseline;
	static struct judgement judgement;
	struct buffer out = BUFFER_INIT;
	summarize_counts(&baseline, 100, 0.012, 0.1, NULL, NULL);
	summarize_counts(&now, 100, 0.012, 0.1, NULL, NULL);
	set_wholes(&baseline, 1);
	set_wholes(&now, 1.5);
	judge_with(&now, &baseline, "gpu:min=0.5x", &judgement);
	judgement_as_text(&out, &judgement, false);
	static const char *const said[] = { "\nstep: ok: ",
		"\nrequest-p95: FAILED: slower: 1.50 times the baseline (95 %: about ",
		"\nevaluate: FAILED: slower: 1.50 times the baseline (95 %: about ",
		"warning: energy: 18.0 kJ, the baseline has 12.0 kJ (not judged; --budget=energy:1.2x judges it)",
		"warning: accuracy: 0.6133, the baseline has 0.92 (not judged; --budget=accuracy:min=0.833x judges it)",
		"warning: val_loss: 0.6, the baseline has 0.4 (not judged; --budget=val_loss:1.2x judges it)" };
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		ck_assert_msg(strstr(out.data, said[i]) != NULL, "%s: %s", said[i], out.data);
	ck_assert_ptr_null(strstr(out.data, "warning: GPU use"));
	/* One phase became slower and another faster. */
	summary_release(&now);
	summarize_counts(&now, 100, 0.03, 0.082, NULL, NULL);
	judge_with(&now, &baseline, NULL, &judgement);
	ck_assert_int_eq(judgement.figures[0].outcome, OUTCOME_PASSED);
	ck_assert_msg(strstr(judgement.warnings[0], "data: 3") == judgement.warnings[0], "%s", judgement.warnings[0]);
	ck_assert_ptr_nonnull(strstr(judgement.warnings[0], "(not judged; --budget=data:1.2x judges it)"));
	set_wholes(&now, 1.5);
	/* An operation outside of steps needs an interval: once may be an accident. */
	baseline.operations[0].count = now.operations[0].count = 3;
	judge_with(&now, &baseline, NULL, &judgement);
	ck_assert_uint_eq(judgement.count, 2);
	buffer_release(&out);
	summary_release(&now);
	summary_release(&baseline);
}
END_TEST

START_TEST(comparison_has_rows_for_requests_gpus_energy_and_gauges)
{
	struct summary a, b;
	static struct comparison comparison;
	struct buffer out = BUFFER_INIT;
	summarize_counts(&a, 100, 0.012, 0.1, NULL, NULL);
	summarize_counts(&b, 100, 0.012, 0.1, NULL, NULL);
	set_wholes(&a, 1);
	set_wholes(&b, 1.5);
	compare(&a, &b, &comparison);
	comparison_as_text(&out, &comparison, 100, false);
	static const char *const rows[] = { "requests, p95", "GPU memory used, peak", "GPU use, mean", "energy a sample",
		"Gauges: last values", "  accuracy", "90 %     60 %     0.67×", "12.0 kJ  18.0 kJ     1.50×" };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		ck_assert_msg(strstr(out.data, rows[i]) != NULL, "%s: %s", rows[i], out.data);
	buffer_release(&out);
	summary_release(&a);
	summary_release(&b);
}
END_TEST

START_TEST(runs_are_ranked_by_any_figure)
{
	static const struct {
		const char *by;
		size_t best;
		const char *sentence;
	} cases[] = {
		{ "energy", 0, "best: a (energy 12.0 kJ); b has 1.50 times that" },
		{ "gpu", 0, "best: a (gpu 90 %); b has 0.67 times that" },
		{ "accuracy", 0, "best: a (accuracy 0.92); b has 0.67 times that" },
		{ "val_loss", 0, "best: a (val_loss 0.4); b has 1.50 times that" },
		{ "accuracy/s", 1, "best: b (accuracy/s 0.06133); a has 0.15 times that" },
		{ "train-time", 1, "best: b (train-time 10.0 s); a has 10.00 times that" },
	};
	struct summary summaries[3];
	const struct summary *of[3];
	static struct ranking ranking;
	char sentence[700];
	struct buffer out = BUFFER_INIT;
	for (size_t i = 0; i < 3; i++) {
		summary_init(&summaries[i]);
		snprintf(summaries[i].run, sizeof summaries[i].run, "%c", (int)('a' + i));
		of[i] = &summaries[i];
	}
	/* c has none of these figures: it is last. */
	set_wholes(&summaries[0], 1);
	set_wholes(&summaries[1], 1.5);
	summaries[0].train_s = 100;
	summaries[1].train_s = 10;
	summaries[1].flops_per_s = 12.34e12;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert_int_eq(ranking_make(&ranking, of, 3, cases[i].by, &reason), STATUS_OK);
		ranking_sentence(&ranking, sentence, sizeof sentence);
		ck_assert_str_eq(sentence, cases[i].sentence);
		ck_assert_ptr_eq(ranking.rows[0].of, of[cases[i].best]);
		ck_assert_ptr_eq(ranking.rows[2].of, of[2]);
	}
	ranking_as_text(&out, &ranking, 80, false);
	static const char *const said[] = { "time  req. p95  GPU mem.   GPU use        FLOP/s",
		"10.0 s   0.150 s   12.0 GB      60 %  12.3 TFLOP/s", "energy  J/sample  accuracy  val_loss",
		"18.0 kJ    3.00 J    0.6133       0.6" };
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		ck_assert_msg(strstr(out.data, said[i]) != NULL, "%s: %s", said[i], out.data);
	ck_assert(!strstr(out.data, "batch") && !strstr(out.data, "step")); /* no run has a batch size or steps */
	ck_assert_int_eq(ranking_make(&ranking, of, 3, "acuracy", &reason), STATUS_INVALID);
	ck_assert_ptr_nonnull(strstr(reason.text, "no run has a figure \"acuracy\""));
	ck_assert_str_eq(reason.remedy, "their gauges are accuracy, val_loss");
	buffer_release(&out);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("compare");
	TCase *tests = tcase_create("compare");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, summary_keeps_every_step_of_a_short_run_and_leaves_the_warmup_out);
	tcase_add_test(tests, summary_of_a_long_run_is_bounded_and_true_to_its_periods);
	tcase_add_test(tests, phases_sum_up_to_the_step);
	tcase_add_test(tests, saved_summary_comes_back_as_it_was);
	tcase_add_test(tests, cut_summary_is_refused_wherever_it_is_cut);
	tcase_add_test(tests, summary_with_any_byte_changed_is_read_or_refused);
	tcase_add_test(tests, a_file_that_is_no_summary_is_refused_in_a_line);
	tcase_add_test(tests, saved_report_is_read_with_what_it_has);
	tcase_add_test(tests, slower_run_is_explained_by_its_phase_and_its_meta);
	tcase_add_test(tests, two_of_the_same_are_the_same);
	tcase_add_test(tests, text_fits_its_width);
	tcase_add_test(tests, several_are_ordered_by_samples_a_second);
	tcase_add_test(tests, budgets_are_read_as_people_write_them);
	tcase_add_test(tests, budget_of_an_unknown_phase_lists_those_there_are);
	tcase_add_test(tests, exceeded_budgets_fail_and_met_ones_pass);
	tcase_add_test(tests, too_few_batches_are_inconclusive_and_the_number_needed_is_shown);
	tcase_add_test(tests, noise_that_hides_the_answer_is_named_with_the_batches_it_takes);
	tcase_add_test(tests, baseline_of_another_machine_or_batch_size_is_warned_of);
	tcase_add_test(tests, rare_long_steps_are_warned_of_though_medians_are_equal);
	tcase_add_test(tests, one_tracked_operation_is_a_baseline);
	tcase_add_test(tests, budgets_limit_more_than_steps);
	tcase_add_test(tests, budgets_relative_to_the_baseline_judge_anything);
	tcase_add_test(tests, operations_and_requests_are_judged_and_the_rest_is_warned_of);
	tcase_add_test(tests, comparison_has_rows_for_requests_gpus_energy_and_gauges);
	tcase_add_test(tests, runs_are_ranked_by_any_figure);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
