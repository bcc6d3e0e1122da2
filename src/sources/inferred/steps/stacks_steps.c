#include "src/sources/inferred/steps/stacks_steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_steps_emit.h"
#include "src/sources/inferred/steps/stacks_steps_mode.h"

/* A step is emitted once it took POLLS_A_STEP polls: its time is then precise to 20 %, and more so for longer
 * steps. */
enum { POLLS_A_STEP = 5, POLLS_WANTED = 16, POLLS_SINGLE = 5, NOTED_FIRST = 8 };
#define POLL_MIN_NS (20 * NS_PER_MS)
#define POLL_MAX_NS (50 * NS_PER_MS)
#define STEP_MIN_S 1e-3 /* until the step time is known */
#define LATE_MAX_NS (1 * NS_PER_S)
#define SHORT_NS (NS_PER_S / 5) /* others as short may be missed */
#define STALL_MIN_NS (4 * POLL_MAX_NS)
#define STALL_RATIO 3
#define EXHAUSTED_RATIO 10
#define STALL_MAX_NS (10 * NS_PER_S)

bool stacks_steps_is_elsewhere(const struct stacks_steps *steps) { return steps->is_elsewhere; }

/* -- from counts to events -- */

static void add(struct stacks_steps *steps, enum record_kind kind, int64_t time_ns, uint64_t index)
{
	if (steps->event_count == steps->event_room) {
		size_t room = steps->event_room ? 2 * steps->event_room : 64;
		struct event *longer = realloc(steps->events, room * sizeof *longer);
		if (!longer)
			return;
		steps->events = longer;
		steps->event_room = room;
	}
	steps->event_ns = time_ns > steps->event_ns ? time_ns : steps->event_ns;
	steps->events[steps->event_count++] = (struct event){ kind, steps->event_ns, index, steps->number, steps->mode,
		steps->state.epoch_index, (double)NAN, steps->is_numbered };
}

/* NAN: none was read in this batch. */
static double loss_of(const struct stacks_steps *steps, int64_t begin_ns, int64_t end_ns)
{
	for (size_t i = 1; i <= STEPS_LOSSES_MAX && i <= steps->loss_count; i++) {
		size_t at = (steps->loss_count - i) % STEPS_LOSSES_MAX;
		if (steps->losses[at].read_ns > begin_ns && steps->losses[at].read_ns <= end_ns)
			return steps->losses[at].value;
	}
	return (double)NAN;
}

void stacks_steps_note_loss(struct stacks_steps *steps, double loss, int64_t read_ns)
{
	size_t last = (steps->loss_count - 1) % STEPS_LOSSES_MAX;
	if (isnan(loss) ||
		(steps->loss_count && !(loss < steps->losses[last].value) && !(loss > steps->losses[last].value)))
		return;
	last = steps->loss_count++ % STEPS_LOSSES_MAX;
	steps->losses[last].value = loss;
	steps->losses[last].read_ns = read_ns;
}

static void end_batch(struct stacks_steps *steps, int64_t time_ns)
{
	if (!steps->state.in_batch)
		return;
	size_t at = steps->event_count;
	add(steps, RECORD_BATCH_END, time_ns, steps->state.batch_index);
	if (steps->mode == MODE_TRAIN && steps->event_count > at)
		steps->events[at].loss = loss_of(steps, steps->state.batch_begin_ns, steps->event_ns);
	steps->counted[steps->mode]++;
	steps->number++;
	steps->state.in_batch = false;
	steps->state.batches_in_epoch += steps->mode == MODE_TRAIN;
	steps->current = 0;
}

static void set_mode(struct stacks_steps *steps, enum mode mode, int64_t time_ns)
{
	if (steps->mode == mode)
		return;
	steps->mode = mode;
	steps->state.mode = mode;
	add(steps, RECORD_MODE, time_ns, 0);
}

/* `was_none`: what began was no epoch. */
static void end_epoch_or_none(struct stacks_steps *steps, bool was_none, int64_t time_ns)
{
	if (!steps->state.in_epoch)
		return;
	/* A batch of validation may be in progress. */
	if (!steps->state.in_batch)
		set_mode(steps, MODE_TRAIN, time_ns);
	size_t at = steps->event_count;
	add(steps, RECORD_EPOCH_END, time_ns, 0);
	if (steps->event_count > at)
		steps->events[at].is_numbered &= !was_none;
	steps->state.in_epoch = false;
}

static void end_epoch(struct stacks_steps *steps, int64_t time_ns) { end_epoch_or_none(steps, false, time_ns); }

/* The number of an epoch (1 = the first) is known now, which would have been `numbered`: what waits for its output gets
 * the numbers that lead to it. */
static void renumber(struct stacks_steps *steps, uint64_t numbered, uint64_t number)
{
	bool is_awaiting = steps->epoch_until_ns && !steps->is_emitted;
	if (number == 0 || number > UINT32_MAX || !is_awaiting)
		return;
	steps->epoch_until_ns = 0;
	if (number < numbered)
		return;
	uint32_t later = (uint32_t)(number - numbered);
	for (size_t i = 0; i < steps->event_count; i++) {
		steps->events[i].epoch += later;
		steps->events[i].is_numbered = true;
	}
	steps->is_numbered = steps->emitted.is_numbered = true;
	steps->state.epoch_index += later;
	steps->state.epochs_begun += later;
	steps->emitted.index += later;
	steps->next_index += later;
}

static bool is_of_no_epoch(const struct stacks_steps *steps, const struct epoch *epoch)
{
	return epoch->is_alone && epoch->number == 0 && steps->state.epochs_begun == 0;
}

/* The length of the loop is that of the run, unless it is executed again. */
static void begin_alone(struct stacks_steps *steps, struct epoch *epoch, int64_t time_ns)
{
	end_batch(steps, time_ns);
	set_mode(steps, MODE_TRAIN, time_ns);
	epoch->is_further = steps->has_alone;
	steps->has_alone = true;
	steps->state.batches_per_epoch = epoch->is_further ? 0 : epoch->length;
	steps->state.samples_per_batch = epoch->batch_size;
}

static void begin_epoch(struct stacks_steps *steps, struct epoch *epoch, int64_t time_ns)
{
	if (epoch->is_begun)
		return;
	epoch->is_begun = true;
	if (epoch->mode != MODE_TRAIN)
		return;
	if (is_of_no_epoch(steps, epoch)) {
		begin_alone(steps, epoch, time_ns);
		return;
	}
	end_batch(steps, time_ns);
	if (epoch->key && steps->state.in_epoch && epoch->key == steps->epoch_key) {
		epoch->is_further = true;
		steps->state.batches_per_epoch = 0; /* of the whole epoch, whose passes are several */
		return;
	}
	end_epoch(steps, time_ns);
	set_mode(steps, MODE_TRAIN, time_ns);
	steps->epoch_key = epoch->key;
	renumber(steps, steps->next_index + 1, epoch->number);
	bool is_known = epoch->number > 0 && epoch->number < EPOCH_UNKNOWN;
	steps->restarts |= is_known && steps->is_numbered && epoch->number <= steps->next_index;
	steps->is_numbered |= is_known || (epoch->is_first && steps->state.epochs_begun == 0);
	bool is_beyond = steps->state.epochs_planned > 0 && steps->next_index >= steps->state.epochs_planned;
	if (!is_known && (is_beyond || steps->restarts))
		steps->is_numbered = false;
	/* pmtop started in a later epoch, missed one, or took a pass of validation for one */
	steps->state.epoch_index = is_known ? (uint32_t)epoch->number - 1 : steps->next_index;
	steps->next_index = steps->state.epoch_index + 1;
	steps->state.epochs_begun++;
	if (steps->state.epochs_begun < steps->next_index)
		steps->state.epochs_begun = steps->next_index;
	steps->state.in_epoch = true;
	steps->state.epoch_begin_ns = time_ns;
	steps->state.batches_in_epoch = 0;
	steps->state.batches_per_epoch = epoch->length;
	steps->state.samples_per_batch = epoch->batch_size;
	/* An epoch whose loop was not read yet is another one of the same loop. */
	if (is_known || !steps->is_numbered)
		steps->state.epochs_planned = epoch->count <= UINT32_MAX ? (uint32_t)epoch->count : 0;
	add(steps, RECORD_EPOCH_BEGIN, time_ns, 0);
}

/* The loader delivers batch `index` of the epoch. */
static void begin_batch(struct stacks_steps *steps, struct epoch *epoch, uint64_t index, int64_t time_ns)
{
	end_batch(steps, time_ns);
	set_mode(steps, epoch->mode, time_ns);
	add(steps, RECORD_BATCH_BEGIN, time_ns, index);
	steps->state.in_batch = true;
	steps->state.batch_index = index;
	steps->state.batch_begin_ns = time_ns;
	steps->current = epoch->serial;
}

/* An epoch is found after it began: estimates its begin from the batches so far and the step time, if plausible. */
static int64_t estimate_begin_ns(const struct stacks_steps *steps, enum mode mode, uint64_t yielded, int64_t now_ns)
{
	double step_s = steps->paces[mode].step_s, baseline_ns = (double)yielded * step_s * (double)NS_PER_S;
	int64_t since_event_ns = now_ns - steps->event_ns;
	bool is_close = steps->event_ns > 0 && since_event_ns < LATE_MAX_NS;
	if (isnan(step_s))
		return is_close ? steps->event_ns : now_ns - POLL_MIN_NS;
	return baseline_ns < (double)since_event_ns ? now_ns - (int64_t)baseline_ns : steps->event_ns;
}

/* Of its batches before pmtop's start, which include the current one, whose duration is unknown. */
static void join_epoch(struct stacks_steps *steps, struct epoch *epoch, int64_t now_ns)
{
	begin_epoch(steps, epoch, now_ns);
	steps->number += epoch->joined;
	steps->counted[epoch->mode] += epoch->joined;
	steps->state.batches_in_epoch += epoch->mode == MODE_TRAIN ? epoch->joined : 0;
	steps->emitted = (struct emitted_epoch){ .is_open = steps->state.in_epoch,
		.is_numbered = steps->is_numbered,
		.index = steps->state.epoch_index,
		.begin_ns = now_ns,
		.batches = steps->state.batches_in_epoch };
}

static bool is_only_joined(const struct stacks_steps *steps, const struct epoch *epoch)
{
	return epoch->joined > 0 && epoch->emitted == epoch->joined && !steps->is_emitted;
}

static void unjoin_epoch(struct stacks_steps *steps, struct epoch *epoch)
{
	steps->number -= epoch->joined, steps->counted[epoch->mode] -= epoch->joined;
	steps->emitted = (struct emitted_epoch){ 0 };
	if (epoch->mode == MODE_TRAIN) {
		steps->state = (struct run_state){ .mode = MODE_TRAIN, .loss = (double)NAN };
		steps->event_count = 0;
		steps->next_index = 0;
		steps->is_numbered = false;
	}
	epoch->is_begun = false;
}

/* What it does becomes known before any of it was emitted. */
static void rejoin_epoch(struct stacks_steps *steps, struct epoch *epoch, enum mode mode, int64_t now_ns)
{
	if (mode == epoch->mode)
		return;
	unjoin_epoch(steps, epoch);
	epoch->mode = mode;
	join_epoch(steps, epoch, now_ns);
}

static struct epoch *find_epoch(
	struct stacks_steps *steps, const struct py_counted *counted, const char *text, int64_t now_ns)
{
	for (size_t i = 0; i < steps->epoch_count; i++)
		if (steps->epochs[i].serial == counted->serial)
			return &steps->epochs[i];
	if (steps->epoch_count == STEPS_EPOCHS_MAX)
		return NULL;
	struct epoch *epoch = &steps->epochs[steps->epoch_count++];
	*epoch = (struct epoch){ .serial = counted->serial,
		.since_ns = now_ns,
		.read_ns = counted->read_ns,
		.emitted = counted->base,
		.base = counted->base,
		.yielded = counted->base,
		.yielded_ns = now_ns,
		.length = counted->length,
		.batch_size = counted->batch_size,
		.number = counted->epoch,
		.count = counted->epochs,
		.is_first = counted->is_first,
		.is_alone = counted->is_alone,
		.key = counted->epoch_key };
	stacks_steps_find_mode(steps, counted, text, now_ns, now_ns, &epoch->mode);
	epoch->emitted_ns = estimate_begin_ns(steps, epoch->mode, counted->yielded - counted->base, now_ns);
	/* pmtop started in the middle of this epoch: earlier batches are counted, without times. */
	bool is_first = !steps->is_emitted && steps->event_count == 0;
	if (is_first)
		steps->number += counted->before, steps->counted[MODE_TRAIN] += counted->before;
	if (is_first && counted->yielded > 1 && counted->yielded > counted->base) {
		epoch->joined = epoch->emitted = epoch->yielded = counted->yielded;
		epoch->emitted_ns = epoch->yielded_ns = now_ns;
		join_epoch(steps, epoch, now_ns);
	}
	return epoch;
}

/* The end of an epoch is detected when the next one may have begun: estimates the end from the last batches and the
 * step time, if plausible. Time after the loop is not part of them; nor, then, is a slow last batch. */
static int64_t estimate_end_ns(const struct stacks_steps *steps, const struct epoch *epoch, int64_t now_ns)
{
	double baseline_ns =
		(double)(epoch->yielded - epoch->emitted + 1) * steps->paces[epoch->mode].step_s * (double)NS_PER_S;
	bool can_be = steps->current == epoch->serial && baseline_ns < (double)(now_ns - epoch->emitted_ns);
	return can_be ? epoch->emitted_ns + (int64_t)baseline_ns : now_ns;
}

/* Whether that many batches fit between the last poll and now: one that was killed while it hung has done none since.
 * If nothing but an exception can have ended the loop earlier, they may also have been far faster than those before.
 */
static bool could_be_missed(
	const struct stacks_steps *steps, const struct epoch *epoch, uint64_t count, bool is_exhausted, int64_t now_ns)
{
	double step_s = steps->paces[epoch->mode].step_s;
	step_s = isnan(step_s) ? STEP_MIN_S : step_s;
	double max = (double)(now_ns - epoch->read_ns) * 1e-9 / step_s;
	return (double)count <= (is_exhausted ? EXHAUSTED_RATIO * (max + 1) : 2 * max + 2);
}

static void drop_epoch(struct stacks_steps *steps, struct epoch *epoch, int64_t end_ns)
{
	if (steps->current == epoch->serial)
		end_batch(steps, end_ns);
	/* With a key the epoch may have further passes: it ends when the next one begins. */
	if (epoch->mode == MODE_TRAIN && epoch->is_begun && !epoch->key)
		end_epoch(steps, end_ns);
	*epoch = steps->epochs[--steps->epoch_count];
}

static bool is_fast(const struct stacks_steps *steps, enum mode mode)
{
	return steps->paces[mode].step_s * (double)NS_PER_S < POLLS_SINGLE * (double)POLL_MIN_NS;
}

/* Short steps are known only by their mean, which needs few polls. */
static int64_t poll_ns(const struct stacks_steps *steps)
{
	double wanted_ns = steps->paces[steps->mode].step_s / POLLS_WANTED * (double)NS_PER_S;
	bool is_short = is_fast(steps, steps->mode);
	if (isnan(wanted_ns) || (is_short && steps->what.is_at_least))
		return POLL_MIN_NS;
	if (is_short || wanted_ns > (double)POLL_MAX_NS)
		return POLL_MAX_NS;
	return wanted_ns > (double)POLL_MIN_NS ? (int64_t)wanted_ns : POLL_MIN_NS;
}

/* Whether the batch in progress takes far longer than the others. */
static bool is_stalled(const struct stacks_steps *steps, enum mode mode, int64_t passed_ns)
{
	return (double)passed_ns >= STALL_RATIO * steps->paces[mode].step_s * (double)NS_PER_S && passed_ns >= STALL_MIN_NS;
}

/* A slow step must not make the next ones look fast, but if all become slow the average follows. The first step, which
 * often takes far longer than all others, is forgotten at once. */
static void note_step(struct pace *pace, double step_s)
{
	bool is_first = pace->noted < NOTED_FIRST && step_s < pace->step_s / 2;
	pace->noted += pace->noted < NOTED_FIRST;
	if (isnan(pace->step_s) || is_first)
		pace->step_s = step_s;
	else
		pace->step_s += (fmin(step_s, 2 * pace->step_s) - pace->step_s) / 8;
}

/* Emits the new batches evenly spaced since the last emitted one; after a stall, the first of them was the slow one and
 * the others took as long as usual. If the epoch is over the last batch ended at until_ns, otherwise it begins there.
 */
static void emit_batches(struct stacks_steps *steps, struct epoch *epoch, bool is_over, int64_t until_ns)
{
	uint64_t count = epoch->yielded - epoch->emitted;
	bool is_alone = epoch->emitted_ns >= steps->event_ns;
	int64_t from_ns = is_alone ? epoch->emitted_ns : steps->event_ns;
	from_ns = from_ns < until_ns ? from_ns : until_ns;
	struct pace *pace = &steps->paces[epoch->mode];
	double usual_ns = pace->step_s * (double)NS_PER_S;
	double whole_ns = (double)(until_ns - from_ns), each_ns = whole_ns / (double)(count + is_over), first_ns = each_ns,
		   slow_ns = whole_ns - usual_ns * (double)(count - 1 + is_over);
	bool is_slow = is_alone && is_fast(steps, epoch->mode) && slow_ns >= whole_ns / 2 &&
		is_stalled(steps, epoch->mode, epoch->gap_ns);
	if (is_slow) {
		first_ns = slow_ns;
		each_ns = usual_ns;
	}
	begin_epoch(steps, epoch, from_ns);
	for (uint64_t i = 0; i < count; i++)
		begin_batch(steps, epoch, epoch->emitted++, from_ns + (int64_t)(first_ns + each_ns * (double)i));
	if (is_alone && epoch->emitted > count)
		note_step(pace, is_slow ? first_ns * 1e-9 : each_ns * 1e-9);
	epoch->emitted_ns = until_ns;
}

/* Batches that the last polls may have missed are emitted too. */
static void finish_epoch(struct stacks_steps *steps, struct epoch *epoch, bool is_exhausted, int64_t now_ns)
{
	/* Iterators with workers begin twice: the first never yields. */
	if (epoch->yielded > epoch->base && epoch->yielded < epoch->length &&
		could_be_missed(steps, epoch, epoch->length - epoch->yielded, is_exhausted, now_ns))
		epoch->yielded = epoch->length;
	/* `break` may have ended it after batches that no poll saw. */
	bool is_cut = epoch->yielded > epoch->base && epoch->yielded < epoch->length;
	bool is_short = epoch->yielded > 0 && (!epoch->length || now_ns - epoch->since_ns < SHORT_NS);
	if (!steps->is_at_least && (is_short || is_cut))
		steps->is_at_least = steps->has_new_what = true;
	int64_t end_ns = estimate_end_ns(steps, epoch, now_ns);
	if (epoch->yielded > epoch->emitted)
		emit_batches(steps, epoch, true, end_ns);
	drop_epoch(steps, epoch, end_ns);
}

static void leave_out(struct stacks_steps *steps, struct epoch *epoch, int64_t now_ns)
{
	steps->has_new_what |= !steps->is_at_least;
	steps->is_at_least = true;
	if (is_only_joined(steps, epoch))
		unjoin_epoch(steps, epoch);
	drop_epoch(steps, epoch, now_ns);
}

/* Samples contradict the words by which its mode was taken. What was emitted stays so, but its epoch is none: the next
 * one gets its number. */
static void revise(struct stacks_steps *steps, struct epoch *epoch, const struct py_counted *counted, int64_t now_ns)
{
	enum mode mode = counted->evaluates ? MODE_VALIDATION : MODE_TRAIN;
	if ((!counted->trains && !counted->evaluates) || mode == epoch->mode)
		return;
	if (steps->current == epoch->serial)
		end_batch(steps, epoch->emitted_ns > steps->event_ns ? epoch->emitted_ns : now_ns);
	if (mode == MODE_VALIDATION && steps->state.in_epoch && !epoch->key) {
		end_epoch_or_none(steps, true, now_ns);
		steps->state.epochs_begun -= steps->state.epochs_begun > 0;
		steps->next_index -= steps->next_index > 0;
		steps->state.epoch_index -= steps->state.epoch_index > 0;
	}
	epoch->mode = mode;
	epoch->is_begun = false;
	stacks_steps_remember_loader(steps, counted->sampler, mode);
}

/* False: wait. */
static bool take_mode(
	struct stacks_steps *steps, struct epoch *epoch, const struct py_counted *counted, const char *text, int64_t now_ns)
{
	enum mode mode = epoch->mode;
	if (!is_only_joined(steps, epoch) && epoch->emitted > epoch->base) {
		revise(steps, epoch, counted, now_ns);
		return true;
	}
	bool is_known = stacks_steps_find_mode(steps, counted, text, epoch->since_ns, now_ns, &mode);
	if (is_only_joined(steps, epoch))
		rejoin_epoch(steps, epoch, mode, now_ns);
	epoch->mode = mode;
	return is_known;
}

/* It may become known during the epoch, by what ends its loop. */
static void take_length(struct stacks_steps *steps, struct epoch *epoch, uint64_t length)
{
	epoch->length = length;
	bool is_current = steps->state.in_epoch || is_of_no_epoch(steps, epoch);
	if (epoch->is_begun && !epoch->is_further && epoch->mode == MODE_TRAIN && is_current &&
		!steps->state.batches_per_epoch)
		steps->state.batches_per_epoch = length;
}

static void take_one(struct stacks_steps *steps, const struct py_counted *counted, const char *text, int64_t now_ns)
{
	struct epoch *epoch = find_epoch(steps, counted, text, now_ns);
	if (!epoch)
		return;
	if (!counted->is_over)
		epoch->read_ns = counted->read_ns;
	take_length(steps, epoch, counted->length);
	epoch->batch_size = counted->batch_size, epoch->is_undecided = counted->is_undecided;
	if (!epoch->is_begun)
		epoch->number = counted->epoch, epoch->count = counted->epochs, epoch->key = counted->epoch_key;
	else if (epoch->mode == MODE_TRAIN && steps->state.in_epoch && counted->epoch > 0 && steps->epoch_until_ns) {
		renumber(steps, steps->next_index, counted->epoch);
		steps->state.epochs_planned = counted->epochs <= UINT32_MAX ? (uint32_t)counted->epochs : 0;
	}
	bool is_known = take_mode(steps, epoch, counted, text, now_ns) && !(counted->awaits_epoch && !epoch->is_begun);
	if (counted->yielded > epoch->yielded) {
		epoch->yielded = counted->yielded;
		epoch->gap_ns = now_ns - epoch->yielded_ns;
		epoch->yielded_ns = now_ns;
	}
	if (is_known && is_fast(steps, epoch->mode) && counted->yielded == epoch->yielded &&
		is_stalled(steps, epoch->mode, now_ns - epoch->yielded_ns) && epoch->yielded > epoch->emitted)
		emit_batches(steps, epoch, false, epoch->yielded_ns);
	bool is_first = !is_fast(steps, epoch->mode) && (epoch->emitted == 0 || steps->current != epoch->serial),
		 is_long = epoch->yielded_ns - epoch->emitted_ns >= POLLS_A_STEP * poll_ns(steps);
	bool is_untold = epoch->emitted == epoch->base || is_only_joined(steps, epoch);
	if (counted->is_over && counted->is_unknown && is_untold)
		leave_out(steps, epoch, now_ns);
	else if (counted->is_over)
		finish_epoch(steps, epoch, counted->is_exhausted, now_ns);
	else if (is_known && epoch->yielded > epoch->emitted && (is_first || is_long))
		emit_batches(steps, epoch, false, epoch->yielded_ns);
}

void stacks_steps_take(struct stacks_steps *steps, const struct py_counted *counted, size_t count,
	const char *const *texts, int64_t now_ns)
{
	for (size_t i = 0; i < count && !steps->is_ended; i++)
		take_one(steps, &counted[i], texts[i], now_ns);
}

void stacks_steps_await_epoch(struct stacks_steps *steps, int64_t until_ns) { steps->epoch_until_ns = until_ns; }

/* Of training, as last polled, and the one in progress. */
static uint64_t count_polled(const struct stacks_steps *steps)
{
	uint64_t count = steps->counted[MODE_TRAIN] + (steps->state.in_batch && steps->mode == MODE_TRAIN);
	for (const struct epoch *epoch = steps->epochs; epoch < steps->epochs + steps->epoch_count; epoch++)
		if (epoch->mode == MODE_TRAIN && epoch->yielded > epoch->emitted)
			count += epoch->yielded - epoch->emitted;
	return count;
}

static bool is_near(uint64_t a, uint64_t b, uint64_t slack) { return a <= b + slack && b <= a + slack; }

void stacks_steps_note_whole(struct stacks_steps *steps, uint64_t done, uint64_t planned, uint64_t slack)
{
	uint64_t count = count_polled(steps);
	uint64_t before = done > count + slack ? done - count : 0, behind = count > done + slack ? count - done : 0;
	struct whole whole = { planned ? before : 0, planned ? planned + behind : 0 }, *now = &steps->whole;
	bool is_same = !now->planned == !planned && is_near(now->planned, whole.planned, slack) &&
		is_near(now->before, whole.before, slack);
	if (is_same)
		return;
	*now = whole;
	steps->has_new_what = true;
	snprintf(steps->steps_before, sizeof steps->steps_before, "%" PRIu64, whole.before);
	snprintf(steps->steps_planned, sizeof steps->steps_planned, "%" PRIu64, whole.planned);
}

double stacks_steps_step_s(const struct stacks_steps *steps) { return steps->paces[steps->mode].step_s; }

bool stacks_steps_is_stalled(const struct stacks_steps *steps, int64_t now_ns)
{
	int64_t newest_ns = 0;
	for (size_t i = 0; i < steps->epoch_count; i++)
		newest_ns = steps->epochs[i].yielded_ns > newest_ns ? steps->epochs[i].yielded_ns : newest_ns;
	return newest_ns > 0 && is_stalled(steps, steps->mode, now_ns - newest_ns) && now_ns - newest_ns < STALL_MAX_NS;
}

int64_t stacks_steps_next_ns(const struct stacks_steps *steps, int64_t now_ns) { return now_ns + poll_ns(steps); }

void stacks_steps_end(struct stacks_steps *steps, int64_t now_ns)
{
	if (steps->is_ended)
		return;
	while (steps->epoch_count > 0)
		finish_epoch(steps, &steps->epochs[0], false, now_ns);
	end_batch(steps, now_ns);
	end_epoch(steps, now_ns);
	steps->state.is_ended = true;
	steps->is_ended = true;
}
