#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/formats/protobuf.h"
#include "src/export/trace/trace_lane.h"
#include "tests/support/suite.h"

/* Slices of a lane, as text: "batch 0 1000-2000 { 1 1000-1200 }" with numbers as spans' names; "|2" marks the second
 * parallel track. */
static struct trace_lane lane;
static char text[4096];

static void setup(void) { lane = (struct trace_lane){ .has_batch = false }; }

static void teardown(void)
{
	ck_assert(!lane.failed);
	trace_lane_release(&lane);
}

static void add_span(uint32_t name, int64_t begin_ns, int64_t end_ns, uint16_t depth)
{
	struct lane_slice slice = { .begin_ns = begin_ns, .end_ns = end_ns, .depth = depth, .span = { name, NAN, NAN } };
	trace_lane_span(&lane, &slice);
}

static void end_batch(uint64_t number, int64_t begin_ns, int64_t end_ns)
{
	struct lane_slice slice = {
		.begin_ns = begin_ns, .end_ns = end_ns, .is_batch = true, .batch = { number, number, (double)NAN }
	};
	trace_lane_batch_end(&lane, &slice);
}

static void say(const struct lane_slice *slice)
{
	size_t length = strlen(text);
	if (slice->is_batch)
		length += (size_t)snprintf(text + length, sizeof text - length, "batch ");
	length += (size_t)snprintf(text + length, sizeof text - length, "%d %d-%d%s",
		slice->is_batch ? (int)slice->batch.number : (int)slice->span.name, (int)slice->begin_ns, (int)slice->end_ns,
		slice->is_unfinished ? "?" : "");
	if (slice->track && slice->level == 0)
		snprintf(text + length, sizeof text - length, "|%d", slice->track);
}

static const char *all(void)
{
	const struct lane_slice *unit;
	text[0] = '\0';
	for (size_t count; (count = trace_lane_unit(&lane, &unit)); trace_lane_drop_unit(&lane)) {
		unsigned open = 0;
		for (size_t i = 0; i < count; i++) {
			for (; open > unit[i].level; open--)
				strcat(text, " }");
			strcat(text, unit[i].level > open ? " { " : text[0] ? " " : "");
			open = unit[i].level;
			say(&unit[i]);
		}
		for (; open; open--)
			strcat(text, " }");
	}
	return text;
}

START_TEST(equal_starts_and_no_length_nest_as_they_were)
{
	trace_lane_batch_begin(&lane, 10, 0, 0);
	add_span(2, 10, 11, 1);
	add_span(1, 10, 12, 0);
	add_span(3, 12, 12, 0);
	add_span(4, 12, 20, 0);
	end_batch(0, 10, 20);
	ck_assert_str_eq(all(), "batch 0 10-20 { 1 10-12 { 2 10-11 } 3 12-12 4 12-20 }");
}
END_TEST

START_TEST(a_thread_without_batches_has_units_when_its_outermost_spans_end)
{
	lane.is_certain = true;
	add_span(2, 10, 12, 1);
	ck_assert_str_eq(all(), "");
	add_span(1, 10, 20, 0);
	ck_assert_str_eq(all(), "1 10-20 { 2 10-12 }");
}
END_TEST

START_TEST(a_batch_without_a_begin_contains_its_spans)
{
	add_span(1, 12, 14, 0);
	add_span(2, 14, 16, 0);
	end_batch(7, 10, 20);
	ck_assert_str_eq(all(), "batch 7 10-20 { 1 12-14 2 14-16 }");
}
END_TEST

START_TEST(a_lost_end_is_where_the_gap_begins_and_what_follows_is_not_within)
{
	trace_lane_batch_begin(&lane, 10, 0, 0);
	add_span(1, 10, 14, 0);
	trace_lane_gap(&lane, 14);
	add_span(2, 32, 36, 0);
	end_batch(2, 30, 40);
	trace_lane_batch_begin(&lane, 40, 3, 3);
	ck_assert_str_eq(all(), "batch 0 10-14? { 1 10-14 } batch 2 30-40 { 2 32-36 }");
}
END_TEST

START_TEST(a_batch_with_a_gap_in_it_is_whole)
{
	trace_lane_batch_begin(&lane, 10, 0, 0);
	add_span(1, 10, 12, 0);
	trace_lane_gap(&lane, 12);
	add_span(2, 14, 16, 1);
	end_batch(0, 10, 20);
	ck_assert_str_eq(all(), "batch 0 10-20 { 1 10-12 2 14-16 }");
}
END_TEST

START_TEST(a_span_without_a_parent_is_not_nested_in_the_next)
{
	lane.is_certain = true;
	add_span(2, 10, 12, 1);
	trace_lane_gap(&lane, 12);
	lane.is_certain = true;
	add_span(3, 20, 22, 1);
	add_span(1, 20, 30, 0);
	ck_assert_str_eq(all(), "2 10-12 1 20-30 { 3 20-22 }");
}
END_TEST

START_TEST(overlapping_spans_get_a_lane_of_their_own_with_their_children)
{
	trace_lane_batch_begin(&lane, 10, 0, 0);
	add_span(1, 10, 16, 0);
	add_span(3, 13, 14, 1);
	add_span(2, 12, 18, 0);
	end_batch(0, 10, 20);
	ck_assert_str_eq(all(), "batch 0 10-20 { 1 10-16 } 2 12-18|1 { 3 13-14 }");
}
END_TEST

START_TEST(a_span_over_several_batches_gets_a_lane_of_its_own)
{
	for (unsigned i = 0; i < 2; i++) {
		trace_lane_batch_begin(&lane, 10 + 10 * i, i, i);
		end_batch(i, 10 + 10 * i, 20 + 10 * i);
	}
	add_span(1, 5, 35, 0);
	ck_assert_str_eq(all(), "batch 0 10-20 batch 1 20-30 1 5-35|1");
}
END_TEST

START_TEST(a_span_that_began_before_its_batch_gives_way_to_it)
{
	trace_lane_batch_begin(&lane, 10, 0, 0);
	add_span(1, 8, 12, 0);
	add_span(2, 12, 13, 0);
	end_batch(0, 10, 20);
	ck_assert_str_eq(all(), "batch 0 10-20 { 2 12-13 } 1 8-12|1");
}
END_TEST

START_TEST(the_last_batch_ends_with_the_run)
{
	trace_lane_batch_begin(&lane, 10, 0, 0);
	add_span(1, 10, 12, 0);
	trace_lane_finish(&lane, 50);
	ck_assert_str_eq(all(), "batch 0 10-50? { 1 10-12 }");
}
END_TEST

START_TEST(a_long_span_buffers_a_bounded_number_of_children)
{
	lane.is_certain = true;
	for (int i = 0; i < 200000; i++)
		add_span(1, i, i + 1, 1);
	ck_assert_uint_lt(lane.building.count, 70000);
	size_t count = 0;
	const struct lane_slice *unit;
	add_span(2, 0, 200000, 0);
	for (; trace_lane_unit(&lane, &unit); trace_lane_drop_unit(&lane))
		count++;
	ck_assert_uint_gt(count, 130000);
}
END_TEST

START_TEST(messages_within_messages_have_their_lengths_before_them)
{
	struct buffer out = BUFFER_INIT;
	size_t outer = protobuf_begin(&out, 1), inner = protobuf_begin(&out, 2);
	protobuf_uint(&out, 3, 300);
	protobuf_text(&out, 4, "ab");
	protobuf_end(&out, inner);
	protobuf_end(&out, outer);
	ck_assert_uint_eq(out.length, 11);
	ck_assert_mem_eq(out.data,
		"\x0a\x09\x12\x07\x18\xac\x02\x22\x02"
		"ab",
		11);
	buffer_clear(&out);
	outer = protobuf_begin(&out, 15);
	for (unsigned i = 0; i < 200; i++)
		buffer_puts(&out, "x");
	protobuf_end(&out, outer);
	ck_assert_mem_eq(out.data, "\x7a\xc8\x01x", 4);
	buffer_clear(&out);
	protobuf_int(&out, 1, -1);
	protobuf_double(&out, 2, 1.0);
	ck_assert_mem_eq(out.data, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x11\0\0\0\0\0\0\xf0\x3f", 20);
	buffer_release(&out);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace lane");
	TCase *cases = tcase_create("all");
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, equal_starts_and_no_length_nest_as_they_were);
	tcase_add_test(cases, a_thread_without_batches_has_units_when_its_outermost_spans_end);
	tcase_add_test(cases, a_batch_without_a_begin_contains_its_spans);
	tcase_add_test(cases, a_lost_end_is_where_the_gap_begins_and_what_follows_is_not_within);
	tcase_add_test(cases, a_batch_with_a_gap_in_it_is_whole);
	tcase_add_test(cases, a_span_without_a_parent_is_not_nested_in_the_next);
	tcase_add_test(cases, overlapping_spans_get_a_lane_of_their_own_with_their_children);
	tcase_add_test(cases, a_span_over_several_batches_gets_a_lane_of_its_own);
	tcase_add_test(cases, a_span_that_began_before_its_batch_gives_way_to_it);
	tcase_add_test(cases, the_last_batch_ends_with_the_run);
	tcase_add_test(cases, a_long_span_buffers_a_bounded_number_of_children);
	tcase_add_test(cases, messages_within_messages_have_their_lengths_before_them);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
