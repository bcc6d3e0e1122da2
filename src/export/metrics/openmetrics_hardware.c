#include "src/export/metrics/openmetrics_hardware.h"

#include <math.h>
#include <stdio.h>

#include "src/export/figures/gpu_figures.h"
#include "src/export/metrics/openmetrics.h"

/* -- GPUs -- */

static void label_gpu(struct openmetrics *text, const struct gpu *gpu)
{
	const struct gpu *whole = gpu->parent >= 0 ? model_gpu(text->scene->model, gpu->parent) : NULL;
	char number[32];
	if (gpu->parent >= 0)
		snprintf(number, sizeof number, "%u.%u", whole ? whole->index : 0, gpu->index);
	else
		snprintf(number, sizeof number, "%u", gpu->index);
	buffer_clear(&text->labels);
	openmetrics_label(text, "gpu", number);
	openmetrics_label(text, "vendor", gpu->vendor);
	openmetrics_label(text, "name", gpu->name);
	openmetrics_label(text, "uuid", gpu->uuid);
}

#define EACH_GPU(text, gpu) \
	for (const struct gpu *gpu = (text)->scene->model->gpus.gpus, \
						  *end_ = gpu ? gpu + (text)->scene->model->gpus.count : NULL; \
		 gpu != end_; gpu++)

/* FAMILY(name, type, unit, help, value) */
#define GPU_FAMILIES(X) \
	X(gpu_up, "gauge", "", "Whether it answers (1) or is lost (0).", gpu->lost[0] ? 0 : 1) \
	X(gpu_is_used, "gauge", "", "Whether the watched run is on it.", gpu->is_ours) \
	X(gpu_utilisation_ratio, "gauge", "ratio", "Share of the driver's last period in which any kernel ran.", \
		GPU_NOW(BUSY)) \
	X(gpu_memory_controller_ratio, "gauge", "ratio", "Share of it in which its memory was read or written.", \
		GPU_NOW(MEMORY_BUSY)) \
	X(gpu_sm_active_ratio, "gauge", "ratio", "Share of its multiprocessors that had a warp.", GPU_NOW(SM_ACTIVE)) \
	X(gpu_sm_occupancy_ratio, "gauge", "ratio", "Warps, of the most that there could be.", GPU_NOW(SM_OCCUPANCY)) \
	X(gpu_tensor_active_ratio, "gauge", "ratio", "Share of the time in which a tensor pipe was active.", \
		GPU_NOW(TENSOR_ACTIVE)) \
	X(gpu_dram_active_ratio, "gauge", "ratio", "Used share of its memory's bandwidth.", GPU_NOW(DRAM_ACTIVE)) \
	X(gpu_memory_bytes, "gauge", "bytes", "Its memory.", GPU_NOW(MEMORY)) \
	X(gpu_memory_used_bytes, "gauge", "bytes", "What is used of it, by whomever.", GPU_NOW(MEMORY_USED)) \
	X(gpu_memory_reserved_bytes, "gauge", "bytes", "What the driver keeps for itself.", GPU_NOW(MEMORY_RESERVED)) \
	X(gpu_process_memory_bytes, "gauge", "bytes", "What the watched run's processes have of it.", \
		gpu->run_memory_bytes) \
	X(gpu_others_memory_bytes, "gauge", "bytes", "What other processes have of it.", gpu->others_memory_bytes) \
	X(gpu_process_utilisation_ratio, "gauge", "ratio", "Share of the time in which the run's processes kept it busy.", \
		gpu->run_busy_ratio) \
	X(gpu_memory_slope_bytes_per_second, "gauge", "", "Slope of the run's memory on it (Theil–Sen).", \
		gpu->slope.points ? gpu->slope.per_s : NAN) \
	X(gpu_power_watts, "gauge", "watts", "What it draws.", gpu->power_w) \
	X(gpu_power_limit_watts, "gauge", "watts", "What it may draw.", GPU_NOW(POWER_LIMIT)) \
	X(gpu_energy_joules, "counter", "joules", "What it used since its driver was loaded.", GPU_NOW(ENERGY)) \
	X(gpu_temperature_celsius, "gauge", "celsius", "Of the chip.", GPU_NOW(TEMPERATURE)) \
	X(gpu_memory_temperature_celsius, "gauge", "celsius", "Of its memory.", GPU_NOW(TEMPERATURE_MEMORY)) \
	X(gpu_temperature_limit_celsius, "gauge", "celsius", "From where it slows down.", GPU_NOW(TEMPERATURE_LIMIT)) \
	X(gpu_clock_hertz, "gauge", "hertz", "Of its multiprocessors.", GPU_NOW(CLOCK)) \
	X(gpu_clock_max_hertz, "gauge", "hertz", "The most that it could be.", GPU_NOW(CLOCK_MAX)) \
	X(gpu_memory_clock_hertz, "gauge", "hertz", "Of its memory.", GPU_NOW(CLOCK_MEMORY)) \
	X(gpu_memory_clock_max_hertz, "gauge", "hertz", "The most that it could be.", GPU_NOW(CLOCK_MEMORY_MAX)) \
	X(gpu_throttled_power_seconds, "counter", "seconds", "Time in which its power limit held it back.", \
		GPU_NOW(THROTTLED_POWER) * 1e-9) \
	X(gpu_throttled_thermal_seconds, "counter", "seconds", "Time in which heat held it back.", \
		GPU_NOW(THROTTLED_THERMAL) * 1e-9) \
	X(gpu_pcie_received_bytes, "counter", "bytes", "From the host.", GPU_NOW(PCIE_RECEIVED)) \
	X(gpu_pcie_sent_bytes, "counter", "bytes", "To the host.", GPU_NOW(PCIE_SENT)) \
	X(gpu_pcie_replays, "counter", "", "Packets that were sent again.", GPU_NOW(PCIE_REPLAYS)) \
	X(gpu_pcie_generation, "gauge", "", "Of its link now; it falls while it is idle.", GPU_NOW(PCIE_GENERATION)) \
	X(gpu_pcie_generation_max, "gauge", "", "That GPU and slot can.", GPU_NOW(PCIE_GENERATION_MAX)) \
	X(gpu_pcie_width, "gauge", "", "Lanes of its link.", GPU_NOW(PCIE_WIDTH)) \
	X(gpu_pcie_width_max, "gauge", "", "That GPU and slot have.", GPU_NOW(PCIE_WIDTH_MAX)) \
	X(gpu_nvlink_received_bytes, "counter", "bytes", "All links.", GPU_NOW(NVLINK_RECEIVED)) \
	X(gpu_nvlink_sent_bytes, "counter", "bytes", "All links.", GPU_NOW(NVLINK_SENT)) \
	X(gpu_ecc_corrected, "counter", "", "Memory errors that were corrected.", GPU_NOW(ECC_CORRECTED)) \
	X(gpu_ecc_uncorrected, "counter", "", "Memory errors that were not.", GPU_NOW(ECC_UNCORRECTED)) \
	X(gpu_reading_seconds, "counter", "seconds", "What asking its driver took: pmtop's own cost.", \
		GPU_NOW(READING) * 1e-9)

static void write_reasons(struct openmetrics *text)
{
	openmetrics_begin(text, "gpu_throttled", "gauge", "", "1 for each reason that throttles it now.");
	EACH_GPU(text, gpu)
	{
		for (unsigned i = 0; i < GPU_THROTTLE_COUNT && !isnan(GPU_NOW(THROTTLE)); i++) {
			label_gpu(text, gpu);
			openmetrics_label(text, "reason", gpu_throttle_name((enum gpu_throttle)i));
			openmetrics_sample(text, "", NULL, gpu->throttle >> i & 1);
		}
	}
}

static void write_gpus(struct openmetrics *text)
{
	openmetrics_begin(text, "gpu", "info", "", "A GPU and its driver.");
	EACH_GPU(text, gpu)
	{
		label_gpu(text, gpu);
		openmetrics_label(text, "pci", gpu->pci);
		openmetrics_label(text, "driver", gpu->driver);
		openmetrics_sample(text, "_info", NULL, 1);
	}
#define EMIT(name, type, unit, help, value) \
	openmetrics_begin(text, #name, type, unit, help); \
	EACH_GPU(text, gpu) \
	{ \
		label_gpu(text, gpu); \
		openmetrics_sample(text, type[0] == 'c' ? "_total" : "", NULL, value); \
	}
	GPU_FAMILIES(EMIT)
#undef EMIT
	write_reasons(text);
}

/* -- energy, heat, CPU counters -- */

static void label_one(struct openmetrics *text, const char *name, const char *value)
{
	buffer_clear(&text->labels);
	openmetrics_label(text, name, value);
}

static void write_energy(struct openmetrics *text)
{
	const struct energy *energy = &text->scene->model->energy;
	openmetrics_begin(
		text, "energy_joules", "counter", "joules", "What a meter of the machine counted since pmtop watches.");
	for (size_t i = 0; i < energy->meter_count; i++) {
		label_one(text, "meter", energy->meters[i].name);
		openmetrics_sample(text, "_total", NULL, energy->meters[i].joules);
	}
	openmetrics_begin(text, "power_watts", "gauge", "watts", "The same as power, between its last two readings.");
	for (size_t i = 0; i < energy->meter_count; i++) {
		label_one(text, "meter", energy->meters[i].name);
		openmetrics_sample(text, "", NULL, energy->meters[i].watts);
	}
	openmetrics_begin(text, "temperature_celsius", "gauge", "celsius", "Of a sensor of the machine.");
	for (size_t i = 0; i < energy->sensor_count; i++) {
		label_one(text, "sensor", energy->sensors[i].name);
		openmetrics_sample(text, "", NULL, energy->sensors[i].celsius);
	}
}

/* Derived from energy and counters: FAMILY(name, unit, help, value) */
#define ENERGY_FAMILIES(X) \
	X(cpu_energy_joules_per_batch, "", "What the machine's CPUs used a batch, lately.", energy->cpu_joules_per_batch) \
	X(gpu_energy_joules_per_batch, "", "What the run's GPUs used a batch, lately.", energy->gpu_joules_per_batch) \
	X(co2_grams, "grams", "By the grid intensity of the config, since pmtop watches.", energy->co2_g) \
	X(cpu_clock_hertz, "hertz", "Mean clock of the CPUs.", energy->cpu_clock_hz)
#define COUNTER_FAMILIES(X) \
	X(instructions_per_cycle, "", "Of the watched tree.", perf->ipc) \
	X(cache_miss_ratio, "ratio", "Of its cache references.", perf->cache_miss_ratio) \
	X(branch_miss_ratio, "ratio", "Of its branches.", perf->branch_miss_ratio) \
	X(flops_per_second, "", "Floating-point operations of its CPUs.", perf->flops_per_s) \
	X(memory_traffic_bytes_per_second, "", "Of the machine's sockets, all programs.", perf->bytes_per_s)

static void write_counters(struct openmetrics *text)
{
	const struct perf *perf = &text->scene->model->perf;
	openmetrics_begin(text, "cpu_counter", "counter", "",
		"A CPU counter of the watched tree since pmtop counts, scaled to the whole time.");
	for (unsigned i = 0; i < perf->event_count && i < PERF_EVENTS_MAX; i++) {
		label_one(text, "event", perf->events[i].name);
		openmetrics_sample(text, "_total", NULL, perf->events[i].is_used ? perf->events[i].total : NAN);
	}
	openmetrics_begin(
		text, "cpu_counter_counted_ratio", "gauge", "ratio", "Share of the time in which it was really counted.");
	for (unsigned i = 0; i < perf->event_count && i < PERF_EVENTS_MAX; i++) {
		label_one(text, "event", perf->events[i].name);
		openmetrics_sample(text, "", NULL, perf->events[i].is_used ? perf->events[i].counted_ratio : NAN);
	}
}

void openmetrics_hardware(struct openmetrics *text)
{
	const struct energy *energy = &text->scene->model->energy;
	const struct perf *perf = &text->scene->model->perf;
	bool is_metered = energy->meter_count || energy->sensor_count, is_counted = perf->seen_ns != 0;
	write_gpus(text);
	write_energy(text);
	write_counters(text);
	buffer_clear(&text->labels);
#define EMIT(name, unit, help, value) \
	openmetrics_begin(text, #name, "gauge", unit, help); \
	openmetrics_sample(text, "", NULL, value);
	if (is_metered || text->scene->model->gpus.count) {
		ENERGY_FAMILIES(EMIT)
	}
	if (is_counted) {
		COUNTER_FAMILIES(EMIT)
	}
#undef EMIT
}
