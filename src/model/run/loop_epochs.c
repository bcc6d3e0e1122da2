#include "src/model/run/loop_epochs.h"

#include <math.h>

#include "src/model/run/figures/epochs.h"
#include "src/model/run/records.h"
#include "src/model/run/run_private.h"

/* Passes and steps are read at different moments of a set, so they may differ by what happens in between. */
#define SLACK_STEPS 2
#define SLACK_RATIO 0.05
#define SLACK_S 0.2
#define PASSES_MIN 5
/* Published passes that begin at least twice as often as the loop's epochs are a part of those. The loop's number is
 * read later than they begin. */
#define PASSES_OF_EPOCH 2
#define PASSES_WITHIN 4
#define COUNTED_RATIO 0.5
/* Of a pass, in what is published and as read from outside; one with another number, after so many of them, is in
 * another epoch. */
#define SAME_BEGIN_S 0.1
#define SAME_BEGIN_RATIO 0.25
#define SURE_S 0.5
#define SURE_RATIO 4
#define OTHERS_MAX 3
/* The loop is mostly found within so long. */
#define AWAIT_NS (3 * NS_PER_S)

/* Since both were seen first. A loop over micro-batches passes more often than the optimizer steps. */
static bool agrees(const struct run *run, struct run *loop)
{
	struct beside *beside = &loop->priv->beside;
	const struct track *steps = run_main(run), *passes = run_main(loop);
	if (!beside->is_begun) {
		beside->is_begun = true;
		beside->steps = steps->count;
		beside->passes = passes->count;
	}
	double passed = (double)passes->count - (double)beside->passes;
	double stepped = (double)steps->count - (double)beside->steps;
	double slack = SLACK_STEPS + SLACK_RATIO * passed + (isfinite(steps->rate_per_s) ? SLACK_S * steps->rate_per_s : 0);
	return passed >= PASSES_MIN && passed >= 2 * slack && fabs(passed - stepped) <= slack;
}

/* Whether passes that are published as epochs lie within an epoch of the loop. */
static bool has_passes_within(const struct run *run, struct run *loop)
{
	struct within *since = &loop->priv->beside.within;
	const struct run_state *counted = &loop->state;
	const struct track *steps = run_main(run), *passes = run_main(loop);
	if (!since->is_begun || counted->epoch_index < since->epoch_index || run->state.epochs_begun < since->epochs_begun)
		*since = (struct within){ true, counted->epoch_index, run->state.epochs_begun, steps->count, passes->count };
	uint64_t begun = run->state.epochs_begun - since->epochs_begun, epochs = counted->epoch_index - since->epoch_index;
	return begun >= PASSES_WITHIN + PASSES_OF_EPOCH * epochs &&
		(double)(passes->count - since->passes) >= COUNTED_RATIO * (double)(steps->count - since->steps);
}

static double apart_s(int64_t a_ns, int64_t b_ns) { return ((double)a_ns - (double)b_ns) * 1e-9; }

/* Between the begin of a pass and those beside it. */
static double shortest_gap_s(const struct run *run, size_t at)
{
	const struct epoch *epoch = &run->epochs[at];
	bool is_last = at + 1 == run->epoch_count;
	double next_s = is_last ? epoch->total_s : apart_s(epoch[1].begin_ns, epoch->begin_ns);
	return at == 0 ? next_s : fmin(next_s, apart_s(epoch->begin_ns, epoch[-1].begin_ns));
}

/* pmtop may have found the loop within the pass. */
static bool is_at_same_batch(const struct run *run, const struct run_state *counted)
{
	double rate = run_main(run)->rate_per_s, slack = SLACK_STEPS + (isfinite(rate) ? 2 * SLACK_S * rate : 0);
	return run->state.in_epoch && counted->in_epoch && counted->batches_per_epoch > 0 &&
		counted->batches_per_epoch == run->state.batches_per_epoch &&
		(double)counted->batches_in_epoch > SURE_RATIO * slack &&
		fabs((double)counted->batches_in_epoch - (double)run->state.batches_in_epoch) <= slack;
}

/* The published one in which the loop is; NULL: that is unknown. is_sure: it is also not the one before or after it. */
static const struct epoch *find_pass(const struct run *run, const struct run_state *counted, bool *is_sure)
{
	for (size_t i = run->epoch_count; i-- > 0;) {
		const struct epoch *epoch = &run->epochs[i];
		double later_s = apart_s(counted->epoch_begin_ns, epoch->begin_ns), gap_s = shortest_gap_s(run, i);
		bool is_same = i + 1 == run->epoch_count && is_at_same_batch(run, counted);
		*is_sure = is_same || gap_s >= SURE_S;
		if (is_same || fabs(later_s) <= fmin(SAME_BEGIN_S, SAME_BEGIN_RATIO * gap_s))
			return epoch->mode == run_main(run)->mode ? epoch : NULL;
		if (later_s > 0)
			return NULL;
	}
	return NULL;
}

/* Of a pass whose number is that of the loop's epoch: how many there are may be read later than its number. */
static void take_planned(struct run *run, const struct run_state *counted)
{
	run->priv->loop_planned = counted->epochs_planned > counted->epoch_index ? counted->epochs_planned : 0;
	if (!run->state.epochs_planned)
		run->state.epochs_planned = run->priv->loop_planned;
}

/* False: passes have other numbers than the loop's epochs. */
static bool take_number(struct run *run, struct run *loop)
{
	const struct run_state *counted = &loop->state;
	struct matched *matched = &loop->priv->beside.matched;
	bool is_sure, is_matched = counted->epoch_begin_ns == matched->begin_ns;
	if (is_matched && matched->others == 0)
		take_planned(run, counted);
	const struct epoch *pass = is_matched ? NULL : find_pass(run, counted, &is_sure);
	/* A pass that has just begun may be so short that the loop is in the next one. */
	if (!pass || (!is_sure && !pass->end_ns))
		return true;
	uint32_t number = run_published_number(run, pass->ordinal), loops = counted->epoch_index + 1;
	if (is_sure && loops > number && !matched->is_sure) {
		run_shift_epochs(run, loops - number);
		loop->priv->beside.within.is_begun = false;
		number = loops;
	}
	run->priv->await_until_ns = INT64_MIN;
	matched->is_sure |= is_sure;
	matched->begin_ns = counted->epoch_begin_ns;
	matched->others = loops == number ? 0 : matched->others + 1;
	run->priv->is_number_doubtful = matched->others > 0;
	run->priv->loop_planned = 0;
	if (loops == number)
		take_planned(run, counted);
	return matched->others < OTHERS_MAX;
}

static void take_numbers(struct run *run, struct run *loop)
{
	const struct run_state *counted = &loop->state;
	if (counted->epochs_begun == 0 || counted->epoch_index == EPOCH_UNKNOWN)
		return;
	if (take_number(run, loop) && !has_passes_within(run, loop))
		return;
	run->priv->are_passes_withdrawn = true;
	run_withdraw_epochs(run);
}

void run_await_loop_epochs(struct run *run, bool is_sampled, int64_t now_ns)
{
	struct run_private *priv = run->priv;
	bool may_wait = is_sampled && run->is_live && priv->publishes_epochs && run_meta(run, "epochs_are_passes");
	if (may_wait && !priv->await_until_ns)
		priv->await_until_ns = now_ns + AWAIT_NS;
	priv->awaits_number = may_wait && (now_ns < priv->await_until_ns || priv->is_number_doubtful);
}

/* Without epochs: a loop that began before the steps, or goes on without them ("if step > learning_starts: update()"),
 * has passes that are no steps. Its length is then not theirs. */
static bool has_other_passes(const struct run *run, struct run *loop)
{
	double rate = run_main(run)->rate_per_s, slack = SLACK_STEPS + (isfinite(rate) ? SLACK_S * rate : 0);
	double apart = (double)loop->state.batches_in_epoch - (double)run_main(run)->count;
	loop->priv->beside.has_others |= loop->epoch_count == 0 && fabs(apart) > slack;
	return loop->priv->beside.has_others;
}

void run_take_loop_epochs(struct run *run, struct run *loop)
{
	if (run->priv->publishes_epochs && run_meta(run, "epochs_are_passes"))
		take_numbers(run, loop);
	struct run_state *state = &run->state;
	const struct run_state *counted = &loop->state;
	bool had = run->has_loop_epochs;
	bool has_length = loop->epoch_count > 0 || loop->state.batches_per_epoch > 0, agree = agrees(run, loop);
	run->has_loop_epochs = !run->priv->publishes_epochs && has_length && agree;
	/* "for step in range(100000):" around passes over a DataLoader. */
	uint64_t before;
	bool has_whole = loop->epoch_count == 0 || run_whole(loop, &before) > 0;
	if (run->priv->publishes_epochs && !run->state.epochs_planned && has_whole && agree) {
		run->run_done_ratio = loop->run_done_ratio;
		run->run_eta_s = loop->run_eta_s;
	}
	if (!run->has_loop_epochs) {
		if (had && !run->priv->publishes_epochs)
			run_copy_epochs(run, NULL);
		return;
	}
	run_copy_epochs(run, loop);
	state->epochs_planned = counted->epochs_planned;
	state->batches_per_epoch = has_other_passes(run, loop) ? 0 : counted->batches_per_epoch;
	run->epoch_length = loop->epoch_length;
	state->in_epoch = counted->in_epoch;
	state->epoch_index = counted->epoch_index;
	state->epochs_begun = counted->epochs_begun;
	state->epoch_begin_ns = counted->epoch_begin_ns;
	state->batches_in_epoch = counted->batches_in_epoch;
	run->epoch_done_ratio = loop->epoch_done_ratio;
	run->epoch_eta_s = loop->epoch_eta_s;
	run->run_done_ratio = loop->run_done_ratio;
	run->run_eta_s = loop->run_eta_s;
}
