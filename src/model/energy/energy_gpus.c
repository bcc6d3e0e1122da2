/* Energy of GPUs, from their energy counters and their power. Power gives the distribution between two readings of the
 * counter, and replaces a missing counter. */
#include "src/model/energy/energy_gpus.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/energy/energy.h"
#include "src/model/energy/energy_private.h"

/* A GPU whose energy counter is older counts as one without a counter. With many GPUs the counter is read only every 15
 * to 60 s. */
#define COUNTER_STALE_NS (130 * NS_PER_S)

struct gpu_meter *energy_gpu_meter(struct energy_past *past, int32_t instance)
{
	for (size_t i = 0; i < past->gpu_count; i++)
		if (past->gpus[i].instance == instance)
			return &past->gpus[i];
	return NULL;
}

static struct gpu_meter *find_gpu(struct energy_past *past, int32_t instance)
{
	struct gpu_meter *gpu = energy_gpu_meter(past, instance);
	if (gpu || past->gpu_count == GPUS_MAX)
		return gpu;
	if (!past->gpus)
		past->gpus = calloc(GPUS_MAX, sizeof *past->gpus);
	if (!past->gpus)
		return NULL;
	gpu = &past->gpus[past->gpu_count++];
	*gpu = (struct gpu_meter){ .instance = instance, .watts = NAN };
	return gpu;
}

/* -- power between two readings of the counter -- */

/* Merges pairs of pieces to halve their number. */
static void merge_pieces(struct gpu_meter *gpu)
{
	unsigned retained = 0;
	for (unsigned i = 0; i + 1 < gpu->piece_count; i += 2) {
		const struct power_piece *first = &gpu->pieces[i], *second = first + 1;
		gpu->pieces[retained++] = (struct power_piece){ first->from_ns, second->to_ns, first->joules + second->joules };
	}
	gpu->piece_count = retained;
}

static void add_piece(struct gpu_meter *gpu, int64_t from_ns, int64_t to_ns, double joules)
{
	const struct power_piece *last = gpu->piece_count ? &gpu->pieces[gpu->piece_count - 1] : NULL;
	if (!from_ns || !(joules >= 0) || (last && last->to_ns != from_ns))
		gpu->piece_count = 0;
	if (!from_ns || !(joules >= 0) || to_ns <= gpu->counter_ns)
		return;
	if (gpu->piece_count == POWER_PIECES_MAX)
		merge_pieces(gpu);
	gpu->pieces[gpu->piece_count++] = (struct power_piece){ from_ns, to_ns, joules };
}

/* The part of a piece after a time. */
static double joules_after(const struct power_piece *piece, int64_t time_ns)
{
	if (piece->from_ns >= time_ns)
		return piece->joules;
	return piece->to_ns > time_ns
		? piece->joules * (double)(piece->to_ns - time_ns) / (double)(piece->to_ns - piece->from_ns)
		: 0;
}

/* Distributes the counter's growth in proportion to power, if power is known for the whole interval. */
static void push_shaped(struct gpu_meter *gpu, int64_t time_ns, double growth)
{
	struct energy_curve *curve = &gpu->counter.curve;
	int64_t begin_ns = curve->last_ns;
	double sum = 0;
	bool is_whole = gpu->piece_count > 0 && gpu->pieces[0].from_ns <= begin_ns &&
		gpu->pieces[gpu->piece_count - 1].to_ns == time_ns;
	for (unsigned i = 0; i < gpu->piece_count; i++)
		sum += joules_after(&gpu->pieces[i], begin_ns);
	for (unsigned i = 0; is_whole && sum > 0 && !isnan(growth) && i + 1 < gpu->piece_count; i++) {
		double part = growth * joules_after(&gpu->pieces[i], begin_ns) / sum;
		if (gpu->pieces[i].to_ns <= begin_ns)
			continue;
		energy_curve_push(curve, gpu->pieces[i].to_ns, part);
		growth -= part;
		sum -= joules_after(&gpu->pieces[i], begin_ns);
	}
	energy_curve_push(curve, time_ns, growth);
	gpu->piece_count = 0;
}

/* The counter has stopped: uses the power integrated since its last reading. */
static void push_pieces(struct gpu_meter *gpu)
{
	struct energy_curve *curve = &gpu->counter.curve;
	for (unsigned i = 0; i < gpu->piece_count; i++)
		energy_curve_push(curve, gpu->pieces[i].to_ns,
			gpu->pieces[i].from_ns <= curve->last_ns ? joules_after(&gpu->pieces[i], curve->last_ns) : NAN);
	gpu->piece_count = 0;
}

/* -- readings -- */

static void take_counter(struct gpu_meter *gpu, int64_t time_ns, double joules)
{
	struct energy_curve *curve = &gpu->counter.curve;
	/* The curve already contains integrated power up to now. */
	bool is_base = !gpu->counter.has_value || curve->last_ns > gpu->counter_ns;
	if (!is_base && time_ns <= curve->last_ns)
		return;
	if (!is_base || curve->last_ns == 0)
		push_shaped(gpu, time_ns, energy_take_counter(&gpu->counter, time_ns, joules));
	gpu->counter.has_value = true;
	gpu->counter.value = joules;
	gpu->counter_ns = time_ns;
	gpu->piece_count = 0;
}

static void take_power(struct gpu_meter *gpu, int64_t time_ns, double watts)
{
	struct energy_curve *curve = &gpu->counter.curve;
	int64_t before_ns = gpu->power_ns;
	double joules = (gpu->watts + watts) / 2 * seconds_between(before_ns, time_ns);
	if (time_ns <= before_ns)
		return;
	bool is_known = before_ns && watts <= ENERGY_WATTS_MAX;
	gpu->power_ns = time_ns;
	gpu->watts = watts;
	if (gpu->counter_ns && time_ns - gpu->counter_ns <= COUNTER_STALE_NS) {
		add_piece(gpu, before_ns, time_ns, is_known ? joules : NAN);
		return;
	}
	push_pieces(gpu);
	is_known &= before_ns >= curve->last_ns && energy_curve_is_dense(curve, time_ns);
	energy_curve_push(curve, time_ns, is_known ? joules : NAN);
}

void energy_take_gpu(struct model *model, const struct record *record)
{
	struct gpu_meter *gpu = find_gpu(model->priv->energy, record->figure.instance);
	if (!gpu)
		return;
	if (record->figure.metric == METRIC_GPU_ENERGY)
		take_counter(gpu, record->time_ns, record->figure.value);
	else
		take_power(gpu, record->time_ns, record->figure.value);
	if (model->energy.since_ns == 0)
		model->energy.since_ns = record->time_ns;
	model->priv->energy->is_new_in_set = true;
}
