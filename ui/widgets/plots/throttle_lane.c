#include "ui/widgets/plots/throttle_lane.h"

#include <string.h>

#include "src/model/gpus/gpus_runs.h"
#include "ui/core/plot.h"
#include "ui/widgets/parts.h"

enum { POWER = 1, HEAT = 2, KNOWN = 4, FINE = 1024, LABEL_WIDTH = 6 };

void lane_of_run(const struct scene *scene, const struct run *run, struct lane *lane)
{
	lane->count = run_gpus(scene->model, run, lane->gpus);
}

static bool is_throttled(const struct series_column *column) { return column->has && column->max > 0; }

/* Fast path: most GPUs are never throttled. */
static bool was_throttled(const struct series *series)
{
	double smallest, largest;
	return series_extremes(series, &smallest, &largest) && largest > 0;
}

static void find_of(const struct gpu *gpu, int64_t from_ns, int64_t to_ns, unsigned char throttle_bits[FINE])
{
	struct series_column all[FINE], heat[FINE];
	bool has_heat = was_throttled(gpu->series.throttled_heat);
	series_columns(gpu->series.throttled, from_ns, to_ns, all, FINE);
	if (has_heat)
		series_columns(gpu->series.throttled_heat, from_ns, to_ns, heat, FINE);
	for (size_t i = 0; i < FINE; i++) {
		throttle_bits[i] |= all[i].has ? KNOWN : 0;
		if (is_throttled(&all[i]))
			throttle_bits[i] |= has_heat && is_throttled(&heat[i]) ? HEAT : POWER;
	}
}

/* The throttle reasons of all GPUs, in even columns of the time. */
static void find(const struct lane *lane, int64_t from_ns, int64_t to_ns, unsigned char throttle_bits[FINE])
{
	memset(throttle_bits, 0, FINE);
	for (size_t i = 0; i < lane->count && from_ns < to_ns; i++)
		if (was_throttled(lane->gpus[i]->series.throttled))
			find_of(lane->gpus[i], from_ns, to_ns, throttle_bits);
}

double lane_share(const struct lane *lane, int64_t from_ns, int64_t to_ns)
{
	unsigned char throttle_bits[FINE];
	size_t count = 0, known = 0;
	find(lane, from_ns, to_ns, throttle_bits);
	for (size_t i = 0; i < FINE; i++) {
		known += (throttle_bits[i] & KNOWN) != 0;
		count += (throttle_bits[i] & (POWER | HEAT)) != 0;
	}
	return known > 0 ? (double)count / (double)known : 0;
}

static size_t part_of(int64_t time_ns, int64_t from_ns, int64_t to_ns)
{
	double at = (double)(time_ns - from_ns) / (double)(to_ns - from_ns) * FINE;
	return at <= 0 ? 0 : at >= FINE - 1 ? FINE - 1 : (size_t)at;
}

static unsigned throttled_in(
	const unsigned char throttle_bits[FINE], const struct lane_cell *cell, int64_t from_ns, int64_t to_ns)
{
	unsigned found = 0;
	if (cell->from_ns >= cell->to_ns)
		return 0;
	for (size_t i = part_of(cell->from_ns, from_ns, to_ns); i <= part_of(cell->to_ns - 1, from_ns, to_ns); i++)
		found |= throttle_bits[i] & (POWER | HEAT);
	return found;
}

static void draw_mark(struct canvas *canvas, int x, int y, unsigned found)
{
	bool is_ascii = canvas->charset == CHARSET_ASCII;
	if (found & HEAT)
		canvas_put(canvas, x, y, is_ascii ? 't' : 0x2586, ROLE_CRITICAL);
	else if (found & POWER)
		canvas_put(canvas, x, y, is_ascii ? 'p' : 0x2582, ROLE_WARNING);
}

static void draw_label(struct canvas *canvas, struct rect row, unsigned found)
{
	static const char *const labels[] = { "", "power", "heat", "limits" };
	if (row.x < LABEL_WIDTH + 2)
		return;
	canvas_text_right(canvas, row.x - LABEL_WIDTH - 2, row.y, LABEL_WIDTH, ROLE_DIM, labels[found]);
	canvas_put(canvas, row.x - 1, row.y, 0x2524, ROLE_BORDER);
}

/* The legend, in the part of the row without marks. */
static void draw_legend(struct canvas *canvas, struct rect row, unsigned found, size_t first, size_t last)
{
	static const char *const texts[] = { "", "GPU throttled by power limit", "GPU throttled by heat",
		"GPU throttled: ▂ power ▆ heat" };
	static const char *const ascii_texts[] = { "", "p: GPU throttled by power limit", "t: GPU throttled by heat",
		"GPU throttled: p power, t heat" };
	const char *text = (canvas->charset == CHARSET_ASCII ? ascii_texts : texts)[found];
	int cells = (int)text_cells(text);
	if ((int)first > cells + 2)
		canvas_text(canvas, row.x + 1, row.y, cells, ROLE_DIM, text);
	else if (row.width - (int)last > cells + 3)
		canvas_text(canvas, row.x + row.width - cells - 1, row.y, cells, ROLE_DIM, text);
}

void lane_draw(
	const struct lane *lane, struct canvas *canvas, struct rect row, const struct lane_cell *cells, size_t count)
{
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;
	unsigned char throttle_bits[FINE];
	unsigned all = 0;
	size_t first = 0, last = 0;
	for (size_t i = 0; i < count; i++) {
		if (cells[i].from_ns >= cells[i].to_ns)
			continue;
		from_ns = cells[i].from_ns < from_ns ? cells[i].from_ns : from_ns;
		to_ns = cells[i].to_ns > to_ns ? cells[i].to_ns : to_ns;
	}
	if (row.height < 1 || to_ns <= from_ns)
		return;
	find(lane, from_ns, to_ns, throttle_bits);
	for (size_t i = 0; i < count && (int)i < row.width; i++) {
		unsigned found = throttled_in(throttle_bits, &cells[i], from_ns, to_ns);

		draw_mark(canvas, row.x + (int)i, row.y, found);
		if (found != 0)
			last = i;
		if (found != 0 && all == 0)
			first = i;
		all |= found;
	}
	if (all != 0) {
		draw_label(canvas, row, all);
		draw_legend(canvas, row, all, first, last);
	}
}
