/* How fast batches go where a device works behind the host. A framework launches work and goes on to the next batch;
 * now and then it waits (the span "sync": a loss is read), and then for all that is still to be done. By the host's
 * clock nine batches are fast and the tenth is slow, while the device takes the same for each. So a batch's pace is
 * what the device works for it, and how long the host kept the device waiting.
 *
 * Known from the figure gpu.batch_s of batches before (it is told when the device has come so far, and then puts right
 * what was taken for usual). What is left to be done, the backlog, grows by a batch's work and shrinks by the time that
 * the host spends; beyond it the device idles: a stall. Where the host has waited for all, what the work since the last
 * wait took is known exactly, whatever was thought of each. */
#include "src/model/run/device_pace.h"

#include "src/model/run/late_figures.h"
#include "src/model/run/run_private.h"

/* A queue of launches is not endless (1024 of them in CUDA): where a host never waits, the backlog is not more than so
 * many batches. */
enum { BACKLOG_BATCHES_MAX = 16, DEVICE_FIGURES_MIN = 3 };

static void begin_stretch(struct track_private *private)
{
	private->pace_of_device = (struct device_pace){ .next_ordinal = private->pace_of_device.next_ordinal };
}

static double waited_s(const struct run *run, const struct batch *batch)
{
	double seconds = 0;
	for (unsigned i = 0; i < batch->phase_count && run->private->sync; i++)
		seconds += batch->phases[i].name == run->private->sync ? (double)batch->phases[i].seconds : 0;
	return fmin(seconds, batch->step_s);
}

/* What is known of this very batch already, when the warm-up is gone through again; else what is usual. */
static double work_of(const struct run *run, const struct batch *batch, double baseline_s)
{
	for (unsigned i = 0; i < batch->figure_count; i++)
		if (batch->figures[i].name == run->private->device_batch)
			return (double)batch->figures[i].value;
	return baseline_s;
}

void device_pace_restart(struct track *track)
{
	track->private->pace_of_device = (struct device_pace){ .next_ordinal = NO_ORDINAL };
}

void device_pace_take(const struct run *run, struct track *track, struct batch *batch)
{
	struct device_pace *pace = &track->private->pace_of_device;
	const struct late_figure *work = run_late_figure(run, run->private->device_batch, track->mode, NULL);
	bool follows = pace->next_ordinal == batch->ordinal;
	pace->next_ordinal = batch->ordinal + 1;
	if (!follows)
		begin_stretch(track->private);
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
		begin_stretch(track->private);
	else
		pace->backlog_s = fmin(fmax(pace->backlog_s + work->median - host_s, 0), BACKLOG_BATCHES_MAX * work->median);
}

/* Longer than the device takes for others, and by so much that a step is out of line with it. */
static bool is_out_of_line(const struct run *run, const struct batch *batch, const struct late_figure *work,
	const struct rolling *window, double seconds)
{
	const struct model_options *options = &run->private->options;
	return work->count >= options->flag_after && seconds > work->median + options->flag_mad * rolling_mad(window) &&
		seconds - work->median > (options->flag_ratio - 1) * batch->median_s;
}

bool device_pace_hear(const struct run *run, const struct track *track, struct batch *batch, double seconds)
{
	const struct rolling *window;
	const struct late_figure *work = run_late_figure(run, run->private->device_batch, track->mode, &window);
	bool is_slow = work && is_out_of_line(run, batch, work, window, seconds);
	/* Where nothing was left to do, the device's time has the first launches in it: the wait's doing, each time the
	 * same. */
	if (batch->is_paced && (is_slow || !batch->is_after_wait))
		batch->paced_s = seconds + batch->stall_s;
	/* Judged: it has a baseline. */
	return batch->is_paced && !batch->is_flagged && !batch->is_by_hand && !isnan(batch->median_s) && is_slow;
}
