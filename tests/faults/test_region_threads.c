/* Many threads, signal handlers, forked and cloned children: each writer has its own ring. */
#define PMTOP_IMPLEMENTATION
#include "src/region/events.h"

#include <check.h>
#include <sys/wait.h>

#include "src/region/find.h"
#include "src/region/pmtop.h"
#include "src/region/tables.h"
#include "tests/support/regions.h"
#include "tests/support/waiting.h"

enum { STORM = 10000, AT_ONCE = 24 };

static struct pmtop *pm;
static struct region *region;
static struct region_event events[65536];

static void open_with(uint32_t slots)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.slots = slots;
	pm = pmtop_open("threads", &options);
	ck_assert_ptr_nonnull(pm);
	region = regions_open(pm->path);
}

static void setup(void) { open_with(1024); }

static void teardown(void)
{
	region_close(region);
	pmtop_close(pm);
}

static uint64_t written(void)
{
	uint64_t sum = 0;
	for (uint32_t lane = 0; lane < region_lane_count(region); lane++)
		sum += regions_lane(region, lane).head;
	return sum;
}

static unsigned lanes_taken(void)
{
	unsigned taken = 0;
	for (uint32_t lane = 0; lane < region_lane_count(region); lane++)
		taken += regions_lane(region, lane).owner_tid != 0;
	return taken;
}

/* -- threads -- */

static void *publish_three(void *argument)
{
	PMTOP_SPAN(pm, "short-lived") {}
	pmtop_gauge(pm, "rate", 1);
	pmtop_count(pm, "threads", 1);
	if (argument)
		pmtop_span_begin(pm, "left open");
	return NULL;
}

START_TEST(lanes_of_ended_threads_are_used_again_and_overflow_is_counted)
{
	pthread_t threads[AT_ONCE];
	for (int i = 0; i < STORM; i += AT_ONCE) {
		int count = STORM - i < AT_ONCE ? STORM - i : AT_ONCE;
		for (int k = 0; k < count; k++)
			ck_assert_int_eq(pthread_create(&threads[k], NULL, publish_three, NULL), 0);
		for (int k = 0; k < count; k++)
			pthread_join(threads[k], NULL);
	}
	struct region_total span = regions_total(region, PMTOP_TOTAL_SPAN, "short-lived");
	uint64_t refused = regions_state(region).refused;
	uint32_t name;
	double counted;
	ck_assert_int_eq(region_read_counter(region, 0, &name, &counted), REGION_OK);
	ck_assert_uint_eq(written(), 2 * span.count);
	/* A thread that found no lane was refused four calls. */
	ck_assert_uint_eq(4 * span.count + refused, UINT64_C(4) * STORM);
	ck_assert_uint_eq(regions_state(region).refused_for[PMTOP_REFUSED_NO_LANE], refused);
	ck_assert_double_eq(counted, (double)span.count);
	ck_assert_uint_gt(span.count, STORM / 2);
	ck_assert_uint_eq(lanes_taken(), 0);
}
END_TEST

START_TEST(a_thread_that_ends_closes_what_it_left_open)
{
	struct region_open_span open[4];
	size_t count;
	pthread_t thread;
	pthread_create(&thread, NULL, publish_three, pm);
	pthread_join(thread, NULL);
	ck_assert_int_eq(region_read_open_spans(region, 0, open, 4, &count), REGION_OK);
	ck_assert_uint_eq(count, 0);
	PMTOP_SPAN(pm, "next owner") {}
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "next owner").depth, 0);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "next owner").lane, 0);
}
END_TEST

static void *hold_lane(void *argument)
{
	volatile uint32_t *stop = argument;
	pmtop_mark(pm, "here");
	while (!*stop)
		sched_yield();
	return NULL;
}

/* So many events were published or refused. */
static bool has_tried(void *count) { return written() + regions_state(region).refused >= *(uint64_t *)count; }

START_TEST(without_a_free_lane_events_are_refused_and_counted)
{
	volatile uint32_t stop = 0;
	pthread_t threads[16];
	for (int i = 0; i < 16; i++)
		pthread_create(&threads[i], NULL, hold_lane, (void *)(uintptr_t)&stop);
	ck_assert(wait_until(has_tried, &(uint64_t){ 16 }, 20));
	pmtop_mark(pm, "no lane");
	ck_assert_uint_eq(regions_state(region).refused, 1);
	ck_assert_uint_eq(written(), 16);
	stop = 1;
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
	pmtop_mark(pm, "a lane");
	ck_assert_uint_eq(written(), 17);
}
END_TEST

static void *hold_and_train(void *argument)
{
	(void)argument;
	for (uint64_t i = 0; i < 10; i++) {
		pmtop_batch_begin(pm, i);
		PMTOP_SPAN(pm, "forward") {}
		pmtop_batch_end(pm, 1);
	}
	return NULL;
}

/* 40 threads for 16 lanes: the run's batches are published all the same, whichever thread begins them. */
START_TEST(other_threads_never_take_the_lane_of_the_batches)
{
	volatile uint32_t stop = 0;
	pthread_t threads[40], trainer;
	for (int i = 0; i < 40; i++)
		pthread_create(&threads[i], NULL, hold_lane, (void *)(uintptr_t)&stop);
	ck_assert(wait_until(has_tried, &(uint64_t){ 40 }, 20));
	ck_assert_uint_eq(written(), 16);
	ck_assert_uint_eq(regions_state(region).refused_for[PMTOP_REFUSED_NO_LANE], 24);
	for (int run = 1; run <= 2; run++) {
		pthread_create(&trainer, NULL, hold_and_train, NULL);
		pthread_join(trainer, NULL);
		ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_BATCH, NULL).count, 10u * (unsigned)run);
		ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "forward").count, 10u * (unsigned)run);
	}
	ck_assert_uint_eq(regions_state(region).refused, 24);
	stop = 1;
	for (int i = 0; i < 40; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

static void *publish_many(void *argument)
{
	for (int i = 0; i < 20000; i++) {
		pmtop_span_begin(pm, argument);
		pmtop_count(pm, "spans", 1);
		pmtop_span_end(pm);
	}
	return NULL;
}

START_TEST(threads_do_not_lose_each_others_events)
{
	static char names[4][8] = { "one", "two", "three", "four" };
	pthread_t threads[4];
	uint32_t name;
	double counted;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, publish_many, names[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, names[i]).count, 20000);
	ck_assert_int_eq(region_read_counter(region, 0, &name, &counted), REGION_OK);
	ck_assert_double_eq(counted, 80000);
	ck_assert_uint_eq(regions_state(region).refused, 0);
}
END_TEST

static void *train(void *argument)
{
	(void)argument;
	for (uint64_t i = 0; i < 5000; i++) {
		pmtop_batch_begin(pm, i);
		pmtop_batch_end(pm, 1);
	}
	return NULL;
}

/* Invalid use, but it must do no harm: every end belongs to a begin, or is refused. */
START_TEST(batches_from_two_threads_at_once_stay_consistent)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, train, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	struct pmtop_statistics statistics;
	pmtop_get_statistics(pm, &statistics);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_BATCH, NULL).count, statistics.num_batches);
	ck_assert_double_lt(regions_total(region, PMTOP_TOTAL_BATCH, NULL).max_s, 60);
	ck_assert_double_lt(regions_total(region, PMTOP_TOTAL_STEP, NULL).max_s, 60);
	/* A begin without an end is refused, and so is an end without a begin: one each, or none. */
	ck_assert_uint_eq(statistics.num_batches * 2 + regions_state(region).refused, 20000);
}
END_TEST

/* -- signal handlers -- */

static volatile sig_atomic_t signals;

static void publish_from_handler(int number)
{
	(void)number;
	signals++;
	pmtop_mark(pm, "handler");
}

/* Records of the interrupted thread are whole although its handler publishes every 20 µs. */
START_TEST(an_event_from_a_signal_handler_is_refused_where_it_interrupts_another)
{
	struct sigaction action = { .sa_handler = publish_from_handler };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec period = { { 0, 20000 }, { 0, 20000 } };
	timer_t timer;
	uint64_t published = 0, got = 0, torn = 0, from_handler = 0;
	sigaction(SIGUSR1, &action, NULL);
	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	timer_settime(timer, 0, &period, NULL);
	for (uint64_t end = pmtop_i_clock(CLOCK_MONOTONIC) + 2000000000; pmtop_i_clock(CLOCK_MONOTONIC) < end;) {
		for (int i = 0; i < 100; i++, published++)
			pmtop_mark(pm, "0123456789012345678901234567890123456789");
		size_t count = regions_events(region, 0, events, 1024);
		for (size_t i = 0; i < count; i++, got++) {
			bool is_handler = events[i].length == 7 && !memcmp(events[i].payload, "handler", 7);
			from_handler += is_handler;
			torn += !is_handler &&
				(events[i].length != 40 ||
					memcmp(events[i].payload, "0123456789012345678901234567890123456789", 40) != 0);
		}
	}
	timer_delete(timer);
	got += regions_events(region, 0, events, 65536);
	struct region_lane_status lane = regions_lane(region, 0);
	ck_assert_uint_eq(torn, 0);
	ck_assert_uint_eq(got + lane.lost, lane.head);
	ck_assert_uint_eq(lane.head + regions_state(region).refused, published + (uint64_t)signals);
	ck_assert_uint_gt(regions_state(region).refused, 0);
	ck_assert_uint_gt(from_handler, 0);
}
END_TEST

/* -- children -- */

struct report {
	char path[256];
	uint8_t parent_uuid[16];
	uint32_t name, is_done;
};

static void publish_as_child(struct report *report)
{
	for (int i = 0; i < 100; i++) {
		PMTOP_SPAN(pm, "shared name") {}
		pmtop_gauge(pm, "of the child", i);
	}
	memcpy(report->path, pm->path, sizeof pm->path);
	memcpy(report->parent_uuid, pm->parent_uuid, 16);
	struct region *own = regions_open(pm->path);
	report->name = regions_name(own, "shared name");
	region_close(own);
	pmtop_close(pm);
	__atomic_store_n(&report->is_done, 1, __ATOMIC_RELEASE);
}

static void check_child(pid_t pid, const struct report *report)
{
	int status;
	ck_assert_int_eq(waitpid(pid, &status, __WALL), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_uint_eq(report->is_done, 1);
	ck_assert_str_ne(report->path, pm->path);
	ck_assert_mem_eq(report->parent_uuid, pm->uuid, 16);
	ck_assert_uint_eq(report->name, regions_name(region, "shared name"));
	/* The parent's file, lock and ring are as they were. */
	ck_assert_uint_eq(regions_lane(region, 0).head, 1);
	ck_assert_uint_eq(region_name_count(region), 2);
	ck_assert_uint_eq(lanes_taken(), 1);
	ck_assert(region_is_in_place(region));
	PMTOP_SPAN(pm, "shared name") {}
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "shared name").count, 2);
}

START_TEST(a_forked_child_publishes_into_a_region_of_its_own)
{
	struct report *report = regions_shared(sizeof *report);
	PMTOP_SPAN(pm, "shared name") {}
	pid_t pid = fork();
	if (!pid) {
		publish_as_child(report);
		_exit(0);
	}
	check_child(pid, report);
}
END_TEST

START_TEST(a_child_of_a_raw_clone_publishes_into_a_region_of_its_own)
{
	struct report *report = regions_shared(sizeof *report);
	PMTOP_SPAN(pm, "shared name") {}
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		publish_as_child(report);
		_exit(0);
	}
	check_child(pid, report);
}
END_TEST

START_TEST(a_child_that_publishes_nothing_has_no_region_and_removes_none)
{
	struct report *report = regions_shared(sizeof *report);
	PMTOP_SPAN(pm, "shared name") {}
	pid_t pid = fork();
	if (!pid) {
		struct pmtop_statistics statistics;
		struct region_location found[4];
		bool is_unfilled;
		int self = open("/proc/self", O_RDONLY | O_DIRECTORY);
		pmtop_get_statistics(pm, &statistics);
		report->name = (uint32_t)region_find(self, getpid(), found, 4, &is_unfilled);
		pmtop_close(pm);
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(report->name, 0);
	ck_assert(region_is_in_place(region));
	pmtop_mark(pm, "still here");
	ck_assert_uint_eq(regions_lane(region, 0).head, 2);
}
END_TEST

START_TEST(a_child_of_a_child_names_its_own_parent)
{
	struct report *report = regions_shared(2 * sizeof *report);
	pid_t pid = fork();
	if (!pid) {
		pmtop_mark(pm, "child");
		memcpy(report[1].parent_uuid, pm->uuid, 16);
		pid_t grandchild = fork();
		if (!grandchild) {
			publish_as_child(report);
			_exit(0);
		}
		waitpid(grandchild, NULL, 0);
		pmtop_close(pm);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	ck_assert_uint_eq(report->is_done, 1);
	ck_assert_mem_eq(report[0].parent_uuid, report[1].parent_uuid, 16);
	ck_assert_mem_ne(report[0].parent_uuid, pm->uuid, 16);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		lanes_of_ended_threads_are_used_again_and_overflow_is_counted,
		a_thread_that_ends_closes_what_it_left_open,
		without_a_free_lane_events_are_refused_and_counted,
		other_threads_never_take_the_lane_of_the_batches,
		threads_do_not_lose_each_others_events,
		batches_from_two_threads_at_once_stay_consistent,
		an_event_from_a_signal_handler_is_refused_where_it_interrupts_another,
		a_forked_child_publishes_into_a_region_of_its_own,
		a_child_of_a_raw_clone_publishes_into_a_region_of_its_own,
		a_child_that_publishes_nothing_has_no_region_and_removes_none,
		a_child_of_a_child_names_its_own_parent,
	};
	return regions_run("region: threads, signals, children", setup, teardown, tests, sizeof tests / sizeof tests[0]);
}
