#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/rank_words.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"
#include "src/rules/alerts.h"
#include "tests/support/rank_group.h"
#include "tests/support/suite.h"

#define BASE_NS (INT64_C(5000) * NS_PER_S)
#define NEAR 1e-6

static struct rank_group rank_group;
static struct ranks ranks;
static char words[RANK_WORDS_SIZE];

static void setup(void)
{
	struct model_options options;
	model_options_default(&options);
	struct model *model = model_new(&options);
	ck_assert_ptr_nonnull(model);
	rank_group_open(&rank_group, model, BASE_NS);
}

static void teardown(void)
{
	model_free(rank_group.model);
	rank_group_close(&rank_group);
}

static double newest_s(void)
{
	double newest = 0;
	for (unsigned i = 0; i < rank_group.count; i++)
		newest = fmax(newest, rank_group.ranks[i].at_s);
	return newest;
}

/* The state so long after the newest end of a batch. */
static void compare_after(double seconds)
{
	rank_group_apply(&rank_group, newest_s() + seconds);
	ranks_compare(rank_group.model, 0, &ranks);
}

static void take_steps(unsigned rank, size_t count, struct rank_group_step step)
{
	for (size_t i = 0; i < count; i++)
		rank_group_step(&rank_group, rank, step);
}

/* Two ranks that synchronize in backward: while one loads longer, the other waits. */
static void train_pair(size_t steps)
{
	rank_group_add(&rank_group, 0, 2, "a", 100);
	rank_group_add(&rank_group, 1, 2, "a", 101);
	take_steps(0, steps, (struct rank_group_step){ 0.02, 0.04, 0.10, 0, 0.01 });
	take_steps(1, steps, (struct rank_group_step){ 0.08, 0.04, 0.04, 0, 0.01 });
}

/* -- which runs are ranks of one -- */

START_TEST(ranks_of_one_run_have_one_run_id)
{
	rank_group_add(&rank_group, 1, 2, "a", 100);
	rank_group_add(&rank_group, 0, 2, "b", 101);
	rank_group_add(&rank_group, 0, 2, "a", 102);
	rank_group_add(&rank_group, 0, 0, NULL, 103);
	rank_group_add(&rank_group, 1, 2, NULL, 104);
	rank_group_add(&rank_group, 0, 2, NULL, 105);
	rank_group_add(&rank_group, 0, 1, "a", 106);
	compare_after(0);
	ck_assert_uint_eq(ranks.count, 2);
	ck_assert_int_eq(ranks.list[0].pid, 102);
	ck_assert_int_eq(ranks.list[1].pid, 100);
	ck_assert_int_eq(ranks.world_size, 2);
	ranks_compare(rank_group.model, 1, &ranks);
	ck_assert_uint_eq(ranks.count, 1);
	ranks_compare(rank_group.model, 3, &ranks);
	ck_assert_uint_eq(ranks.count, 0);
	ranks_compare(rank_group.model, 5, &ranks); /* without an id: the same name and size */
	ck_assert_uint_eq(ranks.count, 2);
	ranks_compare(rank_group.model, 6, &ranks);
	ck_assert_uint_eq(ranks.count, 0);
	ck_assert_int_eq(ranks_any(rank_group.model), 0);
}
END_TEST

START_TEST(brackets_walk_ranks_by_number_within_their_run)
{
	static const unsigned expected[] = { 2, 0, 1, 3 };
	unsigned order[MODEL_RUNS_MAX];
	rank_group_add(&rank_group, 11, 20, "a", 100);
	rank_group_add(&rank_group, 0, 2, "b", 101);
	rank_group_add(&rank_group, 9, 20, "a", 102);
	rank_group_add(&rank_group, 1, 2, "b", 103);
	rank_group_apply(&rank_group, 0);
	ck_assert_uint_eq(ranks_order(rank_group.model, order), 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_uint_eq(order[i], expected[i]);
}
END_TEST

START_TEST(the_rank_that_was_asked_for_comes_first_then_the_lowest)
{
	rank_group_add(&rank_group, 1, 2, "a", 101);
	rank_group_add(&rank_group, 0, 2, "a", 100);
	rank_group_apply(&rank_group, 0);
	ck_assert_int_eq(ranks_first(rank_group.model, NULL, NULL), 1);
	rank_group.model->has_target = true;
	rank_group.model->target_pid = 101;
	ck_assert_int_eq(ranks_first(rank_group.model, NULL, NULL), 0);
	rank_group_end(&rank_group, 0, 1, true);
	rank_group_apply(&rank_group, 1);
	ck_assert_int_eq(ranks_first(rank_group.model, NULL, NULL), 1);
	/* The whole target has ended: its last state stays on the screen. */
	rank_group.model->target_ended = true;
	ck_assert_int_eq(ranks_first(rank_group.model, NULL, NULL), 0);
}
END_TEST

/* A launcher has loops, too. */
START_TEST(ranks_come_before_steps_that_were_guessed_from_their_launchers_loop)
{
	rank_group_add(&rank_group, 0, 2, "a", 100);
	rank_group_add(&rank_group, 1, 2, "a", 101);
	rank_group_apply(&rank_group, 0);
	unsigned launcher = rank_group_add(&rank_group, 0, 0, NULL, 99);
	rank_group_apply(&rank_group, 0);
	rank_group.model->has_target = true;
	rank_group.model->target_pid = 99;
	ck_assert_int_eq(ranks_first(rank_group.model, NULL, NULL), (int)launcher);
	rank_group.model->runs[launcher].is_counted = true;
	ck_assert_int_eq(ranks_first(rank_group.model, NULL, NULL), 0);
	rank_group_end(&rank_group, 0, 1, false);
	rank_group_end(&rank_group, 1, 1, false);
	rank_group_apply(&rank_group, 1);
	ck_assert_int_lt(ranks_first(rank_group.model, NULL, NULL), 2);
}
END_TEST

/* A run that was just added is inferred. */
static void infer(unsigned added)
{
	for (size_t i = 0; i < rank_group.set.count; i++)
		if (rank_group.set.records[i].kind == RECORD_RUN_OPENED && rank_group.set.records[i].run == added)
			rank_group.set.records[i].opened.abi = "counted";
}

static unsigned add_inferred(int32_t pid)
{
	unsigned added = rank_group_add(&rank_group, 0, 0, NULL, pid);
	infer(added);
	return added;
}

/* Both ranks make a slow step after fast ones; of rank 0 pmtop knows the slow ones only. */
START_TEST(inferred_ranks_are_compared_over_the_time_in_which_all_are_known)
{
	static const struct rank_group_step fast = { 0, 0.04, 0, 0, 0 }, slow = { 0, 0.09, 0, 0, 0 };
	for (long i = 0; i < 2; i++)
		infer(rank_group_add(&rank_group, i, 2, "a", 100 + (int)i));
	for (int i = 0; i < 100; i++)
		rank_group_step(&rank_group, 1, fast);
	rank_group.ranks[0].at_s = rank_group.ranks[1].at_s;
	for (int i = 0; i < 40; i++) {
		rank_group_step(&rank_group, 0, slow);
		rank_group_step(&rank_group, 1, slow);
	}
	compare_after(0);
	ck_assert(ranks.is_compared && ranks.is_synchronous);
	ck_assert_int_eq(ranks.slowest, -1);
	ck_assert(fabs(ranks.list[1].step_s - 0.09) < 1e-3);
}
END_TEST

/* A program may publish and never count a batch: what was inferred stays until it does, and does not come back. */
START_TEST(inferred_steps_are_shown_until_the_process_publishes_its_own)
{
	static const struct rank_group_step step = { 0.02, 0.04, 0.10, 0, 0.01 };
	unsigned published = rank_group_add(&rank_group, 0, 0, NULL, 100), inferred = add_inferred(100);
	rank_group_step(&rank_group, inferred, step);
	rank_group_step(&rank_group, inferred, step);
	rank_group_apply(&rank_group, 1);
	ck_assert(rank_group.model->runs[inferred].is_counted);
	ck_assert_int_eq(ranks_first(rank_group.model, NULL, NULL), (int)inferred);
	rank_group_step(&rank_group, published, step);
	rank_group_step(&rank_group, published, step);
	rank_group_apply(&rank_group, 2);
	ck_assert_int_eq(ranks_first(rank_group.model, NULL, NULL), (int)published);
	ck_assert(!rank_group.model->runs[inferred].is_used);
	/* Nothing that belongs to its process takes it for ended. */
	for (unsigned i = 0; i < rank_group.model->run_count; i++)
		ck_assert(rank_group.model->runs[i].pid != 100 || rank_group.model->runs[i].is_live);
	rank_group_end(&rank_group, published, 3, false);
	rank_group_apply(&rank_group, 3);
	unsigned later = add_inferred(100);
	rank_group_apply(&rank_group, 4);
	ck_assert_int_eq(ranks_first(rank_group.model, NULL, NULL), (int)published);
	ck_assert(!rank_group.model->runs[later].is_used);
}
END_TEST

static void add_text(unsigned run, enum record_kind kind, const char *key, const char *text)
{
	struct record *record = sample_set_add(&rank_group.set, kind, (uint8_t)run, rank_group.base_ns);
	if (kind == RECORD_META)
		record->meta.key = key, record->meta.value = text;
	else
		record->text = text;
}

/* As JAX in launch mode: what its compilations say is shown with the steps, which are inferred. */
START_TEST(marks_and_the_framework_of_a_process_without_steps_belong_to_its_inferred_ones)
{
	static const struct rank_group_step step = { 0.02, 0.04, 0.10, 0, 0.01 };
	unsigned published = rank_group_add(&rank_group, 0, 0, NULL, 100),
			 other = rank_group_add(&rank_group, 0, 0, NULL, 101);
	add_text(published, RECORD_META, "framework", "jax 0.10");
	add_text(published, RECORD_META, "instrumented", "JAX");
	add_text(other, RECORD_META, "framework", "torch 2");
	rank_group_apply(&rank_group, 0);
	unsigned inferred = add_inferred(100);
	rank_group_step(&rank_group, inferred, step);
	rank_group_apply(&rank_group, 1);
	add_text(published, RECORD_MARK, NULL, "JAX compiled step, 2 s");
	add_text(other, RECORD_MARK, NULL, "another process");
	rank_group_apply(&rank_group, 2);
	const struct run *run = &rank_group.model->runs[inferred];
	ck_assert(run->is_used && run->is_counted);
	ck_assert_str_eq(run_meta(run, "framework"), "jax 0.10");
	ck_assert_str_eq(run_meta(run, "instrumented"), "JAX");
	ck_assert_uint_eq(run->mark_count, 1);
	ck_assert_str_eq(run->marks[0].text, "JAX compiled step, 2 s");
	ck_assert_uint_eq(rank_group.model->runs[other].mark_count, 1);
}
END_TEST

START_TEST(a_restarted_rank_replaces_the_one_that_ended_and_a_child_does_not_replace_its_parent)
{
	rank_group_add(&rank_group, 0, 2, "a", 100);
	rank_group_add(&rank_group, 1, 2, "a", 101);
	rank_group_end(&rank_group, 1, 0.5, true);
	rank_group_add(&rank_group, 1, 2, "a", 201);
	rank_group_add(&rank_group, 1, 2, "a", 202);
	compare_after(0);
	ck_assert_uint_eq(ranks.count, 2);
	ck_assert_int_eq(ranks.list[1].pid, 201);
	ck_assert_int_eq(ranks.still, -1);
}
END_TEST

/* -- the slowest -- */

START_TEST(at_equal_step_times_the_rank_that_waits_least_is_slowest)
{
	train_pair(40);
	compare_after(0.1);
	ck_assert(ranks.is_synchronous);
	ck_assert_double_eq_tol(ranks.list[0].step_s, ranks.list[1].step_s, NEAR);
	ck_assert_double_eq_tol(ranks.list[0].own_s, 0.07, NEAR);
	ck_assert_double_eq_tol(ranks.list[1].own_s, 0.13, NEAR);
	ck_assert_int_eq(ranks.slowest, 1);
	ck_assert_double_eq_tol(ranks.excess_s, 0.06, NEAR);
	ck_assert_str_eq(ranks.phase, "data");
	ck_assert_double_eq_tol(ranks.phase_s, 0.08, NEAR);
	ck_assert_double_eq_tol(ranks.phase_others_s, 0.02, NEAR);
	ck_assert_str_eq(ranks.wait, "backward");
	ck_assert_double_eq_tol(ranks.wait_s, 0.06, NEAR);
	ck_assert_str_eq(
		rank_words(&ranks, words), "rank 1 is slowest: data 80.0 ms, others 20.0; rank 0 waits 60.0 ms in backward");
	ck_assert_uint_eq(ranks.list[1].batches, 40);
	ck_assert_double_eq_tol(ranks.list[1].last_batch_age_s, 0.1, NEAR);
	ck_assert_double_eq(ranks.list[0].loss, 0.5);
}
END_TEST

START_TEST(spans_named_allreduce_are_waits_too)
{
	rank_group_add(&rank_group, 0, 3, "a", 100);
	rank_group_add(&rank_group, 1, 3, "a", 101);
	rank_group_add(&rank_group, 2, 3, "a", 102);
	take_steps(0, 20, (struct rank_group_step){ 0.1, 0.2, 0.3, 0.4, 0 });
	take_steps(1, 20, (struct rank_group_step){ 0.1, 0.2, 0.3, 0.4, 0 });
	take_steps(2, 20, (struct rank_group_step){ 0.1, 0.5, 0.3, 0.1, 0 });
	compare_after(0);
	ck_assert_int_eq(ranks.slowest, 2);
	ck_assert_str_eq(ranks.wait, "allreduce");
	ck_assert_str_eq(rank_words(&ranks, words),
		"rank 2 is slowest: forward 0.500 s, others 0.200; the others wait 0.300 s in allreduce");
}
END_TEST

/* As Hogwild: each at its own pace. */
START_TEST(ranks_that_never_synchronise_have_no_slowest)
{
	rank_group_add(&rank_group, 0, 2, "a", 100);
	rank_group_add(&rank_group, 1, 2, "a", 101);
	take_steps(0, 40, (struct rank_group_step){ 0.02, 0.04, 0.10, 0, 0.01 });
	take_steps(1, 40, (struct rank_group_step){ 0.08, 0.04, 0.10, 0, 0.01 });
	compare_after(0.01);
	ck_assert(ranks.is_compared && ranks.slowest == 1);
	for (unsigned i = 0; i < 2; i++)
		rank_group.model->runs[i].is_rank_apart = true;
	ranks_compare(rank_group.model, 0, &ranks);
	ck_assert(ranks.is_compared && ranks.slowest < 0);
	rank_group.model->runs[0].is_rank_apart = false;
	ranks_compare(rank_group.model, 0, &ranks);
	ck_assert_int_eq(ranks.slowest, 1);
}
END_TEST

START_TEST(at_different_step_times_the_longest_step_is_slowest)
{
	rank_group_add(&rank_group, 0, 2, "a", 100);
	rank_group_add(&rank_group, 1, 2, "a", 101);
	take_steps(0, 20, (struct rank_group_step){ 0.02, 0.04, 0.05, 0, 0 });
	take_steps(1, 20, (struct rank_group_step){ 0.02, 0.04, 0.09, 0, 0 });
	compare_after(0);
	ck_assert(!ranks.is_synchronous);
	ck_assert_int_eq(ranks.slowest, 1);
	ck_assert_double_eq_tol(ranks.list[1].own_s, 0.15, NEAR);
	ck_assert_str_eq(rank_words(&ranks, words), "rank 1 is slowest: backward 90.0 ms, others 50.0");
}
END_TEST

START_TEST(equal_ranks_are_no_stragglers)
{
	rank_group_add(&rank_group, 0, 2, "a", 100);
	rank_group_add(&rank_group, 1, 2, "a", 101);
	take_steps(0, 20, (struct rank_group_step){ 0.020, 0.04, 0.05, 0, 0 });
	take_steps(1, 20, (struct rank_group_step){ 0.022, 0.04, 0.05, 0, 0 });
	compare_after(0);
	ck_assert(ranks.is_compared);
	ck_assert_int_eq(ranks.slowest, -1);
	ck_assert_ptr_null(ranks.phase);
	ck_assert_str_eq(rank_words(&ranks, words), "no rank is slower than the others");
}
END_TEST

START_TEST(fewer_than_ten_steps_say_nothing)
{
	train_pair(10); /* the first is warm-up */
	compare_after(0);
	ck_assert(!ranks.is_compared);
	ck_assert_int_eq(ranks.slowest, -1);
	ck_assert(isnan(ranks.list[0].step_s) && isnan(ranks.list[0].own_s));
	ck_assert_str_eq(rank_words(&ranks, words), "");
	take_steps(0, 2, (struct rank_group_step){ 0.02, 0.04, 0.10, 0, 0.01 });
	take_steps(1, 2, (struct rank_group_step){ 0.08, 0.04, 0.04, 0, 0.01 });
	compare_after(1);
	ck_assert_int_eq(ranks.slowest, 1);
}
END_TEST

START_TEST(a_difference_within_the_noise_is_none)
{
	rank_group_add(&rank_group, 0, 2, "a", 100);
	rank_group_add(&rank_group, 1, 2, "a", 101);
	for (int i = 0; i < 30; i++) {
		double spread_s = 0.04 * (i % 5) / 4;
		rank_group_step(&rank_group, 0, (struct rank_group_step){ 0.02 + spread_s, 0.04, 0.1 - spread_s, 0, 0 });
		rank_group_step(&rank_group, 1, (struct rank_group_step){ 0.026 + spread_s, 0.04, 0.094 - spread_s, 0, 0 });
	}
	compare_after(0);
	ck_assert_double_gt(ranks.list[1].own_s, 1.05 * ranks.list[0].own_s);
	ck_assert_int_eq(ranks.slowest, -1);
}
END_TEST

START_TEST(a_difference_that_costs_next_to_nothing_is_none)
{
	rank_group_add(&rank_group, 0, 2, "a", 100);
	rank_group_add(&rank_group, 1, 2, "a", 101);
	take_steps(0, 20, (struct rank_group_step){ 0.010, 0, 0.5, 0, 0 });
	take_steps(1, 20, (struct rank_group_step){ 0.015, 0, 0.495, 0, 0 });
	compare_after(0);
	ck_assert_int_eq(ranks.slowest, -1);
}
END_TEST

START_TEST(sixty_four_ranks_are_compared)
{
	for (int i = 63; i >= 0; i--) {
		unsigned run = rank_group_add(&rank_group, i, 64, "a", 100 + i);
		bool is_slow = i == 37;
		take_steps(run, 30, (struct rank_group_step){ is_slow ? 0.08 : 0.02, 0.04, is_slow ? 0.04 : 0.10, 0, 0.01 });
	}
	compare_after(0);
	ck_assert_uint_eq(ranks.count, 64);
	for (int i = 0; i < 64; i++)
		ck_assert_int_eq(ranks.list[i].number, i);
	ck_assert_int_eq(ranks.slowest, 37);
	ck_assert_str_eq(rank_words(&ranks, words),
		"rank 37 is slowest: data 80.0 ms, others 20.0; the others wait 60.0 ms in backward");
}
END_TEST

/* -- who stands still -- */

START_TEST(the_rank_whose_loader_hangs_is_stuck_and_the_other_waits_in_backward)
{
	train_pair(20);
	rank_group_hang(&rank_group, 0, RANK_GROUP_BACKWARD);
	rank_group_load(&rank_group, 1);
	compare_after(1);
	ck_assert_int_eq(ranks.still, -1); /* not yet */
	compare_after(41);
	ck_assert_int_eq(ranks.still, 1);
	ck_assert_int_eq(ranks.list[0].state, RANK_WAITING);
	ck_assert_int_eq(ranks.list[1].state, RANK_STUCK);
	ck_assert_str_eq(rank_words(&ranks, words), "rank 1 makes no progress, for 41 s; rank 0 waits in backward");
}
END_TEST

START_TEST(if_all_ranks_wait_the_one_with_fewer_batches_is_stuck)
{
	train_pair(20);
	take_steps(0, 1, (struct rank_group_step){ 0.02, 0.04, 0.10, 0, 0.01 });
	rank_group_hang(&rank_group, 0, RANK_GROUP_BACKWARD);
	rank_group_hang(&rank_group, 1, RANK_GROUP_BACKWARD);
	compare_after(30);
	ck_assert_int_eq(ranks.still, 1);
	ck_assert_int_eq(ranks.list[0].state, RANK_WAITING);
	ck_assert_str_eq(
		rank_words_still(&ranks, words), "rank 1 makes no progress in backward, for 30 s; rank 0 waits in backward");
}
END_TEST

START_TEST(a_rank_that_hangs_alone_is_stuck_also_in_backward)
{
	train_pair(20);
	rank_group_hang(&rank_group, 1, RANK_GROUP_BACKWARD);
	take_steps(0, 200, (struct rank_group_step){ 0.02, 0.04, 0.10, 0, 0.01 });
	compare_after(0.1);
	ck_assert_int_eq(ranks.still, 1);
	ck_assert_int_eq(ranks.list[0].state, RANK_RUNNING);
	ck_assert_int_eq(ranks.list[1].state, RANK_STUCK);
}
END_TEST

START_TEST(a_stopped_process_is_named_though_all_ranks_are_in_backward)
{
	train_pair(20);
	rank_group_hang(&rank_group, 0, RANK_GROUP_BACKWARD);
	rank_group_hang(&rank_group, 1, RANK_GROUP_BACKWARD);
	rank_group_figure(&rank_group, 4, METRIC_PROCESS_STATE, 101, 'T');
	rank_group_figure(&rank_group, 4, METRIC_PROCESS_STATE, 100, 'S');
	compare_after(12.9);
	ck_assert_int_eq(ranks.still, 1);
	ck_assert_int_eq(ranks.list[0].state, RANK_WAITING);
	ck_assert_str_eq(rank_words(&ranks, words), "rank 1 is stopped, for 12 s; rank 0 waits in backward");
	rank_group_figure(&rank_group, 30, METRIC_PROCESS_STATE, 101, 'R');
	rank_group.ranks[0].at_s = rank_group.ranks[1].at_s = 30;
	take_steps(0, 1, (struct rank_group_step){ 0.02, 0.04, 0.10, 0, 0.01 });
	take_steps(1, 1, (struct rank_group_step){ 0.08, 0.04, 0.04, 0, 0.01 });
	compare_after(0.1);
	ck_assert_int_eq(ranks.still, -1);
}
END_TEST

START_TEST(a_killed_rank_is_named_and_one_that_ended_is_not)
{
	train_pair(20);
	rank_group_hang(&rank_group, 0, RANK_GROUP_BACKWARD);
	rank_group_end(&rank_group, 1, rank_group.ranks[1].at_s + 0.5, true);
	compare_after(20);
	ck_assert_int_eq(ranks.still, 1);
	ck_assert_int_eq(ranks.list[1].state, RANK_KILLED);
	ck_assert_int_eq(ranks.list[1].ended_ns, BASE_NS + llround(rank_group.ranks[1].at_s * 1e9));
	ck_assert_int_eq(ranks.list[0].state, RANK_WAITING);
	ck_assert_int_eq(ranks.slowest, -1);
	ck_assert_str_eq(rank_words(&ranks, words), "rank 1 was killed or crashed; rank 0 waits in backward");
	teardown();
	setup();
	train_pair(20);
	rank_group_end(&rank_group, 1, rank_group.ranks[1].at_s, false);
	compare_after(1);
	ck_assert_int_eq(ranks.list[1].state, RANK_ENDED);
	ck_assert_int_eq(ranks.still, -1);
	ck_assert(!ranks.is_compared);
	/* All have ended: their comparison remains. */
	rank_group_end(&rank_group, 0, rank_group.ranks[1].at_s + 1, true);
	compare_after(3);
	ck_assert_int_eq(ranks.still, -1);
	ck_assert_str_eq(
		rank_words(&ranks, words), "rank 1 is slowest: data 80.0 ms, others 20.0; rank 0 waits 60.0 ms in backward");
}
END_TEST

/* -- memory and warnings -- */

START_TEST(memory_of_a_rank_elsewhere_is_its_own_and_not_the_trees)
{
	train_pair(12);
	struct record *seen = sample_set_add(&rank_group.set, RECORD_PROCESS_SEEN, 0, BASE_NS);
	seen->process.pid = 100;
	seen->process.start_ticks = 1;
	seen->process.command = "train.py";
	seen->process.is_target = true;
	rank_group_figure(&rank_group, 1, METRIC_PROCESS_RESIDENT, 100, 3e8);
	rank_group_figure(&rank_group, 1, METRIC_PROCESS_RESIDENT, 101, 5e8);
	compare_after(0);
	ck_assert_double_eq(ranks.list[0].resident_bytes, 3e8);
	ck_assert_double_eq(ranks.list[1].resident_bytes, 5e8);
	ck_assert_double_eq(rank_group.model->memory.tree_rss_bytes, 3e8);
	ck_assert_uint_eq(rank_group.model->process_count, 1);
}
END_TEST

static const struct alert *find_alert(const struct alerts *alerts, const char *rule)
{
	for (size_t i = 0; i < alerts->count; i++)
		if (strcmp(alerts->list[i].rule, rule) == 0 && alerts->list[i].is_raised)
			return &alerts->list[i];
	return NULL;
}

START_TEST(the_slowest_and_the_stuck_rank_are_warned_of)
{
	static struct alerts alerts;
	struct settings settings;
	settings_default(&settings);
	train_pair(30);
	compare_after(0.1);
	alerts_update(&alerts, rank_group.model, &settings);
	const struct alert *slowest = find_alert(&alerts, "slowest_rank");
	ck_assert_ptr_nonnull(slowest);
	ck_assert_int_eq(slowest->severity, SEVERITY_WARNING);
	ck_assert_str_eq(
		slowest->message, "rank 1 is slowest: data 80.0 ms, others 20.0; rank 0 waits 60.0 ms in backward");
	ck_assert_uint_eq(slowest->evidence_count, 6);
	ck_assert_str_eq(slowest->evidence[0].key, "rank");
	ck_assert_double_eq(slowest->evidence[0].value, 1);
	ck_assert_uint_ge(slowest->advice_count, 2);
	ck_assert_ptr_null(find_alert(&alerts, "still_rank"));

	rank_group_hang(&rank_group, 0, RANK_GROUP_BACKWARD);
	rank_group_load(&rank_group, 1);
	compare_after(5);
	alerts_update(&alerts, rank_group.model, &settings);
	ck_assert_ptr_null(find_alert(&alerts, "still_rank"));
	compare_after(11);
	alerts_update(&alerts, rank_group.model, &settings);
	const struct alert *still = find_alert(&alerts, "still_rank");
	ck_assert_ptr_nonnull(still);
	ck_assert_int_eq(still->severity, SEVERITY_CRITICAL);
	ck_assert_str_eq(still->message, "rank 1 makes no progress, for 11 s; rank 0 waits in backward");
	ck_assert_ptr_nonnull(strstr(still->advice[0], "pmtop stack 101"));
	alerts_release(&alerts);
}
END_TEST

START_TEST(words_fit_on_a_line_whatever_the_names)
{
	rank_group_add(&rank_group, 999999, 1000000, "a", 100);
	rank_group_add(&rank_group, 999998, 1000000, "a", 101);
	rank_group_add(&rank_group, 999997, 1000000, "a", 102);
	rank_group_rename(
		&rank_group, RANK_GROUP_DATA, "Größenänderung der Bilddaten und ihre Übertragung auf die Grafikkarte");
	rank_group_rename(
		&rank_group, RANK_GROUP_BACKWARD, "communication of what everybody has to know of the others' gradients");
	for (unsigned i = 0; i < 3; i++)
		take_steps(i, 20,
			i ? (struct rank_group_step){ 80.123, 0, 120.345, 0, 0 }
			  : (struct rank_group_step){ 180.123, 0, 20.345, 0, 0 });
	compare_after(0);
	ck_assert_str_eq(rank_words(&ranks, words),
		"rank 999999 is slowest: Größenänderun… 180.123 s, others 80.123; the others wait 100.000 s in communication "
		"of…");
	for (unsigned i = 0; i < 3; i++)
		rank_group_hang(&rank_group, i, i ? RANK_GROUP_BACKWARD : RANK_GROUP_DATA);
	compare_after(9e6);
	ck_assert_str_eq(rank_words(&ranks, words),
		"rank 999999 makes no progress in Größenänderun…, for 104 d 04 h; the others wait in communication of…");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ranks");
	TCase *tests = tcase_create("ranks");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, ranks_of_one_run_have_one_run_id);
	tcase_add_test(tests, brackets_walk_ranks_by_number_within_their_run);
	tcase_add_test(tests, the_rank_that_was_asked_for_comes_first_then_the_lowest);
	tcase_add_test(tests, inferred_ranks_are_compared_over_the_time_in_which_all_are_known);
	tcase_add_test(tests, inferred_steps_are_shown_until_the_process_publishes_its_own);
	tcase_add_test(tests, marks_and_the_framework_of_a_process_without_steps_belong_to_its_inferred_ones);
	tcase_add_test(tests, ranks_come_before_steps_that_were_guessed_from_their_launchers_loop);
	tcase_add_test(tests, a_restarted_rank_replaces_the_one_that_ended_and_a_child_does_not_replace_its_parent);
	tcase_add_test(tests, at_equal_step_times_the_rank_that_waits_least_is_slowest);
	tcase_add_test(tests, spans_named_allreduce_are_waits_too);
	tcase_add_test(tests, ranks_that_never_synchronise_have_no_slowest);
	tcase_add_test(tests, at_different_step_times_the_longest_step_is_slowest);
	tcase_add_test(tests, equal_ranks_are_no_stragglers);
	tcase_add_test(tests, fewer_than_ten_steps_say_nothing);
	tcase_add_test(tests, a_difference_within_the_noise_is_none);
	tcase_add_test(tests, a_difference_that_costs_next_to_nothing_is_none);
	tcase_add_test(tests, sixty_four_ranks_are_compared);
	tcase_add_test(tests, the_rank_whose_loader_hangs_is_stuck_and_the_other_waits_in_backward);
	tcase_add_test(tests, if_all_ranks_wait_the_one_with_fewer_batches_is_stuck);
	tcase_add_test(tests, a_rank_that_hangs_alone_is_stuck_also_in_backward);
	tcase_add_test(tests, a_stopped_process_is_named_though_all_ranks_are_in_backward);
	tcase_add_test(tests, a_killed_rank_is_named_and_one_that_ended_is_not);
	tcase_add_test(tests, memory_of_a_rank_elsewhere_is_its_own_and_not_the_trees);
	tcase_add_test(tests, words_fit_on_a_line_whatever_the_names);
	tcase_add_test(tests, the_slowest_and_the_stuck_rank_are_warned_of);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
