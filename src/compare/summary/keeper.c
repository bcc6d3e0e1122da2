#include "src/compare/summary/keeper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/compare/summary/keeper_wholes.h"
#include "src/model/memory/memory_words.h"
#include "src/model/run/steps/tracks.h"

/* Reads this many batches behind the newest, because the end of the warm-up is known only after some steps, and a phase
 * may be emitted after its batch. */
enum { BEHIND = 32 };
#define SEED UINT64_C(0x9e3779b97f4a7c15)

void keeper_init(struct keeper *keeper, struct summary *summary)
{
	*keeper = (struct keeper){ .summary = summary, .chance = SEED };
}

/* xorshift64 (Marsaglia 2003): a number below `max`. */
static unsigned draw(struct keeper *keeper, unsigned max)
{
	keeper->chance ^= keeper->chance << 13;
	keeper->chance ^= keeper->chance >> 7;
	keeper->chance ^= keeper->chance << 17;
	return (unsigned)(keeper->chance >> 33) % max;
}

/* -- phases -- */

static struct summary_phase *phase_of(struct keeper *keeper, const char *name)
{
	struct summary *summary = keeper->summary;
	char clean[SUMMARY_NAME];
	text_clean(clean, sizeof clean, name, strlen(name));
	for (unsigned i = 0; i < summary->phase_count; i++)
		if (strcmp(summary->phases[i].name, clean) == 0)
			return &summary->phases[i];
	double *seconds = summary->phase_count < SUMMARY_PHASES_MAX ? calloc(SUMMARY_STEPS_MAX, sizeof *seconds) : NULL;
	if (!seconds)
		return NULL;
	struct summary_phase *phase = &summary->phases[summary->phase_count++];
	*phase = (struct summary_phase){ .seconds = seconds };
	snprintf(phase->name, sizeof phase->name, "%s", clean);
	return phase;
}

static void keep_at(
	struct keeper *keeper, size_t index, const struct run *run, const struct batch *batch, bool is_retained)
{
	struct summary *summary = keeper->summary;
	if (is_retained) {
		summary->steps[index] = batch->step_s;
		for (unsigned i = 0; i < summary->phase_count; i++)
			summary->phases[i].seconds[index] = 0;
	}
	for (unsigned i = 0; i < batch->phase_count; i++) {
		const struct phase_time *time = &batch->phases[i];
		struct summary_phase *phase =
			time->parent == NAME_NONE && time->seconds > 0 ? phase_of(keeper, run_name(run, time->name)) : NULL;
		if (!phase)
			continue;
		phase->total_s += (double)time->seconds;
		if (is_retained)
			phase->seconds[index] += (double)time->seconds;
	}
}

/* -- steps -- */

/* Retains one of each two successive steps. */
static void halve(struct keeper *keeper)
{
	struct summary *summary = keeper->summary;
	for (size_t i = 0; i < SUMMARY_STEPS_MAX / 2; i++) {
		size_t from = 2 * i + draw(keeper, 2);
		summary->steps[i] = summary->steps[from];
		for (unsigned k = 0; k < summary->phase_count; k++)
			summary->phases[k].seconds[i] = summary->phases[k].seconds[from];
	}
	summary->step_count = SUMMARY_STEPS_MAX / 2;
	summary->stride *= 2;
}

static void take_step(struct keeper *keeper, const struct run *run, const struct batch *batch)
{
	struct summary *summary = keeper->summary;
	if (keeper->in_stride == 0 && summary->step_count == SUMMARY_STEPS_MAX)
		halve(keeper);
	/* Reservoir sampling: each step of a stride is retained with the same probability. */
	bool is_first = keeper->in_stride == 0, is_retained = is_first || draw(keeper, keeper->in_stride + 1) == 0;
	keep_at(keeper, summary->step_count - !is_first, run, batch, is_retained);
	summary->step_count += is_first;
	keeper->in_stride = (keeper->in_stride + 1) % summary->stride;
	summary->seen++;
	summary->total_s += batch->step_s;
	summary->least_s = fmin(summary->least_s, batch->step_s);
	summary->most_s = fmax(summary->most_s, batch->step_s);
	if (isfinite(batch->samples)) {
		summary->samples = (keeper->sampled++ ? summary->samples : 0) + batch->samples;
		keeper->sampled_s += batch->step_s;
	}
}

static void begin(struct keeper *keeper, const struct run *run, const struct track *track)
{
	struct summary *summary = keeper->summary;
	for (unsigned i = 0; i < summary->phase_count; i++)
		free(summary->phases[i].seconds);
	free(summary->steps);
	summary->phase_count = 0;
	summary->step_count = 0;
	summary->seen = summary->warmup = 0;
	summary->total_s = 0;
	summary->samples = summary->least_s = summary->most_s = NAN;
	summary->stride = 1;
	summary->steps = calloc(SUMMARY_STEPS_MAX, sizeof *summary->steps);
	*keeper = (struct keeper){ .summary = summary,
		.chance = SEED,
		.is_begun = true,
		.run_id = run->id,
		.mode = track->mode,
		.next = track->first,
		.is_failed = !summary->steps };
}

static void read_until(struct keeper *keeper, const struct run *run, const struct track *track, uint64_t end)
{
	if (keeper->next < track->first)
		keeper->next = track->first;
	for (; keeper->next < end && !keeper->is_failed; keeper->next++) {
		const struct batch *batch = track_batch(track, keeper->next);
		if (!batch || !isfinite(batch->step_s) || !(batch->step_s > 0))
			keeper->gap_count++;
		else if (batch->is_warmup)
			keeper->summary->warmup++;
		else
			take_step(keeper, run, batch);
	}
}

static const struct run *run_at(const struct model *model, int run)
{
	return run >= 0 && (unsigned)run < model->run_count ? &model->runs[run] : NULL;
}

/* Starts again if the run changes, or if another mode turns out to be the training. */
static const struct track *follow(struct keeper *keeper, const struct run *run)
{
	const struct track *track = run_main(run);
	if (!keeper->is_begun || keeper->run_id != run->id || keeper->mode != track->mode)
		begin(keeper, run, track);
	return track;
}

void keeper_read(struct keeper *keeper, const struct model *model, int index)
{
	const struct run *run = run_at(model, index);
	const struct track *track = run ? follow(keeper, run) : NULL;
	if (track && track->end > keeper->next + BEHIND)
		read_until(keeper, run, track, track->end - BEHIND);
}

/* -- what the model knows -- */

static void copy_clean(char *out, size_t size, const char *text) { text_clean(out, size, text, strlen(text)); }

static void take_meta(struct summary *summary, const struct run *run)
{
	char *end;
	for (size_t i = 0; i < run->meta_count && summary->meta_count < SUMMARY_META_MAX; i++) {
		size_t index = summary->meta_count++;
		copy_clean(summary->meta[index].key, sizeof summary->meta->key, run->meta[i].key);
		copy_clean(summary->meta[index].value, sizeof summary->meta->value, run->meta[i].value);
	}
	const char *printed = run_meta(run, "batch_size");
	double size = printed ? strtod(printed, &end) : NAN;
	if (printed && end != printed && !*end && size > 0)
		summary->batch_size = size;
}

static void take_operations(struct summary *summary, const struct run *run)
{
	for (size_t i = 0; i < run->operation_count && summary->operation_count < SUMMARY_OPERATIONS_MAX; i++) {
		const struct operation *from = &run->operations[i];
		bool is_of_another = run_main(run)->count && from->mode != run_main(run)->mode;
		if (is_of_another || from->count == 0 || from->name == NAME_UNATTRIBUTED || from->name == NAME_BETWEEN)
			continue;
		struct summary_operation *to = &summary->operations[summary->operation_count++];
		*to = (struct summary_operation){ .depth = from->depth,
			.count = from->count,
			.mean_s = from->mean_s,
			.p50_s = from->p50_s,
			.p95_s = from->p95_s,
			.total_s = from->total_s,
			.share_ratio = from->share_ratio };
		copy_clean(to->name, sizeof to->name, run_name(run, from->name));
		if (from->parent != NAME_NONE)
			copy_clean(to->parent, sizeof to->parent, run_name(run, from->parent));
	}
}

static void take_run(struct keeper *keeper, const struct run *run, const struct track *track)
{
	struct summary *summary = keeper->summary;
	copy_clean(summary->run, sizeof summary->run, run->name);
	copy_clean(summary->mode, sizeof summary->mode, track->mode == NAME_NONE ? "train" : run_name(run, track->mode));
	take_meta(summary, run);
	take_operations(summary, run);
	summary->batches = track->count;
	summary->lost_events = run->lost_events;
	summary->epochs = run->state.epochs_begun;
	summary->loss = run->loss;
	summary->gpu_peak_bytes = run_allocator(run).peak_bytes;
	/* Steps without samples count as the mean of the others; if no step has samples, the batch size counts. */
	if (keeper->sampled)
		summary->samples *= summary->total_s / keeper->sampled_s;
	else
		summary->samples = summary->batch_size * (double)summary->seen;
	if (isnan(summary->batch_size) && keeper->sampled && summary->seen)
		summary->batch_size = round(summary->samples / (double)summary->seen);
}

bool keeper_end(struct keeper *keeper, const struct model *model, int index)
{
	struct summary *summary = keeper->summary;
	const struct run *run = run_at(model, index);
	copy_clean(summary->command, sizeof summary->command, model->command);
	double cpus = model->system.now[METRIC_SYSTEM_CPUS];
	summary->cpus = cpus >= 1 ? cpus : NAN;
	summary->peak_bytes =
		isfinite(model->memory.tree_peak_bytes) ? model->memory.tree_peak_bytes : model->memory.peak_rss_bytes;
	summary->growth_bytes = model->memory.growth_bytes;
	const char *verdict = memory_verdict_word(model->memory.verdict);
	if (verdict)
		snprintf(summary->verdict, sizeof summary->verdict, "%s", verdict);
	if (run) {
		const struct track *track = follow(keeper, run);
		read_until(keeper, run, track, track->end);
		take_run(keeper, run, track);
	}
	keeper_take_wholes(summary, model, run);
	return !keeper->is_failed && summary_finish(summary);
}
