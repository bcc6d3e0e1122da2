#include "ui/widgets/chrome.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/model/ranks/ranks.h"
#include "src/model/run/refusals.h"
#include "ui/core/layout.h"
#include "ui/core/line.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/tabs.h"

#define VIEW_POINTER(name) &name##_view,
const struct view *const all_views[] = { VIEWS(VIEW_POINTER) };
#undef VIEW_POINTER
const int view_count = sizeof all_views / sizeof all_views[0];

/* -- the header -- */

/* In whole seconds, so that the header does not flicker. */
static const char *age(char out[NUMBER_SIZE], double seconds)
{
	return seconds < 60 ? parts_waiting(out, seconds) : format_seconds(out, seconds);
}

/* A run that is not used is a loop in the process of another. */
static unsigned count_runs(const struct model *model, unsigned upto)
{
	unsigned count = 0;
	for (unsigned i = 0; i < upto; i++)
		count += model->runs[i].is_used;
	return count;
}

/* Adds this run's rank and the slowest rank. */
static void add_rank(
	const struct scene *scene, const struct run *run, const struct ranks *ranks, bool is_wide, struct line *line)
{
	if (run->rank[0] != '\0')
		line_add(line, 3, ROLE_NORMAL, run->world[0] != '\0' ? "rank %s%s/%s" : "rank %s%s", run->rank,
			run->is_rank_guessed ? "?" : "", run->world);
	if (ranks->slowest >= 0)
		line_add(
			line, 3, ROLE_WARNING, is_wide ? "slowest: rank %ld" : "slowest %ld", ranks->list[ranks->slowest].number);
	unsigned runs = count_runs(scene->model, scene->model->run_count);
	if (runs > 1 && runs > ranks->count)
		line_add(line, 3, ROLE_DIM, "run %u of %u [ ]", count_runs(scene->model, (unsigned)scene->run) + 1, runs);
}

enum { INFERRED_SIZE = 96 };

/* Where the steps of a run without instrumentation are counted. */
static const char *inferred_words(const struct run *run, char out[INFERRED_SIZE])
{
	const struct inferred inferred = run_inferred(run);
	const char *slash = inferred.file ? strrchr(inferred.file, '/') : NULL;
	if (!inferred.file || !inferred.line)
		snprintf(out, INFERRED_SIZE, inferred.what ? "steps inferred (%.60s)" : "steps inferred", inferred.what);
	else
		snprintf(out, INFERRED_SIZE, "steps inferred (%.60s:%u)", slash ? slash + 1 : inferred.file, inferred.line);
	return out;
}

static void add_who(
	const struct scene *scene, const struct run *run, const struct ranks *ranks, bool is_wide, struct line *line)
{
	const struct model *model = scene->model;
	char text[NUMBER_SIZE], words[INFERRED_SIZE];
	line_start(line, "  ·  ");
	if (!is_wide)
		line->separator = " · ";
	if (model->has_target)
		line_add(line, 1, ROLE_TITLE, is_wide ? "%s  pid %d" : "%s %d",
			model->command[0] != '\0' ? model->command : "?", model->target_pid);
	if (run)
		line_add(line, 2, run->is_counted ? ROLE_NORMAL : ROLE_STRONG, "%s",
			!run->is_counted ? run->name
				: is_wide    ? inferred_words(run, words)
							 : "steps inferred");
	if (run && run->inner_pid != 0 && run->inner_pid != run->pid)
		line_add(line, 7, ROLE_DIM, "pid %d in its container", run->inner_pid);
	if (run)
		add_rank(scene, run, ranks, is_wide, line);
	if (run && run->start_ns > 0 && !run->is_counted)
		line_add(line, 4, ROLE_NORMAL, "up %s", age(text, seconds_between(run->start_ns, scene->now_ns)));
	else if (model->first_ns > 0)
		line_add(line, 4, ROLE_NORMAL, "attached %s", age(text, seconds_between(model->first_ns, scene->now_ns)));
	if (model->note[0] != '\0')
		line_add(line, 6, ROLE_WARNING, "%s", model->note);
}

/* A stalled rank explains why the others wait. */
static bool add_still_rank(const struct scene *scene, const struct ranks *ranks, struct line *line)
{
	const struct rank *rank = ranks->still >= 0 ? &ranks->list[ranks->still] : NULL;
	if (!rank || (rank->state == RANK_STUCK && (int)rank->run == scene->run))
		return false;
	line_add(line, 0, ROLE_CRITICAL, "⚠ rank %ld %s", rank->number, rank_state_name(rank->state));
	return true;
}

static void add_state(
	const struct scene *scene, const struct run *run, const struct ranks *ranks, bool is_ascii, struct line *line)
{
	int64_t when_ns;
	char text[160];
	if (scene->is_paused)
		line_add(line, 0, ROLE_WARNING, "‖ PAUSED");
	else if (scene->replay)
		line_add(line, 2, scene->replay->state == REPLAY_PAUSED ? ROLE_WARNING : ROLE_ACCENT, "%s",
			replay_line_state(scene->replay, text, sizeof text));
	if (scene->is_recording)
		line_add(line, 1, ROLE_CRITICAL, is_ascii ? "rec %s" : "● rec %s", format_bytes(text, scene->recorded_bytes));
	if (scene->request[0])
		line_add(line, 1, ROLE_ACCENT, "%s", scene->request);
	const char *why = scene->model->end.brief;
	if (progress_ended(scene, run, &when_ns))
		line_add(line, 0, ROLE_STRONG, "ended %s%s%s%s", parts_clock(text, scene, when_ns), *why ? " (" : "", why,
			*why ? ")" : "");
	else if (add_still_rank(scene, ranks, line))
		;
	else if (run && progress_hang(scene, run, text, sizeof text))
		line_add(line, 0, ROLE_CRITICAL, "⚠ %s", text);
	else if (!scene->is_paused && !scene->replay)
		line_add(line, 3, ROLE_GOOD, "● live");
	if (run && run->lost_events > 0)
		line_add(line, 4, ROLE_WARNING, "%s events lost", format_count(text, (double)run->lost_events));
	if (run && run_refused_gaps(run) > 0)
		line_add(line, 4, ROLE_WARNING, "%s calls refused", format_count(text, (double)run_refused_gaps(run)));
}

static void add_cost(const struct scene *scene, bool is_wide, int64_t clock_ns, int64_t period_ns, struct line *line)
{
	time_t seconds = (time_t)(clock_ns / NS_PER_S);
	struct tm parts;
	char text[NUMBER_SIZE];
	if (period_ns > 0)
		line_add(line, 6, ROLE_DIM, "%.3g Hz", (double)NS_PER_S / (double)period_ns);
	snprintf(text, sizeof text, "–");
	if (!isnan(scene->model->self.cpu_ratio))
		snprintf(text, sizeof text, "%.1f %%", scene->model->self.cpu_ratio * 100);
	line_add(line, 5, ROLE_DIM, is_wide ? "pmtop %s CPU" : "pmtop %s", text);
	if (localtime_r(&seconds, &parts) != NULL && strftime(text, sizeof text, "%H:%M:%S", &parts) > 0)
		line_add(line, 7, ROLE_NORMAL, "%s", text);
}

void chrome_header(
	const struct scene *scene, struct canvas *canvas, struct rect row, int64_t clock_ns, int64_t period_ns)
{
	const struct run *run = scene_run(scene);
	bool is_wide = canvas->width >= 100;
	struct ranks ranks;
	struct line who, how;
	int left;
	ranks_compare(scene->model, scene->run < 0 ? scene->model->run_count : (unsigned)scene->run, &ranks);
	line_start(&how, "  ");
	add_state(scene, run, &ranks, canvas->charset == CHARSET_ASCII, &how);
	/* The slowest rank matters more than the refresh rate. */
	add_cost(scene, is_wide, clock_ns, is_wide || ranks.slowest < 0 ? period_ns : 0, &how);
	row.x += 1;
	row.width -= 2;
	if (is_wide)
		rect_take_left(&row, canvas_text(canvas, row.x, row.y, row.width, ROLE_ACCENT, "pmtop") + 2);
	add_who(scene, run, &ranks, is_wide, &who);
	left = row.width - line_fit(&how, row.width) - 2;
	if (left < row.width * 2 / 5)
		left = row.width * 2 / 5;
	rect_take_left(&row, line_draw(&who, canvas, row.x, row.y, left) + 2);
	line_draw_right(&how, canvas, row.x, row.y, row.width);
}

/* -- the tabs -- */

static int warning_count(const struct alerts *alerts)
{
	int count = 0;
	for (size_t i = 0; i < alerts->count; i++)
		count += alerts->list[i].is_raised && alerts->list[i].severity > SEVERITY_INFO;
	return count;
}

static int fill_tabs(const struct scene *scene, struct tab tabs[])
{
	for (int view = 0; view < view_count; view++)
		tabs[view] = (struct tab){ .name = all_views[view]->name,
			.short_name = all_views[view]->short_name,
			.digit = all_views[view]->digit,
			.is_hidden = all_views[view]->is_offered && !all_views[view]->is_offered(scene),
			.warnings = all_views[view] == &warnings_view ? warning_count(scene->alerts) : 0 };
	return view_count;
}

void chrome_tabs(const struct scene *scene, struct canvas *canvas, struct rect row, int active)
{
	struct tab tabs[VIEW_STATES];
	tabs_draw(tabs, fill_tabs(scene, tabs), canvas, row, active);
}

int chrome_tab_at(const struct scene *scene, struct rect row, int x)
{
	struct tab tabs[VIEW_STATES];
	return tabs_at(tabs, fill_tabs(scene, tabs), row, x);
}

/* -- the last line -- */

struct rect chrome_hints(struct canvas *canvas, struct rect row, const char *hints)
{
	while (*hints != '\0' && row.width > 0) {
		const char *end = strstr(hints, "  ");
		char text[80];
		size_t length = end ? (size_t)(end - hints) : strlen(hints), key;
		int used;

		if (length >= sizeof text)
			break;
		memcpy(text, hints, length);
		text[length] = '\0';
		if ((int)text_cells(text) > row.width)
			break;
		used = canvas_text(canvas, row.x, row.y, row.width, ROLE_DIM, text);
		key = strcspn(text, " ");
		text[key] = '\0';
		canvas_text(canvas, row.x, row.y, row.width, ROLE_KEY, text);
		rect_take_left(&row, used + 2);
		hints += length + (end ? 2 : 0);
	}
	return row;
}

void chrome_last_line(
	const struct scene *scene, const struct view *view, struct canvas *canvas, struct rect row, const char *typed)
{
	rect_take_left(&row, 1);
	if (typed) {
		canvas_printf(canvas, row.x, row.y, row.width, ROLE_STRONG, "/%s_", typed);
	} else if (scene->message[0] != '\0') {
		canvas_text(canvas, row.x, row.y, row.width, ROLE_ACCENT, scene->message);
	} else if (scene->state->search[0] != '\0') {
		rect_take_left(
			&row, canvas_printf(canvas, row.x, row.y, row.width, ROLE_STRONG, "/%s", scene->state->search) + 2);
		chrome_hints(canvas, row, "n/N next match  Esc ends the search");
	} else {
		if (scene->replay && scene->replay->state != REPLAY_STILL && scene->replay->has_span)
			row = chrome_hints(canvas, row,
				scene->replay->state == REPLAY_SEEKING ? "Esc stop  ,. 10 s  @ go to" : ",. 10 s  {} speed  @ go to");
		if (scene->has_log && view->draw)
			row = chrome_hints(canvas, row, "l output");
		chrome_hints(canvas, row, canvas->width >= 100 ? view->keys : view->keys_short);
	}
}

void chrome_one_line(const struct scene *scene, struct canvas *canvas)
{
	const struct run *run = scene_run(scene);
	int warnings = warning_count(scene->alerts);
	char text[NUMBER_SIZE];
	struct line line;
	line_start(&line, " · ");
	if (scene->is_paused)
		line_add(&line, 5, ROLE_WARNING, "PAUSED");
	if (run)
		progress_pieces(scene, run, &line);
	else if (scene->model->has_target)
		line_add(&line, 0, ROLE_NORMAL, "%s",
			scene->model->target_ended ? "ended" : format_bytes(text, scene->model->memory.tree_rss_bytes));
	if (warnings > 0)
		line_add(&line, 1, ROLE_WARNING, "⚠%d", warnings);
	if (line_draw(&line, canvas, 0, 0, canvas->width) == 0)
		canvas_put(canvas, 0, 0, warnings > 0 ? 0x26a0 : 0x25cf, warnings > 0 ? ROLE_WARNING : ROLE_GOOD);
}
