/* Lanes with so many events that their slots' sequences wrap. */
#include <stdint.h>
static uint64_t first_event;
#define PMTOP_I_FIRST_EVENT first_event
#define PMTOP_IMPLEMENTATION
#include "src/region/pmtop.h"

#include <check.h>

#include "tests/support/regions.h"

enum { SLOTS = 64, EVENTS = 300 };

static struct region_event events[2 * EVENTS];

static struct region *open_at(uint64_t first, struct pmtop **pm)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.slots = SLOTS;
	first_event = first;
	*pm = pmtop_open("wrap", &options);
	ck_assert_ptr_nonnull(*pm);
	return regions_open((*pm)->path);
}

static void check_across(uint64_t first)
{
	struct pmtop *pm;
	struct region *region = open_at(first, &pm);
	ck_assert_uint_eq(regions_events(region, 0, events, EVENTS), 0);
	uint64_t lost = regions_lane(region, 0).lost;
	for (unsigned i = 0; i < EVENTS; i++) {
		pmtop_gauge(pm, "i", i);
		ck_assert_uint_eq(regions_events(region, 0, events, EVENTS), 1);
		ck_assert_uint_eq(events[0].sequence, first + i);
		ck_assert_double_eq(regions_value(events[0].payload[0]), i);
	}
	ck_assert_uint_eq(regions_lane(region, 0).lost, lost);
	/* And if the writer laps the reader across the wrap. */
	for (unsigned i = 0; i < EVENTS; i++)
		pmtop_gauge(pm, "i", i);
	ck_assert_uint_eq(regions_events(region, 0, events, EVENTS), SLOTS);
	ck_assert_uint_eq(regions_lane(region, 0).lost, lost + EVENTS - SLOTS);
	ck_assert_double_eq(regions_value(events[SLOTS - 1].payload[0]), EVENTS - 1);
	region_close(region);
	pmtop_close(pm);
}

START_TEST(a_sequence_that_wraps_loses_no_event)
{
	static const uint64_t positions[] = { 0, (UINT64_C(1) << 31) - 100, (UINT64_C(1) << 31) - 400,
		(UINT64_C(1) << 32) - 100, (UINT64_C(1) << 63) - 100 };
	for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++)
		check_across(positions[i]);
}
END_TEST

START_TEST(a_reader_that_comes_after_the_wrap_reads_the_newest)
{
	struct pmtop *pm;
	struct region *region = open_at((UINT64_C(1) << 31) - 10, &pm);
	for (unsigned i = 0; i < 100; i++)
		pmtop_gauge(pm, "i", i);
	ck_assert_uint_eq(regions_lane(region, 0).head, (UINT64_C(1) << 31) + 90);
	ck_assert_uint_eq(regions_events(region, 0, events, EVENTS), SLOTS);
	ck_assert_uint_eq(events[0].sequence, (UINT64_C(1) << 31) + 90 - SLOTS);
	region_close(region);
	pmtop_close(pm);
}
END_TEST

START_TEST(a_total_whose_sequence_wraps_is_read_as_ever)
{
	struct pmtop *pm;
	struct region *region = open_at(0, &pm);
	PMTOP_SPAN(pm, "forward") {}
	pm->totals[0].sequence = UINT32_MAX - 5;
	for (int i = 0; i < 10; i++) {
		PMTOP_SPAN(pm, "forward") {}
		ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "forward").count, (uint64_t)i + 2);
	}
	region_close(region);
	pmtop_close(pm);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_sequence_that_wraps_loses_no_event,
		a_reader_that_comes_after_the_wrap_reads_the_newest,
		a_total_whose_sequence_wraps_is_read_as_ever,
	};
	return regions_run("region: wraps", NULL, NULL, tests, sizeof tests / sizeof tests[0]);
}
