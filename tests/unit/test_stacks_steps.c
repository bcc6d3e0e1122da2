/* A loader's counts, polled by hand, become a run's events. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/model.h"
#include "src/sources/inferred/steps/stacks_steps.h"
#include "src/sources/inferred/steps/stacks_steps_life.h"
#include "src/sources/inferred/steps/stacks_steps_emit.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { LENGTH = 40 };

static struct stacks_steps *steps;
static struct sample_set set;
static int64_t now_ns;
static bool trains, evaluates;  /* what samples saw, for see_loop */
static bool is_undecided;       /* of a loader that was not seen before */
static uint64_t looped;         /* batches of see_loop */
static uint64_t serial, number; /* of the pass; of its epoch, 0 = unknown */
static uint64_t planned;        /* epochs; 0 = unknown */
static uint64_t length;         /* of the pass; 0 = unknown */
static bool awaits_epoch;       /* another loop of epochs may have begun */
static bool is_exhausted;       /* of the pass that is over */
static bool is_first;           /* pmtop watched since the start */
static bool is_alone;           /* no loop is around the one that is counted */

static void setup(void)
{
	steps = stacks_steps_new(0, 4711, 123456, "train.py");
	set = (struct sample_set)SAMPLE_SET_INIT;
	now_ns = 1000 * NS_PER_S;
	serial = 1;
	number = looped = planned = 0;
	length = LENGTH;
	awaits_epoch = is_exhausted = false;
	trains = true;
	evaluates = is_undecided = false;
	is_first = true;
	is_alone = false;
}

static void teardown(void)
{
	stacks_steps_free(steps);
	sample_set_release(&set);
}

static void see(uint64_t yielded, bool is_over, const char *function)
{
	const struct py_counted counted = { .serial = serial,
		.iterator = 0x1000,
		.sampler = is_undecided ? 0x3000 : 0x2000,
		.yielded = yielded,
		.read_ns = now_ns,
		.is_over = is_over,
		.is_undecided = !is_over && is_undecided,
		.is_unknown = is_over && is_undecided,
		.is_exhausted = is_over && is_exhausted,
		.length = length,
		.batch_size = 32,
		.epoch = number,
		.epochs = planned,
		.awaits_epoch = awaits_epoch,
		.is_first = is_first,
		.is_alone = is_alone,
		.function = function,
		.file = "/home/me/train.py",
		.line = 42 };
	const char *text = NULL;
	stacks_steps_take(steps, &counted, 1, &text, now_ns);
}

/* Batches of so many seconds each from now on, until the loader has yielded `until`; polled when steps request it. */
static void go_on(uint64_t from, uint64_t until, double step_s, const char *function)
{
	int64_t begin_ns = now_ns;
	uint64_t yielded = from;
	while (yielded < until) {
		now_ns = stacks_steps_next_ns(steps, now_ns);
		yielded = from + (uint64_t)((double)(now_ns - begin_ns) * 1e-9 / step_s);
		yielded = yielded < until ? yielded : until;
		if (yielded > 0)
			see(yielded, false, function);
	}
}

static void emit(void) { stacks_steps_emit(steps, false, now_ns, &set); }

static const struct record *last(enum record_kind kind) { return set_record(&set, kind, set_count(&set, kind) - 1); }

static double longest(enum record_kind kind, double *min)
{
	double max = 0;
	int64_t before_ns = 0;
	*min = 1e9;
	for (size_t i = 0; i < set_count(&set, kind); i++) {
		const struct record *record = set_record(&set, kind, i);
		double seconds = (double)(record->time_ns - before_ns) * 1e-9;
		if (i > 0) {
			max = seconds > max ? seconds : max;
			*min = seconds < *min ? seconds : *min;
		}
		before_ns = record->time_ns;
	}
	return max;
}

/* It is compiled, say. What takes longer than the steps after it is noticed all the same: a validation within a step.
 */
START_TEST(a_slow_first_step_is_no_measure)
{
	see(1, false, "train");
	go_on(1, 2, 2, "train");
	go_on(2, 12, 0.025, "train");
	ck_assert_double_le(stacks_steps_step_s(steps), 0.05);
	ck_assert(!stacks_steps_is_stalled(steps, now_ns + 20 * NS_PER_MS));
	ck_assert(stacks_steps_is_stalled(steps, now_ns + 250 * NS_PER_MS));
}
END_TEST

/* The last poll before the end of the pass came 60 ms late, when eight batches of 0.04 s were missing. */
START_TEST(a_pass_that_no_break_ended_is_complete)
{
	for (int i = 0; i < 2; i++) {
		teardown();
		setup();
		is_exhausted = i == 1;
		go_on(0, LENGTH - 8, 0.04, "train");
		now_ns += 60 * NS_PER_MS;
		see(LENGTH - 8, true, "train");
		emit();
		ck_assert_uint_eq(set_count(&set, RECORD_BATCH_END), is_exhausted ? LENGTH : LENGTH - 8);
	}
}
END_TEST

/* For minutes each poll found the same batch in progress. */
START_TEST(a_run_that_is_killed_while_it_hangs_has_not_done_the_rest_of_its_epoch)
{
	go_on(0, LENGTH - 8, 0.04, "train");
	for (int64_t end_ns = now_ns + 60 * NS_PER_S; now_ns < end_ns; now_ns += NS_PER_S / 20)
		see(LENGTH - 8, false, "train");
	stacks_steps_end(steps, now_ns);
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_END), LENGTH - 8);
}
END_TEST

/* Short steps are emitted in groups: not these, of which no further one follows. */
START_TEST(an_epoch_that_hangs_in_its_first_short_steps_is_shown)
{
	go_on(0, LENGTH, 0.02, "train");
	see(LENGTH, true, "train");
	serial++;
	now_ns += 40 * NS_PER_MS;
	for (int i = 0; i < 40; i++, now_ns += NS_PER_S / 20)
		see(3, false, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 2);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_BEGIN), LENGTH + 3);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_END), LENGTH + 2);
}
END_TEST

START_TEST(an_iteration_of_a_loader_is_an_epoch_and_batches_are_contiguous)
{
	double min;
	go_on(0, LENGTH, 0.25, "train");
	now_ns += NS_PER_S / 4;
	see(LENGTH, true, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_OPENED), 1);
	ck_assert_str_eq(set_record(&set, RECORD_RUN_OPENED, 0)->opened.abi, STEPS_ABI);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 1);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_END), 1);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_BEGIN), LENGTH);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_END), LENGTH);
	ck_assert_uint_eq(set_record(&set, RECORD_BATCH_BEGIN, 0)->batch.index, 0);
	ck_assert_uint_eq(set_record(&set, RECORD_BATCH_END, LENGTH - 1)->batch.index, LENGTH - 1);
	ck_assert_uint_eq(set_record(&set, RECORD_BATCH_END, LENGTH - 1)->batch.number, LENGTH - 1);
	ck_assert_double_le(longest(RECORD_BATCH_BEGIN, &min), 0.29);
	ck_assert_double_ge(min, 0.21);
	const struct run_state *state = last(RECORD_STATE)->state;
	ck_assert_uint_eq(state->batches_per_epoch, LENGTH);
	ck_assert_uint_eq(state->samples_per_batch, 32);
	ck_assert_uint_eq(state->batches_in_epoch, LENGTH);
	for (size_t i = 1; i < set.count; i++)
		if (set.records[i].kind >= RECORD_EPOCH_BEGIN && set.records[i - 1].kind >= RECORD_EPOCH_BEGIN)
			ck_assert_int_ge(set.records[i].time_ns, set.records[i - 1].time_ns);
}
END_TEST

static unsigned count_longer_than(double min_s)
{
	unsigned count = 0;
	for (size_t i = 1; i < set_count(&set, RECORD_BATCH_BEGIN); i++)
		count += (double)(set_record(&set, RECORD_BATCH_BEGIN, i)->time_ns -
					 set_record(&set, RECORD_BATCH_BEGIN, i - 1)->time_ns) > min_s * 1e9;
	return count;
}

START_TEST(a_slow_batch_among_short_ones_has_its_own_time)
{
	double min;
	go_on(0, 300, 0.03, "train");
	go_on(300, 301, 0.4, "train");
	go_on(301, 600, 0.03, "train");
	emit();
	ck_assert_double_ge(longest(RECORD_BATCH_BEGIN, &min), 0.33);
	ck_assert_double_le(longest(RECORD_BATCH_BEGIN, &min), 0.5);
	ck_assert_uint_eq(count_longer_than(0.1), 1);
}
END_TEST

START_TEST(steps_that_become_slow_are_not_one_slow_step)
{
	go_on(0, 300, 0.02, "train");
	go_on(300, 500, 0.09, "train");
	emit();
	ck_assert_uint_eq(count_longer_than(0.2), 0);
}
END_TEST

START_TEST(short_batches_are_emitted_with_their_mean)
{
	double min;
	go_on(0, 4000, 0.007, "train");
	emit();
	ck_assert_uint_gt(set_count(&set, RECORD_BATCH_BEGIN), 3900);
	ck_assert_double_le(longest(RECORD_BATCH_BEGIN, &min), 0.010);
	ck_assert_double_ge(min, 0.004);
}
END_TEST

START_TEST(batches_before_the_first_sample_are_counted_but_not_emitted)
{
	see(12, false, "train");
	go_on(12, 20, 0.25, "train");
	emit();
	const struct run_state *state = last(RECORD_STATE)->state;
	ck_assert_uint_eq(state->batches_per_epoch, LENGTH);
	ck_assert_uint_eq(state->samples_per_batch, 32);
	ck_assert_uint_eq(set_count(&set, RECORD_TOTAL), 2);
	ck_assert_uint_eq(set_record(&set, RECORD_TOTAL, 0)->total->count, 12);
	ck_assert(isnan(set_record(&set, RECORD_TOTAL, 0)->total->total_s));
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCHS, 0)->epochs.rows[0].batches, 12);
	ck_assert_uint_eq(set_record(&set, RECORD_BATCH_BEGIN, 0)->batch.index, 12);
	ck_assert_uint_eq(set_record(&set, RECORD_BATCH_BEGIN, 0)->batch.number, 12);
}
END_TEST

START_TEST(an_epoch_that_was_joined_may_end_before_the_first_output)
{
	see(12, false, "train");
	go_on(12, LENGTH, 0.01, "train");
	now_ns += NS_PER_S / 100;
	see(LENGTH, true, "train");
	serial++;
	go_on(0, 3, 0.25, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCHS), 1);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCHS, 0)->epochs.rows[0].batches, 12);
	ck_assert_uint_eq(set_record(&set, RECORD_TOTAL, 0)->total->count, 12);
	ck_assert_uint_eq(set_record(&set, RECORD_BATCH_BEGIN, 0)->batch.index, 12);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_BEGIN), LENGTH - 12 + 3);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCH_END, 0)->epoch.index, 0);
	ck_assert_uint_eq(last(RECORD_EPOCH_BEGIN)->epoch.index, 1);
}
END_TEST

START_TEST(the_first_output_waits_for_the_number_of_the_epoch)
{
	stacks_steps_await_epoch(steps, now_ns + 3 * NS_PER_S);
	see(12, false, "train");
	go_on(12, 20, 0.1, "train");
	emit();
	ck_assert_uint_eq(set.count, 0);
	number = 5;
	go_on(20, 22, 0.1, "train");
	emit();
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCHS, 0)->epochs.rows[0].index, 4);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCHS, 0)->epochs.rows[0].batches, 12);
	const struct run_state *state = last(RECORD_STATE)->state;
	ck_assert_uint_eq(state->epoch_index, 4);
	ck_assert_uint_eq(state->batches_in_epoch, 21);
	ck_assert_uint_eq(set_record(&set, RECORD_BATCH_BEGIN, 0)->batch.index, 12);
}
END_TEST

/* The pass that was joined has no number; the next one has. */
START_TEST(a_later_pass_numbers_those_before_it)
{
	stacks_steps_await_epoch(steps, now_ns + 3 * NS_PER_S);
	see(12, false, "train");
	go_on(12, LENGTH, 0.01, "train");
	see(LENGTH, true, "train");
	serial++;
	number = 7;
	go_on(0, 3, 0.25, "train");
	emit();
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCHS, 0)->epochs.rows[0].index, 5);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCH_END, 0)->epoch.index, 5);
	ck_assert_uint_eq(last(RECORD_EPOCH_BEGIN)->epoch.index, 6);
}
END_TEST

START_TEST(the_first_output_waits_no_longer_than_asked)
{
	is_first = false;
	stacks_steps_await_epoch(steps, now_ns + 3 * NS_PER_S);
	see(12, false, "train");
	go_on(12, 20, 0.5, "train");
	emit();
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCHS, 0)->epochs.rows[0].index, EPOCH_UNKNOWN);
	ck_assert_uint_ge(set_count(&set, RECORD_BATCH_BEGIN), 7);
}
END_TEST

static uint32_t last_index(void) { return last(RECORD_EPOCH_BEGIN)->epoch.index; }

START_TEST(an_epoch_that_was_joined_has_no_number_until_something_shows_it)
{
	is_first = false;
	see(12, false, "train");
	go_on(12, LENGTH, 0.1, "train");
	see(LENGTH, true, "train");
	serial++;
	go_on(0, LENGTH, 0.1, "train");
	emit();
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCHS, 0)->epochs.rows[0].index, EPOCH_UNKNOWN);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCHS, 0)->epochs.dropped, 0);
	ck_assert_uint_eq(last_index(), EPOCH_UNKNOWN);
	ck_assert_uint_eq(last(RECORD_STATE)->state->epoch_index, EPOCH_UNKNOWN);
	ck_assert_uint_eq(last(RECORD_STATE)->state->epochs_begun, 2);
	see(LENGTH, true, "train");
	serial++;
	number = 9;
	go_on(0, LENGTH, 0.1, "train");
	see(LENGTH, true, "train");
	emit();
	ck_assert_uint_eq(last_index(), 8);
	serial++;
	number = 0;
	go_on(0, 10, 0.1, "train");
	emit();
	ck_assert_uint_eq(last_index(), 9);
	ck_assert_uint_eq(last(RECORD_STATE)->state->epochs_begun, 10);
}
END_TEST

START_TEST(a_loss_belongs_to_the_batch_in_which_it_was_read)
{
	unsigned known = 0;
	go_on(0, 3, 0.25, "train");
	now_ns += NS_PER_S / 10;
	stacks_steps_note_loss(steps, 2.5, now_ns);
	go_on(3, 6, 0.25, "train");
	stacks_steps_note_loss(steps, 2.5, now_ns);
	go_on(6, 9, 0.25, "train");
	emit();
	for (size_t i = 0; i < set_count(&set, RECORD_BATCH_END); i++) {
		const struct record *ended = set_record(&set, RECORD_BATCH_END, i);
		known += isnan(ended->batch.loss) ? 0 : 1;
		if (!isnan(ended->batch.loss)) {
			ck_assert_double_eq_tol(ended->batch.loss, 2.5, 1e-12);
			ck_assert_uint_eq(ended->batch.index, 2);
		}
	}
	ck_assert_uint_eq(known, 1);
}
END_TEST

/* As of stable-baselines3: by what ends the loop, once some steps were seen. */
START_TEST(the_length_of_an_epoch_may_become_known_in_it)
{
	length = 0;
	go_on(0, 10, 0.1, "train");
	emit();
	ck_assert_uint_eq(last(RECORD_STATE)->state->batches_per_epoch, 0);
	length = LENGTH;
	go_on(10, 20, 0.1, "train");
	emit();
	ck_assert_uint_eq(last(RECORD_STATE)->state->batches_per_epoch, LENGTH);
}
END_TEST

START_TEST(last_batches_that_no_sample_saw_are_emitted_if_the_length_is_known)
{
	go_on(0, LENGTH - 1, 0.03, "train");
	now_ns += NS_PER_S / 20;
	see(LENGTH - 1, true, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_END), LENGTH);
	sample_set_clear(&set);
	serial++;
	go_on(0, LENGTH / 2, 0.03, "train"); /* it broke out of its loop */
	now_ns += NS_PER_S / 20;
	see(LENGTH / 2, true, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_END), LENGTH / 2);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCH_BEGIN, 0)->epoch.index, 1);
}
END_TEST

/* PyTorch's iterators with workers begin twice, and the first yields nothing. */
START_TEST(an_iteration_that_never_began_is_no_epoch)
{
	go_on(0, LENGTH, 0.03, "train");
	see(LENGTH, true, "train");
	now_ns += NS_PER_S / 20;
	serial++;
	see(0, false, "train");
	now_ns += NS_PER_S / 20;
	see(0, true, "train");
	serial++;
	go_on(0, LENGTH, 0.03, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 2);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_END), 1);
	ck_assert_uint_le(set_count(&set, RECORD_BATCH_BEGIN), 2 * LENGTH);
}
END_TEST

START_TEST(a_loop_that_validates_is_no_epoch)
{
	go_on(0, LENGTH, 0.2, "train");
	see(LENGTH, true, "train");
	serial++;
	go_on(0, 10, 0.2, "evaluate");
	see(10, true, "evaluate");
	serial++;
	go_on(0, 10, 0.2, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 2);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_END), 1);
	ck_assert_uint_ge(set_count(&set, RECORD_MODE), 2);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_BEGIN), LENGTH + 10 + 10);
}
END_TEST

START_TEST(a_pass_in_another_loop_of_epochs_waits_for_its_number)
{
	number = planned = 3;
	go_on(0, LENGTH, 0.1, "train");
	see(LENGTH, true, "train");
	emit();
	size_t begun = set_count(&set, RECORD_EPOCH_BEGIN);
	serial++;
	number = planned = 0;
	awaits_epoch = true;
	go_on(0, 5, 0.1, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), begun);
	awaits_epoch = false;
	number = 1;
	planned = 3;
	go_on(5, 20, 0.1, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), begun + 1);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCH_BEGIN, begun)->epoch.index, 0);
}
END_TEST

/* The loop of epochs is read once a second, short passes begin more often. */
START_TEST(an_epoch_whose_loop_was_not_read_yet_is_of_as_many_as_the_one_before)
{
	number = 3;
	planned = 9;
	go_on(0, LENGTH, 0.1, "train");
	see(LENGTH, true, "train");
	serial++;
	number = planned = 0;
	go_on(0, 20, 0.1, "train");
	emit();
	const struct run_state *state = last(RECORD_STATE)->state;
	ck_assert_uint_eq(state->epoch_index, 3);
	ck_assert_uint_eq(state->epochs_planned, 9);
}
END_TEST

/* Federated: each client trains for two epochs. */
START_TEST(no_epoch_is_guessed_once_their_numbers_began_anew)
{
	static const uint64_t numbers[] = { 1, 2, 1 };
	for (size_t i = 0; i < 3; i++) {
		number = numbers[i];
		go_on(0, LENGTH, 0.1, "train");
		see(LENGTH, true, "train");
		serial++;
	}
	number = 0;
	go_on(0, 20, 0.1, "train");
	emit();
	size_t begun = set_count(&set, RECORD_EPOCH_BEGIN);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCH_BEGIN, begun - 2)->epoch.index, 0);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCH_BEGIN, begun - 1)->epoch.index, EPOCH_UNKNOWN);
}
END_TEST

START_TEST(a_pass_that_may_have_validated_counts_nowhere)
{
	go_on(0, LENGTH, 0.1, "train");
	see(LENGTH, true, "train");
	emit();
	size_t batches = set_count(&set, RECORD_BATCH_END), begun = set_count(&set, RECORD_EPOCH_BEGIN);
	serial++;
	is_undecided = true;
	length = 8;
	see(8, false, "train");
	see(8, true, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_END), batches);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), begun);
}
END_TEST

START_TEST(a_joined_pass_that_may_have_validated_is_no_part_of_the_next_one)
{
	is_undecided = true;
	see(12, false, "train");
	see(LENGTH, true, "train");
	emit();
	ck_assert_uint_eq(set.count, 0);
	serial++;
	is_undecided = false;
	go_on(0, 3, 0.25, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCHS), 0);
	ck_assert_uint_eq(set_count(&set, RECORD_TOTAL), 0);
	ck_assert_uint_eq(set_record(&set, RECORD_BATCH_BEGIN, 0)->batch.number, 0);
}
END_TEST

START_TEST(no_epoch_is_numbered_beyond_the_last_one)
{
	number = planned = 3;
	go_on(0, LENGTH, 0.1, "train");
	see(LENGTH, true, "train");
	serial++;
	number = 0;
	go_on(0, 20, 0.1, "train");
	emit();
	ck_assert_uint_eq(last(RECORD_EPOCH_BEGIN)->epoch.index, EPOCH_UNKNOWN);
}
END_TEST

static void see_loop(const char *text, uint64_t epoch)
{
	const struct py_counted counted = { .serial = serial,
		.sampler = serial,
		.yielded = ++looped,
		.read_ns = now_ns,
		.length = LENGTH,
		.trains = trains,
		.evaluates = evaluates,
		.is_undecided = is_undecided,
		.epoch = epoch,
		.is_first = is_first,
		.function = "training_function",
		.file = "/home/me/train.py",
		.line = 42 };
	stacks_steps_take(steps, &counted, 1, &text, now_ns);
	emit();
}

START_TEST(a_function_that_trains_may_validate_too)
{
	see_loop("for x, y in train_dataloader:", 0);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 1);
	serial++;
	looped = 0;
	now_ns += 5 * NS_PER_S;
	trains = false;
	evaluates = true;
	see_loop("for x, y in batches:", 0);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 1);
}
END_TEST

START_TEST(a_pass_is_emitted_whole_once_samples_tell_what_it_does)
{
	trains = false;
	is_undecided = true;
	for (unsigned i = 0; i < 5; i++, now_ns += NS_PER_S / 5)
		see_loop("for x, y in batches:", 0);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_BEGIN), 0);
	is_undecided = false;
	evaluates = true;
	see_loop("for x, y in batches:", 0);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 0);
	ck_assert_uint_eq(set_count(&set, RECORD_MODE), 1);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_BEGIN), 6);
}
END_TEST

START_TEST(samples_correct_a_pass_that_words_took_for_validation)
{
	trains = false;
	for (unsigned i = 0; i < 8; i++, now_ns += NS_PER_S / 5)
		see_loop("for x, y in test_data:", 0);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 0);
	trains = true;
	for (unsigned i = 0; i < 8; i++, now_ns += NS_PER_S / 5)
		see_loop("for x, y in test_data:", 0);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 1);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_BEGIN), 16);
}
END_TEST

START_TEST(samples_correct_a_pass_that_words_took_for_an_epoch)
{
	trains = false;
	for (unsigned i = 0; i < 8; i++, now_ns += NS_PER_S / 5)
		see_loop("for x, y in batches:", 0);
	evaluates = true;
	for (unsigned i = 0; i < 8; i++, now_ns += NS_PER_S / 5)
		see_loop("for x, y in batches:", 0);
	serial++;
	looped = 0;
	evaluates = false;
	trains = true;
	see_loop("for x, y in batches:", 0);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 2);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCH_BEGIN, 1)->epoch.index, 0);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_BEGIN), 17);
	/* What was taken for an epoch leaves no row. */
	struct model_options options;
	model_options_default(&options);
	struct model *model = model_new(&options);
	set.time_ns = now_ns;
	model_apply(model, &set);
	ck_assert_uint_eq(model->runs[0].epoch_count, 1);
	ck_assert_uint_eq(model->runs[0].epochs[0].index, 0);
	model_free(model);
}
END_TEST

START_TEST(the_loop_of_epochs_corrects_an_epoch_too_many)
{
	for (int i = 0; i < 3; i++, serial++, looped = 0, now_ns += 5 * NS_PER_S)
		see_loop("for x, y in batches:", 0);
	see_loop("for x, y in batches:", 2);
	size_t count = set_count(&set, RECORD_EPOCH_BEGIN);
	ck_assert_uint_eq(count, 4);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCH_BEGIN, count - 1)->epoch.index, 1);
}
END_TEST

START_TEST(only_whole_words_mark_a_function_as_validation)
{
	static const struct {
		const char *function;
		bool validates;
	} rows[] = {
		{ "validate", true },
		{ "Trainer.val_epoch", true },
		{ "evaluate", true },
		{ "test", true },
		{ "run_test", true },
		{ "train", false },
		{ "fit_latest", false },
		{ "retrieval", false },
		{ "by_value", false },
		{ "values", false },
		{ "interval", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		teardown();
		setup();
		go_on(0, 5, 0.2, rows[i].function);
		sample_set_clear(&set);
		emit();
		ck_assert_msg((set_count(&set, RECORD_EPOCH_BEGIN) == 0) == rows[i].validates, "%s", rows[i].function);
	}
}
END_TEST

START_TEST(a_snapshot_repeats_what_was_emitted)
{
	go_on(0, 20, 0.2, "train");
	emit();
	size_t ended = set_count(&set, RECORD_BATCH_END);
	sample_set_clear(&set);
	stacks_steps_emit(steps, true, now_ns, &set);
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_OPENED), 1);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_END), 0);
	ck_assert_uint_eq(set_record(&set, RECORD_TOTAL, 0)->total->count, ended);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCHS, 0)->epochs.rows[0].batches, ended);
	sample_set_clear(&set);
	emit();
	ck_assert_uint_eq(set.count, 0);
}
END_TEST

/* The meta keys of a rank come once they are known, and only when they change. */
START_TEST(a_rank_that_is_recognized_late_is_emitted_late)
{
	struct stacks_job job = { .rank = "1", .world_size = "2", .run_id = "spawned by process 9", .certain = "no" };
	go_on(0, 20, 0.2, "train");
	emit();
	for (size_t i = 0; i < set_count(&set, RECORD_META); i++)
		ck_assert_str_ne(set_record(&set, RECORD_META, i)->meta.key, "RANK");
	sample_set_clear(&set);
	stacks_steps_place(steps, &job, false);
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_META), 4);
	ck_assert_str_eq(set_record(&set, RECORD_META, 0)->meta.key, "RANK");
	ck_assert_str_eq(set_record(&set, RECORD_META, 0)->meta.value, "1");
	sample_set_clear(&set);
	stacks_steps_place(steps, &job, false);
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_META), 0);
}
END_TEST

START_TEST(the_end_of_the_process_ends_all)
{
	go_on(0, 20, 0.2, "train");
	stacks_steps_end(steps, now_ns + NS_PER_S / 5);
	stacks_steps_end(steps, now_ns + NS_PER_S);
	see(30, false, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_END), 20);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_END), 1);
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_CLOSED), 1);
	sample_set_clear(&set);
	emit();
	ck_assert_uint_eq(set.count, 0);
}
END_TEST

/* The value of the newest meta with this key, or NULL. */
static const char *meta(const char *key)
{
	const char *value = NULL;
	for (size_t i = 0; i < set_count(&set, RECORD_META); i++)
		if (strcmp(set_record(&set, RECORD_META, i)->meta.key, key) == 0)
			value = set_record(&set, RECORD_META, i)->meta.value;
	return value;
}

START_TEST(another_loop_is_another_run_at_once_and_its_counts_begin_anew)
{
	static const struct stacks_what chosen = { .text = "train.py:12", .is_chosen = true };
	go_on(0, 30, 0.25, "train");
	emit();
	ck_assert_ptr_null(meta("inferred.chosen"));
	char uuid[64];
	snprintf(uuid, sizeof uuid, "%s", set_record(&set, RECORD_RUN_OPENED, 0)->opened.uuid);
	sample_set_clear(&set);
	stacks_steps_begin_anew(steps, &chosen);
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_OPENED), 1);
	ck_assert_str_eq(set_record(&set, RECORD_RUN_OPENED, 0)->opened.uuid, uuid);
	ck_assert_str_eq(meta("counted_by"), "train.py:12");
	ck_assert_str_eq(meta("inferred.chosen"), "yes");
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_BEGIN), 0);
	sample_set_clear(&set);
	emit();
	ck_assert_uint_eq(set.count, 0);
	serial = 2;
	now_ns += NS_PER_S;
	see(7, false, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_OPENED), 1);
	ck_assert_uint_eq(set_record(&set, RECORD_TOTAL, 0)->total->count, 7);
	ck_assert_uint_eq(set_record(&set, RECORD_EPOCH_BEGIN, 0)->sequence, 0);
}
END_TEST

START_TEST(a_loop_that_no_other_is_around_is_no_epoch)
{
	is_alone = true;
	number = planned = 0;
	length = 100;
	go_on(0, 30, 0.25, "train");
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 0);
	ck_assert_uint_gt(set_count(&set, RECORD_BATCH_BEGIN), 20);
	ck_assert_uint_eq(last(RECORD_STATE)->state->batches_per_epoch, 100);
	ck_assert_uint_eq(last(RECORD_STATE)->state->epochs_begun, 0);
	/* executed again: how often, is unknown */
	serial = 2;
	go_on(0, 10, 0.25, "train");
	emit();
	ck_assert_uint_eq(last(RECORD_STATE)->state->batches_per_epoch, 0);
	ck_assert_uint_eq(set_count(&set, RECORD_EPOCH_BEGIN), 0);
}
END_TEST

START_TEST(micro_batches_are_named_as_an_instrumented_run_does)
{
	static const struct stacks_what what = { .text = "for step in range(9)", .micro_batches = 4 };
	go_on(0, 10, 0.25, "train");
	emit();
	ck_assert_ptr_null(meta("micro_batches"));
	stacks_steps_describe(steps, &what);
	emit();
	ck_assert_str_eq(meta("micro_batches"), "4");
}
END_TEST

START_TEST(another_loop_that_never_ran_ends_with_its_process)
{
	static const struct stacks_what chosen = { .text = "train.py:12", .is_chosen = true };
	go_on(0, 30, 0.25, "train");
	emit();
	stacks_steps_begin_anew(steps, &chosen);
	emit();
	sample_set_clear(&set);
	stacks_steps_end(steps, now_ns);
	emit();
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_CLOSED), 1);
	ck_assert_uint_eq(set_count(&set, RECORD_BATCH_END), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_steps");
	TCase *tests = tcase_create("stacks_steps");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_pass_that_no_break_ended_is_complete);
	tcase_add_test(tests, a_slow_first_step_is_no_measure);
	tcase_add_test(tests, an_epoch_that_hangs_in_its_first_short_steps_is_shown);
	tcase_add_test(tests, a_run_that_is_killed_while_it_hangs_has_not_done_the_rest_of_its_epoch);
	tcase_add_test(tests, an_iteration_of_a_loader_is_an_epoch_and_batches_are_contiguous);
	tcase_add_test(tests, short_batches_are_emitted_with_their_mean);
	tcase_add_test(tests, a_slow_batch_among_short_ones_has_its_own_time);
	tcase_add_test(tests, steps_that_become_slow_are_not_one_slow_step);
	tcase_add_test(tests, batches_before_the_first_sample_are_counted_but_not_emitted);
	tcase_add_test(tests, an_epoch_that_was_joined_may_end_before_the_first_output);
	tcase_add_test(tests, the_first_output_waits_for_the_number_of_the_epoch);
	tcase_add_test(tests, a_later_pass_numbers_those_before_it);
	tcase_add_test(tests, the_first_output_waits_no_longer_than_asked);
	tcase_add_test(tests, an_epoch_that_was_joined_has_no_number_until_something_shows_it);
	tcase_add_test(tests, a_loss_belongs_to_the_batch_in_which_it_was_read);
	tcase_add_test(tests, the_length_of_an_epoch_may_become_known_in_it);
	tcase_add_test(tests, last_batches_that_no_sample_saw_are_emitted_if_the_length_is_known);
	tcase_add_test(tests, an_iteration_that_never_began_is_no_epoch);
	tcase_add_test(tests, a_loop_that_validates_is_no_epoch);
	tcase_add_test(tests, a_function_that_trains_may_validate_too);
	tcase_add_test(tests, a_pass_is_emitted_whole_once_samples_tell_what_it_does);
	tcase_add_test(tests, samples_correct_a_pass_that_words_took_for_validation);
	tcase_add_test(tests, samples_correct_a_pass_that_words_took_for_an_epoch);
	tcase_add_test(tests, the_loop_of_epochs_corrects_an_epoch_too_many);
	tcase_add_test(tests, only_whole_words_mark_a_function_as_validation);
	tcase_add_test(tests, a_snapshot_repeats_what_was_emitted);
	tcase_add_test(tests, a_rank_that_is_recognized_late_is_emitted_late);
	tcase_add_test(tests, the_end_of_the_process_ends_all);
	tcase_add_test(tests, another_loop_is_another_run_at_once_and_its_counts_begin_anew);
	tcase_add_test(tests, a_loop_that_no_other_is_around_is_no_epoch);
	tcase_add_test(tests, micro_batches_are_named_as_an_instrumented_run_does);
	tcase_add_test(tests, another_loop_that_never_ran_ends_with_its_process);
	tcase_add_test(tests, a_pass_in_another_loop_of_epochs_waits_for_its_number);
	tcase_add_test(tests, an_epoch_whose_loop_was_not_read_yet_is_of_as_many_as_the_one_before);
	tcase_add_test(tests, no_epoch_is_guessed_once_their_numbers_began_anew);
	tcase_add_test(tests, a_pass_that_may_have_validated_counts_nowhere);
	tcase_add_test(tests, a_joined_pass_that_may_have_validated_is_no_part_of_the_next_one);
	tcase_add_test(tests, no_epoch_is_numbered_beyond_the_last_one);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
