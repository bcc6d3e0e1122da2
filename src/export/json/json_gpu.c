#include "src/export/json/json_gpu.h"

#include <math.h>
#include <stdlib.h>

#include "src/export/figures/gpu_figures.h"
#include "src/model/gpus/gpus_runs.h"
#include "src/model/memory/memory_words.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"

void json_gpu_identity(struct json *json, const struct model *model, const struct gpu *gpu)
{
	const struct gpu *whole = gpu->parent >= 0 ? model_gpu(model, gpu->parent) : NULL;
	json_unsigned(json, "index", gpu->index);
	if (whole)
		json_unsigned(json, "part_of", whole->index);
	json_text(json, "vendor", gpu->vendor);
	json_text(json, "name", gpu->name);
	json_text(json, "uuid", gpu->uuid[0] ? gpu->uuid : NULL);
}

struct row {
	const char *key;
	double value;
};

/* Omits a group whose figures are all unknown. */
static void write_part(struct json *json, const char *key, const struct row *rows, size_t count)
{
	size_t known = 0;
	for (size_t i = 0; i < count; i++)
		known += isfinite(rows[i].value) ? 1 : 0;
	if (known == 0)
		return;
	if (key)
		json_open_object(json, key);
	for (size_t i = 0; i < count; i++)
		json_number(json, rows[i].key, rows[i].value);
	if (key)
		json_close_object(json);
}

static void write_throttle(struct json *json, const struct gpu *gpu)
{
	if (isnan(gpu_now(gpu, METRIC_GPU_THROTTLE)))
		return;
	json_open_array(json, "throttle");
	for (unsigned i = 0; i < GPU_THROTTLE_COUNT; i++)
		if (gpu->throttle >> i & 1)
			json_text(json, NULL, gpu_throttle_name((enum gpu_throttle)i));
	json_close_array(json);
}

#define ROW(name, value) { #name, value },
void json_gpu_figures(struct json *json, const struct gpu *gpu)
{
	const struct row figures[] = { GPU_FIGURES(ROW) }, pcie[] = { GPU_PCIE_FIGURES(ROW) },
					 nvlink[] = { GPU_NVLINK_FIGURES(ROW) }, ecc[] = { GPU_ECC_FIGURES(ROW) };
	write_part(json, NULL, figures, sizeof figures / sizeof *figures);
	write_throttle(json, gpu);
	write_part(json, "pcie", pcie, sizeof pcie / sizeof *pcie);
	write_part(json, "nvlink", nvlink, sizeof nvlink / sizeof *nvlink);
	write_part(json, "ecc", ecc, sizeof ecc / sizeof *ecc);
}
#undef ROW

static void write_processes(struct json *json, const struct gpu *gpu)
{
	if (!gpu->processes_ns)
		return;
	json_open_array(json, "processes");
	for (size_t i = 0; i < gpu->process_count; i++) {
		const struct gpu_process *process = &gpu->processes[i];
		json_open_object(json, NULL);
		json_integer(json, "pid", process->pid);
		json_text(json, "command", process->command[0] ? process->command : NULL);
		json_bool(json, "is_ours", process->is_ours);
		json_open_array(json, "kinds");
		if (process->kind & GPU_PROCESS_COMPUTE)
			json_text(json, NULL, "compute");
		if (process->kind & GPU_PROCESS_GRAPHICS)
			json_text(json, NULL, "graphics");
		json_close_array(json);
		json_number(json, "memory_bytes", process->memory_bytes);
		json_number(json, "utilisation_ratio", process->busy_ratio);
		json_close_object(json);
	}
	json_close_array(json);
}

/* The driver's figure and the allocator's. */
static void write_runs(struct json *json, const struct model *model, const struct gpu *gpu)
{
	json_open_array(json, "runs");
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *run = &model->runs[i];
		if (!run->is_used || !run_uses_gpu(model, run, gpu))
			continue;
		struct allocator allocator = run_allocator(run);
		json_open_object(json, NULL);
		json_integer(json, "pid", run->pid);
		if (rank_number(run) >= 0)
			json_integer(json, "rank", rank_number(run));
		json_number(json, "process_memory_bytes", gpu_memory_of_run(model, run, gpu));
		json_number(json, "allocated_bytes", allocator.allocated_bytes);
		json_number(json, "reserved_bytes", allocator.reserved_bytes);
		json_number(json, "peak_bytes", allocator.peak_bytes);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_memory(struct json *json, const struct gpu *gpu)
{
	if (!gpu->is_ours)
		return;
	json_open_object(json, "memory");
	json_text(json, "verdict", memory_verdict_word(gpu->verdict));
	if (gpu->slope.points) {
		json_number(json, "slope_bytes_per_s", gpu->slope.per_s);
		json_number(json, "slope_low_bytes_per_s", gpu->slope.low_per_s);
		json_number(json, "slope_high_bytes_per_s", gpu->slope.high_per_s);
	}
	json_number(json, "slope_bytes_per_batch", gpu->slope_per_batch);
	json_number(json, "full_in_s", gpu->full_in_s);
	json_close_object(json);
}

static void write_whole(struct json *json, const char *key, const struct gpu_whole *whole)
{
	if (isnan(whole->mean))
		return;
	json_open_object(json, key);
	json_number(json, "mean", whole->mean);
	json_number(json, "max", whole->max);
	json_close_object(json);
}

static void write_totals(struct json *json, const struct gpu_totals *totals)
{
	if (!(totals->seconds > 0))
		return;
	json_open_object(json, "totals");
	json_number(json, "seconds", totals->seconds);
	write_whole(json, "utilisation_ratio", &totals->busy_ratio);
	write_whole(json, "sm_active_ratio", &totals->sm_active_ratio);
	write_whole(json, "memory_used_bytes", &totals->memory_used_bytes);
	write_whole(json, "process_memory_bytes", &totals->run_memory_bytes);
	write_whole(json, "power_w", &totals->power_w);
	write_whole(json, "temperature_c", &totals->temperature_c);
	json_number(json, "energy_j", totals->energy_joules);
	json_number(json, "pcie_received_bytes", totals->received_bytes);
	json_number(json, "pcie_sent_bytes", totals->sent_bytes);
	json_number(json, "throttled_ratio", totals->throttled_ratio);
	json_number(json, "throttled_power_s", totals->throttled_power_s);
	json_number(json, "throttled_thermal_s", totals->throttled_thermal_s);
	json_open_object(json, "reasons");
	for (unsigned i = 0; i < GPU_THROTTLE_COUNT; i++)
		if (totals->reason_ratio[i] > 0)
			json_number(json, gpu_throttle_name((enum gpu_throttle)i), totals->reason_ratio[i]);
	json_close_object(json);
	json_close_object(json);
}

static void write_events(struct json *json, const struct gpus *gpus, const struct gpu *gpu, int64_t realtime_offset_ns)
{
	uint64_t first = gpus->happening_count > GPU_EVENTS_RETAINED ? gpus->happening_count - GPU_EVENTS_RETAINED : 0;
	json_open_array(json, "events");
	for (uint64_t i = first; i < gpus->happening_count; i++) {
		const struct gpu_happening *happening = &gpus->happenings[i % GPU_EVENTS_RETAINED];
		if (happening->instance != gpu->instance)
			continue;
		json_open_object(json, NULL);
		json_integer(json, "time_ns", happening->time_ns + realtime_offset_ns);
		if (happening->code)
			json_unsigned(json, "code", happening->code);
		json_text(json, "text", happening->text);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_gpu(struct json *json, const struct model *model, const struct gpu *gpu, int64_t realtime_offset_ns)
{
	json_open_object(json, NULL);
	json_gpu_identity(json, model, gpu);
	json_text(json, "pci", gpu->pci[0] ? gpu->pci : NULL);
	json_text(json, "driver", gpu->driver[0] ? gpu->driver : NULL);
	json_text(json, "lost", gpu->lost[0] ? gpu->lost : NULL);
	json_bool(json, "is_ours", gpu->is_ours);
	if (gpu->is_ours_by_place)
		json_bool(json, "is_ours_by_place", true);
	json_gpu_figures(json, gpu);
	write_processes(json, gpu);
	write_runs(json, model, gpu);
	write_memory(json, gpu);
	write_totals(json, &gpu->totals);
	write_events(json, &model->gpus, gpu, realtime_offset_ns);
	/* CPU time for reading its driver, as a share of one CPU. */
	json_number(json, "reading_ratio", gpu_rate(gpu, METRIC_GPU_READING) * 1e-9);
	json_close_object(json);
}

void json_gpus(struct json *json, const struct model *model, int64_t realtime_offset_ns)
{
	if (model->gpus.count == 0)
		return;
	json_open_array(json, "gpu");
	for (size_t i = 0; i < model->gpus.count; i++)
		write_gpu(json, model, &model->gpus.gpus[i], realtime_offset_ns);
	json_close_array(json);
}
