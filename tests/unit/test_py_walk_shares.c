/* How often a phase is sampled beside how long it takes, for a program whose memory changes while it is read: the test
 * answers process_vm_readv itself, each piece at a later moment of a synthetic program. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/sources/python/py_walk.h"
#include "tests/support/suite.h"

enum { OUTER = 3, DEEPEST = 5, DATA = 100, BACKWARD = 200, STEP_US = 1000, CALL_US = 20, SAMPLES = 4000 };

struct frame {
	uint64_t code, previous, ip;
};

/* A walk reads the memory near a frame too: from the page before it on. */
static struct {
	unsigned char before[2 * 4096];
	struct frame frames[OUTER + 1 + DEEPEST];
	unsigned char after[4096];
} memory __attribute__((aligned(4096)));
static struct frame *const frames = memory.frames;
static struct {
	uint64_t newest;
} thread;
static double now_us;
static unsigned data_us; /* of each step */
static double change_us; /* between two changes of the frames that fetch data */

/* A step: the first data_us it fetches data, by short calls in calls; then one long call. */
static void set_program(void)
{
	double at_us = now_us - STEP_US * (double)(uint64_t)(now_us / STEP_US);
	bool is_data = at_us < data_us;
	unsigned change = (unsigned)(at_us / change_us), depth = is_data ? 1 + change * 7 % DEEPEST : 0;
	for (size_t i = 0; i < OUTER + 1 + DEEPEST; i++)
		frames[i] = (struct frame){
			.code = 8 * (i + 1), .previous = i > 0 ? (uintptr_t)&frames[i - 1] : 0, .ip = i > OUTER ? change : i
		};
	frames[OUTER].code = is_data ? DATA : BACKWARD;
	frames[OUTER].ip = is_data ? change : 0;
	frames[OUTER - 1].ip = is_data ? DATA : BACKWARD;
	thread.newest = (uintptr_t)&frames[OUTER + depth];
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count, const struct iovec *there,
	unsigned long there_count, unsigned long flags)
{
	ssize_t size = 0;
	(void)pid, (void)there_count, (void)flags;
	now_us += CALL_US;
	for (unsigned long i = 0; i < here_count; i++) {
		now_us += 1;
		set_program();
		memcpy(here[i].iov_base, there[i].iov_base, here[i].iov_len);
		size += (ssize_t)here[i].iov_len;
	}
	return size;
}

static const struct py_process *a_process(void)
{
	static struct py_process process;
	process = (struct py_process){ .pid = getpid(), .process_fd = -1 };
	process.location.layout = (struct py_layout){ .minor = 13,
		.ip = PY_IP_ADDRESS,
		.thread_frame = 0,
		.thread_cframe = PY_NOWHERE,
		.frame_code = offsetof(struct frame, code),
		.frame_previous = offsetof(struct frame, previous),
		.frame_ip = offsetof(struct frame, ip),
		.frame_owner = PY_NOWHERE,
		.frame_generator = PY_NOWHERE,
		.frame_size = sizeof(struct frame) };
	return &process;
}

/* The instruction of the step loop: it is in the data, or in the long call. */
static bool is_in(const struct py_walk *walk, uint64_t ip)
{
	return walk->count > OUTER - 1 && walk->frames[walk->count - OUTER].ip == ip;
}

START_TEST(phases_are_sampled_as_often_as_they_take_time)
{
	static const struct {
		unsigned data_us;
		double change_us;
	} programs[] = { { 300, 3 }, { 300, 15 }, { 300, 60 }, { 120, 3 }, { 600, 10 } };
	static struct py_walk walk;
	struct py_walker *walker = py_walker_new();
	unsigned data = 0, other = 0;
	ck_assert_ptr_nonnull(walker);
	data_us = programs[_i].data_us;
	change_us = programs[_i].change_us;
	for (unsigned i = 0; i < SAMPLES; i++) {
		now_us = 50.0 * STEP_US * i + i * 617 % STEP_US;
		py_walk(a_process(), (uintptr_t)&thread, PY_QUICK, walker, &walk);
		data += is_in(&walk, DATA);
		other += is_in(&walk, BACKWARD);
	}
	py_walker_free(walker);
	ck_assert_uint_ge(data + other, SAMPLES * 98 / 100);
	ck_assert_double_eq_tol((double)data / (data + other), data_us / (double)STEP_US, 0.02);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("py walk shares");
	TCase *tests = tcase_create("py walk shares");
	tcase_add_loop_test(tests, phases_are_sampled_as_often_as_they_take_time, 0, 5);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
