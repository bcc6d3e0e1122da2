/* Power and temperature: watts of CPUs and GPUs, joules per batch, sensors; in two panels or in one line. */
#include "ui/views/system/system_energy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/core/layout.h"
#include "ui/core/plot_axis.h"
#include "ui/views/overview/panels.h"
#include "ui/views/system/system_line.h"
#include "ui/views/system/system_panels.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/over_time.h"
#include "ui/widgets/plots/trace.h"

/* A sensor this close to its limit is marked. */
#define NEAR_LIMIT_CELSIUS 5
/* The range of a sensor's plot if the sensor has no limit. */
#define COLDEST_CELSIUS 20
#define HOT_CELSIUS 100

enum {
	NAME_CELLS = 22,
	VALUE_CELLS = 9,
	LIMIT_CELLS = 13,
	PLOT_CELLS_MIN = 8,
	BAND_ROWS_MAX = 6,
	PROCESS_ROWS_MIN = 8
};

/* -- a row: a name, a value, its limit, and its course -- */

struct row {
	const char *name, *value;
	const char *limit; /* NULL = without the column of limits */
	const char *note;  /* NULL = a plot is drawn instead */
	enum role role;
	double now;
	const struct series *series;
	struct scale scale;
};
static void draw_row(
	struct scene *scene, struct canvas *canvas, struct rect rect, int name_cells, const struct row *row)
{
	enum role role = row->role == ROLE_NORMAL ? ROLE_PLOT : row->role;
	canvas_text(canvas, rect.x, rect.y, name_cells, row->role, row->name);
	rect_take_left(&rect, name_cells);
	canvas_text_right(
		canvas, rect.x, rect.y, VALUE_CELLS, row->role == ROLE_NORMAL ? ROLE_STRONG : row->role, row->value);
	rect_take_left(&rect, VALUE_CELLS);
	if (row->limit)
		canvas_text(canvas, rect.x, rect.y, LIMIT_CELLS, row->role == ROLE_NORMAL ? ROLE_DIM : row->role, row->limit);
	rect_take_left(&rect, row->limit ? LIMIT_CELLS : 2);
	if (row->note)
		canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_DIM, row->note);
	else if (rect.width < PLOT_CELLS_MIN || isnan(row->now))
		return;
	else if (canvas->charset == CHARSET_BRAILLE)
		over_time_points(scene, canvas, rect, &row->scale, row->series, trace_since(scene, scene->state->zoom), role);
	else
		canvas_bar(
			canvas, rect.x, rect.y, rect.width, (row->now - row->scale.min) / (row->scale.max - row->scale.min), role);
}

static int name_cells(struct rect rect, int wanted) { return wanted < rect.width / 2 ? wanted : rect.width / 2; }

/* -- power -- */

static const struct epoch_energy *newest_epoch(const struct scene *scene)
{
	const struct energy *energy = &scene->model->energy;
	for (size_t i = energy->epoch_count; i-- > 0;)
		if ((int)energy->epochs[i].run == scene->run && energy->epochs[i].is_whole)
			return &energy->epochs[i];
	return NULL;
}

static bool is_beside(const struct energy_meter *meter)
{
	return !energy_is_of_cpus(meter->name) && !isnan(meter->watts);
}

/* CPUs, GPUs, per batch, the newest whole epoch, and meters outside the CPUs. */
static int power_rows(const struct scene *scene)
{
	const struct energy *energy = &scene->model->energy;
	int rows = 1 + !isnan(energy->gpu_watts) + !isnan(energy->joules_per_batch) + (newest_epoch(scene) != NULL);
	for (size_t i = 0; i < energy->meter_count; i++)
		rows += is_beside(&energy->meters[i]);
	return rows;
}

static void power_title(const struct scene *scene, struct line *line)
{
	const struct energy *energy = &scene->model->energy;
	char text[NUMBER_SIZE];
	line_start(line, " · ");
	line_add(line, 0, ROLE_NORMAL, "%s since attach",
		format_joules(text, energy_total(energy->cpu_joules, energy->gpu_joules)));
	if (!isnan(energy->co2_g))
		line_add(line, 1, ROLE_NORMAL, "%.3g g CO2", energy->co2_g);
}

static void draw_watts(struct scene *scene, struct canvas *canvas, struct rect rect, const char *name, double watts,
	const struct series *series)
{
	char value[NUMBER_SIZE], note[sizeof scene->model->missing[0].text];
	const struct missing *missing = isnan(watts) ? system_missing(scene->model, "CPU energy") : NULL;
	struct row row = { .name = name,
		.value = format_watts(value, watts),
		.role = ROLE_NORMAL,
		.now = watts,
		.series = series,
		.scale = scene->state->scales[SYSTEM_SCALE_POWER] };
	if (missing) {
		snprintf(note, sizeof note, "%s", missing->text);
		row.note = note;
	}
	draw_row(scene, canvas, rect, name_cells(rect, NAME_CELLS - 7), &row);
}

static void draw_batch(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct energy *energy = &scene->model->energy;
	char value[NUMBER_SIZE], text[NUMBER_SIZE], note[160];
	struct line line;
	line_start(&line, " · ");
	if (!isnan(energy->cpu_joules_per_batch))
		line_add(&line, 0, ROLE_DIM, "CPUs %s", format_joules(text, energy->cpu_joules_per_batch));
	if (!isnan(energy->gpu_joules_per_batch))
		line_add(&line, 0, ROLE_DIM, "GPUs %s", format_joules(text, energy->gpu_joules_per_batch));
	if (!isnan(energy->joules_per_sample))
		line_add(&line, 1, ROLE_DIM, "%s per sample", format_joules(text, energy->joules_per_sample));
	int cells = name_cells(rect, NAME_CELLS - 7);
	struct row row = { .name = "per batch",
		.value = format_joules(value, energy->joules_per_batch),
		.role = ROLE_NORMAL,
		.note = line_text(&line, rect.width - cells - VALUE_CELLS - 2, note, sizeof note) };

	draw_row(scene, canvas, rect, cells, &row);
}

static void draw_epoch(struct scene *scene, struct canvas *canvas, struct rect rect, const struct epoch_energy *epoch)
{
	double joules = energy_total(epoch->cpu_joules, epoch->gpu_joules),
		   co2_g = energy_co2_g(&scene->model->energy, joules);
	char name[NUMBER_SIZE], value[NUMBER_SIZE], note[NUMBER_SIZE] = "";
	char number[RUN_EPOCH_NAME_SIZE];
	snprintf(name, sizeof name, "epoch %s", run_epoch_name(scene_run(scene), epoch->ordinal, number));
	if (!isnan(co2_g))
		snprintf(note, sizeof note, "%.3g g CO2", co2_g);
	struct row row = { .name = name, .value = format_joules(value, joules), .role = ROLE_NORMAL, .note = note };

	draw_row(scene, canvas, rect, name_cells(rect, NAME_CELLS - 7), &row);
}

static void scale_power(struct scene *scene)
{
	const struct energy *energy = &scene->model->energy;
	const struct series *const series[] = { energy->cpu_watts_series, energy->gpu_watts_series };
	double min = NAN, max = NAN;
	for (size_t i = 0; i < sizeof series / sizeof series[0]; i++)
		trace_extremes(scene, series[i], trace_since(scene, scene->state->zoom), &min, &max);
	for (size_t i = 0; i < energy->meter_count; i++)
		if (is_beside(&energy->meters[i]))
			trace_extremes(scene, energy->meters[i].series, trace_since(scene, scene->state->zoom), &min, &max);
	scale_update(&scene->state->scales[SYSTEM_SCALE_POWER], 0, max > 1 ? max : 1, true);
}

static void panel_power(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct energy *energy = &scene->model->energy;
	const struct epoch_energy *epoch = newest_epoch(scene);
	struct line line;
	power_title(scene, &line);
	scale_power(scene);
	struct rect inside = parts_panel(canvas, rect, "Power", &line, ROLE_TITLE);

	rect_take_left(&inside, 1);
	draw_watts(scene, canvas, rect_take_top(&inside, 1), "CPUs, memory", energy->cpu_watts, energy->cpu_watts_series);
	if (!isnan(energy->gpu_watts) && inside.height > 0)
		draw_watts(
			scene, canvas, rect_take_top(&inside, 1), "GPUs of the run", energy->gpu_watts, energy->gpu_watts_series);
	if (!isnan(energy->joules_per_batch) && inside.height > 0)
		draw_batch(scene, canvas, rect_take_top(&inside, 1));
	if (epoch && scene_run(scene) != NULL && inside.height > 0)
		draw_epoch(scene, canvas, rect_take_top(&inside, 1), epoch);
	for (size_t i = 0; i < energy->meter_count && inside.height > 0; i++)
		if (is_beside(&energy->meters[i]))
			draw_watts(scene, canvas, rect_take_top(&inside, 1), energy->meters[i].name, energy->meters[i].watts,
				energy->meters[i].series);
}

/* -- heat -- */

static int heat_rows(const struct energy *energy)
{
	int rows = (energy->cpu_clock_hz > 0) + (energy->throttles_per_s > 0);
	for (size_t i = 0; i < energy->sensor_count; i++)
		rows += !isnan(energy->sensors[i].celsius);
	return rows;
}

static enum role heat_role(const struct heat_sensor *sensor)
{
	if (sensor->celsius >= sensor->limit_celsius)
		return ROLE_CRITICAL;
	return sensor->celsius >= sensor->limit_celsius - NEAR_LIMIT_CELSIUS ? ROLE_WARNING : ROLE_NORMAL;
}

static void draw_sensor(struct scene *scene, struct canvas *canvas, struct rect rect, const struct heat_sensor *sensor)
{
	double limit = isnan(sensor->limit_celsius) ? HOT_CELSIUS : fmax(sensor->limit_celsius, COLDEST_CELSIUS + 1);
	char value[NUMBER_SIZE], text[NUMBER_SIZE], of[NUMBER_SIZE + 8] = "";
	struct row row = { .name = sensor->name,
		.value = format_celsius(value, sensor->celsius),
		.limit = of,
		.role = heat_role(sensor),
		.now = sensor->celsius,
		.series = sensor->series,
		.scale = { COLDEST_CELSIUS, limit, 0 } };
	if (!isnan(sensor->limit_celsius))
		snprintf(of, sizeof of, " of %.20s%s", format_celsius(text, sensor->limit_celsius),
			row.role == ROLE_NORMAL ? "" : " ⚠");
	draw_row(scene, canvas, rect, name_cells(rect, NAME_CELLS), &row);
}

static void draw_clock(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct energy *energy = &scene->model->energy;
	double min = NAN, max = energy->cpu_clock_hz;
	char value[NUMBER_SIZE];
	struct row row = { .name = "CPU clock",
		.value = format_hertz(value, energy->cpu_clock_hz),
		.limit = "",
		.role = ROLE_NORMAL,
		.now = energy->cpu_clock_hz,
		.series = energy->cpu_clock_series };
	trace_extremes(scene, energy->cpu_clock_series, trace_since(scene, scene->state->zoom), &min, &max);
	row.scale = (struct scale){ 0, max, 0 };
	draw_row(scene, canvas, rect, name_cells(rect, NAME_CELLS), &row);
}

static void draw_throttles(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	char value[NUMBER_SIZE];
	struct row row = { .name = "throttled by heat",
		.value = format_rate(value, scene->model->energy.throttles_per_s),
		.role = ROLE_WARNING,
		.note = "times per second ⚠" };
	draw_row(scene, canvas, rect, name_cells(rect, NAME_CELLS), &row);
}

static void panel_heat(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct energy *energy = &scene->model->energy;
	struct rect inside = parts_panel(canvas, rect, "Temperature", NULL, ROLE_TITLE);
	int left = heat_rows(energy);
	rect_take_left(&inside, 1);
	if (energy->throttles_per_s > 0 && left-- > 0 && inside.height > 0)
		draw_throttles(scene, canvas, rect_take_top(&inside, 1));
	if (energy->cpu_clock_hz > 0 && left-- > 0 && inside.height > 0)
		draw_clock(scene, canvas, rect_take_top(&inside, 1));
	for (size_t i = 0; i < energy->sensor_count && inside.height > 0; i++) {
		if (isnan(energy->sensors[i].celsius))
			continue;
		if (inside.height == 1 && left > 1) {
			canvas_printf(canvas, inside.x, inside.y, inside.width, ROLE_DIM, "and %d more", left);
			return;
		}
		draw_sensor(scene, canvas, rect_take_top(&inside, 1), &energy->sensors[i]);
		left--;
	}
}

/* -- both -- */

static bool has_power(const struct energy *energy)
{
	return !isnan(energy_total(energy->cpu_watts, energy->gpu_watts)) ||
		!isnan(energy_total(energy->cpu_joules, energy->gpu_joules));
}

void system_energy_line(const struct scene *scene, struct line *line)
{
	const struct energy *energy = &scene->model->energy;
	const struct heat_sensor *hottest = energy_hottest(energy);
	char text[NUMBER_SIZE], limit[NUMBER_SIZE];
	if (!isnan(energy->cpu_watts))
		line_add(line, 0, ROLE_NORMAL, "CPUs %s", format_watts(text, energy->cpu_watts));
	if (!isnan(energy->gpu_watts))
		line_add(line, 0, ROLE_NORMAL, "GPUs %s", format_watts(text, energy->gpu_watts));
	if (has_power(energy) && !isnan(energy->joules_per_batch))
		line_add(line, 1, ROLE_NORMAL, "%s/batch", format_joules(text, energy->joules_per_batch));
	if (hottest && isnan(hottest->limit_celsius))
		line_add(line, 1, ROLE_NORMAL, "CPU %s", format_celsius(text, hottest->celsius));
	else if (hottest)
		line_add(line, heat_role(hottest) == ROLE_NORMAL, heat_role(hottest), "CPU %s of %s%s",
			format_celsius(text, hottest->celsius), format_celsius(limit, hottest->limit_celsius),
			heat_role(hottest) == ROLE_NORMAL ? "" : " ⚠");
	if (energy->cpu_clock_hz > 0)
		line_add(line, 2, ROLE_NORMAL, "at %s", format_hertz(text, energy->cpu_clock_hz));
	if (energy->throttles_per_s > 0)
		line_add(line, 0, ROLE_WARNING, "throttled by heat ⚠");
	if (has_power(energy) && !isnan(energy->co2_g))
		line_add(line, 3, ROLE_NORMAL, "%.3g g CO2", energy->co2_g);
}

void system_energy(struct scene *scene, struct canvas *canvas, struct rect *rest)
{
	const struct energy *energy = &scene->model->energy;
	bool is_metered = energy_is_metered(energy) && has_power(energy);
	int power = is_metered ? power_rows(scene) : 0, heat = energy_has_heat(energy) ? heat_rows(energy) : 0,
		rows = power > heat ? power : heat;
	int height = parts_panel_rows(canvas) + (rows < BAND_ROWS_MAX ? rows : (int)BAND_ROWS_MAX);
	struct line line;
	if (rows == 0)
		return;
	if (parts_is_roomy(canvas) && rest->height >= height + PROCESS_ROWS_MIN) {
		struct rect band = rect_take_top(rest, height);

		if (power > 0)
			panel_power(scene, canvas, heat > 0 ? rect_take_left(&band, band.width / 2) : band);
		if (heat > 0)
			panel_heat(scene, canvas, band);
		return;
	}
	line_start(&line, " · ");
	system_energy_line(scene, &line);
	if (line.count == 0 || rest->height < 4)
		return;
	struct rect row = rect_take_top(rest, 1);

	line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
}
