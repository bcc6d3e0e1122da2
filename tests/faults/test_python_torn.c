/* Memory of a running Python changes while pmtop reads it. This test samples a real Python with loops over loaders
 * while it replaces words of what the kernel returned: pmtop must neither crash nor read out of bounds (run it with the
 * sanitizers). */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/python/counters/py_counter.h"
#include "src/sources/python/loops/py_loops.h"
#include "tests/support/suite.h"

enum { OPENINGS = 4, SAMPLES = 1500, EVERYTHING_EACH = 10, POLL_EACH = 5, LOOPS_AROUND = 8 };

static unsigned torn_per_mille, reads;
static uint64_t seed;
static pid_t python;
static char directory[32];

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t other_word(uint64_t word, const unsigned char *bytes, size_t words)
{
	switch (draw() % 9) {
	case 0: return UINT64_MAX;
	case 1: return UINT64_MAX - 7;
	case 2: return 8;
	case 3: return draw();
	case 4: return draw() & 0x7ffffffffff8;
	case 5: return word + 8;
	case 6: return word - 4096;
	case 7: return word ^ (UINT64_C(1) << draw() % 64);
	default: memcpy(&word, bytes + draw() % words * sizeof word, sizeof word); return word;
	}
}

/* Replaces the C library's function. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count, const struct iovec *there,
	unsigned long there_count, unsigned long flags)
{
	ssize_t got = syscall(SYS_process_vm_readv, pid, here, here_count, there, there_count, flags);
	reads++;
	for (unsigned long i = 0; got > 0 && i < here_count; i++) {
		unsigned char *bytes = here[i].iov_base;
		size_t words = here[i].iov_len / sizeof(uint64_t);
		uint64_t word;
		if (words == 0 || draw() % 1000 >= torn_per_mille)
			continue;
		size_t at = draw() % words * sizeof word;
		memcpy(&word, bytes + at, sizeof word);
		word = other_word(word, bytes, words);
		memcpy(bytes + at, &word, sizeof word);
	}
	return got;
}

static const char script[] =
	"import importlib.util, sys\n"
	"spec = importlib.util.spec_from_file_location('torch.utils.data.dataloader', 'tests/workloads/stand_in.py')\n"
	"stand_in = importlib.util.module_from_spec(spec)\n"
	"spec.loader.exec_module(stand_in)\n"
	"def train(loader):\n"
	"    done, l, losses, total = 0, 0.5, [], 0.0\n"
	"    for number, batch in enumerate(iter(loader)):\n"
	"        done += 1\n"
	"        losses.append(l)\n"
	"        total += l\n"
	"        for pair in zip(range(9), (x for x in [None] * 9), map(str, range(9))):\n"
	"            sum(value for value in range(number % 50))\n"
	"def deep(depth):\n"
	"    return deep(depth - 1) if depth else train(stand_in.DataLoader(range(4000), batch_size=4))\n"
	"print('ready', flush=True)\n"
	"while True:\n"
	"    deep(40)\n";

static void setup(void)
{
	int out[2];
	char line[16];
	ck_assert_int_eq(pipe(out), 0);
	python = fork();
	if (python == 0) {
		dup2(out[1], STDOUT_FILENO);
		execlp("python3", "python3", "-c", script, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	ck_assert_int_gt(read(out[0], line, sizeof line), 0);
	close(out[0]);
	snprintf(directory, sizeof directory, "/proc/%d", (int)python);
	seed = 0x9e3779b97f4a7c15;
}

static void teardown(void)
{
	kill(python, SIGKILL);
	waitpid(python, NULL, 0);
}

struct seen {
	size_t samples, lines, counted, stacks, loops, polled;
};

static void sample_all(int fd, unsigned per_mille, struct seen *seen)
{
	struct py_process *process;
	struct py_stacks stacks = { 0 };
	struct reason why_not;
	/* With torn memory from the start, pmtop rarely finds a Python. */
	for (unsigned whole_at_first = 0; whole_at_first < 2; whole_at_first++) {
		torn_per_mille = whole_at_first ? 0 : per_mille;
		enum status status = py_open(python, fd, NULL, &process, &why_not);
		torn_per_mille = per_mille;
		if (status != STATUS_OK)
			continue;
		seen->stacks += py_reading(process, &stacks, &why_not) == STATUS_OK && stacks.frame_count > 0;
		py_close(process);
	}
	py_stacks_release(&stacks);
}

static void read_loops(struct py_loops *loops, const struct py_sample *sample, struct seen *seen)
{
	struct py_loop found[PY_LOOPS_MAX] = { 0 };
	struct py_loss loss;
	size_t count = py_loops_read(loops, sample, found, PY_LOOPS_MAX);
	for (size_t i = 0; i < count; i++) {
		seen->loops += found[i].has_position && strlen(found[i].name) < sizeof found[i].name;
		seen->polled += py_loop_poll(loops, &found[i]) == PY_LOOP_GOOD;
	}
	for (size_t i = 0; i < sample->count; i++) {
		int around[LOOPS_AROUND];
		size_t depth = py_loops_around(loops, &sample->sites[i], around, LOOPS_AROUND);
		for (size_t k = 0; k <= depth; k++)
			py_loop_loss(loops, sample, i,
				&(struct py_steps_at){ true, k < depth ? around[k] : 0, k < depth ? 0 : found[0].loader }, &loss);
	}
}

static void sample_once(
	struct py_sampler *sampler, struct py_counter *counter, struct py_loops *loops, size_t number, struct seen *seen)
{
	static struct py_sample sample;
	const struct py_counted *counted;
	size_t count;
	int64_t now_ns = clock_monotonic_ns();
	if (py_sampler_sample(sampler, now_ns, &sample) == STATUS_OK) {
		seen->samples++;
		for (size_t i = 0; i < sample.count; i++)
			seen->lines += sample.sites[i].line > 0 && strlen(sample.sites[i].known->code.file) > 0;
		py_counter_note(counter, &sample, now_ns);
		if (number % POLL_EACH == 0)
			read_loops(loops, &sample, seen);
	}
	if (number % POLL_EACH == 0 && py_counter_poll(counter, now_ns, &counted, &count) == STATUS_OK)
		for (size_t i = 0; i < count; i++)
			seen->counted += strlen(counted[i].file) > 0 && counted[i].yielded > 0;
}

static struct seen sample_long(unsigned per_mille)
{
	struct seen seen = { 0 };
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned opening = 0; opening < OPENINGS; opening++) {
		struct py_sampler *sampler;
		struct py_counter *counter;
		struct py_loops *loops;
		struct reason why_not;
		torn_per_mille = 0;
		ck_assert_int_eq(py_sampler_open(python, fd, NULL, &sampler, &why_not), STATUS_OK);
		ck_assert_int_eq(py_counter_open(py_sampler_process(sampler), &counter, &why_not), STATUS_OK);
		ck_assert_int_eq(py_loops_open(py_sampler_process(sampler), &loops, &why_not), STATUS_OK);
		torn_per_mille = per_mille;
		for (size_t i = 0; i < SAMPLES; i++) {
			sample_once(sampler, counter, loops, i, &seen);
			if (i % EVERYTHING_EACH == 0)
				sample_all(fd, per_mille, &seen);
		}
		py_loops_close(loops);
		py_counter_close(counter);
		py_sampler_close(sampler);
	}
	close(fd);
	return seen;
}

START_TEST(an_intact_process_gives_stacks)
{
	struct seen seen = sample_long(0);
	ck_assert_uint_gt(seen.samples, OPENINGS * SAMPLES / 2);
	ck_assert_uint_ge(seen.lines, seen.samples);
	ck_assert_uint_gt(seen.counted, OPENINGS);
	ck_assert_uint_gt(seen.stacks, OPENINGS);
	ck_assert_uint_gt(seen.loops, OPENINGS);
	ck_assert_uint_gt(seen.polled, OPENINGS);
}
END_TEST

static enum status open_beside(
	const struct py_sampler *relative, pid_t pid, struct py_sampler **out, unsigned *reads_of)
{
	char path[32];
	struct reason why_not;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned before = reads;
	enum status status = py_sampler_open(pid, fd, relative, out, &why_not);
	*reads_of = reads - before;
	close(fd);
	return status;
}

START_TEST(python_is_not_searched_for_again_in_a_fork)
{
	struct py_sampler *first, *second;
	unsigned searched, known;
	torn_per_mille = 0;
	ck_assert_int_eq(open_beside(NULL, python, &first, &searched), STATUS_OK);
	ck_assert_int_eq(open_beside(first, python, &second, &known), STATUS_OK);
	ck_assert_uint_gt(searched, 50);
	ck_assert_uint_le(known, 3);
	ck_assert_uint_eq(py_sampler_version(second)->minor, py_sampler_version(first)->minor);
	py_sampler_close(second);
	/* A child that runs another program has none. */
	ck_assert_int_eq(open_beside(first, getpid(), &second, &known), STATUS_NOT_FOUND);
	py_sampler_close(first);
}
END_TEST

START_TEST(torn_memory_does_no_harm)
{
	static const unsigned per_mille[] = { 1, 5, 20, 100, 300 };
	struct seen seen = sample_long(per_mille[_i]);
	/* With few torn words most samples succeed. */
	if (per_mille[_i] <= 5)
		ck_assert_uint_gt(seen.samples, SAMPLES);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("torn Python");
	TCase *tests = tcase_create("torn");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, an_intact_process_gives_stacks);
	tcase_add_test(tests, python_is_not_searched_for_again_in_a_fork);
	tcase_add_loop_test(tests, torn_memory_does_no_harm, 0, 5);
	return suite_run(suite);
}
