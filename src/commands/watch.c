/* pmtop -p PID: the screen.
 *
 *   poll: keys · signals · sample sets · room in the terminal → apply, answer, draw what changed
 *
 * While it is paused the sets are buffered, not lost. If the terminal is slow, whole frames are dropped; pmtop never
 * waits for it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/new_file.h"
#include "src/base/text.h"
#include "src/commands/commands.h"
#include "src/commands/silent_files.h"
#include "src/commands/summary.h"
#include "src/commands/trace/snapshot_watch.h"
#include "src/commands/trace/trace_inset.h"
#include "src/playback/overlay.h"
#include "src/rules/alerts_list.h"
#include "src/rules/rule_levels.h"
#include "src/session/children/log_tail.h"
#include "src/session/output.h"
#include "src/session/replay/replay.h"
#include "src/session/replay/replay_keys.h"
#include "src/session/runs/choose.h"
#include "src/session/session.h"
#include "src/session/session_died.h"
#include "src/session/session_profile.h"
#include "src/session/signals.h"
#include "src/session/watch_record.h"
#include "ui/core/theme.h"
#include "ui/screen.h"
#include "ui/terminal/terminal.h"

/* The most that a pause buffers: an hour at 10 Hz, or about 100 MB. Beyond it the oldest sets are applied, and the
 * paused screen changes. */
enum { HELD_MAX = 36000, HELD_RECORDS_MAX = 1000000 };

/* How often the output of a command that has ended is read. */
enum { LOG_MS = 500 };

struct watch {
	const struct settings *settings;
	struct session session;
	struct terminal *terminal;
	struct screen *screen;
	struct settings live; /* as the set-up screen has changed them */
	struct setup setup;
	struct replay *replay; /* NULL: a live run */
	struct overlay *overlay;
	struct log_tail *log;      /* the output of the command that pmtop started; NULL: none */
	struct trace_ranks traces; /* of the key T */
	struct trace_inset inset;
	struct snapshot_watch snapshots; /* of the key T in the view Memory */
	struct canvas canvas;
	int signal_fd;
	size_t held_count, held_records;
	struct silent_files silent;
	struct sample_set *held;
	pid_t inner_pid;   /* the rank that pmtop fleet opened, until it is shown; 0 = none */
	bool is_inner;     /* it was opened there: Esc goes back */
	bool awaits_trace; /* of the key P: no other key came since */
	bool is_dirty, has_quit;
};

static void apply_held(struct watch *watch, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		session_apply(&watch->session, &watch->held[i]);
		watch->held_records -= watch->held[i].count;
		sample_set_release(&watch->held[i]);
	}
	watch->held_count -= count;
	memmove(watch->held, watch->held + count, watch->held_count * sizeof *watch->held);
}

static bool hold_next(struct watch *watch)
{
	if (watch->held_count == HELD_MAX || watch->held_records >= HELD_RECORDS_MAX)
		apply_held(watch, (watch->held_count + 99) / 100);
	if (!watch->held)
		watch->held = calloc(HELD_MAX, sizeof *watch->held);
	if (!watch->held)
		return session_step(&watch->session);
	struct sample_set *set = &watch->held[watch->held_count];
	*set = (struct sample_set)SAMPLE_SET_INIT;
	if (!session_take(&watch->session, set))
		return false;
	watch->held_records += set->count;
	watch->held_count++;
	return true;
}

/* Only while it is shown: a hidden log costs nothing. */
static void read_log(struct watch *watch)
{
	if (watch->log && screen_follows_log(watch->screen) && log_tail_read(watch->log))
		watch->is_dirty = true;
}

/* A rank of the fleet, once its stream has named it. */
static void choose_inner(struct watch *watch)
{
	const struct model *model = watch->session.model;
	int run = watch->inner_pid ? session_run(&watch->session) : -1;
	if (run < 0 || (model->runs[run].pid != watch->inner_pid && model->runs[run].inner_pid != watch->inner_pid))
		return;
	screen_choose_run(watch->screen, run);
	watch->inner_pid = 0;
}

static void take_sets(struct watch *watch)
{
	read_log(watch);
	if (watch->replay && replay_is_file(watch->replay)) {
		watch->is_dirty |= replay_step(watch->replay);
		return;
	}
	if (screen_is_paused(watch->screen)) {
		while (hold_next(watch))
			continue;
		return;
	}
	if (watch->held_count) {
		apply_held(watch, watch->held_count);
		watch->is_dirty = true;
	}
	while (session_step(&watch->session))
		watch->is_dirty = true;
	silent_files_show(&watch->silent, watch->session.model, watch->screen);
	choose_inner(watch);
}

/* Key w: writes the view as CSV to a new file in the working directory. */
static void write_view(struct watch *watch)
{
	struct buffer csv = BUFFER_INIT;
	char path[128], when[32], message[192];
	time_t now = (time_t)(clock_realtime_ns() / NS_PER_S);
	struct tm parts;
	strftime(when, sizeof when, "%Y%m%d-%H%M%S", localtime_r(&now, &parts));
	if (!screen_write(watch->screen, &csv)) {
		snprintf(message, sizeof message, "this view has no table to write");
	} else {
		snprintf(path, sizeof path, "pmtop-%s-%d-%s.csv", screen_view_name(watch->screen),
			(int)watch->session.model->target_pid, when);
		for (char *c = path; *c; c++)
			*c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
		int fd = new_file_create(path);
		bool is_written = fd >= 0 && !csv.failed && write(fd, csv.data, csv.length) == (ssize_t)csv.length;
		snprintf(message, sizeof message, is_written ? "written: %s" : "not written: %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	buffer_release(&csv);
	screen_message(watch->screen, message);
}

/* -- traces: the keys P and T, and what pmtop takes by itself -- */

static void show_request(struct watch *watch, const char *text)
{
	char words[PROFILING_WORDS_SIZE];
	if (text[0])
		screen_message(watch->screen, text);
	screen_set_request(watch->screen, session_profile_words(&watch->session, words));
	watch->is_dirty = true;
}

static pid_t shown_pid(const struct watch *watch)
{
	const struct model *model = watch->session.model;
	int run = screen_run(watch->screen);
	return run >= 0 && model->runs[run].pid > 0 ? model->runs[run].pid : model->target_pid;
}

static void toggle_request(struct watch *watch)
{
	char text[LIVE_REQUEST_TEXT_SIZE];
	session_profile_toggle(&watch->session, shown_pid(watch), text);
	watch->awaits_trace = watch->session.request.is_open;
	show_request(watch, text);
}

static void close_trace(struct watch *watch)
{
	trace_inset_close(&watch->inset);
	trace_ranks_release(&watch->traces);
	watch->traces = (struct trace_ranks){ 0 };
	watch->is_dirty = true;
}

/* The run goes on to be watched meanwhile. */
static void open_trace(struct watch *watch)
{
	struct reason reason = { "there is no trace yet: key P takes one", "" };
	const char *path = watch->session.request.trace;
	const struct profile_view view = { .group = GROUP_NAME };
	enum status status = path[0] ? profile_files_add(&watch->traces.files, path, &reason) : STATUS_NOT_FOUND;
	if (status == STATUS_OK)
		status = trace_inset_open(&watch->inset, &watch->traces, &view, &reason);
	if (status == STATUS_OK)
		return;
	screen_message(watch->screen, reason.text);
	close_trace(watch);
}

static void step_request(struct watch *watch)
{
	char text[LIVE_REQUEST_TEXT_SIZE], before[PROFILING_PATH_SIZE];
	const struct live_request *request = &watch->session.request;
	bool was_open = request->is_open;
	strcpy(before, request->trace);
	session_profile_step(&watch->session, text);
	if (was_open || text[0])
		show_request(watch, text);
	if (!watch->awaits_trace || request->is_open)
		return;
	watch->awaits_trace = false;
	if (strcmp(before, request->trace) != 0)
		open_trace(watch);
}

static void step_trace(struct watch *watch)
{
	watch->is_dirty |= trace_inset_is_reading(&watch->inset);
	if (trace_inset_step(&watch->inset))
		return;
	screen_message(watch->screen,
		watch->traces.failure_count ? watch->traces.failures[0].reason.text : "the trace could not be read");
	close_trace(watch);
}

/* What the sources read only for somebody who views it. */
static void pass_wishes(struct watch *watch)
{
	struct source_choices *choices = &watch->session.choices;
	unsigned needs = screen_needs(watch->screen);
	char loop[LOOP_CHOICE_SIZE];
	choices->wants_counters |= (needs & NEEDS_COUNTERS) != 0;
	choices->wants_stacks = (needs & NEEDS_STACKS) != 0;
	choices->wants_loops_of = screen_wants_loops_of(watch->screen);
	if (screen_take_loop(watch->screen, loop))
		session_choose_loop(&watch->session, loop);
}

/* What the set-up screen changed holds at once. */
static void apply_setup(struct watch *watch)
{
	struct session *session = &watch->session;
	struct theme theme;
	if (!watch->setup.has_changed)
		return;
	watch->setup.has_changed = false;
	struct terminal_options options = terminal_options_of(&watch->live, &theme);
	terminal_restyle(watch->terminal, &options);
	if (session->collector)
		collector_set_period(session->collector, (int64_t)(watch->live.refresh_s * (double)NS_PER_S));
	if (!session->rules)
		return;
	rule_book_set_levels(session->rules, &watch->live.levels);
	alerts_follow_levels(&session->alerts, session->model->now_ns, &session->settings);
}

static void answer_key(struct watch *watch, struct key_event event)
{
	if (event.key == KEY_HANGUP) {
		watch->has_quit = true;
		return;
	}
	watch->is_dirty = true;
	watch->awaits_trace = false;
	if (watch->inset.ranks) {
		if (!trace_inset_key(&watch->inset, event, &watch->canvas))
			close_trace(watch);
		return;
	}
	if (overlay_type(watch->overlay, event) || (watch->replay && replay_key(watch->replay, event)) ||
		overlay_key(watch->overlay, event))
		return;
	enum screen_wish wish = screen_key(watch->screen, event, &watch->canvas);
	if (wish == WISH_QUIT || (wish == WISH_BACK && watch->is_inner))
		watch->has_quit = true;
	else if (wish == WISH_WRITE)
		write_view(watch);
	else if (wish == WISH_RECORD)
		watch_record_toggle(&watch->session, watch->screen);
	else if (wish == WISH_PROFILE)
		toggle_request(watch);
	else if (wish == WISH_TRACE &&
		!snapshot_watch_open(&watch->snapshots, &watch->session, watch->screen, shown_pid(watch)))
		open_trace(watch);
	apply_setup(watch);
	watch_record_report(&watch->session, watch->screen);
	pass_wishes(watch);
}

static void draw(struct watch *watch)
{
	int width, height;
	terminal_size(watch->terminal, &width, &height);
	if ((width != watch->canvas.width || height != watch->canvas.height) &&
		!canvas_resize(&watch->canvas, width, height))
		return;
	relay_resize(&watch->session.launch.relay, width, height);
	watch->canvas.charset = terminal_charset(watch->terminal);
	if (watch->inset.ranks) {
		trace_inset_draw(&watch->inset, &watch->canvas);
		terminal_show(watch->terminal, &watch->canvas);
		watch->is_dirty = false;
		return;
	}
	/* 0 = unknown: a recording does not say its refresh time. */
	int64_t period_ns = watch->replay ? 0 : (int64_t)(watch->live.refresh_s * (double)NS_PER_S);
	if (watch->replay)
		replay_show(watch->replay, watch->canvas.width);
	watch_record_report(&watch->session, watch->screen);
	screen_draw(watch->screen, &watch->canvas, session_realtime_ns(&watch->session), period_ns);
	terminal_show(watch->terminal, &watch->canvas);
	watch->is_dirty = false;
}

static void show_news(struct watch *watch)
{
	if (!watch->session.news[0])
		return;
	screen_message(watch->screen, watch->session.news);
	watch->session.news[0] = '\0';
	watch->is_dirty = true;
}

static void show_end(struct watch *watch)
{
	char how[80], text[160];
	session_died_note(&watch->session);
	if (watch->session.model->end.message[0])
		screen_message(watch->screen, watch->session.model->end.message);
	if (watch->log && launch_has_failed(&watch->session.launch, how, sizeof how)) {
		snprintf(text, sizeof text, "the command failed (%s): l shows its output; then: pmtop why-died", how);
		screen_message(watch->screen, text);
	}
	screen_redraw(watch->screen);
	watch->is_dirty = true;
}

/* The longest wait until something is due, in milliseconds; −1 = no limit. */
static int due_ms(const struct watch *watch, bool is_followed)
{
	bool is_file = watch->replay && replay_is_file(watch->replay);
	int due[] = {
		session_tick_ms(&watch->session),
		is_file           ? replay_wait_ms(watch->replay)
			: is_followed ? session_wait_ms(&watch->session)
						  : -1,
		overlay_wait_ms(watch->overlay),
		session_profile_ms(&watch->session),
		trace_inset_is_reading(&watch->inset) || watch->snapshots.inset.search ? TRACE_INSET_MS : -1,
		/* the end of the output may come after the last set */
		!is_followed && watch->log && screen_follows_log(watch->screen) ? LOG_MS : -1,
	};
	int soonest = -1;
	for (size_t i = 0; i < sizeof due / sizeof *due; i++)
		if (due[i] >= 0 && (soonest < 0 || due[i] < soonest))
			soonest = due[i];
	return soonest;
}

static void watch_until_quit(struct watch *watch)
{
	bool is_followed = true;
	while (!watch->has_quit) {
		if (watch->is_dirty)
			draw(watch);
		struct pollfd ready[] = {
			{ .fd = terminal_input_fd(watch->terminal), .events = POLLIN },
			{ .fd = watch->signal_fd, .events = POLLIN },
			{ .fd = is_followed ? session_fd(&watch->session) : -1, .events = POLLIN },
			{ .fd = terminal_has_backlog(watch->terminal) ? terminal_output_fd(watch->terminal) : -1,
				.events = POLLOUT },
			{ .fd = session_profile_fd(&watch->session), .events = POLLIN },
		};
		bool is_file = watch->replay && replay_is_file(watch->replay);
		if (poll(ready, sizeof ready / sizeof *ready, due_ms(watch, is_followed)) < 0 && errno != EINTR)
			return;
		session_tick(&watch->session);
		show_news(watch);
		step_request(watch);
		step_trace(watch);
		watch->is_dirty |= snapshot_watch_step(&watch->snapshots, &watch->session, watch->screen, shown_pid(watch));
		if (ready[1].revents) {
			watch->has_quit = signals_answer(watch->signal_fd, watch->terminal);
			watch->is_dirty = true;
		}
		if (ready[3].revents)
			terminal_flush(watch->terminal);
		struct key_event event;
		while (ready[0].revents && !watch->has_quit && (event = terminal_key(watch->terminal)).key != KEY_NOTHING)
			answer_key(watch, event);
		if (ready[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			watch->has_quit = true;
		take_sets(watch);
		watch->is_dirty |= overlay_read(watch->overlay);
		if (is_followed && !is_file && session_has_ended(&watch->session)) {
			is_followed = false;
			show_end(watch);
		}
	}
}

/* Prints the lines that stay on the terminal after the screen has closed. */
static void print_summary(struct watch *watch)
{
	struct session *session = &watch->session;
	const struct model *model = session->model;
	struct buffer out = BUFFER_INIT;
	char saved[200];
	int index = screen_run(watch->screen);
	recording_end(&session->recording);
	summary_target(&out, model, watch->replay != NULL);
	if (index >= 0)
		summary_run(&out, &model->runs[index], alerts_raised(&session->alerts));
	summary_recording(&out, &session->recording, model);
	struct reason why;
	session->recording.is_emitted = false;
	if (recording_has_stopped(&session->recording, &why))
		buffer_printf(&out, "pmtop: %s\n", why.text);
	if (setup_save(&watch->setup, saved, sizeof saved))
		buffer_printf(&out, "pmtop: settings %s\n", saved);
	if (session->launch.log[0])
		buffer_printf(&out, "pmtop: its output is in %s\n", session->launch.log);
	if (session->launch.child && !model->target_ended)
		buffer_puts(&out, "pmtop: waiting for it to exit, to return its status (^C ends it)\n");
	summary_flush(&out, watch->signal_fd);
	buffer_release(&out);
}

static void release(struct watch *watch)
{
	for (size_t i = 0; i < watch->held_count; i++)
		sample_set_release(&watch->held[i]);
	free(watch->held);
	close_trace(watch);
	replay_close(watch->replay);
	overlay_free(watch->overlay);
	screen_free(watch->screen);
	log_tail_close(watch->log);
	snapshot_inset_close(&watch->snapshots.inset);
	canvas_release(&watch->canvas);
	signals_close(watch->signal_fd);
}

static void open_log(struct watch *watch)
{
	const char *path = watch->session.launch.log;
	watch->log = path[0] ? log_tail_open(path) : NULL;
	if (watch->log)
		screen_set_log(watch->screen, &watch->log->lines, path);
}

static void begin_inner(struct watch *watch, const struct options *options)
{
	if (!options->is_inner)
		return;
	watch->is_inner = true;
	watch->inner_pid = watch->session.wanted_pid = options->inner_pid;
	screen_message(watch->screen, "Esc goes back to the fleet");
}

/* The run that the command line names, or the one that a person chooses. False: the command ends with *code. */
static bool choose_target(
	const struct options *options, const struct settings *settings, struct chosen *chosen, enum exit_code *code)
{
	bool has_target = options->pid || options->run_name || options->child || options->demo || options->replay;
	struct options other = *options;
	*code = EXIT_OK;
	if (!output_has_screen()) {
		other.command = has_target ? &stream_command : &list_command;
		*code = other.command->run(&other, settings);
		return false;
	}
	if (has_target)
		return true;
	*code = choose_run(options, settings, chosen);
	return *code == EXIT_OK && (chosen->pid || chosen->run_name[0]);
}

static enum exit_code run_watch(const struct options *options, const struct settings *settings)
{
	struct options target = *options;
	struct chosen chosen = { 0 };
	enum exit_code code;
	if (!choose_target(options, settings, &chosen, &code))
		return code;
	if (chosen.pid || chosen.run_name[0]) {
		target.pid = chosen.pid;
		target.run_name = chosen.run_name[0] ? chosen.run_name : NULL;
	}

	struct watch watch = { .settings = settings, .signal_fd = -1, .is_dirty = true };
	struct theme theme;
	struct terminal_options terminal_options = terminal_options_of(settings, &theme);
	struct reason reason = { 0 };
	code = session_open(&watch.session, &target, settings);
	if (code != EXIT_OK)
		return code;
	watch.session.request.how = "key T opens it";
	watch.signal_fd = signals_open();
	watch.live = *settings;
	setup_init(&watch.setup, &watch.live, watch.session.rules, options->config);
	watch.screen = screen_new(watch.session.model, &watch.session.alerts, &watch.live);
	watch.overlay = watch.screen ? overlay_new(watch.screen, &watch.session.model_options) : NULL;
	enum status status = STATUS_OK;
	if (watch.screen) {
		begin_inner(&watch, options);
		screen_set_setup(watch.screen, &watch.setup);
		open_log(&watch);
	}
	if (!watch.overlay || watch.signal_fd < 0)
		status =
			reason_set(&reason, STATUS_NO_MEMORY, "close some programs", "cannot set up the screen: out of memory");
	else if (options->view && !screen_open_view(watch.screen, options->view))
		status = view_unknown(options->view, &reason);
	else if (options->overlay && (status = overlay_open(watch.overlay, options->overlay, &reason)) != STATUS_OK)
		;
	else if (!watch.session.player ||
		(code = replay_open(&watch.session, options, watch.screen, &watch.replay)) == EXIT_OK)
		status = terminal_open(&terminal_options, &watch.terminal, &reason);
	if (status != STATUS_OK)
		code = command_fail(status, &reason);
	if (code == EXIT_OK) {
		if (watch.session.wanted_run[0])
			screen_choose_run(watch.screen, session_run(&watch.session));
		watch_until_quit(&watch);
		terminal_close(watch.terminal);
		if (!watch.is_inner)
			print_summary(&watch);
		launch_ignore_keys(&watch.session.launch);
	}
	release(&watch);
	enum exit_code child_code = session_close(&watch.session);
	return code != EXIT_OK ? code : child_code;
}

const struct command watch_command = {
	.name = "the screen",
	.synopsis = "-p PID|-s NAME|-r FILE|--demo[=FAULT]|-- COMMAND ...",
	.summary = "watch a run on the screen",
	.example = "pmtop -p 48213",
	.traits = COMMAND_HAS_SCREEN | COMMAND_MONITORS,
	.formats = FORMATS_ALL_BUT_SVG,
	.run = run_watch,
};
