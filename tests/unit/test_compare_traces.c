/* Traces of torch.profiler judged as runs are. */
#include <check.h>

#include "src/commands/summarize_trace.h"
#include "src/compare/judgement.h"
#include "tests/support/suite.h"
#include "tests/support/traces.h"

static void judge_with(
	const struct summary *now, const struct summary *baseline, const char *budgets, struct judgement *out)
{
	struct budget_list list;
	struct reason reason;
	ck_assert_int_eq(budget_parse(budgets, &list, &reason), STATUS_OK);
	judge(now, baseline, 0, &list, out);
}

START_TEST(traces_are_judged_by_their_steps_operators_and_kernels)
{
	static const struct {
		const char *events, *budget;
		enum outcome outcome;
		const char *says;
	} cases[] = {
		{ TRACE_STEP("ProfilerStep#1", "0", "1000") "," TRACE_STEP("ProfilerStep#2", "1000", "3000") "," TRACE_OP(
			  "aten::mm", "100", "300", "1") "," TRACE_OP("aten::mm", "1100", "500", "2"),
			"step:1ms,aten::mm:500us", OUTCOME_FAILED, "over its budget: 2.00 ms (mean of 2); 1.00 ms is allowed" },
		{ TRACE_OP("aten::mm", "100", "300", "1") "," TRACE_OP("aten::mm", "1100", "500", "2"), "aten::mm:700us",
			OUTCOME_FAILED, "over its budget: 800 µs; 700 µs is allowed" },
		{ TRACE_KERNEL("gemm", "7", "100", "300", "\"correlation\":1"), "gemm:1ms", OUTCOME_PASSED,
			"300 µs; 1.00 ms is allowed" },
	};
	static struct judgement judgement;
	struct summary summary, slower;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile_analysis *trace = traces_read(cases[i].events, -1);
		summary_of_trace(trace, &summary);
		judge_with(&summary, NULL, cases[i].budget, &judgement);
		ck_assert_msg(judgement.outcome == cases[i].outcome, "%s: %s", cases[i].budget, judgement.figures[0].text);
		ck_assert_str_eq(judgement.figures[0].text, cases[i].says);
		summary_release(&summary);
		traces_free(trace);
	}
	struct profile_analysis *trace = traces_read(cases[0].events, -1);
	summary_of_trace(trace, &summary);
	summary_of_trace(trace, &slower);
	/* aten::mm became slower; the step, which is judged as well, did not. */
	ck_assert_str_eq(slower.operations[1].name, "aten::mm");
	slower.operations[1].mean_s *= 1.5;
	judge_with(&slower, &summary, NULL, &judgement);
	ck_assert_uint_eq(judgement.count, 2);
	ck_assert_int_eq(judgement.figures[0].outcome, OUTCOME_PASSED);
	ck_assert_str_eq(judgement.figures[1].text,
		"slower: 1.50 times the baseline, 600 µs against 400 µs (means of 2 and 2); 1.20 is allowed");
	summary_release(&summary);
	summary_release(&slower);
	traces_free(trace);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("compare traces");
	TCase *tests = tcase_create("compare traces");
	tcase_add_test(tests, traces_are_judged_by_their_steps_operators_and_kernels);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
