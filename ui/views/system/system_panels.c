#include "ui/views/system/system_panels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/core/layout.h"
#include "ui/core/plot_axis.h"
#include "ui/core/table.h"
#include "ui/views/overview/panels.h"
#include "ui/views/system/system_line.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/over_time.h"
#include "ui/widgets/plots/trace.h"

/* -- CPU -- */

static void cpu_title(const struct scene *scene, struct line *line)
{
	const struct system *system = &scene->model->system;
	char text[NUMBER_SIZE];
	line_start(line, " · ");
	line_add(line, 0, system_mark_role(scene, MARK_CPU), "busy %s%s", format_percent(text, system->cpu_ratio),
		system_mark_sign(scene, MARK_CPU));
	line_add(line, 0, ROLE_STRONG, "run %s", format_percent(text, system_run_ratio(scene->model)));
	line_add(line, 1, ROLE_NORMAL, "of %s CPUs", format_count(text, system->now[METRIC_SYSTEM_CPUS]));
}

static void queue_line(const struct scene *scene, struct canvas *canvas, struct rect row)
{
	const struct system *system = &scene->model->system;
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_NORMAL, "run queue %s", format_count(text, system->now[METRIC_SYSTEM_RUNNING]));
	line_add(&line, 1, ROLE_NORMAL, "blocked %s", format_count(text, system->now[METRIC_SYSTEM_BLOCKED]));
	line_add(&line, 2, ROLE_NORMAL, "load %s", format_rate(text, system->now[METRIC_SYSTEM_LOAD]));
	line_add(&line, 3, ROLE_NORMAL, "steal %s", format_percent(text, system->stolen_ratio));
	line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
}

void panel_machine_cpu(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct over_time what = {
		.from_ns = trace_since(scene, scene->state->zoom),
		.unit = PLOT_PERCENT,
		.from_zero = true,
		.level = 1,
		.count = 1,
		.lines = { { scene->model->system.series.cpu_ratio, ROLE_PLOT } },
	};
	struct line line;
	cpu_title(scene, &line);
	struct rect inside = parts_panel(canvas, rect, "CPU", &line, ROLE_TITLE),
				row = rect_take_bottom(&inside, inside.height >= 3 ? 1 : 0);

	if (row.height > 0)
		queue_line(scene, canvas, row);
	if (inside.height > 1)
		over_time_draw(scene, canvas, inside, &scene->state->scales[SYSTEM_SCALE_CPU], &what);
}

/* -- waiting -- */

struct waiting {
	const char *name, *missing;
	enum system_mark mark;
	double ratio;
	const struct series *series;
};
enum { WAITING_ROWS = 5, WAITING_NAME = 16 };

static void waiting_rows(const struct model *model, struct waiting out[WAITING_ROWS])
{
	const struct system *system = &model->system;
	out[0] = (struct waiting){ "CPU pressure", "pressure", MARK_NONE, system->pressure_cpu_ratio,
		system->series.pressure_cpu_ratio };
	out[1] = (struct waiting){ "I/O pressure", "pressure", MARK_NONE, system->pressure_io_ratio,
		system->series.pressure_io_ratio };
	out[2] = (struct waiting){ "memory pressure", "pressure", MARK_NONE, system->pressure_memory_ratio,
		system->series.pressure_memory_ratio };
	out[3] = (struct waiting){ "quota throttled", "cgroup", MARK_THROTTLED, system->throttled_ratio,
		system->series.throttled_ratio };
	out[4] = (struct waiting){ "I/O wait", "CPU of the machine", MARK_IO_WAIT, system->io_wait_ratio,
		system->series.io_wait_ratio };
}

static void draw_reason(const struct model *model, const char *about, struct canvas *canvas, struct rect row)
{
	const struct missing *missing = system_missing(model, about);
	char text[sizeof missing->text + sizeof missing->remedy + 8];
	if (!missing)
		return;
	snprintf(text, sizeof text, missing->remedy[0] != '\0' ? "%s → %s" : "%s", missing->text, missing->remedy);
	parts_wrap(canvas, row, ROLE_DIM, text);
}

static void draw_waiting(
	struct scene *scene, const struct waiting *what, const struct scale *scale, struct canvas *canvas, struct rect row)
{
	enum role role = system_mark_role(scene, what->mark);
	struct rect plot = row;
	char text[NUMBER_SIZE];
	canvas_text(canvas, row.x, row.y, WAITING_NAME, role == ROLE_NORMAL ? ROLE_NORMAL : role, what->name);
	canvas_text_right(canvas, row.x + WAITING_NAME, row.y, 7, role == ROLE_NORMAL ? ROLE_STRONG : role,
		format_percent(text, what->ratio));
	if (!isnan(what->ratio))
		canvas_text(canvas, row.x + WAITING_NAME + 7, row.y, 2, role, system_mark_sign(scene, what->mark));
	rect_take_left(&plot, WAITING_NAME + 10);
	if (isnan(what->ratio))
		draw_reason(scene->model, what->missing, canvas, plot);
	else if (plot.height == 1 && canvas->charset != CHARSET_BRAILLE)
		/* a single row can show the plot only with braille dots */
		canvas_bar(
			canvas, plot.x, plot.y, plot.width, what->ratio / scale->max, role == ROLE_NORMAL ? ROLE_PLOT : role);
	else if (plot.width >= 8)
		over_time_points(scene, canvas, plot, scale, what->series, trace_since(scene, scene->state->zoom),
			role == ROLE_NORMAL ? ROLE_PLOT : role);
}

void panel_waiting(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct scale *scale = &scene->state->scales[SYSTEM_SCALE_WAITING];
	struct waiting rows[WAITING_ROWS];
	double min = NAN, max = NAN;
	char text[NUMBER_SIZE];
	struct line line;
	waiting_rows(scene->model, rows);
	for (int i = 0; i < WAITING_ROWS; i++)
		trace_extremes(scene, rows[i].series, trace_since(scene, scene->state->zoom), &min, &max);
	scale_update(scale, 0, max > 0.05 ? max : 0.05, true);
	line_start(&line, " · ");
	line_add(&line, 1, ROLE_DIM, "share of time");
	line_add(&line, 0, ROLE_DIM, "plots 0–%s", format_percent(text, scale->max));
	struct rect inside = parts_panel(canvas, rect, "Waiting", &line, ROLE_TITLE);

	rect_take_left(&inside, 1);
	int height = inside.height < WAITING_ROWS ? 1 : inside.height / WAITING_ROWS;

	for (int i = 0; i < WAITING_ROWS && inside.height > 0; i++)
		draw_waiting(scene, &rows[i], scale, canvas, rect_take_top(&inside, height));
}

/* -- what is used of what there is -- */

/* A ratio of NAN with a limit of NAN: no limit, or unknown. */
struct capacity {
	const char *name, *missing;
	enum system_mark mark;
	double used, limit, ratio;
	bool is_cpu;
};

static void room_rows(const struct model *model, struct capacity out[CAPACITY_ROWS])
{
	const struct system *system = &model->system;
	const double *now = system->now;
	double cpu = system->cgroup_cpu_ratio, cpus = now[METRIC_CGROUP_CPU_LIMIT], swap = now[METRIC_SYSTEM_SWAP];
	out[0] = (struct capacity){ "memory", "memory of the machine", MARK_MEMORY,
		now[METRIC_SYSTEM_MEMORY] - now[METRIC_SYSTEM_MEMORY_AVAILABLE], now[METRIC_SYSTEM_MEMORY],
		system->memory_ratio, false };
	out[1] = (struct capacity){ "swap", "swapping", MARK_SWAP, system->swap_used_bytes, swap,
		swap > 0 ? system->swap_used_bytes / swap : NAN, false };
	out[2] = (struct capacity){ "cgroup memory", "cgroup", MARK_CGROUP_MEMORY, now[METRIC_CGROUP_MEMORY],
		now[METRIC_CGROUP_MEMORY_LIMIT], system->cgroup_memory_ratio, false };
	out[3] = (struct capacity){ "cgroup CPU", "cgroup", MARK_THROTTLED, cpu, cpus, cpu / cpus, true };
	out[4] = (struct capacity){ "/dev/shm", "shm", MARK_SHM, now[METRIC_SYSTEM_SHM_USED], now[METRIC_SYSTEM_SHM],
		system->shm_ratio, false };
	out[5] = (struct capacity){ "disk space", "free space", MARK_SPACE,
		now[METRIC_SYSTEM_SPACE] - now[METRIC_SYSTEM_SPACE_FREE], now[METRIC_SYSTEM_SPACE], system->space_ratio,
		false };
}

static const char *amount(char out[NUMBER_SIZE], const struct capacity *capacity, double value)
{
	if (!capacity->is_cpu)
		return format_bytes(out, value);
	if (isnan(value))
		snprintf(out, NUMBER_SIZE, "–");
	else
		snprintf(out, NUMBER_SIZE, "%.2f CPU", value);
	return out;
}

static void draw_capacity(
	const struct scene *scene, const struct capacity *capacity, struct canvas *canvas, struct rect row)
{
	enum { NAME = 14, USED = 9, LIMIT = 13, RATIO = 6, FIGURES = NAME + USED + LIMIT };
	enum role role = system_mark_role(scene, capacity->mark);
	bool is_narrow = row.width < FIGURES + RATIO + 4;
	char text[NUMBER_SIZE], limit[NUMBER_SIZE + 8];
	canvas_text(canvas, row.x, row.y, NAME, role, capacity->name);
	if (capacity->limit == 0) {
		canvas_text(canvas, row.x + NAME, row.y, row.width - NAME, ROLE_DIM, "none");
		return;
	}
	if (isnan(capacity->used) && isnan(capacity->limit)) {
		canvas_text_right(canvas, row.x + NAME, row.y, USED, ROLE_DIM, "–");
		draw_reason(scene->model, capacity->missing, canvas,
			(struct rect){ row.x + NAME + USED + 1, row.y, row.width - NAME - USED - 1, 1 });
		return;
	}
	snprintf(limit, sizeof limit, isnan(capacity->limit) ? " no limit" : " of %s",
		isnan(capacity->limit) ? "" : amount(text, capacity, capacity->limit));
	if (is_narrow && !isnan(capacity->ratio))
		canvas_text_right(canvas, row.x + NAME, row.y, RATIO, role == ROLE_NORMAL ? ROLE_STRONG : role,
			format_percent(text, capacity->ratio));
	else
		canvas_text_right(canvas, row.x + NAME, row.y, USED, ROLE_STRONG, amount(text, capacity, capacity->used));
	int x = row.x + NAME + (is_narrow && !isnan(capacity->ratio) ? (int)RATIO : (int)USED),
		used = canvas_text(canvas, x, row.y, LIMIT, ROLE_DIM, limit);

	if (is_narrow || isnan(capacity->ratio)) {
		canvas_text(canvas, x + used, row.y, 2, role, system_mark_sign(scene, capacity->mark));
		return;
	}
	int bar = row.width - FIGURES - RATIO - 4;

	canvas_bar(canvas, row.x + FIGURES + 1, row.y, bar, capacity->ratio, role == ROLE_NORMAL ? ROLE_MEMORY : role);
	canvas_text_right(canvas, row.x + FIGURES + 1 + bar, row.y, RATIO, role, format_percent(text, capacity->ratio));
	canvas_text(canvas, row.x + FIGURES + 1 + bar + RATIO, row.y, 2, role, system_mark_sign(scene, capacity->mark));
}

static void room_title(const struct scene *scene, struct line *line)
{
	const struct system *system = &scene->model->system;
	double outside = system->now[METRIC_CGROUP_MEMBERS_OUTSIDE], killed = system->now[METRIC_CGROUP_OOM_KILLS];
	char in[NUMBER_SIZE], out[NUMBER_SIZE];
	line_start(line, " · ");
	if (killed > 0)
		line_add(line, 0, ROLE_CRITICAL, "%s killed by the OOM killer", format_count(in, killed));
	if (system->swap_per_s > 0)
		line_add(line, 0, ROLE_WARNING, "swaps in %s/s, out %s/s", format_bytes(in, system->swap_in_bytes_per_s),
			format_bytes(out, system->swap_out_bytes_per_s));
	if (outside > 0)
		line_add(
			line, 1, ROLE_DIM, "cgroup: shared with %s process%s", format_count(in, outside), outside > 1 ? "es" : "");
	else if (system->owns_cgroup)
		line_add(line, 1, ROLE_DIM, "cgroup: only this run");
}

void panel_capacity(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct capacity rows[CAPACITY_ROWS];
	struct line line;
	room_rows(scene->model, rows);
	room_title(scene, &line);
	struct rect inside = parts_panel(canvas, rect, "Capacity", &line, ROLE_TITLE);

	rect_take_left(&inside, 1);
	for (int i = 0; i < CAPACITY_ROWS && i < inside.height; i++)
		draw_capacity(scene, &rows[i], canvas, rect_row(inside, i));
}

void panel_machine_memory(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct system *system = &scene->model->system;
	struct over_time what = {
		.from_ns = trace_since(scene, scene->state->zoom),
		.unit = PLOT_PERCENT,
		.from_zero = true,
		.level = 1,
		.count = 1,
		.lines = { { system->series.memory_ratio, ROLE_MEMORY } },
	};
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, " · ");
	line_add(&line, 0, ROLE_NORMAL, "available %s", format_bytes(text, system->now[METRIC_SYSTEM_MEMORY_AVAILABLE]));
	line_add(&line, 1, ROLE_NORMAL, "page cache %s", format_bytes(text, system->now[METRIC_SYSTEM_MEMORY_CACHED]));
	line_add(&line, 2, ROLE_NORMAL, "dirty %s", format_bytes(text, system->now[METRIC_SYSTEM_MEMORY_DIRTY]));
	over_time_draw(scene, canvas, parts_panel(canvas, rect, "Memory of the machine", &line, ROLE_TITLE),
		&scene->state->scales[SYSTEM_SCALE_MEMORY], &what);
}

/* -- disks and network -- */

enum device_cell {
	DEVICE_NAME,
	DEVICE_BUSY,
	DEVICE_BAR,
	DEVICE_READS,
	DEVICE_WRITES,
	DEVICE_READ_WAIT,
	DEVICE_WRITE_WAIT,
	DEVICE_CELLS
};

static const struct table_column device_columns[DEVICE_CELLS] = {
	[DEVICE_NAME] = { "DEVICE", 8, 0, true, false },
	[DEVICE_BUSY] = { "BUSY", 6, 0, false, false },
	[DEVICE_BAR] = { "", 10, 5, true, true },
	[DEVICE_READS] = { "READS/IN", 10, 0, false, false },
	[DEVICE_WRITES] = { "WRITES/OUT", 10, 1, false, false },
	[DEVICE_READ_WAIT] = { "RD WAIT", 8, 2, false, false },
	[DEVICE_WRITE_WAIT] = { "WR WAIT", 8, 3, false, false },
};

/* Busy over time, from 0 to 100 %; without braille only the current value. */
static void draw_course(
	struct scene *scene, struct canvas *canvas, struct rect row, const struct device *device, enum role role)
{
	static const struct scale whole = { 0, 1, 0 };
	if (canvas->charset == CHARSET_BRAILLE)
		over_time_points(scene, canvas, row, &whole, device->series, trace_since(scene, scene->state->zoom), role);
	else if (!isnan(device->busy_ratio))
		canvas_bar(canvas, row.x, row.y, row.width, device->busy_ratio, role);
}

static void draw_device(struct scene *scene, const struct table *table, struct canvas *canvas, int y,
	const struct device *device, bool is_disk)
{
	bool is_busiest = is_disk && device == system_busiest(&scene->model->system);
	enum role role = is_busiest ? system_mark_role(scene, MARK_DISK) : ROLE_NORMAL;
	char text[NUMBER_SIZE];
	table_cell(table, canvas, y, DEVICE_NAME, role, device->name);
	table_cell(table, canvas, y, DEVICE_READS, ROLE_NORMAL, parts_bytes_per_s(text, device->read_bytes_per_s));
	table_cell(table, canvas, y, DEVICE_WRITES, ROLE_NORMAL, parts_bytes_per_s(text, device->write_bytes_per_s));
	if (!is_disk)
		return;
	table_cell(table, canvas, y, DEVICE_BUSY, role == ROLE_NORMAL ? ROLE_STRONG : role,
		format_percent(text, device->busy_ratio));
	if (table->width[DEVICE_BAR] > 0)
		draw_course(scene, canvas, (struct rect){ table->x[DEVICE_BAR] + 1, y, table->width[DEVICE_BAR] - 1, 1 },
			device, role == ROLE_NORMAL ? ROLE_PLOT : role);
	table_cell(table, canvas, y, DEVICE_READ_WAIT, ROLE_NORMAL,
		parts_time(text, device->read_latency_s, device->read_latency_s));
	table_cell(table, canvas, y, DEVICE_WRITE_WAIT, ROLE_NORMAL,
		parts_time(text, device->write_latency_s, device->write_latency_s));
}

/* Active devices come first; otherwise the order stays. */
struct order {
	size_t count;
	struct {
		const struct device *device;
		bool is_disk;
	} rows[2 * DEVICES_MAX];
};

static void add_devices(struct order *order, const struct device *devices, size_t count, bool is_disk, bool is_active)
{
	for (size_t i = 0; i < count && i < DEVICES_MAX; i++) {
		bool does = devices[i].busy_ratio > 0 || devices[i].read_bytes_per_s > 0 || devices[i].write_bytes_per_s > 0;

		if (does != is_active)
			continue;
		order->rows[order->count].device = &devices[i];
		order->rows[order->count++].is_disk = is_disk;
	}
}

static void order_devices(const struct system *system, struct order *order)
{
	order->count = 0;
	for (int idle = 0; idle < 2; idle++) {
		add_devices(order, system->disks, system->disk_count, true, !idle);
		add_devices(order, system->networks, system->network_count, false, !idle);
	}
}

/* The column of names is as wide as the names. */
static void fit_devices(const struct order *order, struct table_column columns[DEVICE_CELLS])
{
	enum { WIDEST = 16 };
	memcpy(columns, device_columns, sizeof device_columns);
	for (size_t i = 0; i < order->count; i++) {
		int cells = (int)text_cells(order->rows[i].device->name);

		if (cells > columns[DEVICE_NAME].width)
			columns[DEVICE_NAME].width = cells < WIDEST ? cells : WIDEST;
	}
}

int panel_devices_rows(const struct model *model)
{
	int rows = (int)(model->system.disk_count + model->system.network_count);
	return 1 + (rows > 0 ? rows : 1);
}

void panel_devices(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	struct rect inside = parts_panel(canvas, rect, "Disks and network", NULL, ROLE_TITLE);
	struct order order;
	struct table table;
	rect_take_left(&inside, 1);
	order_devices(&scene->model->system, &order);
	if (order.count == 0) {
		canvas_text(canvas, inside.x, inside.y, inside.width, ROLE_DIM,
			inside.height > 0 ? "– no disks or network interfaces found" : "");
		rect_take_top(&inside, 1);
		draw_reason(scene->model, "disks", canvas, inside);
		return;
	}
	struct rect header = rect_take_top(&inside, 1);

	struct table_column columns[DEVICE_CELLS];

	fit_devices(&order, columns);
	table_fit(&table, columns, DEVICE_CELLS, header);
	if (header.height > 0)
		table_header(&table, canvas, header.y, -1, false);
	for (int i = 0; i < (int)order.count && i < inside.height; i++) {
		struct rect row = rect_row(inside, i);
		int more = (int)order.count - i;

		if (i == inside.height - 1 && more > 1)
			canvas_printf(canvas, row.x, row.y, row.width, ROLE_DIM, "and %d more", more);
		else
			draw_device(scene, &table, canvas, row.y, order.rows[i].device, order.rows[i].is_disk);
	}
}
