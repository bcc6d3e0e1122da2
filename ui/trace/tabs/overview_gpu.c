#include "ui/trace/tabs/overview_gpu.h"

#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/trace/output/profile_view.h"
#include "ui/core/layout.h"
#include "ui/core/line.h"
#include "ui/core/plot_axis.h"
#include "ui/trace/trace_strip.h"
#include "ui/widgets/parts.h"

/* How a cause of idleness looks in the bar. */
static const struct look {
	uint32_t sign;
	char letter; /* in ASCII */
	enum role role;
} looks[IDLE_KIND_COUNT] = {
	[IDLE_HOST] = { 0x2591, 'w', ROLE_PHASE_6 },
	[IDLE_DATA] = { 0x2592, 'd', ROLE_PHASE_0 },
	[IDLE_COPIES] = { 0x2593, 'c', ROLE_PHASE_4 },
	[IDLE_SYNC] = { 0x259e, 's', ROLE_PHASE_3 },
	[IDLE_COMMUNICATION] = { 0x259a, 'n', ROLE_PHASE_5 },
};

enum { LABEL = 25, PERCENT = 7, TIME = 10, SPLIT_BAR = 40, GPUS_SHOWN_MAX = 8 };

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

static uint32_t sign_of(const struct canvas *canvas, const struct look *look)
{
	return canvas->charset == CHARSET_ASCII ? (uint32_t)look->letter : look->sign;
}

void overview_time_draw(
	struct canvas *canvas, struct rect row, int64_t time_ns, int64_t busy_ns, const int64_t *idle_split_ns)
{
	double time = (double)time_ns, sum = (double)busy_ns;
	int x = (int)lrint(ratio(sum, time) * row.width);
	if (!(time > 0))
		return;
	canvas_fill(canvas, (struct rect){ row.x, row.y, x, 1 }, 0x2588, ROLE_PLOT);
	for (int kind = 0; kind < IDLE_KIND_COUNT && idle_split_ns; kind++) {
		sum += (double)idle_split_ns[kind];
		int end = (int)lrint(sum / time * row.width);
		canvas_fill(
			canvas, (struct rect){ row.x + x, row.y, end - x, 1 }, sign_of(canvas, &looks[kind]), looks[kind].role);
		x = end;
	}
	canvas_fill(canvas, (struct rect){ row.x + x, row.y, row.width - x, 1 }, 0xb7, ROLE_BORDER);
}

static void draw_figure(
	struct canvas *canvas, struct rect row, const char *label, int64_t ns, int64_t window_ns, enum role role)
{
	char number[NUMBER_SIZE];
	canvas_text(canvas, row.x, row.y, LABEL - 1, role, label);
	canvas_text_right(canvas, row.x + LABEL, row.y, PERCENT, ROLE_STRONG,
		format_percent(number, ratio((double)ns, (double)window_ns)));
	canvas_text_right(
		canvas, row.x + LABEL + PERCENT, row.y, TIME, ROLE_NORMAL, format_seconds(number, (double)ns / 1e9));
}

static void draw_busy(
	const struct trace_scene *scene, const struct profile_gpu *gpu, struct canvas *canvas, struct rect row)
{
	char name[PROFILE_GPU_NAME_SIZE], words[PROFILE_GPU_NAME_SIZE + 8];
	snprintf(words, sizeof words, "%s busy", profile_gpu_name(&scene->analysis->profile, gpu, name));
	draw_figure(canvas, row, words, gpu->busy_ns, gpu->window_ns, ROLE_STRONG);
	rect_take_left(&row, LABEL + PERCENT + TIME + 2);
	overview_time_draw(canvas, row, gpu->window_ns, gpu->busy_ns, gpu->has_split ? gpu->idle_split_ns : NULL);
}

static void draw_cause(const struct profile_gpu *gpu, int kind, struct canvas *canvas, struct rect row)
{
	char words[80];
	snprintf(words, sizeof words, "    %s", profile_idle_words[kind]);
	canvas_put(canvas, row.x + 2, row.y, sign_of(canvas, &looks[kind]), looks[kind].role);
	struct rect text = row;
	draw_figure(canvas, text, words, gpu->idle_split_ns[kind], gpu->window_ns,
		gpu->idle_split_ns[kind] ? ROLE_NORMAL : ROLE_DIM);
	canvas_put(canvas, row.x + 2, row.y, sign_of(canvas, &looks[kind]), looks[kind].role);
	rect_take_left(&row, LABEL + PERCENT + TIME + 2);
	canvas_bar(canvas, row.x, row.y, row.width < SPLIT_BAR ? row.width : SPLIT_BAR,
		ratio((double)gpu->idle_split_ns[kind], (double)gpu->window_ns), looks[kind].role);
}

static void causes_line(
	const struct trace_scene *scene, const struct canvas *canvas, const struct profile_gpu *gpu, struct line *line)
{
	char number[NUMBER_SIZE], sign[8] = "";
	line_start(line, "  ");
	line_add(
		line, 0, ROLE_STRONG, "idle %s:", format_percent(number, ratio((double)gpu->idle_ns, (double)gpu->window_ns)));
	for (int kind = 0; kind < IDLE_KIND_COUNT && gpu->has_split; kind++) {
		sign[utf8_encode(sign_of(canvas, &looks[kind]), sign)] = '\0';
		if (gpu->idle_split_ns[kind] > 0)
			line_add(line, 1 + kind, looks[kind].role, "%s %s %s", sign, profile_idle_words[kind],
				format_percent(number, ratio((double)gpu->idle_split_ns[kind], (double)gpu->window_ns)));
	}
	if (!gpu->has_split)
		line_add(line, 0, ROLE_DIM, "cause unknown: %s", profile_no_cause(&scene->analysis->profile));
}

/* Kernels, copies, communication, and how much of that overlaps. */
static void work_line(const struct profile_gpu *gpu, struct line *line)
{
	char number[NUMBER_SIZE];
	line_start(line, " · ");
	line_add(line, 0, ROLE_NORMAL, "kernels %s", format_seconds(number, (double)gpu->compute_ns / 1e9));
	line_add(line, 1, ROLE_NORMAL, "copies %s", format_seconds(number, (double)gpu->copy_ns / 1e9));
	if (gpu->communication_ns) {
		line_add(line, 1, ROLE_NORMAL, "communication %s", format_seconds(number, (double)gpu->communication_ns / 1e9));
		line_add(line, 1, ROLE_NORMAL, "%s of it overlaps with kernels",
			format_percent(number, ratio((double)gpu->overlap_ns, (double)gpu->communication_ns)));
	} else {
		line_add(line, 3, ROLE_DIM, "no communication");
	}
	line_add(line, 2, ROLE_NORMAL, "%s kernel%s", format_grouped(number, gpu->kernel_count),
		gpu->kernel_count == 1 ? "" : "s");
	line_add(line, 2, ROLE_NORMAL, "%u stream%s", gpu->streams, gpu->streams == 1 ? "" : "s");
}

/* The rows of single GPUs, if there are several. */
static int gpus(const struct trace_scene *scene)
{
	int count = (int)scene->analysis->idle.gpu_count;
	return count < 2 ? 0 : count < GPUS_SHOWN_MAX ? count : GPUS_SHOWN_MAX;
}

int overview_gpu_rows(const struct trace_scene *scene, bool is_short)
{
	if (!trace_scene_gpu(scene))
		return 1;
	return (is_short || !trace_scene_gpu(scene)->has_split ? 3 : 3 + IDLE_KIND_COUNT) + (is_short ? 0 : gpus(scene));
}

static void draw_rest(const struct trace_scene *scene, struct canvas *canvas, struct rect *rect, bool is_short)
{
	const struct profile_gpu *gpu = trace_scene_gpu(scene);
	struct line line;
	struct rect row = rect_take_top(rect, 1);
	if (is_short || !gpu->has_split) {
		causes_line(scene, canvas, gpu, &line);
		line_draw(&line, canvas, row.x, row.y, row.width);
	} else {
		draw_figure(canvas, row, "idle", gpu->idle_ns, gpu->window_ns, ROLE_STRONG);
		for (int kind = 0; kind < IDLE_KIND_COUNT; kind++)
			draw_cause(gpu, kind, canvas, rect_take_top(rect, 1));
	}
	row = rect_take_top(rect, 1);
	work_line(gpu, &line);
	line_draw(&line, canvas, row.x, row.y, row.width);
	for (int i = 0; i < gpus(scene) && !is_short; i++)
		draw_busy(scene, &scene->analysis->idle.gpus[i], canvas, rect_take_top(rect, 1));
}

void overview_gpu_draw(const struct trace_scene *scene, struct canvas *canvas, struct rect rect, bool is_short)
{
	const struct profile *profile = &scene->analysis->profile;
	const struct profile_gpu *gpu = trace_scene_gpu(scene);
	char name[100], number[NUMBER_SIZE];
	struct line about;
	line_start(&about, " · ");
	if (profile->gpu_count && profile->gpus[0].name)
		line_add(&about, 0, ROLE_NORMAL, "%s",
			profile_names_show(&profile->names, profile->gpus[0].name, name, sizeof name));
	if (gpu)
		line_add(&about, 1, ROLE_NORMAL, "of %s", format_seconds(number, (double)gpu->window_ns / 1e9));
	if (gpu && gpu->index == PROFILE_GPU_MEAN)
		line_add(&about, 0, ROLE_STRONG, "mean of %u GPUs", scene->analysis->idle.gpu_count);
	struct rect inside = parts_panel(canvas, rect, "GPU", &about, ROLE_TITLE);
	rect_take_left(&inside, 1);
	rect_take_right(&inside, 1);
	if (!gpu) {
		canvas_text(
			canvas, inside.x, inside.y, inside.width, ROLE_DIM, "no GPU work in this trace: times are of the CPU");
		return;
	}
	draw_busy(scene, gpu, canvas, rect_take_top(&inside, 1));
	draw_rest(scene, canvas, &inside, is_short);
}

void overview_busy_draw(const struct trace_scene *scene, struct canvas *canvas, struct rect rect)
{
	enum { POINTS_MAX = 2048 };
	const struct profile_gpu *gpu = trace_scene_gpu(scene);
	struct plot_point points[POINTS_MAX];
	struct scale scale = { 0, 1, 0 };
	struct line about;
	char number[NUMBER_SIZE];
	double window_s = trace_scene_window_s(scene);
	line_start(&about, " · ");
	line_add(&about, 0, ROLE_NORMAL, "0 s – %s", format_seconds(number, window_s));
	if (gpu && gpu->index == PROFILE_GPU_MEAN)
		line_add(&about, 0, ROLE_NORMAL, "mean of %u GPUs", scene->analysis->idle.gpu_count);
	struct rect inside = parts_panel(canvas, rect, "GPU busy over time", &about, ROLE_TITLE);
	struct rect plot = plot_axis(canvas, inside, &scale, PLOT_PERCENT);
	size_t columns = plot_resolution(canvas, plot), most = PROFILE_CURVE_SIZE < columns ? PROFILE_CURVE_SIZE : columns;
	columns = columns < POINTS_MAX ? columns : POINTS_MAX;
	for (size_t i = 0; i < columns && gpu; i++) {
		double busy =
			trace_strip_ratio(gpu->busy_curve_ns, window_s * 1e9 / PROFILE_CURVE_SIZE, i * most / columns, most);
		points[i] = (struct plot_point){ 0, busy, ROLE_PLOT, false };
	}
	if (gpu)
		plot_points(canvas, plot, &scale, points, columns, false);
}
