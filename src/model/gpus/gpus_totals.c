#include "src/model/gpus/gpus_totals.h"
#include "src/model/gpus/gpus_private.h"
#include "src/model/gpus/gpus_words.h"

#define STANDS_MAX_S 10.0

enum whole_id { WHOLE_BUSY, WHOLE_SM_ACTIVE, WHOLE_MEMORY, WHOLE_POWER, WHOLE_TEMPERATURE, WHOLE_RUN_MEMORY };

static const struct {
	enum metric metric;
	size_t offset;
} wholes[GPU_WHOLES] = {
	[WHOLE_BUSY] = { METRIC_GPU_BUSY, offsetof(struct gpu_totals, busy_ratio) },
	[WHOLE_SM_ACTIVE] = { METRIC_GPU_SM_ACTIVE, offsetof(struct gpu_totals, sm_active_ratio) },
	[WHOLE_MEMORY] = { METRIC_GPU_MEMORY_USED, offsetof(struct gpu_totals, memory_used_bytes) },
	[WHOLE_POWER] = { METRIC_GPU_POWER, offsetof(struct gpu_totals, power_w) },
	[WHOLE_TEMPERATURE] = { METRIC_GPU_TEMPERATURE, offsetof(struct gpu_totals, temperature_c) },
	[WHOLE_RUN_MEMORY] = { METRIC_COUNT, offsetof(struct gpu_totals, run_memory_bytes) },
};

static struct gpu_whole *whole_of(struct gpu_totals *totals, size_t id)
{
	return (struct gpu_whole *)(void *)((char *)totals + wholes[id].offset);
}

void gpu_forget_totals(struct gpu *gpu, struct gpu_past *past)
{
	struct gpu_totals *totals = &gpu->totals;
	*totals = (struct gpu_totals){ .energy_joules = NAN,
		.received_bytes = NAN,
		.sent_bytes = NAN,
		.throttled_ratio = NAN,
		.throttled_power_s = NAN,
		.throttled_thermal_s = NAN };
	for (size_t i = 0; i < GPU_WHOLES; i++) {
		*whole_of(totals, i) = (struct gpu_whole){ NAN, NAN };
		past->sums[i] = past->weights_s[i] = 0;
	}
	for (size_t i = 0; i < GPU_THROTTLE_COUNT; i++) {
		totals->reason_ratio[i] = NAN;
		past->reason_s[i] = 0;
	}
	past->throttled_s = past->throttle_weight_s = 0;
}

static double stands_for(double seconds) { return isnan(seconds) || seconds < 0 ? 0 : fmin(seconds, STANDS_MAX_S); }

/* The first reading has no weight: it is the mean only until the second. */
static void count_whole(struct gpu *gpu, struct gpu_past *past, size_t id, double value, double seconds)
{
	struct gpu_whole *whole = whole_of(&gpu->totals, id);
	double weight_s = stands_for(seconds);
	past->sums[id] += value * weight_s;
	past->weights_s[id] += weight_s;
	whole->mean = past->weights_s[id] > 0 ? past->sums[id] / past->weights_s[id] : value;
	whole->max = fmax(whole->max, value);
	gpu->totals.seconds = fmax(gpu->totals.seconds, past->weights_s[id]);
}

static void count_reasons(struct gpu *gpu, struct gpu_past *past, double seconds)
{
	double weight_s = stands_for(seconds);
	past->throttle_weight_s += weight_s;
	past->throttled_s += gpu_is_throttled(gpu->throttle) ? weight_s : 0;
	gpu->totals.throttled_ratio = past->throttle_weight_s > 0 ? past->throttled_s / past->throttle_weight_s : NAN;
	for (size_t i = 0; i < GPU_THROTTLE_COUNT; i++) {
		past->reason_s[i] += gpu->throttle >> i & 1 ? weight_s : 0;
		gpu->totals.reason_ratio[i] = past->throttle_weight_s > 0 ? past->reason_s[i] / past->throttle_weight_s : NAN;
	}
}

void gpu_count_gauge(struct gpu *gpu, struct gpu_past *past, enum metric metric, double value, double seconds)
{
	if (metric == METRIC_GPU_THROTTLE)
		count_reasons(gpu, past, seconds);
	for (size_t i = 0; i < GPU_WHOLES; i++)
		if (wholes[i].metric == metric)
			count_whole(gpu, past, i, value, seconds);
}

void gpu_count_run_memory(struct gpu *gpu, struct gpu_past *past, double bytes, double seconds)
{
	if (!isnan(bytes))
		count_whole(gpu, past, WHOLE_RUN_MEMORY, bytes, seconds);
}

static void add(double *sum, double growth) { *sum = isnan(*sum) ? growth : *sum + growth; }

void gpu_count_growth(struct gpu *gpu, enum metric metric, double growth)
{
	struct gpu_totals *totals = &gpu->totals;
	switch (metric) {
	case METRIC_GPU_ENERGY: add(&totals->energy_joules, growth); break;
	case METRIC_GPU_PCIE_RECEIVED: add(&totals->received_bytes, growth); break;
	case METRIC_GPU_PCIE_SENT: add(&totals->sent_bytes, growth); break;
	case METRIC_GPU_THROTTLED_POWER: add(&totals->throttled_power_s, growth * 1e-9); break;
	case METRIC_GPU_THROTTLED_THERMAL: add(&totals->throttled_thermal_s, growth * 1e-9); break;
	default: break;
	}
}
