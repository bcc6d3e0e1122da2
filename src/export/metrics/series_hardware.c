#include "src/export/metrics/series_hardware.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/formats/cells.h"
#include "src/export/figures/gpu_figures.h"

/* Adds the column when its figure is first known. */
static void add(struct wide *wide, const char *of, const char *name, double value)
{
	char column[192];
	if (!isfinite(value))
		return;
	snprintf(column, sizeof column, "%s.%s", of, name);
	cell_number(wide_cell(wide, wide_column(wide, column)), value);
}

static void add_gpu(struct wide *wide, const struct model *model, const struct gpu *gpu)
{
	char of[64];
	gpu_column(model, gpu, of, sizeof of);
#define ADD(name, value) add(wide, of, #name, value);
	GPU_FIGURES(ADD)
#undef ADD
#define ADD(name, value) add(wide, of, "pcie_" #name, value);
	GPU_PCIE_FIGURES(ADD)
#undef ADD
#define ADD(name, value) add(wide, of, "nvlink_" #name, value);
	GPU_NVLINK_FIGURES(ADD)
#undef ADD
#define ADD(name, value) add(wide, of, "ecc_" #name, value);
	GPU_ECC_FIGURES(ADD)
#undef ADD
	add(wide, of, "throttle", GPU_NOW(THROTTLE));
}

static void add_energy(struct wide *wide, const struct energy *energy)
{
	char of[96];
	for (size_t i = 0; i < energy->meter_count; i++) {
		snprintf(of, sizeof of, "energy.%s", energy->meters[i].name);
		add(wide, of, "watts", energy->meters[i].watts);
		add(wide, of, "joules", energy->meters[i].joules);
	}
	for (size_t i = 0; i < energy->sensor_count; i++) {
		snprintf(of, sizeof of, "heat.%s", energy->sensors[i].name);
		add(wide, of, "celsius", energy->sensors[i].celsius);
	}
	add(wide, "cpu", "clock_hz", energy->cpu_clock_hz);
	add(wide, "cpu", "heat_throttles_per_s", energy->throttles_per_s);
}

static void add_counters(struct wide *wide, const struct perf *perf)
{
	char of[96];
	for (unsigned i = 0; i < perf->event_count && i < PERF_EVENTS_MAX; i++) {
		snprintf(of, sizeof of, "counter.%s", perf->events[i].name);
		add(wide, of, "per_s", perf->events[i].is_used ? perf->events[i].per_s : NAN);
	}
	add(wide, "counter", "instructions_per_cycle", perf->ipc);
	add(wide, "counter", "flops_per_s", perf->flops_per_s);
}

/* The hardware of which a set has figures. */
struct hardware {
	bool energy, counters, gpus[GPUS_MAX];
};

static void note_gpu(struct hardware *hardware, const struct model *model, int32_t instance)
{
	for (size_t i = 0; i < model->gpus.count && i < GPUS_MAX; i++)
		hardware->gpus[i] |= model->gpus.gpus[i].instance == instance;
}

void series_hardware(struct wide *wide, const struct model *model, const struct sample_set *set)
{
	struct hardware hardware = { .energy = false };
	for (size_t i = 0; i < set->count; i++) {
		const struct record *record = &set->records[i];
		enum metric metric = record->kind == RECORD_FIGURE ? record->figure.metric : METRIC_COUNT;
		hardware.counters |= record->kind == RECORD_PERF_COUNT;
		hardware.energy |= metric >= METRIC_ENERGY_USED && metric < METRIC_SELF_CPU;
		if (metric >= METRIC_GPU_FIRST && metric <= METRIC_GPU_LAST)
			note_gpu(&hardware, model, record->figure.instance);
		else if (record->kind == RECORD_GPU_PROCESSES)
			note_gpu(&hardware, model, record->gpu_processes.gpu);
	}
	for (size_t i = 0; i < model->gpus.count && i < GPUS_MAX; i++)
		if (hardware.gpus[i])
			add_gpu(wide, model, &model->gpus.gpus[i]);
	if (hardware.energy)
		add_energy(wide, &model->energy);
	if (hardware.counters)
		add_counters(wide, &model->perf);
}
