#include <check.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_follow.h"
#include "tests/support/suite.h"

enum { MAIN = 0x1000, TRAINER = 0x2000, SERVER = 0x3000, OTHER_TRAINER = 0x4000 };

static struct stacks_follow follow;
static struct py_known backward, waiting;
static struct py_sample training, idle;
static int64_t now_ns;

static void fill(struct py_known *known, struct py_sample *sample, const char *function, const char *file)
{
	snprintf(known->code.function, sizeof known->code.function, "%s", function);
	snprintf(known->code.file, sizeof known->code.file, "%s", file);
	sample->count = 1;
	sample->sites[0].known = known;
}

static void start(void)
{
	follow = (struct stacks_follow){ 0 };
	now_ns = NS_PER_S;
	fill(&backward, &training, "Tensor.backward", "/site-packages/torch/_tensor.py");
	fill(&waiting, &idle, "Thread.join", "/lib/python3.11/threading.py");
	ck_assert_int_eq(stacks_follow_choose(&follow, MAIN, MAIN, false, now_ns), STACKS_FOLLOW_SAME);
}

static enum stacks_follow_change choose(uint64_t sampled, bool has_steps)
{
	now_ns += NS_PER_S;
	return stacks_follow_choose(&follow, MAIN, sampled, has_steps, now_ns);
}

static void note(uint64_t thread, bool is_busy, const struct py_sample *sample, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		stacks_follow_note(&follow, thread, is_busy, sample);
}

START_TEST(a_thread_that_trains_is_followed_if_the_main_thread_does_not)
{
	note(TRAINER, true, &training, 1);
	ck_assert_int_eq(choose(MAIN, false), STACKS_FOLLOW_SAME);
	note(TRAINER, true, &training, 1);
	ck_assert_int_eq(choose(MAIN, false), STACKS_FOLLOW_OTHER);
	ck_assert_uint_eq(follow.followed, TRAINER);
	note(OTHER_TRAINER, true, &training, 50);
	ck_assert_int_eq(choose(TRAINER, true), STACKS_FOLLOW_SAME);
}
END_TEST

START_TEST(a_main_thread_that_trains_is_not_left)
{
	stacks_follow_note_main(&follow, &training);
	stacks_follow_note_main(&follow, &training);
	note(TRAINER, true, &training, 50);
	ck_assert_int_eq(choose(MAIN, false), STACKS_FOLLOW_SAME);
	ck_assert_uint_eq(follow.followed, MAIN);
}
END_TEST

START_TEST(the_main_thread_is_returned_to_once_it_trains)
{
	note(TRAINER, true, &training, 2);
	ck_assert_int_eq(choose(MAIN, false), STACKS_FOLLOW_OTHER);
	note(MAIN, true, &training, 2);
	ck_assert_int_eq(choose(TRAINER, true), STACKS_FOLLOW_OTHER);
	ck_assert_uint_eq(follow.followed, MAIN);
}
END_TEST

START_TEST(steps_go_on_in_the_next_thread_when_one_has_ended)
{
	note(TRAINER, true, &training, 2);
	ck_assert_int_eq(choose(MAIN, false), STACKS_FOLLOW_OTHER);
	ck_assert_int_eq(choose(MAIN, true), STACKS_FOLLOW_SAME);
	ck_assert_uint_eq(follow.followed, MAIN);
	note(OTHER_TRAINER, true, &training, 2);
	ck_assert_int_eq(choose(MAIN, true), STACKS_FOLLOW_NEXT);
	ck_assert_uint_eq(follow.followed, OTHER_TRAINER);
}
END_TEST

static void pass_seconds(int count, bool is_main_busy, bool has_steps)
{
	for (int i = 0; i < count; i++) {
		note(SERVER, false, &idle, 1);
		note(TRAINER, true, &idle, 1);
		note(MAIN, is_main_busy, &idle, 1);
		choose(follow.followed, has_steps);
	}
}

START_TEST(without_pytorch_a_busy_thread_is_followed_while_the_main_thread_sleeps)
{
	pass_seconds(20, true, false);
	ck_assert_uint_eq(follow.followed, MAIN);
	start();
	pass_seconds(20, false, true);
	ck_assert_uint_eq(follow.followed, MAIN);
	start();
	pass_seconds(9, false, false);
	ck_assert_uint_eq(follow.followed, MAIN);
	pass_seconds(3, false, false);
	ck_assert_uint_eq(follow.followed, TRAINER);
	pass_seconds(40, true, true);
	ck_assert_uint_eq(follow.followed, MAIN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_follow");
	TCase *tests = tcase_create("stacks_follow");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, a_thread_that_trains_is_followed_if_the_main_thread_does_not);
	tcase_add_test(tests, a_main_thread_that_trains_is_not_left);
	tcase_add_test(tests, the_main_thread_is_returned_to_once_it_trains);
	tcase_add_test(tests, steps_go_on_in_the_next_thread_when_one_has_ended);
	tcase_add_test(tests, without_pytorch_a_busy_thread_is_followed_while_the_main_thread_sleeps);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
