#include "src/export/figures/gpu_batch.h"

#include <math.h>

#include "src/model/gpus/gpus_runs.h"

enum joining { JOIN_MEAN, JOIN_SUM, JOIN_MAX };

const char *const gpu_batch_names[GPU_BATCH_COUNT] = {
#define NAME(name, series, joining) [GPU_BATCH_##name] = #name,
	GPU_BATCH_FIGURES(NAME)
#undef NAME
};

static const enum joining joinings[GPU_BATCH_COUNT] = {
#define JOINING(name, series, joining) [GPU_BATCH_##name] = JOIN_##joining,
	GPU_BATCH_FIGURES(JOINING)
#undef JOINING
};

static const struct series *series_of(const struct gpu *gpu, enum gpu_batch_figure figure)
{
	const struct series *const all[GPU_BATCH_COUNT] = {
#define SERIES(name, member, joining) [GPU_BATCH_##name] = gpu->series.member,
		GPU_BATCH_FIGURES(SERIES)
#undef SERIES
	};
	return all[figure];
}

/* A MIG instance without its own series uses its GPU's. */
static double mean_over(
	const struct model *model, const struct gpu *gpu, enum gpu_batch_figure figure, int64_t from_ns, int64_t to_ns)
{
	struct series_column column;
	const struct gpu *whole = gpu->parent >= 0 ? model_gpu(model, gpu->parent) : NULL;
	series_columns(series_of(gpu, figure), from_ns, to_ns, &column, 1);
	if (!column.has && whole)
		series_columns(series_of(whole, figure), from_ns, to_ns, &column, 1);
	return column.has ? column.mean : NAN;
}

static double join(enum joining joining, double all, double value)
{
	if (isnan(all) || isnan(value))
		return isnan(all) ? value : all;
	return joining == JOIN_MAX ? fmax(all, value) : all + value;
}

bool gpu_batch_figures(
	const struct export_scene *scene, const struct finished_batch *written, double out[GPU_BATCH_COUNT])
{
	const struct gpu *gpus[GPUS_MAX];
	size_t count = scene->model->gpus.count ? run_gpus(scene->model, written->run, gpus) : 0, known_figures = 0;
	double step_s = isnan(written->batch->step_s) ? written->batch->batch_s : written->batch->step_s;
	int64_t from_ns = written->batch->begin_ns,
			to_ns = isnan(step_s) ? from_ns : from_ns + (int64_t)(fmin(step_s, 1e8) * 1e9);
	for (size_t figure = 0; figure < GPU_BATCH_COUNT; figure++) {
		size_t known = 0;
		out[figure] = NAN;
		for (size_t i = 0; i < count; i++) {
			double value = mean_over(scene->model, gpus[i], (enum gpu_batch_figure)figure, from_ns, to_ns);
			known += isnan(value) ? 0 : 1;
			out[figure] = join(joinings[figure], out[figure], value);
		}
		if (joinings[figure] == JOIN_MEAN && known)
			out[figure] /= (double)known;
		known_figures += known > 0;
	}
	return known_figures > 0;
}
