/* Ranks that have used up their inputs and wait in torch's Join: the others are not late for them. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/explain/collective_words.h"
#include "tests/support/model_parts.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { PID = 700, BASE_S = 5000, RANKS = 3, STEP = 1, JOIN, REDUCE };
static const double step_s = 0.1, seconds_s = 20;
static double begins_s; /* sampling stacks */

static struct model *model;
static struct sample_set set;
static char words[COLLECTIVE_WORDS_SIZE];

static int64_t at_ns(double at_s) { return BASE_S * NS_PER_S + (int64_t)(at_s * (double)NS_PER_S); }

static struct record *add(enum record_kind kind) { return sample_set_add(&set, kind, 0, set.time_ns); }

static uint32_t node_of(uint32_t rank, uint32_t code) { return rank * 3 + code; }

static void open_job(void)
{
	model = model_new_default();
	set = (struct sample_set)SAMPLE_SET_INIT;
	set.time_ns = at_ns(0);
	fill_code(add(RECORD_CODE), STEP, "train", "/home/me/train.py", true);
	fill_code(add(RECORD_CODE), JOIN, "Join.__exit__", "/x/site-packages/torch/distributed/algorithms/join.py", false);
	fill_code(add(RECORD_CODE), REDUCE, "all_reduce", "/x/site-packages/torch/distributed/distributed_c10d.py", false);
	for (uint32_t i = 0; i < RANKS; i++) {
		struct record *rank = add(RECORD_COLLECTIVE_RANK);
		rank->collective_rank.pid = PID + (int32_t)i;
		rank->collective_rank.rank = (int32_t)i;
		rank->collective_rank.world_size = RANKS;
		fill_code_group(add(RECORD_CODE_GROUP), i + 1, PID + (int32_t)i, 10, 10, 1);
		fill_code_node(add(RECORD_CODE_NODE), node_of(i, STEP), 0, i + 1, STEP, 5, "step()");
		fill_code_node(add(RECORD_CODE_NODE), node_of(i, JOIN), node_of(i, STEP), i + 1, JOIN, 265, NULL);
		fill_code_node(add(RECORD_CODE_NODE), node_of(i, REDUCE), node_of(i, JOIN), i + 1, REDUCE, 900, NULL);
	}
	struct record *op = add(RECORD_COLLECTIVE_OP), *group = add(RECORD_COLLECTIVE_GROUP);
	op->collective_op.id = 1;
	op->collective_op.name = "gloo:all_reduce";
	group->collective_group.id = 1;
	group->collective_group.name = "0";
	group->collective_group.description = "default_pg";
	model_apply(model, &set);
}

static void close_job(void)
{
	sample_set_release(&set);
	model_free(model);
}

static void enter(uint32_t rank, uint64_t sequence, double at_s)
{
	struct collective_row *row = sample_set_allocate(&set, sizeof *row);
	*row = (struct collective_row){ 1, 1, sequence, at_ns(at_s) };
	struct record *record = add(RECORD_COLLECTIVES);
	record->collectives.pid = PID + (int32_t)rank;
	record->collectives.state = 'S';
	record->collectives.throttled_s = NAN;
	record->collectives.rows = row;
	record->collectives.count = 1;
}

/* One step each 0.1 s. A rank in Join enters its collective at once, the others at its end. Ranks from `joins` on are
 * in Join from from_s to to_s of each epoch; each is sampled once a second. */
static void run_epochs(uint32_t joins, double from_s, double to_s, double epoch_s)
{
	double samples_s[RANKS][REDUCE + 1] = { { 0 } };
	open_job();
	for (uint64_t i = 1; (double)i * step_s < seconds_s; i++) {
		double at_s = (double)i * step_s;
		sample_set_clear(&set);
		set.time_ns = at_ns(at_s + 0.05);
		for (uint32_t rank = 0; rank < RANKS; rank++) {
			bool is_joined = rank >= joins && fmod(at_s, epoch_s) >= from_s && fmod(at_s, epoch_s) < to_s;
			enter(rank, i, at_s + (is_joined ? -0.09 : 1e-4 * rank));
			uint32_t code = is_joined ? REDUCE : STEP;
			if (i % 10 == 9 && at_s >= begins_s)
				fill_code_time(add(RECORD_CODE_TIME), node_of(rank, code), samples_s[rank][code] += 1);
		}
		model_apply(model, &set);
	}
}

static void run(uint32_t joins, double from_s, double to_s) { run_epochs(joins, from_s, to_s, seconds_s); }

static int straggler(void)
{
	struct collective_pace pace;
	collectives_slowest(model, &pace);
	return pace.straggler;
}

static double lost_s(void)
{
	struct lost_time lost;
	lost_time_measure(model, &lost);
	ck_assert(lost.is_known);
	ck_assert_int_eq(lost.without, -1);
	return lost.lost_s;
}

START_TEST(others_are_not_late_for_a_rank_in_join)
{
	run(2, 5, seconds_s);
	ck_assert_int_eq(straggler(), -1);
	ck_assert_str_eq(
		collective_words_verdict(model, words), "rank 2 has no more inputs: it waits in Join for the others");
	ck_assert(lost_s() < 0.2);
	close_job();
	/* Only rank 0 has inputs. */
	run(1, 5, seconds_s);
	ck_assert_int_eq(straggler(), -1);
	ck_assert_str_eq(
		collective_words_verdict(model, words), "ranks 1, 2 have no more inputs: they wait in Join for the others");
	ck_assert(lost_s() < 0.2);
	close_job();
}
END_TEST

START_TEST(pmtop_that_comes_while_a_rank_is_in_join_accuses_none)
{
	run(1, 0, seconds_s);
	ck_assert_int_eq(straggler(), -1);
	close_job();
}
END_TEST

/* Its ring has the epochs before: the stacks of that time are unknown. */
START_TEST(epochs_before_pmtop_came_accuse_none)
{
	begins_s = 12;
	run_epochs(2, 3, 6, 6);
	ck_assert_int_eq(straggler(), -1);
	begins_s = 0;
	close_job();
}
END_TEST

START_TEST(time_that_is_counted_late_does_not_end_join)
{
	run(2, 5, seconds_s);
	sample_set_clear(&set);
	set.time_ns += NS_PER_S;
	fill_code_time(add(RECORD_CODE_TIME), node_of(2, STEP), 100);
	model_apply(model, &set);
	ck_assert_str_eq(
		collective_words_verdict(model, words), "rank 2 has no more inputs: it waits in Join for the others");
	close_job();
}
END_TEST

START_TEST(rank_that_left_join_counts_again)
{
	run(1, 5, 10);
	ck_assert_str_eq(collective_words_verdict(model, words), "");
	ck_assert_int_eq(straggler(), -1);
	close_job();
}
END_TEST

START_TEST(earlier_epochs_in_join_accuse_none)
{
	run_epochs(2, 3, 6, 6);
	ck_assert_int_eq(straggler(), -1);
	ck_assert_double_lt(lost_s(), 3 * 0.2);
	close_job();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("joined");
	TCase *tests = tcase_create("all");
	tcase_add_test(tests, others_are_not_late_for_a_rank_in_join);
	tcase_add_test(tests, pmtop_that_comes_while_a_rank_is_in_join_accuses_none);
	tcase_add_test(tests, epochs_before_pmtop_came_accuse_none);
	tcase_add_test(tests, time_that_is_counted_late_does_not_end_join);
	tcase_add_test(tests, rank_that_left_join_counts_again);
	tcase_add_test(tests, earlier_epochs_in_join_accuse_none);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
