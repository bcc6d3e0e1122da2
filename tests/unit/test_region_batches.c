#include <unistd.h>

/* Counts the header's reads of run-queue waits. */
static unsigned reads;
static ssize_t counted_pread(int file, void *bytes, size_t size, off_t offset)
{
	reads++;
	return pread(file, bytes, size, offset);
}
#define pread counted_pread
#define PMTOP_IMPLEMENTATION
#include "src/region/pmtop.h"
#undef pread

#include <check.h>
#include <math.h>

#include "src/region/tables.h"
#include "tests/support/regions.h"

static struct pmtop *pm;
static struct region *region;
static struct region_event events[32768];

static void open_with(const struct pmtop_options *options)
{
	pm = pmtop_open("run", options);
	ck_assert_ptr_nonnull(pm);
	region = regions_open(pm->path);
}

static void setup(void)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.slots = 32768;
	options.lanes = 1;
	open_with(&options);
}

static void teardown(void)
{
	region_close(region);
	pmtop_close(pm);
}

static void spend(uint64_t ns)
{
	uint64_t until = pmtop_i_clock(CLOCK_MONOTONIC) + ns;
	while (pmtop_i_clock(CLOCK_MONOTONIC) < until)
		;
}

/* Uses CPU time of the thread: on a busy machine elapsed time passes without it. */
static void compute(uint64_t ns)
{
	uint64_t until = pmtop_i_clock(CLOCK_THREAD_CPUTIME_ID) + ns;
	while (pmtop_i_clock(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static void batches(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		pmtop_batch_begin(pm, i);
		pmtop_batch_end(pm, NAN);
	}
}

static double since(int64_t from_ns, int64_t to_ns) { return (double)(to_ns - from_ns) * 1e-9; }

/* Steps by their definition, from the events alone: from begin to the next begin in the same epoch; the last of an
 * epoch to its own end. */
struct sums {
	uint64_t batches, steps;
	double batch_s, step_s, longest_step_s;
};

static void end_step(struct sums *sums, double *pending_s, double seconds)
{
	if (isnan(*pending_s))
		return;
	sums->steps++;
	sums->step_s += seconds;
	sums->longest_step_s = fmax(sums->longest_step_s, seconds);
	*pending_s = NAN;
}

static struct sums sums_of_events(size_t count)
{
	struct sums sums = { .batches = 0 };
	double pending_s = NAN;
	int64_t begin_ns = 0;
	for (size_t i = 0; i < count; i++) {
		if (events[i].type == PMTOP_EVENT_BATCH_BEGIN) {
			end_step(&sums, &pending_s, since(begin_ns, events[i].time_ns));
			begin_ns = events[i].time_ns;
		} else if (events[i].type == PMTOP_EVENT_BATCH_END) {
			pending_s = since(begin_ns, events[i].time_ns);
			sums.batches++;
			sums.batch_s += pending_s;
		} else if (events[i].type == PMTOP_EVENT_EPOCH_END) {
			end_step(&sums, &pending_s, pending_s);
		}
	}
	return sums;
}

START_TEST(batch_and_step_totals_follow_the_definitions)
{
	for (uint32_t epoch = 0; epoch < 5; epoch++) {
		pmtop_epoch_begin(pm, epoch);
		for (uint64_t i = 0; i < 20; i++) {
			pmtop_batch_begin(pm, i);
			spend(3000);
			pmtop_batch_end(pm, 1);
			spend(2000);
		}
		pmtop_epoch_end(pm);
		spend(200000);
	}
	size_t count = regions_events(region, 0, events, 32768);
	struct sums sums = sums_of_events(count);
	struct region_total batch = regions_total(region, PMTOP_TOTAL_BATCH, NULL),
						step = regions_total(region, PMTOP_TOTAL_STEP, NULL);
	ck_assert_uint_eq(sums.batches, 100);
	ck_assert_uint_eq(sums.steps, 100);
	ck_assert_uint_eq(batch.count, 100);
	ck_assert_uint_eq(step.count, 100);
	ck_assert_double_eq_tol(batch.total_s, sums.batch_s, 1e-12);
	ck_assert_double_eq_tol(step.total_s, sums.step_s, 1e-12);
	ck_assert_double_eq_tol(step.max_s, sums.longest_step_s, 1e-12);
	ck_assert_uint_eq(batch.upto, count - 1);
	ck_assert_uint_eq(step.upto, count);
}
END_TEST

START_TEST(without_epochs_steps_run_from_begin_to_begin)
{
	batches(10);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_BATCH, NULL).count, 10);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_STEP, NULL).count, 9);
	pmtop_epoch_begin(pm, 0);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_STEP, NULL).count, 10);
}
END_TEST

START_TEST(ends_without_begins_and_begins_without_ends_are_refused)
{
	pmtop_batch_end(pm, 1);
	pmtop_epoch_end(pm);
	ck_assert_uint_eq(regions_state(region).refused, 2);
	pmtop_epoch_begin(pm, 0);
	pmtop_batch_begin(pm, 0);
	pmtop_batch_begin(pm, 1);
	pmtop_batch_end(pm, 1);
	pmtop_batch_begin(pm, 2);
	pmtop_epoch_begin(pm, 1);
	struct region_state state = regions_state(region);
	ck_assert_uint_eq(state.refused, 4);
	ck_assert(state.in_epoch && !state.in_batch);
	ck_assert_uint_eq(state.epochs_begun, 2);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_BATCH, NULL).count, 1);
}
END_TEST

START_TEST(modes_have_totals_of_their_own_and_epochs_count_their_own_mode)
{
	struct region_epoch epochs[4];
	struct region_total total;
	uint64_t upto, dropped;
	size_t count;
	pmtop_mode(pm, "train");
	pmtop_epoch_begin(pm, 0);
	batches(8);
	pmtop_mode(pm, "validation");
	batches(3);
	pmtop_epoch_end(pm);
	pmtop_epoch_begin(pm, 1);
	pmtop_mode(pm, "train");
	batches(2);
	ck_assert_int_eq(region_read_epochs(region, epochs, 4, &count, &dropped, &upto), REGION_OK);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(epochs[0].mode, 0);
	ck_assert_uint_eq(epochs[0].batches, 8);
	ck_assert_int_gt(epochs[0].end_ns, epochs[0].begin_ns);
	ck_assert_uint_eq(epochs[1].mode, 0);
	ck_assert_uint_eq(epochs[1].batches, 2);
	ck_assert_int_eq(epochs[1].end_ns, 0);
	for (uint32_t i = 0; i < region_total_count(region); i++) {
		ck_assert_int_eq(region_read_total(region, i, &total), REGION_OK);
		uint64_t of_train = total.kind == PMTOP_TOTAL_BATCH ? 10 : 9;
		ck_assert_uint_eq(total.count, total.mode == 0 ? of_train : 3);
	}
	ck_assert_uint_eq(region_total_count(region), 4);
}
END_TEST

static void check_history(uint64_t count)
{
	static struct region_bin bins[4096];
	size_t filled;
	uint64_t next = 0;
	double sum_s = 0, min_s = INFINITY, max_s = 0;
	ck_assert_int_eq(region_read_history(region, bins, 4096, &filled), REGION_OK);
	for (size_t i = 0; i < filled; i++) {
		ck_assert_uint_eq(bins[i].first, next);
		ck_assert(i == 0 || bins[i].begin_ns > bins[i - 1].begin_ns);
		next = bins[i].first + bins[i].count;
		sum_s += bins[i].sum_s;
		min_s = fmin(min_s, bins[i].min_s);
		max_s = fmax(max_s, bins[i].max_s);
	}
	struct region_total step = regions_total(region, PMTOP_TOTAL_STEP, NULL);
	ck_assert_uint_eq(next, count);
	ck_assert_uint_eq(step.count, count);
	ck_assert_double_eq_tol(sum_s, step.total_s, 1e-9);
	ck_assert_double_eq_tol(min_s, step.min_s, 1e-12);
	ck_assert_double_eq_tol(max_s, step.max_s, 1e-12);
	ck_assert(count < 4096 ? filled == count : filled >= 2048);
}

START_TEST(history_covers_the_whole_run_at_any_length)
{
	static const uint64_t lengths[] = { 1, 100, 4095, 4096, 4097, 4098, 8191, 8192, 8193, 20000, 100000 };
	uint64_t done = 0;
	pmtop_epoch_begin(pm, 0);
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		batches(lengths[i] - done + (i == 0)); /* the last step of all is not over yet */
		done = lengths[i];
		check_history(done);
	}
}
END_TEST

START_TEST(the_oldest_epochs_are_dropped_and_counted)
{
	static struct region_epoch epochs[1024];
	uint64_t upto, dropped;
	size_t count;
	for (uint32_t i = 0; i < 1030; i++) {
		pmtop_epoch_begin(pm, i * 10);
		batches(1);
		pmtop_epoch_end(pm);
	}
	ck_assert_int_eq(region_read_epochs(region, epochs, 1024, &count, &dropped, &upto), REGION_OK);
	ck_assert_uint_eq(count, 1024);
	ck_assert_uint_eq(dropped, 6);
	ck_assert_uint_eq(epochs[0].index, 60);
	ck_assert_uint_eq(epochs[1023].index, 10290);
	ck_assert_int_eq(region_read_epochs(region, epochs, 10, &count, &dropped, &upto), REGION_OK);
	ck_assert_uint_eq(count, 10);
	ck_assert_uint_eq(dropped, 1020);
	ck_assert_uint_eq(epochs[9].index, 10290);
}
END_TEST

START_TEST(statistics_are_those_of_the_guides)
{
	struct pmtop_statistics s;
	double batch_s = 0, epoch_s = 0, min_s = INFINITY, max_s = 0;
	pmtop_get_statistics(pm, &s);
	ck_assert(isnan(s.total_epoch_time) && isnan(s.avg_batch_time) && s.num_epochs == 0);
	for (uint32_t epoch = 0; epoch < 3; epoch++) {
		pmtop_epoch_begin(pm, epoch);
		for (uint64_t i = 0; i < 10; i++) {
			pmtop_batch_begin(pm, i);
			spend(1000 * (i + 1));
			pmtop_batch_end(pm, 1);
		}
		pmtop_epoch_end(pm);
	}
	pmtop_get_statistics(pm, &s);
	size_t count = regions_events(region, 0, events, 32768);
	for (size_t i = 0; i < count; i++) {
		if (events[i].type == PMTOP_EVENT_BATCH_END) {
			double seconds = since((int64_t)events[i].payload[4], events[i].time_ns);
			batch_s += seconds;
			min_s = fmin(min_s, seconds);
			max_s = fmax(max_s, seconds);
		} else if (events[i].type == PMTOP_EVENT_EPOCH_END) {
			epoch_s += since((int64_t)events[i].payload[1], events[i].time_ns);
		}
	}
	ck_assert_uint_eq(s.num_batches, 30);
	ck_assert_uint_eq(s.num_epochs, 3);
	ck_assert_double_eq_tol(s.total_batch_time, batch_s, 1e-12);
	ck_assert_double_eq_tol(s.avg_batch_time, batch_s / 30, 1e-12);
	ck_assert_double_eq_tol(s.min_batch_time, min_s, 1e-12);
	ck_assert_double_eq_tol(s.max_batch_time, max_s, 1e-12);
	ck_assert_double_eq_tol(s.total_epoch_time, epoch_s, 1e-12);
	ck_assert_double_eq_tol(s.avg_epoch_time, epoch_s / 3, 1e-12);
}
END_TEST

static size_t evidence_after(uint64_t first_ns, uint64_t second_ns)
{
	pmtop_plan(pm, 0, 0, 32);
	pmtop_batch_begin(pm, 0);
	spend(first_ns);
	pmtop_batch_end(pm, 1);
	pmtop_batch_begin(pm, 1);
	compute(second_ns);
	pmtop_batch_end(pm, 1);
	size_t count = regions_events(region, 0, events, 100), found = 0;
	for (size_t i = 0; i < count; i++) {
		if (events[i].type != PMTOP_EVENT_EVIDENCE)
			continue;
		ck_assert_uint_eq(events[i - 1].type, PMTOP_EVENT_BATCH_END);
		ck_assert_uint_eq(events[i - 1].payload[0], 1);
		found++;
	}
	return found;
}

START_TEST(evidence_follows_every_long_batch_but_the_lanes_first)
{
	ck_assert_uint_eq(evidence_after(100000, 30000000), 1);
	const struct region_event *evidence = &events[4];
	ck_assert_uint_eq(evidence->type, PMTOP_EVENT_EVIDENCE);
	/* The kernel brings a thread's CPU time up to date at its ticks, 10 ms apart at most. */
	ck_assert_uint_ge(evidence->payload[0], 10000000);
	ck_assert_uint_le(evidence->payload[0], 30000000 + 2 * 10000000);
	ck_assert_uint_ne(evidence->payload[3], PMTOP_UNKNOWN);
	ck_assert_uint_eq(evidence->payload[4] >> 32, 32);
}
END_TEST

START_TEST(the_wait_is_read_only_after_a_switch)
{
	unsigned after[200];
	size_t found = 0;
	for (uint64_t i = 0; i < 200; i++) {
		pmtop_batch_begin(pm, i);
		spend(PMTOP_I_EVIDENCE_NS + 1);
		if (i % 20 == 0)
			usleep(100);
		pmtop_batch_end(pm, 1);
		after[i] = reads;
	}
	size_t count = regions_events(region, 0, events, 1000);
	for (size_t i = 0; i < count; i++) {
		if (events[i].type != PMTOP_EVENT_EVIDENCE)
			continue;
		found++; /* the first batch has none */
		ck_assert_uint_eq(after[found] - after[found - 1], events[i].payload[2] != 0);
		ck_assert(events[i].payload[2] != 0 || events[i].payload[3] == 0);
	}
	ck_assert_uint_eq(found, 199);
	ck_assert_uint_ge(reads, 10);
}
END_TEST

START_TEST(short_batches_have_no_evidence) { ck_assert_uint_eq(evidence_after(1000, 1000), 0); }
END_TEST

START_TEST(evidence_can_be_turned_off)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.no_evidence = 1;
	teardown();
	open_with(&options);
	ck_assert_uint_eq(evidence_after(100000, 100000), 0);
}
END_TEST

/* An error path that skips span_end(), in each of 100 batches. An earlier version with a stack of 32 recorded nothing
 * from the 33rd on. */
START_TEST(spans_left_open_end_with_their_batch)
{
	for (uint64_t i = 0; i < 100; i++) {
		pmtop_batch_begin(pm, i);
		pmtop_span_begin(pm, "forward");
		pmtop_span_begin(pm, "layer");
		pmtop_batch_end(pm, 1);
	}
	PMTOP_SPAN(pm, "after") {}
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "forward").count, 100);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "forward").depth, 0);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "layer").count, 100);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "after").depth, 0);
	ck_assert_uint_eq(regions_state(region).refused, 0);
	size_t count = regions_events(region, 0, events, 32768);
	int64_t batch_end_ns = 0;
	for (size_t k = count; k-- > 0;) {
		if (events[k].type == PMTOP_EVENT_BATCH_END)
			batch_end_ns = events[k].time_ns;
		if (events[k].type == PMTOP_EVENT_SPAN && batch_end_ns)
			ck_assert_int_le(events[k].time_ns, batch_end_ns);
	}
}
END_TEST

START_TEST(spans_left_open_end_with_the_batch_that_never_ended)
{
	for (uint64_t i = 0; i < 100; i++) {
		pmtop_batch_begin(pm, i);
		pmtop_span_begin(pm, "forward");
	}
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "forward").count, 99);
	ck_assert_uint_eq(regions_state(region).refused, 99);
	ck_assert_uint_eq(regions_state(region).refused_for[PMTOP_REFUSED_ORDER], 99);
}
END_TEST

/* A `with` statement that encloses the loader's next() in an instrumented loop: the batch ends within it. */
START_TEST(scopes_and_spans_that_enclose_a_batch_outlive_it)
{
	pmtop_span_begin(pm, "epoch");
	PMTOP_SPAN(pm, "fit")
	{
		pmtop_batch_begin(pm, 0);
		for (uint64_t i = 1; i <= 10; i++) {
			PMTOP_SPAN(pm, "next")
			{
				pmtop_batch_end(pm, 1);
				spend(100000);
				pmtop_batch_begin(pm, i);
			}
			pmtop_span_begin(pm, "by hand");
			pmtop_batch_end(pm, 1);
			pmtop_span_end(pm); /* finds it ended, and ends nothing else */
			pmtop_batch_begin(pm, i);
		}
		pmtop_batch_end(pm, 1);
	}
	pmtop_span_end(pm);
	struct region_total next = regions_total(region, PMTOP_TOTAL_SPAN, "next");
	ck_assert_uint_eq(next.count, 10);
	ck_assert_double_ge(next.min_s, 100e-6);
	ck_assert_uint_eq(next.depth, 2);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "by hand").count, 10);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "fit").count, 1);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "epoch").count, 1);
	ck_assert_uint_eq(regions_state(region).refused, 0);
}
END_TEST

START_TEST(a_scope_ends_what_was_left_open_in_it)
{
	for (int i = 0; i < 100; i++) {
		PMTOP_SPAN(pm, "scope")
		{
			pmtop_span_begin(pm, "inner");
			pmtop_span_begin(pm, "innermost");
		}
	}
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "scope").count, 100);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "scope").depth, 0);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "inner").count, 100);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "innermost").count, 100);
	ck_assert_uint_eq(regions_state(region).refused, 0);
}
END_TEST

START_TEST(each_reason_to_refuse_is_counted_apart)
{
	char text[16];
	for (int i = 0; i < 40; i++)
		pmtop_span_begin(pm, "deep");
	for (int i = 0; i < 300; i++) {
		snprintf(text, sizeof text, "%d", i);
		pmtop_gauge(pm, text, i);
	}
	pmtop_batch_end(pm, 1);
	struct region_state state = regions_state(region);
	ck_assert_uint_eq(state.refused_for[PMTOP_REFUSED_DEEP], 8);
	ck_assert_uint_eq(state.refused_for[PMTOP_REFUSED_FULL], 300 - PMTOP_VALUES);
	ck_assert_uint_eq(state.refused_for[PMTOP_REFUSED_ORDER], 1);
	ck_assert_uint_eq(state.refused, 8 + 300 - PMTOP_VALUES + 1);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		batch_and_step_totals_follow_the_definitions,
		without_epochs_steps_run_from_begin_to_begin,
		ends_without_begins_and_begins_without_ends_are_refused,
		modes_have_totals_of_their_own_and_epochs_count_their_own_mode,
		history_covers_the_whole_run_at_any_length,
		the_oldest_epochs_are_dropped_and_counted,
		statistics_are_those_of_the_guides,
		evidence_follows_every_long_batch_but_the_lanes_first,
		the_wait_is_read_only_after_a_switch,
		short_batches_have_no_evidence,
		evidence_can_be_turned_off,
		spans_left_open_end_with_their_batch,
		spans_left_open_end_with_the_batch_that_never_ended,
		scopes_and_spans_that_enclose_a_batch_outlive_it,
		a_scope_ends_what_was_left_open_in_it,
		each_reason_to_refuse_is_counted_apart,
	};
	return regions_run("region: batches, steps, epochs", setup, teardown, tests, sizeof tests / sizeof tests[0]);
}
