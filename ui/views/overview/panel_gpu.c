#include "ui/views/overview/panel_gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/model/gpus/gpus_words.h"
#include "ui/core/layout.h"
#include "ui/views/gpu/gpu_meaning.h"
#include "ui/views/gpu/gpu_parts.h"
#include "ui/views/gpu/gpu_plots.h"
#include "ui/views/gpu/gpu_words.h"
#include "ui/views/system/system_line.h"
#include "ui/views/system/system_panels.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/throttle_lane.h"
#include "ui/widgets/plots/trace.h"

enum { ONE_ROWS = 4, LINES_MAX = 4, HALF_MIN = 54 };

/* Two GPUs side by side if both fit. */
static int columns_of(int width, size_t count) { return count > 1 && width >= 2 * HALF_MIN ? 2 : 1; }

int panel_gpu_height(const struct scene *scene, const struct canvas *canvas, int height)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t count = gpus_to_show(scene->model, scene_run(scene), gpus);
	int columns = columns_of(canvas->width - 4, count);
	if (count == 0)
		return parts_is_roomy(canvas) && system_is_known(scene->model) && gpu_missing(scene->model, "gpu") != NULL ? 1
																												   : 0;
	if (!parts_is_roomy(canvas) || height < 26)
		return height >= 14 ? 1 : 0;
	int lines = ((int)count + columns - 1) / columns;

	return 2 + (count == 1 ? ONE_ROWS : lines < LINES_MAX ? lines + 1 : LINES_MAX);
}

/* -- one -- */

static void use_line(const struct scene *scene, const struct gpu *gpu, struct line *line)
{
	double busy = gpu_now(gpu, METRIC_GPU_BUSY), sm = gpu_now(gpu, METRIC_GPU_SM_ACTIVE);
	char text[NUMBER_SIZE];
	(void)scene;
	line_start(line, "   ");
	line_add(line, 0, ROLE_STRONG, "busy %s", format_percent(text, busy));
	if (!isnan(sm))
		line_add(
			line, 0, busy >= 0.7 && sm < 0.5 ? ROLE_WARNING : ROLE_NORMAL, "SMs active %s", format_percent(text, sm));
	line_add(line, 1, ROLE_MEMORY, "mem %s",
		gpu_bytes_of(text, gpu_now(gpu, METRIC_GPU_MEMORY_USED), gpu_now(gpu, METRIC_GPU_MEMORY)));
	if (gpu->is_ours && !isnan(gpu->run_memory_bytes))
		line_add(line, 2, ROLE_NORMAL, "of the run %s", format_bytes(text, gpu->run_memory_bytes));
}

static void power_line(const struct scene *scene, const struct gpu *gpu, struct line *line)
{
	double width = gpu_now(gpu, METRIC_GPU_PCIE_WIDTH), generation = gpu_now(gpu, METRIC_GPU_PCIE_GENERATION);
	bool is_bad = gpu_link_is_narrow(gpu) || gpu_link_is_slow(gpu);
	char text[NUMBER_SIZE];
	(void)scene;
	line_start(line, "   ");
	line_add(line, 0, ROLE_NORMAL, "power %s", gpu_watts_of(text, gpu->power_w, gpu_now(gpu, METRIC_GPU_POWER_LIMIT)));
	line_add(line, 1, ROLE_NORMAL, "%s", gpu_degrees(text, gpu_now(gpu, METRIC_GPU_TEMPERATURE)));
	line_add(line, 2, ROLE_NORMAL, "%s", gpu_hertz(text, gpu_now(gpu, METRIC_GPU_CLOCK)));
	if (!isnan(width) && !isnan(generation))
		line_add(
			line, 3, is_bad ? ROLE_WARNING : ROLE_NORMAL, "PCIe %.0f.0×%.0f%s", generation, width, is_bad ? " ⚠" : "");
}

static void throttled_line(const struct scene *scene, const struct gpu *gpu, struct line *line)
{
	const struct lane lane = { 1, { gpu } };
	int64_t from_ns = trace_since(scene, scene->state->zoom);
	double share = lane_share(&lane, from_ns, scene->now_ns);
	char words[120], text[NUMBER_SIZE], time[NUMBER_SIZE];
	line_start(line, "   ");
	if (isnan(gpu_now(gpu, METRIC_GPU_THROTTLE)))
		line_add(line, 0, ROLE_DIM, "throttled: –");
	else if (gpu->throttle == 0)
		line_add(line, 0, ROLE_DIM, share > 0 ? "not throttled now" : "not throttled");
	else
		line_add(line, 0, gpu_is_throttled(gpu->throttle) ? ROLE_WARNING : ROLE_NORMAL, "%s: %s",
			gpu_is_throttled(gpu->throttle) ? "⚠ throttled" : "not throttled",
			gpu_throttle_words(gpu->throttle, words, sizeof words));
	if (share > 0 && seconds_between(from_ns, scene->now_ns) >= 1)
		line_add(line, 1, share > 0.05 ? ROLE_WARNING : ROLE_NORMAL, "%s of the last %s", format_percent(text, share),
			parts_waiting(time, seconds_between(from_ns, scene->now_ns)));
}

static void draw_meaning(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect row)
{
	char meaning[GPU_WORDS_SIZE];
	bool is_complaint = gpu_meaning(scene, gpu, meaning);
	struct line line;
	line_start(&line, "   ");
	if (meaning[0] != '\0')
		line_add(&line, 0, is_complaint ? ROLE_WARNING : ROLE_DIM, "%.198s", meaning);
	line_add(&line, 1, ROLE_KEY, "[5] details");
	line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
}

static void draw_one(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect inside)
{
	static void (*const show[])(
		const struct scene *, const struct gpu *, struct line *) = { use_line, power_line, throttled_line };
	struct rect meaning = rect_take_bottom(&inside, inside.height >= 3 ? 1 : 0);
	struct rect plot = rect_take_left(&inside, inside.width >= 76 ? inside.width * 9 / 20 : 0);
	struct line line;
	if (plot.width > 0)
		gpu_plot_busy(scene, gpu, canvas, plot, scene->state->zoom);
	for (int i = 0; i < 3 && i < inside.height; i++) {
		show[i](scene, gpu, &line);
		line_draw(&line, canvas, inside.x + 2, inside.y + i, inside.width - 2);
	}
	if (meaning.height > 0)
		draw_meaning(scene, gpu, canvas, meaning);
}

/* -- several -- */

static void draw_line(const struct model *model, const struct gpu *gpu, struct canvas *canvas, struct rect row)
{
	enum { NUMBER_WIDTH = 4, BAR_WIDTH = 8 };
	double busy = gpu_now(gpu, METRIC_GPU_BUSY);
	char text[NUMBER_SIZE];
	struct line line;
	canvas_text_right(canvas, row.x, row.y, NUMBER_WIDTH - 1, ROLE_STRONG, gpu_number(text, model, gpu));
	rect_take_left(&row, NUMBER_WIDTH);
	if (gpu->lost[0] != '\0') {
		canvas_printf(canvas, row.x, row.y, row.width, ROLE_CRITICAL, "⚠ lost: %s", gpu->lost);
		return;
	}
	if (!isnan(busy))
		canvas_bar(canvas, row.x, row.y, BAR_WIDTH, busy, ROLE_PLOT);
	canvas_text_right(canvas, row.x + BAR_WIDTH, row.y, 6, ROLE_STRONG, format_percent(text, busy));
	rect_take_left(&row, BAR_WIDTH + 8);
	line_start(&line, "  ");
	if (gpu_is_throttled(gpu->throttle))
		line_add(&line, 0, ROLE_WARNING, "⚠");
	if (!isnan(gpu_now(gpu, METRIC_GPU_SM_ACTIVE)))
		line_add(&line, 1, ROLE_NORMAL, "SM %s", format_percent(text, gpu_now(gpu, METRIC_GPU_SM_ACTIVE)));
	line_add(&line, 0, ROLE_MEMORY, "%s",
		gpu_bytes_of(text, gpu_now(gpu, METRIC_GPU_MEMORY_USED), gpu_now(gpu, METRIC_GPU_MEMORY)));
	line_add(&line, 2, ROLE_NORMAL, "%s", gpu_watts(text, gpu->power_w));
	line_add(&line, 3, ROLE_NORMAL, "%s", gpu_degrees(text, gpu_now(gpu, METRIC_GPU_TEMPERATURE)));
	line_draw(&line, canvas, row.x, row.y, row.width);
}

/* One meaning for all GPUs: a lost GPU's, else that of the first that could do better, else the first GPU's. */
static void draw_meaning_of(
	const struct scene *scene, const struct gpu *const gpus[], size_t count, struct canvas *canvas, struct rect row)
{
	char meaning[GPU_WORDS_SIZE], number[NUMBER_SIZE];
	struct line line;
	size_t which = 0;
	while (which < count && gpus[which]->lost[0] == '\0')
		which++;
	which = which < count ? which : 0;
	while (which < count && !gpu_meaning(scene, gpus[which], meaning))
		which++;
	bool is_complaint = which < count;

	which = is_complaint ? which : 0;
	gpu_meaning(scene, gpus[which], meaning);
	line_start(&line, "   ");
	if (meaning[0] != '\0')
		line_add(&line, 0, is_complaint ? ROLE_WARNING : ROLE_DIM, "GPU %s%.180s",
			gpu_number(number, scene->model, gpus[which]), meaning + strlen("GPU"));
	line_add(&line, 1, ROLE_KEY, "[5] details");
	line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
}

static void draw_several(
	const struct scene *scene, const struct gpu *const gpus[], size_t count, struct canvas *canvas, struct rect inside)
{
	int columns = columns_of(inside.width, count), width = inside.width / columns,
		lines = ((int)count + columns - 1) / columns;
	struct rect below = rect_take_bottom(&inside, inside.height > lines ? 1 : 0);
	int shown = inside.height * columns;
	if (below.height > 0)
		draw_meaning_of(scene, gpus, count, canvas, below);

	for (int i = 0; i < (int)count && i < shown; i++) {
		struct rect row = { inside.x + i % columns * width, inside.y + i / columns, width - 1, 1 };

		if (i == shown - 1 && (int)count > shown)
			canvas_printf(
				canvas, row.x + 2, row.y, row.width - 2, ROLE_DIM, "and %d more · [5] all GPUs", (int)count - i);
		else
			draw_line(scene->model, gpus[i], canvas, row);
	}
}

/* -- the panel -- */

static void title_of(const struct scene *scene, const struct gpu *const gpus[], size_t count, struct line *line)
{
	char name[80], number[NUMBER_SIZE];
	line_start(line, " · ");
	if (count == 1)
		line_add(line, 0, ROLE_NORMAL, "%s %s", gpu_number(number, scene->model, gpus[0]),
			gpu_name(name, sizeof name, gpus[0]));
	else
		line_add(line, 0, ROLE_NORMAL, "%zu × %s", count, gpu_name(name, sizeof name, gpus[0]));
	if (!gpus[0]->is_ours)
		line_add(line, 1, ROLE_DIM, "no known use by the run");
	else if (gpus[0]->is_ours_by_place)
		line_add(line, 1, ROLE_DIM, "from the environment");
}

static void draw_folded(
	const struct scene *scene, const struct gpu *const gpus[], size_t count, struct canvas *canvas, struct rect row)
{
	struct line line;
	if (count > 0)
		gpu_short_line(gpus, count, &line);
	else
		gpu_absent_line(scene->model, &line);
	line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
}

void panel_gpu(struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct gpu *gpus[GPUS_MAX];
	size_t count = gpus_to_show(scene->model, scene_run(scene), gpus);
	struct line line;
	if (rect.height == 1 || count == 0) {
		draw_folded(scene, gpus, count, canvas, rect);
		return;
	}
	title_of(scene, gpus, count, &line);
	struct rect inside = parts_panel(canvas, rect, count == 1 ? "GPU" : "GPUs", &line, ROLE_TITLE);

	if (count == 1)
		draw_one(scene, gpus[0], canvas, inside);
	else
		draw_several(scene, gpus, count, canvas, inside);
}
