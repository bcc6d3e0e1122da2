/* The pace of batches if the device runs asynchronously. A framework launches work and continues with the next batch.
 * From time to time it waits (the span "sync": a loss is read) for all work that is still queued. On the host's clock
 * nine batches are fast and the tenth is slow, although the device takes the same time for each. So a batch's pace is
 * the device's work for it, plus the time in which the device was idle, waiting for the host.
 *
 * The work is estimated by the baseline of gpu.batch_s, until the batch's own figure arrives, when the device has
 * finished it. The backlog (queued work) grows by each batch's work and shrinks by the time that the host spends; when
 * it is empty the device is idle: a stall. After a wait the total work since the last wait is known exactly, and
 * replaces the estimates. */
#include "src/model/run/steps/device_pace.h"

#include "src/model/run/figures/late_figures.h"
#include "src/model/run/run_private.h"

/* The launch queue is limited (1024 launches in CUDA): if the host never waits, the backlog is at most so many
 * batches. */
enum { BACKLOG_BATCHES_MAX = 16, DEVICE_FIGURES_MIN = 3 };

static void begin_stretch(struct track_private *priv)
{
	priv->pace_of_device = (struct device_pace){ .next_ordinal = priv->pace_of_device.next_ordinal };
}

static double waited_s(const struct run *run, const struct batch *batch)
{
	double seconds = 0;
	for (unsigned i = 0; i < batch->phase_count && run->priv->sync; i++)
		seconds += batch->phases[i].name == run->priv->sync ? (double)batch->phases[i].seconds : 0;
	return fmin(seconds, batch->step_s);
}

/* The batch's own figure, if it is known already (when the warm-up is judged again); else the baseline. */
static double work_of(const struct run *run, const struct batch *batch, double baseline_s)
{
	for (unsigned i = 0; i < batch->figure_count; i++)
		if (batch->figures[i].name == run->priv->device_batch)
			return (double)batch->figures[i].value;
	return baseline_s;
}

void device_pace_restart(struct track *track)
{
	track->priv->pace_of_device = (struct device_pace){ .next_ordinal = NO_ORDINAL };
}

void device_pace_take(const struct run *run, struct track *track, struct batch *batch)
{
	struct device_pace *pace = &track->priv->pace_of_device;
	const struct late_figure *work = run_late_figure(run, run->priv->device_batch, track->mode, NULL);
	bool follows = pace->next_ordinal == batch->ordinal;
	pace->next_ordinal = batch->ordinal + 1;
	if (!follows)
		begin_stretch(track->priv);
	if (!work || work->count < DEVICE_FIGURES_MIN || !(work->median > 0))
		return;
	double own_s = waited_s(run, batch), host_s = batch->step_s - own_s;
	double stall_s = fmax(host_s - pace->backlog_s - work->median, 0);
	pace->batches++;
	pace->seconds += batch->step_s - stall_s;
	batch->is_paced = true;
	batch->is_after_wait = pace->batches == 1;
	batch->stall_s = stall_s;
	batch->paced_s = work_of(run, batch, own_s > 0 ? pace->seconds / (double)pace->batches : work->median) + stall_s;
	if (own_s > 0)
		begin_stretch(track->priv);
	else
		pace->backlog_s = fmin(fmax(pace->backlog_s + work->median - host_s, 0), BACKLOG_BATCHES_MAX * work->median);
}

/* Does the device take longer than for other batches, by enough to make the step an outlier? */
static bool is_out_of_line(const struct run *run, const struct batch *batch, const struct late_figure *work,
	const struct rolling *window, double seconds)
{
	const struct model_options *options = &run->priv->options;
	return work->count >= options->flag_after && seconds > work->median + options->flag_mad * rolling_mad(window) &&
		seconds - work->median > (options->flag_ratio - 1) * batch->median_s;
}

bool device_pace_hear(const struct run *run, const struct track *track, struct batch *batch, double seconds)
{
	const struct rolling *window;
	const struct late_figure *work = run_late_figure(run, run->priv->device_batch, track->mode, &window);
	bool is_slow = work && is_out_of_line(run, batch, work, window, seconds);
	/* After a wait the device's queue was empty, so its time includes the first launches of the batch: ignore that
	 * difference. */
	if (batch->is_paced && (is_slow || !batch->is_after_wait))
		batch->paced_s = seconds + batch->stall_s;
	/* Judged: it has a baseline. */
	return batch->is_paced && !batch->is_flagged && !batch->is_by_hand && !isnan(batch->median_s) && is_slow;
}
