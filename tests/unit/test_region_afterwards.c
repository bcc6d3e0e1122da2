/* What a publisher adds to a batch besides its times, spans published after their end, and small regions. */
#define PMTOP_IMPLEMENTATION
#include "src/region/pmtop.h"

#include <check.h>
#include <math.h>

#include "src/region/tables.h"
#include "tests/support/regions.h"

static struct pmtop *pm;
static struct region *region;
static struct region_event events[1024];

static void setup(void)
{
	pm = pmtop_open("run", NULL);
	ck_assert_ptr_nonnull(pm);
	region = regions_open(pm->path);
}

static void teardown(void)
{
	region_close(region);
	pmtop_close(pm);
}

static void spend(uint64_t ns)
{
	uint64_t until = pmtop_now() + ns;
	while (pmtop_now() < until)
		;
}

static size_t events_of(uint32_t type, struct region_event *out)
{
	size_t count = regions_events(region, 0, events, 1024), found = 0;
	for (size_t i = 0; i < count; i++)
		if (events[i].type == type)
			out[found++] = events[i];
	return found;
}

START_TEST(a_kind_is_of_one_batch)
{
	static const char *const kinds[] = { "accumulate", NULL, "step", "" };
	struct region_event ends[4];
	for (uint64_t i = 0; i < 4; i++) {
		pmtop_batch_begin(pm, i);
		if (i != 1)
			pmtop_batch_kind(pm, kinds[i]);
		pmtop_batch_end(pm, 1);
	}
	ck_assert_uint_eq(events_of(PMTOP_EVENT_BATCH_END, ends), 4);
	ck_assert_uint_eq(ends[0].name, regions_name(region, "accumulate"));
	ck_assert_uint_eq(ends[1].name, 0);
	ck_assert_uint_eq(ends[2].name, regions_name(region, "step"));
	ck_assert_uint_eq(ends[3].name, 0);
}
END_TEST

START_TEST(samples_are_the_plans_unless_a_batch_says_its_own)
{
	struct region_event evidence[4];
	pmtop_plan(pm, 1, 4, 32);
	for (uint64_t i = 0; i < 4; i++) {
		pmtop_batch_begin(pm, i);
		if (i == 2)
			pmtop_batch_samples(pm, 7);
		spend(100000);
		pmtop_batch_end(pm, 1);
	}
	ck_assert_uint_eq(events_of(PMTOP_EVENT_EVIDENCE, evidence), 3);
	ck_assert_uint_eq(evidence[0].payload[4] >> 32, 32);
	ck_assert_uint_eq(evidence[1].payload[4] >> 32, 7);
	ck_assert_uint_eq(evidence[2].payload[4] >> 32, 32);
}
END_TEST

START_TEST(a_late_figure_names_its_batch)
{
	struct region_event figures[4];
	ck_assert_uint_eq(pmtop_batch_number(pm), 0);
	pmtop_batch_begin(pm, 70);
	uint64_t number = pmtop_batch_number(pm);
	pmtop_batch_end(pm, NAN);
	ck_assert_uint_eq(pmtop_batch_number(pm), 1);
	pmtop_batch_figure(pm, number, "gpu.forward_s", 0.125);
	ck_assert_uint_eq(events_of(PMTOP_EVENT_FIGURE, figures), 1);
	ck_assert_uint_eq(figures[0].name, regions_name(region, "gpu.forward_s"));
	ck_assert_uint_eq(figures[0].length, 16);
	ck_assert_uint_eq(figures[0].payload[1], 0);
	ck_assert_double_eq(regions_value(figures[0].payload[0]), 0.125);
	ck_assert_uint_eq(pmtop_batch_number(NULL), 0);
}
END_TEST

START_TEST(a_span_published_afterwards_is_nested_in_its_parent)
{
	struct region_event spans[4];
	pmtop_span_begin(pm, "forward");
	uint64_t begin = pmtop_now();
	spend(200000);
	uint64_t end = pmtop_now();
	spend(50000);
	pmtop_span_past(pm, "gc", begin, end);
	pmtop_span_end(pm);
	ck_assert_uint_eq(events_of(PMTOP_EVENT_SPAN, spans), 2);
	ck_assert_uint_eq(spans[0].name, regions_name(region, "gc"));
	ck_assert_uint_eq(spans[0].payload[0], end - begin);
	ck_assert_uint_eq(spans[0].payload[2], regions_name(region, "forward") | UINT64_C(1) << 32);
	ck_assert_int_eq(spans[0].time_ns, (int64_t)end);
	ck_assert_uint_eq(spans[1].payload[0] - spans[1].payload[1], end - begin);
	struct region_total gc = regions_total(region, PMTOP_TOTAL_SPAN, "gc");
	ck_assert_uint_eq(gc.count, 1);
	ck_assert_double_eq_tol(gc.total_s, (double)(end - begin) * 1e-9, 1e-12);
}
END_TEST

/* Impossible times are clamped, and the parent span still has a self time. */
START_TEST(impossible_times_are_cut)
{
	struct region_event spans[8];
	uint64_t before = pmtop_now();
	spend(1000);
	pmtop_span_begin(pm, "outer");
	pmtop_span_past(pm, "early", before, pmtop_now());
	pmtop_span_past(pm, "backwards", 2000, 1000);
	pmtop_span_past(pm, "future", pmtop_now(), UINT64_MAX);
	for (int i = 0; i < 3; i++)
		pmtop_span_past(pm, "twice", 0, UINT64_MAX);
	pmtop_span_end(pm);
	uint64_t after = pmtop_now();
	ck_assert_uint_eq(events_of(PMTOP_EVENT_SPAN, spans), 7);
	for (int i = 0; i < 7; i++) {
		ck_assert_uint_lt(spans[i].payload[0], after - before);
		ck_assert_uint_le(spans[i].payload[1], spans[i].payload[0]);
		ck_assert_int_le(spans[i].time_ns, (int64_t)after);
	}
	ck_assert_uint_eq(spans[1].payload[0], 0);
	ck_assert_uint_eq(regions_state(region).refused, 0);
}
END_TEST

START_TEST(a_mode_said_within_a_batch_is_that_batchs_and_the_empty_epochs)
{
	struct region_epoch epoch;
	struct region_total total;
	uint64_t upto, dropped;
	size_t count;
	pmtop_epoch_begin(pm, 0);
	pmtop_batch_begin(pm, 0);
	pmtop_mode(pm, "validation");
	pmtop_batch_end(pm, 1);
	uint32_t validation = regions_name(region, "validation");
	ck_assert_int_eq(region_read_epochs(region, &epoch, 1, &count, &dropped, &upto), REGION_OK);
	ck_assert_uint_eq(epoch.mode, validation);
	ck_assert_uint_eq(epoch.batches, 1);
	pmtop_batch_begin(pm, 1);
	pmtop_mode(pm, "train");
	pmtop_batch_end(pm, 1);
	ck_assert_int_eq(region_read_epochs(region, &epoch, 1, &count, &dropped, &upto), REGION_OK);
	ck_assert_uint_eq(epoch.mode, validation);
	ck_assert_uint_eq(epoch.batches, 1);
	for (uint32_t i = 0; i < region_total_count(region); i++) {
		ck_assert_int_eq(region_read_total(region, i, &total), REGION_OK);
		ck_assert_uint_eq(total.count, 1);
	}
	pmtop_epoch_end(pm);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_STEP, NULL).count, 2);
}
END_TEST

/* A late reader must not find training twice. */
START_TEST(train_is_the_same_as_no_mode)
{
	struct region_total total;
	for (int i = 0; i < 2; i++) {
		pmtop_batch_begin(pm, 0);
		pmtop_batch_end(pm, 1);
		pmtop_mode(pm, "train");
	}
	ck_assert_uint_eq(region_total_count(region), 2);
	ck_assert_int_eq(region_read_total(region, 0, &total), REGION_OK);
	ck_assert_uint_eq(total.mode, 0);
	ck_assert_uint_eq(total.count, 2);
	pmtop_mode(pm, "validation");
	ck_assert_uint_ne(regions_state(region).mode, 0);
	pmtop_mode(pm, "train");
	ck_assert_uint_eq(regions_state(region).mode, 0);
}
END_TEST

/* A loader worker's. */
START_TEST(a_region_can_be_small_and_without_a_file)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	static struct region_bin bins[4096];
	struct region_epoch epochs[16];
	struct region_location location = { .is_memfd = true, .is_descriptor_link = true };
	char message[REGION_MESSAGE_SIZE];
	uint64_t upto, dropped, next = 0;
	size_t count;
	options.lanes = 2;
	options.slots = 64;
	options.totals = 8;
	options.names = 64;
	options.history = 60;
	options.epochs = 4;
	options.directory = "";
	teardown();
	pm = pmtop_open("worker", &options);
	ck_assert_ptr_nonnull(pm);
	ck_assert_uint_lt(pm->size, 100000);
	ck_assert_str_eq(pm->path, "");
	snprintf(location.path, sizeof location.path, "/proc/self/fd/%d", pm->file.fd);
	location.device = pm->file.device;
	location.inode = pm->file.inode;
	ck_assert_int_eq(region_open(&location, geteuid(), &region, message), REGION_OK);
	for (uint32_t epoch = 0; epoch < 6; epoch++) {
		pmtop_epoch_begin(pm, epoch);
		for (uint64_t i = 0; i < 100; i++) {
			pmtop_batch_begin(pm, i);
			pmtop_batch_end(pm, NAN);
		}
		pmtop_epoch_end(pm);
	}
	ck_assert_int_eq(region_read_history(region, bins, 4096, &count), REGION_OK);
	ck_assert(count >= 32 && count <= 64);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(bins[i].first, next);
		next += bins[i].count;
	}
	ck_assert_uint_eq(next, 600);
	ck_assert_int_eq(region_read_epochs(region, epochs, 16, &count, &dropped, &upto), REGION_OK);
	ck_assert_uint_eq(count, 4);
	ck_assert_uint_eq(dropped, 2);
	ck_assert_uint_eq(epochs[3].index, 5);
	ck_assert_uint_eq(epochs[3].batches, 100);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_STEP, NULL).count, 600);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_kind_is_of_one_batch,
		samples_are_the_plans_unless_a_batch_says_its_own,
		a_late_figure_names_its_batch,
		a_span_published_afterwards_is_nested_in_its_parent,
		impossible_times_are_cut,
		a_mode_said_within_a_batch_is_that_batchs_and_the_empty_epochs,
		train_is_the_same_as_no_mode,
		a_region_can_be_small_and_without_a_file,
	};
	return regions_run(
		"region: kinds, late spans, small regions", setup, teardown, tests, sizeof tests / sizeof tests[0]);
}
