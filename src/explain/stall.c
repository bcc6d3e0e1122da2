#include "src/explain/stall.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"
#include "src/model/run/steps/tracks.h"
#include "src/model/statistics/statistics.h"

enum { STEPS_COMPARED_MAX = 512, STEPS_MIN = 5 };
/* A run is stalled after `longest_ratio` times its longest step, or `hundredth_ratio` times the 99th percentile if that
 * is shorter; but not before `min_s` seconds. */
static const double longest_ratio = 3, hundredth_ratio = 10, min_s = 5;
/* A stopped process needs less time: it cannot make progress. */
static const double stopped_min_s = 2;
/* The minimum for an epoch's first batch, which waits for workers to start, and for a span that never ended before. */
static const double unknown_min_s = 60;

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* -- when it last made progress -- */

static int64_t last_batch_ns(const struct run *run)
{
	int64_t newest_ns = run->state.batch_begin_ns;
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track *track = &run->tracks[i];
		for (uint64_t back = 1; back <= 2 && track->end >= track->first + back; back++) {
			const struct batch *batch = track_batch(track, track->end - back);
			newest_ns = batch ? later(newest_ns, later(batch->begin_ns, batch->end_ns)) : newest_ns;
		}
	}
	if (run->epoch_count)
		newest_ns = later(newest_ns, run->epochs[run->epoch_count - 1].begin_ns);
	return newest_ns;
}

/* The open span that began last, or the deeper one of two; NULL = none is open. */
static const struct open_span *innermost(const struct run *run)
{
	const struct open_span *found = NULL;
	for (size_t i = 0; i < run->open_span_count; i++) {
		const struct open_span *span = &run->open_spans[i];
		if (!found || span->begin_ns > found->begin_ns ||
			(span->begin_ns == found->begin_ns && span->depth > found->depth))
			found = span;
	}
	return found;
}

/* The outermost open span of the same lane. */
static const struct open_span *outermost(const struct run *run, const struct open_span *last)
{
	for (size_t i = 0; last && i < run->open_span_count; i++)
		if (run->open_spans[i].lane == last->lane && run->open_spans[i].depth < last->depth)
			last = &run->open_spans[i];
	return last;
}

static void describe_stack(const struct run *run, const struct open_span *last, char out[STALL_STACK_SIZE])
{
	char whole[4 * STALL_STACK_SIZE] = "";
	size_t used = 0;
	for (size_t i = 0; last && i < run->open_span_count && used < sizeof whole; i++)
		if (run->open_spans[i].lane == last->lane)
			used += (size_t)snprintf(
				whole + used, sizeof whole - used, "%s%s", used ? " › " : "", run_name(run, run->open_spans[i].name));
	text_clean(out, STALL_STACK_SIZE, whole, strlen(whole));
}

/* -- baseline -- */

static double baseline_of(const struct track *track)
{
	double steps[STEPS_COMPARED_MAX], longest_s = 0;
	size_t count = 0;
	for (uint64_t back = 1;
		 back <= 2 * STEPS_COMPARED_MAX && back <= track->end - track->first && count < STEPS_COMPARED_MAX; back++) {
		const struct batch *batch = track_batch(track, track->end - back);
		if (!batch || batch->is_warmup || !isfinite(batch->step_s))
			continue;
		longest_s = fmax(longest_s, batch->step_s);
		steps[count++] = batch->step_s;
	}
	return count < STEPS_MIN ? NAN : fmin(longest_s, quantile_of(steps, count, 0.99) * hundredth_ratio / longest_ratio);
}

/* The longest finished span of that name; NAN = none. */
static double longest_of_span(const struct run *run, uint32_t name)
{
	double longest_s = NAN;
	for (size_t i = 0; i < run->operation_count; i++)
		if (run->operations[i].name == name && run->operations[i].count > 0)
			longest_s = fmax(longest_s, run->operations[i].max_s);
	return longest_s;
}

static double baseline_step(const struct run *run)
{
	const struct track *track = run_track_of(run, run->state.mode);
	double baseline_s = track ? baseline_of(track) : NAN;
	return isnan(baseline_s) ? baseline_of(run_main(run)) : baseline_s;
}

/* Seconds without progress after which the run counts as stalled. */
static double patience_s(const struct run *run, const struct open_span *span, double baseline_s)
{
	double patience = fmax(longest_ratio * baseline_s, min_s);
	if (run->state.epochs_begun > 0 && run->state.batches_in_epoch == 0)
		patience = fmax(patience, unknown_min_s);
	if (!span)
		return patience;
	double longest_s = longest_of_span(run, span->name);
	return fmax(
		patience, isnan(longest_s) ? unknown_min_s : fmin(longest_ratio * longest_s, hundredth_ratio * unknown_min_s));
}

/* -- why -- */

static const struct process *process_of(const struct model *model, const struct run *run)
{
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == run->pid && !model->processes[i].is_gone)
			return &model->processes[i];
	return NULL;
}

static bool is_stopped(const struct process *process)
{
	double state = process ? process->now[METRIC_PROCESS_STATE] : NAN;
	return state == 'T' || state == 't';
}

static bool describe_rank(const struct model *model, const struct run *run, char out[STALL_STACK_SIZE])
{
	struct ranks ranks;
	if (run < model->runs || run >= model->runs + model->run_count || rank_number(run) < 0)
		return false;
	ranks_compare(model, (unsigned)(run - model->runs), &ranks);
	if (ranks.still < 0 || &model->runs[ranks.list[ranks.still].run] == run)
		return false;
	const struct rank *other = &ranks.list[ranks.still];
	snprintf(out, STALL_STACK_SIZE, "waiting for rank %ld, which is %s", other->number, rank_state_name(other->state));
	return true;
}

static void describe_process(const struct process *process, char out[STALL_STACK_SIZE])
{
	double state = process->now[METRIC_PROCESS_STATE];
	bool is_waiting = process->wait[0] != '\0';
	if (is_stopped(process))
		snprintf(out, STALL_STACK_SIZE, "stopped (SIGSTOP or a debugger)");
	else if (state == 'D')
		snprintf(out, STALL_STACK_SIZE, is_waiting ? "waiting for the disk (D, %s)" : "waiting for the disk (D)",
			process->wait);
	else if (process->cpu_ratio > 0.5)
		snprintf(out, STALL_STACK_SIZE, "computing or spinning (%.1f CPUs)", process->cpu_ratio);
	else if (state == 'S')
		snprintf(out, STALL_STACK_SIZE,
			is_waiting ? "sleeping (%s): waiting for a thread, process or device"
					   : "sleeping: waiting for a thread, process or device",
			process->wait);
}

/* Whether pmtop can know that a batch should follow. An inferred loop that has reached its length is over: the program
 * goes on with other work. */
static bool expects_batch(const struct run *run)
{
	const struct run_state *state = &run->state;
	return !run->is_counted || state->batches_per_epoch == 0 || state->batches_in_epoch < state->batches_per_epoch;
}

bool stall_find(const struct model *model, const struct run *run, struct stall *out)
{
	const struct run_state *state = &run->state;
	const struct process *process = process_of(model, run);
	const struct open_span *span = innermost(run);
	bool is_training = state->in_epoch || state->epochs_begun == 0;
	int64_t batch_ns = last_batch_ns(run), moved_ns = span ? later(batch_ns, span->begin_ns) : batch_ns;
	if (!run->is_live || state->is_ended || !is_training || moved_ns == 0)
		return false;
	double seconds = seconds_between(moved_ns, model->now_ns);
	/* Return early: computing the baseline is more expensive. */
	if (!(seconds >= (is_stopped(process) ? stopped_min_s : min_s)) || (!is_stopped(process) && !expects_batch(run)))
		return false;
	double baseline_s = baseline_step(run);
	if (isnan(baseline_s))
		return false;
	double patience = is_stopped(process) ? fmin(fmax(longest_ratio * baseline_s, stopped_min_s), min_s)
										  : patience_s(run, outermost(run, span), baseline_s);
	if (!(seconds >= patience))
		return false;
	*out = (struct stall){ .seconds = seconds, .baseline_s = baseline_s, .is_between = !state->in_batch };
	describe_stack(run, span, out->stack);
	if (!is_stopped(process) && describe_rank(model, run, out->why))
		return true;
	if (process)
		describe_process(process, out->why);
	return true;
}
