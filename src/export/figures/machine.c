#include "src/export/figures/machine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/export/table.h"
#include "src/model/gpus/gpus_words.h"

enum machine_unit { MACHINE_RATIO, MACHINE_BYTES, MACHINE_BYTES_PER_S };
enum { ROWS_MAX = 8 + 2 * DEVICES_MAX + DEVICES_MAX + 2 * GPUS_MAX };

/* One figure: of the whole machine, or of a device. */
struct row {
	const char *list; /* the JSON array that it is in; NULL: the object itself */
	char device[64];  /* its name there */
	const char *key;  /* in JSON */
	char title[96];
	enum machine_unit unit;
	double mean, max;
};

struct rows {
	size_t count;
	struct row rows[ROWS_MAX];
};

/* Returns NULL if the figure is unknown. */
static struct row *add_row(struct rows *rows, const char *key, enum machine_unit unit, double mean, double max)
{
	if (rows->count == ROWS_MAX || !isfinite(mean) || !isfinite(max))
		return NULL;
	struct row *row = &rows->rows[rows->count++];
	*row = (struct row){ .key = key, .unit = unit, .mean = mean, .max = max };
	return row;
}

static struct row *add_series(
	struct rows *rows, const struct model *model, const struct series *series, const char *key, enum machine_unit unit)
{
	double min, max = NAN, mean = NAN;
	if (!series_extremes(series, &min, &max) || !series_mean(series, series_first_ns(series), model->now_ns + 1, &mean))
		return NULL;
	return add_row(rows, key, unit, mean, max);
}

static void add_machine(struct rows *rows, const struct model *model)
{
	const struct system *system = &model->system;
	const struct {
		const struct series *series;
		const char *key, *title;
		enum machine_unit unit;
	} figures[] = {
		{ system->series.cpu_ratio, "cpu_ratio", "CPU", MACHINE_RATIO },
		{ system->series.io_wait_ratio, "io_wait_ratio", "I/O wait", MACHINE_RATIO },
		{ system->series.memory_ratio, "memory_ratio", "Memory", MACHINE_RATIO },
		{ system->series.swap_per_s, "swap_bytes_per_s", "To and from swap", MACHINE_BYTES_PER_S },
	};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		struct row *row = add_series(rows, model, figures[i].series, figures[i].key, figures[i].unit);
		if (row)
			snprintf(row->title, sizeof row->title, "%s", figures[i].title);
	}
}

static void name_device(struct row *row, const char *list, const char *name, const char *title, const char *what)
{
	if (!row)
		return;
	row->list = list;
	snprintf(row->device, sizeof row->device, "%s", name);
	snprintf(row->title, sizeof row->title, "%s%s%s%s", title, title[0] ? " " : "", name, what);
}

/* Devices without history were never used. */
static void add_devices(struct rows *rows, const struct model *model)
{
	const struct system *system = &model->system;
	for (size_t i = 0; i < system->disk_count; i++) {
		const struct device *disk = &system->disks[i];
		name_device(
			add_series(rows, model, disk->series, "busy_ratio", MACHINE_RATIO), "disks", disk->name, "Disk", ", busy");
		name_device(add_series(rows, model, disk->bytes_series, "bytes_per_s", MACHINE_BYTES_PER_S), "disks",
			disk->name, "Disk", ", read and written");
	}
	for (size_t i = 0; i < system->network_count; i++)
		name_device(add_series(rows, model, system->networks[i].series, "bytes_per_s", MACHINE_BYTES_PER_S), "networks",
			system->networks[i].name, "Network", "");
}

/* Those that the run used. */
static void add_gpus(struct rows *rows, const struct model *model)
{
	for (size_t i = 0; i < model->gpus.count; i++) {
		const struct gpu *gpu = &model->gpus.gpus[i];
		const struct gpu_totals *totals = &gpu->totals;
		char label[48];
		if (!totals->was_ours)
			continue;
		gpu_label(model, gpu, label, sizeof label);
		name_device(add_row(rows, "utilisation_ratio", MACHINE_RATIO, totals->busy_ratio.mean, totals->busy_ratio.max),
			"gpus", label, "", " use");
		name_device(add_row(rows, "memory_used_bytes", MACHINE_BYTES, totals->memory_used_bytes.mean,
						totals->memory_used_bytes.max),
			"gpus", label, "", " memory");
	}
}

static void fill(struct rows *rows, const struct model *model)
{
	rows->count = 0;
	add_machine(rows, model);
	add_devices(rows, model);
	add_gpus(rows, model);
}

/* -- JSON -- */

static void write_row(struct json *json, const struct row *row)
{
	json_open_object(json, row->key);
	json_number(json, "mean", row->mean);
	json_number(json, "max", row->max);
	json_close_object(json);
}

static bool is_same(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

void machine_as_json(struct json *json, const struct model *model)
{
	struct rows rows;
	fill(&rows, model);
	if (!rows.count)
		return;
	json_open_object(json, "machine");
	const struct row *last = NULL;
	for (size_t i = 0; i < rows.count; i++) {
		const struct row *row = &rows.rows[i];
		bool is_same_list = last && is_same(last->list, row->list);
		bool is_same_device = is_same_list && strcmp(last->device, row->device) == 0;
		if (last && last->list && !is_same_device)
			json_close_object(json);
		if (last && last->list && !is_same_list)
			json_close_array(json);
		if (row->list && !is_same_list)
			json_open_array(json, row->list);
		if (row->list && !is_same_device) {
			json_open_object(json, NULL);
			json_text(json, "name", row->device);
		}
		write_row(json, row);
		last = row;
	}
	if (last->list) {
		json_close_object(json);
		json_close_array(json);
	}
	json_close_object(json);
}

/* -- table -- */

static const char *value_text(char out[NUMBER_SIZE + 2], enum machine_unit unit, double value)
{
	char number[NUMBER_SIZE];
	if (unit == MACHINE_RATIO)
		snprintf(out, NUMBER_SIZE + 2, "%s", format_percent(number, value));
	else
		snprintf(out, NUMBER_SIZE + 2, "%s%s", format_bytes(number, value), unit == MACHINE_BYTES ? "" : "/s");
	return out;
}

void machine_as_table(struct buffer *out, const struct model *model)
{
	struct rows rows;
	char text[NUMBER_SIZE + 2];
	fill(&rows, model);
	if (!rows.count)
		return;
	table_title(out, "MACHINE (since pmtop attached)");
	table_name(out, 0, "Figure");
	table_right(out, 14, "Mean");
	table_right(out, 14, "Peak");
	buffer_puts(out, "\n");
	table_rule(out, '-');
	for (size_t i = 0; i < rows.count; i++) {
		table_name(out, 0, rows.rows[i].title);
		table_right(out, 14, value_text(text, rows.rows[i].unit, rows.rows[i].mean));
		table_right(out, 14, value_text(text, rows.rows[i].unit, rows.rows[i].max));
		buffer_puts(out, "\n");
	}
	table_rule(out, '=');
	buffer_puts(out, "\n");
}
