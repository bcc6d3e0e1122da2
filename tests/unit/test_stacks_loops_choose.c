#include <check.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_loops_alone.h"
#include "src/sources/inferred/steps/stacks_loops_bound.h"
#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "src/sources/inferred/steps/stacks_loops_epoch.h"
#include "src/sources/inferred/steps/stacks_loops_list.h"
#include "src/sources/inferred/steps/stacks_loops_part.h"
#include "src/sources/inferred/steps/stacks_loops_why.h"
#include "tests/support/suite.h"

enum { CODE = 0x1000 };

static struct stacks_loops loops;

static void start(void)
{
	loops = (struct stacks_loops){ .reads = 40, .read_ns = 8 * NS_PER_S, .trained_ns = NS_PER_S };
}

/* A `for` of one function, around which `depth` others are; each reading in it had backward, some the optimizer. */
static struct seen *add(unsigned depth, const char *text, enum py_loop_kind kind, uint64_t length)
{
	struct seen *seen = &loops.seen[loops.seen_count++];
	*seen = (struct seen){ .loop = { .kind = kind,
							   .code = CODE,
							   .depth = depth,
							   .line = 10 + (int)depth,
							   .has_position = true,
							   .position = 2,
							   .length = length },
		.level = 1,
		.around = depth + 1,
		.reads = 40,
		.trained = 30,
		.optimized = 5,
		.advanced = 100,
		.read_ns = loops.read_ns };
	snprintf(seen->text, sizeof seen->text, "%s", text);
	snprintf(seen->function, sizeof seen->function, "train");
	seen->is_epoch = strstr(text, "epoch") != NULL;
	return seen;
}

static struct seen *add_int(const struct seen *loop, const char *name, bool is_target)
{
	struct seen *seen = add(loop->loop.depth, loop->text, PY_LOOP_INT, 0);
	snprintf(seen->loop.name, sizeof seen->loop.name, "%s", name);
	seen->is_target = is_target;
	seen->forward = 10;
	return seen;
}

START_TEST(an_int_that_restarts_with_each_pass_may_be_no_count)
{
	struct seen *action = add_int(add(0, "while not done:", PY_LOOP_OTHER, 0), "action", false);
	loops.seen[0].loop.has_position = false;
	loops.seen[0].advanced = 0;
	action->anew = 30;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	action->anew = 0;
	action->forward = 2;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	action->loop.is_sum = action->loop.is_by_same = true;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), action);
}
END_TEST

/* "episode_steps += 1", "total_numsteps += 1", in either order. */
START_TEST(of_two_ints_alike_the_one_that_has_counted_for_longer_counts)
{
	struct seen *loop = add(1, "while not done:", PY_LOOP_OTHER, 0);
	loop->loop.has_position = false;
	loop->advanced = 0;
	for (int order = 0; order < 2; order++) {
		struct seen *first = add_int(loop, order ? "total_numsteps" : "episode_steps", false),
					*second = add_int(loop, order ? "episode_steps" : "total_numsteps", false);
		first->loop.is_sum = first->loop.is_by_same = second->loop.is_sum = second->loop.is_by_same = true;
		first->loop.position = order ? 900 : 40;
		second->loop.position = order ? 40 : 900;
		ck_assert_ptr_eq(stacks_loops_find_steps(&loops), order ? first : second);
		loops.seen_count -= 2;
	}
	struct seen *uneven = add_int(loop, "number", false);
	uneven->loop.is_sum = uneven->loop.is_by_same = uneven->loop.is_uneven = true;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
}
END_TEST

/* Readings and samples of the loop before would outvote it for as long as that ran. */
START_TEST(the_loop_after_one_that_was_alone_is_chosen_by_what_it_does)
{
	loops.steps = add(0, "for i in range(500):", PY_LOOP_RANGE, 500);
	loops.is_alone = true;
	loops.trained = 30;
	loops.optimized = 5;
	struct seen *next = add(0, "for step in range(500):", PY_LOOP_RANGE, 500);
	next->loop.code = CODE + 1;
	next->trained = 4;
	next->optimized = 2;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), loops.steps);
	stacks_loops_forget_past(&loops);
	ck_assert_uint_eq(loops.seen_count, 1);
	ck_assert_ptr_eq(loops.steps, &loops.seen[0]);
	ck_assert(!stacks_loops_may_choose(&loops, loops.read_ns));
	next = add(0, "for step in range(500):", PY_LOOP_RANGE, 500);
	next->loop.code = CODE + 1;
	loops.reads = 40;
	loops.trained = next->trained = 4;
	loops.optimized = next->optimized = 2;
	loops.since_ns = loops.trained_ns = loops.read_ns;
	ck_assert(stacks_loops_may_choose(&loops, loops.read_ns + 3 * NS_PER_S / 2));
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), next);
}
END_TEST

START_TEST(a_loop_that_only_validates_does_not_follow)
{
	struct seen *next = add(0, "for x in test_data:", PY_LOOP_LIST, 500);
	ck_assert(stacks_loops_may_follow(next));
	next->trained = next->optimized = 0;
	ck_assert(!stacks_loops_may_follow(next));
	snprintf(next->text, sizeof next->text, "for x in data:");
	ck_assert(stacks_loops_may_follow(next));
	snprintf(next->function, sizeof next->function, "evaluate");
	ck_assert(!stacks_loops_may_follow(next));
}
END_TEST

/* tests/terminal/loop_steps.py has real programs. */
START_TEST(a_reason_needs_most_of_many_readings_and_no_steps)
{
	char why[160];
	loops.why.at[STACKS_WHY_OUTSIDE] = (struct stacks_why_at){ .line = 7, .file = "train.py", .package = "catboost" };
	loops.why.samples = loops.why.counts[STACKS_WHY_OUTSIDE] = 10;
	ck_assert(!stacks_loops_why(&loops, why, sizeof why));
	loops.why.samples = loops.why.counts[STACKS_WHY_OUTSIDE] = 40;
	ck_assert(stacks_loops_why(&loops, why, sizeof why));
	ck_assert_str_eq(why, "train.py:7 runs native code of catboost: no Python loop to count");
	loops.why.samples = 80;
	ck_assert(!stacks_loops_why(&loops, why, sizeof why));
	loops.why.samples = 40;
	loops.steps = add(0, "for i in range(500):", PY_LOOP_RANGE, 500);
	ck_assert(!stacks_loops_why(&loops, why, sizeof why));
}
END_TEST

/* Samples in a rollout and in its minibatches, none of which has a majority. */
START_TEST(training_that_nothing_counts_is_a_reason_after_a_while)
{
	char why[160];
	loops.why.samples = 40;
	loops.why.counts[STACKS_WHY_UNKNOWN] = loops.why.counts[STACKS_WHY_UNREADABLE] = 20;
	loops.trained = 30;
	ck_assert(!stacks_loops_why(&loops, why, sizeof why));
	loops.read_ns = 12 * NS_PER_S;
	ck_assert(stacks_loops_why(&loops, why, sizeof why));
	ck_assert_str_eq(why, "no loop counts the backward passes: key s or --loop chooses one");
	loops.trained = 0;
	ck_assert(!stacks_loops_why(&loops, why, sizeof why));
}
END_TEST

START_TEST(a_chosen_line_without_a_loop_is_the_reason)
{
	char why[160], wanted[64];
	struct seen *seen = add(0, "for i in range(500):", PY_LOOP_RANGE, 500);
	snprintf(seen->file, sizeof seen->file, "/home/me/train.py");
	snprintf(wanted, sizeof wanted, "train.py:%d", seen->loop.line + 1);
	loops.wanted = wanted;
	loops.why.samples = 10;
	ck_assert(!stacks_loops_why(&loops, why, sizeof why));
	loops.why.samples = 40;
	ck_assert(stacks_loops_why(&loops, why, sizeof why));
	ck_assert_ptr_nonnull(strstr(why, wanted));
	snprintf(wanted, sizeof wanted, "train.py:%d", seen->loop.line);
	ck_assert(!stacks_loops_why(&loops, why, sizeof why));
}
END_TEST

START_TEST(a_loop_that_tries_again_counts_no_epochs)
{
	ck_assert(stacks_loop_names_runs("for attempt in range(3):"));
	ck_assert(stacks_loop_names_runs("for fold, (train, test) in enumerate(folds.split(x)):"));
	ck_assert(stacks_loop_names_runs("for i_episode in itertools.count(1):"));
	ck_assert(stacks_loop_names_runs("for i, layer in enumerate(self.layers):"));
	ck_assert(!stacks_loop_names_runs("for e in range(500):"));
}
END_TEST

START_TEST(a_loop_over_optimizers_has_no_steps)
{
	struct seen *step = add_int(add(0, "while True:", PY_LOOP_OTHER, 0), "step", false);
	struct seen *optimizers = add(1, "for optimizer in optimizers:", PY_LOOP_LIST, 2);
	loops.seen[0].loop.has_position = false;
	loops.seen[0].advanced = 0;
	optimizers->trained = optimizers->optimized;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), step);
}
END_TEST

START_TEST(an_optimizer_that_runs_backward_itself_has_steps)
{
	struct seen *steps = add(0, "for step in range(100)", PY_LOOP_RANGE, 100);
	steps->trained = steps->optimized = 2;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	steps->trained = steps->optimized = 8;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), steps);
}
END_TEST

static struct seen *add_batches_of_generator(void)
{
	add(0, "for i in range(60)", PY_LOOP_RANGE, 60);
	struct seen *batches = add(1, "for batch in minibatch(data)", PY_LOOP_GENERATOR, 0);
	batches->loop.has_position = false;
	batches->advanced = 0;
	for (size_t i = 0; i < loops.seen_count; i++)
		loops.seen[i].trained = loops.seen[i].optimized = 0;
	return batches;
}

START_TEST(what_is_around_batches_of_unknown_position_is_not_taken_for_their_loop)
{
	add_batches_of_generator();
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
}
END_TEST

START_TEST(an_int_counts_the_batches_of_a_generator)
{
	struct seen *count = add_int(add_batches_of_generator(), "k", false);
	count->trained = count->optimized = 0;
	count->loop.is_sum = count->loop.is_by_same = true;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), count);
}
END_TEST

START_TEST(the_innermost_loop_with_the_optimizer_has_the_steps)
{
	add(0, "for epoch in range(10)", PY_LOOP_RANGE, 10);
	struct seen *steps = add(1, "for i in range(150)", PY_LOOP_RANGE, 150);
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), steps);
}
END_TEST

/* `while not done: agent.total_steps += 1` in each episode. */
START_TEST(an_int_that_goes_on_behind_its_loop_counts_the_passes_before_too)
{
	const struct stacks_epoch epoch = { .key = 2 };
	struct seen *total = add_int(add(0, "while not done:", PY_LOOP_OTHER, 0), "agent.total_steps", false);
	loops.steps = total;
	loops.serial = 1;
	loops.epoch = epoch;
	loops.yielded = 120;
	total->loop.position = 125;
	ck_assert_uint_eq(stacks_loops_origin(&loops, &epoch), 0);
	total->loop.position = 3; /* it begins anew */
	ck_assert_uint_eq(stacks_loops_origin(&loops, &epoch), 120);
	loops.origin = 120;
	loops.yielded = 160;
	total->loop.position = 45;
	ck_assert_uint_eq(stacks_loops_origin(&loops, &epoch), 120);
	ck_assert_uint_eq(stacks_loops_origin(&loops, &(struct stacks_epoch){ .key = 3 }), 0);
}
END_TEST

/* for e in range(50): losses = list(map(step, batches)) */
START_TEST(a_loop_whose_iterations_have_many_updates_has_no_steps)
{
	struct seen *rounds = add(0, "for e in range(50)", PY_LOOP_RANGE, 50);
	rounds->updates_max = 2; /* a GAN */
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), rounds);
	rounds->updates_max = 12;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	rounds->updates_max = 2;
	rounds->advanced = 0; /* in its first iteration more may follow */
	loops.trained_ns = loops.read_ns - 2 * NS_PER_S;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	loops.trained_ns = loops.read_ns - 6 * NS_PER_S;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), rounds);
}
END_TEST

/* `for batch in batches(): done += 1`, when a reading finds no position of the generator. */
START_TEST(an_int_counts_no_loop_whose_position_is_known_at_other_times)
{
	struct seen *batches = add(0, "for batch in batches()", PY_LOOP_GENERATOR, 0);
	struct seen *done = add_int(batches, "done", false);
	done->loop.is_sum = done->loop.is_by_same = true;
	batches->loop.has_position = false;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	batches->loop.has_position = true;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), batches);
	batches->loop.has_position = false;
	batches->advanced = 0; /* it never was */
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), done);
}
END_TEST

START_TEST(a_loop_that_seldom_has_the_steps_counts_no_epochs)
{
	struct seen *acts = add(0, "for t in range(400000)", PY_LOOP_RANGE, 400000);
	struct seen *updates = add(1, "for i in range(50)", PY_LOOP_RANGE, 50);
	updates->restarts = 2;
	ck_assert(stacks_loop_has_seldom(acts, updates));
	updates->restarts = 40; /* each of its iterations has them; readings missed some */
	ck_assert(!stacks_loop_has_seldom(acts, updates));
	updates->restarts = 2;
	updates->loop.has_position = false; /* then nothing is known of its passes */
	ck_assert(!stacks_loop_has_seldom(acts, updates));
}
END_TEST

/* As on a machine so slow that close readings find the same pass again. */
START_TEST(a_few_passes_over_a_few_minibatches_are_one_step_on_a_slow_machine_too)
{
	struct seen *updates = add(0, "for iteration in range(1, 20000)", PY_LOOP_RANGE, 19999);
	struct seen *passes = add(1, "for epoch in range(4)", PY_LOOP_RANGE, 4);
	struct seen *minibatches = add(2, "for start in range(0, 2048, 512)", PY_LOOP_RANGE, 4);
	passes->restarts = 8;
	minibatches->restarts = 18;
	minibatches->close_reads = 30;
	minibatches->close_restarts = 12;
	passes->close_reads = 30;
	passes->close_restarts = 3;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), updates);
	minibatches->close_restarts = 2; /* they can be followed */
	minibatches->restarts = 8;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), minibatches);
}
END_TEST

/* `sum(step(batch) for batch in loader)`: the loop over the loader is not among those that are read. */
START_TEST(epochs_around_a_loop_that_cannot_be_read_are_no_steps)
{
	struct seen *epochs = add(0, "for epoch in range(50)", PY_LOOP_RANGE, 50);
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), epochs); /* of full batches */
	epochs->hidden = epochs->trained;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
}
END_TEST

START_TEST(what_advances_by_more_than_one_counts_no_steps)
{
	struct seen *tokens = add(0, "state['tokens'] += 64", PY_LOOP_INT, 0);
	tokens->loop.is_sum = true;
	tokens->stride = 64;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	tokens->stride = 1; /* sequences of different lengths */
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	tokens->loop.is_by_same = true; /* its position is how often the same was added */
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), tokens);
	tokens->loop.is_sum = tokens->loop.is_by_same = false;
	tokens->stride = 2048;
	tokens->loop.is_compared = true;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops)); /* the steps of an environment */
}
END_TEST

/* with tqdm(total=len(images)) as bar: while True: bar.update(len(batch)) */
START_TEST(a_bar_of_images_counts_no_steps)
{
	struct seen *bar = add(0, "while True:", PY_LOOP_PROGRESS, 6400);
	snprintf(bar->loop.name, sizeof bar->loop.name, "bar.n");
	bar->stride = 64;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	bar->stride = 1;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), bar);
	bar->stride = 64;
	bar->loop.name[0] = '\0'; /* `for batch in tqdm(batches)`, so fast that each reading finds 64 more */
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), bar);
}
END_TEST

/* stable-baselines3's PPO on a busy machine: the passes could be followed, but between two updates others go on. */
START_TEST(a_few_passes_beside_a_rollout_are_one_step)
{
	struct seen *loop = add(0, "while self.num_timesteps < total_timesteps:", PY_LOOP_OTHER, 0);
	loop->loop.has_position = false;
	loops.seen_count--;
	struct seen *iteration = add_int(loop, "iteration", false);
	iteration->loop.is_sum = iteration->loop.is_by_same = true;
	struct seen *passes = add(0, "for epoch in range(self.n_epochs)", PY_LOOP_RANGE, 10);
	struct seen *minibatches =
		add(1, "for rollout_data in self.rollout_buffer.get(self.batch_size)", PY_LOOP_GENERATOR, 32);
	passes->loop.code = minibatches->loop.code = CODE + 8;
	passes->level = minibatches->level = 2;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), minibatches);
	iteration->reads = 60;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), iteration);
	loops.steps = minibatches; /* they are counted, and their passes are long */
	loops.pass_ns = NS_PER_S;
	minibatches->loop.length = 0; /* a generator with a `while` */
	minibatches->restarts = 4;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), iteration);
	ck_assert(stacks_loops_is_part(&loops, passes));
}
END_TEST

/* Of the step loop readings are close between two passes only: nearly each of these finds it begun anew. */
START_TEST(passes_that_can_be_followed_remain_the_steps)
{
	add(0, "for itn in range(n_iter)", PY_LOOP_RANGE, 100);
	struct seen *batches = add(1, "for batch in minibatch(data, size)", PY_LOOP_GENERATOR, 38);
	batches->restarts = batches->close_restarts = batches->close_reads = 30;
	loops.steps = batches;
	loops.pass_ns = 150 * NS_PER_MS;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), batches);
}
END_TEST

/* After Spinning Up's SAC, whose bar counts the steps of the environment. */
START_TEST(bursts_of_updates_are_no_steps_of_the_loop_around_them)
{
	struct seen *steps = add(0, "for t in range(total_steps)", PY_LOOP_RANGE, 400000);
	struct seen *updates = add(1, "for j in range(update_every)", PY_LOOP_RANGE, 50);
	steps->updates_max = 20;
	updates->restarts = 3;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), steps);
	loops.steps = updates; /* they were longer, and are counted */
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), updates);
	loops.steps = NULL;
	updates->restarts = 60; /* nearly each iteration has them */
	updates->reads = 200;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), updates);
}
END_TEST

START_TEST(timesteps_are_counted_only_if_nothing_counts_the_iterations)
{
	struct seen *loop = add(0, "while timesteps < total:", PY_LOOP_OTHER, 0);
	loops.seen_count--;
	struct seen *timesteps = add_int(loop, "timesteps", false), *iteration = add_int(loop, "iteration", false);
	timesteps->loop.is_sum = timesteps->loop.is_compared = iteration->loop.is_sum = iteration->loop.is_by_same = true;
	timesteps->stride = 1;
	iteration->advanced = 0;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	loops.read_ns += 10 * NS_PER_S;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), timesteps);
	iteration->advanced = 1;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), iteration);
}
END_TEST

START_TEST(what_ends_the_loop_of_an_iteration_shows_how_many_there_are)
{
	const struct seen *timesteps = add(0, "while timesteps < total:", PY_LOOP_INT, 0);
	ck_assert_uint_eq(stacks_loops_note_pace(&loops, timesteps, 10, 20480, 2000000), 0);
	ck_assert_uint_eq(stacks_loops_note_pace(&loops, timesteps, 10, 20480, 2000000), 0); /* the same one */
	ck_assert_uint_eq(stacks_loops_note_pace(&loops, timesteps, 11, 22528, 2000000), 0);
	ck_assert_uint_eq(stacks_loops_note_pace(&loops, timesteps, 13, 26624, 2000000), 977);
	ck_assert_uint_eq(stacks_loops_note_pace(&loops, timesteps, 14, 28672 + 37, 2000000), 0); /* in the next one */
	loops.pace.votes = 0;
	for (uint64_t i = 20; i < 40; i++) /* not the same in each */
		ck_assert_uint_eq(stacks_loops_note_pace(&loops, timesteps, i, i * i, 2000000), 0);
}
END_TEST

START_TEST(epochs_of_a_fold_are_part_of_the_run)
{
	struct seen *epochs = add(1, "for epoch in range(10)", PY_LOOP_RANGE, 10);
	ck_assert(!stacks_loops_is_part(&loops, epochs));
	struct seen *folds = add(0, "for fold in range(5)", PY_LOOP_RANGE, 5);
	snprintf(folds->file, sizeof folds->file, "/home/me/train.py");
	snprintf(epochs->file, sizeof epochs->file, "/home/me/fit.py");
	ck_assert(stacks_loops_is_part(&loops, epochs));
	folds->loop.length = 1;
	ck_assert(!stacks_loops_is_part(&loops, epochs));
	folds->loop.length = 5;
	snprintf(folds->file, sizeof folds->file, "/env/lib/python3.11/site-packages/optuna/study/_optimize.py");
	ck_assert(stacks_loops_is_part(&loops, epochs));
	/* a notebook's cells, and a library that tries several runs */
	snprintf(folds->file, sizeof folds->file, "/env/lib/python3.11/site-packages/IPython/core/interactiveshell.py");
	ck_assert(!stacks_loops_is_part(&loops, epochs));
	epochs->restarts = 1;
	ck_assert(stacks_loops_is_part(&loops, epochs));
	folds->read_ns--; /* over */
	ck_assert(!stacks_loops_is_part(&loops, epochs));
}
END_TEST

/* spaCy's minibatch() cuts a stream: nothing counts its items. */
START_TEST(epochs_around_a_loop_without_a_position_are_no_steps_without_torch)
{
	struct seen *epochs = add(0, "for epoch in range(50)", PY_LOOP_RANGE, 50);
	epochs->trained = epochs->optimized = 0;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), epochs);
	struct seen *batches = add(1, "for batch in minibatch(data, size=16)", PY_LOOP_GENERATOR, 0);
	batches->trained = batches->optimized = 0;
	batches->advanced = 0;
	batches->loop.has_position = false;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
}
END_TEST

/* for epoch in range(9): state = train_epoch(state), where train_epoch iterates over an array of JAX */
START_TEST(epochs_that_call_a_loop_without_a_position_are_no_steps)
{
	struct seen *epochs = add(0, "for epoch in range(50)", PY_LOOP_RANGE, 50);
	struct seen *batches = add(0, "for perm in perms", PY_LOOP_OTHER, 0);
	epochs->trained = epochs->optimized = batches->trained = batches->optimized = 0;
	batches->loop.code = CODE + 1;
	batches->level = 2;
	batches->advanced = 0;
	batches->loop.has_position = false;
	snprintf(batches->file, sizeof batches->file, "/home/me/train.py");
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	batches->reads = loops.reads / 2;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), epochs);
}
END_TEST

/* As ultralytics: `while True: epoch += 1; stop = ...; for i, batch in bar`. The optimizer was hardly sampled. */
/* "for _ in range(1):" in "while self.iter < self.max_iters:", as in mmcv's runner. */
START_TEST(a_loop_of_one_item_has_no_steps)
{
	const struct seen *all = add(0, "for _ in range(max_iters):", PY_LOOP_RANGE, 1000);
	struct seen *one = add(1, "for _ in range(iters):", PY_LOOP_RANGE, 1);
	one->loop.position = 1;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), all);
	one->loop.length = 100;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), one);
}
END_TEST

START_TEST(a_short_loop_in_a_loop_that_counts_epochs_accumulates_nothing)
{
	struct seen *outer = add(0, "while True:", PY_LOOP_INT, 0);
	snprintf(outer->loop.name, sizeof outer->loop.name, "retries");
	outer->forward = 10;
	struct seen *batches = add(1, "for i, batch in bar", PY_LOOP_GENERATOR, 12);
	batches->restarts = 3;
	outer->optimized = batches->optimized = 0;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), outer);
	struct seen *epoch = add_int(outer, "epoch", false);
	epoch->optimized = 0;
	epoch->is_epoch = true;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), batches);
}
END_TEST

/* A reading came between two items: the count by the other one would begin elsewhere. */
START_TEST(a_loop_goes_on_to_be_counted_by_what_counts_it)
{
	struct seen *steps = add(0, "for i, batch in bar", PY_LOOP_GENERATOR, 12);
	struct seen *other = add_int(steps, "ni", false);
	loops.steps = steps;
	steps->moved_ns = loops.read_ns - NS_PER_S;
	steps->loop.has_position = false;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), steps);
	steps->moved_ns = loops.read_ns - 60 * NS_PER_S;
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), other);
}
END_TEST

/* Between two passes of a DataLoader only the loop around it may be seen to train. */
START_TEST(a_loop_around_a_loader_has_no_steps)
{
	struct seen *passes = add(0, "for _ in range(4)", PY_LOOP_RANGE, 4);
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), passes);
	loops.around[0].code = CODE;
	loops.around[0].line = passes->loop.line;
	loops.around_count = 1;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	passes->loop.line++; /* another loop of that function */
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), passes);
}
END_TEST

START_TEST(what_a_for_assigns_counts_it_only_if_it_is_one_int)
{
	add(0, "for epoch in range(10)", PY_LOOP_RANGE, 10);
	struct seen *loop = add(1, "for i, batch in batches", PY_LOOP_OTHER, 0);
	loop->loop.has_position = false;
	loop->advanced = 0;
	struct seen *first = add_int(loop, "i", true);
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), first);
	struct seen *second = add_int(loop, "step", true);
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	second->is_target = false; /* step += 1 */
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), second);
}
END_TEST

START_TEST(items_of_itertools_are_no_steps)
{
	struct seen *loop = add(0, "for i in combinations(range(9), 2)", PY_LOOP_ITERTOOLS, 0);
	loop->loop.has_position = false;
	loop->advanced = 0;
	add_int(loop, "i", true);
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
	struct seen *counter = add_int(loop, "step", false);
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), counter);
}
END_TEST

START_TEST(epochs_with_many_updates_each_are_no_steps)
{
	struct seen *epochs = add(0, "for epoch in range(10)", PY_LOOP_RANGE, 10);
	epochs->turns_max = 3; /* a GAN */
	ck_assert_ptr_eq(stacks_loops_find_steps(&loops), epochs);
	epochs->turns_max = 6;
	ck_assert_ptr_null(stacks_loops_find_steps(&loops));
}
END_TEST

START_TEST(the_text_of_a_loop_ends_with_its_header)
{
	static const char *const texts[][2] = {
		{ "for x in xs: log(epoch + 1)", "for x in xs:" },
		{ "for b in map(lambda b: b[1:], d['a:b']): step()", "for b in map(lambda b: b[1:], d['a:b']):" },
		{ "while (n := n + 1) < 9: step()", "while (n := n + 1) < 9:" },
		{ "for x in steps(epoch,", "for x in steps(epoch," },
		{ "step(x); epoch: int = 1", "step(x); epoch: int = 1" },
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		ck_assert_uint_eq(stacks_loop_header_length(texts[i][0]), strlen(texts[i][1]));
}
END_TEST

START_TEST(a_loop_without_its_source_has_a_name)
{
	char out[40];
	stacks_loop_write_text("for x in xs:", "", out, sizeof out);
	ck_assert_str_eq(out, "for x in xs");
	stacks_loop_write_text("", "step", out, sizeof out);
	ck_assert_str_eq(out, "step");
	stacks_loop_write_text("", "", out, sizeof out);
	ck_assert_str_eq(out, "loop");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_loops_choose");
	TCase *tests = tcase_create("stacks_loops_choose");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, epochs_around_a_loop_that_cannot_be_read_are_no_steps);
	tcase_add_test(tests, what_advances_by_more_than_one_counts_no_steps);
	tcase_add_test(tests, the_loop_after_one_that_was_alone_is_chosen_by_what_it_does);
	tcase_add_test(tests, a_loop_that_only_validates_does_not_follow);
	tcase_add_test(tests, a_loop_that_tries_again_counts_no_epochs);
	tcase_add_test(tests, a_reason_needs_most_of_many_readings_and_no_steps);
	tcase_add_test(tests, training_that_nothing_counts_is_a_reason_after_a_while);
	tcase_add_test(tests, a_chosen_line_without_a_loop_is_the_reason);
	tcase_add_test(tests, a_loop_around_a_loader_has_no_steps);
	tcase_add_test(tests, a_loop_of_one_item_has_no_steps);
	tcase_add_test(tests, a_short_loop_in_a_loop_that_counts_epochs_accumulates_nothing);
	tcase_add_test(tests, a_loop_goes_on_to_be_counted_by_what_counts_it);
	tcase_add_test(tests, a_bar_of_images_counts_no_steps);
	tcase_add_test(tests, a_few_passes_beside_a_rollout_are_one_step);
	tcase_add_test(tests, passes_that_can_be_followed_remain_the_steps);
	tcase_add_test(tests, bursts_of_updates_are_no_steps_of_the_loop_around_them);
	tcase_add_test(tests, timesteps_are_counted_only_if_nothing_counts_the_iterations);
	tcase_add_test(tests, what_ends_the_loop_of_an_iteration_shows_how_many_there_are);
	tcase_add_test(tests, epochs_of_a_fold_are_part_of_the_run);
	tcase_add_test(tests, epochs_around_a_loop_without_a_position_are_no_steps_without_torch);
	tcase_add_test(tests, epochs_that_call_a_loop_without_a_position_are_no_steps);
	tcase_add_test(tests, an_int_that_restarts_with_each_pass_may_be_no_count);
	tcase_add_test(tests, of_two_ints_alike_the_one_that_has_counted_for_longer_counts);
	tcase_add_test(tests, a_loop_over_optimizers_has_no_steps);
	tcase_add_test(tests, an_optimizer_that_runs_backward_itself_has_steps);
	tcase_add_test(tests, what_is_around_batches_of_unknown_position_is_not_taken_for_their_loop);
	tcase_add_test(tests, an_int_counts_the_batches_of_a_generator);
	tcase_add_test(tests, the_innermost_loop_with_the_optimizer_has_the_steps);
	tcase_add_test(tests, a_loop_whose_iterations_have_many_updates_has_no_steps);
	tcase_add_test(tests, an_int_counts_no_loop_whose_position_is_known_at_other_times);
	tcase_add_test(tests, a_loop_that_seldom_has_the_steps_counts_no_epochs);
	tcase_add_test(tests, an_int_that_goes_on_behind_its_loop_counts_the_passes_before_too);
	tcase_add_test(tests, a_few_passes_over_a_few_minibatches_are_one_step_on_a_slow_machine_too);
	tcase_add_test(tests, what_a_for_assigns_counts_it_only_if_it_is_one_int);
	tcase_add_test(tests, items_of_itertools_are_no_steps);
	tcase_add_test(tests, epochs_with_many_updates_each_are_no_steps);
	tcase_add_test(tests, the_text_of_a_loop_ends_with_its_header);
	tcase_add_test(tests, a_loop_without_its_source_has_a_name);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
