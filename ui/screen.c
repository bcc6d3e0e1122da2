#include "ui/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/text.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"
#include "ui/core/layout.h"
#include "ui/widgets/chrome.h"
#include "ui/widgets/log_pane.h"
#include "ui/widgets/loop_picker.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/typing.h"

struct screen {
	struct scene scene;
	int view, view_before; /* the view that Esc returns to from help */
	struct view_state states[VIEW_STATES];
	struct replay_line *replay; /* NULL: a live run */
	struct log_pane log;
	struct loop_picker loops;
	struct setup *setup; /* NULL: none */
	bool run_is_chosen;  /* by the user; holds while the run exists */
	bool is_typing;
	char typed[64];
	/* model time of the newest set, and its offset to realtime */
	int64_t dated_ns, offset_ns;
	int64_t clock_ns;     /* shown in the header; stops while paused */
	enum charset charset; /* of the last frame */
	bool is_stale;        /* a key or message changed the screen since the last frame */
};
struct screen *screen_new(struct model *model, const struct alerts *alerts, const struct settings *settings)
{
	struct screen *screen = calloc(1, sizeof *screen);
	if (!screen)
		return NULL;
	screen->scene.model = model;
	screen->scene.alerts = alerts;
	screen->scene.settings = settings;
	screen->scene.run = -1;
	screen->scene.focus.at_live_end = true;
	screen->scene.state = &screen->states[0];
	return screen;
}

void screen_free(struct screen *screen) { free(screen); }

/* -- which run -- */

static void show_run(struct screen *screen, int run)
{
	if (run == screen->scene.run)
		return;
	screen->is_stale = true;
	screen->scene.run = run;
	screen->scene.focus = (struct focus){ .at_live_end = true };
}

/* The user's choice stays, and so does a live run whose batches the user inspects; otherwise the best run is shown
 * as soon as there is one. */
static void choose_run(struct screen *screen)
{
	const struct run *shown = scene_run(&screen->scene);
	const struct focus *focus = &screen->scene.focus;
	if (shown && (screen->run_is_chosen || (shown->is_live && (!focus->at_live_end || focus->is_open))))
		return;
	show_run(screen, ranks_first(screen->scene.model, NULL, NULL));
}

/* In the order of ranks. */
static void next_run(struct screen *screen, int step)
{
	struct scene *scene = &screen->scene;
	unsigned order[MODEL_RUNS_MAX];
	int count = (int)ranks_order(scene->model, order), at = 0;
	if (count == 0)
		return;
	if (count == 1)
		snprintf(scene->message, sizeof scene->message, "pmtop shows only one run here");
	while (at + 1 < count && order[at] != (unsigned)scene->run)
		at++;
	screen->run_is_chosen = true;
	show_run(screen, (int)order[(at + step + count) % count]);
}

/* -- drawing -- */

static bool is_tiny(const struct canvas *canvas) { return canvas->width < 40 || canvas->height < 10; }

/* The view, and the output of the command below it. */
static struct rect space_of(const struct screen *screen, const struct canvas *canvas)
{
	struct rect body = { 0, 0, canvas->width, canvas->height };
	rect_take_top(&body, parts_is_roomy(canvas) ? 3 : 2);
	rect_take_bottom(&body, 1);
	if (screen->replay)
		rect_take_bottom(&body, replay_line_rows(screen->replay, canvas));
	return body;
}

static struct rect body_of(const struct screen *screen, const struct canvas *canvas)
{
	struct rect body = space_of(screen, canvas);
	rect_take_bottom(&body, log_pane_rows(&screen->log, body.height));
	return body;
}

static struct rect log_of(const struct screen *screen, const struct canvas *canvas)
{
	struct rect space = space_of(screen, canvas);
	return rect_take_bottom(&space, log_pane_rows(&screen->log, space.height));
}

/* Only its keys: the log is no view. */
static const struct view log_hints = {
	.keys = "q quit  ↑↓ PgUp PgDn scroll  Home oldest  End newest  L smaller  l hide",
	.keys_short = "q quit  ↑↓ PgUp PgDn scroll  End newest  L smaller  l hide",
};

static const struct view loops_hints = {
	.keys = "q quit  ↑↓ select  Enter count its iterations as steps  Esc close",
	.keys_short = "q quit  ↑↓ select  Enter count  Esc close",
};

static const struct view setup_hints = {
	.keys = "q quit  ↑↓ select  → ← rows, pages  Space change  - previous  Esc save and close",
	.keys_short = "q quit  ↑↓ select  → ← rows  Space change  Esc save and close",
};

static bool is_set_up(const struct screen *screen) { return screen->setup && screen->setup->is_open; }

static const struct view *hints_of(const struct screen *screen)
{
	if (is_set_up(screen))
		return &setup_hints;
	return screen->log.is_whole ? &log_hints : screen->loops.is_open ? &loops_hints : all_views[screen->view];
}

/* Draws the rows below the view. */
static void draw_below(struct screen *screen, struct canvas *canvas)
{
	struct rect whole = { 0, 0, canvas->width, canvas->height }, last = rect_take_bottom(&whole, 1);
	int rows = screen->replay ? replay_line_rows(screen->replay, canvas) : 0;
	if (rows > 0)
		replay_line_draw(screen->replay, canvas, rect_take_bottom(&whole, rows));
	if (screen->replay && screen->replay->is_typing)
		replay_line_prompt(screen->replay, canvas, last);
	else if (screen->scene.earlier && screen->scene.earlier->is_typing)
		earlier_prompt(screen->scene.earlier, canvas, last);
	else if (pane_is_due(&screen->scene.panes, PANE_HINTS, last))
		chrome_last_line(&screen->scene, hints_of(screen), canvas, last, screen->is_typing ? screen->typed : NULL);
}

static void set_time(struct screen *screen, int64_t realtime_ns)
{
	struct scene *scene = &screen->scene;
	if (scene->is_paused)
		return;
	scene->now_ns = scene->model->now_ns;
	if (scene->now_ns != screen->dated_ns) {
		screen->dated_ns = scene->now_ns;
		screen->offset_ns = realtime_ns - scene->now_ns;
	}
	scene->realtime_ns = scene->now_ns + screen->offset_ns;
	screen->clock_ns = realtime_ns;
}

static void draw_view(struct screen *screen, struct canvas *canvas, struct rect body)
{
	const struct view *view = all_views[screen->view];
	if (!screen->log.is_whole) {
		canvas_clip(canvas, body);
		if (is_set_up(screen))
			setup_draw(screen->setup, canvas, rect_take_top(&body, setup_height(screen->setup, body.height)));
		if (screen->loops.is_open)
			loop_picker_draw(&screen->loops, &screen->scene, canvas, body);
		else if (body.height > 2)
			view->draw(&screen->scene, canvas, body);
		canvas_unclip(canvas);
	}
	log_pane_draw(&screen->log, canvas, log_of(screen, canvas));
}

static void draw_all(struct screen *screen, struct canvas *canvas, int64_t period_ns)
{
	struct scene *scene = &screen->scene;
	struct rect whole = { 0, 0, canvas->width, canvas->height };
	draw_view(screen, canvas, body_of(screen, canvas));
	if (pane_is_due(&scene->panes, PANE_HEADER, rect_row(whole, 0)))
		chrome_header(scene, canvas, rect_row(whole, 0), screen->clock_ns, period_ns);
	if (pane_is_due(&scene->panes, PANE_TABS, rect_row(whole, 1)))
		chrome_tabs(scene, canvas, rect_row(whole, 1), screen->view);
	draw_below(screen, canvas);
}

/* Whether panels may be reused: only at high refresh rates, and not for the final frame or a replay. */
static bool can_reuse_panes(const struct screen *screen, const struct canvas *canvas)
{
	const struct run *run = scene_run(&screen->scene);
	bool goes_on = !screen->scene.model->target_ended && (!run || run->is_live);
	return goes_on && !screen->replay && !screen->is_stale && !screen->loops.is_open && !is_set_up(screen) &&
		!screen->scene.is_paused && canvas->painter == screen && canvas->charset == screen->charset &&
		screen->scene.settings->refresh_s < PANES_SLOW_S;
}

void screen_draw(struct screen *screen, struct canvas *canvas, int64_t realtime_ns, int64_t period_ns)
{
	struct scene *scene = &screen->scene;
	set_time(screen, realtime_ns);
	choose_run(screen);
	scene->state = &screen->states[screen->view];
	scene->is_ascii = canvas->charset == CHARSET_ASCII;
	panes_begin(&scene->panes, canvas, scene->now_ns, !is_tiny(canvas) && can_reuse_panes(screen, canvas));
	screen->is_stale = false;
	if (is_tiny(canvas)) {
		chrome_one_line(scene, canvas);
		return;
	}
	draw_all(screen, canvas, period_ns);
	if (!panes_end(&scene->panes)) {
		panes_begin(&scene->panes, canvas, scene->now_ns, false);
		draw_all(screen, canvas, period_ns);
		panes_end(&scene->panes);
	}
	canvas->painter = screen;
	screen->charset = canvas->charset;
}

/* -- keys -- */

static void open_view(struct screen *screen, int view)
{
	if (view >= 0)
		screen->log.is_whole = screen->loops.is_open = false;
	if (view < 0 || view == screen->view)
		return;
	screen->is_stale = true;
	screen->view_before = screen->view;
	screen->scene.help_of = all_views[screen->view];
	screen->view = view;
	screen->scene.state = &screen->states[view];
}

/* The view whose tab follows after so many. */
static int next_view(const struct screen *screen, int by)
{
	int view = (screen->view + by) % view_count;
	while (all_views[view]->is_offered && !all_views[view]->is_offered(&screen->scene))
		view = (view + by) % view_count;
	return view;
}

static int view_of_digit(int key)
{
	for (int view = 0; view < view_count; view++)
		if (key == all_views[view]->digit || (key == KEY_FUNCTION_1 && all_views[view] == &help_view))
			return view;
	return -1;
}

bool screen_open_view(struct screen *screen, const char *name)
{
	for (int view = 0; view < view_count; view++) {
		if (strcasecmp(all_views[view]->name, name) != 0)
			continue;
		open_view(screen, view);
		return true;
	}
	return false;
}

static bool view_key(struct screen *screen, struct key_event event, const struct canvas *canvas)
{
	if (screen->loops.is_open)
		return false;
	const struct view *view = all_views[screen->view];
	bool did = view->key && view->key(&screen->scene, event, body_of(screen, canvas));
	if (screen->scene.go_to)
		screen_open_view(screen, screen->scene.go_to);
	screen->scene.go_to = NULL;
	return did;
}

static void end_search(struct screen *screen, const char *text)
{
	screen->is_typing = false;
	snprintf(screen->scene.state->search, sizeof screen->scene.state->search, "%s", text);
}

static void type_search(struct screen *screen, struct key_event event, const struct canvas *canvas)
{
	enum typing typing = typing_key(screen->typed, sizeof screen->typed, event);
	if (typing != TYPING_ON)
		end_search(screen, screen->typed);
	if (typing == TYPING_DONE)
		view_key(screen, (struct key_event){ .key = 'n' }, canvas);
}

static void start_search(struct screen *screen)
{
	if (screen->loops.is_open || !all_views[screen->view]->can_search) {
		screen_message(screen, "this view has no search");
		return;
	}
	screen->is_typing = true;
	screen->typed[0] = '\0';
}

/* WISH_BACK: nothing was open that Esc closes. */
static enum screen_wish back(struct screen *screen, const struct canvas *canvas)
{
	int before = screen->view;
	if (screen->scene.state->search[0] != '\0')
		end_search(screen, "");
	else if (!view_key(screen, (struct key_event){ .key = KEY_ESC }, canvas)) {
		open_view(screen, all_views[screen->view] == &help_view ? screen->view_before : 0);
		return before == 0 ? WISH_BACK : WISH_NOTHING;
	}
	return WISH_NOTHING;
}

static bool click_tab(struct screen *screen, struct key_event event, const struct canvas *canvas)
{
	struct rect whole = { 0, 0, canvas->width, canvas->height };
	if (event.key != KEY_CLICK || event.y != 1 || is_tiny(canvas))
		return false;
	open_view(screen, chrome_tab_at(&screen->scene, rect_row(whole, 1), event.x));
	return true;
}

enum screen_wish screen_key(struct screen *screen, struct key_event event, const struct canvas *canvas)
{
	if (event.key == KEY_HANGUP)
		return WISH_QUIT;
	if (event.key == KEY_NOTHING || event.key == KEY_WINDOW)
		return WISH_NOTHING;
	screen->is_stale = true;
	screen->scene.message[0] = '\0';
	if (screen->is_typing) {
		type_search(screen, event, canvas);
		return WISH_NOTHING;
	}
	if (screen->setup && setup_key(screen->setup, &screen->scene, event))
		return WISH_NOTHING;
	if (log_pane_key(&screen->log, event, log_of(screen, canvas)) ||
		loop_picker_key(&screen->loops, &screen->scene, event))
		return WISH_NOTHING;
	switch (event.key) {
	case 'q': return WISH_QUIT;
	case 'w': return WISH_WRITE;
	case 'r': return WISH_RECORD;
	case 'P': return WISH_PROFILE;
	case 'T': return WISH_TRACE;
	case ' ':
	case 'p': screen->scene.is_paused = !screen->scene.is_paused; return WISH_NOTHING;
	case KEY_TAB: open_view(screen, next_view(screen, 1)); return WISH_NOTHING;
	case KEY_BACK_TAB: open_view(screen, next_view(screen, view_count - 1)); return WISH_NOTHING;
	case '[': next_run(screen, -1); return WISH_NOTHING;
	case ']': next_run(screen, 1); return WISH_NOTHING;
	case '/': start_search(screen); return WISH_NOTHING;
	case KEY_ESC: return back(screen, canvas);
	default: break;
	}
	if (view_of_digit(event.key) >= 0)
		open_view(screen, view_of_digit(event.key));
	else if (!click_tab(screen, event, canvas))
		view_key(screen, event, canvas);
	return WISH_NOTHING;
}

/* -- for the program around it -- */

bool screen_write(const struct screen *screen, struct buffer *out)
{
	const struct view *view = all_views[screen->view];
	size_t before = out->length;
	if (view->write)
		view->write(&screen->scene, out);
	return out->length > before;
}

const char *screen_view_name(const struct screen *screen) { return all_views[screen->view]->name; }

unsigned screen_needs(const struct screen *screen) { return all_views[screen->view]->needs; }

int32_t screen_wants_loops_of(const struct screen *screen) { return loop_picker_wants(&screen->loops, &screen->scene); }

bool screen_take_loop(struct screen *screen, char out[LOOP_CHOICE_SIZE])
{
	bool has_choice = loop_picker_take(&screen->loops, out);
	if (has_choice) /* its batches are others from now on */
		screen->scene.focus = (struct focus){ .at_live_end = true };
	return has_choice;
}

void screen_message(struct screen *screen, const char *text)
{
	screen->is_stale = true;
	snprintf(screen->scene.message, sizeof screen->scene.message, "%s", text);
}

void screen_message_again(struct screen *screen, const char *before, const char *text)
{
	if (strncmp(screen->scene.message, before, sizeof screen->scene.message - 1) == 0)
		screen_message(screen, text);
}

void screen_set_recording(struct screen *screen, bool goes_on, double bytes)
{
	screen->scene.is_recording = goes_on;
	screen->scene.recorded_bytes = bytes;
}

void screen_set_request(struct screen *screen, const char *text)
{
	snprintf(screen->scene.request, sizeof screen->scene.request, "%s", text);
}

void screen_set_snapshot(struct screen *screen, const struct snapshot_digest *snapshot)
{
	screen->scene.snapshot = snapshot;
	screen->is_stale = true;
}

bool screen_shows_memory(const struct screen *screen) { return all_views[screen->view] == &memory_view; }

void screen_toggle_snapshot(struct screen *screen)
{
	bool is_shown = screen_shows_memory(screen) && screen->scene.state->is_open;
	screen_open_view(screen, memory_view.name);
	screen->scene.state->is_open = !is_shown;
	screen->scene.state->row = screen->scene.state->scroll = 0;
	screen->scene.state->sort = 0;
	screen->scene.state->sort_ascending = false;
	screen->is_stale = true;
}

bool screen_take_flag(struct screen *screen, struct hand_flag *out)
{
	bool has_flag = screen->scene.has_hand_flag;
	if (has_flag)
		*out = screen->scene.hand_flag;
	screen->scene.has_hand_flag = false;
	return has_flag;
}

void screen_redraw(struct screen *screen) { screen->is_stale = true; }

bool screen_is_paused(const struct screen *screen) { return screen->scene.is_paused; }

void screen_choose_run(struct screen *screen, int run)
{
	screen->run_is_chosen = run >= 0;
	show_run(screen, run);
}

int screen_run(const struct screen *screen) { return screen->scene.run; }

void screen_set_earlier(struct screen *screen, const struct earlier *earlier) { screen->scene.earlier = earlier; }

void screen_set_log(struct screen *screen, const struct log_lines *lines, const char *path)
{
	screen->log = (struct log_pane){ .lines = lines, .path = path };
	screen->scene.has_log = lines != NULL;
}

bool screen_follows_log(const struct screen *screen)
{
	return screen->log.is_open && screen->log.scroll == 0 && !screen->scene.is_paused;
}

void screen_set_setup(struct screen *screen, struct setup *setup) { screen->setup = setup; }

/* -- a replay -- */

void screen_set_replay(struct screen *screen, struct replay_line *line)
{
	screen->replay = line;
	screen->scene.replay = line;
}

void screen_set_model(struct screen *screen, struct model *model)
{
	const struct run *run;
	screen->scene.model = model;
	run = scene_run(&screen->scene);
	/* The selected batch may lie after the new time. */
	if (!run || scene_track(&screen->scene, run)->end <= screen->scene.focus.batch)
		screen->scene.focus = (struct focus){ .at_live_end = true };
}

void screen_moved(struct screen *screen)
{
	for (int state = 0; state < VIEW_STATES; state++)
		memset(screen->states[state].scales, 0, sizeof screen->states[state].scales);
}

bool screen_is_typing(const struct screen *screen) { return screen->is_typing; }

bool screen_has_matches(const struct screen *screen)
{
	return screen->scene.state->search[0] != '\0' || all_views[screen->view] == &warnings_view;
}

bool screen_focused(const struct screen *screen, uint64_t *ordinal)
{
	*ordinal = screen->scene.focus.batch;
	return !screen->scene.focus.at_live_end;
}

void screen_focus(struct screen *screen, int run, uint64_t ordinal)
{
	if (run != screen->scene.run)
		screen_choose_run(screen, run);
	screen->scene.focus.batch = ordinal;
	screen->scene.focus.at_live_end = false;
}

bool screen_shows_batches_of(const struct screen *screen, unsigned index, uint32_t mode)
{
	const struct run *run = scene_run(&screen->scene);
	return !run || ((int)index == screen->scene.run && is_mode_of(run, mode, scene_track(&screen->scene, run)));
}
