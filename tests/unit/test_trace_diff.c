/* Two traces side by side. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/trace/output/profile_diff.h"
#include "tests/support/suite.h"
#include "tests/support/traces.h"

static struct buffer out;

static void setup(void) { out = (struct buffer)BUFFER_INIT; }
static void teardown(void) { buffer_release(&out); }

static const char *diff(const char *a, const char *b, bool is_json)
{
	struct profile_analysis *both[] = { traces_read(a, -1), traces_read(b, -1) };
	struct profile_view view = { .width = 80 };
	buffer_clear(&out);
	(is_json ? profile_diff_as_json : profile_diff_as_text)(&out, both[0], both[1], &view);
	ck_assert(!out.failed);
	traces_free(both[0]);
	traces_free(both[1]);
	return out.data;
}

#define STEP(number, ts) \
	TRACE_STEP("ProfilerStep#" number, ts, "1000") \
	"," TRACE_OP("aten::mm", ts, "100", "1") "," TRACE_KERNEL("gemm", "7", ts, "300", "\"External id\":1")

START_TEST(traces_of_different_length_are_compared_by_step)
{
	static const char two[] = STEP("1", "0") "," STEP("2", "1000"), one[] = STEP("1", "0");
	const char *text = diff(two, one, false);
	ck_assert_ptr_nonnull(strstr(text, "Figures are per step: A has 2, B has 1.\n"));
	ck_assert_ptr_nonnull(
		strstr(text, "GPU busy                                   300 µs    300 µs        0 s      0 %"));
	ck_assert_ptr_nonnull(strstr(text, "KERNELS, total time per step, by change\nNothing changed.\n"));
	text = diff(two, one, true);
	ck_assert_ptr_nonnull(
		strstr(text, "{\"is_per_step\":true,\"a\":{\"file\":\"/runs/rank0.pt.trace.json\",\"steps\":2,"));
	ck_assert_ptr_nonnull(strstr(text, "{\"name\":\"gemm\",\"a_s\":0.0003,\"b_s\":0.0003,\"change_s\":0,"));
}
END_TEST

START_TEST(without_steps_totals_are_compared)
{
	const char *text = diff(STEP("1", "0") "," STEP("2", "1000"), TRACE_OP("aten::mm", "0", "100", "1"), false);
	ck_assert_ptr_nonnull(strstr(text, "Figures are totals: B has no marked steps.\n"));
	ck_assert_ptr_nonnull(
		strstr(text, "gemm                                       600 µs         –    −600 µs     gone"));
	/* One step from one optimizer step to the next is not all of the trace. */
	text = diff(
		TRACE_OP("Optimizer.step#SGD.step", "0", "10", "1") "," TRACE_OP("Optimizer.step#SGD.step", "100", "10", "2"),
		STEP("1", "0"), false);
	ck_assert_ptr_nonnull(strstr(text, "Figures are totals: A has no marked steps.\n"));
}
END_TEST

START_TEST(a_trace_that_is_cut_off_is_said)
{
	static const char cut[] = "{\"traceEvents\": [" TRACE_OP("a", "0", "10", "1") "," TRACE_OP("b", "0", "10", "1");
	struct profile_analysis *whole = traces_read(TRACE_OP("a", "0", "10", "1"), -1), part;
	struct profile_view view = { .width = 80 };
	struct reason reason;
	ck_assert_int_eq(profile_analyse_memory(&part, cut, strlen(cut) - 20, GROUP_NAME, &reason), STATUS_OK);
	profile_diff_as_text(&out, whole, &part, &view);
	ck_assert_ptr_nonnull(strstr(out.data, "B \n! the trace ends early, at byte "));
	buffer_clear(&out);
	profile_diff_as_json(&out, whole, &part, &view);
	ck_assert_ptr_nonnull(strstr(out.data, "\"b\":{\"file\":\"\",\"loss\":\"the trace ends early"));
	profile_analysis_release(&part);
	traces_free(whole);
}
END_TEST

#define LONG \
	"void at::native::a_kernel_with_a_name_that_is_much_longer_than_its_column<float, float, float, float, float, int"

START_TEST(names_show_where_they_differ_and_changes_fit_their_column)
{
	const char *text = diff(TRACE_KERNEL(LONG ", 64, 1>", "7", "0", "10", "") "," TRACE_KERNEL(
								LONG ", 128, 1>", "7", "100", "20", "") "," TRACE_KERNEL("same", "7", "200", "20", ""),
		TRACE_KERNEL(LONG ", 64, 1>", "7", "0", "20000", "") "," TRACE_KERNEL(
			LONG ", 128, 1>", "7", "30000", "10", "") "," TRACE_KERNEL("same", "7", "200", "20", ""),
		false);
	ck_assert_ptr_nonnull(strstr(text, "64, 1>"));
	ck_assert_ptr_nonnull(strstr(text, "128, 1>"));
	ck_assert_ptr_nonnull(strstr(text, "×2000\n"));
	ck_assert_ptr_null(strstr(text, "same"));
}
END_TEST

/* Kernels of CUTLASS have names of over 1,600 characters. */
START_TEST(names_that_differ_after_thousands_of_characters_are_two)
{
	static char first[12000], second[12000];
	char name[5001];
	memset(name, 'k', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	static const char format[] =
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s%c\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1}";
	snprintf(first, sizeof first, format, name, 'a');
	snprintf(second, sizeof second, format, name, 'b');
	const char *text = diff(first, second, true);
	ck_assert_ptr_nonnull(strstr(text, "ka\",\"a_s\":1e-06"));
	ck_assert_ptr_nonnull(strstr(text, "kb\",\"b_s\":1e-06"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_diff");
	TCase *tests = tcase_create("all");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, traces_of_different_length_are_compared_by_step);
	tcase_add_test(tests, without_steps_totals_are_compared);
	tcase_add_test(tests, a_trace_that_is_cut_off_is_said);
	tcase_add_test(tests, names_show_where_they_differ_and_changes_fit_their_column);
	tcase_add_test(tests, names_that_differ_after_thousands_of_characters_are_two);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
