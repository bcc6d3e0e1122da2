#include <check.h>
#include <stdlib.h>

#include "src/base/text.h"
#include "src/explain/causes/causes.h"
#include "src/explain/explain.h"
#include "tests/support/suite.h"
#include "tests/unit/hand_run.h"

static struct run run;
static struct batch batch;
static struct baseline baseline;
static struct explanation why;

static void start(void)
{
	hand_run_init(&run);
	batch = (struct batch){ .step_s = 0 };
	baseline = (struct baseline){ .batches = 100 };
}

/* A phase in this batch and its median; NAN = absent. Outermost phases sum up to the step. */
static void phase(uint32_t name, uint32_t parent, double this_s, double baseline_s)
{
	if (!isnan(this_s))
		add_phase(batch.phases, &batch.phase_count, name, parent, this_s);
	if (!isnan(baseline_s))
		add_phase(baseline.phases, &baseline.phase_count, name, parent, baseline_s);
	if (parent == NAME_NONE) {
		batch.step_s += isnan(this_s) ? 0 : this_s;
		baseline.step_s += isnan(baseline_s) ? 0 : baseline_s;
	}
}

static void explain(void) { explain_batch(&run, &batch, &baseline, NULL, &why); }

static void ck_cause(size_t i, const char *what, uint32_t name, double share_ratio)
{
	ck_assert_uint_lt(i, why.cause_count);
	ck_assert_str_eq(why.causes[i].what, what);
	ck_assert_uint_eq(why.causes[i].phase, name);
	ck_assert_double_eq_tol(why.causes[i].share_ratio, share_ratio, 1e-4);
}

static double shares(void)
{
	double sum = 0;
	for (size_t i = 0; i < why.cause_count; i++)
		sum += why.causes[i].share_ratio;
	return sum;
}

START_TEST(a_slow_decode_is_named_with_its_phase)
{
	phase(DECODE, DATA, 0.318, 0.022);
	phase(COLLATE, DATA, 0.043, 0.041);
	phase(DATA, 0, 0.371, 0.068);
	phase(FORWARD, 0, 0.045, 0.044);
	phase(BACKWARD, 0, 0.066, 0.062);
	phase(OPTIMIZER, 0, 0.016, 0.016);
	phase(NAME_UNATTRIBUTED, 0, 0.014, 0.011);
	explain();
	ck_assert_double_eq_tol(why.excess_s, 0.311, 1e-6);
	ck_assert_double_eq_tol(why.ratio, 0.512 / 0.201, 1e-6);
	ck_assert_uint_eq(why.cause_count, 2);
	ck_cause(0, "data › decode", DATA, 0.303 / 0.311);
	ck_assert_double_eq_tol(why.causes[0].excess_s, 0.303, 1e-6);
	ck_cause(1, "unknown", NAME_NONE, 0.008 / 0.311);
	ck_assert_double_eq_tol(shares(), 1, 1e-6);
}
END_TEST

START_TEST(rows_are_depth_first_whatever_the_order_of_the_spans)
{
	phase(DECODE, DATA, 0.3, 0.1);
	phase(EXTRA, DECODE, 0.2, 0.1);
	phase(FORWARD, 0, 0.1, 0.1);
	phase(COLLATE, DATA, NAN, 0.1);
	phase(DATA, 0, 0.4, 0.2);
	phase(CHECKPOINT, 0, 0.5, NAN);
	explain();
	static const struct {
		uint32_t name, parent;
		unsigned depth;
	} wanted[] = {
		{ FORWARD, 0, 0 },
		{ DATA, 0, 0 },
		{ DECODE, DATA, 1 },
		{ EXTRA, DECODE, 2 },
		{ COLLATE, DATA, 1 },
		{ CHECKPOINT, 0, 0 },
	};
	ck_assert_uint_eq(why.row_count, 6);
	for (size_t i = 0; i < 6; i++) {
		ck_assert_uint_eq(why.rows[i].name, wanted[i].name);
		ck_assert_uint_eq(why.rows[i].parent, wanted[i].parent);
		ck_assert_uint_eq(why.rows[i].depth, wanted[i].depth);
	}
	ck_assert_double_nan(why.rows[4].this_s);
	ck_assert_double_eq_tol(why.rows[4].excess_s, -0.1, 1e-6);
	ck_assert_double_nan(why.rows[5].baseline_s);
	ck_assert_double_eq_tol(why.rows[5].excess_s, 0.5, 1e-6);
}
END_TEST

START_TEST(a_phase_absent_from_other_batches_is_a_cause)
{
	phase(FORWARD, 0, 0.1, 0.1);
	phase(CHECKPOINT, 0, 0.4, NAN);
	explain();
	ck_assert_uint_eq(why.cause_count, 1);
	ck_cause(0, "checkpoint", CHECKPOINT, 1);
}
END_TEST

START_TEST(time_that_no_phase_covers_is_unknown)
{
	phase(FORWARD, 0, 0.16, 0.10);
	phase(NAME_UNATTRIBUTED, 0, 0.15, 0.01);
	explain();
	ck_assert_uint_eq(why.cause_count, 2);
	ck_cause(0, "unknown", NAME_NONE, 0.7);
	ck_cause(1, "forward", FORWARD, 0.3);
}
END_TEST

START_TEST(time_between_batches_is_named)
{
	phase(FORWARD, 0, 0.1, 0.1);
	phase(NAME_BETWEEN, 0, 0.3, 0.01);
	explain();
	ck_assert_uint_eq(why.cause_count, 1);
	ck_cause(0, "between", NAME_BETWEEN, 1);
}
END_TEST

START_TEST(excess_without_any_phase_is_unknown)
{
	batch.step_s = 0.3;
	baseline.step_s = 0.1;
	explain();
	ck_assert_uint_eq(why.cause_count, 1);
	ck_cause(0, "unknown", NAME_NONE, 1);
	ck_assert_double_eq_tol(why.causes[0].excess_s, 0.2, 1e-9);
}
END_TEST

START_TEST(small_excesses_are_left_to_the_unknown)
{
	phase(DATA, 0, 1.0, 0.1);
	phase(FORWARD, 0, 0.147, 0.1);
	phase(BACKWARD, 0, 0.153, 0.1);
	explain();
	ck_assert_uint_eq(why.cause_count, 3);
	ck_cause(0, "data", DATA, 0.9);
	ck_cause(1, "backward", BACKWARD, 0.053);
	ck_cause(2, "unknown", NAME_NONE, 0.047);
}
END_TEST

START_TEST(phases_that_were_faster_do_not_push_a_share_over_one)
{
	phase(DATA, 0, 0.5, 0.2);
	phase(FORWARD, 0, 0.2, 0.1);
	phase(BACKWARD, 0, 0.1, 0.3);
	explain();
	ck_assert_double_eq_tol(why.excess_s, 0.2, 1e-6);
	ck_assert_uint_eq(why.cause_count, 2);
	ck_cause(0, "data", DATA, 0.75);
	ck_cause(1, "forward", FORWARD, 0.25);
}
END_TEST

START_TEST(a_part_that_carries_half_or_less_is_not_named)
{
	phase(DATA, 0, 0.5, 0.1);
	phase(DECODE, DATA, 0.25, 0.05);
	phase(COLLATE, DATA, 0.25, 0.05);
	phase(OPTIMIZER, DECODE, 0.45, 0.05); /* nor is its inner phase, though its other parts were faster */
	phase(CHECKPOINT, DECODE, 0.0, 0.2);
	explain();
	ck_cause(0, "data", DATA, 1);
}
END_TEST

START_TEST(more_slow_phases_than_causes_leave_the_smallest_to_the_unknown)
{
	for (uint32_t i = 0; i < 12; i++) {
		hand.names[20 + i] = "phase";
		phase(20 + i, 0, 0.20 + 0.001 * i, 0.10);
	}
	explain();
	ck_assert_uint_eq(why.cause_count, EXPLAIN_CAUSES_MAX);
	ck_assert_str_eq(why.causes[0].what, "unknown");
	ck_assert_uint_eq(why.causes[1].phase, 31);
	ck_assert_uint_eq(why.causes[5].phase, 27);
	ck_assert_double_eq_tol(shares(), 1, 1e-6);
}
END_TEST

START_TEST(without_a_baseline_there_is_no_cause)
{
	phase(DATA, 0, 0.5, 0.1);
	baseline.batches = 0;
	batch.has_evidence = true;
	batch.evidence = (struct evidence){ .cpu_s = 0.2 };
	explain();
	ck_assert_uint_eq(why.cause_count, 0);
	ck_assert_uint_eq(why.baseline_batches, 0);
	ck_assert_double_nan(why.baseline_s);
	ck_assert_double_nan(why.excess_s);
	ck_assert_double_nan(why.ratio);
	ck_assert_uint_eq(why.row_count, 1);
	ck_assert_double_eq_tol(why.rows[0].this_s, 0.5, 1e-6);
	ck_assert_double_nan(why.rows[0].baseline_s);
	ck_assert_double_nan(why.rows[0].excess_s);
	ck_assert_double_nan(why.context[0].baseline_value);
}
END_TEST

START_TEST(a_batch_that_was_not_slower_has_no_causes)
{
	phase(DATA, 0, 0.2, 0.1);
	phase(FORWARD, 0, 0.1, 0.3);
	explain();
	ck_assert_uint_eq(why.cause_count, 0);
	batch.step_s = NAN; /* its step is unknown yet */
	explain();
	ck_assert_uint_eq(why.cause_count, 0);
}
END_TEST

START_TEST(parents_that_make_no_tree_do_no_harm)
{
	phase(DATA, 0, 0.5, 0.1);
	phase(DECODE, DATA, 0.5, 0.1);
	phase(DECODE, DECODE, 0.5, 0.1);    /* calls itself */
	phase(DATA, DECODE, 0.5, 0.1);      /* and its parent phase */
	phase(FORWARD, BACKWARD, 0.5, 0.1); /* each within the other */
	phase(BACKWARD, FORWARD, 0.5, 0.1);
	phase(COLLATE, 39, 0.5, 0.1); /* its parent is absent */
	explain();
	ck_assert_uint_le(why.row_count, 4);
	ck_assert_uint_eq(why.cause_count, 1);
	ck_assert_double_eq_tol(shares(), 1, 1e-6);
	ck_assert_ptr_eq(strstr(why.causes[0].what, "data › decode"), why.causes[0].what);
}
END_TEST

START_TEST(a_long_path_is_cut_between_code_points)
{
	for (uint32_t i = 20; i < 30; i++) {
		hand.names[i] = "größenänderung";
		phase(i, i == 20 ? 0 : i - 1, 0.5, 0.1);
	}
	explain();
	uint32_t code;
	const char *what = why.causes[0].what;
	ck_assert_uint_gt(strlen(what), 60);
	ck_assert_uint_lt(strlen(what), sizeof why.causes[0].what);
	for (size_t left = strlen(what); left > 0;) {
		size_t used = utf8_decode(what, left, &code);
		ck_assert_uint_ne(code, 0xfffd);
		what += used;
		left -= used;
	}
}
END_TEST

START_TEST(evidence_is_compared_with_the_median_and_unknown_is_omitted)
{
	phase(DATA, 0, 0.5, 0.1);
	batch.has_evidence = true;
	batch.evidence = (struct evidence){ 0.2, NAN, 40, 1204, 7, 3, 9000, 32 };
	baseline.evidence = (struct evidence){ 0.1, 0.01, NAN, 3, 8, 1, 0, 32 };
	explain();
	static const struct {
		const char *key;
		double this_value, baseline_value;
	} wanted[] = {
		{ "cpu_s", 0.2, 0.1 },
		{ "major_faults", 1204, 3 },
		{ "minor_faults", 40, NAN },
		{ "blocks_read", 9000, 0 },
		{ "involuntary_switches", 3, 1 },
		{ "voluntary_switches", 7, 8 },
		{ "samples", 32, 32 },
	};
	ck_assert_uint_eq(why.context_count, 7);
	for (size_t i = 0; i < 7; i++) {
		ck_assert_str_eq(why.context[i].key, wanted[i].key);
		ck_assert_double_eq(why.context[i].this_value, wanted[i].this_value);
		if (isnan(wanted[i].baseline_value))
			ck_assert_double_nan(why.context[i].baseline_value);
		else
			ck_assert_double_eq(why.context[i].baseline_value, wanted[i].baseline_value);
	}
	batch.has_evidence = false;
	explain();
	ck_assert_uint_eq(why.context_count, 0);
}
END_TEST

static double dice(double max) { return max * (double)(rand() % 1000) / 1000; }

START_TEST(shares_are_sorted_and_sum_to_one_for_any_slow_batch)
{
	unsigned slow = 0;
	srand(7);
	for (unsigned round = 0; round < 20000; round++) {
		start();
		unsigned outermost = 1 + (unsigned)rand() % 12;
		for (uint32_t i = 0; i < outermost; i++)
			phase(i + 1 == outermost ? NAME_UNATTRIBUTED : 20 + i, 0, rand() % 9 ? dice(1) : NAN,
				rand() % 9 ? dice(0.5) : NAN);
		explain();
		if (!(why.excess_s > 0))
			continue;
		slow++;
		ck_assert_uint_ge(why.cause_count, 1);
		ck_assert_double_eq_tol(shares(), 1, 0.005 + 1e-9);
		for (size_t i = 1; i < why.cause_count; i++)
			ck_assert_double_ge(why.causes[i - 1].share_ratio, why.causes[i].share_ratio);
	}
	ck_assert_uint_gt(slow, 10000);
}
END_TEST

/* A garbage collection may be within any phase. */
START_TEST(a_pause_is_named_where_it_happened)
{
	phase(FORWARD, 0, 0.55, 0.1);
	phase(EXTRA, FORWARD, 0.46, NAN);
	phase(BACKWARD, 0, 0.14, 0.1);
	explain();
	ck_assert_str_eq(why.causes[0].what, "forward: garbage collection");
	ck_assert_int_eq(why.causes[0].kind, CAUSE_GC);
	ck_assert_double_eq_tol(why.causes[0].share_ratio, 0.45 / 0.49, 1e-6);
	start();
	phase(FORWARD, 0, 0.1, 0.1);
	phase(CHECKPOINT, 0, 0.9, NAN);
	explain();
	ck_assert_str_eq(why.causes[0].what, "checkpoint");
	ck_assert_int_eq(why.causes[0].kind, CAUSE_CHECKPOINT);
	ck_assert_double_eq_tol(why.causes[0].share_ratio, 1, 1e-6);
}
END_TEST

START_TEST(a_bigger_batch_is_noted)
{
	static const struct {
		double samples, baseline;
		bool is_bigger;
	} cases[] = {
		{ 64, 32, true },
		{ 32, 32, false },
		{ 38, 32, false },
		{ 39, 32, true },
		{ 7, 32, false },
		{ NAN, 32, false },
		{ 64, NAN, false },
		{ 64, 0, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		start();
		phase(FORWARD, 0, 0.5, 0.1);
		batch.samples = cases[i].samples;
		baseline.evidence.samples = cases[i].baseline;
		explain();
		ck_assert_msg(why.is_bigger == cases[i].is_bigger, "%g against %g", cases[i].samples, cases[i].baseline);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("explain");
	TCase *tests = tcase_create("explain");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, a_slow_decode_is_named_with_its_phase);
	tcase_add_test(tests, rows_are_depth_first_whatever_the_order_of_the_spans);
	tcase_add_test(tests, a_phase_absent_from_other_batches_is_a_cause);
	tcase_add_test(tests, time_that_no_phase_covers_is_unknown);
	tcase_add_test(tests, time_between_batches_is_named);
	tcase_add_test(tests, excess_without_any_phase_is_unknown);
	tcase_add_test(tests, small_excesses_are_left_to_the_unknown);
	tcase_add_test(tests, phases_that_were_faster_do_not_push_a_share_over_one);
	tcase_add_test(tests, a_part_that_carries_half_or_less_is_not_named);
	tcase_add_test(tests, more_slow_phases_than_causes_leave_the_smallest_to_the_unknown);
	tcase_add_test(tests, without_a_baseline_there_is_no_cause);
	tcase_add_test(tests, a_batch_that_was_not_slower_has_no_causes);
	tcase_add_test(tests, parents_that_make_no_tree_do_no_harm);
	tcase_add_test(tests, a_long_path_is_cut_between_code_points);
	tcase_add_test(tests, evidence_is_compared_with_the_median_and_unknown_is_omitted);
	tcase_add_test(tests, a_pause_is_named_where_it_happened);
	tcase_add_test(tests, a_bigger_batch_is_noted);
	tcase_add_test(tests, shares_are_sorted_and_sum_to_one_for_any_slow_batch);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
