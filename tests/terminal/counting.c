/* counting PID SAMPLE_US POLL_US: what py_counter reads of a process until it ends or standard input does, a line for
 * each pass and poll: poll BEFORE_NS AFTER_NS serial yielded is_over is_fresh length workers batch_size is_looped
 * line function file and at the end what that cost: cost looks NS notes NS polls NS     each the mean of one, of CPU
 * time; "met" is how long it took the first time */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "src/sources/python/counters/py_counter.h"

static int64_t now_of(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

struct cost {
	int64_t ns, count;
};

static void print_cost(const char *name, const struct cost *cost)
{
	printf(" %s %" PRId64, name, cost->count ? cost->ns / cost->count : 0);
}

static struct py_sample sample;
static struct cost looks, notes, polls, met;

static void sample_once(struct py_sampler *sampler, struct py_counter *counter)
{
	int64_t begin = now_of(CLOCK_THREAD_CPUTIME_ID);
	enum status status = py_sampler_sample(sampler, now_of(CLOCK_MONOTONIC), &sample);
	int64_t looked = now_of(CLOCK_THREAD_CPUTIME_ID);
	looks.ns += looked - begin;
	looks.count++;
	if (status != STATUS_OK)
		return;
	bool is_found = py_counter_note(counter, &sample, now_of(CLOCK_MONOTONIC));
	struct cost *cost = is_found && met.count == 0 ? &met : &notes;
	cost->ns += now_of(CLOCK_THREAD_CPUTIME_ID) - looked;
	cost->count++;
}

/* Who asked reads it when all is over: a pipe would be full long before. */
static FILE *lines;

static bool emit(struct py_counter *counter)
{
	const struct py_counted *counted;
	size_t count;
	int64_t before = now_of(CLOCK_MONOTONIC), begin = now_of(CLOCK_THREAD_CPUTIME_ID);
	enum status status = py_counter_poll(counter, before, &counted, &count);
	int64_t cost = now_of(CLOCK_THREAD_CPUTIME_ID) - begin, after = now_of(CLOCK_MONOTONIC);
	if (count > 0) {
		polls.ns += cost;
		polls.count++;
	}
	for (size_t i = 0; i < count; i++)
		fprintf(lines, "poll %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %d %d %" PRIu64 " %u %u %d %d %s %s\n",
			before, after, counted[i].serial, counted[i].yielded, counted[i].is_over, counted[i].read_ns == before,
			counted[i].length, counted[i].worker_count, counted[i].batch_size, counted[i].is_looped, counted[i].line,
			*counted[i].function ? counted[i].function : "-", *counted[i].file ? counted[i].file : "-");
	return status == STATUS_OK;
}

int main(int argc, char **argv)
{
	struct py_sampler *sampler = NULL;
	struct py_counter *counter = NULL;
	struct reason why_not = { "", "" };
	char path[64];
	if (argc < 4)
		return 2;
	pid_t pid = (pid_t)atoi(argv[1]);
	int64_t sample_ns = atoll(argv[2]) * 1000, poll_ns = atoll(argv[3]) * 1000, looked_ns = 0, polled_ns = 0;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (py_sampler_open(pid, fd, NULL, &sampler, &why_not) != STATUS_OK ||
		py_counter_open(py_sampler_process(sampler), &counter, &why_not) != STATUS_OK) {
		printf("cannot %s\n", why_not.text);
		if (sampler)
			py_sampler_close(sampler);
		close(fd);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	char *text = NULL;
	size_t size = 0;
	lines = open_memstream(&text, &size);
	if (!lines)
		return 1;
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	while (poll(&input, 1, 0) == 0 && kill(pid, 0) == 0) {
		int64_t now = now_of(CLOCK_MONOTONIC);
		if (now - looked_ns >= sample_ns) {
			looked_ns = now;
			sample_once(sampler, counter);
		}
		if (now - polled_ns >= poll_ns) {
			polled_ns = now;
			if (!emit(counter))
				break;
		}
		struct timespec pause = { 0, (long)(sample_ns < poll_ns ? sample_ns : poll_ns) / 2 };
		nanosleep(&pause, NULL);
	}
	emit(counter);
	fclose(lines);
	fwrite(text, 1, size, stdout);
	free(text);
	printf("cost");
	print_cost("look", &looks);
	print_cost("note", &notes);
	print_cost("poll", &polls);
	print_cost("met", &met);
	puts("");
	py_counter_close(counter);
	py_sampler_close(sampler);
	close(fd);
	return 0;
}
