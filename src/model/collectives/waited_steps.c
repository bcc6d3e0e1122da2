#include "src/model/collectives/waited_steps.h"

#include <math.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/model/model.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"
#include "src/model/run/run.h"
#include "src/model/run/steps/tracks.h"
#include "src/model/statistics/statistics.h"

/* The step, and those before it. */
enum { STEPS = 17, STEPS_MIN = 8 };
/* The other rank's step took longer by this much of the wait. */
static const double excess_min_ratio = 0.5;

/* Of one rank. NAN = unknown. */
struct times {
	const struct batch *batch;
	double own_s, usual_own_s, wait_s, usual_wait_s;
};

static bool measure(const struct run *run, uint64_t ordinal, struct times *out)
{
	struct rank_step steps[STEPS];
	double own_s[STEPS], waits_s[STEPS];
	size_t count = 0;
	if (ordinal < STEPS - 1)
		return false;
	ranks_steps(run, ordinal - (STEPS - 1), STEPS, steps);
	const struct rank_step *step = &steps[STEPS - 1];
	for (size_t i = 0; i < STEPS - 1; i++) {
		if (!steps[i].batch)
			continue;
		own_s[count] = steps[i].step_s - steps[i].wait_s;
		waits_s[count++] = steps[i].wait_s;
	}
	*out = (struct times){ step->batch, step->step_s - step->wait_s, median_of(own_s, count), step->wait_s,
		median_of(waits_s, count) };
	return step->batch && count >= STEPS_MIN;
}

/* The outermost phase with the longest time above that of the step before. */
static const char *longest_phase(const struct run *run, const struct batch *batch)
{
	const struct batch *before = track_batch(run_main(run), batch->ordinal - 1);
	const char *found = "";
	double most_s = 0;
	for (unsigned i = 0; i < batch->phase_count; i++) {
		const struct phase_time *phase = &batch->phases[i];
		double excess_s = (double)phase->seconds;
		for (unsigned k = 0; before && k < before->phase_count; k++)
			if (before->phases[k].name == phase->name && before->phases[k].parent == phase->parent)
				excess_s -= (double)before->phases[k].seconds;
		const char *name = run_name(run, phase->name);
		if (phase->parent != NAME_NONE || phase->name == NAME_UNATTRIBUTED || ranks_is_wait(name) || excess_s <= most_s)
			continue;
		found = name;
		most_s = excess_s;
	}
	return found;
}

void waited_steps_find(
	const struct model *model, const struct run *run, const struct batch *batch, struct waited_for *out)
{
	struct times own, times, late = { .own_s = NAN };
	const struct run *late_run = NULL;
	if (run->is_counted || track_batch(run_main(run), batch->ordinal) == NULL || !measure(run, batch->ordinal, &own) ||
		own.batch->begin_ns != batch->begin_ns)
		return;
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *other = &model->runs[i];
		if (other == run || !other->is_used || !ranks_are_of_one_run(run, other) ||
			!measure(other, batch->ordinal, &times))
			continue;
		if (!late_run || times.own_s - times.usual_own_s > late.own_s - late.usual_own_s) {
			late_run = other;
			late = times;
		}
	}
	if (!late_run || !(own.wait_s > own.usual_wait_s) ||
		!(late.own_s - late.usual_own_s >= excess_min_ratio * (own.wait_s - own.usual_wait_s)))
		return;
	out->seconds = own.wait_s;
	out->usual_s = own.usual_wait_s;
	out->number = rank_number(late_run);
	out->pid = late_run->pid ? late_run->pid : late_run->inner_pid;
	out->from_ns = late.batch->begin_ns;
	out->to_ns = late.batch->begin_ns + (int64_t)(late.own_s * (double)NS_PER_S);
	snprintf(out->phase, sizeof out->phase, "%s", longest_phase(late_run, late.batch));
	model_sampled_line(model, late_run, out->from_ns, out->to_ns, &out->line);
}
