#include "ui/views/gpu/gpu_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/model/gpus/gpus_words.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/gpu/gpu_parts.h"
#include "ui/views/gpu/gpu_words.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/throttle_lane.h"
#include "ui/widgets/plots/trace.h"

enum gpu_cell {
	CELL_NUMBER,
	CELL_NAME,
	CELL_RANK,
	CELL_BUSY,
	CELL_SM,
	CELL_MEMORY,
	CELL_BAR,
	CELL_RUN,
	CELL_POWER,
	CELL_HEAT,
	CELL_CLOCK,
	CELL_THROTTLED,
	GPU_CELLS,
};

static const struct table_column gpu_columns[GPU_CELLS] = {
	[CELL_NUMBER] = { "GPU", 3, 0, false, false },
	[CELL_NAME] = { "NAME", 8, 1, true, false },
	[CELL_RANK] = { "USED BY", 7, 2, true, false },
	[CELL_BUSY] = { "BUSY", 5, 0, false, false },
	[CELL_SM] = { "SM", 5, 1, false, false },
	[CELL_MEMORY] = { "MEMORY", 12, 0, false, false },
	[CELL_BAR] = { "", 12, 6, true, false },
	[CELL_RUN] = { "RUN MEM", 7, 4, false, false },
	[CELL_POWER] = { "POWER", 9, 1, false, false },
	[CELL_HEAT] = { "TEMP", 5, 3, false, false },
	[CELL_CLOCK] = { "CLOCK", 8, 5, false, false },
	[CELL_THROTTLED] = { "THROTTLED", 9, 2, true, true },
};

/* The throttled share of the time shown. */
static double throttled_share(const struct scene *scene, const struct gpu *gpu)
{
	const struct lane lane = { 1, { gpu } };
	return lane_share(&lane, trace_since(scene, scene->state->zoom), scene->now_ns);
}

static const char *throttled_words(const struct scene *scene, const struct gpu *gpu, char *out, size_t size)
{
	double share = throttled_share(scene, gpu);
	char text[NUMBER_SIZE], words[120];
	if (gpu->lost[0] != '\0')
		return "lost";
	if (isnan(gpu_now(gpu, METRIC_GPU_THROTTLE)))
		return "–";
	if (gpu->throttle != 0 && gpu_is_throttled(gpu->throttle))
		return gpu_throttle_words(gpu->throttle, out, size);
	if (gpu->throttle != 0) {
		snprintf(out, size, "no (%s)", gpu_throttle_words(gpu->throttle, words, sizeof words));
		return out;
	}
	if (!(share > 0))
		return "no";
	snprintf(out, size, "not now, %s", format_percent(text, share));
	return out;
}

static void draw_bar(const struct gpu *gpu, const struct table *table, struct canvas *canvas, int y)
{
	double ratio = gpu_now(gpu, METRIC_GPU_MEMORY_USED) / gpu_now(gpu, METRIC_GPU_MEMORY);
	int width = table->width[CELL_BAR];
	if (width == 0 || isnan(ratio))
		return;
	for (int x = 0; x < width; x++)
		canvas_put(canvas, table->x[CELL_BAR] + x, y, 0xb7, ROLE_DIM);
	canvas_bar(canvas, table->x[CELL_BAR], y, width, ratio, gpu->is_ours ? ROLE_MEMORY : ROLE_DIM);
}

enum { NARROW = 100 };

/* On narrow screens drop the vendor's name. */
static const char *name_text(char *out, size_t size, const struct gpu *gpu, bool is_narrow)
{
	size_t maker = strlen(gpu->vendor);
	gpu_name(out, size, gpu);
	return is_narrow && maker > 0 && strncasecmp(out, gpu->vendor, maker) == 0 && out[maker] == ' ' ? out + maker + 1
																									: out;
}

/* Cells of fixed width, so that columns do not move. */
static const char *cell_text(
	const struct scene *scene, const struct gpu *gpu, enum gpu_cell cell, bool is_narrow, char *out, size_t size)
{
	const struct model *model = scene->model;
	char text[NUMBER_SIZE], name[96];
	switch (cell) {
	case CELL_NUMBER: snprintf(out, size, "%s", gpu_number(text, model, gpu)); return out;
	case CELL_NAME:
		snprintf(out, size, "%s%s", gpu->parent >= 0 ? "  " : "", name_text(name, sizeof name, gpu, is_narrow));
		return out;
	case CELL_RANK: snprintf(out, size, "%s", gpu_ranks(text, model, gpu)); return out;
	case CELL_BUSY: return format_percent(out, gpu_now(gpu, METRIC_GPU_BUSY));
	case CELL_SM: return format_percent(out, gpu_now(gpu, METRIC_GPU_SM_ACTIVE));
	case CELL_MEMORY: return gpu_bytes_of(out, gpu_now(gpu, METRIC_GPU_MEMORY_USED), gpu_now(gpu, METRIC_GPU_MEMORY));
	case CELL_RUN: return format_bytes(out, gpu->is_ours ? gpu->run_memory_bytes : NAN);
	case CELL_POWER: return gpu_watts_of(out, gpu->power_w, gpu_now(gpu, METRIC_GPU_POWER_LIMIT));
	case CELL_HEAT: return gpu_degrees(out, gpu_now(gpu, METRIC_GPU_TEMPERATURE));
	case CELL_CLOCK: return gpu_hertz(out, gpu_now(gpu, METRIC_GPU_CLOCK));
	case CELL_THROTTLED: return throttled_words(scene, gpu, out, size);
	default: return "";
	}
}

static enum role cell_role(const struct scene *scene, const struct gpu *gpu, enum gpu_cell cell)
{
	bool is_throttled = gpu_is_throttled(gpu->throttle);
	if (gpu->lost[0] != '\0')
		return cell == CELL_THROTTLED ? ROLE_CRITICAL : ROLE_DIM;
	if (cell == CELL_THROTTLED)
		return is_throttled || throttled_share(scene, gpu) > 0.05 ? ROLE_WARNING : ROLE_DIM;
	if (cell == CELL_SM && gpu_now(gpu, METRIC_GPU_BUSY) >= 0.7 && gpu_now(gpu, METRIC_GPU_SM_ACTIVE) < 0.5)
		return ROLE_WARNING;
	if (!gpu->is_ours)
		return ROLE_DIM;
	return cell == CELL_NUMBER || cell == CELL_BUSY ? ROLE_STRONG : cell == CELL_RUN ? ROLE_MEMORY : ROLE_NORMAL;
}

enum { NAME_CELLS_MAX = 30, NAME_CELLS_MAX_NARROW = 14, THROTTLED_MAX = 32, THROTTLED_MAX_NARROW = 16 };

static void widen(struct table_column *column, int cells, int max)
{
	column->width = cells > max ? max : cells > column->width ? cells : column->width;
}

/* Drops columns without any figure; columns of text are as wide as their text. */
static void fit_columns(const struct scene *scene, int width, struct table_column columns[GPU_CELLS])
{
	const struct model *model = scene->model;
	bool is_narrow = width < NARROW, has_sm = false, has_rank = false, has_throttled = false;
	char text[160];
	memcpy(columns, gpu_columns, sizeof gpu_columns);
	for (size_t i = 0; i < model->gpus.count; i++) {
		const struct gpu *gpu = &model->gpus.gpus[i];

		widen(&columns[CELL_THROTTLED], (int)text_cells(throttled_words(scene, gpu, text, sizeof text)),
			is_narrow ? THROTTLED_MAX_NARROW : THROTTLED_MAX);
		widen(&columns[CELL_NAME],
			(int)text_cells(name_text(text, sizeof text, gpu, is_narrow)) + (gpu->parent >= 0 ? 2 : 0),
			is_narrow ? NAME_CELLS_MAX_NARROW : NAME_CELLS_MAX);
		has_sm |= !isnan(gpu_now(gpu, METRIC_GPU_SM_ACTIVE));
		has_rank |= gpu_ranks(text, model, gpu)[0] != '\0';
		has_throttled |= !isnan(gpu_now(gpu, METRIC_GPU_THROTTLE)) || gpu->lost[0] != '\0';
	}
	columns[CELL_SM].width *= has_sm;
	columns[CELL_RANK].width *= has_rank;
	columns[CELL_THROTTLED].width *= has_throttled;
}

void gpu_table(struct scene *scene, struct canvas *canvas, struct rect rect, int chosen)
{
	const struct model *model = scene->model;
	struct view_state *state = scene->state;
	struct rect header = rect_take_top(&rect, rect.height > 1 ? 1 : 0);
	struct table_column columns[GPU_CELLS];
	struct table table;
	char text[160];
	fit_columns(scene, rect.width, columns);
	table_fit(&table, columns, GPU_CELLS, (struct rect){ rect.x, rect.y, rect.width, 1 });
	if (header.height > 0)
		table_header(&table, canvas, header.y, -1, false);
	state->row = chosen;
	parts_list_settle(state, (int)model->gpus.count, rect.height);
	state->list = rect;
	for (int i = state->scroll; i < (int)model->gpus.count && i - state->scroll < rect.height; i++) {
		const struct gpu *gpu = &model->gpus.gpus[i];
		struct rect row = rect_row(rect, i - state->scroll);

		for (int cell = 0; cell < GPU_CELLS; cell++)
			table_cell(&table, canvas, row.y, cell, cell_role(scene, gpu, (enum gpu_cell)cell),
				cell_text(scene, gpu, (enum gpu_cell)cell, rect.width < NARROW, text, sizeof text));
		draw_bar(gpu, &table, canvas, row.y);
		if (i == chosen)
			parts_select(canvas, row);
	}
}
