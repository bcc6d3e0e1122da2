/* Requests of an inference run: latency percentiles in sliding windows; nothing in other modes. */
#include <stdio.h>
#include <string.h>

#include "src/model/run/known_names.h"
#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"

enum request_cell {
	CELL_WHAT,
	CELL_COUNT,
	CELL_RATE,
	CELL_P50,
	CELL_P95,
	CELL_P99,
	CELL_MAX,
	CELL_OVER,
	CELL_FAILED,
	CELLS
};

static const struct table_column columns[CELLS] = {
	[CELL_WHAT] = { "REQUESTS", 14, 0, true, true },
	[CELL_COUNT] = { "COUNT", 9, 0, false, false },
	[CELL_RATE] = { "PER S", 9, 2, false, false },
	[CELL_P50] = { "P50", 9, 0, false, false },
	[CELL_P95] = { "P95", 9, 0, false, false },
	[CELL_P99] = { "P99", 9, 0, false, false },
	[CELL_MAX] = { "MAX", 9, 1, false, false },
	[CELL_OVER] = { "OVER SLA", 9, 1, false, false },
	[CELL_FAILED] = { "FAILED", 8, 2, false, false },
};

static const struct {
	const char *title;
	double seconds;
} windows[] = { { "last minute", 60 }, { "last 5 min", 300 }, { "last hour", 3600 }, { "all", 0 } };
enum { WINDOWS = sizeof windows / sizeof *windows, PATTERNS_SHOWN = 4 };

static bool is_shown(const struct run *run)
{
	return run && run->requests && run_name_is(run, run->state.mode, KNOWN_INFERENCE);
}

int panel_requests_height(const struct scene *scene, const struct canvas *canvas, int height)
{
	const struct run *run = scene_run(scene);
	if (!is_shown(run) || height < 8)
		return 0;
	if (height < 26)
		return height < 18 ? 1 : 2;
	size_t patterns = requests_patterns(run->requests);

	return parts_panel_rows(canvas) + 1 + WINDOWS + (int)(patterns < PATTERNS_SHOWN ? patterns : PATTERNS_SHOWN);
}

static const char *share(char out[NUMBER_SIZE], uint64_t part, uint64_t whole)
{
	if (part == 0 || whole == 0)
		return part == 0 && whole > 0 ? "0 %" : "–";
	snprintf(out, NUMBER_SIZE, part * 1000 < whole ? "< 0.1 %%" : "%.1f %%", 100 * (double)part / (double)whole);
	return out;
}

static void draw_row(
	const struct table *table, struct canvas *canvas, int y, const char *what, const struct request_figures *figures)
{
	char text[NUMBER_SIZE], rate[NUMBER_SIZE] = "–";
	enum role over = figures->over_sla ? ROLE_WARNING : ROLE_NORMAL,
			  failed = figures->failed ? ROLE_WARNING : ROLE_NORMAL;
	if (figures->rate_per_s >= 0)
		snprintf(rate, sizeof rate, "%.*f", figures->rate_per_s < 100 ? 1 : 0, figures->rate_per_s);
	table_cell(table, canvas, y, CELL_WHAT, ROLE_NORMAL, what);
	table_cell(table, canvas, y, CELL_COUNT, ROLE_NORMAL, parts_thousands(text, (double)figures->count));
	table_cell(table, canvas, y, CELL_RATE, ROLE_NORMAL, rate);
	table_cell(table, canvas, y, CELL_P50, ROLE_NORMAL, format_seconds(text, figures->p50_s));
	table_cell(table, canvas, y, CELL_P95, ROLE_NORMAL, format_seconds(text, figures->p95_s));
	table_cell(table, canvas, y, CELL_P99, ROLE_NORMAL, format_seconds(text, figures->p99_s));
	table_cell(table, canvas, y, CELL_MAX, ROLE_NORMAL, format_seconds(text, figures->max_s));
	table_cell(table, canvas, y, CELL_OVER, over, share(text, figures->over_sla, figures->count));
	table_cell(table, canvas, y, CELL_FAILED, failed, parts_thousands(text, (double)figures->failed));
}

/* Short form: the last five minutes in one line, all requests over the SLA in another. */
static void draw_late(
	const struct scene *scene, const struct requests *requests, struct canvas *canvas, struct rect row)
{
	char text[NUMBER_SIZE], when[NUMBER_SIZE], over[NUMBER_SIZE];
	struct request_figures all;
	struct request_late late;
	struct line line;
	requests_whole(requests, scene->now_ns, &all);
	line_start(&line, "  ");
	line_add(&line, 0, ROLE_NORMAL, "%s in all, %s over %s", parts_thousands(text, (double)all.count),
		share(over, all.over_sla, all.count), format_seconds(when, requests_sla_s(requests)));
	if (requests_late(requests, &late, 1))
		line_add(&line, 1, ROLE_WARNING, "last %s, %s, %s", parts_clock(when, scene, late.time_ns),
			format_seconds(text, late.seconds), late.pattern);
	line_draw(&line, canvas, row.x + 1, row.y, row.width - 1);
}

static void draw_line(
	const struct scene *scene, const struct requests *requests, struct canvas *canvas, struct rect row)
{
	char p50[NUMBER_SIZE], p95[NUMBER_SIZE], p99[NUMBER_SIZE], over[NUMBER_SIZE], text[256];
	struct request_figures figures;
	requests_window(requests, 300, scene->now_ns, &figures);
	snprintf(text, sizeof text, "requests, 5 min: %llu  p50 %s  p95 %s  p99 %s  over SLA %s",
		(unsigned long long)figures.count, format_seconds(p50, figures.p50_s), format_seconds(p95, figures.p95_s),
		format_seconds(p99, figures.p99_s), share(over, figures.over_sla, figures.count));
	canvas_text(canvas, row.x + 1, row.y, row.width - 1, figures.over_sla ? ROLE_WARNING : ROLE_NORMAL, text);
}

void panel_requests(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	const struct requests *requests = scene_run(scene)->requests;
	struct request_figures figures;
	struct request_late late;
	char text[NUMBER_SIZE], when[NUMBER_SIZE];
	struct table table;
	struct line right;
	if (rect.height <= 2) {
		draw_line(scene, requests, canvas, rect_row(rect, 0));
		if (rect.height == 2)
			draw_late(scene, requests, canvas, rect_row(rect, 1));
		return;
	}
	line_start(&right, " · ");
	line_add(&right, 0, ROLE_NORMAL, "SLA %s", format_seconds(text, requests_sla_s(requests)));
	if (requests_late(requests, &late, 1))
		line_add(&right, 1, ROLE_WARNING, "last over SLA %s, %s", parts_clock(when, scene, late.time_ns),
			format_seconds(text, late.seconds));
	struct rect inside = parts_panel(canvas, rect, "Requests", &right, ROLE_TITLE), header = rect_take_top(&inside, 1);

	table_fit(&table, columns, CELLS, header);
	table_header(&table, canvas, header.y, -1, false);
	for (int i = 0; i < inside.height; i++) {
		size_t pattern = (size_t)i - WINDOWS;
		const char *what = i < WINDOWS ? windows[i].title : NULL;

		if (i >= WINDOWS && pattern >= requests_patterns(requests))
			break;
		if (i >= WINDOWS)
			what = requests_pattern(requests, pattern, scene->now_ns, &figures);
		else if (windows[i].seconds > 0)
			requests_window(requests, windows[i].seconds, scene->now_ns, &figures);
		else
			requests_whole(requests, scene->now_ns, &figures);
		draw_row(&table, canvas, inside.y + i, what, &figures);
	}
}
