/* Frames that form a cycle, as a torn read can give: no stack. tests/terminal/stack.py samples real stacks. */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/sources/python/py_walk.h"
#include "tests/support/suite.h"

enum { FRAMES = 40 };

struct frame {
	uint64_t code, previous, ip;
};

static struct frame frames[FRAMES];
static struct {
	uint64_t newest;
} thread;
static struct py_walk walk;

/* The layout of an unmodified CPython 3.10. */
static bool sample(enum py_care care)
{
	struct py_process process = { .pid = getpid(), .process_fd = -1 };
	process.location.layout = (struct py_layout){ .minor = 10,
		.ip = PY_IP_ADDRESS,
		.thread_frame = 0,
		.thread_cframe = PY_NOWHERE,
		.frame_code = offsetof(struct frame, code),
		.frame_previous = offsetof(struct frame, previous),
		.frame_ip = offsetof(struct frame, ip),
		.frame_owner = PY_NOWHERE,
		.frame_size = sizeof(struct frame) };
	struct py_walker *walker = py_walker_new();
	ck_assert_ptr_nonnull(walker);
	bool is_still = py_walk(&process, (uintptr_t)&thread, care, walker, &walk);
	py_walker_free(walker);
	return is_still;
}

static void setup(void)
{
	for (size_t i = 0; i < FRAMES; i++)
		frames[i] =
			(struct frame){ .code = 4096 + i, .previous = i + 1 < FRAMES ? (uintptr_t)&frames[i + 1] : 0, .ip = i };
	thread.newest = (uintptr_t)&frames[0];
}

START_TEST(a_stack_is_walked_to_its_end)
{
	ck_assert(sample(_i ? PY_QUICK : PY_CAREFUL));
	ck_assert_uint_eq(walk.count, FRAMES);
	ck_assert_uint_eq(walk.frames[FRAMES - 1].code, 4096 + FRAMES - 1);
	ck_assert(!walk.is_cut);
}
END_TEST

/* From the last frame back to each frame, itself included. */
START_TEST(a_circle_is_no_stack)
{
	frames[FRAMES - 1].previous = (uintptr_t)&frames[_i];
	ck_assert(!sample(PY_CAREFUL));
	ck_assert_uint_eq(walk.count, 0);
	ck_assert(!sample(PY_QUICK));
	ck_assert_uint_eq(walk.count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("py walk");
	TCase *tests = tcase_create("py walk");
	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_loop_test(tests, a_stack_is_walked_to_its_end, 0, 2);
	tcase_add_loop_test(tests, a_circle_is_no_stack, 0, FRAMES);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
