/* What CPU counters cost: reading them, opening them, and pmtop's memory with libpfm4 in it. Prints rows for
 * tests/bench/run (see there).
 *
 * The threads that are counted belong to a child that sleeps. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/choices.h"
#include "src/sources/perf/perf.h"
#include "src/sources/perf/perf_threads.h"

enum { ROUNDS_MAX = 101, THREADS = 64 };

static unsigned rounds = ROUNDS_MAX;

/* -- the counted -- */

static void *sleep_on(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static pid_t start_sleepers(void)
{
	int ready[2];
	char byte;
	if (pipe(ready) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		pthread_t thread;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 1; i < THREADS; i++)
			if (pthread_create(&thread, NULL, sleep_on, NULL) != 0)
				_exit(1);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		sleep_on(NULL);
	}
	close(ready[1]);
	if (pid > 0 && read(ready[0], &byte, 1) != 1)
		pid = -1;
	close(ready[0]);
	return pid;
}

/* -- figures -- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print_row(
	const char *claim, double *values, unsigned count, const char *limit, const char *unit, const char *anchor)
{
	qsort(values, count, sizeof *values, by_value);
	printf("row\t%s\t%.4g\t%.4g\t%.4g\t%s\t%s\t%s\n", claim, values[count / 2], values[count / 10],
		values[count - 1 - count / 10], limit, unit, anchor);
}

static double resident_bytes(void)
{
	unsigned long size, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (!file)
		return 0;
	if (fscanf(file, "%lu %lu", &size, &resident) != 2)
		resident = 0;
	fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* Of the whole tree, as the source does it: opened and closed again, then read. */
static void time_threads(const struct perf_plan *plan, const struct perf_opener *opener, const struct target *target)
{
	static double opens_us[ROUNDS_MAX], reads_us[ROUNDS_MAX];
	char anchor[128];
	unsigned groups = plan->group_count, counters = plan->counter_count;
	size_t counted = 0;
	for (unsigned round = 0; round < rounds; round++) {
		struct perf_threads *threads = perf_threads_new(plan, opener, PERF_DESCRIPTORS_MAX);
		if (!threads)
			return;
		int64_t begin_ns = clock_thread_cpu_ns();
		perf_threads_scan(threads, target);
		int64_t opened_ns = clock_thread_cpu_ns();
		perf_threads_read(threads);
		int64_t first_ns = clock_thread_cpu_ns();
		for (int i = 0; i < 10; i++)
			perf_threads_read(threads);
		int64_t end_ns = clock_thread_cpu_ns();
		counted = perf_threads_count(threads);
		opens_us[round] = (double)(opened_ns - begin_ns) * 1e-3 / (double)counted;
		reads_us[round] = (double)(end_ns - first_ns) * 1e-4 / (double)counted;
		perf_threads_free(threads);
	}
	snprintf(anchor, sizeof anchor, "%u counters in %u groups; %zu threads", counters, groups, counted);
	print_row("CPU counters: reading a thread's", reads_us, rounds, "-", "us", anchor);
	print_row("CPU counters: opening a thread's", opens_us, rounds, "-", "us", anchor);
}

static void print_memory(const struct perf_opener *opener)
{
	struct perf_code code;
	struct reason reason;
	double before = resident_bytes(), begin_ns = (double)clock_thread_cpu_ns();
	enum status status = opener->encode(opener->context, "cycles", &code, &reason);
	double took_ms = ((double)clock_thread_cpu_ns() - begin_ns) * 1e-6, grown_mb = (resident_bytes() - before) * 1e-6;
	if (status == STATUS_UNSUPPORTED) {
		printf("absent\tmemory that libpfm4 adds to pmtop\t%s\n", reason.text);
		return;
	}
	print_row("memory that libpfm4 adds to pmtop, once asked for", &grown_mb, 1, "-", "MB", "loaded with dlopen");
	print_row("  loading it, and the first name", &took_ms, 1, "-", "ms", "CPU time");
}

int main(void)
{
	struct target target;
	struct reason reason;
	struct plan_machine machine;
	struct source_choices choices = { .event_count = 0 };
	static struct perf_plan plan;
	struct rlimit limit;
	if (getenv("PMTOP_BENCH_SMOKE"))
		rounds = 3;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	struct perf_opener *opener = perf_system_new();
	pid_t pid = start_sleepers();
	if (!opener || pid <= 0 || target_open(&target, pid, "/proc", &reason) != STATUS_OK)
		return EXIT_FAILURE;
	print_memory(opener);
	plan_machine_read("/proc", &machine);
	perf_plan_make(&plan, opener, &machine, &choices);
	if (plan.is_refused)
		printf("absent\tCPU counters\t%s\n", plan.missing[0].reason.text);
	else
		time_threads(&plan, opener, &target);
	target_close(&target);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	perf_system_free(opener);
	return EXIT_SUCCESS;
}
