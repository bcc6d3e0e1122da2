#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/rules/alerts.h"
#include "src/rules/alerts_list.h"
#include "src/rules/rule.h"
#include "tests/support/model_parts.h"
#include "tests/support/suite.h"
#include "tests/unit/hand_run.h"

static struct model model;
static struct run runs[70];
static struct flagged flagged[40];
static struct settings settings;
static struct alerts alerts;
static struct rule_book *book;
/* Changes the rules, as a user's file would. */
static void override(const char *text)
{
	struct reason why_not = { 0 };
	ck_assert_msg(rule_book_parse(book, "mine.yaml", text, strlen(text), &why_not) == STATUS_OK, "%s", why_not.text);
}

/* Outermost operations of each batch that is not flagged, with their share of its step. */
static struct {
	uint32_t name;
	double ratio;
} shares[8];
static size_t share_count;

static void stop(void)
{
	alerts_release(&alerts);
	rule_book_free(book);
	book = NULL;
}

static void start(void)
{
	stop();
	book = rule_book_new();
	memset(runs, 0, sizeof runs);
	hand_run_init(&runs[0]);
	runs[0].flagged = flagged;
	share_count = 0;
	settings_default(&settings);
	settings.rules = book;
	model = (struct model){ .now_ns = 100 * NS_PER_S, .run_count = 1, .runs = runs };
	model.memory = (struct memory){ .growth_bytes = NAN, .slope_per_batch = NAN, .tree_rss_bytes = NAN };
}

/* `count` more finished batches with equal steps. */
static void batches(size_t count, double step_s)
{
	for (size_t i = 0; i < count; i++) {
		hand.batches[hand.batch_count] =
			(struct batch){ .ordinal = hand.batch_count, .step_s = step_s, .batch_s = step_s };
		hand.batch_count++;
	}
	runs[0].tracks[0].count = runs[0].tracks[0].end = hand.batch_count;
}

static void warmup(size_t count, double first_s)
{
	batches(count, first_s);
	for (size_t i = 0; i < count; i++)
		hand.batches[i].is_warmup = true;
	runs[0].tracks[0].slow_first_s = first_s;
}

static void share_too(uint32_t name, double ratio)
{
	shares[share_count].name = name;
	shares[share_count++].ratio = ratio;
}

static void share(uint32_t name, double ratio)
{
	share_count = 0;
	share_too(name, ratio);
}

static void fill_in_shares(void)
{
	for (size_t i = 0; i < hand.batch_count; i++) {
		struct batch *batch = &hand.batches[i];
		if (batch->is_flagged)
			continue;
		batch->phase_count = 0;
		for (size_t k = 0; k < share_count; k++)
			add_phase(batch->phases, &batch->phase_count, shares[k].name, NAME_NONE, shares[k].ratio * batch->step_s);
	}
}

/* The newest and some before it, `count` (at most 5) in all, are flagged: slow in decode, within data. */
static void flag_newest(size_t count, double data_s, double unattributed_s)
{
	for (size_t i = 0; i < count; i++) {
		struct batch *batch = &hand.batches[hand.batch_count - 1 - (size_t[]){ 0, 45, 83, 137, 180 }[count - 1 - i]];
		batch->is_flagged = true;
		batch->phase_count = 0;
		batch->step_s = 0.1 + data_s + unattributed_s;
		add_phase(batch->phases, &batch->phase_count, DATA, 0, 0.1 + data_s);
		add_phase(batch->phases, &batch->phase_count, DECODE, DATA, 0.1 + data_s);
		add_phase(batch->phases, &batch->phase_count, NAME_UNATTRIBUTED, 0, unattributed_s);
		free(flagged[i].explanation);
		flagged[i] = (struct flagged){ .batch = *batch, .baseline = { .batches = 50, .step_s = 0.1 } };
		add_phase(flagged[i].baseline.phases, &flagged[i].baseline.phase_count, DATA, 0, 0.1);
		add_phase(flagged[i].baseline.phases, &flagged[i].baseline.phase_count, DECODE, DATA, 0.1);
	}
	runs[0].flagged_count = count;
}

static void update(void)
{
	fill_in_shares();
	explain_flagged(&model);
	alerts_update(&alerts, &model, &settings);
}

static void update_after(double seconds)
{
	model.now_ns += (int64_t)(seconds * 1e9);
	update();
}

static const struct alert *raised(const char *rule) { return alerts_find_raised(&alerts, rule); }

static double evidence(const struct alert *alert, const char *key)
{
	for (size_t i = 0; i < alert->evidence_count; i++)
		if (strcmp(alert->evidence[i].key, key) == 0)
			return alert->evidence[i].value;
	return NAN;
}

static void ck_only(const char *rule)
{
	ck_assert_msg(raised(rule) != NULL, "%s is not raised", rule);
	ck_assert_uint_eq(alerts_raised(&alerts), 1);
}

/* -- what each rule says -- */

START_TEST(the_guides_slow_start_is_a_slow_first_batch_and_no_variance)
{
	warmup(1, 0.538);
	batches(25, 0.185);
	update();
	ck_only("slow_first_batch");
	const struct alert *alert = raised("slow_first_batch");
	ck_assert_str_eq(alert->message, "first batch took 0.538 s, 2.9× the median 0.185 s: warm-up, excluded");
	ck_assert_int_eq(alert->severity, SEVERITY_INFO);
	ck_assert_int_eq(alert->since_ns, model.now_ns);
	ck_assert_double_eq_tol(evidence(alert, "ratio"), 2.908, 0.001);
}
END_TEST

START_TEST(a_first_batch_that_is_gone_is_not_judged)
{
	batches(25, 0.185);
	update();
	ck_assert_uint_eq(alerts.count, 0);
}
END_TEST

START_TEST(the_guides_variance_over_two_is_raised)
{
	batches(22, 0.185);
	batches(3, 0.425);
	update();
	ck_only("variance");
	ck_assert_str_eq(raised("variance")->message, "slowest step 0.425 s is 2.3× the fastest 0.185 s (last 25 steps)");
}
END_TEST

/* Nearly every healthy run has some: the spread of the other 95 % counts. */
START_TEST(single_slow_steps_are_no_variance)
{
	batches(190, 0.1);
	batches(9, 0.425);
	update();
	ck_assert_uint_eq(alerts.count, 0);
	batches(3, 0.425);
	update();
	ck_only("variance");
	ck_assert_double_eq_tol(evidence(raised("variance"), "typical_ratio"), 4.25, 1e-9);
}
END_TEST

START_TEST(the_guides_slow_data_is_raised_with_advice_from_the_loader)
{
	batches(25, 0.201);
	share(DATA, 0.34);
	hand_meta(&runs[0], "loader.num_workers", "0");
	hand_meta(&runs[0], "loader.pin_memory", "False");
	hand_meta(&runs[0], "prefetch_factor", "2");
	update();
	ck_only("data_loading");
	const struct alert *alert = raised("data_loading");
	ck_assert_str_eq(alert->message, "data loading takes 34 % of each step (0.068 s of 0.201 s)");
	ck_assert_uint_eq(alert->advice_count, 4);
	ck_assert_str_eq(alert->advice[0], "num_workers=0 loads in the training process: try num_workers=4");
	ck_assert_str_eq(
		alert->advice[1], "if you train on a GPU, set pin_memory=True: it is off, and pinned memory copies faster");
	ck_assert_str_eq(alert->advice[2], "raise prefetch_factor from 2 to 4");
	ck_assert_int_eq(alert->severity, SEVERITY_WARNING);
	ck_assert_double_eq_tol(evidence(alert, "share_ratio"), 0.34, 1e-6);
}
END_TEST

START_TEST(advice_follows_what_is_published)
{
	static const struct {
		const char *value, *advice;
	} cases[] = {
		{ NULL, "load batches in worker processes: DataLoader(num_workers=4)" },
		{ "many", "load batches in worker processes: DataLoader(num_workers=4)" },
		{ "4", "raise num_workers from 4 to 8" },
		{ "32", "num_workers is 32 already: check the storage and the cost of each sample" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		start();
		batches(25, 0.201);
		share(DATA, 0.34);
		hand_meta(&runs[0], "pin_memory", "True");
		if (cases[i].value)
			hand_meta(&runs[0], "num_workers", cases[i].value);
		update();
		ck_assert_str_eq(raised("data_loading")->advice[0], cases[i].advice);
		ck_assert_str_eq(raised("data_loading")->advice[1],
			"set prefetch_factor=4, so that each worker loads further ahead (default 2)");
	}
}
END_TEST

START_TEST(phases_that_load_data_are_known_by_their_words)
{
	static const struct {
		const char *name, *rule;
	} cases[] = {
		{ "data", "data_loading" },
		{ "Data Loading", "data_loading" },
		{ "data_loading", "data_loading" },
		{ "dataloader", "data_loading" },
		{ "load", "data_loading" },
		{ "load_ground_truth", "data_loading" },
		{ "train_dataloader_next", "data_loading" },
		{ "fetch", "data_loading" },
		{ "forward", "slow_forward" },
		{ "backward_pass", "slow_backward" },
		{ "metadata", "bottleneck" },
		{ "update", "bottleneck" },
		{ "overload", "bottleneck" },
		{ "dataset.py:12 collate()", "bottleneck" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		start();
		batches(25, 0.2);
		hand.names[EXTRA] = cases[i].name;
		share(EXTRA, 0.6);
		if (strstr(cases[i].rule, "ward")) /* the other of forward and backward */
			share_too(strcmp(cases[i].rule, "slow_forward") == 0 ? BACKWARD : FORWARD, 0.1);
		update();
		ck_only(cases[i].rule);
	}
}
END_TEST

START_TEST(operations_are_a_bottleneck_over_half_and_a_remark_over_a_fifth)
{
	batches(25, 2.758);
	share(OPTIMIZER, 2.361 / 2.758); /* guide 000_92dc6d78458fd3fe: "Optimization: 2.361s (86% of total time)" */
	share_too(DATA, 0.14);
	update();
	ck_only("bottleneck");
	ck_assert_str_eq(raised("bottleneck")->message, "optimizer takes 86 % of each step (2.361 s of 2.758 s)");
	ck_assert_int_eq(raised("bottleneck")->severity, SEVERITY_WARNING);
	ck_assert_str_eq(raised("bottleneck")->advice[0], "use a fused optimizer: in PyTorch, AdamW(fused=True)");
	ck_assert_str_eq(raised("bottleneck")->guide, "000_92dc6d78458fd3fe, \"Compare Operation Times\"");
	share(OPTIMIZER, 0.22);
	update_after(1);
	update_after(10);
	update_after(1);
	ck_only("consider_optimizing");
	ck_assert_str_eq(raised("consider_optimizing")->message, "optimizer takes 22 % of each step (0.607 s of 2.758 s)");
	ck_assert_int_eq(raised("consider_optimizing")->severity, SEVERITY_INFO);
}
END_TEST

/* Time in the model is no problem by itself: beyond the bounds of guide 000_92dc6d78458fd3fe, pmtop also compares
 * forward and backward with each other. */
START_TEST(slow_forward_and_backward_are_remarks)
{
	static const struct {
		double forward, backward;
		const char *rule; /* NULL: healthy */
	} cases[] = {
		{ 0.10, 0.41, "slow_backward" },
		{ 0.15, 0.61, "slow_backward" },
		{ 0.10, 0.39, NULL },
		{ 0.25, 0.47, NULL },
		{ 0.30, 0.60, NULL },
		{ 0, 0.60, NULL },
		{ 0.51, 0.25, "slow_forward" },
		{ 0.49, 0.20, NULL },
		{ 0.55, 0.30, NULL },
		{ 0.90, 0, NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		start();
		batches(25, 0.2);
		share_count = 0;
		if (cases[i].forward > 0)
			share_too(FORWARD, cases[i].forward);
		if (cases[i].backward > 0)
			share_too(BACKWARD, cases[i].backward);
		update();
		if (!cases[i].rule) {
			ck_assert_uint_eq(alerts.count, 0);
			continue;
		}
		ck_only(cases[i].rule);
		ck_assert_int_eq(raised(cases[i].rule)->severity, SEVERITY_INFO);
		const struct alert *slow = raised(cases[i].rule);
		ck_assert_ptr_nonnull(strstr(slow->advice[0], "mixed precision"));
		bool is_forward = strcmp(cases[i].rule, "slow_forward") == 0;
		ck_assert(!is_forward || strstr(slow->advice[2], "smaller layers, or activation checkpointing"));
	}
}
END_TEST

START_TEST(time_outside_spans_is_no_operation_and_time_between_batches_is)
{
	batches(25, 0.2);
	share(NAME_UNATTRIBUTED, 1);
	update();
	ck_assert_uint_eq(alerts.count, 0);
	share(NAME_BETWEEN, 0.6);
	update();
	ck_assert_str_eq(
		raised("bottleneck")->message, "time between batches takes 60 % of each step (0.120 s of 0.200 s)");
}
END_TEST

START_TEST(flagged_batches_name_the_cause_they_share)
{
	batches(200, 0.1);
	flag_newest(5, 0.13, 0.01);
	override("variance: {above: 100}");
	update();
	ck_only("flagged_batches");
	const struct alert *alert = raised("flagged_batches");
	ck_assert_str_eq(alert->message, "5 of the last 200 batches slow (2.4× the median): data › decode explains 93 %");
	ck_assert_double_eq_tol(evidence(alert, "share_ratio"), 0.025, 1e-9);
	ck_assert_double_eq_tol(evidence(alert, "cause_share_ratio"), 13.0 / 14, 1e-4);
	ck_assert_ptr_nonnull(strstr(alert->advice[1], "num_workers"));
}
END_TEST

START_TEST(flagged_batches_say_when_the_cause_is_unknown)
{
	batches(200, 0.1);
	flag_newest(5, 0.01, 0.1);
	override("variance: {above: 100}");
	update();
	ck_assert_str_eq(
		raised("flagged_batches")->message, "5 of the last 200 batches slow (2.1× the median), cause unknown");
	start();
	batches(200, 0.1);
	flag_newest(5, 0.01, 0);
	runs[0].flagged_count = 0; /* flagged, but not in the list */
	update();
	ck_assert_str_eq(raised("flagged_batches")->message, "5 of the last 200 batches are flagged");
	ck_assert_double_nan(evidence(raised("flagged_batches"), "cause_share_ratio"));
}
END_TEST

START_TEST(causes_are_taken_from_recent_flags_of_the_main_mode)
{
	batches(250, 0.1);
	flag_newest(5, 0.13, 0.01);
	override("variance: {above: 100}");
	for (size_t i = 0; i < 10; i++) {
		struct flagged *other = &flagged[5 + i];
		*other = (struct flagged){ .mode = i < 5 ? 0 : 77,
			.batch = { .ordinal = i < 5 ? i : 240, .step_s = 0.5 },
			.baseline = { .batches = 50, .step_s = 0.1 } };
	}
	runs[0].flagged_count = 15;
	update();
	ck_assert_str_eq(raised("flagged_batches")->message,
		"5 of the last 200 batches slow (2.4× the median): data › decode explains 93 %");
}
END_TEST

START_TEST(flags_of_long_ago_are_not_counted)
{
	batches(190, 0.1);
	flag_newest(5, 0.13, 0.01);
	batches(200, 0.1);
	update();
	ck_assert_uint_eq(alerts.count, 0);
}
END_TEST

START_TEST(two_flagged_batches_are_no_warning)
{
	batches(100, 0.1);
	flag_newest(2, 0.1, 0);
	update();
	ck_assert_uint_eq(alerts.count, 0);
	flag_newest(3, 0.09, 0);
	update();
	ck_only("flagged_batches");
}
END_TEST

static void memory_grows(double growth_bytes, double low_per_s)
{
	model.memory.growth_bytes = growth_bytes;
	model.memory.growth_since_ns = model.now_ns - 82 * NS_PER_S;
	model.memory.slope = (struct slope){ .per_s = 3.81e6, .low_per_s = low_per_s, .high_per_s = 4.1e6, .points = 100 };
	model.memory.slope_per_batch = 0.8e6;
	model.memory.verdict = low_per_s > 0 ? MEMORY_GROWING : MEMORY_PLATEAU;
}

START_TEST(memory_growth_is_shown_per_second_and_per_batch)
{
	memory_grows(312e6, 3.5e6);
	update();
	ck_only("memory_growth");
	const struct alert *alert = raised("memory_growth");
	ck_assert_str_eq(alert->message, "memory grew by 312 MB in 1:22, now 3.81 MB/s, 800 kB per batch");
	ck_assert_double_eq(evidence(alert, "growth_bytes"), 312e6);
	ck_assert_double_eq(evidence(alert, "slope_low_bytes_per_s"), 3.5e6);
	ck_assert_double_eq(evidence(alert, "slope_bytes_per_batch"), 0.8e6);
	ck_assert_double_nan(evidence(alert, "tree_rss_bytes"));
}
END_TEST

START_TEST(constant_or_unknown_memory_is_no_growth)
{
	memory_grows(312e6, 0); /* the interval holds zero */
	update();
	ck_assert_uint_eq(alerts.count, 0);
	memory_grows(312e6, 3.5e6);
	model.memory.slope.points = 0;
	model.memory.verdict = MEMORY_UNKNOWN;
	update();
	ck_assert_uint_eq(alerts.count, 0);
	memory_grows(NAN, 3.5e6);
	update();
	ck_assert_uint_eq(alerts.count, 0);
}
END_TEST

/* -- levels -- */

START_TEST(nothing_is_judged_before_enough_batches)
{
	warmup(10, 0.9);
	batches(4, 0.2);
	share(DATA, 0.9);
	update();
	ck_assert_uint_eq(alerts.count, 0);
	batches(1, 0.2);
	update();
	ck_only("slow_first_batch");
	batches(11, 0.2);
	batches(3, 0.9);
	update();
	ck_only("slow_first_batch");
	batches(1, 0.2);
	update();
	ck_assert_ptr_nonnull(raised("data_loading"));
	ck_assert_ptr_nonnull(raised("variance"));
}
END_TEST

START_TEST(a_figure_on_its_level_raises_nothing_and_above_it_does)
{
	memory_grows(100e6, 1);
	warmup(1, 0.5);
	batches(187, 0.25);
	batches(13, 0.5);
	override("flagged_batches: {if: flagged.count >= 3, above: 0.015}"); /* 3 of 200 */
	for (size_t i = 0; i < 3; i++)
		hand.batches[100 + i].is_flagged = true;
	update();
	ck_assert_uint_eq(alerts.count, 0);

	memory_grows(100.001e6, 1);
	runs[0].tracks[0].slow_first_s = 0.501;
	for (size_t i = 1; i <= 13; i++)
		hand.batches[hand.batch_count - i].step_s = 0.501;
	hand.batches[150].is_flagged = true;
	update();
	ck_assert_uint_eq(alerts_raised(&alerts), 4);
}
END_TEST

START_TEST(slow_batches_that_cost_little_are_no_warning)
{
	/* the last row: one burst */
	static const struct {
		size_t slow, every;
		bool is_raised;
	} cases[] = { { 3, 39, false }, { 5, 39, true }, { 12, 4, false } };
	warmup(1, 0.25);
	batches(200, 0.25);
	for (size_t i = 0; i < cases[_i].slow; i++) {
		hand.batches[cases[_i].every * (i + 1)].is_flagged = true;
		hand.batches[cases[_i].every * (i + 1)].step_s = 0.5;
		hand.batches[cases[_i].every * (i + 1)].median_s = 0.25;
	}
	update();
	ck_assert((raised("flagged_batches") != NULL) == cases[_i].is_raised);
}
END_TEST

START_TEST(a_share_on_its_level_raises_nothing_and_above_it_does)
{
	static const struct {
		uint32_t name;
		double ratio;
		const char *rule;
	} cases[] = {
		{ DATA, 0.375, "data_loading" },
		{ FORWARD, 0.5, "slow_forward" },
		{ OPTIMIZER, 0.5, "bottleneck" },
		{ OPTIMIZER, 0.25, "consider_optimizing" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		start();
		/* levels and shares with exact sums */
		override(cases[i].ratio < 0.5 ? "data_loading: {above: 0.375}\nconsider_optimizing: {above: 0.25}"
									  : "consider_optimizing: {above: 0.45}");
		batches(32, 0.25);
		share(cases[i].name, cases[i].ratio);
		share_too(BACKWARD, 0.125);
		update();
		ck_assert_ptr_null(raised(cases[i].rule));
		share(cases[i].name, cases[i].ratio + 0x1p-10);
		share_too(BACKWARD, 0.125);
		update();
		ck_only(cases[i].rule);
	}
}
END_TEST

START_TEST(a_part_of_an_operation_is_not_judged_by_itself)
{
	batches(32, 0.25);
	for (size_t i = 0; i < 32; i++) {
		struct batch *batch = &hand.batches[i];
		add_phase(batch->phases, &batch->phase_count, BACKWARD, NAME_NONE, 0.02);
		add_phase(batch->phases, &batch->phase_count, EXTRA, BACKWARD, 0.2);
		batch->is_flagged = true; /* so that it stays unchanged */
	}
	override("flagged_batches: {above: 1}");
	update();
	ck_assert_uint_eq(alerts.count, 0);
}
END_TEST

START_TEST(a_figure_that_wavers_about_its_level_keeps_one_warning)
{
	batches(25, 0.2);
	share(DATA, 0.32);
	update();
	int64_t since_ns = model.now_ns;
	for (int i = 0; i < 100; i++) {
		share(DATA, i % 2 ? 0.32 : 0.28); /* below the level, above nine tenths of it */
		update_after(5);
	}
	share(DATA, 0.2);
	update_after(1);
	update_after(9.5);
	ck_only("data_loading");
	share(DATA, 0.28); /* back in time */
	update_after(1);
	share(DATA, 0.2);
	update_after(9.5);
	update_after(9.5);
	ck_only("data_loading");
	ck_assert_int_eq(raised("data_loading")->since_ns, since_ns);
	ck_assert_uint_eq(alerts.count, 1);
}
END_TEST

START_TEST(a_figure_that_stays_low_clears_its_warning_and_may_raise_it_again)
{
	batches(25, 0.2);
	share(DATA, 0.32);
	update();
	share(DATA, 0.1);
	update_after(1);
	update_after(10);
	ck_assert_uint_eq(alerts_raised(&alerts), 0);
	ck_assert_uint_eq(alerts.count, 1);
	ck_assert_int_eq(alerts.list[0].cleared_ns, model.now_ns);
	ck_assert_str_eq(alerts.list[0].message, "data loading takes 32 % of each step (0.064 s of 0.200 s)");
	share(DATA, 0.35);
	update_after(5);
	ck_only("data_loading");
	ck_assert_uint_eq(alerts.count, 1);
	ck_assert_int_eq(alerts.list[0].since_ns, model.now_ns);
	ck_assert_int_eq(alerts.list[0].cleared_ns, 0);
}
END_TEST

START_TEST(figures_in_a_raised_warning_are_current)
{
	batches(25, 0.2);
	share(DATA, 0.32);
	update();
	share(DATA, 0.45);
	update_after(1);
	ck_assert_str_eq(raised("data_loading")->message, "data loading takes 45 % of each step (0.090 s of 0.200 s)");
	ck_assert_double_eq_tol(evidence(raised("data_loading"), "share_ratio"), 0.45, 1e-6);
	ck_assert_uint_eq(raised("data_loading")->evidence_count, 4);
}
END_TEST

START_TEST(a_figure_that_becomes_unknown_changes_no_warning)
{
	memory_grows(312e6, 3.5e6);
	update();
	model.memory.growth_bytes = NAN;
	update_after(1);
	update_after(100);
	ck_only("memory_growth");
}
END_TEST

START_TEST(an_operation_that_is_gone_loses_its_warning)
{
	batches(25, 0.2);
	share(CHECKPOINT, 0.6);
	update();
	share(FORWARD, 0.1);
	update_after(1);
	ck_only("bottleneck");
	update_after(10);
	ck_assert_uint_eq(alerts_raised(&alerts), 0);
}
END_TEST

START_TEST(the_higher_warning_replaces_the_lower_at_once)
{
	batches(25, 0.2);
	share(OPTIMIZER, 0.45);
	update();
	ck_only("consider_optimizing");
	share(OPTIMIZER, 0.55);
	update_after(1);
	ck_only("bottleneck");
	share(OPTIMIZER, 0.3);
	update_after(1);
	ck_only("bottleneck");
	update_after(10);
	update_after(1);
	ck_only("consider_optimizing");
}
END_TEST

START_TEST(data_loading_replaces_other_warnings_of_its_phase)
{
	batches(25, 0.2);
	share(DATA, 0.25);
	update();
	ck_only("consider_optimizing");
	share(DATA, 0.9);
	update_after(1);
	ck_only("data_loading");
}
END_TEST

/* -- the list -- */

START_TEST(raised_come_first_then_the_severe_then_the_new)
{
	warmup(1, 0.9);
	batches(25, 0.2);
	update();
	share(OPTIMIZER, 0.6);
	update_after(1);
	memory_grows(312e6, 3.5e6);
	update_after(1);
	static const char *const wanted[] = { "memory_growth", "bottleneck", "slow_first_batch" };
	for (size_t i = 0; i < 3; i++)
		ck_assert_str_eq(alerts.list[i].rule, wanted[i]);
	share(OPTIMIZER, 0.1);
	update_after(1);
	update_after(10);
	ck_assert_str_eq(alerts.list[2].rule, "bottleneck");
	ck_assert(!alerts.list[2].is_raised);
	ck_assert_uint_eq(alerts_raised(&alerts), 2);
}
END_TEST

START_TEST(ranks_are_named_and_a_full_list_keeps_the_severe)
{
	batches(25, 0.2);
	share(OPTIMIZER, 0.3);
	for (unsigned i = 0; i < 70; i++) {
		runs[i] = runs[0];
		snprintf(runs[i].rank, sizeof runs[i].rank, "%u", i);
	}
	model.run_count = 70;
	update();
	ck_assert_uint_eq(alerts.count, ALERTS_MAX);
	ck_assert_str_eq(alerts.list[3].message, "rank 3: optimizer takes 30 % of each step (0.060 s of 0.200 s)");
	/* no later warning of the same severity was added */
	ck_assert_uint_eq(alerts.list[ALERTS_MAX - 1].run, ALERTS_MAX - 1);
	memory_grows(312e6, 3.5e6);
	update_after(1);
	ck_assert_uint_eq(alerts.count, ALERTS_MAX);
	ck_assert_str_eq(alerts.list[0].rule, "memory_growth");
	runs[5].is_used = false;
	update_after(100);
	ck_assert_uint_eq(alerts_raised(&alerts), ALERTS_MAX);
}
END_TEST

START_TEST(a_run_whose_slot_is_unused_is_not_judged)
{
	batches(25, 0.2);
	share(OPTIMIZER, 0.6);
	runs[1] = runs[0];
	runs[1].is_used = false;
	model.run_count = 2;
	update();
	ck_only("bottleneck");
	ck_assert_int_ne(alerts.list[0].message[0], ':'); /* ":" after its name: it is the only run */
}
END_TEST

START_TEST(the_same_model_gives_the_same_warnings)
{
	static struct {
		char rule[40], message[160];
	} first[ALERTS_MAX];
	for (int round = 0; round < 2; round++) {
		start();
		warmup(10, 0.9);
		batches(190, 0.1);
		flag_newest(5, 0.13, 0.01);
		share(DATA, 0.6);
		memory_grows(312e6, 3.5e6);
		update();
		for (size_t i = 0; i < alerts.count && round == 0; i++) {
			snprintf(first[i].rule, sizeof first[i].rule, "%s", alerts.list[i].rule);
			snprintf(first[i].message, sizeof first[i].message, "%s", alerts.list[i].message);
		}
	}
	ck_assert_uint_eq(alerts.count, 4);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_str_eq(alerts.list[i].rule, first[i].rule);
		ck_assert_str_eq(alerts.list[i].message, first[i].message);
	}
}
END_TEST

static size_t characters(const char *text)
{
	size_t count = 0;
	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

static void ck_fits(const struct alert *alert)
{
	ck_assert_msg(characters(alert->message) <= 110, "%s", alert->message);
	ck_assert_uint_lt(strlen(alert->message), sizeof alert->message - 1);
	ck_assert_uint_lt(strlen(alert->meaning), sizeof alert->meaning - 1);
	ck_assert(alert->meaning[0] && alert->advice_count > 0 && alert->evidence_count > 0);
	ck_assert(!strpbrk(alert->message, "\n\x1b"));
	for (size_t i = 0; i < alert->advice_count; i++)
		ck_assert_uint_lt(strlen(alert->advice[i]), sizeof alert->advice[i] - 1);
}

START_TEST(every_message_is_one_line_that_fits_whatever_the_names)
{
	static const char *const names[] = { "data", "forward", "backward", "optimizer", "x",
		"a very long name for the loading of data by a program that likes long names",
		"Größenänderung der Bilddaten und ihre Übertragung auf die Grafikkarte" };
	static const char *const counts[] = { NULL, "0", "3", "99999", "999999999999999999999" };
	/* The other rules need more than a run by hand has: see test_rules.c and test_model_ranks.c. */
	static const char *const emitted[] = { "memory_growth", "slow_first_batch", "flagged_batches", "variance",
		"data_loading", "bottleneck", "consider_optimizing", "slow_forward", "slow_backward" };
	enum { EMITTED = sizeof emitted / sizeof *emitted };
	bool seen[EMITTED] = { false };
	for (size_t i = 0; i < sizeof names / sizeof *names * 5; i++) {
		start();
		model.run_count = 2;
		snprintf(runs[0].name, sizeof runs[0].name, "a run with quite a long name, too");
		hand.names[DATA] = hand.names[DECODE] = hand.names[EXTRA] = names[i / 5];
		if (counts[i % 5]) {
			hand_meta(&runs[0], "loader.num_workers", counts[i % 5]);
			hand_meta(&runs[0], "loader.prefetch_factor", counts[i % 5]);
		}
		warmup(10, 864000);
		batches(178, 0.1);
		batches(12, 0.25);
		flag_newest(5, 0.123, 0.01);
		share(EXTRA, i % 2 ? 0.8999 : 0.2999);
		share_too(strcmp(names[i / 5], "forward") == 0 ? BACKWARD : FORWARD, 0.05);
		memory_grows(i % 2 ? 1.23e15 : 312e6, 3.5e6);
		update();
		for (size_t k = 0; k < alerts.count; k++) {
			ck_fits(&alerts.list[k]);
			for (size_t r = 0; r < EMITTED; r++)
				seen[r] |= strcmp(emitted[r], alerts.list[k].rule) == 0;
		}
	}
	for (size_t r = 0; r < EMITTED; r++)
		ck_assert_msg(seen[r], "%s was never raised", emitted[r]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alerts");
	TCase *tests = tcase_create("alerts");
	tcase_add_checked_fixture(tests, start, stop);
	tcase_add_test(tests, the_guides_slow_start_is_a_slow_first_batch_and_no_variance);
	tcase_add_test(tests, a_first_batch_that_is_gone_is_not_judged);
	tcase_add_test(tests, the_guides_variance_over_two_is_raised);
	tcase_add_test(tests, single_slow_steps_are_no_variance);
	tcase_add_test(tests, the_guides_slow_data_is_raised_with_advice_from_the_loader);
	tcase_add_test(tests, advice_follows_what_is_published);
	tcase_add_test(tests, phases_that_load_data_are_known_by_their_words);
	tcase_add_test(tests, operations_are_a_bottleneck_over_half_and_a_remark_over_a_fifth);
	tcase_add_test(tests, slow_forward_and_backward_are_remarks);
	tcase_add_test(tests, time_outside_spans_is_no_operation_and_time_between_batches_is);
	tcase_add_test(tests, flagged_batches_name_the_cause_they_share);
	tcase_add_test(tests, flagged_batches_say_when_the_cause_is_unknown);
	tcase_add_test(tests, causes_are_taken_from_recent_flags_of_the_main_mode);
	tcase_add_test(tests, flags_of_long_ago_are_not_counted);
	tcase_add_test(tests, two_flagged_batches_are_no_warning);
	tcase_add_test(tests, memory_growth_is_shown_per_second_and_per_batch);
	tcase_add_test(tests, constant_or_unknown_memory_is_no_growth);
	tcase_add_test(tests, nothing_is_judged_before_enough_batches);
	tcase_add_test(tests, a_figure_on_its_level_raises_nothing_and_above_it_does);
	tcase_add_loop_test(tests, slow_batches_that_cost_little_are_no_warning, 0, 3);
	tcase_add_test(tests, a_share_on_its_level_raises_nothing_and_above_it_does);
	tcase_add_test(tests, a_part_of_an_operation_is_not_judged_by_itself);
	tcase_add_test(tests, a_figure_that_wavers_about_its_level_keeps_one_warning);
	tcase_add_test(tests, a_figure_that_stays_low_clears_its_warning_and_may_raise_it_again);
	tcase_add_test(tests, figures_in_a_raised_warning_are_current);
	tcase_add_test(tests, a_figure_that_becomes_unknown_changes_no_warning);
	tcase_add_test(tests, an_operation_that_is_gone_loses_its_warning);
	tcase_add_test(tests, the_higher_warning_replaces_the_lower_at_once);
	tcase_add_test(tests, data_loading_replaces_other_warnings_of_its_phase);
	tcase_add_test(tests, raised_come_first_then_the_severe_then_the_new);
	tcase_add_test(tests, ranks_are_named_and_a_full_list_keeps_the_severe);
	tcase_add_test(tests, a_run_whose_slot_is_unused_is_not_judged);
	tcase_add_test(tests, the_same_model_gives_the_same_warnings);
	tcase_add_test(tests, every_message_is_one_line_that_fits_whatever_the_names);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
