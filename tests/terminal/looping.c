/* looping PID READ_US POLL_US [changes]: what py_loops reads of a process until it ends or standard input does, a line
 * for each loop that is read or polled, with the clock before and after: read BEFORE_NS AFTER_NS kind depth line
 * frame_index is_in_generator has_position is_relative position length frame object name function poll …the same,
 * reading in place of frame_index loss BEFORE_NS AFTER_NS value is_sum count is_reset has_index index resets_before
 * resets and at the end what that cost: cost read NS poll NS calls N, each the mean of one, of CPU time, and the median
 * of the system calls of a read. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "src/sources/python/loops/py_loops.h"
#include "src/sources/python/code/py_opcodes.h"

static int64_t now_of(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static struct py_sample sample;
static bool has_changes; /* loops are also read by what they assign */
static struct py_loop found[PY_LOOPS_MAX];
static size_t found_count;
static char files[PY_LOOPS_MAX][PY_FILE_SIZE];
static int64_t read_ns, reads, poll_ns, polls;

enum { CALLS_MAX = 4096 };
static int calls, calls_of[CALLS_MAX]; /* system calls; those of each read */

/* Replaces the C library's function. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count, const struct iovec *there,
	unsigned long there_count, unsigned long flags)
{
	calls++;
	return syscall(SYS_process_vm_readv, pid, here, here_count, there, there_count, flags);
}

static int compare_ints(const void *left, const void *right) { return *(const int *)left - *(const int *)right; }

static int median_of_calls(void)
{
	size_t count = reads < CALLS_MAX ? (size_t)reads : CALLS_MAX;
	qsort(calls_of, count, sizeof *calls_of, compare_ints);
	return count ? calls_of[count / 2] : 0;
}

/* Who asked reads it when all is over: a pipe would be full long before. */
static FILE *lines;

static void print_loop(
	const char *what, int64_t before, int64_t after, const struct py_loop *loop, size_t number, int more)
{
	fprintf(lines,
		"%s %" PRId64 " %" PRId64 " %d %u %d %d %d %d %d %" PRIu64 " %" PRIu64 " %" PRIx64 " %" PRIx64 " %s %s\n", what,
		before, after, (int)loop->kind, loop->depth, loop->line, more, loop->is_in_generator, loop->has_position,
		loop->is_relative, loop->position, loop->length, loop->frame, loop->object, *loop->name ? loop->name : "-",
		files[number]);
}

/* Of all loops around the sample's frames. */
static void read_changes(struct py_loops *loops)
{
	int around[8];
	for (size_t i = 0; i < sample.count; i++) {
		size_t depth = py_loops_around(loops, &sample.sites[i], around, 8);
		for (size_t k = 0; k < depth && found_count < PY_LOOPS_MAX; k++)
			found_count += py_loops_read_changes(loops, &sample, sample.sites[i].code, around[k], &found[found_count]);
	}
}

/* Of the innermost loop of each frame. */
static bool read_loss(struct py_loops *loops, struct py_loss *out)
{
	int around[8];
	for (size_t i = 0; i < sample.count; i++) {
		size_t depth = py_loops_around(loops, &sample.sites[i], around, 8);
		const struct py_steps_at at = { true, depth > 0 ? around[depth - 1] : 0, 0 };
		if (py_loop_loss(loops, &sample, i, &at, out))
			return true;
	}
	return false;
}

static void read_loops(struct py_sampler *sampler, struct py_loops *loops)
{
	struct py_loss loss;
	if (py_sampler_sample(sampler, now_of(CLOCK_MONOTONIC), &sample) != STATUS_OK)
		return;
	int64_t before = now_of(CLOCK_MONOTONIC), begin = now_of(CLOCK_THREAD_CPUTIME_ID);
	calls = 0;
	found_count = py_loops_read(loops, &sample, found, PY_LOOPS_MAX);
	read_ns += now_of(CLOCK_THREAD_CPUTIME_ID) - begin;
	calls_of[reads++ % CALLS_MAX] = calls;
	if (has_changes)
		read_changes(loops);
	int64_t after = now_of(CLOCK_MONOTONIC);
	for (size_t i = 0; i < found_count; i++) {
		const char *function, *file = found[i].site->known->code.file;
		if (found[i].is_in_generator && !py_loops_source(loops, &found[i], &function, &file))
			file = "?";
		snprintf(files[i], sizeof *files, "%s", file);
		print_loop("read", before, after, &found[i], i, (int)found[i].frame_index);
	}
	before = now_of(CLOCK_MONOTONIC);
	if (read_loss(loops, &loss))
		fprintf(lines, "loss %" PRId64 " %" PRId64 " %.17g %d %" PRIu64 " %d %d %" PRId64 " %" PRId64 " %" PRId64 "\n",
			before, now_of(CLOCK_MONOTONIC), loss.value, loss.is_sum, loss.count, loss.is_reset, loss.has_index,
			loss.index, loss.resets_before, loss.resets);
}

static void poll_loops(struct py_loops *loops)
{
	size_t kept = 0;
	for (size_t i = 0; i < found_count; i++) {
		int64_t before = now_of(CLOCK_MONOTONIC), begin = now_of(CLOCK_THREAD_CPUTIME_ID);
		enum py_loop_reading reading = py_loop_poll(loops, &found[i]);
		poll_ns += now_of(CLOCK_THREAD_CPUTIME_ID) - begin;
		polls++;
		print_loop("poll", before, now_of(CLOCK_MONOTONIC), &found[i], i, (int)reading);
		if (reading == PY_LOOP_ENDED)
			continue;
		if (kept != i) {
			found[kept] = found[i];
			memcpy(files[kept], files[i], sizeof *files);
		}
		kept++;
	}
	found_count = kept;
}

static void watch(
	pid_t pid, struct py_sampler *sampler, struct py_loops *loops, int64_t every_ns, int64_t poll_every_ns)
{
	int64_t looked_ns = 0, polled_ns = 0;
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	while (poll(&input, 1, 0) == 0 && kill(pid, 0) == 0) {
		int64_t now = now_of(CLOCK_MONOTONIC);
		if (now - looked_ns >= every_ns) {
			looked_ns = now;
			read_loops(sampler, loops);
		}
		if (now - polled_ns >= poll_every_ns) {
			polled_ns = now;
			poll_loops(loops);
		}
		struct timespec pause = { 0, (long)(every_ns < poll_every_ns ? every_ns : poll_every_ns) / 2 };
		nanosleep(&pause, NULL);
	}
}

static int print_opcodes(unsigned minor)
{
	const struct py_opcodes *opcodes = py_opcodes_of(minor);
	for (unsigned opcode = 0; opcodes && opcode < 256; opcode++) {
		printf(
			"%c %u", py_opcode_role(opcodes, (unsigned char)opcode), py_opcode_caches(opcodes, (unsigned char)opcode));
		for (uint32_t argument = 0; argument < 4; argument++) {
			int64_t effect;
			if (py_opcode_effect(opcodes, (unsigned char)opcode, argument, &effect))
				printf(" %" PRId64, effect);
			else
				printf(" ~");
		}
		puts("");
	}
	return !opcodes;
}

int main(int argc, char **argv)
{
	struct py_sampler *sampler = NULL;
	struct py_loops *loops = NULL;
	struct reason why_not = { "", "" };
	char path[64], *text = NULL;
	size_t size = 0;
	if (argc == 3 && strcmp(argv[1], "opcodes") == 0)
		return print_opcodes((unsigned)atoi(argv[2]));
	if (argc < 4)
		return 2;
	pid_t pid = (pid_t)atoi(argv[1]);
	has_changes = argc > 4;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (py_sampler_open(pid, fd, NULL, &sampler, &why_not) != STATUS_OK ||
		py_loops_open(py_sampler_process(sampler), &loops, &why_not) != STATUS_OK) {
		printf("cannot %s\n", why_not.text);
		if (sampler)
			py_sampler_close(sampler);
		close(fd);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	lines = open_memstream(&text, &size);
	if (!lines)
		return 1;
	watch(pid, sampler, loops, atoll(argv[2]) * 1000, atoll(argv[3]) * 1000);
	fclose(lines);
	fwrite(text, 1, size, stdout);
	free(text);
	printf("cost read %" PRId64 " poll %" PRId64 " calls %d\n", reads ? read_ns / reads : 0,
		polls ? poll_ns / polls : 0, median_of_calls());
	py_loops_close(loops);
	py_sampler_close(sampler);
	close(fd);
	return 0;
}
