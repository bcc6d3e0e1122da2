#include <check.h>
#include <math.h>

#include "src/model/run/run_private.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"
#include "tests/support/model_parts.h"

#define NEAR 1e-6

START_TEST(lanes_are_merged_when_they_are_read)
{
	struct script script;
	script_open(&script, NULL);
	for (int i = 0; i < 30; i++)
		script_span(&script, 0, 1 + i, 1.1 + i, STORY_DECODE, 0);
	for (int i = 0; i < 10; i++)
		script_span(&script, 3, 1 + i, 1.4 + i, STORY_DECODE, 0);
	script_apply(&script, 50);
	const struct operation *decode = run_operation(script_run(&script), NAME_NONE, STORY_DECODE);
	ck_assert_uint_eq(decode->count, 40);
	ck_assert_double_eq_tol(decode->total_s, 7, NEAR);
	ck_assert_double_eq_tol(decode->min_s, 0.1, NEAR);
	ck_assert_double_eq_tol(decode->max_s, 0.4, NEAR);
	ck_assert_double_eq_tol(decode->last_s, 0.1, NEAR);
	ck_assert_double_eq_tol(decode->p50_s, 0.1, 0.002);
	ck_assert_double_eq_tol(decode->p95_s, 0.4, 0.008);
	ck_assert_double_nan(decode->cpu_s);
	script_close(&script);
}
END_TEST

START_TEST(row_without_a_histogram_is_a_count_and_nothing_more)
{
	struct script script;
	script_open(&script, NULL);
	struct total_row *row = script_total(&script, TOTAL_SPAN, 0, 500, 77, 0.1);
	row->name = STORY_FORWARD;
	row->has_histogram = false;
	row->total_s = row->self_s = row->min_s = row->max_s = row->last_s = NAN;
	script.sequence[0] = 500;
	script_span(&script, 0, 1, 1.2, STORY_FORWARD, 0);
	script_apply(&script, 2);
	const struct operation *forward = run_operation(script_run(&script), NAME_NONE, STORY_FORWARD);
	ck_assert_uint_eq(forward->count, 78);
	ck_assert_double_nan(forward->total_s);
	ck_assert_double_nan(forward->min_s);
	ck_assert_double_nan(forward->max_s);
	ck_assert_double_nan(forward->p50_s);
	ck_assert_double_eq_tol(forward->last_s, 0.2, NEAR);
	script_close(&script);
}
END_TEST

START_TEST(operations_are_nested_with_self_and_unattributed_time)
{
	struct script script;
	script_open(&script, NULL);
	for (int i = 0; i < 5; i++) {
		double at_s = 1 + i;
		script_batch_begin(&script, 0, at_s, (uint64_t)i);
		script_span(&script, 0, at_s, at_s + 0.2, STORY_DECODE, STORY_DATA);
		script_span(&script, 0, at_s, at_s + 0.3, STORY_DATA, 0);
		script.set.records[script.set.count - 1].span.self_s = 0.1f;
		script_span(&script, 0, at_s + 0.3, at_s + 0.7, STORY_FORWARD, 0);
		script.set.records[script.set.count - 1].span.cpu_s = 0.35f;
		script_batch_end(&script, 0, at_s + 0.8, at_s, NAN);
	}
	script_batch_begin(&script, 0, 6, 5);
	script_apply(&script, 6.1);
	static const struct {
		uint32_t name;
		unsigned depth;
		double total_s, self_s, share;
	} wanted[] = {
		{ STORY_DATA, 0, 1.5, 0.5, 0.3 },
		{ STORY_DECODE, 1, 1.0, 1.0, 0.2 },
		{ STORY_FORWARD, 0, 2, 2, 0.4 },
		{ NAME_UNATTRIBUTED, 0, 0.5, 0.5, 0.1 },
		{ NAME_BETWEEN, 0, 1, 1, 0.2 },
	};
	const struct run *run = script_run(&script);
	ck_assert_uint_eq(run->operation_count, 5);
	for (size_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(run->operations[i].name, wanted[i].name);
		ck_assert_uint_eq(run->operations[i].depth, wanted[i].depth);
		ck_assert_uint_eq(run->operations[i].count, 5);
		ck_assert_double_eq_tol(run->operations[i].total_s, wanted[i].total_s, NEAR);
		ck_assert_double_eq_tol(run->operations[i].self_s, wanted[i].self_s, NEAR);
		ck_assert_double_eq_tol(run->operations[i].share_ratio, wanted[i].share, NEAR);
		ck_assert_double_eq_tol(run->operations[i].recent_median_s, wanted[i].total_s / 5, NEAR);
	}
	ck_assert_double_eq_tol(run->operations[2].cpu_s, 1.75, NEAR);
	ck_assert_double_nan(run->operations[0].cpu_s);
	script_close(&script);
}
END_TEST

START_TEST(unattributed_time_of_the_whole_run_is_known_to_a_late_monitor)
{
	double exact_s = 0, exact_between_s = 0;
	for (int late = 0; late < 2; late++) {
		struct story_options options;
		story_options_default(&options);
		options.attach_s = late * 45;
		struct story *story = story_new(&options);
		struct model *model = model_new_default();
		story_play(story, model);
		const struct run *run = &model->runs[0];
		const struct operation *unattributed = run_operation(run, NAME_NONE, NAME_UNATTRIBUTED),
							   *between = run_operation(run, NAME_NONE, NAME_BETWEEN);
		ck_assert_uint_eq(unattributed->count, 300);
		if (late) {
			ck_assert_double_eq_tol(unattributed->total_s, exact_s, 0.01 * exact_s);
			ck_assert_double_eq_tol(between->total_s, exact_between_s, 0.01 * exact_between_s);
		} else {
			exact_s = unattributed->total_s;
			exact_between_s = between->total_s;
			ck_assert_double_eq_tol(exact_s, 300 * 0.03 * 0.2, 0.05);
		}
		model_free(model);
		story_free(story);
	}
}
END_TEST

START_TEST(span_outside_of_steps_has_no_share_in_them)
{
	struct story_options options;
	story_options_default(&options);
	struct story *story = story_new(&options);
	struct model *model = model_new_default();
	story_play(story, model);
	double sum = 0;
	const struct run *run = &model->runs[0];
	for (size_t i = 0; i < run->operation_count; i++)
		if (run->operations[i].mode == NAME_NONE && run->operations[i].parent == NAME_NONE)
			sum += run->operations[i].share_ratio;
	ck_assert_double_eq_tol(sum, 1, 1e-6);
	ck_assert_double_nan(run_operation(run, STORY_VALIDATION, STORY_CHECKPOINT)->share_ratio);
	model_free(model);
	story_free(story);
}
END_TEST

/* A garbage collection before the first batch does not count as time between batches. */
START_TEST(span_before_the_first_batch_covers_nothing_between_batches)
{
	enum { BATCHES = 20 };
	struct script script;
	script_open(&script, NULL);
	script_span(&script, 0, 0.1, 0.9, STORY_DECODE, NAME_NONE);
	for (uint64_t i = 0; i < BATCHES; i++) {
		double at_s = 1 + (double)i * 0.1;
		script_batch_begin(&script, 0, at_s, i);
		script_batch_end(&script, 0, at_s + 0.09, at_s, NAN);
		/* The same operation in some of the gaps, from which pmtop infers its position. */
		if (i == 5)
			script_span(&script, 0, at_s + 0.091, at_s + 0.093, STORY_DECODE, NAME_NONE);
	}
	script_apply(&script, 4);
	const struct run *run = script_run(&script);
	const struct operation *between = run_operation(run, NAME_NONE, run->priv->between);
	ck_assert_double_eq_tol(between->total_s, (BATCHES - 1) * 0.01 - 0.002, 0.002);
	ck_assert_double_eq_tol(run_operation(run, NAME_NONE, STORY_DECODE)->total_s, 0.802, NEAR);
	script_close(&script);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model operations");
	TCase *tests = tcase_create("operations");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, lanes_are_merged_when_they_are_read);
	tcase_add_test(tests, row_without_a_histogram_is_a_count_and_nothing_more);
	tcase_add_test(tests, operations_are_nested_with_self_and_unattributed_time);
	tcase_add_test(tests, unattributed_time_of_the_whole_run_is_known_to_a_late_monitor);
	tcase_add_test(tests, span_outside_of_steps_has_no_share_in_them);
	tcase_add_test(tests, span_before_the_first_batch_covers_nothing_between_batches);
	return suite_run(suite);
}
