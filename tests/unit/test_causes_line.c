#include <check.h>
#include <string.h>

#include "src/explain/causes/causes.h"
#include "src/explain/causes/causes_line.h"
#include "src/explain/causes/causes_words.h"
#include "src/explain/explain.h"
#include "tests/support/suite.h"
#include "tests/unit/hand_run.h"

static struct run run;
static struct batch batch;
static struct baseline baseline;
static struct batch_window batch_window;
static struct explanation why;

/* A step of 0.4 s instead of 0.1 s, whose phases are unknown: 20 samples, 15 of them in one line that seldom runs. */
static void start(void)
{
	hand_run_init(&run);
	batch = (struct batch){ .step_s = 0.4 };
	baseline = (struct baseline){ .batches = 100, .step_s = 0.1 };
	batch_window = (struct batch_window){ .seconds = 0.4,
		.line = { .file = "/home/me/train.py",
			.text = "with lock:",
			.line = 81,
			.count = 15,
			.expected = 0.4,
			.samples = 20,
			.is_sampled = true } };
}

static void explain(void) { explain_batch(&run, &batch, &baseline, &batch_window, &why); }

START_TEST(a_cause_that_is_unknown_is_the_line)
{
	char brief[CAUSE_BRIEF_SIZE];
	explain();
	ck_assert_uint_eq(why.cause_count, 1);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_LINE);
	ck_assert_str_eq(why.causes[0].what, "`with lock:`, train.py:81");
	ck_assert_str_eq(why.causes[0].file, "/home/me/train.py");
	ck_assert_uint_eq(why.causes[0].line, 81);
	ck_assert_str_eq(cause_brief(&run, &why.causes[0], brief), "train.py:81");
	ck_assert_str_eq(why.causes[0].evidence[0].key, "line_samples");
	ck_assert_double_eq(why.causes[0].evidence[0].this_value, 15);
	ck_assert_double_eq(why.causes[0].evidence[0].baseline_value, 0.4);
}
END_TEST

START_TEST(advice_goes_by_what_the_line_calls)
{
	static const char *const lines[][2] = {
		{ "with lock:", "find the thread that holds this lock: pmtop stack PID" },
		{ "with self._lock:", "find the thread that holds this lock: pmtop stack PID" },
		{ "with self.lk:", "if this is a lock, find the thread that holds it: pmtop stack PID" },
		{ "with autocast(device):", "find what this line waits for, or computes, in these steps only" },
		{ "time.sleep(delay)", "remove this sleep, or wait for an event instead" },
		{ "subprocess.run(command)", "start this process without waiting for it, or between epochs" },
		{ "import pandas", "move this import to the top of the file" },
		{ "text = urllib.request.urlopen(url).read()",
			"send it from another thread, or less often: the other side answers late" },
		{ "x = unblock(batch)", "find what this line waits for, or computes, in these steps only" },
		{ "process = Popen(command)", "find what this line waits for, or computes, in these steps only" },
		{ NULL, "find what this line waits for, or computes, in these steps only" },
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		batch_window.line.text = lines[i][0];
		explain();
		ck_assert_str_eq(why.causes[0].next, lines[i][1]);
	}
}
END_TEST

START_TEST(fewer_than_three_samples_say_nothing)
{
	batch_window.line.samples = batch_window.line.count = 2;
	explain();
	ck_assert_int_eq(why.causes[0].kind, CAUSE_UNKNOWN);
	ck_assert_str_eq(why.causes[0].what, "unknown (too few stack samples)");
	ck_assert_ptr_null(why.causes[0].file);
	batch_window.line.is_sampled = false;
	explain();
	ck_assert_str_eq(why.causes[0].what, "unknown");
}
END_TEST

START_TEST(a_line_that_explains_too_little_is_not_named)
{
	batch_window.line.count = 8; /* 7.6 of 20 samples: 0.15 s of an excess of 0.3 s */
	batch_window.line.expected = 0.9;
	explain();
	ck_assert_str_eq(why.causes[0].what, "unknown");
}
END_TEST

START_TEST(a_phase_is_told_with_the_line)
{
	add_phase(batch.phases, &batch.phase_count, FORWARD, 0, 0.4);
	add_phase(baseline.phases, &baseline.phase_count, FORWARD, 0, 0.1);
	explain();
	ck_assert_str_eq(why.causes[0].what, "forward in `with lock:`, train.py:81");
	ck_assert_uint_eq(why.causes[0].phase, FORWARD);
}
END_TEST

START_TEST(forward_and_backward_that_grew_alike_point_at_the_input)
{
	static const struct {
		double forward_s, backward_s;
		const char *next;
	} cases[] = {
		{ 0.4, 0.9, "forward and backward both took longer: compare its batch size and sequence length with others" },
		{ 0.1, 1.2, "" },
		{ 0.15, 1.15, "" },
	};
	add_phase(batch.phases, &batch.phase_count, FORWARD, 0, cases[_i].forward_s);
	add_phase(batch.phases, &batch.phase_count, BACKWARD, 0, cases[_i].backward_s);
	add_phase(baseline.phases, &baseline.phase_count, FORWARD, 0, 0.1);
	add_phase(baseline.phases, &baseline.phase_count, BACKWARD, 0, 0.2);
	batch.step_s = cases[_i].forward_s + cases[_i].backward_s;
	baseline.step_s = 0.3;
	batch_window.line.is_sampled = false;
	explain();
	ck_assert_int_eq(why.causes[0].kind, CAUSE_PHASE);
	ck_assert_str_eq(why.causes[0].what, "backward");
	ck_assert_str_eq(why.causes[0].next, cases[_i].next);
}
END_TEST

START_TEST(a_long_line_is_cut_between_characters)
{
	batch_window.line.text = "x = compute(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaéééééé)";
	explain();
	ck_assert_ptr_nonnull(strstr(why.causes[0].what, "é…`, train.py:81"));
	batch_window.line.text = NULL;
	explain();
	ck_assert_str_eq(why.causes[0].what, "train.py:81");
}
END_TEST

/* Shares of samples; the rest is "other". */
static void sample(struct sampled_phases *out, unsigned samples, unsigned data)
{
	*out = (struct sampled_phases){ .is_sampled = true, .is_retained = true, .samples = samples, .steps = 1 };
	for (int phase = 0; phase < CODE_PHASE_COUNT; phase++) {
		unsigned count = phase == CODE_PHASE_DATA ? data : phase == CODE_PHASE_OTHER ? samples - data : 0;
		out->phases[phase].samples = count;
		out->phases[phase].share_ratio = samples > 0 ? (double)count / samples : NAN;
		out->phases[phase].error_ratio = sampled_error_ratio((double)count / samples, samples);
	}
}

/* An inferred step of 0.4 s instead of 0.1 s: `data` of 14 samples are of data, usually a tenth. */
static void start_sampled(unsigned data)
{
	start();
	run.is_counted = true;
	add_phase(batch.phases, &batch.phase_count, NAME_UNATTRIBUTED, 0, 0.4);
	add_phase(baseline.phases, &baseline.phase_count, NAME_UNATTRIBUTED, 0, 0.1);
	batch_window.line.is_sampled = false;
	sample(&batch_window.phases, 14, data);
	sample(&batch_window.baseline_phases, 1000, 100);
}

START_TEST(the_cause_of_an_inferred_step_is_the_phase_by_its_samples)
{
	char brief[CAUSE_BRIEF_SIZE];
	start_sampled(12);
	explain();
	ck_assert_uint_eq(why.row_count, 2);
	ck_assert_uint_eq(why.rows[0].name, NAME_SAMPLED + CODE_PHASE_DATA);
	ck_assert_uint_eq(why.rows[0].samples, 12);
	ck_assert_double_eq_tol(why.rows[0].this_s, 0.4 * 12 / 14, 1e-6);
	ck_assert_double_eq_tol(why.rows[0].this_error_s, 0.4 * sampled_error_ratio(12. / 14, 14), 1e-6);
	ck_assert_double_eq_tol(why.rows[0].baseline_s, 0.01, 1e-6);
	ck_assert_uint_eq(why.rows[1].name, NAME_SAMPLED + CODE_PHASE_OTHER);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_PHASE);
	ck_assert_str_eq(why.causes[0].what, "data: 0.333 s above its baseline, 12 of 14 samples");
	ck_assert_str_eq(cause_brief(&run, &why.causes[0], brief), "data");
	ck_assert_str_eq(why.causes[0].evidence[0].key, "phase_samples");
	batch_window.line.is_sampled = true;
	explain();
	ck_assert_str_eq(
		why.causes[0].what, "data: 0.333 s above its baseline, 12 of 14 samples, in `with lock:`, train.py:81");
	ck_assert_str_eq(cause_brief(&run, &why.causes[0], brief), "data, train.py:81");
	ck_assert_uint_eq(why.context_count, 0); /* its row among the phases shows the samples */
	batch_window.line.phase = CODE_PHASE_FORWARD;
	explain();
	ck_assert_ptr_null(why.causes[0].file);
}
END_TEST

START_TEST(a_phase_within_its_error_is_no_cause)
{
	start_sampled(2); /* 0.057 s ± 0.041 s instead of 0.010 s */
	explain();
	ck_assert_double_gt(why.rows[0].excess_s, why.rows[0].error_s);
	ck_assert_uint_eq(why.cause_count, 1);
	ck_assert_str_eq(why.causes[0].what, "unknown");
	start_sampled(0); /* code without a phase is no cause either: its line is */
	explain();
	ck_assert_str_eq(why.causes[0].what, "unknown");
}
END_TEST

START_TEST(fewer_than_three_samples_are_no_phases)
{
	start_sampled(12);
	sample(&batch_window.phases, 2, 2);
	batch_window.line.is_sampled = true;
	batch_window.line.samples = batch_window.line.count = 2;
	explain();
	ck_assert(why.is_sampled && why.is_retained);
	ck_assert_uint_eq(why.stack_samples, 2);
	ck_assert_uint_eq(why.rows[0].name, NAME_UNATTRIBUTED);
	ck_assert_str_eq(why.causes[0].what, "unknown (too few stack samples)");
}
END_TEST

START_TEST(without_samples_before_it_a_step_has_phases_but_no_cause)
{
	start_sampled(12);
	batch_window.baseline_phases = (struct sampled_phases){ .is_sampled = true };
	explain();
	ck_assert_double_eq_tol(why.rows[0].this_s, 0.4 * 12 / 14, 1e-6);
	ck_assert(isnan(why.rows[0].baseline_s) && isnan(why.rows[0].excess_s));
	ck_assert_str_eq(why.causes[0].what, "unknown");
}
END_TEST

START_TEST(published_phases_stay_exact)
{
	start_sampled(12);
	run.is_counted = false;
	batch_window.phases.is_sampled = false;
	explain();
	ck_assert(!why.is_sampled);
	ck_assert_uint_eq(why.rows[0].name, NAME_UNATTRIBUTED);
}
END_TEST

/* 12 of the 20 samples waited for the GIL, where 2 were expected. */
static void wait_for_gil(void)
{
	batch_window.gil = (struct sampled_gil){ .samples = 20,
		.count = 12,
		.expected = 2,
		.thread = "worker-1",
		.file = "/home/me/tail.py",
		.text = "sum(x*x for x in range(n))",
		.line = 71 };
}

START_TEST(a_wait_for_the_gil_names_its_holder)
{
	char brief[CAUSE_BRIEF_SIZE];
	wait_for_gil();
	batch_window.line.count = 20;
	explain();
	ck_assert_int_eq(why.causes[0].kind, CAUSE_GIL);
	ck_assert_str_eq(
		why.causes[0].what, "waits for the GIL, held by thread worker-1: `sum(x*x for x in range(n))`, tail.py:71");
	ck_assert_str_eq(why.causes[0].thread, "worker-1");
	ck_assert_str_eq(why.causes[0].file, "/home/me/tail.py");
	ck_assert_uint_eq(why.causes[0].line, 71);
	ck_assert_str_eq(why.causes[0].evidence[0].key, "gil_wait_samples");
	ck_assert_double_eq(why.causes[0].evidence[0].this_value, 12);
	ck_assert_double_eq(why.causes[0].evidence[0].baseline_value, 2);
	ck_assert_str_eq(cause_brief(&run, &why.causes[0], brief), "GIL, tail.py:71");
}
END_TEST

START_TEST(a_wait_for_the_gil_of_an_unknown_thread_says_so)
{
	wait_for_gil();
	batch_window.gil.thread = batch_window.gil.file = NULL;
	explain();
	ck_assert_str_eq(why.causes[0].what, "waits for the GIL, held by another thread");
	ck_assert_ptr_null(why.causes[0].thread);
	ck_assert_ptr_null(why.causes[0].file);
}
END_TEST

START_TEST(a_phase_is_shown_with_the_gil)
{
	add_phase(batch.phases, &batch.phase_count, FORWARD, 0, 0.4);
	add_phase(baseline.phases, &baseline.phase_count, FORWARD, 0, 0.1);
	wait_for_gil();
	batch_window.gil.text = NULL;
	explain();
	ck_assert_str_eq(why.causes[0].what, "forward: waits for the GIL, held by thread worker-1: tail.py:71");
}
END_TEST

START_TEST(few_or_usual_waits_for_the_gil_are_no_cause)
{
	wait_for_gil();
	batch_window.gil.count = 2;
	batch_window.gil.expected = 0;
	explain();
	ck_assert_int_eq(why.causes[0].kind, CAUSE_LINE);
	batch_window.gil.count = 12;
	batch_window.gil.expected = 9;
	explain();
	ck_assert_int_eq(why.causes[0].kind, CAUSE_LINE);
	ck_assert_ptr_null(why.causes[0].thread);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("causes_line");
	TCase *tests = tcase_create("causes_line");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, a_cause_that_is_unknown_is_the_line);
	tcase_add_test(tests, advice_goes_by_what_the_line_calls);
	tcase_add_test(tests, fewer_than_three_samples_say_nothing);
	tcase_add_test(tests, a_line_that_explains_too_little_is_not_named);
	tcase_add_test(tests, a_phase_is_told_with_the_line);
	tcase_add_loop_test(tests, forward_and_backward_that_grew_alike_point_at_the_input, 0, 3);
	tcase_add_test(tests, a_long_line_is_cut_between_characters);
	tcase_add_test(tests, the_cause_of_an_inferred_step_is_the_phase_by_its_samples);
	tcase_add_test(tests, a_phase_within_its_error_is_no_cause);
	tcase_add_test(tests, fewer_than_three_samples_are_no_phases);
	tcase_add_test(tests, without_samples_before_it_a_step_has_phases_but_no_cause);
	tcase_add_test(tests, published_phases_stay_exact);
	tcase_add_test(tests, a_wait_for_the_gil_names_its_holder);
	tcase_add_test(tests, a_wait_for_the_gil_of_an_unknown_thread_says_so);
	tcase_add_test(tests, a_phase_is_shown_with_the_gil);
	tcase_add_test(tests, few_or_usual_waits_for_the_gil_are_no_cause);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
