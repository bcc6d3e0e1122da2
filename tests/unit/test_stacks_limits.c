/* Passes over DataLoaders that end before their loader does. */
#include <check.h>

#include "src/sources/inferred/steps/stacks_limits.h"
#include "src/sources/inferred/steps/stacks_loops_private.h"
#include "tests/support/suite.h"

enum { CODE = 0x1000, LINE = 6 };

static struct stacks_limits limits;
static struct stacks_loops loops;

static void start(void)
{
	limits = (struct stacks_limits){ .next = 0 };
	loops = (struct stacks_loops){ .seen_count = 1, .read_ns = 5 };
	loops.seen[0] =
		(struct seen){ .loop = { .kind = PY_LOOP_ENUMERATE, .code = CODE, .line = LINE, .loader = 1 }, .read_ns = 5 };
}

static struct py_counted pass(uint64_t serial, uint64_t yielded, uint64_t length)
{
	return (struct py_counted){ .serial = serial, .code = CODE, .line = LINE, .yielded = yielded, .length = length };
}

START_TEST(a_loop_over_two_loaders_at_once_ends_with_the_first)
{
	struct py_counted both[] = { pass(1, 40, 100), pass(2, 40, 120) };
	loops.seen[0].loop.is_zipped = true;
	stacks_limits_apply(&limits, &loops, both, 2);
	ck_assert_uint_eq(both[0].length, 100);
	ck_assert_uint_eq(both[1].length, 100);
	/* the shorter one is gone, and the longer one was asked once more */
	struct py_counted last = pass(2, 101, 120);
	last.is_over = true;
	stacks_limits_apply(&limits, &loops, &last, 1);
	ck_assert_uint_eq(last.length, 100);
	ck_assert_uint_eq(last.yielded, 100);
}
END_TEST

START_TEST(a_slice_of_a_loader_has_its_own_length_or_none)
{
	struct py_counted one = pass(1, 40, 100);
	loops.seen[0].loop.may_end_early = true;
	loops.seen[0].loop.length = 70;
	stacks_limits_apply(&limits, &loops, &one, 1);
	ck_assert_uint_eq(one.length, 70);
	loops.seen[0].loop.length = 0;
	one = pass(2, 40, 100);
	stacks_limits_apply(&limits, &loops, &one, 1);
	ck_assert_uint_eq(one.length, 0);
}
END_TEST

/* Until a sample saw it fetch, the line is unknown: then it is the loop that was just read. */
START_TEST(other_loops_have_their_loaders_length)
{
	struct py_counted one = pass(1, 40, 100);
	stacks_limits_apply(&limits, &loops, &one, 1);
	ck_assert_uint_eq(one.length, 100);
	loops.seen[0].loop.is_zipped = true;
	one = pass(2, 40, 100);
	one.line = LINE + 1;
	stacks_limits_apply(&limits, &loops, &one, 1);
	ck_assert_uint_eq(one.length, 100);
	loops.seen[0].loop.is_zipped = false;
	loops.seen[0].loop.may_end_early = true;
	one = pass(3, 40, 100);
	one.line = 0;
	stacks_limits_apply(&limits, &loops, &one, 1);
	ck_assert_uint_eq(one.length, 0);
}
END_TEST

/* batches = iter(loader); for epoch in range(9): for batch in islice(batches, 100): … */
START_TEST(a_pass_that_goes_on_in_other_epochs_has_several)
{
	struct stacks_span span = { .serial = 0 };
	struct py_counted one = pass(1, 40, 0);
	ck_assert(!stacks_span_note(&span, &one, 1, false));
	one.yielded = 120;
	ck_assert(!stacks_span_note(&span, &one, 2, false));
	ck_assert(!stacks_span_note(&span, &one, 2, true)); /* it is over, and its iterator remains */
	one.yielded = 180;
	ck_assert(stacks_span_note(&span, &one, 2, false));
	one = pass(2, 40, 0);
	ck_assert(!stacks_span_note(&span, &one, 0, true)); /* the epoch in which pmtop attached */
	one.yielded = 44;
	ck_assert(stacks_span_note(&span, &one, 0, true));
	one = pass(3, 40, 0);
	ck_assert(!stacks_span_note(&span, &one, 0, false));
	one.yielded = 80;
	ck_assert(!stacks_span_note(&span, &one, 2, false));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_limits");
	TCase *tests = tcase_create("stacks_limits");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, a_loop_over_two_loaders_at_once_ends_with_the_first);
	tcase_add_test(tests, a_slice_of_a_loader_has_its_own_length_or_none);
	tcase_add_test(tests, other_loops_have_their_loaders_length);
	tcase_add_test(tests, a_pass_that_goes_on_in_other_epochs_has_several);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
