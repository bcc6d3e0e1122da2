#define PMTOP_IMPLEMENTATION
#include "src/region/pmtop.h"

#include <check.h>
#include <math.h>

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

START_TEST(a_full_name_table_is_counted_and_named)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.names = 8;
	reopen(&options);
	char name[32];
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof name, "name %d", i);
		pmtop_span_begin(pm, name);
		pmtop_span_end(pm);
	}
	ck_assert_uint_eq(region_name_count(region), 8);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "name 6").count, 1);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "(too many names)").count, 13);
	ck_assert_uint_eq(regions_state(region).refused, 13);
}
END_TEST

START_TEST(a_name_of_a_megabyte_is_cut_between_characters)
{
	char *name = malloc((1 << 20) + 1);
	const char *text;
	size_t length;
	memset(name, 'x', 1 << 20);
	name[1 << 20] = '\0';
	memcpy(name + 119, "\xc3\xa9", 2);
	pmtop_span_begin(pm, name);
	pmtop_span_end(pm);
	pmtop_gauge(pm, name, 1);
	pmtop_mark(pm, name);
	pmtop_meta(pm, name, name);
	free(name);
	ck_assert_uint_eq(region_name_count(region), 2);
	ck_assert_int_eq(region_read_name(region, 2, &text, &length), REGION_OK);
	ck_assert_uint_eq(length, 119);
	ck_assert_uint_eq(regions_state(region).meta_count, 1);
}
END_TEST

START_TEST(a_changed_text_at_the_same_offset_is_another_name)
{
	char name[16];
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "layer %d", i % 10);
		pmtop_span_begin(pm, name);
		pmtop_span_end(pm);
	}
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof name, "layer %d", i);
		ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, name).count, 10);
	}
}
END_TEST

static void use_site(struct pmtop *instance)
{
	PMTOP_SPAN(instance, "shared site") {}
}

START_TEST(a_call_site_serves_several_instances)
{
	struct pmtop *other = pmtop_open("other", NULL);
	pmtop_span_begin(other, "only here");
	pmtop_span_end(other);
	struct region *second = regions_open(other->path);
	for (int i = 0; i < 10; i++) {
		use_site(pm);
		use_site(other);
	}
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "shared site").count, 10);
	ck_assert_uint_eq(regions_total(second, PMTOP_TOTAL_SPAN, "shared site").count, 10);
	ck_assert_uint_eq(regions_total(second, PMTOP_TOTAL_SPAN, "only here").count, 1);
	region_close(second);
	pmtop_close(other);
	reopen(NULL);
	use_site(pm);
	ck_assert_uint_eq(regions_total(region, PMTOP_TOTAL_SPAN, "shared site").count, 1);
}
END_TEST

START_TEST(gauges_keep_the_last_value_and_counters_the_sum)
{
	uint32_t name;
	double value;
	for (int i = 1; i <= 10; i++) {
		PMTOP_GAUGE(pm, "rate", i * 0.5);
		PMTOP_COUNT(pm, "tokens", 100);
	}
	pmtop_count(pm, "tokens", 1);
	ck_assert_int_eq(region_read_gauge(region, 0, &name, &value), REGION_OK);
	ck_assert_uint_eq(name, regions_name(region, "rate"));
	ck_assert_double_eq(value, 5.0);
	ck_assert_int_eq(region_read_counter(region, 0, &name, &value), REGION_OK);
	ck_assert_uint_eq(name, regions_name(region, "tokens"));
	ck_assert_double_eq(value, 1001);
	ck_assert_int_eq(region_read_gauge(region, 1, &name, &value), REGION_NONE);
	ck_assert_uint_eq(regions_events(region, 0, events, 100), 10);
	ck_assert_double_eq(regions_value(events[9].payload[0]), 5.0);
}
END_TEST

START_TEST(full_tables_are_counted_as_refused)
{
	char name[16];
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "n%d", i);
		pmtop_count(pm, name, 1);
		pmtop_gauge(pm, name, 1);
		pmtop_meta(pm, name, "v");
	}
	struct region_state state = regions_state(region);
	ck_assert_uint_eq(state.counter_count, PMTOP_VALUES);
	ck_assert_uint_eq(state.gauge_count, PMTOP_VALUES);
	ck_assert_uint_eq(state.meta_count, PMTOP_METAS);
	ck_assert_uint_eq(state.refused, 2 * (300 - PMTOP_VALUES) + 300 - PMTOP_METAS);
	ck_assert_uint_eq(regions_lane(region, 0).head, 300);
}
END_TEST

START_TEST(meta_is_replaced_by_key)
{
	const char *key, *value;
	size_t key_length, value_length;
	pmtop_meta(pm, "rank", "3");
	pmtop_meta(pm, "between", "data");
	pmtop_meta(pm, "rank", "12");
	ck_assert_uint_eq(regions_state(region).meta_count, 2);
	ck_assert_int_eq(region_read_meta(region, 0, &key, &key_length, &value, &value_length), REGION_OK);
	ck_assert(key_length == 4 && !memcmp(key, "rank", 4));
	ck_assert(value_length == 2 && !memcmp(value, "12", 2));
}
END_TEST

START_TEST(short_marks_are_in_the_record_and_long_ones_among_the_names)
{
	static const char long_text[] = "checkpoint 000123 was written to the shared file system";
	pmtop_mark(pm, "checkpoint saved");
	pmtop_mark(pm, long_text);
	ck_assert_uint_eq(regions_events(region, 0, events, 10), 2);
	ck_assert_uint_eq(events[0].name, 0);
	ck_assert_uint_eq(events[0].length, 16);
	ck_assert_mem_eq(events[0].payload, "checkpoint saved", 16);
	ck_assert_uint_eq(events[1].name, regions_name(region, long_text));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_full_name_table_is_counted_and_named,
		a_name_of_a_megabyte_is_cut_between_characters,
		a_changed_text_at_the_same_offset_is_another_name,
		a_call_site_serves_several_instances,
		gauges_keep_the_last_value_and_counters_the_sum,
		full_tables_are_counted_as_refused,
		meta_is_replaced_by_key,
		short_marks_are_in_the_record_and_long_ones_among_the_names,
	};
	return regions_run("region: names, values, texts", setup, teardown, tests, sizeof tests / sizeof tests[0]);
}
