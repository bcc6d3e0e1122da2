#include "src/export/scrape/scrape_devices.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/export/figures/gpu_figures.h"
#include "src/export/scrape/scrape.h"

enum { RANK_GPUS_MAX = 8 };

/* As dcgm-exporter labels them, so that its metrics can be joined with these. */
static void label_gpu(struct scrape *scrape, const struct model *model, const struct gpu *gpu)
{
	const struct gpu *whole = gpu->parent >= 0 ? model_gpu(model, gpu->parent) : NULL;
	char number[32];
	if (whole)
		snprintf(number, sizeof number, "%u.%u", whole->index, gpu->index);
	else
		snprintf(number, sizeof number, "%u", gpu->index);
	openmetrics_label(&scrape->text, "gpu", number);
	openmetrics_label(&scrape->text, "UUID", gpu->uuid);
}

/* Several sources see the same GPUs. */
static bool is_seen(const struct scrape *scrape, size_t source, const struct gpu *gpu)
{
	for (size_t i = 0; i < source; i++) {
		const struct gpus *gpus = &scrape->sources[i].model->gpus;
		for (size_t k = 0; k < gpus->count; k++)
			if (gpus->gpus[k].instance == gpu->instance && strcmp(gpus->gpus[k].uuid, gpu->uuid) == 0)
				return true;
	}
	return false;
}

/* FAMILY(name, type, suffix, unit, help, value) */
#define GPU_FAMILIES(X) \
	X(gpu_up, "gauge", "", "", "Whether it answers (1) or is lost (0).", gpu->lost[0] ? 0 : 1) \
	X(gpu_utilization_ratio, "gauge", "", "ratio", "Share of the driver's last period with a kernel running.", \
		GPU_NOW(BUSY)) \
	X(gpu_memory_used_bytes, "gauge", "", "bytes", "Used, by all programs.", GPU_NOW(MEMORY_USED)) \
	X(gpu_memory_total_bytes, "gauge", "", "bytes", "Its memory.", GPU_NOW(MEMORY)) \
	X(gpu_power_watts, "gauge", "", "watts", "Its power.", gpu->power_w) \
	X(gpu_energy_joules, "counter", "_total", "joules", "Its energy since the driver was loaded.", GPU_NOW(ENERGY)) \
	X(gpu_temperature_celsius, "gauge", "", "celsius", "Temperature of the chip.", GPU_NOW(TEMPERATURE)) \
	X(gpu_clock_hertz, "gauge", "", "hertz", "Clock of its SMs.", GPU_NOW(CLOCK))

static void write_gpus(struct scrape *scrape)
{
#define EMIT(name, type, suffix, unit, help, value) \
	openmetrics_begin(&scrape->text, #name, type, unit, help); \
	for (size_t i = 0; i < scrape->source_count; i++) { \
		const struct model *model = scrape->sources[i].model; \
		for (size_t k = 0; k < model->gpus.count; k++) { \
			const struct gpu *gpu = &model->gpus.gpus[k]; \
			if (is_seen(scrape, i, gpu)) \
				continue; \
			buffer_clear(&scrape->text.labels); \
			label_gpu(scrape, model, gpu); \
			openmetrics_sample(&scrape->text, suffix, NULL, value); \
		} \
	}
	GPU_FAMILIES(EMIT)
#undef EMIT
}

/* Which GPUs a rank uses; without several runs in one model, those of the whole target. */
static bool is_of_subject(const struct scrape_subject *subject, const struct gpu *gpu)
{
	if (subject->run && subject->index < 64 && gpu->totals.runs)
		return gpu->totals.runs >> subject->index & 1;
	return gpu->is_ours && subject->source->model->run_count < 2;
}

static void write_places(struct scrape *scrape)
{
	openmetrics_begin(&scrape->text, "rank_gpu", "info", "", "A GPU that the rank uses.");
	EACH_SUBJECT(scrape, subject)
	{
		const struct model *model = subject->source->model;
		unsigned count = 0;
		for (size_t k = 0; k < model->gpus.count && count < RANK_GPUS_MAX; k++) {
			if (!is_of_subject(subject, &model->gpus.gpus[k]))
				continue;
			scrape_label(scrape, subject);
			label_gpu(scrape, model, &model->gpus.gpus[k]);
			openmetrics_sample(&scrape->text, "_info", NULL, 1);
			count++;
		}
	}
}

void scrape_devices(struct scrape *scrape)
{
	write_gpus(scrape);
	write_places(scrape);
}
