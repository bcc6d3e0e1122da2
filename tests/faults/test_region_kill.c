/* Writers that die, stop or lap their reader: every record is whole, and got + lost + before == written. */
#define PMTOP_IMPLEMENTATION
#include "src/region/events.h"

#include <check.h>
#include <math.h>
#include <sys/wait.h>

#include "src/base/clock.h"
#include "src/region/pmtop.h"
#include "tests/support/regions.h"
#include "tests/support/waiting.h"

enum { ROUNDS = 100, WRITERS = 3, BUFFER = 512 };

static struct region_event events[BUFFER];

/* make soak asks for many more, and for the figures. */
static unsigned killed_writers(void)
{
	const char *wanted = getenv("KILLED_WRITERS");
	return wanted ? (unsigned)strtoul(wanted, NULL, 10) : ROUNDS;
}

/* Shared by the test and the writer that it forks. */
struct shared {
	char path[256];
	uint32_t is_ready, is_stopped;
};
static struct shared *shared;

static void setup(void) { shared = regions_shared(sizeof *shared); }

/* Every word of these batches follows from their number. */
static void publish_batches(struct pmtop *pm)
{
	for (uint64_t i = 0;; i++) {
		pmtop_batch_begin(pm, i);
		PMTOP_SPAN(pm, "forward") {}
		pmtop_batch_end(pm, (double)i * 0.5);
	}
}

/* Marks of one letter, from several threads. */
static void *publish_marks(void *argument)
{
	char text[41] = "";
	for (unsigned i = 0;; i++) {
		memset(text, 'a' + (int)(i % 26), 40);
		pmtop_mark(argument, text);
	}
	return NULL;
}

static void announce(const struct pmtop *pm)
{
	memcpy(shared->path, pm->path, sizeof pm->path);
	__atomic_store_n(&shared->is_ready, 1, __ATOMIC_RELEASE);
}

static pid_t start_writer(uint32_t slots)
{
	shared->is_ready = 0;
	pid_t pid = fork();
	if (pid)
		return pid;
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.slots = slots;
	options.lanes = WRITERS;
	struct pmtop *pm = pmtop_open("victim", &options);
	pthread_t thread;
	pmtop_epoch_begin(pm, 7); /* so the batches have lane 0 */
	for (int i = 1; i < WRITERS; i++)
		pthread_create(&thread, NULL, publish_marks, pm);
	announce(pm);
	publish_batches(pm);
	return 0;
}

static bool is_whole_batch_end(const struct region_event *event)
{
	return event->payload[0] == event->payload[2] && event->payload[1] == (7 | UINT64_C(1) << 32) &&
		regions_value(event->payload[3]) == (double)event->payload[0] * 0.5 &&
		event->payload[4] <= (uint64_t)event->time_ns;
}

static bool is_whole_mark(const struct region_event *event)
{
	char expected[40];
	memset(expected, 'a' + (int)(event->sequence % 26), sizeof expected);
	return event->length == 40 && !memcmp(event->payload, expected, sizeof expected);
}

static bool is_whole(const struct region_event *event)
{
	if (event->type == PMTOP_EVENT_BATCH_END)
		return is_whole_batch_end(event);
	if (event->type == PMTOP_EVENT_MARK)
		return is_whole_mark(event);
	return event->type >= PMTOP_EVENT_EPOCH_BEGIN && event->type <= PMTOP_EVENT_MODE;
}

struct account {
	uint64_t got[REGION_LANES_MAX], next[REGION_LANES_MAX], batch_ends, torn, disordered;
};

static void take(struct account *account, const struct region_event *event)
{
	account->got[event->lane]++;
	account->batch_ends += event->type == PMTOP_EVENT_BATCH_END;
	account->torn += !is_whole(event);
	account->disordered += event->sequence < account->next[event->lane];
	account->next[event->lane] = event->sequence + 1;
}

/* Reads to the current head only: the writer publishes faster than the test reads. */
static void read_all(struct region *region, struct account *account)
{
	for (uint32_t lane = 0; lane < region_lane_count(region); lane++) {
		uint64_t head = regions_lane(region, lane).head;
		while (regions_lane(region, lane).position < head) {
			size_t count = regions_events(region, lane, events, BUFFER);
			for (size_t i = 0; i < count; i++)
				take(account, &events[i]);
		}
	}
	ck_assert_uint_eq(account->torn, 0);
	ck_assert_uint_eq(account->disordered, 0);
}

static uint64_t settle(struct region *region, const struct account *account)
{
	uint64_t in_record = 0;
	for (uint32_t lane = 0; lane < region_lane_count(region); lane++) {
		struct region_lane_status status = regions_lane(region, lane);
		ck_assert_uint_eq(account->got[lane] + status.lost + status.before, status.head);
		in_record += status.in_record;
	}
	return in_record;
}

static void kill_and_reap(pid_t pid)
{
	int status;
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

/* Between 100 and 10,000 more records of the batches' lane, a number that differs from seed to seed. */
static void await_records(struct region *region, unsigned seed)
{
	const int64_t deadline_ns = wait_deadline(10);
	uint64_t wanted = regions_lane(region, 0).head + 100 + seed * 2654435761u % 9900;
	while (regions_lane(region, 0).head < wanted) {
		ck_assert_int_lt(clock_monotonic_ns(), deadline_ns);
		sched_yield();
	}
}

START_TEST(a_killed_writer_leaves_no_torn_record)
{
	const unsigned rounds = killed_writers();
	uint64_t in_record = 0, read = 0;
	for (unsigned round = 0; round < rounds; round++) {
		struct account account = { .batch_ends = 0 };
		pid_t pid = start_writer(1024);
		ck_assert(regions_wait(&shared->is_ready, 1));
		struct region *region = regions_open(shared->path);
		ck_assert(region_is_live(region, -1));
		read_all(region, &account);
		await_records(region, round);
		if (round % 2)
			read_all(region, &account);
		kill_and_reap(pid);
		read_all(region, &account);
		ck_assert(!region_is_live(region, -1));
		in_record += settle(region, &account);
		for (int lane = 0; lane < WRITERS; lane++)
			read += account.got[lane];
		region_close(region);
		unlink(shared->path);
	}
	ck_assert_uint_gt(read, rounds * UINT64_C(100));
	ck_assert_uint_gt(in_record, 0); /* some died within a record */
	if (rounds != ROUNDS)
		printf("%u writers killed: %llu records read, %llu died within one, 0 torn\n", rounds, (unsigned long long)read,
			(unsigned long long)in_record);
}
END_TEST

/* A killed writer's totals equal the events of its ring, except for the event in progress. */
START_TEST(totals_of_a_killed_writer_are_whole)
{
	for (unsigned round = 0; round < 40; round++) {
		struct account account = { .batch_ends = 0 };
		pid_t pid = start_writer(65536);
		ck_assert(regions_wait(&shared->is_ready, 1));
		struct region *region = regions_open(shared->path);
		for (int i = 0; i < 4; i++) {
			read_all(region, &account);
			await_records(region, round * 4 + (unsigned)i);
		}
		kill_and_reap(pid);
		read_all(region, &account);
		struct region_total batch = regions_total(region, PMTOP_TOTAL_BATCH, NULL);
		struct region_state state = regions_state(region);
		if (regions_lane(region, 0).lost + regions_lane(region, 0).before == 0) {
			ck_assert_uint_ge(batch.count, account.batch_ends);
			ck_assert_uint_le(batch.count, account.batch_ends + 1);
			ck_assert_uint_le(state.batches_in_epoch, batch.count + 1);
			ck_assert_uint_ge(state.batches_in_epoch + 1, batch.count);
		}
		region_close(region);
		unlink(shared->path);
	}
}
END_TEST

START_TEST(a_lapped_reader_knows_exactly_what_it_lost)
{
	struct account account = { .batch_ends = 0 };
	pid_t pid = start_writer(16);
	ck_assert(regions_wait(&shared->is_ready, 1));
	struct region *region = regions_open(shared->path);
	for (int i = 0; i < 20000; i++)
		read_all(region, &account);
	kill_and_reap(pid);
	read_all(region, &account);
	settle(region, &account);
	ck_assert_uint_gt(regions_lane(region, 0).lost, 0);
	ck_assert_uint_gt(account.got[0], 0);
	region_close(region);
	unlink(shared->path);
}
END_TEST

START_TEST(a_reader_that_slept_resumes_at_the_newest)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.slots = 64;
	struct pmtop *pm = pmtop_open("long", &options);
	struct region *region = regions_open(pm->path);
	pmtop_gauge(pm, "i", 0);
	ck_assert_uint_eq(regions_events(region, 0, events, BUFFER), 1);
	for (int i = 1; i <= 1000000; i++)
		pmtop_gauge(pm, "i", i);
	ck_assert_uint_eq(regions_events(region, 0, events, BUFFER), 64);
	ck_assert_double_eq(regions_value(events[63].payload[0]), 1000000);
	ck_assert_uint_eq(regions_lane(region, 0).lost, 1000000 - 64);
	region_close(region);
	pmtop_close(pm);
}
END_TEST

/* A lane's totals cover the events below `upto`; adding the later ones counts each event once, whenever the reader
 * attached. */
START_TEST(a_late_reader_adds_totals_and_ring_and_counts_nothing_twice)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.slots = 256;
	for (int before = 0; before < 1200; before += 37) {
		struct pmtop *pm = pmtop_open("late", &options);
		for (int i = 0; i < before; i++)
			PMTOP_SPAN(pm, "forward") {}
		struct region *region = regions_open(pm->path);
		for (int i = 0; i < 5; i++)
			PMTOP_SPAN(pm, "forward") {}
		struct region_total total = regions_total(region, PMTOP_TOTAL_SPAN, "forward");
		for (int i = 0; i < 7; i++)
			PMTOP_SPAN(pm, "forward") {}
		size_t count = regions_events(region, 0, events, BUFFER);
		uint64_t sum = total.count;
		for (size_t i = 0; i < count; i++)
			sum += events[i].sequence >= total.upto;
		ck_assert_uint_eq(sum, (uint64_t)before + 12);
		region_close(region);
		pmtop_close(pm);
	}
}
END_TEST

START_TEST(a_late_reader_of_a_busy_writer_counts_nothing_twice)
{
	for (int round = 0; round < 30; round++) {
		pid_t pid = start_writer(65536);
		ck_assert(regions_wait(&shared->is_ready, 1));
		struct region *early = regions_open(shared->path);
		await_records(early, (unsigned)round);
		region_close(early);
		struct region *region = regions_open(shared->path);
		struct region_total total = regions_total(region, PMTOP_TOTAL_SPAN, "forward");
		kill_and_reap(pid);
		uint64_t sum = total.count, count;
		while ((count = regions_events(region, 0, events, BUFFER)))
			for (size_t i = 0; i < count; i++)
				sum += events[i].type == PMTOP_EVENT_SPAN && events[i].sequence >= total.upto;
		/* Each batch has one span; the run was killed between or within. */
		struct region_total batch = regions_total(region, PMTOP_TOTAL_BATCH, NULL);
		if (regions_lane(region, 0).lost == 0) {
			ck_assert_uint_ge(sum, batch.count);
			ck_assert_uint_le(sum, batch.count + 2);
		}
		region_close(region);
		unlink(shared->path);
	}
}
END_TEST

static pid_t start_stopping_writer(void)
{
	shared->is_ready = 0;
	pid_t pid = fork();
	if (pid)
		return pid;
	struct pmtop *pm = pmtop_open("stopped", NULL);
	pmtop_gauge(pm, "rate", 1);
	pmtop_mark(pm, "before");
	struct pmtop_i_lane *lane = pmtop_i_enter(pm);
	struct pmtop_slot *slot = pmtop_i_record(lane, PMTOP_EVENT_GAUGE, 1, 0, 8);
	announce(pm);
	raise(SIGSTOP);
	pmtop_i_recorded(lane, slot);
	pmtop_i_leave();
	pmtop_mark(pm, "after");
	__atomic_store_n(&shared->is_ready, 2, __ATOMIC_RELEASE);
	pause();
	return 0;
}

START_TEST(a_writer_stopped_in_mid_record_is_not_waited_for)
{
	pid_t pid = start_stopping_writer();
	int status;
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	struct region *region = regions_open(shared->path);
	ck_assert_uint_eq(regions_events(region, 0, events, BUFFER), 2);
	ck_assert(regions_lane(region, 0).in_record);
	ck_assert_uint_eq(regions_events(region, 0, events, BUFFER), 0);
	kill(pid, SIGCONT);
	ck_assert(regions_wait(&shared->is_ready, 2));
	ck_assert_uint_eq(regions_events(region, 0, events, BUFFER), 2);
	ck_assert(!regions_lane(region, 0).in_record);
	ck_assert_uint_eq(regions_lane(region, 0).lost, 0);
	kill_and_reap(pid);
	region_close(region);
	unlink(shared->path);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_killed_writer_leaves_no_torn_record,
		totals_of_a_killed_writer_are_whole,
		a_lapped_reader_knows_exactly_what_it_lost,
		a_reader_that_slept_resumes_at_the_newest,
		a_late_reader_adds_totals_and_ring_and_counts_nothing_twice,
		a_late_reader_of_a_busy_writer_counts_nothing_twice,
		a_writer_stopped_in_mid_record_is_not_waited_for,
	};
	size_t count = killed_writers() == ROUNDS ? sizeof tests / sizeof tests[0] : 1;
	return regions_run("region: killed, stopped, lapped", setup, NULL, tests, count);
}
