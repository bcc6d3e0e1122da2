/* Batches of validation take another time than those of training. */
#include <check.h>
#include <math.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_steps.h"
#include "src/sources/inferred/steps/stacks_steps_emit.h"
#include "src/sources/inferred/steps/stacks_steps_life.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { LENGTH = 20, LATE = 3 };
#define STEP_S 0.4
#define VALIDATION_S 0.05

static struct stacks_steps *steps;
static int64_t now_ns;

static void see(uint64_t serial, uint64_t yielded, bool is_over, bool evaluates)
{
	const struct py_counted counted = { .serial = serial,
		.sampler = evaluates ? 0x3000 : 0x2000,
		.yielded = yielded,
		.read_ns = now_ns,
		.is_over = is_over,
		.length = LENGTH,
		.is_first = true,
		.trains = !evaluates,
		.evaluates = evaluates,
		.function = "run",
		.file = "/home/me/train.py",
		.line = 42 };
	const char *text = NULL;
	stacks_steps_take(steps, &counted, 1, &text, now_ns);
}

static void pass(uint64_t serial, double step_s, bool evaluates)
{
	for (int64_t begin_ns = now_ns, end_ns = begin_ns + (int64_t)(LENGTH * step_s * 1e9); now_ns < end_ns;) {
		uint64_t yielded = 1 + (uint64_t)((double)(now_ns - begin_ns) * 1e-9 / step_s);
		see(serial, yielded < LENGTH ? yielded : LENGTH, false, evaluates);
		now_ns = stacks_steps_next_ns(steps, now_ns);
	}
	see(serial, LENGTH, true, evaluates);
}

/* It is found in its third batch, and had begun two batches of training before, not two of validation. */
START_TEST(a_pass_that_is_found_late_began_by_the_time_of_its_own_batches)
{
	struct sample_set set = SAMPLE_SET_INIT;
	steps = stacks_steps_new(0, 4711, 123456, "train.py");
	now_ns = 1000 * NS_PER_S;
	pass(1, STEP_S, false);
	ck_assert_double_eq_tol(stacks_steps_step_s(steps), STEP_S, 0.1);
	pass(2, VALIDATION_S, true);
	ck_assert_double_eq_tol(stacks_steps_step_s(steps), VALIDATION_S, 0.02);
	int64_t begin_ns = now_ns;
	now_ns += (int64_t)(LATE * STEP_S * 1e9);
	see(3, LATE, false, false);
	now_ns += (int64_t)(STEP_S * 1e9);
	see(3, LATE + 1, false, false);
	stacks_steps_emit(steps, false, now_ns, &set);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 2);
	const struct record *record = set_record(&set, RECORD_EPOCH_BEGIN, 1);
	ck_assert_double_eq_tol((double)(record->time_ns - begin_ns) * 1e-9, 0, STEP_S);
	stacks_steps_free(steps);
	sample_set_release(&set);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_modes");
	TCase *tests = tcase_create("modes");
	tcase_add_test(tests, a_pass_that_is_found_late_began_by_the_time_of_its_own_batches);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
