#include <check.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_evidence.h"
#include "src/sources/inferred/steps/stacks_training.h"
#include "tests/support/suite.h"

static struct stacks_evidence evidence;
static struct py_known backward, forward;
static uint64_t serial;
static int64_t now_ns;

static void start(void)
{
	evidence = (struct stacks_evidence){ 0 };
	serial = 0;
	now_ns = NS_PER_S;
	snprintf(backward.code.file, sizeof backward.code.file, "/site/torch/_tensor.py");
	snprintf(backward.code.function, sizeof backward.code.function, "backward");
	snprintf(forward.code.file, sizeof forward.code.file, "/site/torch/nn/modules/linear.py");
	snprintf(forward.code.function, sizeof forward.code.function, "forward");
}

/* A pass of `length` batches with two samples each; every other sample of one that trains is of backward. Returns the
 * pass as it was judged when it was over. */
static struct py_counted run_pass_in(const char *function, uint64_t sampler, uint64_t length, bool trains)
{
	struct py_counted pass = {
		.serial = ++serial, .sampler = sampler, .length = length, .function = function, .file = ""
	};
	stacks_evidence_judge(&evidence, &pass, now_ns);
	for (pass.yielded = 1; pass.yielded < length; pass.yielded++)
		for (int i = 0; i < 2; i++) {
			struct py_sample sample = { .is_whole = true, .count = 1 };
			sample.sites[0].known = trains && i ? &backward : &forward;
			pass.advanced_ns = now_ns += 10 * NS_PER_MS;
			sample.sites[0].ip = (uint64_t)now_ns;
			stacks_evidence_note(&evidence, &sample, &pass, 1, now_ns);
			stacks_evidence_judge(&evidence, &pass, now_ns);
		}
	pass.is_over = true;
	pass.yielded = length;
	stacks_evidence_judge(&evidence, &pass, now_ns);
	return pass;
}

static struct py_counted run_pass(uint64_t sampler, uint64_t length, bool trains)
{
	return run_pass_in("", sampler, length, trains);
}

START_TEST(a_pass_without_backward_validates_beside_one_that_trains)
{
	struct py_counted pass = run_pass(1, 20, true);
	ck_assert(pass.trains && !pass.evaluates);
	pass = run_pass(2, 8, false);
	ck_assert(pass.evaluates && !pass.trains);
}
END_TEST

/* A loader that trained is not taken for another one because few samples saw no backward; with many it validates. */
START_TEST(a_loader_that_trained_trains)
{
	run_pass(1, 4, true);
	struct py_counted pass = run_pass(1, 4, false);
	ck_assert(pass.trains && !pass.evaluates);
	pass = run_pass(1, 400, false);
	ck_assert(pass.evaluates && !pass.trains);
}
END_TEST

/* A collective that waits for another rank, a debugger: each sample finds the same instruction. */
START_TEST(a_loader_that_trained_trains_while_a_batch_of_it_hangs)
{
	struct py_sample sample = { .is_whole = true, .count = 1 };
	run_pass(1, 40, true);
	struct py_counted pass = { .serial = ++serial, .sampler = 1, .length = 40, .function = "", .file = "" };
	for (pass.yielded = 1; pass.yielded < 10; pass.yielded++)
		for (int i = 0; i < (pass.yielded < 9 ? 1 : 30); i++) {
			sample.sites[0].known = &forward;
			sample.sites[0].ip = pass.yielded;
			pass.advanced_ns = pass.yielded < 9 ? now_ns += 10 * NS_PER_MS : now_ns;
			stacks_evidence_note(&evidence, &sample, &pass, 1, now_ns);
			stacks_evidence_judge(&evidence, &pass, now_ns);
		}
	ck_assert(pass.trains && !pass.evaluates);
}
END_TEST

/* Environments in /opt/torch; programs that train by JAX and import PyTorch. */
START_TEST(code_of_pytorch_is_known_by_its_own_folders_and_not_while_it_is_imported)
{
	struct py_known jax = { .code.file = "/opt/torch/.venv/lib/python3.12/site-packages/jax/_src/api.py" };
	struct py_known import = { .code.file = "<frozen importlib._bootstrap>" };
	struct py_sample sample = { .is_whole = true, .count = 2 };
	sample.sites[0].known = sample.sites[1].known = &jax;
	ck_assert(!stacks_training_has_torch(&sample));
	sample.sites[0].known = &forward;
	ck_assert(stacks_training_has_torch(&sample));
	sample.sites[1].known = &import;
	ck_assert(!stacks_training_has_torch(&sample));
}
END_TEST

/* pytorch-tabnet's _predict_epoch: four batches in 60 ms, which no sample meets. */
START_TEST(a_pass_too_short_for_samples_validates_in_another_function_than_that_which_trains)
{
	struct py_counted pass = run_pass_in("_predict_epoch", 2, 1, false);
	ck_assert(!pass.trains && !pass.evaluates); /* nothing is known to train yet */
	run_pass_in("_train_epoch", 1, 40, true);
	pass = run_pass_in("_predict_epoch", 2, 1, false);
	ck_assert(pass.evaluates && !pass.trains);
	/* the loader is made anew */
	pass = run_pass_in("_train_epoch", 3, 1, false);
	ck_assert(!pass.evaluates);
	/* another loop trains after all */
	pass = run_pass_in("finetune", 4, 8, true);
	ck_assert(pass.trains && !pass.evaluates);
}
END_TEST

/* A new loader in each call of `run_epoch(loader, is_training)`, of which no sample saw anything. */
START_TEST(a_short_pass_of_a_new_loader_where_another_trains_is_unknown)
{
	run_pass_in("run_epoch", 1, 40, true);
	struct py_counted pass = { .serial = ++serial, .sampler = 2, .length = 8, .function = "run_epoch", .file = "" };
	pass.is_over = true;
	stacks_evidence_judge(&evidence, &pass, now_ns);
	ck_assert(pass.is_unknown && !pass.trains && !pass.evaluates);
	pass = (struct py_counted){ .serial = ++serial, .sampler = 3, .length = 40, .function = "run_epoch", .file = "" };
	pass.is_over = true;
	stacks_evidence_judge(&evidence, &pass, now_ns);
	ck_assert(!pass.is_unknown); /* as long as those that train */
	/* of a length that was not read in time */
	pass = (struct py_counted){ .serial = ++serial, .sampler = 4, .yielded = 19, .function = "", .file = "" };
	pass.is_over = true;
	stacks_evidence_judge(&evidence, &pass, now_ns);
	ck_assert(pass.is_unknown && !pass.trains && !pass.evaluates);
}
END_TEST

START_TEST(a_short_pass_at_another_line_of_the_function_that_trains_validates)
{
	struct py_counted pass = { .serial = ++serial, .sampler = 2, .length = 30, .function = "main", .file = "" };
	struct stacks_known *known;
	run_pass_in("main", 1, 40, true);
	known = &evidence.known[0];
	known->line = 10;
	pass.is_over = true;
	pass.line = 10;
	stacks_evidence_judge(&evidence, &pass, now_ns);
	ck_assert(!pass.evaluates);
	pass.serial = ++serial;
	pass.line = 14;
	stacks_evidence_judge(&evidence, &pass, now_ns);
	ck_assert(pass.evaluates && !pass.trains);
}
END_TEST

/* Two polls saw ten batches in 20 ms; those that train take 20 ms each. */
START_TEST(a_pass_of_far_faster_batches_validates)
{
	run_pass_in("run_epoch", 1, 40, true);
	for (int i = 0; i < 2; i++) {
		struct py_counted pass = {
			.serial = ++serial, .sampler = 2 + (uint64_t)i, .length = 30, .function = "run_epoch", .file = ""
		};
		pass.yielded = 5;
		stacks_evidence_judge(&evidence, &pass, now_ns);
		pass.advanced_ns = now_ns += (i == 0 ? 20 : 200) * NS_PER_MS;
		pass.yielded = 15;
		pass.is_over = true;
		stacks_evidence_judge(&evidence, &pass, now_ns);
		ck_assert_int_eq(pass.evaluates, i == 0);
		ck_assert(!pass.trains);
	}
}
END_TEST

enum { BY_TRAIN = 101, BY_VALIDATE = 201 }; /* what calls a loop that is no DataLoader's */

/* As run_pass, with `samples` samples in all, of the pass of such a loop. */
static struct py_counted run_loop(uint64_t caller, uint64_t length, unsigned samples, bool trains)
{
	struct py_counted pass = {
		.serial = ++serial, .sampler = caller ^ length, .caller = caller, .length = length, .function = "run", .line = 7
	};
	stacks_evidence_judge_loop(&evidence, &pass, now_ns);
	for (unsigned i = 0; i <= samples; i++) {
		struct py_sample sample = { .is_whole = true, .count = 1 };
		sample.sites[0].known = trains && i % 2 ? &backward : &forward;
		pass.yielded = 1 + i;
		pass.advanced_ns = now_ns += 10 * NS_PER_MS;
		sample.sites[0].ip = (uint64_t)now_ns;
		stacks_evidence_note(&evidence, &sample, &pass, 1, now_ns);
		stacks_evidence_judge_loop(&evidence, &pass, now_ns);
	}
	pass.is_over = true;
	pass.advanced_ns = now_ns += (int64_t)(length - pass.yielded) * 10 * NS_PER_MS;
	pass.yielded = length;
	stacks_evidence_judge_loop(&evidence, &pass, now_ns);
	return pass;
}

START_TEST(short_passes_that_another_call_begins_are_unknown_until_together_they_show_no_training)
{
	struct py_counted pass = run_loop(BY_TRAIN, 100, 60, true);
	ck_assert(pass.trains && !pass.is_unknown);
	pass = run_loop(BY_VALIDATE, 50, 1, false);
	ck_assert(!pass.trains && !pass.evaluates && pass.is_unknown);
	for (int i = 0; i < 6 && !pass.evaluates; i++)
		pass = run_loop(BY_VALIDATE, 50, 1, false);
	ck_assert(pass.evaluates && !pass.trains);
	pass = run_loop(BY_VALIDATE, 50, 0, false);
	ck_assert(pass.evaluates && !pass.trains);
	pass = run_loop(BY_TRAIN, 100, 0, false);
	ck_assert(pass.trains);
}
END_TEST

/* for phase in ("train", "val"): for batch in batches[phase]; or training on shards of several lengths. */
START_TEST(passes_of_another_length_train_until_samples_contradict)
{
	run_loop(BY_TRAIN, 100, 60, true);
	struct py_counted pass = run_loop(BY_TRAIN, 50, 0, false);
	ck_assert(pass.trains && !pass.is_unknown);
	pass = run_loop(BY_TRAIN, 49, 5, false);
	ck_assert(!pass.trains && !pass.evaluates && pass.is_unknown);
	pass = run_loop(BY_TRAIN, 48, 30, false);
	ck_assert(pass.evaluates && !pass.trains);
	pass = run_loop(BY_TRAIN, 47, 30, true);
	ck_assert(pass.trains && !pass.evaluates);
}
END_TEST

/* accuracy(train_loader): of a loader that two loops read, one of which validates, a pass that no sample has found is
 * of either. */
START_TEST(a_pass_that_no_sample_has_found_may_be_of_either_loop_of_its_loader)
{
	ck_assert(run_pass_in("train", 1, 40, true).trains);
	struct py_counted pass = { .serial = ++serial, .sampler = 1, .length = 40, .function = "", .file = "" };
	stacks_evidence_judge(&evidence, &pass, now_ns);
	ck_assert(!pass.trains && pass.is_undecided);
	pass.function = "train";
	stacks_evidence_judge(&evidence, &pass, now_ns);
	ck_assert(pass.trains);
	ck_assert(run_pass_in("accuracy", 1, 40, false).evaluates);
	pass = (struct py_counted){ .serial = ++serial, .sampler = 1, .length = 40, .function = "", .file = "" };
	stacks_evidence_judge(&evidence, &pass, now_ns);
	ck_assert(!pass.trains && !pass.evaluates && pass.is_undecided);
	pass.is_over = true;
	stacks_evidence_judge(&evidence, &pass, now_ns);
	ck_assert(!pass.trains && !pass.evaluates && pass.is_unknown);
}
END_TEST

/* Once three passes were found in one loop, the next one is expected there. */
START_TEST(a_pass_of_a_loader_that_one_loop_reads_again_and_again_is_of_that)
{
	for (int i = 0; i < 3; i++)
		run_pass_in("train", 1, 10, true);
	struct py_counted pass = { .serial = ++serial, .sampler = 1, .length = 10, .function = "", .file = "" };
	stacks_evidence_judge(&evidence, &pass, now_ns);
	ck_assert(pass.trains && !pass.is_undecided);
}
END_TEST

/* Until then it may validate. */
START_TEST(the_pass_in_which_pmtop_starts_trains_once_that_is_seen)
{
	for (int trains = 0; trains < 2; trains++) {
		start();
		struct py_sample sample = { .is_whole = true, .count = 1 };
		struct py_counted pass = {
			.serial = ++serial, .sampler = 1, .length = 40, .yielded = 30, .function = "", .file = ""
		};
		for (; pass.yielded < 36; pass.yielded++) {
			sample.sites[0].known = trains ? &backward : &forward;
			sample.sites[0].ip = pass.yielded;
			pass.advanced_ns = now_ns += 10 * NS_PER_MS;
			stacks_evidence_judge(&evidence, &pass, now_ns);
			stacks_evidence_note(&evidence, &sample, &pass, 1, now_ns);
		}
		stacks_evidence_judge(&evidence, &pass, now_ns);
		ck_assert(pass.trains == trains && pass.is_undecided != trains);
		pass.is_over = true;
		stacks_evidence_judge(&evidence, &pass, now_ns);
		/* Where most time goes into the data, training may be in no sample. */
		ck_assert(pass.trains == trains && !pass.is_unknown && !pass.is_undecided);
	}
}
END_TEST

/* Steps of six samples, four of them of backward. Each fourth one fetches a batch of another loader, too, before the
 * forward pass or, if `is_after`, after the step, and runs two more samples with it: of backward if `trains`. */
static struct py_counted run_in_turn(bool is_after, bool trains)
{
	struct py_counted live[2] = {
		{ .serial = ++serial, .sampler = 1, .length = 400, .function = "main", .file = "", .line = 3 },
		{ .serial = ++serial, .sampler = 2, .length = 100, .function = "main", .file = "", .line = 9 },
	};
	for (int step = 0; step < 60; step++)
		for (int i = 0, own = is_after ? 6 : 0; i < 8; i++) {
			bool has_own = step % 4 == 3, is_own = i == own || i == own + 1;
			if (is_own && !has_own)
				continue;
			struct py_sample sample = { .is_whole = true, .count = 1 };
			now_ns += 50 * NS_PER_MS;
			struct py_counted *fetched = is_own ? &live[1] : &live[0];
			if (is_own ? i == own : i == (is_after ? 0 : 2 * !has_own)) {
				fetched->yielded++;
				fetched->before_ns = fetched->advanced_ns;
				fetched->advanced_ns = now_ns;
			}
			if (!is_after && has_own && i == 0) {
				live[0].yielded++;
				live[0].before_ns = live[0].advanced_ns;
				live[0].advanced_ns = now_ns - 1;
			}
			sample.sites[0].known = (is_own ? trains : i >= (is_after ? 2 : 4)) ? &backward : &forward;
			sample.sites[0].ip = (uint64_t)now_ns;
			stacks_evidence_note(&evidence, &sample, live, 2, now_ns);
			for (int k = 0; k < 2; k++)
				stacks_evidence_judge(&evidence, &live[k], now_ns);
			ck_assert(!live[1].trains || trains);
		}
	ck_assert(live[0].trains);
	return live[1];
}

START_TEST(an_iterator_that_is_read_once_in_some_steps_validates_before_or_after_the_step)
{
	for (int is_after = 0; is_after < 2; is_after++) {
		start();
		ck_assert(run_in_turn(is_after, false).evaluates);
	}
}
END_TEST

/* A critic and a generator, each with a loader of its own. */
START_TEST(a_loader_that_is_read_once_in_some_steps_trains_if_backward_runs_again_after_it)
{
	struct py_counted pass = run_in_turn(true, true);
	ck_assert(pass.trains && !pass.evaluates);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_evidence");
	TCase *tests = tcase_create("stacks_evidence");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, a_pass_without_backward_validates_beside_one_that_trains);
	tcase_add_test(tests, a_loader_that_trained_trains);
	tcase_add_test(tests, a_loader_that_trained_trains_while_a_batch_of_it_hangs);
	tcase_add_test(tests, a_pass_too_short_for_samples_validates_in_another_function_than_that_which_trains);
	tcase_add_test(tests, code_of_pytorch_is_known_by_its_own_folders_and_not_while_it_is_imported);
	tcase_add_test(tests, a_short_pass_of_a_new_loader_where_another_trains_is_unknown);
	tcase_add_test(tests, a_short_pass_at_another_line_of_the_function_that_trains_validates);
	tcase_add_test(tests, a_pass_of_far_faster_batches_validates);
	tcase_add_test(tests, short_passes_that_another_call_begins_are_unknown_until_together_they_show_no_training);
	tcase_add_test(tests, passes_of_another_length_train_until_samples_contradict);
	tcase_add_test(tests, a_pass_that_no_sample_has_found_may_be_of_either_loop_of_its_loader);
	tcase_add_test(tests, a_pass_of_a_loader_that_one_loop_reads_again_and_again_is_of_that);
	tcase_add_test(tests, the_pass_in_which_pmtop_starts_trains_once_that_is_seen);
	tcase_add_test(tests, an_iterator_that_is_read_once_in_some_steps_validates_before_or_after_the_step);
	tcase_add_test(tests, a_loader_that_is_read_once_in_some_steps_trains_if_backward_runs_again_after_it);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
