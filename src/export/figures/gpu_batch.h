/* gpu_batch.h: the means of the GPUs' series over one batch: FIGURE(name, series, how to combine several GPUs).
 * Internal to src/export. */
#ifndef PMTOP_EXPORT_FIGURES_GPU_BATCH_H
#define PMTOP_EXPORT_FIGURES_GPU_BATCH_H

#include "src/export/finished.h"

#define GPU_BATCH_FIGURES(X) \
	X(utilisation_ratio, busy_ratio, MEAN) \
	X(sm_active_ratio, sm_active_ratio, MEAN) \
	X(process_memory_bytes, run_memory_bytes, SUM) \
	X(power_w, power_w, SUM) \
	X(temperature_c, temperature_c, MAX) \
	X(clock_hz, clock_hz, MEAN) \
	X(throttled_ratio, throttled, MEAN) \
	X(pcie_bytes_per_s, pcie_bytes_per_s, SUM)

enum gpu_batch_figure {
#define GPU_BATCH_ID(name, series, joining) GPU_BATCH_##name,
	GPU_BATCH_FIGURES(GPU_BATCH_ID)
#undef GPU_BATCH_ID
		GPU_BATCH_COUNT
};

extern const char *const gpu_batch_names[GPU_BATCH_COUNT]; /* "utilisation_ratio" */
/* Means over the batch's step; NAN without a reading in it. False: all are unknown. */
bool gpu_batch_figures(
	const struct export_scene *scene, const struct finished_batch *written, double out[GPU_BATCH_COUNT]);

#endif
