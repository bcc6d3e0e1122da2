/* What publishing costs, each call beside a bare clock_gettime(CLOCK_MONOTONIC) of the same round. Prints rows for
 * tests/bench/run (see there).
 *
 * A round times every subject once, in turn, so that what disturbs the machine disturbs all; a ratio is formed within
 * its round. Times are CPU time of the thread. */
#define PMTOP_IMPLEMENTATION
#define PMTOP_I_EVIDENCE_NS evidence_from_ns
static unsigned long evidence_from_ns = 50000;
#include "src/region/events.h"
#include "src/region/pmtop.h"

#include <sys/wait.h>

#include "src/region/reader.h"
#include "src/region/tables.h"

enum { ROUNDS_MAX = 201 };

static struct pmtop *pm;
static unsigned rounds = 201, calls = 20000;

/* CPU time: elapsed time would also say how busy the machine is. */
static double now_ns(void) { return (double)pmtop_i_clock(CLOCK_THREAD_CPUTIME_ID); }

/* -- subjects: each runs `calls` times -- */

static void read_clock(void)
{
	for (unsigned i = 0; i < calls; i++) {
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		__asm__ volatile("" : : "m"(t));
	}
}

static void event(void)
{
	for (unsigned i = 0; i < calls; i++)
		PMTOP_GAUGE(pm, "event", 0.5);
}

static void named_event(void)
{
	for (unsigned i = 0; i < calls; i++)
		pmtop_gauge(pm, "event", 0.5);
}

static void span(void)
{
	for (unsigned i = 0; i < calls; i++)
		PMTOP_SPAN(pm, "span") __asm__ volatile("");
}

static void named_span(void)
{
	for (unsigned i = 0; i < calls; i++) {
		pmtop_span_begin(pm, "span");
		pmtop_span_end(pm);
	}
}

static void cpu_span(void)
{
	for (unsigned i = 0; i < calls / 10; i++)
		PMTOP_SPAN_CPU(pm, "CPU") __asm__ volatile("");
}

static void memory_span(void)
{
	for (unsigned i = 0; i < calls / 10; i++)
		PMTOP_SPAN_MEMORY(pm, "memory") __asm__ volatile("");
}

static void batch(void)
{
	evidence_from_ns = 50000;
	for (unsigned i = 0; i < calls; i++) {
		pmtop_batch_begin(pm, i);
		pmtop_batch_end(pm, 0.5);
	}
}

static void batch_with_evidence(void)
{
	evidence_from_ns = 0;
	for (unsigned i = 0; i < calls / 10; i++) {
		pmtop_batch_begin(pm, i);
		pmtop_batch_end(pm, 0.5);
	}
}

static void disabled(void)
{
	struct pmtop *none = NULL;
	__asm__ volatile("" : "+r"(none));
	for (unsigned i = 0; i < calls; i++)
		pmtop_gauge(none, "event", 0.5);
}

/* -- rounds -- */

enum { IN_CLOCKS, IN_US };

enum { SPAN = 3, BATCH_WITH_EVIDENCE = 6 }; /* which of them the computed slow-down is made of */

static const struct subject {
	void (*run)(void);
	unsigned share; /* runs calls / share times */
	const char *claim;
	int unit;
	double limit; /* 0 = none */
} subjects[] = {
	{ read_clock, 1, NULL, IN_CLOCKS, 0 },
	{ event, 1, "C event with its time ÷ clock read", IN_CLOCKS, 1.15 },
	{ named_event, 1, "  the same by name, not by call site", IN_CLOCKS, 0 },
	{ span, 1, "span begin+end ÷ clock read, totals included", IN_CLOCKS, 2.5 },
	{ named_span, 1, "  the same by name, not by call site", IN_CLOCKS, 0 },
	{ batch, 1, "batch begin+end ÷ clock read, no evidence", IN_CLOCKS, 3.5 },
	{ batch_with_evidence, 10, "batch begin+end with evidence", IN_US, 1.2 },
	{ cpu_span, 10, "span begin+end noting CPU time", IN_US, 0 },
	{ memory_span, 10, "span begin+end noting memory", IN_US, 0 },
	{ disabled, 1, "call with nothing to publish to ÷ clock read", IN_CLOCKS, 0 },
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static double taken_ns[SUBJECTS][ROUNDS_MAX];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Median, and the middle 80 %. */
struct spread {
	double median, low, high;
};

static struct spread spread_of(double *values, unsigned count)
{
	qsort(values, count, sizeof values[0], by_value);
	return (struct spread){ values[count / 2], values[count / 10], values[count - 1 - count / 10] };
}

static void print_row(const char *claim, struct spread s, double limit, const char *unit, const char *anchor)
{
	printf("row\t%s\t%.4g\t%.4g\t%.4g\t", claim, s.median, s.low, s.high);
	if (limit > 0)
		printf("%.4g\t%s\t%s\n", limit, unit, anchor);
	else
		printf("-\t%s\t%s\n", unit, anchor);
	fflush(stdout);
}

static void time_all(void)
{
	for (unsigned round = 0; round < rounds; round++) {
		for (size_t i = 0; i < SUBJECTS; i++) {
			double from = now_ns();
			subjects[i].run();
			taken_ns[i][round] = (now_ns() - from) / (calls / subjects[i].share);
		}
	}
}

static void print_all(void)
{
	static double values[ROUNDS_MAX], clocks[ROUNDS_MAX];
	char anchor[64];
	memcpy(clocks, taken_ns[0], sizeof clocks);
	snprintf(anchor, sizeof anchor, "clock read %.1f ns", spread_of(clocks, rounds).median);
	for (size_t i = 1; i < SUBJECTS; i++) {
		for (unsigned round = 0; round < rounds; round++)
			values[round] =
				subjects[i].unit == IN_US ? taken_ns[i][round] * 1e-3 : taken_ns[i][round] / taken_ns[0][round];
		print_row(subjects[i].claim, spread_of(values, rounds), subjects[i].limit,
			subjects[i].unit == IN_US ? "us" : "×", anchor);
	}
}

/* Costs × rates: under 1 % is too little to measure on a small machine. The costs are those of this run. */
static void print_slow_down(void)
{
	enum { BATCHES_A_SECOND = 100, SPANS_A_BATCH = 6 };
	static double percents[ROUNDS_MAX];
	for (unsigned round = 0; round < rounds; round++)
		percents[round] = (taken_ns[BATCH_WITH_EVIDENCE][round] + SPANS_A_BATCH * taken_ns[SPAN][round]) *
			BATCHES_A_SECOND * 1e-9 * 100;
	print_row("slow-down of training, computed (costs x rates)", spread_of(percents, rounds), 0.1, "%",
		"100 batches a second, 6 spans and evidence each");
}

/* -- two threads, and a reader beside -- */

static pthread_barrier_t together;

static void *produce(void *result_ns)
{
	pmtop_mark(pm, "lane");
	pthread_barrier_wait(&together);
	double from = now_ns();
	for (int i = 0; i < 10; i++)
		span();
	*(double *)result_ns = (now_ns() - from) / calls / 10;
	return NULL;
}

static double produce_on(unsigned threads)
{
	pthread_t ids[2];
	double results[2] = { 0, 0 };
	pthread_barrier_init(&together, NULL, threads);
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, produce, &results[i]);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	pthread_barrier_destroy(&together);
	return threads == 1 ? results[0] : (results[0] + results[1]) / 2;
}

static struct region *open_reader(void)
{
	struct region_location location = { .is_memfd = false };
	struct region *region = NULL;
	char message[REGION_MESSAGE_SIZE];
	snprintf(location.path, sizeof location.path, "%s", pm->path);
	if (region_open(&location, geteuid(), &region, message) != REGION_OK) {
		fprintf(stderr, "bench_publish: %s\n", message);
		exit(1);
	}
	return region;
}

/* What a refresh reads, whatever has happened. */
static void refresh(struct region *region)
{
	static struct region_event events[1024];
	struct region_open_span open[PMTOP_OPEN_SPANS];
	struct region_state state;
	size_t count;
	region_read_state(region, &state);
	for (uint32_t lane = 0; lane < region_lane_count(region); lane++) {
		region_read_events(region, lane, events, 1024, &count);
		region_read_open_spans(region, lane, open, PMTOP_OPEN_SPANS, &count);
	}
}

static void read_at_30_hz(void)
{
	struct timespec pause = { 0, 33333333 };
	for (struct region *region = open_reader();; nanosleep(&pause, NULL))
		refresh(region);
}

static void time_refresh(void)
{
	static double taken_us[ROUNDS_MAX];
	struct region *region = open_reader();
	struct timespec pause = { 0, 1000000 };
	refresh(region);
	for (unsigned round = 0; round < rounds; round++) {
		for (int i = 0; i < 100; i++)
			pmtop_mark(pm, "event");
		nanosleep(&pause, NULL); /* so that caches are not warmer than a monitor finds them */
		double from = now_ns();
		refresh(region);
		taken_us[round] = (now_ns() - from) * 1e-3;
	}
	print_row(
		"reading a region, 100 new events", spread_of(taken_us, rounds), 100, "us", "10 Hz, 1,000 events a second");
	region_close(region);
}

static void compare_producers(void)
{
	static double two[ROUNDS_MAX], read[ROUNDS_MAX];
	unsigned pairs = rounds / 5;
	double one = 0;
	for (unsigned i = 0; i < pairs; i++) {
		one = produce_on(1);
		two[i] = produce_on(2) / one;
	}
	for (unsigned i = 0; i < pairs; i++) {
		double without = produce_on(1);
		pid_t reader = fork();
		if (!reader)
			read_at_30_hz();
		read[i] = produce_on(1) / without;
		kill(reader, SIGKILL);
		while (waitpid(reader, NULL, 0) < 0 && errno == EINTR)
			;
	}
	char anchor[64];
	snprintf(anchor, sizeof anchor, "span on one thread %.1f ns", one);
	print_row("two producing threads ÷ one", spread_of(two, pairs), 1.05, "×", anchor);
	print_row("producer with a 30 Hz reader ÷ without", spread_of(read, pairs), 1.02, "×", anchor);
}

int main(void)
{
	if (getenv("PMTOP_BENCH_SMOKE")) {
		rounds = 10;
		calls = 1000;
	}
	pm = pmtop_open("bench", NULL);
	if (!pm) {
		fprintf(stderr, "bench_publish: no region could be made\n");
		return 1;
	}
	pmtop_epoch_begin(pm, 0);
	time_all();
	print_all();
	print_slow_down();
	compare_producers();
	time_refresh();
	pmtop_close(pm);
	return 0;
}
