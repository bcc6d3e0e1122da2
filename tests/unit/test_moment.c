#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/playback/moment.h"
#include "tests/support/suite.h"

static const struct {
	const char *text;
	enum moment_kind kind;
	double value;
} good[] = {
	{ "90s", MOMENT_SECONDS, 90 },
	{ "5m", MOMENT_SECONDS, 300 },
	{ "2h", MOMENT_SECONDS, 7200 },
	{ "1h30m", MOMENT_SECONDS, 5400 },
	{ "1d2h3m4s", MOMENT_SECONDS, 93784 },
	{ "1.5h", MOMENT_SECONDS, 5400 },
	{ "250ms", MOMENT_SECONDS, 0.25 },
	{ "90", MOMENT_SECONDS, 90 },
	{ "0", MOMENT_SECONDS, 0 },
	{ "+90s", MOMENT_SECONDS, 90 },
	{ "-5m", MOMENT_SECONDS, -300 },
	{ "-1:30", MOMENT_SECONDS, -90 },
	{ "1:30", MOMENT_SECONDS, 90 },
	{ "9:59", MOMENT_SECONDS, 599 },
	{ "0:01:30", MOMENT_SECONDS, 90 },
	{ "1:02:03.5", MOMENT_SECONDS, 3723.5 },
	{ "+14:02", MOMENT_SECONDS, 842 },
	{ "+14:02:30", MOMENT_SECONDS, 50550 },
	{ "123:00:00", MOMENT_SECONDS, 442800 },
	{ " 90s ", MOMENT_SECONDS, 90 },
	{ "14:02", MOMENT_CLOCK, 50520 },
	{ "09:30", MOMENT_CLOCK, 34200 },
	{ "00:00", MOMENT_CLOCK, 0 },
	{ "14:02:30", MOMENT_CLOCK, 50550 },
	{ "23:59:59.25", MOMENT_CLOCK, 86399.25 },
	{ "2026-11-20T14:02:30Z", MOMENT_DATE, 1795183350 },
	{ "2026-11-20 14:02Z", MOMENT_DATE, 1795183320 },
	{ "2026-11-20T14:02:30", MOMENT_DATE, 1795179750 },
	{ "2026-11-20", MOMENT_DATE, 1795129200 },
	{ "50%", MOMENT_SHARE, 0.5 },
	{ "0%", MOMENT_SHARE, 0 },
	{ "100 %", MOMENT_SHARE, 1 },
	{ "12.5%", MOMENT_SHARE, 0.125 },
	{ "#624", MOMENT_BATCH, 624 },
	{ "#0", MOMENT_BATCH, 0 },
	{ "@7", MOMENT_EPOCH, 7 },
	{ "begin", MOMENT_BEGIN, 0 },
	{ "start", MOMENT_BEGIN, 0 },
	{ "end", MOMENT_END, 0 },
};

static const char *const bad[] = {
	"",
	" ",
	"soon",
	"90x",
	"s",
	"5m90",
	"30m1h",
	"1s1s",
	"101%",
	"%",
	"-50%",
	"#",
	"#-1",
	"#1.5",
	"@",
	"@0",
	"24:00",
	"12:60",
	"12:30:60",
	"1:2",
	"1:2:3:4",
	"14:02:",
	":30",
	"1:30m",
	"2026-13-01",
	"2026-11-20T25:00",
	"2026-11-20T14",
	"2026-11-20X14:02",
	"2026-11-20T14:02:30+01",
	"20-11",
	"end of it",
	"1e3",
	"nan",
	"inf",
	"0x10",
	"99999999999999999999999999999999999999999",
	"--5m",
	"+-5m",
	"1..5h",
};

static void setup(void)
{
	/* An hour before UTC in winter; no database is needed. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
}

START_TEST(moments_of_all_forms_are_parsed)
{
	struct moment moment = { MOMENT_END, 99 };
	ck_assert_msg(moment_parse(good[_i].text, &moment), "%s", good[_i].text);
	ck_assert_msg(moment.kind == good[_i].kind, "%s is of kind %d", good[_i].text, moment.kind);
	ck_assert_msg(fabs(moment.value - good[_i].value) < 1e-6, "%s is %.9g", good[_i].text, moment.value);
}
END_TEST

START_TEST(invalid_moments_are_refused_and_leave_the_result_alone)
{
	struct moment moment = { MOMENT_END, 99 };
	ck_assert_msg(!moment_parse(bad[_i], &moment), "%s", bad[_i]);
	ck_assert(moment.kind == MOMENT_END && moment.value == 99);
}
END_TEST

#define OFFSET_NS (INT64_C(1795183200) * NS_PER_S) /* monotonic 0 is 15:00:00 in this time zone */
#define BEGIN_NS (100 * NS_PER_S)
#define END_NS (4100 * NS_PER_S)

static int64_t time_of(const char *text)
{
	struct moment moment;
	ck_assert_msg(moment_parse(text, &moment), "%s", text);
	return moment_time_ns(&moment, BEGIN_NS, END_NS, OFFSET_NS) / NS_PER_MS;
}

START_TEST(moments_become_times_of_the_recording)
{
	ck_assert_int_eq(time_of("90s"), 190000);
	ck_assert_int_eq(time_of("-90s"), 4010000);
	ck_assert_int_eq(time_of("-0"), 4100000);
	ck_assert_int_eq(time_of("50%"), 2100000);
	ck_assert_int_eq(time_of("begin"), 100000);
	ck_assert_int_eq(time_of("end"), 4100000);
	ck_assert_int_eq(time_of("15:10"), 600000);
	ck_assert_int_eq(time_of("15:01:40"), 100000);
	ck_assert_int_eq(time_of("2026-11-20T15:10"), 600000);
	ck_assert_int_eq(time_of("2026-11-20T14:10Z"), 600000);
	/* A time that has passed today is tomorrow's. */
	ck_assert_int_eq(time_of("15:01:39"), 99000 + 86400000);
}
END_TEST

START_TEST(a_clock_time_is_found_across_a_change_of_the_clocks)
{
	/* 25 October 2026, 01:30 in summer time; 04:00 is three hours and a half later, not two and a half. */
	struct moment moment;
	ck_assert(moment_parse("04:00", &moment));
	ck_assert_int_eq(moment_time_ns(&moment, 0, END_NS, INT64_C(1792884600) * NS_PER_S) / NS_PER_S, 12600);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("moment");
	TCase *tests = tcase_create("moment");
	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_loop_test(tests, moments_of_all_forms_are_parsed, 0, sizeof good / sizeof *good);
	tcase_add_loop_test(tests, invalid_moments_are_refused_and_leave_the_result_alone, 0, sizeof bad / sizeof *bad);
	tcase_add_test(tests, moments_become_times_of_the_recording);
	tcase_add_test(tests, a_clock_time_is_found_across_a_change_of_the_clocks);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
