#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/export/export.h"
#include "src/export/text/report.h"
#include "src/model/requests/request_pattern.h"
#include "src/model/requests/requests.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

static const char *pattern(const char *name)
{
	static char out[REQUEST_NAME_SIZE];
	request_pattern(out, sizeof out, name);
	return out;
}

START_TEST(variable_parts_of_a_name_become_a_star)
{
	static const struct {
		const char *name, *wanted;
	} rows[] = {
		{ "GET /user/17", "GET /user/*" },
		{ "/a/1/b/22", "/a/*/b/*" },
		{ "request_00412", "request_*" },
		{ "/v2/predict", "/v2/predict" },
		{ "/o/3f2504e0-4f89-11d3-9a0c-0305e82c3301/x", "/o/*/x" },
		{ "/blob/9f86d081884c7d65", "/blob/*" },
		{ "/p/0x1f", "/p/*" },
		{ "/feedback", "/feedback" },
		{ "/deadbeef", "/deadbeef" },
		{ "/beef/", "/beef/" },
		{ "", "" },
		{ "?id=7&k=a", "?id=*&k=a" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		ck_assert_str_eq(pattern(rows[i].name), rows[i].wanted);
	char tiny[4];
	request_pattern(tiny, sizeof tiny, "abcdefgh");
	ck_assert_str_eq(tiny, "abc");
	request_pattern(tiny, sizeof tiny, "abü");
	ck_assert_str_eq(tiny, "ab");
	request_pattern(tiny, sizeof tiny, "aü");
	ck_assert_str_eq(tiny, "aü");
	request_pattern(tiny, sizeof tiny, "üü");
	ck_assert_str_eq(tiny, "ü");
	request_pattern(tiny, sizeof tiny, "ab€");
	ck_assert_str_eq(tiny, "ab");
}
END_TEST

static int64_t at(double seconds) { return script_ns(seconds); }

START_TEST(windows_slide_and_forget)
{
	struct requests *requests = requests_new();
	struct request_figures f;
	for (int i = 0; i < 7200; i++)
		requests_add(requests, "a", at(i), i < 7100 ? 0.1 : 3, i % 10 == 0, 2);
	requests_window(requests, 60, at(7199), &f);
	ck_assert_uint_ge(f.count, 55);
	ck_assert_uint_le(f.count, 60);
	ck_assert_double_eq_tol(f.rate_per_s, 1, 0.03);
	ck_assert_double_eq_tol(f.p50_s, 3, 0.06);
	ck_assert_uint_eq(f.over_sla, f.count);
	requests_window(requests, 300, at(7199), &f);
	ck_assert_uint_ge(f.count, 295);
	ck_assert_uint_le(f.count, 300);
	ck_assert_uint_eq(f.over_sla, 100);
	ck_assert_double_eq_tol(f.p50_s, 0.1, 0.002);
	requests_window(requests, 3600, at(7199), &f);
	ck_assert_uint_ge(f.count, 3540);
	ck_assert_uint_le(f.count, 3600);
	ck_assert_uint_eq(requests_hours(requests), 2);
	ck_assert_int_eq(requests_hour(requests, 1, &f), at(3600));
	ck_assert_uint_eq(f.count, 3600);
	requests_whole(requests, at(7199), &f);
	ck_assert_uint_eq(f.count, 7200);
	ck_assert_uint_eq(f.failed, 720);
	/* A suspend of a day: all windows are empty, the hours remain. */
	requests_add(requests, "a", at(7199 + 86400), 0.1, false, 2);
	requests_window(requests, 3600, at(7199 + 86400), &f);
	ck_assert_uint_eq(f.count, 1);
	ck_assert_uint_eq(requests_hours(requests), 3);
	/* A request that ended long before counts in the total and in its hour. */
	requests_add(requests, "a", at(10), 0.1, false, 2);
	requests_window(requests, 300, at(7199 + 86400), &f);
	ck_assert_uint_eq(f.count, 1);
	requests_hour(requests, 0, &f);
	ck_assert_uint_eq(f.count, 3601);
	requests_free(requests);
}
END_TEST

START_TEST(patterns_hours_and_late_ones_are_bounded)
{
	struct requests *requests = requests_new();
	struct request_figures f;
	struct request_late late[REQUEST_LATE_MAX];
	char name[32];
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "/%c%c", 'g' + i / 10, 'g' + i % 10);
		requests_add(requests, name, at(i * 3600), 2.5 + i, false, 2);
	}
	ck_assert_uint_eq(requests_patterns(requests), REQUEST_PATTERNS_MAX + 1);
	ck_assert_str_eq(requests_pattern(requests, REQUEST_PATTERNS_MAX, at(100), &f), "other");
	ck_assert_uint_eq(f.count, 100 - REQUEST_PATTERNS_MAX);
	ck_assert_uint_eq(requests_hours(requests), REQUEST_HOURS_MAX);
	ck_assert_int_eq(requests_hour(requests, REQUEST_HOURS_MAX - 1, &f), at(99 * 3600));
	ck_assert_uint_eq(requests_late(requests, late, REQUEST_LATE_MAX), REQUEST_LATE_MAX);
	ck_assert_double_eq(late[0].seconds, 101.5);
	ck_assert_str_eq(late[0].name, "/pp");
	ck_assert_str_eq(late[0].pattern, "other");
	ck_assert_int_eq(late[0].time_ns, at(99 * 3600));
	requests_free(requests);
}
END_TEST

static struct script script;

static void name(uint32_t id, const char *text)
{
	struct record *record = script_add(&script, RECORD_NAME, 0);
	record->name.id = id;
	record->name.text = text;
}

enum { INFERENCE = STORY_NAME_COUNT, ERROR, GET_1, GET_2 };

START_TEST(outermost_spans_are_requests_until_there_are_batches)
{
	struct request_figures f;
	script_open(&script, NULL);
	name(INFERENCE, "inference");
	name(ERROR, "error");
	name(GET_1, "GET /user/1");
	name(GET_2, "GET /user/2");
	script_span(&script, 0, 0.5, 0.6, GET_1, STORY_NO_NAME);
	script_mode(&script, 0, 1, INFERENCE);
	script_span(&script, 0, 1.1, 1.2, STORY_FORWARD, GET_1);
	script_span(&script, 0, 1, 1.2, GET_1, STORY_NO_NAME);
	script_span(&script, 1, 1.5, 1.5, ERROR, GET_2);
	script_span(&script, 1, 1, 3.5, GET_2, STORY_NO_NAME);
	script_apply(&script, 4);
	const struct requests *requests = script_run(&script)->requests;
	ck_assert_ptr_nonnull(requests);
	requests_whole(requests, script.model->now_ns, &f);
	ck_assert_uint_eq(f.count, 2);
	ck_assert_uint_eq(f.failed, 1);
	ck_assert_uint_eq(f.over_sla, 1);
	ck_assert_uint_eq(requests_patterns(requests), 1);
	struct buffer out = BUFFER_INIT;
	struct alerts alerts = { 0 };
	export_report(&out, script.model, &alerts, 0);
	buffer_puts(&out, "");
	ck_assert_ptr_nonnull(strstr(out.data, "GET /user/*                           2       1"));
	ck_assert_ptr_nonnull(strstr(out.data, "REQUESTS BY THE HOUR"));
	buffer_release(&out);
	script_batch_begin(&script, 0, 5, 0);
	script_span(&script, 0, 5, 5.2, STORY_FORWARD, STORY_NO_NAME);
	script_batch_end(&script, 0, 5.3, 5, NAN);
	script_span(&script, 0, 5.4, 5.5, STORY_FORWARD, STORY_NO_NAME);
	script_apply(&script, 6);
	requests_whole(script_run(&script)->requests, script.model->now_ns, &f);
	ck_assert_uint_eq(f.count, 1);
	ck_assert_double_eq_tol(f.max_s, 0.3, 1e-9);
	script_close(&script);
}
END_TEST

/* As from coroutines: many at a time in one thread, each with its error right before its end. */
START_TEST(an_error_is_of_the_request_that_ends_next)
{
	struct request_figures f;
	script_open(&script, NULL);
	name(INFERENCE, "inference");
	name(ERROR, "error");
	name(GET_1, "GET /one");
	name(GET_2, "GET /two");
	script_mode(&script, 0, 0.5, INFERENCE);
	script_span(&script, 0, 1.2, 1.2, ERROR, GET_1);
	script_span(&script, 0, 1, 1.2, GET_1, STORY_NO_NAME);
	for (int i = 0; i < 10; i++)
		script_span(&script, 0, 1, 1.3 + i * 0.01, GET_2, STORY_NO_NAME);
	script_apply(&script, 4);
	const struct requests *requests = script_run(&script)->requests;
	requests_whole(requests, script.model->now_ns, &f);
	ck_assert_uint_eq(f.count, 11);
	ck_assert_uint_eq(f.failed, 1);
	ck_assert_str_eq(requests_pattern(requests, 1, script.model->now_ns, &f), "GET /one");
	ck_assert_uint_eq(f.failed, 1);
	script_close(&script);
}
END_TEST

START_TEST(a_garbage_collection_between_requests_is_none)
{
	struct request_figures f;
	script_open(&script, NULL);
	name(INFERENCE, "inference");
	name(ERROR, "gc");
	name(GET_1, "GET /one");
	script_mode(&script, 0, 0.5, INFERENCE);
	script_span(&script, 0, 1, 1.2, GET_1, STORY_NO_NAME);
	script_span(&script, 0, 1.3, 1.4, ERROR, STORY_NO_NAME);
	script_apply(&script, 4);
	requests_whole(script_run(&script)->requests, script.model->now_ns, &f);
	ck_assert_uint_eq(f.count, 1);
	script_close(&script);
}
END_TEST

/* Distinguished by 0.2 s; named by its spans and its kind. */
static const char *name_of_batch(uint32_t outer, uint32_t second, uint32_t kind)
{
	static char found[REQUEST_NAME_SIZE];
	struct request_figures f;
	script_open(&script, NULL);
	name(INFERENCE, "inference");
	name(ERROR, "error");
	name(GET_1, "GET /user/1");
	name(GET_2, "translate");
	script_mode(&script, 0, 1, INFERENCE);
	script_batch_begin(&script, 0, 2, 0);
	script_span(&script, 0, 2.01, 2.08, STORY_FORWARD, outer);
	script_span(&script, 0, 2.085, 2.085, ERROR, STORY_NO_NAME);
	script_span(&script, 0, 2, 2.1, outer, STORY_NO_NAME);
	if (second)
		script_span(&script, 0, 2.1, 2.15, second, STORY_NO_NAME);
	script_batch_end(&script, 0, 2.2, 2, NAN);
	script.set.records[script.set.count - 1].batch.kind = kind;
	script_apply(&script, 3);
	const struct requests *requests = script_run(&script)->requests;
	ck_assert_uint_eq(requests_patterns(requests), 1);
	snprintf(found, sizeof found, "%s", requests_pattern(requests, 0, at(100), &f));
	ck_assert_uint_eq(f.count, 1);
	ck_assert_uint_eq(f.failed, 1);
	ck_assert_double_eq_tol(f.max_s, 0.2, 1e-9);
	script_close(&script);
	return found;
}

START_TEST(a_batch_is_named_by_its_kind_or_by_its_one_span)
{
	ck_assert_str_eq(name_of_batch(GET_1, 0, 0), "GET /user/*");
	ck_assert_str_eq(name_of_batch(GET_1, 0, GET_2), "translate");
	/* Several spans are its parts. */
	ck_assert_str_eq(name_of_batch(STORY_DATA, STORY_FORWARD, 0), "batch");
}
END_TEST

START_TEST(batches_of_other_modes_are_no_requests)
{
	script_open(&script, NULL);
	script_batch_begin(&script, 0, 1, 0);
	script_batch_end(&script, 0, 1.2, 1, NAN);
	script_mode(&script, 0, 2, STORY_VALIDATION);
	script_batch_begin(&script, 0, 3, 0);
	script_batch_end(&script, 0, 3.2, 3, NAN);
	script_apply(&script, 4);
	ck_assert_ptr_null(script_run(&script)->requests);
	script_close(&script);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("requests");
	TCase *tests = tcase_create("all");
	tcase_add_test(tests, variable_parts_of_a_name_become_a_star);
	tcase_add_test(tests, windows_slide_and_forget);
	tcase_add_test(tests, patterns_hours_and_late_ones_are_bounded);
	tcase_add_test(tests, outermost_spans_are_requests_until_there_are_batches);
	tcase_add_test(tests, an_error_is_of_the_request_that_ends_next);
	tcase_add_test(tests, a_garbage_collection_between_requests_is_none);
	tcase_add_test(tests, a_batch_is_named_by_its_kind_or_by_its_one_span);
	tcase_add_test(tests, batches_of_other_modes_are_no_requests);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
