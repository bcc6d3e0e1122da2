#include "ui/views/counters/counters_figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/rules/note.h"
#include "ui/core/layout.h"
#include "ui/views/counters/counters_parts.h"
#include "ui/widgets/parts.h"

/* What the figure measures, and its meaning; if both do not fit, a complaint has priority. */
struct figure {
	char value[48], what[64], judged[160];
	bool is_known, is_complaint;
};

static void say(struct figure *figure, const char *what, bool is_complaint, const char *judged)
{
	snprintf(figure->what, sizeof figure->what, "%s", what);
	snprintf(figure->judged, sizeof figure->judged, "%s", judged);
	figure->is_complaint = is_complaint;
}

static void set_ratio(struct figure *figure, double ratio)
{
	char text[NUMBER_SIZE];
	figure->is_known = !isnan(ratio);
	snprintf(figure->value, sizeof figure->value, "%s", format_percent(text, ratio));
}

static void set_number(struct figure *figure, double value)
{
	char text[NUMBER_SIZE];
	figure->is_known = !isnan(value);
	snprintf(figure->value, sizeof figure->value, "%s", format_rate(text, value));
}

static void show_cpus(const struct scene *scene, struct figure *figure)
{
	double all = scene->model->system.now[METRIC_SYSTEM_CPUS];
	set_number(figure, scene->model->perf.cpus);
	say(figure, "in use", false, "");
	if (all > 0)
		snprintf(figure->what, sizeof figure->what, "in use, of %.0f", all);
}

/* What the figure measures, and what the rule files say about its value. */
static void say_note(const struct scene *scene, struct figure *figure, const char *what, const char *name)
{
	struct note note;
	alerts_note_of(scene->alerts, name, scene->model, NULL, NULL, &note);
	say(figure, what, note.severity > SEVERITY_INFO, note.text);
}

static void show_ipc(const struct scene *scene, struct figure *figure)
{
	set_number(figure, scene->model->perf.ipc);
	say_note(scene, figure, "instructions per cycle", "ipc_note");
}

static void show_clock(const struct scene *scene, struct figure *figure)
{
	double hertz = scene->model->perf.clock_hz;
	figure->is_known = !isnan(hertz);
	snprintf(figure->value, sizeof figure->value, "–");
	if (figure->is_known)
		snprintf(figure->value, sizeof figure->value, "%.2f GHz", hertz / 1e9);
	say(figure, "while its threads run", false, "");
}

static void show_cache(const struct scene *scene, struct figure *figure)
{
	set_ratio(figure, scene->model->perf.cache_miss_ratio);
	say_note(scene, figure, "of cache references missed", "cache_note");
}

static void show_branches(const struct scene *scene, struct figure *figure)
{
	set_ratio(figure, scene->model->perf.branch_miss_ratio);
	say_note(scene, figure, "of branches mispredicted", "branch_note");
}

static void show_front(const struct scene *scene, struct figure *figure)
{
	set_ratio(figure, scene->model->perf.stalled_front_ratio);
	say(figure, "of cycles: front end stalled", false, "");
}

static void show_back(const struct scene *scene, struct figure *figure)
{
	set_ratio(figure, scene->model->perf.stalled_back_ratio);
	say_note(scene, figure, "of cycles: back end stalled", "stalled_note");
}

static void show_flops(const struct scene *scene, struct figure *figure)
{
	set_number(figure, scene->model->perf.flops_per_s);
	say(figure, "floating point, on the CPUs", false, "");
}

static void show_per_batch(const struct scene *scene, struct figure *figure)
{
	char text[NUMBER_SIZE];
	set_number(figure, scene->model->perf.flops_per_batch);
	say(figure, "on the CPUs", false, "");
	if (!isnan(scene->model->perf.flops_per_sample))
		snprintf(
			figure->what, sizeof figure->what, "%s per sample", format_rate(text, scene->model->perf.flops_per_sample));
}

/* A number that the program published, as text; "–" if there is none. */
static const char *published(const struct run *run, const char *key, char out[NUMBER_SIZE])
{
	const char *text = run ? run_meta(run, key) : NULL;
	double value;
	if (!text || sscanf(text, "%lf", &value) != 1)
		return "–";
	return format_rate(out, value);
}

static void show_mfu(const struct scene *scene, struct figure *figure)
{
	const struct run *run = scene_run(scene);
	char text[NUMBER_SIZE];
	set_ratio(figure, run ? run_mfu(scene->model, run) : NAN);
	say(figure, "needs meta flops_per_sample", false, "and peak_flops");
	if (!figure->is_known)
		return;
	snprintf(figure->what, sizeof figure->what, "of the peak, %s FLOP/s", published(run, "peak_flops", text));
	snprintf(
		figure->judged, sizeof figure->judged, "%s per sample (published)", published(run, "flops_per_sample", text));
}

static void show_traffic(const struct scene *scene, struct figure *figure)
{
	double bytes_per_s = scene->model->perf.bytes_per_s;
	char text[NUMBER_SIZE];
	figure->is_known = !isnan(bytes_per_s);
	snprintf(figure->value, sizeof figure->value, figure->is_known ? "%s/s" : "%s", format_bytes(text, bytes_per_s));
	say(figure, "memory bandwidth, all programs", false, "");
}

static void show_intensity(const struct scene *scene, struct figure *figure)
{
	set_number(figure, scene->model->perf.intensity);
	say_note(scene, figure, "FLOPs per byte of traffic", "intensity_note");
}

static const struct {
	const char *name;
	int rank;
	void (*show)(const struct scene *, struct figure *);
} figures[] = {
	{ "CPUs", 1, show_cpus },
	{ "IPC", 0, show_ipc },
	{ "clock", 2, show_clock },
	{ "cache misses", 1, show_cache },
	{ "branch misses", 4, show_branches },
	{ "stalled, front", 6, show_front },
	{ "stalled, back", 3, show_back },
	{ "FLOP/s", 1, show_flops },
	{ "FLOPs/batch", 2, show_per_batch },
	{ "MFU", 1, show_mfu },
	{ "traffic", 5, show_traffic },
	{ "intensity", 5, show_intensity },
};
enum {
	FIGURES = sizeof figures / sizeof figures[0],
	NAME_WIDTH = 15,
	VALUE_WIDTH = 9,
	UNKNOWN_RANK = 10,
	LACKS_MAX = 3
};

static void show(const struct scene *scene, int index, struct figure *out)
{
	memset(out, 0, sizeof *out);
	figures[index].show(scene, out);
}

/* -- why some are missing -- */

/* The next one from *at on; NULL after the last. */
static const struct missing *next_lack(const struct model *model, size_t *at)
{
	while (*at < model->missing_count)
		if (model->missing[(*at)++].subject == MISSING_COUNTERS)
			return &model->missing[*at - 1];
	return NULL;
}

static int count_lacks(const struct model *model)
{
	int count = 0;
	for (size_t at = 0; next_lack(model, &at) != NULL;)
		count++;
	return count;
}

static void draw_lacks(const struct model *model, struct canvas *canvas, struct rect rect)
{
	size_t at = 0;
	for (const struct missing *lack = next_lack(model, &at); lack && rect.height > 0; lack = next_lack(model, &at)) {
		char text[sizeof lack->figure + sizeof lack->text + sizeof lack->remedy + 16];

		snprintf(text, sizeof text, lack->remedy[0] != '\0' ? "%s: %s → %s" : "%s: %s", lack->figure, lack->text,
			lack->remedy);
		rect_take_top(&rect, parts_wrap(canvas, rect, ROLE_DIM, text));
	}
}

/* -- together -- */

int counter_figures_rows(const struct model *model)
{
	int lacks = count_lacks(model);
	return FIGURES + (lacks > 0 ? 1 + 2 * (lacks < LACKS_MAX ? lacks : LACKS_MAX) : 0);
}

static void choose(const struct scene *scene, int height, bool chosen[FIGURES])
{
	int count = FIGURES, ranks[FIGURES];
	struct figure figure;
	for (int i = 0; i < FIGURES; i++) {
		show(scene, i, &figure);
		chosen[i] = true;
		ranks[i] = figures[i].rank + (figure.is_known ? 0 : UNKNOWN_RANK);
	}
	while (count > height && count > 0) {
		int min = -1;
		for (int i = 0; i < FIGURES; i++)
			if (chosen[i] && (min < 0 || ranks[i] >= ranks[min]))
				min = i;
		chosen[min] = false;
		count--;
	}
}

static void draw_meaning(const struct figure *figure, struct canvas *canvas, struct rect row)
{
	struct line line;
	line_start(&line, " · ");
	line_add(&line, figure->is_complaint ? 1 : 0, ROLE_DIM, "%s", figure->what);
	if (figure->judged[0] != '\0')
		line_add(
			&line, figure->is_complaint ? 0 : 1, figure->is_complaint ? ROLE_WARNING : ROLE_DIM, "%s", figure->judged);
	line_draw(&line, canvas, row.x, row.y, row.width);
}

void counter_figures(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	int lacks = count_lacks(scene->model), spare = rect.height - FIGURES;
	struct rect why = rect_take_bottom(&rect, lacks == 0 || rect.height < 5 ? 0 : spare > 3 ? spare : 2);
	struct figure figure;
	bool chosen[FIGURES];
	choose(scene, rect.height, chosen);
	for (int i = 0; i < FIGURES; i++) {
		if (!chosen[i] || rect.height < 1)
			continue;
		struct rect row = rect_take_top(&rect, 1);

		show(scene, i, &figure);
		canvas_text(canvas, row.x, row.y, NAME_WIDTH - 1, figure.is_known ? ROLE_NORMAL : ROLE_DIM, figures[i].name);
		canvas_text_right(canvas, row.x + NAME_WIDTH, row.y, VALUE_WIDTH,
			figure.is_complaint   ? ROLE_WARNING
				: figure.is_known ? ROLE_STRONG
								  : ROLE_DIM,
			figure.value);
		rect_take_left(&row, NAME_WIDTH + VALUE_WIDTH + 2);
		draw_meaning(&figure, canvas, row);
	}
	if (why.height > 3)
		rect_take_top(&why, 1);
	draw_lacks(scene->model, canvas, why);
}
