#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/stall_lines.h"
#include "tests/support/rank_group.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { PID = 500, BASE_S = 5000 };

static struct model *model;
static struct rank_group group;
static struct stall_line lines[MODEL_RUNS_MAX];
static char words[STALL_WORDS_SIZE];

static void open_model(void)
{
	struct model_options options;
	model_options_default(&options);
	model = model_new(&options);
	rank_group_open(&group, model, BASE_S * NS_PER_S);
}

static void close_model(void)
{
	rank_group_close(&group);
	model_free(model);
}

/* A sample of each process, at the line with its number from 1. */
static void sample(unsigned processes, double at_s, const char *text)
{
	struct sample_set set = SAMPLE_SET_INIT;
	set.time_ns = BASE_S * NS_PER_S + (int64_t)(at_s * (double)NS_PER_S);
	fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), 1, "train", "/home/me/train.py", true);
	for (uint32_t i = 1; i <= processes; i++) {
		fill_code_group(sample_set_add(&set, RECORD_CODE_GROUP, 0, set.time_ns), i, (int32_t)(PID + i - 1), 10, 10, 1);
		fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), i, 0, i, 1, i, text);
		struct record *record = sample_set_add(&set, RECORD_CODE_SAMPLES, 0, set.time_ns);
		record->code_samples.node = i;
		record->code_samples.count = 1;
		record->code_samples.begin_ns = set.time_ns;
	}
	model_apply(model, &set);
	sample_set_release(&set);
}

static size_t find_lines(unsigned run) { return stall_lines(model, &model->runs[run], lines); }

START_TEST(every_rank_has_its_line_by_rank)
{
	for (long i = 0; i < 3; i++)
		rank_group_add(&group, 2 - i, 3, "a", (int32_t)(PID + i));
	rank_group_add(&group, 0, 2, "another", PID + 3);
	rank_group_apply(&group, 1);
	sample(4, 2, "dist.all_reduce(t)");
	ck_assert_uint_eq(find_lines(0), 3);
	for (long i = 0; i < 3; i++) {
		ck_assert_int_eq(lines[i].rank, i);
		ck_assert_int_eq(lines[i].pid, PID + 2 - i);
	}
	ck_assert_str_eq(stall_line_words(&lines[0], 3, words), "rank 0: dist.all_reduce(t), train.py:3");
}
END_TEST

START_TEST(a_single_process_has_no_rank)
{
	rank_group_add(&group, 0, 0, NULL, PID);
	rank_group_add(&group, 0, 0, NULL, PID + 1);
	rank_group_apply(&group, 1);
	ck_assert_uint_eq(find_lines(0), 0);
	sample(2, 2, NULL);
	ck_assert_uint_eq(find_lines(0), 1);
	ck_assert_int_eq(lines[0].rank, -1);
	ck_assert_str_eq(stall_line_words(&lines[0], 1, words), "in train, train.py:1");
}
END_TEST

START_TEST(an_old_sample_says_its_age)
{
	rank_group_add(&group, 0, 0, NULL, PID);
	rank_group_apply(&group, 1);
	sample(1, 2, "wait()");
	rank_group_apply(&group, 6);
	ck_assert_uint_eq(find_lines(0), 1);
	ck_assert_str_eq(stall_line_words(&lines[0], 1, words), "wait(), train.py:1");
	rank_group_apply(&group, 9);
	ck_assert_uint_eq(find_lines(0), 1);
	ck_assert_str_eq(stall_line_words(&lines[0], 1, words), "wait(), train.py:1, 7 s ago");
}
END_TEST

START_TEST(inferred_runs_are_shown_together)
{
	for (int i = 0; i < 2; i++)
		rank_group_add(&group, 0, 0, NULL, PID + i);
	rank_group_apply(&group, 1);
	sample(2, 2, "step()");
	model->runs[0].is_counted = model->runs[1].is_counted = true;
	ck_assert_uint_eq(find_lines(1), 2);
	ck_assert_str_eq(stall_line_words(&lines[0], 2, words), "process 500: step(), train.py:1");
	model->runs[0].is_live = false;
	ck_assert_uint_eq(find_lines(1), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stall_lines");
	TCase *tests = tcase_create("stall_lines");
	tcase_add_checked_fixture(tests, open_model, close_model);
	tcase_add_test(tests, every_rank_has_its_line_by_rank);
	tcase_add_test(tests, a_single_process_has_no_rank);
	tcase_add_test(tests, an_old_sample_says_its_age);
	tcase_add_test(tests, inferred_runs_are_shown_together);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
