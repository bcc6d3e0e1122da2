/* A rank that validates while the others wait in a collective, its loader so slow that all its stacks are equal. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/collective_words.h"
#include "tests/support/model_parts.h"
#include "tests/support/rank_group.h"
#include "tests/support/suite.h"

enum { PID = 700, TOGETHER = 40, VALIDATION = 30 };
#define BASE_NS (5000 * NS_PER_S)

static struct model *model;
static struct rank_group group;
static struct collective_judgement judgement;

static struct record *add(enum record_kind kind, double at_s)
{
	return sample_set_add(&group.set, kind, 0, BASE_NS + (int64_t)(at_s * (double)NS_PER_S));
}

static void enter(int rank, uint64_t sequence, double at_s)
{
	struct collective_row *row = sample_set_allocate(&group.set, sizeof *row);
	*row = (struct collective_row){ 1, 1, sequence, BASE_NS + (int64_t)(at_s * (double)NS_PER_S) };
	struct record *record = add(RECORD_COLLECTIVES, at_s);
	record->collectives.pid = PID + rank;
	record->collectives.state = 'S';
	record->collectives.throttled_s = NAN;
	record->collectives.rows = row;
	record->collectives.count = sequence ? 1 : 0;
}

/* Both train for 4 s; rank 1 then waits for rank 0. */
static void train(void)
{
	model = model_new_default();
	rank_group_open(&group, model, BASE_NS);
	for (int i = 0; i < 2; i++) {
		rank_group_add(&group, i, 2, "run", PID + i);
		struct record *rank = add(RECORD_COLLECTIVE_RANK, 0);
		rank->collective_rank.pid = PID + i;
		rank->collective_rank.rank = i;
		rank->collective_rank.world_size = 2;
	}
	struct record *op = add(RECORD_COLLECTIVE_OP, 0), *pg = add(RECORD_COLLECTIVE_GROUP, 0);
	op->collective_op.id = pg->collective_group.id = 1;
	op->collective_op.name = "gloo:all_reduce";
	pg->collective_group.name = "0";
	pg->collective_group.description = "default_pg";
	for (uint64_t i = 1; i <= TOGETHER; i++)
		for (unsigned rank = 0; rank < 2; rank++) {
			rank_group_step(&group, rank, (struct rank_group_step){ .forward_s = 0.1 });
			enter((int)rank, i, (double)i * 0.1);
		}
	enter(1, TOGETHER + 1, 4.1);
	rank_group_apply(&group, 4.2);
}

static bool is_due_at(double at_s)
{
	for (int rank = 0; rank < 2; rank++)
		enter(rank, 0, at_s);
	rank_group_apply(&group, at_s);
	collectives_judge(model, &judgement);
	ck_assert_int_eq(judgement.finding, COLLECTIVE_BEHIND);
	ck_assert_uint_eq(judgement.behind[0], 0);
	return judgement.is_due;
}

static void close_job(void)
{
	rank_group_close(&group);
	model_free(model);
}

START_TEST(rank_whose_steps_go_on_is_healthy_until_they_end)
{
	train();
	for (int i = 0; i < VALIDATION; i++) {
		rank_group_step(&group, 0, (struct rank_group_step){ .data_s = 0.4 });
		ck_assert(!is_due_at(4.2 + 0.4 * (i + 1)));
	}
	/* It hangs. */
	ck_assert(!is_due_at(20));
	ck_assert(is_due_at(21.5));
	close_job();
}
END_TEST

START_TEST(rank_without_steps_is_named)
{
	train();
	ck_assert(!is_due_at(9));
	ck_assert(is_due_at(9.5));
	close_job();
}
END_TEST

START_TEST(rank_that_steps_alone_for_ever_is_named_after_a_minute)
{
	train();
	for (int i = 0; i < 160; i++) {
		rank_group_step(&group, 0, (struct rank_group_step){ .data_s = 0.4 });
		ck_assert(is_due_at(4.2 + 0.4 * (i + 1)) == (4.2 + 0.4 * (i + 1) - 4.1 >= 60));
	}
	close_job();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rank_validates");
	TCase *tests = tcase_create("all");
	tcase_add_test(tests, rank_whose_steps_go_on_is_healthy_until_they_end);
	tcase_add_test(tests, rank_without_steps_is_named);
	tcase_add_test(tests, rank_that_steps_alone_for_ever_is_named_after_a_minute);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
