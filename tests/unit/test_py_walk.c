/* Frames that form a cycle, as a torn read can give: no stack; and how few reads a sample needs.
 * tests/terminal/stack.py samples real stacks. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/python/py_walk.h"
#include "src/sources/python/remote.h"
#include "tests/support/suite.h"

enum { FRAMES = 40, FAR = 1 << 20 };

struct frame {
	uint64_t code, previous, ip, generator;
};

static struct frame frames[FRAMES];
static struct {
	uint64_t newest;
} thread;
static struct py_walk walk;

/* The newest frame is reached through another struct, as in CPython 3.11, or not. */
static bool sample_with(struct py_walker *walker, enum py_care care, bool has_cframe)
{
	struct py_process process = { .pid = getpid(), .process_fd = -1 };
	process.location.layout = (struct py_layout){ .minor = 10,
		.ip = PY_IP_ADDRESS,
		.thread_frame = 0,
		.thread_cframe = has_cframe ? 0 : PY_NOWHERE,
		.cframe_frame = 8,
		.frame_code = offsetof(struct frame, code),
		.frame_previous = offsetof(struct frame, previous),
		.frame_ip = offsetof(struct frame, ip),
		.frame_owner = PY_NOWHERE,
		.frame_generator = offsetof(struct frame, generator),
		.frame_size = sizeof(struct frame) };
	return py_walk(&process, (uintptr_t)&thread, care, walker, &walk);
}

/* The layout of an unmodified CPython 3.10. */
static bool sample(enum py_care care)
{
	struct py_walker *walker = py_walker_new();
	ck_assert_ptr_nonnull(walker);
	bool is_still = sample_with(walker, care, false);
	py_walker_free(walker);
	return is_still;
}

/* The child that reads, of which each request makes it wait once more. */
static long requests(void)
{
	char path[64], line[128];
	long count = -1, child = 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)gettid());
	FILE *file = fopen(path, "r");
	ck_assert(file && fscanf(file, "%ld", &child) == 1);
	fclose(file);
	snprintf(path, sizeof path, "/proc/%ld/status", child);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof line, file))
		if (strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
			count = atol(line + 24);
	fclose(file);
	return count;
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

START_TEST(the_frame_of_a_generator_has_a_caller)
{
	frames[FRAMES - 2].generator = 1;
	ck_assert(sample(PY_CAREFUL) && sample(PY_QUICK));
	frames[FRAMES - 1].generator = 1;
	ck_assert(!sample(PY_CAREFUL) && walk.count == 0);
	ck_assert(!sample(PY_QUICK) && walk.count == 0);
}
END_TEST

/* The stacks of a loop: each is called from the same frames, and has frames of its own elsewhere. */
START_TEST(stacks_of_frames_that_were_seen_before_need_one_request)
{
	struct remote_reader *reader = remote_reader_new(10 * NS_PER_S);
	struct py_walker *walker = py_walker_new();
	struct frame *far[2] = { malloc(FAR), malloc(FAR) };
	struct {
		uint64_t unused, newest;
	} cframes[2];
	bool has_cframe = _i;
	ck_assert(reader && walker && far[0] && far[1]);
	remote_reader_use(reader);
	for (size_t i = 0; i < 2; i++) {
		*far[i] = (struct frame){ .code = 2 + i, .previous = (uintptr_t)&frames[10 * i] };
		cframes[i].newest = (uintptr_t)far[i];
	}
	for (unsigned i = 0; i < 8; i++) {
		thread.newest = has_cframe ? (uintptr_t)&cframes[i % 2] : (uintptr_t)far[i % 2];
		long before = i ? requests() : 0;
		ck_assert(sample_with(walker, PY_QUICK, has_cframe));
		ck_assert_uint_eq(walk.count, 1 + FRAMES - 10 * (i % 2));
		ck_assert_uint_eq(walk.frames[0].code, 2 + i % 2);
		/* One more for the other struct, and one that ended late. */
		if (i > 1)
			ck_assert_int_le(requests() - before, 2 + has_cframe);
	}
	remote_reader_use(NULL);
	remote_reader_free(reader);
	py_walker_free(walker);
	free(far[0]);
	free(far[1]);
}
END_TEST

/* Together they are more frames than are remembered. */
START_TEST(deep_stacks_of_different_frames_are_read)
{
	enum { DEEP = PY_FRAMES_MAX - 50 };
	static struct frame deep[2][DEEP];
	struct py_walker *walker = py_walker_new();
	ck_assert_ptr_nonnull(walker);
	for (unsigned i = 0; i < 6; i++) {
		struct frame *stack = deep[i % 2];
		for (size_t k = 0; k < DEEP; k++)
			stack[k] = (struct frame){ .code = 8 + k, .previous = k + 1 < DEEP ? (uintptr_t)&stack[k + 1] : 0 };
		thread.newest = (uintptr_t)stack;
		ck_assert(sample_with(walker, PY_QUICK, false));
		ck_assert_uint_eq(walk.count, DEEP);
	}
	py_walker_free(walker);
}
END_TEST

START_TEST(frames_whose_memory_is_gone_are_no_obstacle)
{
	struct py_walker *walker = py_walker_new();
	struct frame *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(walker && gone != MAP_FAILED);
	*gone = (struct frame){ .code = 2, .previous = (uintptr_t)&frames[0] };
	thread.newest = (uintptr_t)gone;
	ck_assert(sample_with(walker, PY_QUICK, false));
	ck_assert_uint_eq(walk.count, 1 + FRAMES);
	munmap(gone, 4096);
	thread.newest = (uintptr_t)&frames[0];
	ck_assert(sample_with(walker, PY_QUICK, false));
	ck_assert_uint_eq(walk.count, FRAMES);
	py_walker_free(walker);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("py walk");
	TCase *tests = tcase_create("py walk");
	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_loop_test(tests, a_stack_is_walked_to_its_end, 0, 2);
	tcase_add_loop_test(tests, a_circle_is_no_stack, 0, FRAMES);
	tcase_add_test(tests, the_frame_of_a_generator_has_a_caller);
	tcase_add_loop_test(tests, stacks_of_frames_that_were_seen_before_need_one_request, 0, 2);
	tcase_add_test(tests, deep_stacks_of_different_frames_are_read);
	tcase_add_test(tests, frames_whose_memory_is_gone_are_no_obstacle);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
