/* Who cost the job how much time, from records of when ranks entered collectives. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/explain/lost_words.h"
#include "src/export/export.h"
#include "src/export/figures/lost_time.h"
#include "src/export/json/json.h"
#include "src/model/collectives/collectives.h"
#include "src/samples/codec.h"
#include "src/samples/codec_read.h"
#include "src/samples/codec_write.h"
#include "tests/support/model_parts.h"
#include "tests/support/rank_group.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { PID = 700, BASE_S = 5000 };

static struct model *model;
static struct sample_set set;
static struct lost_time lost;
static char words[LOST_WORDS_SIZE];

static int64_t at_ns(double at_s) { return BASE_S * NS_PER_S + (int64_t)llround(at_s * 1e6) * 1000; }

static void begin(double at_s)
{
	sample_set_clear(&set);
	set.time_ns = at_ns(at_s);
}

static void end(void) { model_apply(model, &set); }

static void open_model(void)
{
	model = model_new_default();
	set = (struct sample_set)SAMPLE_SET_INIT;
}

static void close_model(void)
{
	sample_set_release(&set);
	model_free(model);
}

static void add_rank(int pid, int rank, bool is_gone)
{
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_RANK, 0, set.time_ns);
	record->collective_rank.pid = pid;
	record->collective_rank.rank = rank;
	record->collective_rank.is_gone = is_gone;
}

static void add_job(int ranks)
{
	begin(0);
	for (int i = 0; i < ranks; i++)
		add_rank(PID + i, i, false);
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_GROUP, 0, set.time_ns);
	record->collective_group.id = 1;
	record->collective_group.name = "0";
	end();
}

static void enter(int pid, uint64_t sequence, double at_s)
{
	struct collective_row *row = sample_set_allocate(&set, sizeof *row);
	*row = (struct collective_row){ 1, 0, sequence, at_ns(at_s) };
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVES, 0, set.time_ns);
	record->collectives.pid = pid;
	record->collectives.rows = row;
	record->collectives.count = 1;
}

/* Each step takes 0.1 s and ends with a collective that all wait for; ranks are late by late_s[rank], or only in
 * collective `only` if that is not 0. Returns when the last one is released. */
static double run(int first_pid, int ranks, uint64_t steps, const double late_s[], uint64_t only, double at_s)
{
	for (uint64_t k = 1; k <= steps; k++) {
		double released_s = 0;
		for (int i = 0; i < ranks; i++) {
			double entered_s = at_s + 0.1 + (only && k != only ? 0 : late_s[i]);
			enter(first_pid + i, k, entered_s);
			released_s = fmax(released_s, entered_s);
		}
		at_s = released_s;
	}
	return at_s;
}

static void wait_until(double at_s)
{
	begin(at_s);
	end();
	lost_time_measure(model, &lost);
}

#define assert_near(a, b) ck_assert_msg(fabs((a) - (b)) < 1e-4, "%g is not %g", (double)(a), (double)(b))

START_TEST(seconds_of_a_straggler_are_exact)
{
	const double late_s[4] = { 0, 0, 0.2, 0 };
	add_job(4);
	begin(10);
	run(PID, 4, 31, late_s, 0, 0);
	end();
	wait_until(12);
	/* The first collective has no step before it, and the newest is not over: 29 steps of 0.3 s, 0.2 s late. */
	ck_assert(lost.is_known && !lost.is_device);
	assert_near(lost.rank_seconds, 29 * 0.3 * 4);
	ck_assert_uint_eq(lost.count, 1);
	ck_assert_int_eq(lost.rows[0].rank, 2);
	ck_assert_int_eq(lost.rows[0].cause, LOST_STRAGGLER);
	assert_near(lost.rows[0].seconds, 29 * 0.2 * 3);
	assert_near(lost.rows[0].share_ratio, 0.5);
	ck_assert_int_eq(lost.without, 2);
	assert_near(lost.speedup_ratio, 3);
	ck_assert_str_eq(lost_words_without(&lost, words), "without rank 2's delays the run would be 3.0 × as fast");
	ck_assert_str_eq(lost_words_total(&lost, words), "17.4 of 34.8 rank-seconds (50 %)");
}
END_TEST

START_TEST(time_in_which_two_are_missing_counts_for_both)
{
	const double late_s[3] = { 0, 0.1, 0.15 };
	add_job(3);
	begin(8);
	run(PID, 3, 32, late_s, 0, 0);
	end();
	wait_until(10);
	/* For 0.1 s one waits for two, then for 0.05 s two for one. */
	ck_assert_uint_eq(lost.count, 2);
	ck_assert_int_eq(lost.rows[0].rank, 2);
	assert_near(lost.rows[0].seconds, 30 * (0.05 + 0.1));
	ck_assert_int_eq(lost.rows[1].rank, 1);
	assert_near(lost.rows[1].seconds, 30 * 0.05);
	/* Without rank 2, all still wait for rank 1: 0.2 s instead of 0.25 s. */
	ck_assert_int_eq(lost.without, 2);
	assert_near(lost.speedup_ratio, 1.25);
}
END_TEST

/* Rank 0 is late in odd, rank 1 in even steps: neither is the reason for what the other one costs. */
START_TEST(ranks_that_are_late_in_turn_have_no_step_without_one)
{
	double at_s = 0;
	add_job(2);
	begin(8);
	for (uint64_t k = 1; k <= 40; k++) {
		enter(PID + (int)(k % 2), k, at_s + 0.1);
		enter(PID + (int)((k + 1) % 2), k, at_s + 0.15);
		at_s += 0.15;
	}
	end();
	wait_until(10);
	ck_assert(lost.is_known && lost.count == 2);
	ck_assert_int_eq(lost.without, -1);
}
END_TEST

START_TEST(asynchronous_collectives_are_waited_for_once)
{
	add_job(2);
	begin(30);
	/* Four of them in each step, 10 ms apart; rank 1 begins the step 0.2 s late, and both wait for all of them. */
	double at_s = 0;
	for (uint64_t k = 0; k < 30; k++) {
		for (uint64_t i = 0; i < 4; i++) {
			enter(PID, k * 4 + i + 1, at_s + 0.1 + 0.01 * (double)i);
			enter(PID + 1, k * 4 + i + 1, at_s + 0.3 + 0.01 * (double)i);
		}
		at_s += 0.33;
	}
	end();
	wait_until(32);
	ck_assert_uint_eq(lost.count, 1);
	assert_near(lost.rows[0].seconds, 29 * 0.2); /* the last step is not over */
	ck_assert_int_eq(lost.without, 1);
	ck_assert(lost.speedup_ratio > 0.33 / 0.13 - 0.1 && lost.speedup_ratio < 0.33 / 0.13 + 0.1);
}
END_TEST

START_TEST(nothing_is_known_of_few_collectives_and_nothing_lost_by_equal_ranks)
{
	const double equal[2] = { 0, 0 };
	ck_assert((lost_time_measure(model, &lost), !lost.is_known));
	add_job(2);
	begin(3);
	run(PID, 2, 20, equal, 0, 0);
	end();
	wait_until(4);
	ck_assert(!lost.is_known);
	ck_assert_int_eq(lost.without, -1);
	begin(5);
	run(PID, 2, 30, equal, 0, 0);
	end();
	wait_until(7);
	ck_assert(lost.is_known);
	ck_assert_uint_eq(lost.count, 0);
	ck_assert(lost.lost_s == 0);
	ck_assert_int_eq(lost.without, -1);
	ck_assert_str_eq(lost_words_without(&lost, words), "");
}
END_TEST

START_TEST(long_delay_is_a_stall_and_changes_no_step)
{
	const double late_s[2] = { 8, 0 };
	add_job(2);
	begin(12);
	run(PID, 2, 41, late_s, 30, 0);
	end();
	wait_until(14);
	ck_assert_uint_eq(lost.count, 1);
	ck_assert_int_eq(lost.rows[0].cause, LOST_STALL);
	ck_assert_int_eq(lost.rows[0].rank, 0);
	assert_near(lost.rows[0].seconds, 8);
	assert_near(lost.rank_seconds, 2 * (3.9 + 8));
	ck_assert_int_eq(lost.without, -1);
}
END_TEST

START_TEST(stall_that_has_not_ended_counts)
{
	const double equal[3] = { 0, 0, 0 };
	add_job(3);
	begin(5);
	double at_s = run(PID, 3, 40, equal, 0, 0);
	enter(PID, 41, at_s + 0.1);
	enter(PID + 2, 41, at_s + 0.1);
	end();
	begin(at_s + 0.1 + 7);
	for (int i = 0; i < 3; i++) {
		struct record *record = sample_set_add(&set, RECORD_COLLECTIVES, 0, set.time_ns);
		record->collectives.pid = PID + i;
	}
	end();
	lost_time_measure(model, &lost);
	ck_assert_uint_eq(lost.count, 1);
	ck_assert_int_eq(lost.rows[0].cause, LOST_STALL);
	ck_assert_int_eq(lost.rows[0].rank, 1);
	assert_near(lost.rows[0].seconds, 14);
}
END_TEST

static void sample_phase(int pid, double at_s, const char *function, const char *file)
{
	fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), 1, "train", "/home/me/train.py", true);
	fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), 2, function, file, false);
	fill_code_group(sample_set_add(&set, RECORD_CODE_GROUP, 0, set.time_ns), 1, pid, 10, 10, 1);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), 1, 0, 1, 1, 12, "x()");
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), 2, 1, 1, 2, 900, NULL);
	struct record *record = sample_set_add(&set, RECORD_CODE_SAMPLES, 0, set.time_ns);
	record->code_samples.node = 2;
	record->code_samples.count = 1;
	record->code_samples.begin_ns = at_ns(at_s);
}

START_TEST(checkpoint_is_known_by_the_stack)
{
	const double late_s[2] = { 8, 0 };
	add_job(2);
	begin(6);
	sample_phase(PID, 6, "save", "/x/site-packages/torch/serialization.py");
	end();
	begin(12);
	run(PID, 2, 41, late_s, 30, 0);
	end();
	wait_until(14);
	ck_assert_uint_eq(lost.count, 1);
	ck_assert_int_eq(lost.rows[0].cause, LOST_CHECKPOINT);
	assert_near(lost.rows[0].seconds, 8);
}
END_TEST

START_TEST(restart_counts_for_all_ranks)
{
	const double equal[2] = { 0, 0 };
	add_job(2);
	begin(40);
	run(PID, 2, 300, equal, 0, 0);
	end();
	begin(42);
	add_rank(PID, 0, true);
	add_rank(PID + 1, 1, true);
	end();
	begin(55);
	add_rank(PID + 10, 0, false);
	add_rank(PID + 11, 1, false);
	run(PID + 10, 2, 30, equal, 0, 49.9);
	end();
	wait_until(60);
	/* From #299, the last one that is known to be over, at 29.9 s to the first at 50 s. */
	ck_assert_uint_eq(lost.count, 1);
	ck_assert_int_eq(lost.rows[0].cause, LOST_RESTART);
	ck_assert_int_eq(lost.rows[0].rank, -1);
	assert_near(lost.rows[0].seconds, 2 * 20.1);
	ck_assert_str_eq(lost_words_rank(&lost.rows[0], words), "all ranks");
}
END_TEST

/* As a recording is replayed: from the bytes of the same records. */
START_TEST(json_report_and_replay_have_the_same)
{
	const double late_s[4] = { 0, 0, 0.2, 0 };
	struct buffer bytes = { 0 }, out = { 0 };
	struct codec_numbers numbers;
	uint64_t unknown = 0;
	struct sample_set copy = SAMPLE_SET_INIT;
	struct alerts alerts = { 0 };
	add_job(4);
	begin(10);
	for (int i = 0; i < 4; i++)
		add_rank(PID + i, i, false);
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_GROUP, 0, set.time_ns);
	record->collective_group.id = 1;
	record->collective_group.name = "0";
	run(PID, 4, 31, late_s, 0, 0);
	codec_write(&set, 0, SIZE_MAX, &bytes);
	codec_own_numbers(&numbers);
	ck_assert(codec_read((const unsigned char *)bytes.data, bytes.length, &numbers, set.time_ns, &copy, &unknown));
	copy.time_ns = set.time_ns;
	model_free(model);
	model = model_new_default();
	model_apply(model, &copy);
	wait_until(12);
	lost_time_as_table(&out, model);
	ck_assert_ptr_nonnull(strstr(out.data, "LOST TIME: 17.4 of 34.8 rank-seconds (50 %)"));
	ck_assert_ptr_nonnull(strstr(out.data, "straggler"));
	ck_assert_ptr_nonnull(strstr(out.data, "without rank 2's delays the run would be 3.0 × as fast\n"));
	out.length = 0;
	export_json(&out, model, &alerts, -1, 1);
	ck_assert_ptr_nonnull(strstr(out.data,
		"\"causes\":[{\"cause\":\"straggler\",\"rank\":2,\"pid\":702,\"seconds\":17.4,\"share_ratio\":0.5}],"
		"\"without\":{\"rank\":2,\"pid\":702,\"speedup_ratio\":3,"));
	sample_set_release(&copy);
	buffer_release(&bytes);
	buffer_release(&out);
}
END_TEST

/* -- published ranks without a flight recorder -- */

enum { PUBLISHED = 4, PUBLISHED_STEPS = 120 };

/* Each step all wait for the last one in "allreduce"; rank 2 loads data for `late_s` longer in every other step.
 * Returns the mean step. */
static double run_published(double late_s, double allreduce_s)
{
	struct rank_group group;
	uint32_t random = 7;
	double step_s = 0;
	rank_group_open(&group, model, BASE_S * NS_PER_S);
	for (int i = 0; i < PUBLISHED; i++)
		rank_group_add(&group, i, PUBLISHED, "job", PID + i);
	rank_group_apply(&group, 0.01);
	for (unsigned k = 0; k < PUBLISHED_STEPS; k++) {
		double data_s[PUBLISHED], last_s = 0;
		for (int i = 0; i < PUBLISHED; i++) {
			random = random * 1664525 + 1013904223;
			data_s[i] = 0.02 + 0.004 * (double)(random >> 16) / 65536 + (i == 2 && k % 2 ? late_s : 0);
			last_s = fmax(last_s, data_s[i]);
		}
		for (unsigned i = 0; i < PUBLISHED; i++)
			rank_group_step(&group, i,
				(struct rank_group_step){ .data_s = data_s[i],
					.forward_s = 0.05,
					.backward_s = 0.03,
					.allreduce_s = allreduce_s > 0 ? allreduce_s + last_s - data_s[i] : 0,
					.optimizer_s = 0.005 });
		step_s += (last_s + 0.085 + allreduce_s) / PUBLISHED_STEPS;
	}
	rank_group_apply(&group, step_s * PUBLISHED_STEPS + 1);
	rank_group_close(&group);
	lost_time_measure(model, &lost);
	return step_s;
}

START_TEST(steps_of_published_ranks_say_who_is_waited_for_and_what_a_step_would_take)
{
	double late_s = run_published(0.08, 0.01);
	struct lost_time with = lost;
	model_free(model);
	model = model_new_default();
	double healthy_s = run_published(0, 0.01);
	ck_assert(with.is_known && !with.is_device);
	ck_assert_int_eq(with.rows[0].who.number, 2);
	ck_assert_int_eq(with.rows[0].who.pid, PID + 2);
	ck_assert_int_eq(with.rows[0].cause, LOST_DATA);
	/* Every other step three ranks wait for 0.08 s; the first step is the warm-up, the last has not ended. */
	ck_assert_double_eq_tol(with.rows[0].seconds, 59 * 3 * 0.08, 0.5);
	ck_assert_double_eq_tol(with.rank_seconds, 118 * PUBLISHED * late_s, 0.5);
	ck_assert_int_eq(with.without_who.number, 2);
	ck_assert_double_eq_tol(with.step_s, healthy_s, 0.02 * healthy_s);
	ck_assert_double_eq_tol(with.speedup_ratio, late_s / healthy_s, 0.03);
	ck_assert_ptr_nonnull(strstr(lost_words_without(&with, words), "without rank 2's delays a step would take "));
	ck_assert_int_eq(lost.without, -1);
	ck_assert_double_lt(lost.lost_s / lost.rank_seconds, 0.03);
}
END_TEST

START_TEST(ranks_that_do_not_wait_for_each_other_lose_nothing)
{
	run_published(0.2, 0);
	ck_assert(!lost.is_known);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lost_time");
	TCase *tests = tcase_create("lost_time");
	tcase_add_checked_fixture(tests, open_model, close_model);
	tcase_add_test(tests, seconds_of_a_straggler_are_exact);
	tcase_add_test(tests, time_in_which_two_are_missing_counts_for_both);
	tcase_add_test(tests, ranks_that_are_late_in_turn_have_no_step_without_one);
	tcase_add_test(tests, asynchronous_collectives_are_waited_for_once);
	tcase_add_test(tests, nothing_is_known_of_few_collectives_and_nothing_lost_by_equal_ranks);
	tcase_add_test(tests, long_delay_is_a_stall_and_changes_no_step);
	tcase_add_test(tests, stall_that_has_not_ended_counts);
	tcase_add_test(tests, checkpoint_is_known_by_the_stack);
	tcase_add_test(tests, restart_counts_for_all_ranks);
	tcase_add_test(tests, json_report_and_replay_have_the_same);
	tcase_add_test(tests, steps_of_published_ranks_say_who_is_waited_for_and_what_a_step_would_take);
	tcase_add_test(tests, ranks_that_do_not_wait_for_each_other_lose_nothing);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
