#include <check.h>
#include <math.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/model/code/code_samples.h"
#include "src/model/code/step_phases.h"
#include "src/model/model.h"
#include "src/model/run/run_private.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"
#include "tests/unit/steps_run.h"

enum { TRAINER = 4711, NODE_OTHER = 1, NODE_BACKWARD, RUN = 255, RING = 400, BEGIN_S = 1000 };

static struct model *model;
static struct sample_set set;
static struct batch ring[RING];
static struct run run;

static int64_t ns_of(double at_s) { return (int64_t)((BEGIN_S + at_s) * 1e9); }

static void begin_set(double at_s)
{
	sample_set_clear(&set);
	set.time_ns = ns_of(at_s);
}

/* train:10 calls Tensor.backward. */
static void start(void)
{
	struct model_options options;
	model_options_default(&options);
	model = model_new(&options);
	set = (struct sample_set)SAMPLE_SET_INIT;
	begin_set(0);
	fill_code_group(sample_set_add(&set, RECORD_CODE_GROUP, 0, set.time_ns), 1, TRAINER, 10, 10, 1);
	fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), 1, "train", "/home/me/train.py", true);
	fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), 2, "Tensor.backward",
		"/venv/lib/python3.11/site-packages/torch/_tensor.py", false);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), NODE_OTHER, 0, 1, 1, 10, NULL);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), NODE_BACKWARD, NODE_OTHER, 1, 2, 625, NULL);
	model_apply(model, &set);
	run = (struct run){ .is_used = true, .is_counted = true, .pid = TRAINER, .track_count = 1 };
	run.tracks[0] = (struct track){ .ring = ring, .capacity = RING };
}

static void stop(void)
{
	model_free(model);
	sample_set_release(&set);
}

static struct batch *add_step(double begin_s, double step_s)
{
	struct track *track = &run.tracks[0];
	uint64_t ordinal = track->end++;
	ring[ordinal % RING] = (struct batch){ .ordinal = ordinal,
		.number = ordinal,
		.begin_ns = ns_of(begin_s),
		.end_ns = ns_of(begin_s + step_s),
		.step_s = step_s,
		.batch_s = step_s };
	return &ring[ordinal % RING];
}

static void add_samples(uint32_t node, double begin_s, double end_s, uint32_t count)
{
	struct record *record = sample_set_add(&set, RECORD_CODE_SAMPLES, 0, ns_of(end_s));
	record->code_samples.node = node;
	record->code_samples.count = count;
	record->code_samples.begin_ns = ns_of(begin_s);
}

static struct sampled_phases step_phases(const struct batch *batch)
{
	struct sampled_phases out, usual;
	model_step_phases(model, &run, batch, &out, &usual);
	return out;
}

START_TEST(the_error_of_a_share_is_half_of_wilsons_interval)
{
	ck_assert_double_eq_tol(sampled_error_ratio(0.5, 100), sqrt(25.25) / 101, 1e-12);
	ck_assert_double_eq_tol(sampled_error_ratio(1, 3), 0.125, 1e-12);
	ck_assert_double_eq_tol(sampled_error_ratio(0, 3), 0.125, 1e-12);
	ck_assert(isnan(sampled_error_ratio(0.5, 0)));
	ck_assert(isnan(sampled_error_ratio(NAN, 10)));
}
END_TEST

START_TEST(a_steps_phases_are_those_of_its_samples)
{
	const struct batch *first = add_step(1, 1), *second = add_step(2, 1);
	begin_set(4);
	add_samples(NODE_BACKWARD, 0.95, 0.95, 1);
	add_samples(NODE_OTHER, 1.05, 1.25, 3);
	add_samples(NODE_BACKWARD, 1.35, 1.95, 7);
	add_samples(NODE_OTHER, 2.05, 2.95, 10);
	model_apply(model, &set);
	struct sampled_phases out = step_phases(first);
	ck_assert(out.is_sampled && out.is_retained);
	ck_assert_uint_eq(out.samples, 10);
	ck_assert_uint_eq(out.phases[CODE_PHASE_BACKWARD].samples, 7);
	ck_assert_double_eq_tol(out.phases[CODE_PHASE_BACKWARD].share_ratio, 0.7, 0.001);
	ck_assert_double_eq_tol(out.phases[CODE_PHASE_BACKWARD].error_ratio, sqrt(10 * 0.21 + 0.25) / 11, 0.001);
	ck_assert_double_eq_tol(out.phases[CODE_PHASE_OTHER].share_ratio, 0.3, 0.001);
	ck_assert_uint_eq(step_phases(second).phases[CODE_PHASE_BACKWARD].samples, 0);
}
END_TEST

START_TEST(samples_across_a_boundary_are_split_between_the_steps)
{
	const struct batch *first = add_step(1, 1), *second = add_step(2, 0.5), *third = add_step(2.5, 1);
	begin_set(4);
	add_samples(NODE_BACKWARD, 1.5, 3.4, 20); /* of them, at 1.5 … 1.9, at 2.0 … 2.4, from 2.5 on */
	model_apply(model, &set);
	ck_assert_uint_eq(step_phases(first).samples, 5);
	ck_assert_uint_eq(step_phases(second).samples, 5);
	ck_assert_uint_eq(step_phases(third).samples, 10);
}
END_TEST

START_TEST(a_short_step_has_its_few_samples_and_an_old_one_none)
{
	const struct batch *old = add_step(0.5, 0.4), *lonely = add_step(1, 0.2), *empty = add_step(1.2, 0.01);
	begin_set(2);
	add_samples(NODE_BACKWARD, 0.9, 1.1, 2); /* before it, no samples are retained */
	model_apply(model, &set);
	struct sampled_phases out = step_phases(old);
	ck_assert(!out.is_retained);
	ck_assert_uint_eq(out.samples, 0);
	ck_assert(isnan(out.phases[CODE_PHASE_BACKWARD].share_ratio));
	ck_assert_uint_eq(step_phases(lonely).samples, 1);
	ck_assert_uint_lt(step_phases(lonely).samples, STEP_SAMPLES_MIN);
	ck_assert(step_phases(empty).is_retained);
	ck_assert_uint_eq(step_phases(empty).samples, 0);
}
END_TEST

/* Ten times as many samples a second in the second half do not count tenfold. */
START_TEST(samples_weigh_the_time_between_them)
{
	struct sampled_phases out;
	add_step(1, 20);
	add_step(21, 20);
	begin_set(42);
	for (double at_s = 1; at_s < 20.5; at_s += 1)
		add_samples(NODE_OTHER, at_s, at_s + 0.9, 10);
	for (double at_s = 21; at_s < 40.5; at_s += 1)
		add_samples(NODE_BACKWARD, at_s, at_s + 0.99, 100);
	model_apply(model, &set);
	model_recent_phases(model, &run, &out);
	ck_assert_uint_eq(out.samples, 2200);
	ck_assert_double_eq_tol(out.phases[CODE_PHASE_BACKWARD].share_ratio, 0.5, 0.01);
	/* two steps that are that different say little about others */
	ck_assert_double_ge(out.phases[CODE_PHASE_BACKWARD].error_ratio, 0.4);
}
END_TEST

/* A minute of steps of 0.25 s, of which backward takes 0.4 to 0.5 at a position that differs. Samples come `burst` at a
 * time, 0.01 s apart; so many a second in all. Returns how far the share was off, in its errors. */
static double simulate(unsigned burst, double samples_per_s, struct chance *chance, double *naive, double *error)
{
	enum { MINUTE_S = 60 };
	double begins[RING], ends[RING], truth_s = 0, whole_s = 0;
	size_t steps = 0;
	struct sampled_phases out;
	stop();
	start();
	for (double at_s = 1; at_s < MINUTE_S; at_s = 1 + whole_s, steps++) {
		double step_s = 0.25 * exp(0.1 * chance_normal(chance)),
			   backward_s = (0.4 + 0.1 * chance_even(chance)) * step_s;
		add_step(at_s, step_s);
		begins[steps] = at_s + (step_s - backward_s) * chance_even(chance);
		ends[steps] = begins[steps] + backward_s;
		truth_s += backward_s;
		whole_s += step_s;
	}
	begin_set(MINUTE_S + 1);
	size_t step = 0;
	for (double at_s = 0.9; at_s < 1 + whole_s; at_s += 2 * chance_even(chance) * burst / samples_per_s)
		for (unsigned i = 0; i < burst; i++, at_s += 0.01) {
			while (step + 1 < steps && ns_of(at_s) >= ring[step + 1].begin_ns)
				step++;
			add_samples(at_s >= begins[step] && at_s < ends[step] ? NODE_BACKWARD : NODE_OTHER, at_s, at_s, 1);
		}
	model_apply(model, &set);
	model_recent_phases(model, &run, &out);
	double share = out.phases[CODE_PHASE_BACKWARD].share_ratio, off = fabs(share - truth_s / whole_s);
	*error = out.phases[CODE_PHASE_BACKWARD].error_ratio;
	*naive = sampled_error_ratio(share, out.samples);
	return off / *error;
}

START_TEST(twice_the_error_covers_the_truth_in_nine_of_ten_cases)
{
	enum { RUNS = 200 };
	static const struct {
		unsigned burst;
		double samples_per_s;
	} tried[] = { { 1, 10 }, { 4, 10 }, { 12, 10 }, { 30, 20 }, { 12, 2 } };
	struct chance chance = { .state = 7 };
	for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
		unsigned covered = 0, naively = 0;
		double errors = 0, naive_errors = 0;
		for (unsigned i = 0; i < RUNS; i++) {
			double naive, error, off = simulate(tried[k].burst, tried[k].samples_per_s, &chance, &naive, &error);
			covered += off <= 2;
			naively += off * error <= 2 * naive;
			errors += error / RUNS;
			naive_errors += naive / RUNS;
		}
		printf("%u at a time: twice the error covers %u of %u, as if independent %u; errors %.3f, %.3f\n",
			tried[k].burst, covered, RUNS, naively, errors, naive_errors);
		ck_assert_uint_ge(covered, RUNS * 9 / 10);
		ck_assert_double_le(errors, tried[k].burst == 1 ? 1.3 * naive_errors : 1);
	}
}
END_TEST

/* A step of a second begins with 0.3 s in one phase, and pmtop then samples ten times as often. */
START_TEST(a_rate_that_rises_with_a_phase_does_not_favour_it)
{
	enum { NODE_SECOND = 3, STEPS = 20 };
	struct sampled_phases out;
	begin_set(STEPS + 2);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), NODE_SECOND, 0, 1, 1, 11, NULL);
	for (int step = 1; step <= STEPS; step++) {
		add_step(step, 1);
		for (int i = 0; i < 30; i++)
			add_samples(i % 2 ? NODE_OTHER : NODE_SECOND, step + 0.005 + 0.01 * i, step + 0.005 + 0.01 * i, 1);
		for (int i = 0; i < 7; i++)
			add_samples(NODE_BACKWARD, step + 0.305 + 0.1 * i, step + 0.305 + 0.1 * i, 1);
	}
	model_apply(model, &set);
	model_recent_phases(model, &run, &out);
	ck_assert_uint_eq(out.samples, 37 * (STEPS - 1)); /* the first step began before the first sample */
	ck_assert_double_eq_tol(out.phases[CODE_PHASE_BACKWARD].share_ratio, 0.7, 0.02);
}
END_TEST

START_TEST(only_samples_in_steps_of_the_main_mode_count)
{
	struct sampled_phases out;
	add_step(1, 1)->is_warmup = true;
	add_step(2, 1);
	add_step(3, 1); /* then validation until 8 */
	add_step(8, 1);
	begin_set(10);
	add_samples(NODE_OTHER, 1, 1.9, 10);
	add_samples(NODE_BACKWARD, 2, 3.9, 20);
	add_samples(NODE_OTHER, 4, 7.9, 40);
	add_samples(NODE_OTHER, 8, 8.9, 10);
	model_apply(model, &set);
	model_recent_phases(model, &run, &out);
	ck_assert_uint_eq(out.steps, 3);
	ck_assert_uint_eq(out.samples, 30);
	ck_assert_double_eq_tol(out.step_s, 1, 1e-9);
	ck_assert_double_eq_tol(out.phases[CODE_PHASE_BACKWARD].share_ratio, 2.0 / 3, 0.001);
	run.is_counted = false; /* its phases are published */
	model_recent_phases(model, &run, &out);
	ck_assert(!out.is_sampled);
	ck_assert_uint_eq(out.samples, 0);
}
END_TEST

START_TEST(the_usual_phases_are_those_of_the_steps_before_without_slow_ones)
{
	struct sampled_phases out, usual;
	add_step(1, 1);
	add_step(2, 1)->is_flagged = true;
	add_step(3, 1);
	const struct batch *slow = add_step(4, 2);
	add_step(6, 1);
	begin_set(8);
	add_samples(NODE_OTHER, 1, 1.9, 10);
	add_samples(NODE_BACKWARD, 2, 2.9, 10);
	add_samples(NODE_OTHER, 3, 3.9, 10);
	add_samples(NODE_BACKWARD, 4, 6.9, 30);
	model_apply(model, &set);
	model_step_phases(model, &run, slow, &out, &usual);
	ck_assert_uint_eq(out.samples, 20);
	ck_assert_double_eq_tol(out.phases[CODE_PHASE_BACKWARD].share_ratio, 1, 1e-9);
	ck_assert_uint_eq(usual.steps, 2);
	ck_assert_uint_eq(usual.samples, 20);
	ck_assert_uint_eq(usual.phases[CODE_PHASE_BACKWARD].samples, 0);
}
END_TEST

/* Its steps are the iterations of line 9. */
static void add_inferred_run(const char *what)
{
	const char *const meta[][2] = { { "counted_by", what }, { RUN_INFERRED "file", "/home/me/train.py" },
		{ RUN_INFERRED "line", "9" }, { RUN_INFERRED "certain", "yes" } };
	struct record *record = sample_set_add(&set, RECORD_RUN_OPENED, RUN, set.time_ns);
	record->opened.pid = record->opened.inner_pid = TRAINER;
	record->opened.name = "train.py";
	record->opened.uuid = "00000000000000010000000000000001";
	record->opened.abi = "counted";
	record->opened.is_live = true;
	for (size_t i = 0; i < sizeof meta / sizeof *meta; i++) {
		record = sample_set_add(&set, RECORD_META, RUN, set.time_ns);
		record->meta.key = meta[i][0];
		record->meta.value = meta[i][1];
	}
}

enum { NODE_FETCH = 3, NODE_GET, NODE_MODEL, NODE_FORWARD, NODE_AFTER };

/* train: `for …:` in line 9 has NODE_FETCH in line 10, which calls a function, forward in line `forward`, and 20. */
static void add_loop(uint32_t forward)
{
	fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), 3, "get_batch", "/home/me/train.py", true);
	fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), 4, "Module._call_impl",
		"/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", false);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), NODE_FETCH, 0, 1, 1, 10, NULL);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), NODE_GET, NODE_FETCH, 1, 3, 3, NULL);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), NODE_MODEL, 0, 1, 1, forward, NULL);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), NODE_FORWARD, NODE_MODEL, 1, 4, 99, NULL);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), NODE_AFTER, 0, 1, 1, 20, NULL);
	model_apply(model, &set);
}

static enum code_phase phase_of(uint32_t node) { return model->code.nodes[node - 1].phase; }

START_TEST(lines_of_the_step_loop_before_forward_are_data)
{
	begin_set(1);
	add_inferred_run("for i in range(0, len(X), 64)");
	add_loop(12);
	ck_assert_int_eq(phase_of(NODE_FETCH), CODE_PHASE_DATA);
	ck_assert_int_eq(phase_of(NODE_GET), CODE_PHASE_DATA);
	ck_assert_int_eq(phase_of(NODE_MODEL), CODE_PHASE_OTHER);
	ck_assert_int_eq(phase_of(NODE_FORWARD), CODE_PHASE_FORWARD);
	ck_assert_int_eq(phase_of(NODE_AFTER), CODE_PHASE_OTHER);
}
END_TEST

START_TEST(forward_that_is_seen_in_an_earlier_line_takes_the_data_back)
{
	enum { NODE_EARLIER = NODE_AFTER + 1 };
	begin_set(1);
	add_inferred_run("for i in range(0, len(X), 64)");
	add_loop(12);
	begin_set(2);
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), NODE_EARLIER, NODE_GET, 1, 4, 99, NULL);
	model_apply(model, &set);
	ck_assert_int_eq(phase_of(NODE_EARLIER), CODE_PHASE_FORWARD);
	ck_assert_int_eq(phase_of(NODE_FETCH), CODE_PHASE_OTHER);
	ck_assert_int_eq(phase_of(NODE_GET), CODE_PHASE_OTHER);
}
END_TEST

START_TEST(where_a_loader_fetches_its_own_functions_are_the_data)
{
	begin_set(1);
	add_inferred_run(RUN_BY_LOADER);
	add_loop(12);
	ck_assert_int_eq(phase_of(NODE_FETCH), CODE_PHASE_OTHER);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("step_phases");
	TCase *tests = tcase_create("step_phases");
	tcase_add_checked_fixture(tests, start, stop);
	tcase_add_test(tests, the_error_of_a_share_is_half_of_wilsons_interval);
	tcase_add_test(tests, a_steps_phases_are_those_of_its_samples);
	tcase_add_test(tests, samples_across_a_boundary_are_split_between_the_steps);
	tcase_add_test(tests, a_short_step_has_its_few_samples_and_an_old_one_none);
	tcase_add_test(tests, samples_weigh_the_time_between_them);
	tcase_add_test(tests, twice_the_error_covers_the_truth_in_nine_of_ten_cases);
	tcase_add_test(tests, a_rate_that_rises_with_a_phase_does_not_favour_it);
	tcase_add_test(tests, only_samples_in_steps_of_the_main_mode_count);
	tcase_add_test(tests, the_usual_phases_are_those_of_the_steps_before_without_slow_ones);
	tcase_add_test(tests, lines_of_the_step_loop_before_forward_are_data);
	tcase_add_test(tests, forward_that_is_seen_in_an_earlier_line_takes_the_data_back);
	tcase_add_test(tests, where_a_loader_fetches_its_own_functions_are_the_data);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
