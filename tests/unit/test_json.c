#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "src/base/formats/json.h"
#include "tests/support/suite.h"

static struct buffer out;

static void setup(void) { out = (struct buffer)BUFFER_INIT; }
static void teardown(void) { buffer_release(&out); }

static const char *text_as_json(const char *text)
{
	buffer_clear(&out);
	struct json json = { .out = &out };
	json_text(&json, NULL, text);
	return out.data;
}

START_TEST(nested_values_get_exactly_the_commas_they_need)
{
	struct json json = { .out = &out };
	json_open_object(&json, NULL);
	json_integer(&json, "a", INT64_MIN);
	json_open_array(&json, "b");
	json_unsigned(&json, NULL, UINT64_MAX);
	json_open_object(&json, NULL);
	json_close_object(&json);
	json_open_array(&json, NULL);
	json_close_array(&json);
	json_bool(&json, NULL, true);
	json_close_array(&json);
	json_bool(&json, "c", false);
	json_text(&json, "d", "x");
	json_close_object(&json);
	ck_assert_str_eq(
		out.data, "{\"a\":-9223372036854775808,\"b\":[18446744073709551615,{},[],true],\"c\":false,\"d\":\"x\"}");
}
END_TEST

START_TEST(unknown_values_leave_neither_key_nor_comma)
{
	struct json json = { .out = &out };
	json_open_object(&json, NULL);
	json_number(&json, "nan", NAN);
	json_number(&json, "known", 0);
	json_number(&json, "infinite", INFINITY);
	json_text(&json, "text", NULL);
	json_number(&json, "minus_infinite", -INFINITY);
	json_close_object(&json);
	ck_assert_str_eq(out.data, "{\"known\":0}");
}
END_TEST

START_TEST(numbers_keep_twelve_significant_digits)
{
	struct json json = { .out = &out };
	json_open_array(&json, NULL);
	json_number(&json, NULL, 0.1);
	json_number(&json, NULL, 123456789012.25);
	json_number(&json, NULL, 1.0 / 3);
	json_number(&json, NULL, -2.5e-9);
	json_close_array(&json);
	ck_assert_str_eq(out.data, "[0.1,123456789012,0.333333333333,-2.5e-09]");
}
END_TEST

START_TEST(quotes_and_backslashes_are_escaped) { ck_assert_str_eq(text_as_json("a\"b\\c/d"), "\"a\\\"b\\\\c/d\""); }
END_TEST

START_TEST(keys_are_escaped_like_texts)
{
	struct json json = { .out = &out };
	json_open_object(&json, NULL);
	json_integer(&json, "a\"\n", 1);
	json_close_object(&json);
	ck_assert_str_eq(out.data, "{\"a\\\"\\u000a\":1}");
}
END_TEST

static const struct {
	const char *text, *json;
} unseen[] = {
	{ "\x1b[31m\a\t", "\"\\u001b[31m\\u0007\\u0009\"" },
	{ "\x7f", "\"\\u007f\"" },
	{ "\xc2\x9b"
	  "31m",
		"\"\\u009b31m\"" }, /* C1: CSI */
	{ "\xe2\x80\xae"
	  "abc",
		"\"\\u202eabc\"" },                               /* right-to-left override */
	{ "\xe2\x81\xa6\xef\xbb\xbf", "\"\\u2066\\ufeff\"" }, /* isolate, byte order mark */
	{ "\xe2\x80\x8b", "\"\\u200b\"" },                    /* zero-width space */
	{ "\xf3\xa0\x80\x81", "\"\\udb40\\udc01\"" },         /* language tag, beyond the BMP */
	{ "\xff", "\"\xef\xbf\xbd\"" },                       /* malformed: U+FFFD */
	{ "na\xc3\xafve \xf0\x9f\x98\x80", "\"na\xc3\xafve \xf0\x9f\x98\x80\"" },
};

START_TEST(no_control_or_invisible_character_is_written_raw)
{
	ck_assert_str_eq(text_as_json(unseen[_i].text), unseen[_i].json);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, nested_values_get_exactly_the_commas_they_need);
	tcase_add_test(all, unknown_values_leave_neither_key_nor_comma);
	tcase_add_test(all, numbers_keep_twelve_significant_digits);
	tcase_add_test(all, quotes_and_backslashes_are_escaped);
	tcase_add_test(all, keys_are_escaped_like_texts);
	tcase_add_loop_test(all, no_control_or_invisible_character_is_written_raw, 0, sizeof unseen / sizeof unseen[0]);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
