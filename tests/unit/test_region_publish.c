#define PMTOP_IMPLEMENTATION
#include "src/region/events.h"

#include <check.h>
#include <malloc.h>
#include <math.h>

#include "src/base/histogram.h"
#include "src/region/pmtop.h"
#include "src/region/tables.h"
#include "tests/support/regions.h"

static struct pmtop *pm;
static struct region *region;
static struct region_event events[8192];

static void open_with(const struct pmtop_options *options)
{
	pm = pmtop_open("run", options);
	ck_assert_ptr_nonnull(pm);
	region = regions_open(pm->path);
}

static void setup(void) { open_with(NULL); }

static void teardown(void)
{
	region_close(region);
	pmtop_close(pm);
}

static void reopen(const struct pmtop_options *options)
{
	teardown();
	open_with(options);
}

static void spend(uint64_t ns)
{
	uint64_t until = pmtop_i_clock(CLOCK_MONOTONIC) + ns;
	while (pmtop_i_clock(CLOCK_MONOTONIC) < until)
		;
}

static double event_seconds(uint64_t ns) { return (double)ns * 1e-9; }

START_TEST(every_call_accepts_null)
{
	struct pmtop_statistics statistics;
	int inside = 0;
	pmtop_plan(NULL, 1, 2, 3);
	pmtop_meta(NULL, "key", "value");
	pmtop_mode(NULL, "train");
	pmtop_epoch_begin(NULL, 0);
	pmtop_batch_begin(NULL, 0);
	pmtop_span_begin(NULL, "forward");
	pmtop_span_end(NULL);
	PMTOP_SPAN(NULL, "forward") inside++;
	PMTOP_GAUGE(NULL, "rate", 1.0);
	PMTOP_COUNT(NULL, "tokens", 1);
	pmtop_gauge(NULL, "rate", 1.0);
	pmtop_count(NULL, "tokens", 1);
	pmtop_mark(NULL, "text");
	pmtop_span_past(NULL, "gc", 1, 2);
	pmtop_batch_kind(NULL, "step");
	pmtop_batch_samples(NULL, 1);
	pmtop_batch_figure(NULL, 0, "loss", 0.5);
	pmtop_batch_end(NULL, 0.5);
	pmtop_epoch_end(NULL);
	pmtop_get_statistics(NULL, &statistics);
	ck_assert(isnan(statistics.avg_batch_time) && statistics.num_batches == 0);
	ck_assert(isnan(pmtop_get_total_time(NULL)) && isnan(pmtop_get_operation_time(NULL, "forward")));
	pmtop_close(NULL);
	ck_assert_int_eq(inside, 1);
}
END_TEST

START_TEST(null_names_and_texts_do_no_harm)
{
	pmtop_meta(pm, NULL, "value");
	pmtop_meta(pm, "key", NULL);
	pmtop_mode(pm, NULL);
	pmtop_mark(pm, NULL);
	pmtop_span_begin(pm, NULL);
	pmtop_span_end(pm);
	pmtop_span_past(pm, NULL, 1, 2);
	pmtop_gauge(pm, NULL, 1.0);
	pmtop_count(pm, "", 1);
	pmtop_batch_kind(pm, NULL);
	pmtop_batch_figure(pm, 0, NULL, 1.0);
	pmtop_get_statistics(pm, NULL);
	ck_assert(isnan(pmtop_get_operation_time(pm, NULL)));
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "(unnamed)").count, 2);
	struct pmtop *unnamed = pmtop_open(NULL, NULL);
	ck_assert_ptr_nonnull(unnamed);
	pmtop_close(unnamed);
}
END_TEST

START_TEST(what_is_published_is_what_is_read)
{
	pmtop_plan(pm, 3, 100, 32);
	pmtop_mode(pm, "train");
	pmtop_epoch_begin(pm, 7);
	pmtop_batch_begin(pm, 41);
	pmtop_batch_end(pm, 0.25);
	pmtop_batch_begin(pm, 42);
	struct region_state state = regions_state(region);
	struct region_identity identity;
	ck_assert_int_eq(region_identify(region, &identity), REGION_OK);
	ck_assert_str_eq(identity.run_name, "run");
	ck_assert_int_eq(identity.pid, getpid());
	ck_assert_uint_eq(state.mode, 0);
	ck_assert_uint_eq(state.epochs_planned, 3);
	ck_assert_uint_eq(state.batches_per_epoch, 100);
	ck_assert_uint_eq(state.samples_per_batch, 32);
	ck_assert(state.in_epoch && state.in_batch && !state.is_ended);
	ck_assert_uint_eq(state.epoch_index, 7);
	ck_assert_uint_eq(state.epochs_begun, 1);
	ck_assert_uint_eq(state.batch_index, 42);
	ck_assert_uint_eq(state.batches_in_epoch, 1);
	ck_assert_double_eq(state.loss, 0.25);
	ck_assert_uint_eq(state.refused, 0);
	static const uint32_t types[] = { PMTOP_EVENT_MODE, PMTOP_EVENT_EPOCH_BEGIN, PMTOP_EVENT_BATCH_BEGIN,
		PMTOP_EVENT_BATCH_END, PMTOP_EVENT_BATCH_BEGIN };
	ck_assert_uint_eq(regions_events(region, 0, events, 10), 5);
	for (int i = 0; i < 5; i++) {
		ck_assert_uint_eq(events[i].type, types[i]);
		ck_assert_uint_eq(events[i].sequence, (uint64_t)i);
		ck_assert_uint_eq(events[i].mode, state.mode);
	}
	ck_assert_uint_eq(events[3].payload[0], 41);
	ck_assert_uint_eq(events[3].payload[1], 7 | UINT64_C(1) << 32);
	ck_assert_uint_eq(events[3].payload[2], 0);
	ck_assert_double_eq(regions_value(events[3].payload[3]), 0.25);
	ck_assert_int_eq((int64_t)events[3].payload[4], events[2].time_ns);
	ck_assert_uint_eq(events[4].payload[2], 1);
}
END_TEST

START_TEST(the_version_changes_with_the_state_its_gauges_and_its_counters)
{
	uint64_t version = regions_state(region).version;
	ck_assert_uint_eq(regions_state(region).version, version);
	for (int i = 0; i < 3; i++) {
		if (i == 0)
			pmtop_gauge(pm, "rate", 0.1);
		else if (i == 1)
			pmtop_count(pm, "tokens", 1);
		else
			pmtop_meta(pm, "rank", "3");
		ck_assert_uint_ne(regions_state(region).version, version);
		version = regions_state(region).version;
	}
}
END_TEST

START_TEST(totals_are_the_sum_of_the_events)
{
	double total_s = 0, self_s = 0, squares_s2 = 0, min_s = INFINITY, max_s = 0;
	uint32_t counts[HISTOGRAM_BUCKETS] = { 0 };
	for (int i = 0; i < 300; i++) {
		PMTOP_SPAN(pm, "outer")
		{
			spend((uint64_t)(i % 7) * 3000);
			PMTOP_SPAN(pm, "inner") spend(2000);
		}
	}
	size_t count = regions_events(region, 0, events, 8192), outer = 0;
	uint32_t outer_name = regions_name(region, "outer"), inner_name = regions_name(region, "inner");
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(events[i].type, PMTOP_EVENT_SPAN);
		ck_assert_uint_eq(events[i].payload[2], events[i].name == inner_name ? outer_name | UINT64_C(1) << 32 : 0);
		ck_assert_uint_eq(events[i].payload[3], PMTOP_UNKNOWN);
		if (events[i].name != outer_name)
			continue;
		outer++;
		double s = event_seconds(events[i].payload[0]);
		ck_assert_uint_eq(events[i].payload[1], events[i].payload[0] - events[i - 1].payload[0]);
		total_s += s;
		self_s += event_seconds(events[i].payload[1]);
		squares_s2 += s * s;
		min_s = fmin(min_s, s);
		max_s = fmax(max_s, s);
		counts[histogram_bucket(events[i].payload[0])]++;
	}
	struct region_total total = regions_total(region, PMTOP_TOTAL_SPAN, "outer");
	ck_assert_uint_eq(outer, 300);
	ck_assert_uint_eq(total.count, 300);
	ck_assert_double_eq_tol(total.total_s, total_s, 1e-12);
	ck_assert_double_eq_tol(total.self_s, self_s, 1e-12);
	ck_assert_double_eq_tol(total.squares_s2, squares_s2, 1e-12);
	ck_assert_double_eq_tol(total.min_s, min_s, 1e-12);
	ck_assert_double_eq_tol(total.max_s, max_s, 1e-12);
	ck_assert(isnan(total.cpu_s) && isnan(total.memory_bytes));
	ck_assert_mem_eq(total.histogram, counts, sizeof counts);
	ck_assert_double_eq_tol(pmtop_get_operation_time(pm, "outer"), total_s, 1e-12);
	ck_assert_double_eq_tol(pmtop_get_total_time(pm), total_s, 1e-12);
	ck_assert(isnan(pmtop_get_operation_time(pm, "never")));
}
END_TEST

START_TEST(buckets_are_those_of_the_rest_of_pmtop)
{
	for (size_t i = 1; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t bound = (uint64_t)ceil(histogram_lower_ns(i));
		for (uint64_t ns = bound - 2; ns <= bound + 2; ns++)
			ck_assert_uint_eq(pmtop_bucket(ns), histogram_bucket(ns));
	}
	for (uint64_t ns = 0; ns < 100000; ns++)
		ck_assert_uint_eq(pmtop_bucket(ns), histogram_bucket(ns));
	for (uint64_t ns = 1, step = 1; ns < UINT64_C(1) << 42; ns += step, step += ns / 5000)
		ck_assert_uint_eq(pmtop_bucket(ns), histogram_bucket(ns));
	ck_assert_uint_eq(pmtop_bucket(UINT64_MAX), PMTOP_BUCKETS - 1);
}
END_TEST

static int leave_by_return(void)
{
	PMTOP_SPAN(pm, "returned") return 1;
	return 0;
}

START_TEST(a_scope_ends_however_it_is_left)
{
	ck_assert_int_eq(leave_by_return(), 1);
	for (int i = 0; i < 3; i++) {
		PMTOP_SPAN(pm, "broken")
		{
			if (i == 1)
				break;
		}
		PMTOP_SPAN(pm, "continued")
		{
			if (i == 1)
				continue;
		}
	}
	size_t open;
	struct region_open_span spans[PMTOP_OPEN_SPANS];
	ck_assert_int_eq(region_read_open_spans(region, 0, spans, PMTOP_OPEN_SPANS, &open), REGION_OK);
	ck_assert_uint_eq(open, 0);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "returned").count, 1);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "broken").count, 3);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "continued").count, 3);
}
END_TEST

START_TEST(open_spans_are_read_outermost_first)
{
	size_t open;
	struct region_open_span spans[PMTOP_OPEN_SPANS];
	pmtop_span_begin(pm, "backward");
	pmtop_span_begin(pm, "all-reduce");
	ck_assert_int_eq(region_read_open_spans(region, 0, spans, PMTOP_OPEN_SPANS, &open), REGION_OK);
	ck_assert_uint_eq(open, 2);
	ck_assert_uint_eq(spans[0].name, regions_name(region, "backward"));
	ck_assert_uint_eq(spans[1].name, regions_name(region, "all-reduce"));
	ck_assert_int_le(spans[0].begin_ns, spans[1].begin_ns);
	ck_assert_int_eq(region_read_open_spans(region, 0, spans, 1, &open), REGION_OK);
	ck_assert_uint_eq(open, 1);
	pmtop_span_end(pm);
	ck_assert_int_eq(region_read_open_spans(region, 0, spans, PMTOP_OPEN_SPANS, &open), REGION_OK);
	ck_assert_uint_eq(open, 1);
}
END_TEST

START_TEST(spans_too_deep_are_refused_and_the_others_stay_paired)
{
	for (int i = 0; i < 40; i++)
		pmtop_span_begin(pm, "deep");
	for (int i = 0; i < 40; i++)
		pmtop_span_end(pm);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "deep").count, 32);
	ck_assert_uint_eq(regions_state(region).refused, 8);
	pmtop_span_end(pm);
	ck_assert_uint_eq(regions_state(region).refused, 9);
	PMTOP_SPAN(pm, "after") {}
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "after").depth, 0);
}
END_TEST

START_TEST(spans_can_note_cpu_time_and_memory)
{
	static char *block;
	PMTOP_SPAN_CPU(pm, "busy") spend(3000000);
	PMTOP_SPAN_MEMORY(pm, "growing")
	{
		block = malloc(8 << 20);
		memset(block, 1, 8 << 20);
	}
	PMTOP_SPAN_NOTING(pm, "both", PMTOP_NOTE_CPU | PMTOP_NOTE_MEMORY) {}
	free(block);
	struct region_total busy = regions_total(region, PMTOP_TOTAL_SPAN, "busy"),
						growing = regions_total(region, PMTOP_TOTAL_SPAN, "growing");
	ck_assert_double_gt(busy.cpu_s, 0);
	ck_assert_double_le(busy.cpu_s, busy.total_s * 1.01);
	ck_assert(isnan(busy.memory_bytes) && isnan(growing.cpu_s));
	ck_assert_double_ge(growing.memory_bytes, 7e6);
	ck_assert_uint_eq(regions_events(region, 0, events, 10), 3);
	ck_assert_uint_ne(events[0].payload[3], PMTOP_UNKNOWN);
	ck_assert_uint_eq(events[0].payload[4], PMTOP_UNKNOWN);
	ck_assert(events[2].payload[3] != PMTOP_UNKNOWN && events[2].payload[4] != PMTOP_UNKNOWN);
}
END_TEST

START_TEST(without_room_for_totals_there_are_counts_marked_as_such)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.totals = 2;
	reopen(&options);
	for (int i = 0; i < 5; i++) {
		PMTOP_SPAN(pm, "first") {}
		PMTOP_SPAN(pm, "second") {}
		PMTOP_SPAN(pm, "third") {}
	}
	struct region_total total;
	ck_assert_uint_eq(region_total_count(region), 3);
	ck_assert(regions_total(region, PMTOP_TOTAL_SPAN, "first").has_histogram);
	ck_assert_int_eq(region_read_total(region, 2, &total), REGION_OK);
	ck_assert_uint_eq(total.name, regions_name(region, "third"));
	ck_assert_uint_eq(total.count, 5);
	ck_assert_uint_eq(total.upto, 15);
	ck_assert(!total.has_histogram && isnan(total.total_s) && isnan(total.min_s) && isnan(total.self_s));
	ck_assert_int_eq(region_read_total(region, 3, &total), REGION_NONE);
}
END_TEST

START_TEST(errno_and_the_heap_are_left_alone)
{
	pmtop_epoch_begin(pm, 0);
	pmtop_batch_begin(pm, 0);
	spend(60000);
	pmtop_batch_end(pm, 1);
	PMTOP_SPAN_MEMORY(pm, "memory") {}
	size_t before = mallinfo2().uordblks;
	for (int i = 0; i < 2000; i++) {
		errno = 77;
		pmtop_batch_begin(pm, 1);
		PMTOP_SPAN_MEMORY(pm, "memory") {}
		if (i % 100 == 0)
			spend(60000);
		pmtop_gauge(pm, "rate", 1);
		pmtop_count(pm, "tokens", 1);
		pmtop_mark(pm, "text");
		pmtop_batch_end(pm, 1);
		ck_assert_int_eq(errno, 77);
	}
	ck_assert_uint_eq(mallinfo2().uordblks, before);
}
END_TEST

START_TEST(close_removes_the_region_and_says_that_the_run_ended)
{
	char path[256];
	struct stat file;
	snprintf(path, sizeof path, "%s", pm->path);
	ck_assert_int_eq(stat(path, &file), 0);
	ck_assert_uint_eq(file.st_mode & 07777, 0600);
	pmtop_close(pm);
	ck_assert_int_eq(stat(path, &file), -1);
	ck_assert(regions_state(region).is_ended);
	ck_assert(!region_is_in_place(region));
	pm = pmtop_open("again", NULL);
}
END_TEST

START_TEST(options_are_brought_within_their_bounds)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.lanes = 100000;
	options.slots = 100;
	options.names = 1;
	options.history = 100000;
	options.epochs = 100000;
	reopen(&options);
	ck_assert_uint_eq(pm->options.history, PMTOP_BINS);
	ck_assert_uint_eq(pm->options.epochs, PMTOP_EPOCHS);
	ck_assert_uint_eq(region_lane_count(region), 256);
	ck_assert_uint_eq(pm->options.slots, 128);
	pmtop_gauge(pm, "rate", 1);
	ck_assert_uint_eq(regions_events(region, 0, events, 10), 1);
	memset(&options, 0, sizeof options);
	options.lanes = 3;
	reopen(&options);
	ck_assert_uint_eq(region_lane_count(region), 4); /* and one for batches */
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		every_call_accepts_null,
		null_names_and_texts_do_no_harm,
		what_is_published_is_what_is_read,
		the_version_changes_with_the_state_its_gauges_and_its_counters,
		totals_are_the_sum_of_the_events,
		buckets_are_those_of_the_rest_of_pmtop,
		a_scope_ends_however_it_is_left,
		open_spans_are_read_outermost_first,
		spans_too_deep_are_refused_and_the_others_stay_paired,
		spans_can_note_cpu_time_and_memory,
		without_room_for_totals_there_are_counts_marked_as_such,
		errno_and_the_heap_are_left_alone,
		close_removes_the_region_and_says_that_the_run_ended,
		options_are_brought_within_their_bounds,
	};
	return regions_run("region: publishing", setup, teardown, tests, sizeof tests / sizeof tests[0]);
}
