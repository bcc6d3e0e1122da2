/* A slow step that waited for another rank: which one, in which collective, and in which line that rank was. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/collective_words.h"
#include "src/model/ranks/ranks.h"
#include "src/model/run/steps/flagged.h"
#include "tests/support/model_parts.h"
#include "tests/support/rank_group.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { RANKS = 3, PID = 700, STEPS = 60, SLOW = 40, OP_REDUCE = 1, OP_GATHER = 2, WORLD = 1, PAIR = 2 };
static const int64_t base_ns = 5000 * NS_PER_S;
static const double own_s = 0.01, sync_s = 0.09, delay_s = 0.4;

static struct model *model;
static struct rank_group ranks;
static unsigned runs[RANKS];
static bool has_recorder;

static int64_t time_at(double at_s) { return base_ns + (int64_t)(at_s * 1e9); }

static struct record *add(enum record_kind kind, double at_s)
{
	struct record *record = sample_set_add(&ranks.set, kind, 0, time_at(at_s));
	ck_assert_ptr_nonnull(record);
	return record;
}

static void add_op(uint32_t id, const char *name)
{
	struct record *record = add(RECORD_COLLECTIVE_OP, 0);
	record->collective_op.id = id;
	record->collective_op.name = name;
	record->collective_op.sizes = "[1000]";
}

static void add_group(uint32_t id, const char *name)
{
	struct record *record = add(RECORD_COLLECTIVE_GROUP, 0);
	record->collective_group.id = id;
	record->collective_group.name = name;
	record->collective_group.description = name;
}

static void open_job(void)
{
	has_recorder = true;
	model = model_new_default();
	rank_group_open(&ranks, model, base_ns);
	for (int i = 0; i < RANKS; i++) {
		runs[i] = rank_group_add(&ranks, i, RANKS, "run", PID + i);
		struct record *record = add(RECORD_COLLECTIVE_RANK, 0);
		record->collective_rank.pid = PID + i;
		record->collective_rank.rank = i;
		record->collective_rank.world_size = RANKS;
	}
	struct record *seen = add(RECORD_PROCESS_SEEN, 0);
	seen->process.pid = PID;
	seen->process.parent = 1;
	seen->process.command = "python train.py";
	seen->process.is_target = true;
	add_op(OP_REDUCE, "gloo:all_reduce");
	add_op(OP_GATHER, "gloo:all_gather");
	add_group(WORLD, "world");
	add_group(PAIR, "pair");
	rank_group_apply(&ranks, 0);
}

static void close_job(void)
{
	rank_group_close(&ranks);
	model_free(model);
}

static void enter(int rank, uint32_t group, uint32_t op, uint64_t sequence, double at_s, double read_s)
{
	struct collective_row *row = sample_set_allocate(&ranks.set, sizeof *row);
	*row = (struct collective_row){ group, op, sequence, time_at(at_s) };
	struct record *record = add(RECORD_COLLECTIVE_STATE, read_s);
	record->collective_state.pid = PID + rank;
	record->collective_state.group = group;
	record->collective_state.enqueued = record->collective_state.completed = (int64_t)sequence;
	record->collective_state.started = -1;
	record = add(RECORD_COLLECTIVES, read_s);
	record->collectives.pid = PID + rank;
	record->collectives.state = 'S';
	record->collectives.throttled_s = NAN;
	record->collectives.rows = row;
	record->collectives.count = 1;
}

static void add_samples(int rank, uint32_t line, double from_s, double to_s, uint32_t count)
{
	fill_code(add(RECORD_CODE, to_s), 1, "pause", "/home/me/train.py", true);
	fill_code_group(add(RECORD_CODE_GROUP, to_s), (uint32_t)rank + 1, PID + rank, 10, 10, 1);
	fill_code_node(add(RECORD_CODE_NODE, to_s), line, 0, (uint32_t)rank + 1, 1, line, "time.sleep(seconds)");
	struct record *record = add(RECORD_CODE_SAMPLES, to_s);
	record->code_samples.node = line;
	record->code_samples.count = count;
	record->code_samples.begin_ns = time_at(from_s);
}

/* All ranks take a step and meet at its end; before it, ranks that are late are so by `late_s`. */
static double step(uint64_t number, double begin_s, const double late_s[RANKS])
{
	double last_s = 0;
	for (int i = 0; i < RANKS; i++)
		last_s = fmax(last_s, late_s[i]);
	double end_s = begin_s + own_s + last_s + sync_s;
	for (int i = 0; i < RANKS; i++) {
		if (has_recorder)
			enter(i, WORLD, OP_REDUCE, number + 1, begin_s + own_s + late_s[i], end_s);
		rank_group_step(&ranks, runs[i],
			(struct rank_group_step){ .forward_s = own_s + late_s[i], .backward_s = last_s - late_s[i] + sync_s });
	}
	rank_group_figure(&ranks, end_s, METRIC_PROCESS_STATE, PID, 'S');
	return end_s;
}

static void finish(double at_s)
{
	for (int i = 1; i <= 3; i++) {
		for (int k = 0; k < RANKS; k++) {
			struct record *record = add(RECORD_COLLECTIVES, at_s + i);
			record->collectives.pid = PID + k;
			record->collectives.state = 'S';
			record->collectives.throttled_s = NAN;
		}
		rank_group_figure(&ranks, at_s + i, METRIC_PROCESS_STATE, PID, 'S');
		rank_group_apply(&ranks, at_s + i);
	}
}

static const struct cause *cause_of(int rank)
{
	const struct run *run = &model->runs[runs[rank]];
	ck_assert_uint_eq(run->flagged_count, 1);
	ck_assert_uint_eq(run->flagged[0].batch.index, SLOW);
	const struct explanation *why = flagged_explanation(&run->flagged[0]);
	ck_assert_uint_ge(why->cause_count, 1);
	return &why->causes[0];
}

START_TEST(the_rank_that_a_slow_step_waited_for_is_named_with_its_line)
{
	static const double none[RANKS] = { 0 }, late[RANKS] = { 0, 0.4, 0 };
	double at_s = 0;
	for (uint64_t i = 0; i < STEPS; i++) {
		double begin_s = at_s;
		at_s = step(i, at_s, i == SLOW ? late : none);
		if (i == SLOW)
			add_samples(1, 40, begin_s + 0.02, begin_s + 0.38, 10);
		rank_group_apply(&ranks, at_s);
	}
	finish(at_s);
	const struct cause *cause = cause_of(0);
	ck_assert_str_eq(
		cause->what, "backward: waited for rank 1 in all_reduce; rank 1 was in `time.sleep(seconds)`, train.py:40");
	ck_assert_str_eq(cause->next, "rank 1: remove this sleep, or wait for an event instead");
	ck_assert_double_eq_tol(cause->excess_s, delay_s, 1e-3);
	ck_assert_double_eq_tol(cause->share_ratio, 1, 1e-3);
	ck_assert_str_eq(cause->rank, "rank 1");
	ck_assert_uint_eq(cause->line, 40);
	ck_assert_ptr_null(strstr(cause_of(1)->what, "waited"));
}
END_TEST

/* Steps wait for rank 1 as long as ever; rank 0 is slow by itself in one. */
START_TEST(a_usual_wait_is_no_cause)
{
	static const double usual[RANKS] = { 0, 0.05, 0 }, late[RANKS] = { 0.4, 0.05, 0 };
	double at_s = 0;
	for (uint64_t i = 0; i < STEPS; i++) {
		at_s = step(i, at_s, i == SLOW ? late : usual);
		rank_group_apply(&ranks, at_s);
	}
	finish(at_s);
	ck_assert_ptr_null(strstr(cause_of(0)->what, "waited"));
	ck_assert_str_eq(cause_of(2)->what, "backward: waited for rank 0 in all_reduce");
}
END_TEST

/* Rank 1 is late in the world because rank 2 was late in their own group. */
START_TEST(a_rank_that_waited_itself_is_passed_over)
{
	static const double none[RANKS] = { 0 }, late[RANKS] = { 0, 0.402, 0.401 };
	double at_s = 0;
	for (uint64_t i = 0; i < STEPS; i++) {
		double begin_s = at_s;
		enter(1, PAIR, OP_GATHER, i + 1, begin_s + 0.002, begin_s + 0.002);
		enter(2, PAIR, OP_GATHER, i + 1, begin_s + 0.002 + (i == SLOW ? 0.4 : 0), begin_s + 0.5);
		at_s = step(i, at_s, i == SLOW ? late : none);
		rank_group_apply(&ranks, at_s);
	}
	finish(at_s);
	ck_assert_str_eq(cause_of(0)->what, "backward: waited for rank 2 in all_reduce");
}
END_TEST

/* Its steps are published, and no collective is known. */
START_TEST(without_a_flight_recorder_the_published_phases_name_the_rank)
{
	static const double none[RANKS] = { 0 }, late[RANKS] = { 0, 0, 0.4 };
	double at_s = 0;
	has_recorder = false;
	for (uint64_t i = 0; i < STEPS; i++) {
		at_s = step(i, at_s, i == SLOW ? late : none);
		rank_group_apply(&ranks, at_s);
	}
	finish(at_s);
	ck_assert_str_eq(cause_of(0)->what, "backward: waited for rank 2; rank 2 was in forward");
	ck_assert_ptr_null(strstr(cause_of(2)->what, "waited"));
}
END_TEST

/* Rank 1 is in the middle of its step, as in a validation; the others wait for it. */
START_TEST(ranks_that_wait_in_a_collective_do_not_hang)
{
	static const double none[RANKS] = { 0 };
	struct ranks compared;
	double at_s = 0;
	for (uint64_t i = 0; i < STEPS; i++) {
		at_s = step(i, at_s, none);
		rank_group_apply(&ranks, at_s);
	}
	for (int i = 0; i < RANKS; i++)
		rank_group_hang(&ranks, runs[i], 0);
	enter(0, WORLD, OP_REDUCE, STEPS + 1, at_s + own_s, at_s + 1);
	enter(2, WORLD, OP_REDUCE, STEPS + 1, at_s + own_s, at_s + 1);
	rank_group_apply(&ranks, at_s + 1);
	for (int i = 2; i < 13; i++) {
		struct record *record = add(RECORD_COLLECTIVES, at_s + i);
		record->collectives.pid = PID + 1;
		record->collectives.state = 'R';
		record->collectives.throttled_s = NAN;
		rank_group_apply(&ranks, at_s + i);
	}
	ranks_compare(model, runs[0], &compared);
	ck_assert_int_eq(compared.list[0].state, RANK_WAITING);
	ck_assert_int_eq(compared.list[1].state, RANK_RUNNING);
	ck_assert_int_eq(compared.list[2].state, RANK_WAITING);
	ck_assert_int_eq(compared.still, -1);
}
END_TEST

/* The main thread of a rank stays in a line, which calls recv() of torch.distributed or nothing. */
static void stay(int rank, uint32_t line, bool receives, double from_s, double to_s)
{
	fill_code(add(RECORD_CODE, to_s), 2, "recv", "/x/site-packages/torch/distributed/distributed_c10d.py", false);
	add_samples(rank, line, from_s, from_s, 1);
	fill_code_node(add(RECORD_CODE_NODE, to_s), line + 1, line, (uint32_t)rank + 1, 2, 900, NULL);
	struct record *record = add(RECORD_CODE_SAMPLES, to_s);
	record->code_samples.node = receives ? line + 1 : line;
	record->code_samples.count = 20;
	record->code_samples.begin_ns = time_at(from_s);
}

START_TEST(ranks_that_hang_in_send_and_receive_say_where_the_late_one_is)
{
	static const double none[RANKS] = { 0 };
	struct ranks compared;
	char words[COLLECTIVE_WORDS_SIZE];
	double at_s = 0;
	has_recorder = false;
	for (uint64_t i = 0; i < STEPS; i++) {
		at_s = step(i, at_s, none);
		rank_group_apply(&ranks, at_s);
	}
	for (int i = 0; i < RANKS; i++) {
		rank_group_hang(&ranks, runs[i], 0);
		stay(i, 10 + 10 * (uint32_t)i, i != 1, at_s + 1, at_s + 9);
	}
	rank_group_apply(&ranks, at_s + 9);
	ck_assert_str_eq(
		collective_words_verdict(model, words), "ranks 0, 2 wait in send or receive; rank 1 is in train.py:20");
	ranks_compare(model, runs[0], &compared);
	ck_assert_int_eq(compared.list[0].state, RANK_WAITING);
	ck_assert_int_eq(compared.list[2].state, RANK_WAITING);
	ck_assert_int_eq(compared.still, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("waited_for");
	TCase *tests = tcase_create("waited_for");
	tcase_add_checked_fixture(tests, open_job, close_job);
	tcase_add_test(tests, the_rank_that_a_slow_step_waited_for_is_named_with_its_line);
	tcase_add_test(tests, a_usual_wait_is_no_cause);
	tcase_add_test(tests, a_rank_that_waited_itself_is_passed_over);
	tcase_add_test(tests, without_a_flight_recorder_the_published_phases_name_the_rank);
	tcase_add_test(tests, ranks_that_wait_in_a_collective_do_not_hang);
	tcase_add_test(tests, ranks_that_hang_in_send_and_receive_say_where_the_late_one_is);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
