#include "src/model/code/step_phases.h"

#include <math.h>

#include "src/base/clock.h"
#include "src/model/code/code_samples.h"
#include "src/model/code/sampled_error.h"
#include "src/model/model_private.h"
#include "src/model/run/steps/tracks.h"

double sampled_error_ratio(double share_ratio, double samples)
{
	return samples > 0 && share_ratio >= 0 && share_ratio <= 1
		? sqrt(samples * share_ratio * (1 - share_ratio) + 0.25) / (samples + 1)
		: (double)NAN;
}

static void set_shares(struct sampled_phases *out, const struct sampled_blocks *blocks)
{
	const struct phase_sums *sums = &blocks->sums;
	out->samples = sums->samples;
	for (size_t i = 0; i < CODE_PHASE_COUNT; i++) {
		double share = sums->weight_s > 0 ? fmin(sums->phase_s[i] / sums->weight_s, 1) : (double)NAN;
		out->phases[i].samples = sums->counts[i];
		out->phases[i].share_ratio = share;
		out->phases[i].error_ratio = sampled_error_ratio(share, sampled_blocks_effective(blocks, (enum code_phase)i));
	}
}

static void start(const struct model *model, const struct run *run, struct sampled_phases *out)
{
	*out = (struct sampled_phases){ .step_s = (double)NAN };
	out->is_sampled =
		run->is_counted && code_group_of(&model->code, run->pid) >= 0 && model_samples_since(model) != INT64_MAX;
	set_shares(out, &(struct sampled_blocks){ 0 });
}

static int64_t end_of(const struct batch *batch)
{
	return batch->begin_ns + (int64_t)fmin(batch->step_s * 1e9, 0x1p60);
}

/* Steps before an ordinal: those of the last minute, or the last RUN_RECENT. */
struct stretch {
	const struct track *track;
	uint64_t end;
	int64_t from_ns;
	bool has_warmup, has_flagged;
};

static bool is_in(const struct stretch *stretch, const struct batch *batch)
{
	return batch && batch->step_s > 0 && isfinite(batch->step_s) && (stretch->has_warmup || !batch->is_warmup) &&
		(stretch->has_flagged || !batch->is_flagged);
}

/* From the newest step on. Times of short steps are means and may overlap: a sample counts once. */
static void sum_steps(
	const struct model *model, const struct run *run, const struct stretch *stretch, struct sampled_phases *out)
{
	struct sampled_blocks blocks = { 0 };
	double total_s = 0;
	int64_t since_ns = model_samples_since(model), until_ns = INT64_MAX;
	for (uint64_t ordinal = stretch->end; ordinal-- > stretch->track->first;) {
		const struct batch *batch = track_batch(stretch->track, ordinal);
		if (batch && (batch->begin_ns < since_ns || (out->steps >= RUN_RECENT && batch->begin_ns < stretch->from_ns)))
			break;
		if (is_in(stretch, batch)) {
			int64_t end_ns = end_of(batch);
			struct phase_sums sums = { 0 };
			model_sum_phases(model, run->pid, batch->begin_ns, end_ns < until_ns ? end_ns : until_ns, &sums);
			sampled_blocks_add(&blocks, &sums, batch->step_s);
			out->steps++;
			total_s += batch->step_s;
		}
		if (batch)
			until_ns = batch->begin_ns;
	}
	out->is_retained = out->steps > 0;
	out->step_s = out->steps > 0 ? total_s / (double)out->steps : (double)NAN;
	sampled_blocks_end(&blocks);
	set_shares(out, &blocks);
}

static void sum_stretch(
	const struct model *model, const struct run *run, struct stretch *stretch, struct sampled_phases *out)
{
	sum_steps(model, run, stretch, out);
	if (out->steps > 0)
		return;
	stretch->has_warmup = true;
	sum_steps(model, run, stretch, out);
}

void model_recent_phases(const struct model *model, const struct run *run, struct sampled_phases *out)
{
	const struct track *track = run_main(run);
	struct stretch stretch = {
		.track = track, .end = track->end, .from_ns = model->now_ns - CODE_RECENT_S * NS_PER_S, .has_flagged = true
	};
	start(model, run, out);
	if (out->is_sampled)
		sum_stretch(model, run, &stretch, out);
}

/* NULL: the batch is no longer in a ring. */
static const struct track *track_with(const struct run *run, const struct batch *batch)
{
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct batch *here = track_batch(&run->tracks[i], batch->ordinal);
		if (here && here->number == batch->number && here->begin_ns == batch->begin_ns)
			return &run->tracks[i];
	}
	return NULL;
}

void model_step_phases(const struct model *model, const struct run *run, const struct batch *batch,
	struct sampled_phases *out, struct sampled_phases *baseline)
{
	struct sampled_blocks blocks = { 0 };
	struct stretch stretch = {
		.track = track_with(run, batch), .end = batch->ordinal, .from_ns = batch->begin_ns - CODE_RECENT_S * NS_PER_S
	};
	start(model, run, out);
	start(model, run, baseline);
	if (!out->is_sampled || !(batch->step_s > 0) || !isfinite(batch->step_s))
		return;
	out->is_retained = batch->begin_ns >= model_samples_since(model);
	out->steps = 1;
	out->step_s = batch->step_s;
	model_sum_phases(model, run->pid, batch->begin_ns, end_of(batch), &blocks.sums);
	set_shares(out, &blocks);
	if (stretch.track)
		sum_stretch(model, run, &stretch, baseline);
}
