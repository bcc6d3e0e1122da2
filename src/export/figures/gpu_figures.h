/* gpu_figures.h: the figures of a GPU and their names, the same in every format: FIGURE(name, value of `gpu`).
 * Internal to src/export. */
#ifndef PMTOP_EXPORT_FIGURES_GPU_FIGURES_H
#define PMTOP_EXPORT_FIGURES_GPU_FIGURES_H

#include "src/model/model.h"

#define GPU_NOW(metric) gpu_now(gpu, METRIC_GPU_##metric)
#define GPU_RATE(metric) gpu_rate(gpu, METRIC_GPU_##metric)
#define GPU_FIGURES(X) \
	X(utilisation_ratio, GPU_NOW(BUSY)) \
	X(memory_controller_ratio, GPU_NOW(MEMORY_BUSY)) \
	X(sm_active_ratio, GPU_NOW(SM_ACTIVE)) \
	X(sm_occupancy_ratio, GPU_NOW(SM_OCCUPANCY)) \
	X(tensor_active_ratio, GPU_NOW(TENSOR_ACTIVE)) \
	X(dram_active_ratio, GPU_NOW(DRAM_ACTIVE)) \
	X(memory_used_bytes, GPU_NOW(MEMORY_USED)) \
	X(memory_total_bytes, GPU_NOW(MEMORY)) \
	X(memory_reserved_bytes, GPU_NOW(MEMORY_RESERVED)) \
	X(process_memory_bytes, gpu->run_memory_bytes) \
	X(process_utilisation_ratio, gpu->run_busy_ratio) \
	X(others_memory_bytes, gpu->others_memory_bytes) \
	X(power_w, gpu->power_w) \
	X(power_limit_w, GPU_NOW(POWER_LIMIT)) \
	X(energy_j, GPU_NOW(ENERGY)) \
	X(temperature_c, GPU_NOW(TEMPERATURE)) \
	X(memory_temperature_c, GPU_NOW(TEMPERATURE_MEMORY)) \
	X(temperature_limit_c, GPU_NOW(TEMPERATURE_LIMIT)) \
	X(clock_hz, GPU_NOW(CLOCK)) \
	X(clock_max_hz, GPU_NOW(CLOCK_MAX)) \
	X(memory_clock_hz, GPU_NOW(CLOCK_MEMORY)) \
	X(memory_clock_max_hz, GPU_NOW(CLOCK_MEMORY_MAX)) \
	X(throttled_power_ratio, gpu->throttled_power_ratio) \
	X(throttled_thermal_ratio, gpu->throttled_thermal_ratio)
#define GPU_PCIE_FIGURES(X) \
	X(received_bytes_per_s, GPU_RATE(PCIE_RECEIVED)) \
	X(sent_bytes_per_s, GPU_RATE(PCIE_SENT)) \
	X(replays, GPU_NOW(PCIE_REPLAYS)) \
	X(generation, GPU_NOW(PCIE_GENERATION)) \
	X(generation_max, GPU_NOW(PCIE_GENERATION_MAX)) \
	X(width, GPU_NOW(PCIE_WIDTH)) \
	X(width_max, GPU_NOW(PCIE_WIDTH_MAX))
#define GPU_NVLINK_FIGURES(X) \
	X(received_bytes_per_s, GPU_RATE(NVLINK_RECEIVED)) \
	X(sent_bytes_per_s, GPU_RATE(NVLINK_SENT))
#define GPU_ECC_FIGURES(X) \
	X(corrected, GPU_NOW(ECC_CORRECTED)) \
	X(uncorrected, GPU_NOW(ECC_UNCORRECTED))

/* The prefix of a column's name: "gpu0", "gpu1.2" (a MIG instance), "amd.gpu0" if its vendor is not the first GPU's.
 * Returns out. */
const char *gpu_column(const struct model *model, const struct gpu *gpu, char *out, size_t size);
/* "power_cap" of GPU_THROTTLE_POWER_CAP. */
const char *gpu_throttle_name(enum gpu_throttle throttle);

#endif
