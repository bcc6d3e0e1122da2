#include "src/export/text/report_gpus.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/export/table.h"
#include "src/model/gpus/gpus_words.h"
#include "src/model/memory/memory_words.h"

static const char *format_whole_watts(char out[NUMBER_SIZE], double watts)
{
	snprintf(out, NUMBER_SIZE, isnan(watts) ? "–" : "%.0f W", watts);
	return out;
}

static const char *format_energy(char out[NUMBER_SIZE], double value)
{
	static const struct {
		double from;
		const char *unit;
	} units[] = { { 1e6, "MJ" }, { 1e3, "kJ" }, { 0, "J" } };
	size_t i = 0;
	while (i + 1 < sizeof units / sizeof *units && value < units[i].from)
		i++;
	snprintf(out, NUMBER_SIZE, isnan(value) ? "–" : "%.3g %s", units[i].from > 0 ? value / units[i].from : value,
		units[i].unit);
	return out;
}

static const struct {
	int cells;
	const char *name, *of;
	const char *(*format)(char out[NUMBER_SIZE], double value);
} columns[] = {
	{ 8, "Use", "mean", format_percent },
	{ 8, "SM", "mean", format_percent },
	{ 11, "Memory", "peak", format_bytes },
	{ 8, "Power", "mean", format_whole_watts },
	{ 9, "Energy", "all", format_energy },
	{ 7, "Temp.", "peak", format_celsius },
	{ 9, "Throttle", "time", format_percent },
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* In the order of the columns. */
static void read_values(const struct gpu *gpu, double out[COLUMNS])
{
	const struct gpu_totals *totals = &gpu->totals;
	const double values[COLUMNS] = { totals->busy_ratio.mean, totals->sm_active_ratio.mean,
		totals->memory_used_bytes.max, totals->power_w.mean, totals->energy_joules, totals->temperature_c.max,
		totals->throttled_ratio };
	memcpy(out, values, sizeof values);
}

/* is_known: columns that some GPU of the table fills. */
static void add_header(struct buffer *out, const bool is_known[COLUMNS])
{
	table_title(out, "GPUS");
	table_name(out, 0, "GPU");
	for (size_t i = 0; i < COLUMNS; i++)
		table_right(out, is_known[i] ? columns[i].cells : 0, is_known[i] ? columns[i].name : "");
	buffer_puts(out, "\n");
	table_name(out, 0, "");
	for (size_t i = 0; i < COLUMNS; i++)
		table_right(out, is_known[i] ? columns[i].cells : 0, is_known[i] ? columns[i].of : "");
	buffer_puts(out, "\n");
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

static void add_gpu(struct buffer *out, const struct model *model, const struct gpu *gpu, const bool is_known[COLUMNS])
{
	char name[128], label[48], text[NUMBER_SIZE];
	double values[COLUMNS];
	read_values(gpu, values);
	snprintf(name, sizeof name, "%s %s", gpu_label(model, gpu, label, sizeof label), gpu->name);
	table_name(out, 0, name);
	for (size_t i = 0; i < COLUMNS; i++)
		if (is_known[i])
			table_right(out, columns[i].cells, columns[i].format(text, values[i]));
	buffer_puts(out, "\n");
	add_memory(out, gpu);
	add_reasons(out, &gpu->totals);
	add_happenings(out, &model->gpus, gpu);
}

/* The GPUs of the run; all of them if it used none, because it may have failed to find them. */
void report_gpus(struct buffer *out, const struct model *model)
{
	const struct gpus *gpus = &model->gpus;
	bool has_ours = false, is_known[COLUMNS] = { false };
	double values[COLUMNS];
	if (gpus->count == 0)
		return;
	for (size_t i = 0; i < gpus->count; i++)
		has_ours |= gpus->gpus[i].totals.was_ours;
	for (size_t i = 0; i < gpus->count; i++) {
		read_values(&gpus->gpus[i], values);
		for (size_t k = 0; k < COLUMNS; k++)
			is_known[k] |= (gpus->gpus[i].totals.was_ours || !has_ours) && !isnan(values[k]);
	}
	add_header(out, is_known);
	if (!has_ours)
		buffer_puts(out, "The run used none of them\n");
	for (size_t i = 0; i < gpus->count; i++)
		if (gpus->gpus[i].totals.was_ours || !has_ours)
			add_gpu(out, model, &gpus->gpus[i], is_known);
	table_rule(out, '=');
	buffer_puts(out, "\n");
}
