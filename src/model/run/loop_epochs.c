#include "src/model/run/loop_epochs.h"

#include <math.h>

#include "src/model/run/figures/epochs.h"
#include "src/model/run/run_private.h"

/* Passes and steps are read at different moments of a set, so they may differ by what happens in between. */
#define SLACK_STEPS 2
#define SLACK_RATIO 0.05
#define SLACK_S 0.2
#define PASSES_MIN 5

/* Since both were seen first. A loop over micro-batches passes more often than the optimizer steps. */
static bool agrees(const struct run *run, struct run *loop)
{
	struct beside *beside = &loop->priv->beside;
	const struct track *steps = run_main(run), *passes = run_main(loop);
	if (!beside->is_begun)
		*beside = (struct beside){ beside->pid, true, steps->count, passes->count };
	double passed = (double)passes->count - (double)beside->passes;
	double stepped = (double)steps->count - (double)beside->steps;
	double slack = SLACK_STEPS + SLACK_RATIO * passed + (isfinite(steps->rate_per_s) ? SLACK_S * steps->rate_per_s : 0);
	return passed >= PASSES_MIN && passed >= 2 * slack && fabs(passed - stepped) <= slack;
}

void run_take_loop_epochs(struct run *run, struct run *loop)
{
	struct run_state *state = &run->state;
	const struct run_state *counted = &loop->state;
	bool had = run->has_loop_epochs;
	bool has_length = loop->epoch_count > 0 || loop->state.batches_per_epoch > 0;
	run->has_loop_epochs = !run->priv->publishes_epochs && has_length && agrees(run, loop);
	if (!run->has_loop_epochs) {
		if (had && !run->priv->publishes_epochs)
			run_copy_epochs(run, NULL);
		return;
	}
	run_copy_epochs(run, loop);
	state->epochs_planned = counted->epochs_planned;
	state->batches_per_epoch = counted->batches_per_epoch;
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
