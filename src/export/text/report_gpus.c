#include "src/export/text/report_gpus.h"

#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/export/table.h"
#include "src/model/gpus/gpus_words.h"
#include "src/model/memory/memory_words.h"

static const char *number(char out[NUMBER_SIZE], double value, const char *unit)
{
	snprintf(out, NUMBER_SIZE, isnan(value) ? "–" : "%.0f %s", value, unit);
	return out;
}

static const char *joules(char out[NUMBER_SIZE], double value)
{
	static const struct {
		double from;
		const char *unit;
	} units[] = { { 1e6, "MJ" }, { 1e3, "kJ" }, { 0, "J" } };
	size_t i = 0;
	if (isnan(value))
		return number(out, value, "");
	while (i + 1 < sizeof units / sizeof *units && value < units[i].from)
		i++;
	snprintf(out, NUMBER_SIZE, "%.3g %s", units[i].from > 0 ? value / units[i].from : value, units[i].unit);
	return out;
}

static void add_header(struct buffer *out)
{
	static const struct {
		int cells;
		const char *name;
	} columns[] = {
		{ 8, "Use" },
		{ 8, "SM" },
		{ 11, "Memory" },
		{ 8, "Power" },
		{ 9, "Energy" },
		{ 7, "Temp." },
		{ 9, "Throttle" },
	};
	table_title(out, "GPUS");
	table_name(out, 0, "GPU");
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		table_right(out, columns[i].cells, columns[i].name);
	buffer_puts(out, "\n");
	table_name(out, 0, "");
	buffer_puts(out, "    mean    mean       peak    mean      all   peak     time\n");
	table_rule(out, '-');
}

static void add_memory(struct buffer *out, const struct gpu *gpu)
{
	const struct gpu_totals *totals = &gpu->totals;
	char text[3][NUMBER_SIZE];
	double size = gpu_now(gpu, METRIC_GPU_MEMORY);
	if (!isnan(totals->run_memory_bytes.max)) {
		buffer_printf(
			out, "    the run had up to %s of its memory", format_bytes(text[0], totals->run_memory_bytes.max));
		if (!isnan(size))
			buffer_printf(out, " of %s", format_bytes(text[1], size));
		buffer_puts(out, "\n");
	}
	if (!gpu_memory_is_growing(gpu))
		return;
	buffer_printf(out, "    memory: %s", memory_verdict_word(gpu->verdict));
	if (!isnan(gpu->slope_per_batch))
		buffer_printf(out, ", %s a batch", format_bytes(text[0], gpu->slope_per_batch));
	if (!isnan(gpu->full_in_s))
		buffer_printf(out, ", full in %s", format_seconds(text[1], gpu->full_in_s));
	buffer_printf(out, "\n    try: %s\n", gpu_memory_next_step(gpu));
}

static void add_reasons(struct buffer *out, const struct gpu_totals *totals)
{
	char words[64], text[NUMBER_SIZE];
	size_t written = 0;
	for (unsigned i = 0; i < GPU_THROTTLE_COUNT; i++)
		if (totals->reason_ratio[i] > 0)
			buffer_printf(out, "%s%s %s of the time",
				written++ ? ", " : "    throttled: ", gpu_throttle_words(1u << i, words, sizeof words),
				format_percent(text, totals->reason_ratio[i]));
	if (written)
		buffer_puts(out, "\n");
}

static void add_happenings(struct buffer *out, const struct gpus *gpus, const struct gpu *gpu)
{
	uint64_t first = gpus->happening_count > GPU_EVENTS_RETAINED ? gpus->happening_count - GPU_EVENTS_RETAINED : 0;
	for (uint64_t i = first; i < gpus->happening_count; i++)
		if (gpus->happenings[i % GPU_EVENTS_RETAINED].instance == gpu->instance)
			buffer_printf(out, "    %s\n", gpus->happenings[i % GPU_EVENTS_RETAINED].text);
	if (gpu->lost[0])
		buffer_printf(out, "    lost: %s\n", gpu->lost);
}

static void add_gpu(struct buffer *out, const struct model *model, const struct gpu *gpu)
{
	const struct gpu_totals *totals = &gpu->totals;
	char name[128], label[48], text[NUMBER_SIZE];
	snprintf(name, sizeof name, "%s %s", gpu_label(model, gpu, label, sizeof label), gpu->name);
	table_name(out, 0, name);
	table_right(out, 8, format_percent(text, totals->busy_ratio.mean));
	table_right(out, 8, format_percent(text, totals->sm_active_ratio.mean));
	table_right(out, 11, format_bytes(text, totals->memory_used_bytes.max));
	table_right(out, 8, number(text, totals->power_w.mean, "W"));
	table_right(out, 9, joules(text, totals->energy_joules));
	table_right(out, 7, number(text, totals->temperature_c.max, "°C"));
	table_right(out, 9, format_percent(text, totals->throttled_ratio));
	buffer_puts(out, "\n");
	add_memory(out, gpu);
	add_reasons(out, totals);
	add_happenings(out, &model->gpus, gpu);
}

/* The GPUs of the run; all of them if it used none, because it may have failed to find them. */
void report_gpus(struct buffer *out, const struct model *model)
{
	const struct gpus *gpus = &model->gpus;
	bool has_ours = false;
	if (gpus->count == 0)
		return;
	for (size_t i = 0; i < gpus->count; i++)
		has_ours |= gpus->gpus[i].totals.was_ours;
	add_header(out);
	if (!has_ours)
		buffer_puts(out, "The run used none of them\n");
	for (size_t i = 0; i < gpus->count; i++)
		if (gpus->gpus[i].totals.was_ours || !has_ours)
			add_gpu(out, model, &gpus->gpus[i]);
	table_rule(out, '=');
	buffer_puts(out, "\n");
}
