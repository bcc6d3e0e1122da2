/* Who keeps the others waiting in a collective, from records of what ranks entered. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/collective_words.h"
#include "src/base/buffer.h"
#include "src/samples/codec.h"
#include "src/samples/codec_read.h"
#include "src/samples/codec_write.h"
#include "tests/support/model_parts.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { PID = 700, BASE_S = 5000, OP_REDUCE = 1, OP_BROADCAST = 2, OP_LARGER = 3, RANKS_MAX = 4 };

static struct model *model;
static struct sample_set set;
static struct collective_judgement judgement;
static char words[COLLECTIVE_WORDS_SIZE];

static int64_t at_ns(double at_s) { return BASE_S * NS_PER_S + (int64_t)(at_s * (double)NS_PER_S); }

static void begin(double at_s)
{
	sample_set_clear(&set);
	set.time_ns = at_ns(at_s);
}

static void end(void) { model_apply(model, &set); }

static void add_rank(int rank, unsigned world, bool is_gone)
{
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_RANK, 0, set.time_ns);
	record->collective_rank.pid = PID + rank;
	record->collective_rank.rank = rank;
	record->collective_rank.world_size = world;
	record->collective_rank.is_gone = is_gone;
}

static void add_op(uint32_t id, const char *name, const char *sizes)
{
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_OP, 0, set.time_ns);
	record->collective_op.id = id;
	record->collective_op.name = name;
	record->collective_op.sizes = sizes;
}

static void add_group(uint32_t id, const char *name, const char *description)
{
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_GROUP, 0, set.time_ns);
	record->collective_group.id = id;
	record->collective_group.name = name;
	record->collective_group.description = description;
}

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

static void add_job(int ranks)
{
	begin(0);
	for (int i = 0; i < ranks; i++)
		add_rank(i, (unsigned)ranks, false);
	add_op(OP_REDUCE, "gloo:all_reduce", "[1000]");
	add_op(OP_BROADCAST, "gloo:broadcast", "[1000]");
	add_op(OP_LARGER, "gloo:all_reduce", "[1001]");
	add_group(1, "0", "default_pg");
	end();
}

/* A rank enters collectives from..to of a group, one each `each_s` from at_s on, and has completed `completed`. */
static void enter(
	int rank, uint32_t group, uint32_t op, uint64_t from, uint64_t to, double at_s, double each_s, int64_t completed)
{
	size_t count = to >= from ? (size_t)(to - from + 1) : 0;
	struct collective_row *rows = sample_set_allocate(&set, (count + 1) * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct collective_row){ group, op, from + i, at_ns(at_s + (double)i * each_s) };
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_STATE, 0, set.time_ns);
	record->collective_state.pid = PID + rank;
	record->collective_state.group = group;
	record->collective_state.enqueued = (int64_t)to;
	record->collective_state.started = -1;
	record->collective_state.completed = completed;
	record = sample_set_add(&set, RECORD_COLLECTIVES, 0, set.time_ns);
	record->collectives.pid = PID + rank;
	record->collectives.state = 'S';
	record->collectives.throttled_s = NAN;
	record->collectives.rows = count ? rows : NULL;
	record->collectives.count = count;
}

/* Readings without anything new. */
static void read_again(double at_s, int ranks)
{
	begin(at_s);
	for (int i = 0; i < ranks; i++) {
		struct record *record = sample_set_add(&set, RECORD_COLLECTIVES, 0, set.time_ns);
		record->collectives.pid = PID + i;
		record->collectives.state = 'S';
	}
	end();
}

static void sample_line(int rank, double at_s, uint32_t line, bool is_checkpoint)
{
	begin(at_s);
	fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), 1, "train", "/home/me/train.py", true);
	fill_code(
		sample_set_add(&set, RECORD_CODE, 0, set.time_ns), 2, "save", "/x/site-packages/torch/serialization.py", false);
	fill_code_group(sample_set_add(&set, RECORD_CODE_GROUP, 0, set.time_ns), 1, PID + rank, 10, 10, 1);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), line, 0, 1, 1, line, "load()");
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), line + 1, line, 1, 2, 900, NULL);
	struct record *record = sample_set_add(&set, RECORD_CODE_SAMPLES, 0, set.time_ns);
	record->code_samples.node = is_checkpoint ? line + 1 : line;
	record->code_samples.count = 1;
	record->code_samples.begin_ns = set.time_ns;
	end();
}

static const char *judge(void)
{
	collectives_judge(model, &judgement);
	return collective_words(model, &judgement, words);
}

/* All ranks entered 1..30, one each 0.1 s. */
static void run_together(int ranks)
{
	add_job(ranks);
	begin(3);
	for (int i = 0; i < ranks; i++)
		enter(i, 1, OP_REDUCE, 1, 30, 0, 0.1, 30);
	end();
}

START_TEST(nothing_is_said_of_ranks_that_are_together)
{
	ck_assert_str_eq(judge(), "");
	run_together(2);
	ck_assert_str_eq(judge(), "");
	read_again(600, 2);
	ck_assert_str_eq(judge(), "");
	ck_assert_str_eq(collective_words_now(model, words), "");
}
END_TEST

START_TEST(rank_that_has_not_entered_is_named_with_its_line)
{
	run_together(2);
	begin(3.5);
	enter(0, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	end();
	sample_line(1, 3.6, 88, false);
	read_again(7.5, 2);
	ck_assert_str_eq(
		judge(), "rank 1 has not entered all_reduce #31 (default_pg): it is in train.py:88; rank 0 has waited 4.4 s");
	ck_assert(!judgement.is_due);
	ck_assert_str_eq(collective_words_verdict(model, words), "");
	read_again(8.2, 2);
	judge();
	ck_assert(judgement.is_due);
	ck_assert_uint_eq(judgement.behind_count, 1);
	ck_assert_str_ne(collective_words_verdict(model, words), "");
}
END_TEST

START_TEST(several_behind_and_a_stopped_one)
{
	run_together(4);
	begin(3.5);
	enter(0, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	enter(2, 1, OP_REDUCE, 31, 31, 3.2, 0, 30);
	end();
	read_again(13.1, 4);
	ck_assert_str_eq(judge(), "ranks 1, 3 have not entered all_reduce #31 (default_pg); the others have waited 10.0 s");
	begin(13.5);
	enter(1, 1, OP_REDUCE, 31, 31, 13.3, 0, 30);
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVES, 0, set.time_ns);
	record->collectives.pid = PID + 3;
	record->collectives.state = 'T';
	end();
	ck_assert_str_eq(judge(),
		"rank 3 has not entered all_reduce #31 (default_pg): it is stopped (SIGSTOP); the others have "
		"waited 10.4 s");
}
END_TEST

START_TEST(rank_that_ended_is_named_until_another_takes_its_place)
{
	run_together(2);
	begin(3.5);
	enter(0, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	add_rank(1, 2, true);
	end();
	read_again(9, 1);
	ck_assert_str_eq(
		judge(), "rank 1 has not entered all_reduce #31 (default_pg): its process has ended; rank 0 has waited 5.9 s");
	begin(9.5);
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_RANK, 0, set.time_ns);
	record->collective_rank.pid = PID + 9;
	record->collective_rank.rank = 1;
	end();
	judge();
	ck_assert_int_eq(judgement.finding, COLLECTIVE_BEHIND);
	begin(9.6);
	record = sample_set_add(&set, RECORD_COLLECTIVE_STATE, 0, set.time_ns);
	record->collective_state.pid = PID + 9;
	record->collective_state.group = 1;
	record->collective_state.enqueued = 31;
	record->collective_state.completed = 31;
	end();
	judge();
	ck_assert_int_ne(judgement.finding, COLLECTIVE_BEHIND);
}
END_TEST

/* Its last reading is older than its last collectives. */
START_TEST(rank_that_ended_at_the_end_of_the_run_is_not_accused)
{
	run_together(2);
	begin(3.5);
	enter(0, 1, OP_REDUCE, 31, 35, 3.1, 0.01, 35);
	add_rank(1, 2, true);
	end();
	read_again(60, 1);
	ck_assert_str_eq(judge(), "");
}
END_TEST

/* gloo's collectives end with an error when another rank ends: the others have completed what it has not entered. */
START_TEST(rank_that_ended_while_several_others_live_is_named)
{
	run_together(3);
	begin(3.5);
	enter(0, 1, OP_REDUCE, 31, 31, 3.1, 0, 31);
	enter(1, 1, OP_REDUCE, 31, 31, 3.1, 0, 31);
	add_rank(2, 3, true);
	end();
	read_again(9, 2);
	judge();
	ck_assert_int_eq(judgement.finding, COLLECTIVE_ENDED);
	ck_assert(!judgement.is_due);
	read_again(14, 2);
	ck_assert_str_eq(
		judge(), "rank 2 has ended: the others have entered nothing after all_reduce #31 (default_pg) for 10.5 s");
	ck_assert(judgement.is_due);
}
END_TEST

/* Ranks 0 1 and 2 3 work on a stage each: rank 3 fails when rank 2 ends, and rank 1 waits for it in another group. */
START_TEST(rank_that_ended_is_blamed_for_those_that_failed_with_it)
{
	add_job(4);
	begin(3);
	add_group(2, "1", "stage 1");
	add_group(3, "2", "replica 1");
	for (int i = 2; i < 4; i++)
		enter(i, 2, OP_REDUCE, 1, 30, 0, 0.1, 30);
	for (int i = 1; i < 4; i += 2)
		enter(i, 3, OP_REDUCE, 1, 30, 0, 0.1, 30);
	end();
	begin(3.5);
	enter(1, 3, OP_REDUCE, 31, 31, 3.1, 0, 30);
	enter(3, 2, OP_REDUCE, 31, 31, 3.1, 0, 31);
	add_rank(2, 4, true);
	end();
	read_again(9, 4);
	ck_assert_str_eq(judge(), "rank 2 has ended: rank 3 has entered nothing after all_reduce #31 (stage 1) for 5.5 s");
	ck_assert(judgement.is_due);
}
END_TEST

START_TEST(checkpoint_and_first_collectives_are_healthy)
{
	run_together(2);
	begin(3.5);
	enter(1, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	end();
	sample_line(0, 30, 12, true);
	read_again(40, 2);
	judge();
	ck_assert_int_eq(judgement.finding, COLLECTIVE_BEHIND);
	ck_assert(!judgement.is_due);
	read_again(604, 2);
	judge();
	ck_assert(judgement.is_due);
	ck_assert_int_eq(judgement.phase, CODE_PHASE_CHECKPOINT);
}
END_TEST

/* Rank 1 validates for 20 s, line after line; then it stays in one line. */
START_TEST(rank_that_works_is_healthy_and_one_that_hangs_in_a_line_is_not)
{
	run_together(2);
	begin(9);
	enter(0, 1, OP_REDUCE, 31, 31, 8, 0.1, 30);
	end();
	for (uint32_t i = 0; i < 60; i++)
		sample_line(1, 8 + i / 3.0, 20 + 2 * (i % 12), false);
	read_again(28, 2);
	judge();
	ck_assert_int_eq(judgement.finding, COLLECTIVE_BEHIND);
	ck_assert(!judgement.is_due && judgement.patience_s == 60);
	for (uint32_t i = 0; i < 15; i++)
		sample_line(1, 28.1 + i / 3.0, 24, false);
	read_again(33, 2);
	judge();
	ck_assert(judgement.is_due);
}
END_TEST

/* As a validation that stays in one long call. */
START_TEST(rank_that_runs_is_healthy_and_one_that_sleeps_is_not)
{
	run_together(2);
	begin(3.5);
	enter(0, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	end();
	for (int i = 0; i < 40; i++) {
		begin(4 + i / 2.0);
		for (int k = 0; k < 2; k++) {
			struct record *record = sample_set_add(&set, RECORD_COLLECTIVES, 0, set.time_ns);
			record->collectives.pid = PID + k;
			record->collectives.state = k == 1 && i < 30 ? 'R' : 'S';
		}
		end();
		judge();
		ck_assert(judgement.is_due == (i >= 32));
	}
}
END_TEST

START_TEST(first_collectives_have_more_time)
{
	add_job(2);
	begin(1);
	enter(0, 1, OP_REDUCE, 1, 3, 0, 0.1, 2);
	enter(1, 1, OP_REDUCE, 1, 2, 0, 0.1, 2);
	end();
	read_again(50, 2);
	judge();
	ck_assert(!judgement.is_due);
	read_again(61, 2);
	judge();
	ck_assert(judgement.is_due);
}
END_TEST

START_TEST(wait_that_occurred_before_is_no_news)
{
	run_together(2);
	begin(35);
	enter(0, 1, OP_REDUCE, 31, 32, 3.1, 31, 31);
	enter(1, 1, OP_REDUCE, 31, 31, 33, 0, 31);
	end();
	read_again(60, 2);
	judge();
	ck_assert_int_eq(judgement.finding, COLLECTIVE_BEHIND);
	ck_assert(!judgement.is_due);
	read_again(80, 2);
	judge();
	ck_assert(judgement.is_due);
}
END_TEST

START_TEST(process_that_cannot_be_read_is_not_accused)
{
	run_together(2);
	begin(3.5);
	enter(0, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	end();
	begin(60);
	end();
	judge();
	ck_assert(!judgement.is_due);
	ck_assert(judgement.waited_s < 1);
}
END_TEST

START_TEST(unusual_operation_of_two_is_the_odd_one)
{
	run_together(2);
	begin(3.5);
	enter(0, 1, OP_BROADCAST, 31, 31, 3.1, 0, 30);
	enter(1, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	end();
	ck_assert_str_eq(judge(), "rank 0 entered broadcast as #31 of default_pg, rank 1 all_reduce");
}
END_TEST

START_TEST(other_operation_and_other_size_are_mismatches)
{
	run_together(2);
	begin(3.5);
	enter(0, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	enter(1, 1, OP_BROADCAST, 31, 31, 3.1, 0, 30);
	end();
	ck_assert_str_eq(judge(), "rank 1 entered broadcast as #31 of default_pg, rank 0 all_reduce");
	ck_assert(judgement.is_due);
	close_model();
	open_model();
	run_together(3);
	begin(3.5);
	enter(0, 1, OP_LARGER, 31, 31, 3.1, 0, 30);
	enter(1, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	enter(2, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	end();
	ck_assert_str_eq(judge(), "rank 0 entered all_reduce [1001] as #31 of default_pg, the others all_reduce [1000]");
}
END_TEST

START_TEST(collective_that_all_entered_and_that_does_not_complete_is_slow)
{
	run_together(2);
	begin(3.5);
	enter(0, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	enter(1, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	end();
	read_again(8, 2);
	judge();
	ck_assert(!judgement.is_due);
	read_again(15.1, 2);
	ck_assert_str_eq(judge(), "all 2 ranks entered all_reduce #31 (default_pg): not completed for 12.0 s");
	ck_assert(judgement.is_due);
	begin(15.2);
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVES, 0, set.time_ns);
	record->collectives.pid = PID + 1;
	record->collectives.state = 'T';
	end();
	ck_assert_str_eq(judge(), "rank 1 is stopped (SIGSTOP) in all_reduce #31 (default_pg); rank 0 has waited 12.1 s");
}
END_TEST

START_TEST(rank_that_waits_in_another_group_is_not_to_blame)
{
	run_together(3);
	begin(3.2);
	add_group(2, "1", "undefined");
	end();
	begin(3.5);
	/* Rank 2 hangs; rank 1 waits for it in group 2, and rank 0 for both in group 1. */
	enter(1, 2, OP_REDUCE, 1, 12, 3, 0.01, 11);
	enter(2, 2, OP_REDUCE, 1, 11, 3, 0.01, 11);
	enter(0, 1, OP_REDUCE, 31, 31, 3.05, 0, 30);
	end();
	read_again(20, 3);
	ck_assert_str_eq(judge(), "rank 2 has not entered all_reduce #12 (1); rank 1 has waited 16.9 s");
}
END_TEST

/* Rank 1 spins from 3.5 s on, in lines 88 to 87 + `lines`; two samples a second, until it is judged late. */
static double judged_late_at(uint32_t lines, bool is_evaluation)
{
	run_together(2);
	begin(3.5);
	enter(0, 1, OP_REDUCE, 31, 31, 3.1, 0, 30);
	end();
	for (int i = 0; i < 200; i++) {
		double at_s = 3.5 + i * 0.5;
		sample_line(1, at_s, 88 + 2 * ((uint32_t)i % lines), is_evaluation);
		begin(at_s + 0.1);
		struct record *record = sample_set_add(&set, RECORD_COLLECTIVES, 0, set.time_ns);
		record->collectives.pid = PID + 1;
		record->collectives.state = 'R';
		end();
		judge();
		if (judgement.is_due)
			return judgement.waited_s;
	}
	return INFINITY;
}

START_TEST(rank_that_spins_in_a_few_lines_is_named_before_one_that_works)
{
	ck_assert_double_eq_tol(judged_late_at(2, false), 15.5, 1);
	close_model();
	open_model();
	ck_assert_double_eq_tol(judged_late_at(1, false), 30.5, 1);
	close_model();
	open_model();
	ck_assert_double_eq_tol(judged_late_at(12, false), 60.5, 1);
	close_model();
	open_model();
	ck_assert_double_eq(judged_late_at(2, true), INFINITY);
}
END_TEST

/* 60 collectives, one each 0.1 s; rank 1 enters all of them, or the 30th, `late_s` later. */
static void run_late(double late_s, bool is_always)
{
	add_job(2);
	begin(7);
	for (uint64_t i = 1; i <= 60; i++) {
		enter(0, 1, OP_REDUCE, i, i, (double)i * 0.1, 0, (int64_t)i);
		enter(1, 1, OP_REDUCE, i, i, (double)i * 0.1 + (is_always || i == 30 ? late_s : 1e-4), 0, (int64_t)i);
	}
	end();
}

START_TEST(straggler_is_named_with_what_it_costs)
{
	struct collective_pace pace;
	run_late(0.05, true);
	collectives_pace(model, 0, &pace);
	ck_assert_int_eq(pace.straggler, 1);
	ck_assert(fabs(pace.late_s - 0.05) < 1e-6 && fabs(pace.last_ratio - 1) < 1e-6);
	ck_assert_double_eq_tol(pace.waited_ratio, 0.5, 0.01);
	ck_assert_str_eq(collective_words_verdict(model, words),
		"rank 1 enters last: the others wait 50.0 ms for it, 50 % of the time (default_pg)");
}
END_TEST

START_TEST(delay_below_a_millisecond_and_one_of_long_ago_make_no_straggler)
{
	struct collective_pace pace;
	run_late(0.05, true);
	read_again(70, 2);
	collectives_pace(model, 0, &pace);
	ck_assert_int_eq(pace.straggler, -1);
	close_model();
	open_model();
	add_job(2);
	begin(3);
	for (uint64_t i = 1; i <= 250; i++) {
		enter(0, 1, OP_REDUCE, i, i, (double)i * 0.005, 0, (int64_t)i);
		enter(1, 1, OP_REDUCE, i, i, (double)i * 0.005 + 0.0009, 0, (int64_t)i);
	}
	end();
	collectives_pace(model, 0, &pace);
	ck_assert_uint_eq(pace.complete, 250);
	ck_assert_int_eq(pace.straggler, -1);
}
END_TEST

START_TEST(one_long_delay_makes_no_straggler)
{
	struct collective_pace pace;
	run_late(4, false);
	collectives_pace(model, 0, &pace);
	ck_assert_int_eq(pace.straggler, -1);
	ck_assert(pace.waited_ratio == 0);
	ck_assert_str_eq(collective_words_verdict(model, words), "");
}
END_TEST

/* Collectives of a step each 0.1 s; rank 1 enters each 20th 0.5 s late, `late` times in all. */
static int straggler_after(int late)
{
	struct collective_pace pace;
	double at_s = 0;
	add_job(2);
	for (uint64_t i = 1; i <= (uint64_t)late * 20; i++) {
		double late_s = i % 20 == 0 ? 0.5 : 0;
		begin(at_s + 0.1 + late_s);
		enter(0, 1, OP_REDUCE, i, i, at_s + 0.1, 0, (int64_t)i);
		enter(1, 1, OP_REDUCE, i, i, at_s + 0.1 + late_s, 0, (int64_t)i);
		end();
		at_s += 0.1 + late_s;
	}
	collectives_pace(model, 0, &pace);
	return pace.straggler;
}

START_TEST(straggler_of_each_20th_step_is_named_after_five_delays)
{
	ck_assert_int_eq(straggler_after(4), -1);
	close_model();
	open_model();
	ck_assert_int_eq(straggler_after(5), 1);
}
END_TEST

/* 250 collectives, one each 20 ms; rank 1 enters each 60th 3 s late, after an evaluation of its own. */
START_TEST(evaluations_of_one_rank_make_no_straggler)
{
	struct collective_pace pace;
	double at_s = 0;
	add_job(2);
	begin(20);
	for (uint64_t i = 1; i <= 250; i++) {
		double late_s = i % 60 == 10 ? 3 : 0;
		enter(0, 1, OP_REDUCE, i, i, at_s + 0.02, 0, (int64_t)i);
		enter(1, 1, OP_REDUCE, i, i, at_s + 0.02 + late_s, 0, (int64_t)i);
		at_s += 0.02 + late_s;
	}
	end();
	collectives_pace(model, 0, &pace);
	ck_assert(pace.waits_ratio[1] > 0.6);
	ck_assert_int_eq(pace.straggler, -1);
}
END_TEST

/* Ranks 0 1 and 2 3 work on a stage each, 0 2 and 1 3 on a replica: 80 steps with a collective in the stage, and one in
 * the replica 0.05 s later. Rank 0 begins each step 0.05 s late. */
static void run_stages(void)
{
	double ready_s[4] = { 0 }, entered_s[4];
	add_job(4);
	begin(15);
	for (uint32_t i = 2; i <= 5; i++)
		add_group(i, "1", (const char *[]){ "stage 0", "stage 1", "replica 0", "replica 1" }[i - 2]);
	for (uint64_t k = 1; k <= 80; k++) {
		for (int i = 0; i < 4; i++) {
			entered_s[i] = ready_s[i] + 0.02 + (i == 0 ? 0.05 : 0);
			enter(i, 2 + (uint32_t)i / 2, OP_REDUCE, k, k, entered_s[i], 0, (int64_t)k);
		}
		for (int i = 0; i < 4; i++)
			ready_s[i] = fmax(entered_s[i], entered_s[i ^ 1]) + 0.05;
		for (int i = 0; i < 4; i++)
			enter(i, 4 + (uint32_t)i % 2, OP_REDUCE, k, k, ready_s[i], 0, (int64_t)k);
		for (int i = 0; i < 4; i++)
			entered_s[i] = fmax(ready_s[i], ready_s[i ^ 2]);
		memcpy(ready_s, entered_s, sizeof ready_s);
	}
	end();
}

/* Rank 1 is as late as rank 0 in its replica, but only because it waited for rank 0 in its stage. */
START_TEST(rank_that_is_late_because_it_waited_in_another_group_is_no_straggler)
{
	struct collective_pace pace;
	struct lost_time lost;
	run_stages();
	ck_assert_int_eq(collectives_slowest(model, &pace), 1);
	ck_assert_int_eq(pace.straggler, 0);
	ck_assert(fabs(pace.late_s - 0.05) < 1e-6);
	collectives_pace(model, 4, &pace);
	ck_assert_int_eq(pace.straggler, -1);
	ck_assert(fabs(pace.skew_s - 0.05) < 1e-6);
	ck_assert(pace.waits_ratio[1] < 0.02);
	read_again(20, 4);
	lost_time_measure(model, &lost);
	ck_assert_uint_eq(lost.count, 1);
	ck_assert_int_eq(lost.rows[0].rank, 0);
	ck_assert_int_eq(lost.without, 0);
}
END_TEST

/* Another stack sample of each rank each 0.05 s: rank 1 in communication, rank 0 in its own code. */
static void sample_ranks(double until_s)
{
	static const char *const files[] = { "/home/me/train.py", "/x/torch/distributed/distributed_c10d.py" };
	begin(0.1);
	for (uint32_t i = 0; i < 2; i++) {
		fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), i + 1, "recv", files[i], i == 0);
		fill_code_group(sample_set_add(&set, RECORD_CODE_GROUP, 0, set.time_ns), i + 1, PID + (int)i, 10, 10, 1);
		fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), i + 1, 0, i + 1, i + 1, 5, NULL);
	}
	end();
	for (double at_s = 0.1; at_s < until_s; at_s += 0.05) {
		begin(at_s);
		for (uint32_t i = 0; i < 2; i++) {
			struct record *record = sample_set_add(&set, RECORD_CODE_SAMPLES, 0, set.time_ns);
			record->code_samples.node = i + 1;
			record->code_samples.count = 1;
			record->code_samples.begin_ns = set.time_ns;
		}
		end();
	}
}

/* gloo's recorder has neither send nor receive: a stage of a pipeline is late because it waits for another one. */
START_TEST(rank_that_is_late_because_it_receives_is_no_straggler)
{
	struct collective_pace pace;
	run_late(0.05, true);
	collectives_pace(model, 0, &pace);
	ck_assert_int_eq(pace.straggler, 1);
	close_model();
	open_model();
	add_job(2);
	sample_ranks(6);
	run_late(0.05, true);
	collectives_pace(model, 0, &pace);
	ck_assert_int_eq(pace.straggler, -1);
	ck_assert(pace.waits_ratio[1] > 0.4);
}
END_TEST

/* Each rank's cgroup, which is new, is throttled for so many seconds in each of 16 seconds. */
static void run_throttled(int from_s, const double ratios[2])
{
	for (int at_s = from_s; at_s < from_s + 16; at_s++) {
		begin(at_s);
		for (int i = 0; i < 2; i++) {
			struct record *record = sample_set_add(&set, RECORD_COLLECTIVES, 0, set.time_ns);
			record->collectives.pid = PID + i;
			record->collectives.state = 'S';
			record->collectives.throttled_s = (at_s - from_s) * ratios[i];
		}
		end();
	}
}

START_TEST(rank_that_a_quota_throttles_is_named)
{
	double ratio, others_ratio;
	run_together(2);
	run_throttled(4, (double[]){ 0.7, 0.1 });
	ck_assert_int_eq(collectives_throttled(model, &ratio, &others_ratio), 0);
	ck_assert(fabs(ratio - 0.7) < 1e-6 && fabs(others_ratio - 0.1) < 1e-6);
	ck_assert_str_eq(
		collective_words_verdict(model, words), "a CPU quota throttles rank 0 70 % of the time, the next rank 10 %");
	run_throttled(24, (double[]){ 0.7, 0.6 }); /* the counters go back: another cgroup, of both */
	ck_assert_int_eq(collectives_throttled(model, &ratio, &others_ratio), -1);
	run_throttled(44, (double[]){ 0.08, 0 });
	ck_assert_int_eq(collectives_throttled(model, &ratio, &others_ratio), -1);
	run_throttled(64, (double[]){ NAN, NAN });
	ck_assert_int_eq(collectives_throttled(model, &ratio, &others_ratio), -1);
	ck_assert(isnan(model->collectives->ranks[0].throttle.recent_ratio));
}
END_TEST

/* Others wait 0.05 s of each 0.1 s or so for rank 1. */
START_TEST(rank_that_is_late_beside_a_throttled_one_is_a_straggler_only_if_it_costs_more)
{
	struct collective_pace pace;
	add_job(2);
	run_late(0.05, true);
	ck_assert_int_eq(collectives_slowest(model, &pace), 0);
	ck_assert_int_eq(pace.straggler, 1);
	run_throttled(10, (double[]){ 0.95, 0 });
	ck_assert_int_eq(collectives_slowest(model, &pace), 0);
	ck_assert_int_eq(pace.straggler, -1);
	run_throttled(30, (double[]){ 0.12, 0 });
	collectives_slowest(model, &pace);
	ck_assert_int_eq(pace.straggler, 1);
}
END_TEST

START_TEST(ranks_without_collectives_are_not_called_healthy)
{
	static const char why[] = "PyTorch does not record gloo's send and receive, nor RPC";
	char expected[COLLECTIVE_WORDS_SIZE];
	begin(0);
	for (int i = 0; i < 2; i++)
		add_rank(i, 2, false);
	end();
	read_again(12, 2);
	snprintf(expected, sizeof expected, "no collectives yet: %s", why);
	ck_assert_str_eq(collective_words_verdict(model, words), expected);
	run_together(2);
	ck_assert_str_eq(collective_words_verdict(model, words), "");
	read_again(64, 2);
	snprintf(expected, sizeof expected, "no collective for 1:01: %s", why);
	ck_assert_str_eq(collective_words_verdict(model, words), expected);
}
END_TEST

START_TEST(group_made_again_begins_anew)
{
	run_together(2);
	begin(10);
	enter(0, 1, OP_BROADCAST, 1, 2, 9, 0.1, 2);
	end();
	begin(10.2);
	enter(1, 1, OP_BROADCAST, 1, 2, 9, 0.1, 2);
	end();
	ck_assert_str_eq(judge(), "");
	ck_assert_int_eq(model->collectives->groups[0].members[0].enqueued, 2);
}
END_TEST

/* A recording has the same records, so the same is said of it. */
START_TEST(recording_says_the_same)
{
	struct buffer bytes = { 0 };
	struct codec_numbers numbers;
	uint64_t unknown = 0;
	struct sample_set copy = SAMPLE_SET_INIT;
	begin(8.2);
	add_rank(0, 2, false);
	add_rank(1, 2, false);
	add_op(OP_REDUCE, "nccl:all_reduce", "[1000]");
	add_group(1, "0", "default_pg");
	enter(0, 1, OP_REDUCE, 1, 31, 0.1, 0.1, 30);
	enter(1, 1, OP_REDUCE, 1, 30, 0.1, 0.1, 30);
	codec_write(&set, 0, SIZE_MAX, &bytes);
	codec_own_numbers(&numbers);
	ck_assert(codec_read((const unsigned char *)bytes.data, bytes.length, &numbers, set.time_ns, &copy, &unknown));
	copy.time_ns = set.time_ns;
	end();
	char live[COLLECTIVE_WORDS_SIZE];
	strcpy(live, judge());
	ck_assert_str_eq(live, "rank 1 has not entered all_reduce #31 (default_pg); rank 0 has waited 5.1 s");
	ck_assert(judgement.is_due);
	model_free(model);
	model = model_new_default();
	model_apply(model, &copy);
	ck_assert_str_eq(judge(), live);
	sample_set_release(&copy);
	buffer_release(&bytes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("collectives");
	TCase *tests = tcase_create("judge");
	tcase_add_checked_fixture(tests, open_model, close_model);
	tcase_add_test(tests, nothing_is_said_of_ranks_that_are_together);
	tcase_add_test(tests, rank_that_has_not_entered_is_named_with_its_line);
	tcase_add_test(tests, several_behind_and_a_stopped_one);
	tcase_add_test(tests, rank_that_ended_is_named_until_another_takes_its_place);
	tcase_add_test(tests, rank_that_ended_at_the_end_of_the_run_is_not_accused);
	tcase_add_test(tests, rank_that_ended_while_several_others_live_is_named);
	tcase_add_test(tests, rank_that_ended_is_blamed_for_those_that_failed_with_it);
	tcase_add_test(tests, checkpoint_and_first_collectives_are_healthy);
	tcase_add_test(tests, rank_that_works_is_healthy_and_one_that_hangs_in_a_line_is_not);
	tcase_add_test(tests, rank_that_runs_is_healthy_and_one_that_sleeps_is_not);
	tcase_add_test(tests, first_collectives_have_more_time);
	tcase_add_test(tests, wait_that_occurred_before_is_no_news);
	tcase_add_test(tests, process_that_cannot_be_read_is_not_accused);
	tcase_add_test(tests, other_operation_and_other_size_are_mismatches);
	tcase_add_test(tests, unusual_operation_of_two_is_the_odd_one);
	tcase_add_test(tests, collective_that_all_entered_and_that_does_not_complete_is_slow);
	tcase_add_test(tests, rank_that_waits_in_another_group_is_not_to_blame);
	tcase_add_test(tests, rank_that_spins_in_a_few_lines_is_named_before_one_that_works);
	tcase_add_test(tests, straggler_is_named_with_what_it_costs);
	tcase_add_test(tests, delay_below_a_millisecond_and_one_of_long_ago_make_no_straggler);
	tcase_add_test(tests, straggler_of_each_20th_step_is_named_after_five_delays);
	tcase_add_test(tests, one_long_delay_makes_no_straggler);
	tcase_add_test(tests, rank_that_is_late_because_it_waited_in_another_group_is_no_straggler);
	tcase_add_test(tests, evaluations_of_one_rank_make_no_straggler);
	tcase_add_test(tests, rank_that_is_late_because_it_receives_is_no_straggler);
	tcase_add_test(tests, rank_that_a_quota_throttles_is_named);
	tcase_add_test(tests, rank_that_is_late_beside_a_throttled_one_is_a_straggler_only_if_it_costs_more);
	tcase_add_test(tests, ranks_without_collectives_are_not_called_healthy);
	tcase_add_test(tests, group_made_again_begins_anew);
	tcase_add_test(tests, recording_says_the_same);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
