#include <check.h>

#include "src/base/clock.h"
#include "src/sources/choices.h"
#include "src/sources/region/region_search.h"
#include "tests/support/suite.h"

static struct target target;
static struct target_member members[2];
static struct source_choices choices;
static struct region_searches searches;
static uint64_t mapped_bytes; /* more, at each look */

static void setup(void)
{
	searches = (struct region_searches){ .count = 0 };
	mapped_bytes = 1 << 20;
	choices.instrumented = 0;
	target = (struct target){ .members = members, .member_count = 2, .choices = &choices };
	for (size_t i = 0; i < 2; i++) {
		members[i] = (struct target_member){ .pid = (pid_t)(100 + i), .start_ticks = 7, .has_stat = true };
		members[i].stat.virtual_bytes = 1 << 20;
	}
}

/* Looks 20 times a second, to before to_s; returns the number of searches. */
static unsigned search_until(size_t member, double from_s, double to_s)
{
	unsigned count = 0;
	for (int64_t now_ns = (int64_t)(from_s * 1e9); now_ns < (int64_t)(to_s * 1e9); now_ns += NS_PER_S / 20) {
		region_searches_follow(&searches, &target);
		members[member].stat.virtual_bytes += mapped_bytes;
		struct region_search *search = &searches.list[member];
		count += now_ns >= search->next_ns && region_search_is_due(search, &members[member], now_ns);
	}
	return count;
}

START_TEST(a_process_is_searched_less_often_the_longer_nothing_is_found)
{
	ck_assert_uint_ge(search_until(1, 0, 1), 6);
	search_until(1, 1, 40);
	ck_assert_uint_le(search_until(1, 40, 60), 4);
	search_until(0, 0, 40);
	ck_assert_uint_ge(search_until(0, 40, 60), 8);
}
END_TEST

/* A DataLoader worker mostly lives for one epoch: it is not searched all the time. */
START_TEST(a_process_that_maps_nothing_is_searched_once_a_minute)
{
	mapped_bytes = 0;
	ck_assert_uint_ge(search_until(1, 0, 1), 4);
	ck_assert_uint_eq(search_until(1, 1, 59), 0);
	ck_assert_uint_eq(search_until(1, 59, 119), 1);
	searches.list[1].virtual_bytes = 0; /* what was found is not settled */
	ck_assert_uint_ge(search_until(1, 119, 140), 1);
}
END_TEST

START_TEST(a_report_of_launch_mode_begins_anew)
{
	search_until(1, 0, 60);
	ck_assert_uint_eq(search_until(1, 60, 60.5), 0);
	choices.instrumented++;
	ck_assert_uint_ge(search_until(1, 60.5, 61), 4);
}
END_TEST

START_TEST(an_exec_begins_anew_and_what_ended_is_left_out)
{
	search_until(1, 0, 60);
	members[1].generation++;
	ck_assert_uint_ge(search_until(1, 60, 60.5), 4);
	members[0] = members[1];
	target.member_count = 1;
	region_searches_follow(&searches, &target);
	ck_assert_uint_eq(searches.count, 1);
	ck_assert_int_eq(searches.list[0].pid, 101);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region search");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, NULL);
	tcase_add_test(all, a_process_is_searched_less_often_the_longer_nothing_is_found);
	tcase_add_test(all, a_process_that_maps_nothing_is_searched_once_a_minute);
	tcase_add_test(all, a_report_of_launch_mode_begins_anew);
	tcase_add_test(all, an_exec_begins_anew_and_what_ended_is_left_out);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
