/* Progress and remaining time of the run.
 *
 * Epoch: the batches that are still to come, at the mean of the last 200 steps, and what the epochs before took beyond
 * their steps (validation, checkpoints) less what this one has taken already. How many batches: the plan's, or the
 * epoch's before; also if that one ended before its plan did, as with a `break`. Run: this epoch's rest, then the
 * epochs to come at the mean of the last ten epochs, begin to begin; while none is complete, at this one's expected
 * length. Epochs of other modes do not count. */
#include "src/model/run/eta.h"

#include "src/model/run/run_private.h"

/* The last batches of an epoch that a `break` ends may not be seen. */
enum { EPOCHS_RECENT = 10, MISSED_MAX = 2 };

/* Means over completed epochs of the main mode. */
struct past {
	unsigned lengths, epochs;
	double length_s;        /* mean, begin to begin */
	double beyond_steps_s;  /* mean time within an epoch that is no step */
	double pause_s;         /* mean, from end to the next begin */
	uint64_t batches;       /* of the latest */
	uint64_t cut;           /* most batches of the latest ones that all ended before their plan did; 0 = none did */
	bool is_whole;          /* one before did not */
	uint32_t others_before; /* number of retained epochs of other modes */
};

static double between_times(int64_t from_ns, int64_t to_ns)
{
	return to_ns > from_ns ? ((double)to_ns - (double)from_ns) * 1e-9 : 0;
}

/* The time of an epoch that is no step. Its row has batch times, which are scaled by the run's ratio of step to batch
 * time. */
static double beyond_steps(const struct run *run, const struct epoch *epoch)
{
	const struct track *track = run_main(run);
	double step_to_batch =
		track->batch.mean_s > 0 && isfinite(track->step.mean_s) ? track->step.mean_s / track->batch.mean_s : 1;
	double steps_s =
		epoch->batches && isfinite(epoch->mean_s) ? epoch->mean_s * (double)epoch->batches * step_to_batch : 0;
	return fmax(epoch->total_s - steps_s, 0);
}

static void add_past_epoch(
	const struct run *run, const struct epoch *epoch, const struct epoch *next, struct past *past)
{
	if (past->batches == 0)
		past->batches = epoch->batches;
	/* When pmtop joined the run in this epoch, it had begun before. */
	if (isnan(epoch->total_s))
		return;
	past->epochs++;
	past->is_whole |= epoch->planned != run->state.batches_per_epoch || epoch->batches + MISSED_MAX >= epoch->planned;
	if (!past->is_whole && epoch->batches > past->cut)
		past->cut = epoch->batches;
	past->beyond_steps_s += beyond_steps(run, epoch);
	if (!next)
		return;
	past->lengths++;
	past->length_s += between_times(epoch->begin_ns, next->begin_ns);
	past->pause_s += between_times(epoch->end_ns, next->begin_ns);
}

static struct past read_back(const struct run *run, uint32_t mode)
{
	struct past past = { 0 };
	const struct epoch *next = NULL;
	for (size_t i = run->epoch_count; i-- > 0;) {
		const struct epoch *epoch = &run->epochs[i];
		past.others_before += epoch->mode != mode;
		if (epoch->mode != mode)
			continue;
		if (epoch->end_ns && past.epochs < EPOCHS_RECENT)
			add_past_epoch(run, epoch, next, &past);
		next = epoch;
	}
	if (past.epochs)
		past.beyond_steps_s /= past.epochs;
	if (past.lengths) {
		past.length_s /= past.lengths;
		past.pause_s /= past.lengths;
	}
	return past;
}

/* The running epoch of the main mode; NULL: none. */
static const struct epoch *running_epoch(const struct run *run, uint32_t mode)
{
	const struct epoch *epoch = run->epoch_count ? &run->epochs[run->epoch_count - 1] : NULL;
	return epoch && epoch->end_ns == 0 && epoch->mode == mode ? epoch : NULL;
}

/* The mean of the last 200 steps, without the warm-up. */
static double baseline_step(const struct run *run)
{
	const struct track *track = run_main(run);
	return track->judged.count > 0 && track->judged.count < RUN_RECENT ? track->judged.mean_s : track->recent.mean_s;
}

static void refresh_epoch(struct run *run, const struct epoch *epoch, const struct past *past)
{
	/* Counts that are lower bounds say nothing about the length of an epoch. */
	uint64_t before = run_inferred(run).is_at_least ? 0 : past->batches;
	uint64_t planned = run->epoch_length || past->cut ? run->epoch_length : before;
	if (planned == 0 || epoch->batches > planned)
		return;
	run->epoch_done_ratio = (double)epoch->batches / (double)planned;
	double step_s = baseline_step(run);
	if (isnan(step_s) || run->priv->closed_ns)
		return;
	double beyond_s = fmax(past->beyond_steps_s - beyond_steps(run, epoch), 0);
	run->epoch_eta_s = (double)(planned - epoch->batches) * step_s + beyond_s;
}

/* For batches outside of epochs with a planned number. */
static void refresh_without_epochs(struct run *run)
{
	const struct run_state *state = &run->state;
	double planned = (double)state->batches_per_epoch * (state->epochs_planned ? (double)state->epochs_planned : 1);
	const struct track *track = run_main(run);
	if (planned <= 0 || (double)track->count > planned)
		return;
	run->run_done_ratio = (double)track->count / planned;
	if (!run->priv->closed_ns)
		run->run_eta_s = (planned - (double)track->count) * baseline_step(run);
}

/* The length of the latest epoch, which may still run. */
static double expected_s(const struct run *run, const struct epoch *last)
{
	double so_far_s = isnan(last->total_s) ? (double)last->batches * baseline_step(run) : last->total_s;
	return so_far_s + (last->end_ns ? 0 : run->epoch_eta_s);
}

/* What counts the steps of all epochs to an end: it ends the run, if its epochs do not end it before. */
static void refresh_whole(struct run *run)
{
	uint64_t before, planned = run_whole(run, &before), done = before + run_main(run)->count;
	if (!planned || done > planned)
		return;
	double eta_s = (double)(planned - done) * baseline_step(run);
	if (run->run_eta_s <= eta_s)
		return;
	run->run_done_ratio = (double)done / (double)planned;
	run->run_eta_s = run->priv->closed_ns ? NAN : eta_s;
}

static void refresh_epochs(struct run *run, int64_t now_ns)
{
	uint32_t mode = run_main(run)->mode;
	struct past past = read_back(run, mode);
	const struct epoch *last = &run->epochs[run->epoch_count - 1], *epoch = running_epoch(run, mode);
	if (past.cut)
		run->epoch_length = epoch && epoch->batches > past.cut ? 0 : past.cut;
	if (epoch)
		refresh_epoch(run, epoch, &past);
	double begun =
		run->is_counted ? (double)run_epoch_number(run, last->ordinal) : (double)last->ordinal - past.others_before;
	double planned = run->state.epochs_planned;
	double complete = begun - (epoch != NULL);
	if (planned <= 0 || begun > planned || complete < 0 || (epoch && isnan(run->epoch_done_ratio) && complete == 0))
		return;
	run->run_done_ratio = (complete + (epoch && isfinite(run->epoch_done_ratio) ? run->epoch_done_ratio : 0)) / planned;
	double to_come = planned - begun, length_s = past.lengths ? past.length_s : expected_s(run, last);
	if (run->priv->closed_ns)
		return;
	/* Each length includes the pause before the next epoch. Between epochs, subtract the part of the pause that is
	 * over. */
	double over_s = epoch ? 0 : fmin(past.pause_s, between_times(last->end_ns, now_ns));
	run->run_eta_s = (epoch ? run->epoch_eta_s : 0) + (to_come > 0 ? to_come * length_s - over_s : 0);
}

void run_refresh_eta(struct run *run, int64_t now_ns)
{
	run->epoch_done_ratio = run->epoch_eta_s = run->run_done_ratio = run->run_eta_s = NAN;
	run->epoch_length = run->state.batches_per_epoch;
	if (run->epoch_count == 0)
		refresh_without_epochs(run);
	else
		refresh_epochs(run, now_ns);
	refresh_whole(run);
}
