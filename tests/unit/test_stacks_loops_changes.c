/* Steps by what their loop assigns: how long they must be, and what else counts better. tests/terminal/loop_steps.py
 * has real ones. */
#include <check.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_loops_changes.h"
#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "tests/support/suite.h"

#define LONG_NS (120 * NS_PER_MS)
#define BRIEF_NS (40 * NS_PER_MS)

static struct stacks_loops loops;
static int64_t now_ns;

/* The trial has ended well. */
static void start(void)
{
	now_ns = 100 * NS_PER_S;
	loops = (struct stacks_loops){ .changes = { .code = 1, .line = 10, .since_ns = NS_PER_S, .is_known = true } };
}

static bool goes_on_for(int64_t step_ns)
{
	now_ns += step_ns;
	return stacks_loops_changes_go_on(&loops, now_ns);
}

START_TEST(long_steps_go_on)
{
	for (unsigned i = 0; i < 1000; i++)
		ck_assert(goes_on_for(i % 20 ? LONG_NS : BRIEF_NS));
	ck_assert(loops.changes.is_known);
}
END_TEST

START_TEST(short_steps_end_it)
{
	for (unsigned i = 0; i < 1000; i++)
		ck_assert(goes_on_for(LONG_NS));
	unsigned count = 0;
	while (goes_on_for(BRIEF_NS))
		ck_assert_uint_lt(count++, 32);
	ck_assert_uint_gt(count, 1);
	ck_assert(!loops.changes.is_known);
	ck_assert(!goes_on_for(LONG_NS));
}
END_TEST

/* Where readings are too far apart, the trial is repeated, but not for ever. */
START_TEST(a_busy_machine_shows_no_short_steps)
{
	unsigned trials = 0;
	loops.changes.is_known = false;
	while (loops.changes.line > 0) {
		loops.changes.reads = 10;
		goes_on_for(7 * NS_PER_S);
		ck_assert(!loops.changes.is_known && !loops.changes.is_refused);
		ck_assert_uint_lt(trials++, 20);
	}
	ck_assert_uint_gt(trials, 1);
	ck_assert(!stacks_loops_changes_is_tried(&loops));
}
END_TEST

START_TEST(anything_else_counts_better)
{
	struct seen *by_changes = &loops.seen[0], *by_int = &loops.seen[1];
	*by_changes = (struct seen){ .loop = { .kind = PY_LOOP_CHANGES, .has_position = true, .is_relative = true } };
	*by_int = (struct seen){
		.loop = { .kind = PY_LOOP_INT, .has_position = true, .name = "anything" }, .advanced = 1, .forward = 10
	};
	ck_assert_int_ge(stacks_loop_quality(by_changes), 0);
	ck_assert_int_gt(stacks_loop_quality(by_changes), stacks_loop_quality(by_int));
	by_changes->loop.has_position = false;
	ck_assert_int_lt(stacks_loop_quality(by_changes), 0);
}
END_TEST

START_TEST(its_counts_are_lower_bounds)
{
	struct stacks_counted_loop counted;
	loops.seen[0] = (struct seen){ .loop = { .kind = PY_LOOP_CHANGES, .has_position = true }, .trained = 10 };
	loops.seen_count = 1;
	loops.steps = &loops.seen[0];
	ck_assert(stacks_loops_chosen(&loops, &counted) && counted.is_at_least && !counted.is_certain);
	loops.seen[0].loop.kind = PY_LOOP_GENERATOR;
	ck_assert(stacks_loops_chosen(&loops, &counted) && !counted.is_at_least && counted.is_certain);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks loops changes");
	TCase *tests = tcase_create("stacks loops changes");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, long_steps_go_on);
	tcase_add_test(tests, short_steps_end_it);
	tcase_add_test(tests, a_busy_machine_shows_no_short_steps);
	tcase_add_test(tests, anything_else_counts_better);
	tcase_add_test(tests, its_counts_are_lower_bounds);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
