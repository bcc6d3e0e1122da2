/* The energy of batches and epochs of runs. */
#include "src/model/energy/energy_runs.h"

#include <string.h>

#include "src/model/energy/energy_gpus.h"
#include "src/model/energy/energy_private.h"
#include "src/model/gpus/gpus_runs.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"
#include "src/model/run/steps/tracks.h"

/* With less measured time, single readings would dominate the figure. */
#define WINDOWS_MIN_S 2.0
/* After this time no late reading is expected. */
#define SETTLED_NS (60 * NS_PER_S)

enum { STEPS_READ_MAX = 4 * RUN_RECENT };

/* -- GPUs of runs -- */

/* For a part of a GPU without a meter: the meter of the whole GPU. */
static struct gpu_meter *meter_of(struct energy_past *past, const struct gpu *gpu)
{
	struct gpu_meter *meter = energy_gpu_meter(past, gpu->instance);
	return meter || gpu->parent < 0 ? meter : energy_gpu_meter(past, gpu->parent);
}

static void note_gpus(struct model *model, const struct run *run, uint64_t bit)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t count = run_gpus(model, run, gpus);
	for (size_t i = 0; i < count; i++) {
		struct gpu_meter *meter = meter_of(model->priv->energy, gpus[i]);
		if (!meter)
			continue;
		meter->was_ours = true;
		meter->runs |= bit;
	}
}

/* Power of all GPUs that the process tree uses now; NAN if one is unknown. */
static double watts_now(struct model *model)
{
	const struct gpu *gpus[GPUS_MAX];
	int32_t counted[GPUS_MAX];
	size_t count = run_gpus(model, NULL, gpus), counted_count = 0;
	double watts = 0;
	for (size_t i = 0; i < count; i++) {
		const struct gpu *whole =
			gpus[i]->parent >= 0 && isnan(gpus[i]->power_w) ? model_gpu(model, gpus[i]->parent) : gpus[i];
		size_t at = 0;
		while (whole && at < counted_count && counted[at] != whole->instance)
			at++;
		if (at < counted_count)
			continue;
		counted[counted_count++] = whole ? whole->instance : -1;
		watts += whole ? whole->power_w : NAN;
	}
	return count ? watts : NAN;
}

/* -- windows -- */

struct share {
	double joules;
	bool is_whole;
}; /* NAN: nothing is metered there */

static void add(struct share *sum, const struct energy_curve *curve, int64_t from_ns, int64_t to_ns)
{
	bool is_whole;
	double joules = energy_curve_between(curve, from_ns, to_ns, &is_whole);
	sum->is_whole &= is_whole;
	sum->joules = energy_total(sum->joules, joules);
}

/* A CPU meter that was read at least once. */
static bool is_counted(const struct model *model, size_t meter)
{
	return energy_is_of_cpus(model->energy.meters[meter].name) && model->priv->energy->meters[meter].curve.last_ns > 0;
}

static struct share cpus_between(const struct model *model, int64_t from_ns, int64_t to_ns)
{
	struct share sum = { NAN, true };
	for (size_t i = 0; i < model->energy.meter_count; i++)
		if (is_counted(model, i))
			add(&sum, &model->priv->energy->meters[i].curve, from_ns, to_ns);
	return sum;
}

/* `runs`: bit mask of the runs whose GPUs count; 0 = all GPUs that the process tree has used. */
static struct share gpus_between(const struct model *model, uint64_t runs, int64_t from_ns, int64_t to_ns)
{
	const struct energy_past *past = model->priv->energy;
	struct share sum = { NAN, true };
	for (size_t i = 0; i < past->gpu_count; i++)
		if (runs ? (past->gpus[i].runs & runs) != 0 : past->gpus[i].was_ours)
			add(&sum, &past->gpus[i].counter.curve, from_ns, to_ns);
	return sum;
}

/* -- batches -- */

struct steps {
	size_t count;
	double joules, seconds, samples;
};

static void add_step(struct steps *steps, struct share share, const struct batch *batch)
{
	if (isnan(share.joules) || !share.is_whole)
		return;
	steps->count++;
	steps->joules += share.joules;
	steps->seconds += batch->step_s;
	steps->samples += batch->samples;
}

static double a_step(const struct steps *steps)
{
	return steps->seconds >= WINDOWS_MIN_S ? steps->joules / (double)steps->count : NAN;
}

static double a_sample(const struct steps *steps)
{
	return steps->seconds >= WINDOWS_MIN_S && steps->samples > 0 ? steps->joules / steps->samples : NAN;
}

/* Samples of all ranks per sample of this rank: the meters cover all ranks. */
static double samples_of_all(const struct model *model, const struct run *run)
{
	double own = run_main(run)->samples_per_s, all = own;
	bool has_others = false;
	for (unsigned i = 0; i < model->run_count; i++)
		if (&model->runs[i] != run && model->runs[i].is_live && ranks_are_of_one_run(run, &model->runs[i])) {
			all += run_main(&model->runs[i])->samples_per_s;
			has_others = true;
		}
	return has_others ? all / own : 1;
}

static void refresh_batches(struct model *model)
{
	struct energy *energy = &model->energy;
	const struct run *run = model->run_count ? &model->runs[0] : NULL;
	const struct track *track = run ? run_main(run) : NULL;
	struct steps cpus = { 0 }, gpus = { 0 };
	size_t left = RUN_RECENT, looked_at = 0;
	for (uint64_t ordinal = track ? track->end : 0;
		 track && ordinal > track->first && left > 0 && looked_at < STEPS_READ_MAX; ordinal--, looked_at++) {
		const struct batch *batch = track_batch(track, ordinal - 1);
		if (!batch || !batch->end_ns || isnan(batch->step_s))
			continue;
		int64_t end_ns = batch->begin_ns + (int64_t)(batch->step_s * 1e9);
		if (end_ns < energy->since_ns)
			break;
		size_t before = cpus.count + gpus.count;
		add_step(&cpus, cpus_between(model, batch->begin_ns, end_ns), batch);
		add_step(&gpus, gpus_between(model, 0, batch->begin_ns, end_ns), batch);
		/* The newest steps may not be metered to their end yet: they do not use up the window. */
		left -= cpus.count + gpus.count > before || left < RUN_RECENT;
	}
	energy->cpu_joules_per_batch = a_step(&cpus);
	energy->gpu_joules_per_batch = a_step(&gpus);
	energy->joules_per_batch = energy_total(energy->cpu_joules_per_batch, energy->gpu_joules_per_batch);
	energy->joules_per_sample = energy_total(a_sample(&cpus), a_sample(&gpus)) / (run ? samples_of_all(model, run) : 1);
}

/* -- epochs -- */

const struct epoch_energy *energy_of_epoch(const struct energy *energy, unsigned run, uint32_t ordinal)
{
	for (size_t i = energy->epoch_count; i-- > 0;)
		if (energy->epochs[i].run == run && energy->epochs[i].ordinal == ordinal)
			return &energy->epochs[i];
	return NULL;
}

#define NO_ROW SIZE_MAX

static size_t find_row(const struct model *model, unsigned run, const struct epoch *epoch)
{
	const struct energy *energy = &model->energy;
	for (size_t i = energy->epoch_count; i-- > 0;)
		if (energy->epochs[i].run == run && energy->epochs[i].ordinal == epoch->ordinal &&
			model->priv->energy->epoch_begins_ns[i] == epoch->begin_ns)
			return i;
	return NO_ROW;
}

/* Appends a row; drops the oldest if there are too many. */
static size_t add_row(struct model *model, unsigned run, const struct epoch *epoch)
{
	struct energy *energy = &model->energy;
	int64_t *begins_ns = model->priv->energy->epoch_begins_ns;
	if (energy->epoch_count == ENERGY_EPOCHS_MAX) {
		energy->epoch_count--;
		memmove(energy->epochs, energy->epochs + 1, energy->epoch_count * sizeof energy->epochs[0]);
		memmove(begins_ns, begins_ns + 1, energy->epoch_count * sizeof begins_ns[0]);
	}
	energy->epochs[energy->epoch_count] =
		(struct epoch_energy){ .run = run, .ordinal = epoch->ordinal, .cpu_joules = NAN, .gpu_joules = NAN };
	begins_ns[energy->epoch_count] = epoch->begin_ns;
	return energy->epoch_count++;
}

/* The time until which all meters were read. */
static int64_t metered_until(const struct model *model)
{
	const struct energy_past *past = model->priv->energy;
	int64_t until_ns = INT64_MAX;
	for (size_t i = 0; i < model->energy.meter_count; i++)
		if (is_counted(model, i) && past->meters[i].curve.last_ns < until_ns)
			until_ns = past->meters[i].curve.last_ns;
	for (size_t i = 0; i < past->gpu_count; i++)
		if (past->gpus[i].was_ours && past->gpus[i].counter.curve.last_ns < until_ns)
			until_ns = past->gpus[i].counter.curve.last_ns;
	return until_ns;
}

static void refresh_epoch(struct model *model, unsigned run, const struct epoch *epoch, int64_t until_ns)
{
	int64_t end_ns = epoch->end_ns ? epoch->end_ns : model->now_ns;
	struct share cpus = cpus_between(model, epoch->begin_ns, end_ns);
	struct share gpus = gpus_between(model, UINT64_C(1) << run % 64, epoch->begin_ns, end_ns);
	size_t at = find_row(model, run, epoch);
	if (isnan(cpus.joules) && isnan(gpus.joules))
		return;
	if (at == NO_ROW)
		at = add_row(model, run, epoch);
	struct epoch_energy *row = &model->energy.epochs[at];
	row->cpu_joules = cpus.joules;
	row->gpu_joules = gpus.joules;
	row->is_whole = epoch->end_ns && cpus.is_whole && gpus.is_whole;
	row->is_settled = epoch->end_ns && (until_ns >= epoch->end_ns || model->now_ns - epoch->end_ns > SETTLED_NS);
}

/* False: the epoch is settled, and so are those before it. */
static bool needs_refresh(const struct model *model, unsigned run, const struct epoch *epoch)
{
	size_t at = find_row(model, run, epoch);
	if (at != NO_ROW)
		return !model->energy.epochs[at].is_settled;
	return epoch->end_ns == 0 || epoch->end_ns > model->energy.since_ns;
}

static void refresh_epochs(struct model *model)
{
	struct energy *energy = &model->energy;
	int64_t until_ns = metered_until(model);
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *run = &model->runs[i];
		size_t first = run->epoch_count;
		while (first > 0 && run->epoch_count - first < ENERGY_EPOCHS_MAX &&
			needs_refresh(model, i, &run->epochs[first - 1]))
			first--;
		for (size_t k = first; k < run->epoch_count; k++)
			refresh_epoch(model, i, &run->epochs[k], until_ns);
	}
	energy->co2_g_per_epoch = NAN;
	for (size_t i = energy->epoch_count; i-- > 0 && isnan(energy->co2_g_per_epoch);)
		if (energy->epochs[i].is_whole && energy->epochs[i].run == 0)
			energy->co2_g_per_epoch =
				energy_co2_g(energy, energy_total(energy->epochs[i].cpu_joules, energy->epochs[i].gpu_joules));
}

void energy_refresh_runs(struct model *model)
{
	if (model->energy.since_ns == 0)
		return;
	if (!model->target_ended) {
		for (unsigned i = 0; i < model->run_count && i < 64; i++)
			note_gpus(model, &model->runs[i], UINT64_C(1) << i);
		note_gpus(model, NULL, 0);
		model->energy.gpu_watts = watts_now(model);
	}
	refresh_batches(model);
	refresh_epochs(model);
}
