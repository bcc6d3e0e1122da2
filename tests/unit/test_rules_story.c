/* The rules report what is planted in a synthetic run, on the real model. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/explain/causes/causes.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/model/run/run_private.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"
#include "src/rules/alerts_list.h"
#include "src/rules/rule_book.h"
#include "src/rules/rule_context.h"
#include "src/rules/rule_text.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

static struct story_options options;
static struct settings settings;
static struct model *model;
static struct alerts alerts;

static void start(void)
{
	story_options_default(&options);
	settings_default(&settings);
	struct model_options model_options;
	model_options_default(&model_options);
	model = model_new(&model_options);
	ck_assert_ptr_nonnull(model);
}

static void stop(void)
{
	alerts_release(&alerts);
	model_free(model);
}

static void emit(void)
{
	struct story *story = story_new(&options);
	struct sample_set set = SAMPLE_SET_INIT;
	while (story_next(story, &set)) {
		model_apply(model, &set);
		explain_flagged(model);
		alerts_update(&alerts, model, &settings);
	}
	sample_set_release(&set);
	story_free(story);
}

static const struct alert *raised(const char *rule, uint32_t subject)
{
	for (size_t i = 0; i < alerts.count; i++)
		if (alerts.list[i].is_raised && alerts.list[i].subject == subject && strcmp(alerts.list[i].rule, rule) == 0)
			return &alerts.list[i];
	return NULL;
}

static double evidence(const struct alert *alert, const char *key)
{
	for (size_t i = 0; i < alert->evidence_count; i++)
		if (strcmp(alert->evidence[i].key, key) == 0)
			return alert->evidence[i].value;
	return NAN;
}

/* `what` explains nearly all of the excess of every flagged batch. */
static void ck_explained_by(const char *what)
{
	const struct run *run = &model->runs[0];
	ck_assert_uint_ge(run->flagged_count, 2);
	for (size_t i = 0; i < run->flagged_count; i++) {
		struct explanation why;
		explain_batch(run, &run->flagged[i].batch, &run->flagged[i].baseline, run->flagged[i].batch_window, &why);
		ck_assert_uint_ge(why.cause_count, 1);
		ck_assert_str_eq(why.causes[0].what, what);
		ck_assert_double_gt(why.causes[0].share_ratio, 0.85);
		ck_assert_double_eq_tol(why.excess_s, options.slow_s, 0.1 * options.slow_s);
	}
}

START_TEST(planted_slow_batches_are_explained_and_warned_of)
{
	emit();
	ck_explained_by("data › decode: reading from disk");
	const struct alert *alert = raised("flagged_batches", NAME_NONE);
	ck_assert_ptr_nonnull(alert);
	ck_assert_ptr_nonnull(strstr(alert->message, "data › decode: reading from disk explains"));
	ck_assert_double_gt(evidence(alert, "cause_share_ratio"), 0.9);
	ck_assert_ptr_null(raised("variance", NAME_NONE));
}
END_TEST

/* The kernel's scheduler alone makes batches a few ms longer. */
START_TEST(an_excess_of_a_few_ms_is_no_warning)
{
	options.step_s = 0.006;
	options.checkpoint_s = 0;
	options.first_s = 0;
	options.slow_s = 0.008;
	emit();
	ck_assert_uint_ge(model->runs[0].flagged_count, 5);
	ck_assert_ptr_null(raised("flagged_batches", NAME_NONE));
}
END_TEST

/* The same batches, if their longer phase is an evaluation. */
START_TEST(evaluations_are_no_flagged_batches)
{
	emit();
	ck_assert_ptr_nonnull(raised("flagged_batches", NAME_NONE));
	struct names *names = &model->runs[0].priv->names;
	for (size_t id = 0; id < names->room; id++)
		if (names->texts[id] && strcmp(names->texts[id], "data") == 0) {
			free(names->texts[id]);
			names->texts[id] = strdup("inference");
		}
	alerts_release(&alerts);
	alerts = (struct alerts){ 0 };
	alerts_update(&alerts, model, &settings);
	ck_assert_ptr_null(raised("flagged_batches", NAME_NONE));
}
END_TEST

START_TEST(a_planted_slow_start_is_a_slow_first_batch)
{
	options.slow_every = 0;
	emit();
	const struct alert *alert = raised("slow_first_batch", NAME_NONE);
	ck_assert_ptr_nonnull(alert);
	ck_assert_double_eq_tol(evidence(alert, "first_s"), options.step_s + options.first_s, 0.05);
	ck_assert_ptr_null(raised("variance", NAME_NONE));
	ck_assert_ptr_null(raised("flagged_batches", NAME_NONE));
}
END_TEST

START_TEST(a_quiet_run_has_its_share_of_loading_alone)
{
	options.slow_every = 0;
	options.first_s = 0;
	emit();
	ck_assert_uint_eq(alerts_raised(&alerts), 1);
	ck_assert_double_eq_tol(evidence(raised("data_loading", STORY_DATA), "share_ratio"), 0.34, 0.02);
}
END_TEST

START_TEST(data_loaded_between_the_batches_is_data)
{
	options.loads_between = true;
	emit();
	ck_explained_by("data: reading from disk");
	unsigned named = 0;
	for (size_t i = 0; i < alerts.count; i++)
		named += strcmp(alerts.list[i].rule, "data_loading") == 0 &&
			strncmp(alerts.list[i].message, "data loading takes", 18) == 0;
	ck_assert_uint_eq(named, 1);
}
END_TEST

START_TEST(a_planted_leak_is_memory_growth_of_that_size_a_batch)
{
	options.leak_bytes = 2e6;
	emit();
	const struct alert *alert = raised("memory_growth", NAME_NONE);
	ck_assert_ptr_nonnull(alert);
	ck_assert_double_eq_tol(evidence(alert, "slope_bytes_per_batch"), 2e6, 0.4e6);
	ck_assert_double_gt(evidence(alert, "growth_bytes"), 100e6);
}
END_TEST

START_TEST(a_late_attach_gives_the_same_shares)
{
	options.slow_every = 0;
	options.attach_s = 40;
	emit();
	ck_assert_double_eq_tol(evidence(raised("data_loading", STORY_DATA), "share_ratio"), 0.34, 0.02);
}
END_TEST

/* Any epoch has something to begin. */
START_TEST(first_batches_of_epochs_that_cost_little_are_no_warning)
{
	static const struct {
		double period, slow_s;
		bool is_epoch_first;
		enum truth is_warned_of;
	} cases[] = {
		{ 110, 0.0155, true, TRUTH_NO },   /* 1.3 % of the time */
		{ 110, 0.0155, false, TRUTH_YES }, /* as every 110th batch */
		{ 110, 0.03, true, TRUTH_YES },    /* 3.3 % */
		{ 110, 0.01, false, TRUTH_NO },    /* 0.5 % */
	};
	static struct rule_cache cache;
	struct context context;
	struct patterns patterns = { .renewed_ns = 1, .count = 1 };
	struct rule_book *book = rule_book_new();
	const struct rule *rule = rule_find(book, "slow_period");
	emit();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		patterns.list[0] = (struct pattern){ .kind = PATTERN_PERIOD,
			.period = cases[i].period,
			.before_s = 0.0064,
			.after_s = cases[i].slow_s,
			.is_epoch_first = cases[i].is_epoch_first };
		rule_context_init(&context, &cache, model, 0, &patterns);
		ck_assert_int_eq(rule_terms_hold(&rule->terms, &context, NULL), cases[i].is_warned_of);
	}
	rule_book_free(book);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules on a story");
	TCase *tests = tcase_create("rules on a story");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, start, stop);
	tcase_add_test(tests, planted_slow_batches_are_explained_and_warned_of);
	tcase_add_test(tests, an_excess_of_a_few_ms_is_no_warning);
	tcase_add_test(tests, evaluations_are_no_flagged_batches);
	tcase_add_test(tests, a_planted_slow_start_is_a_slow_first_batch);
	tcase_add_test(tests, a_quiet_run_has_its_share_of_loading_alone);
	tcase_add_test(tests, data_loaded_between_the_batches_is_data);
	tcase_add_test(tests, a_planted_leak_is_memory_growth_of_that_size_a_batch);
	tcase_add_test(tests, a_late_attach_gives_the_same_shares);
	tcase_add_test(tests, first_batches_of_epochs_that_cost_little_are_no_warning);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
