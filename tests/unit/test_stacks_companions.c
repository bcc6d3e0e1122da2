#include <check.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_companions.h"
#include "tests/support/suite.h"

enum { FIRST = 1, SECOND, THIRD, FOURTH };

static struct stacks_companions companions;
static struct py_counted passes[4];
static size_t pass_count;
static int64_t now_ns;

static void start(void)
{
	companions = (struct stacks_companions){ 0 };
	pass_count = 0;
	now_ns = NS_PER_S;
}

static struct py_counted *add(uint64_t serial, uint64_t sampler, uint64_t length)
{
	passes[pass_count] =
		(struct py_counted){ .serial = serial, .sampler = sampler, .length = length, .found_ns = now_ns };
	return &passes[pass_count++];
}

static void advance(struct py_counted *pass, uint64_t batches)
{
	pass->yielded += batches;
	pass->advanced_ns = now_ns;
}

/* Whether the pass is counted, after one more poll. */
static bool is_counted(uint64_t serial)
{
	struct py_counted polled[4];
	now_ns += NS_PER_S / 20;
	for (size_t i = 0; i < pass_count; i++)
		polled[i] = passes[i];
	size_t count = stacks_companions_remove(&companions, polled, pass_count, now_ns);
	for (size_t i = 0; i < count; i++)
		if (polled[i].serial == serial)
			return true;
	return false;
}

START_TEST(of_two_loaders_that_are_read_together_one_is_counted)
{
	struct py_counted *one = add(FIRST, 11, 30), *other = add(SECOND, 12, 100);
	for (int i = 0; i < 10; i++) {
		advance(one, 1);
		advance(other, 1);
		ck_assert(!is_counted(FIRST));
		ck_assert(is_counted(SECOND));
	}
}
END_TEST

START_TEST(the_next_pass_of_a_companion_waits_for_that_of_the_other)
{
	struct py_counted *one = add(FIRST, 11, 100), *other = add(SECOND, 12, 100);
	for (int i = 0; i < 4; i++) {
		advance(one, 1);
		advance(other, 1);
		is_counted(FIRST);
	}
	pass_count = 0;
	one = add(THIRD, 12, 100);
	ck_assert(!is_counted(THIRD));
	advance(one, 5);
	other = add(FOURTH, 11, 100);
	ck_assert(!is_counted(THIRD));
	advance(one, 1);
	advance(other, 1);
	ck_assert(is_counted(FOURTH));
	ck_assert(!is_counted(THIRD));
}
END_TEST

START_TEST(validation_within_an_epoch_is_counted_from_its_third_batch_on)
{
	struct py_counted *training = add(FIRST, 11, 100);
	ck_assert(is_counted(FIRST));
	advance(training, 20);
	ck_assert(is_counted(FIRST));
	struct py_counted *validation = add(SECOND, 12, 10);
	ck_assert(!is_counted(SECOND));
	advance(validation, 1);
	ck_assert(!is_counted(SECOND));
	advance(validation, 2);
	ck_assert(is_counted(SECOND));
	ck_assert(is_counted(FIRST));
}
END_TEST

START_TEST(a_short_pass_is_counted_when_it_is_over)
{
	struct py_counted *training = add(FIRST, 11, 100), *validation;
	advance(training, 20);
	ck_assert(is_counted(FIRST));
	validation = add(SECOND, 12, 2);
	ck_assert(!is_counted(SECOND));
	advance(validation, 2);
	advance(training, 5);
	validation->is_over = true;
	ck_assert(is_counted(SECOND));
}
END_TEST

START_TEST(the_next_epoch_of_one_loader_is_counted_at_once)
{
	struct py_counted *before = add(FIRST, 11, 100);
	advance(before, 100);
	ck_assert(is_counted(FIRST));
	add(SECOND, 11, 100);
	ck_assert(is_counted(SECOND));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_companions");
	TCase *tests = tcase_create("stacks_companions");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, of_two_loaders_that_are_read_together_one_is_counted);
	tcase_add_test(tests, the_next_pass_of_a_companion_waits_for_that_of_the_other);
	tcase_add_test(tests, validation_within_an_epoch_is_counted_from_its_third_batch_on);
	tcase_add_test(tests, a_short_pass_is_counted_when_it_is_over);
	tcase_add_test(tests, the_next_epoch_of_one_loader_is_counted_at_once);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
