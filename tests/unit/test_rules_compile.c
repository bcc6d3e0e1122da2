/* In the real model: functions that compile in most steps, now and then, or no more; batches that only dispatch work.
 */
#include <check.h>
#include <math.h>

#include "src/rules/alerts.h"
#include "src/rules/alerts_list.h"
#include "src/rules/rule_now.h"
#include "tests/support/model_parts.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

#define STEP 0.1

enum { COMPILE = STORY_NAME_COUNT, CALL };

static struct script script;
static struct settings settings;
static struct alerts alerts;
static struct rule_book *book;
static double at_s;

static void setup(void)
{
	book = rule_book_new();
	settings_default(&settings);
	settings.rules = book;
	script_open(&script, NULL);
	struct record *name = script_add(&script, RECORD_NAME, 0);
	name->name.id = COMPILE;
	name->name.text = "compile";
	at_s = 0;
}

static void teardown(void)
{
	alerts_release(&alerts);
	script_close(&script);
	rule_book_free(book);
}

/* Each step is an optimizer that compiles for `compile_s` in one of `every` steps. */
static void go_on(unsigned steps, unsigned every, double compile_s)
{
	for (unsigned i = 0; i < steps; i++, at_s += STEP) {
		script_batch_begin(&script, 0, at_s, script.batches);
		if (i % every == 0 && compile_s > 0)
			script_span(&script, 0, at_s + 0.01, at_s + 0.01 + compile_s, COMPILE, STORY_OPTIMIZER);
		script_span(&script, 0, at_s, at_s + STEP, STORY_OPTIMIZER, 0);
		script_batch_end(&script, 0, at_s + STEP, at_s, NAN);
		script_apply(&script, at_s + STEP);
		alerts_update(&alerts, script.model, &settings);
	}
}

static const struct alert *raised(const char *rule) { return alerts_find_raised(&alerts, rule); }

START_TEST(compiling_in_each_step_is_a_warning_until_it_ends)
{
	script_meta(&script, "jax.recompiled", "jit(train)");
	go_on(100, 1, 0.06);
	ck_assert_ptr_nonnull(raised("jax_recompiles"));
	ck_assert_str_eq(raised("jax_recompiles")->message, "JAX recompiles jit(train) in most steps: 60 % of their time");
	ck_assert_ptr_null(raised("bottleneck")); /* the optimizer is slow because it compiles */
	go_on(400, 1, 0);
	ck_assert_ptr_null(raised("jax_recompiles"));
	ck_assert_ptr_nonnull(raised("bottleneck"));
}
END_TEST

START_TEST(compiling_in_two_steps_of_three_counts_too)
{
	for (int i = 0; i < 40; i++) {
		go_on(2, 1, 0.05);
		go_on(1, 1, 0);
	}
	ck_assert_ptr_nonnull(raised("jax_recompiles"));
	ck_assert_str_eq(raised("jax_recompiles")->message, "a function is compiled in most steps: 33 % of their time");
}
END_TEST

START_TEST(compiling_now_and_then_is_none)
{
	go_on(200, 10, 0.09);
	ck_assert_ptr_null(raised("jax_recompiles"));
	ck_assert_ptr_nonnull(raised("bottleneck"));
}
END_TEST

START_TEST(a_run_that_never_compiles_has_none)
{
	go_on(100, 1, 0);
	ck_assert_ptr_null(raised("jax_recompiles"));
	ck_assert_ptr_nonnull(raised("bottleneck"));
}
END_TEST

/* JAX's functions return at once, and the loop waits for the device when it reads a result. */
START_TEST(time_between_batches_that_only_dispatch_is_no_bottleneck)
{
	static const char *const names[] = { "update", "dispatch" };
	struct record *name = script_add(&script, RECORD_NAME, 0);
	name->name.id = CALL;
	name->name.text = names[_i];
	for (unsigned i = 0; i < 100; i++, at_s += STEP) {
		script_batch_begin(&script, 0, at_s, script.batches);
		script_span(&script, 0, at_s, at_s + STEP / 20, CALL, 0);
		script_batch_end(&script, 0, at_s + STEP / 20, at_s, NAN);
		script_apply(&script, at_s + STEP);
		alerts_update(&alerts, script.model, &settings);
	}
	ck_assert_int_eq(raised("bottleneck") != NULL, _i == 0);
	ck_assert_ptr_null(raised("consider_optimizing"));
}
END_TEST

/* A validation after each tenth step takes half of the time. Of an inferred run its pass is unknown. */
START_TEST(pauses_of_an_inferred_run_are_no_part_of_its_steps)
{
	if (_i)
		script.set.records[0].opened.abi = "counted";
	for (unsigned i = 0; i < 200; i++) {
		script_batch_begin(&script, 0, at_s, script.batches);
		script_batch_end(&script, 0, at_s + STEP, at_s, NAN);
		at_s += i % 10 == 9 ? 11 * STEP : STEP;
		script_apply(&script, at_s);
		alerts_update(&alerts, script.model, &settings);
	}
	ck_assert_int_eq(raised("consider_optimizing") != NULL || raised("bottleneck") != NULL, _i == 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules of compiling");
	TCase *tests = tcase_create("rules of compiling");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, compiling_in_each_step_is_a_warning_until_it_ends);
	tcase_add_test(tests, compiling_in_two_steps_of_three_counts_too);
	tcase_add_test(tests, compiling_now_and_then_is_none);
	tcase_add_test(tests, a_run_that_never_compiles_has_none);
	tcase_add_loop_test(tests, time_between_batches_that_only_dispatch_is_no_bottleneck, 0, 2);
	tcase_add_loop_test(tests, pauses_of_an_inferred_run_are_no_part_of_its_steps, 0, 2);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
