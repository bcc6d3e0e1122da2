#include "src/commands/trace/trace_watch.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>

#include "src/base/thread.h"
#include "src/session/signals.h"
#include "ui/terminal/terminal.h"
#include "ui/trace/trace_reading.h"
#include "ui/trace/trace_screen.h"

enum { PROGRESS_MS = 100 };

struct watch {
	struct trace_ranks *ranks;
	enum profile_sort sort;
	struct terminal *terminal;
	struct trace_screen *screen; /* NULL while the traces are read */
	struct canvas canvas;
	int signal_fd;
	bool has_quit;
};

static void *read_ranks(void *context)
{
	trace_ranks_read(context);
	return NULL;
}

static void draw_reading(struct watch *watch)
{
	const struct trace_ranks *ranks = watch->ranks;
	double done = (double)atomic_load(&ranks->progress.done_bytes),
		   size = (double)atomic_load(&ranks->progress.size_bytes);
	size_t at = atomic_load(&ranks->at);
	struct trace_reading reading = { ranks->files.paths[at], at + 1, ranks->files.count, size > 0 ? done / size : NAN };
	trace_reading_draw(&reading, &watch->canvas);
}

static void draw(struct watch *watch)
{
	int width, height;
	terminal_size(watch->terminal, &width, &height);
	if ((width != watch->canvas.width || height != watch->canvas.height) &&
		!canvas_resize(&watch->canvas, width, height))
		return;
	watch->canvas.charset = terminal_charset(watch->terminal);
	if (watch->screen)
		trace_screen_draw(watch->screen, &watch->canvas);
	else
		draw_reading(watch);
	terminal_show(watch->terminal, &watch->canvas);
}

static void answer_key(struct watch *watch, struct key_event event)
{
	if (watch->screen)
		watch->has_quit |= !trace_screen_key(watch->screen, event, &watch->canvas);
	else
		watch->has_quit |= event.key == 'q' || event.key == KEY_HANGUP;
}

/* Once all traces are read: the screen, unless none could be read. */
static void open_screen(struct watch *watch)
{
	const struct trace_ranks *ranks = watch->ranks;
	char text[160];
	if (watch->screen || !atomic_load(&ranks->is_done))
		return;
	watch->screen = ranks->count ? trace_screen_new(ranks->rows, ranks->count, watch->sort) : NULL;
	if (!watch->screen) {
		watch->has_quit = true;
		return;
	}
	snprintf(text, sizeof text, "%zu of %zu traces could not be read: the reasons follow when you quit",
		ranks->failure_count, ranks->files.count);
	if (ranks->failure_count)
		trace_screen_message(watch->screen, text);
}

static void watch_until_quit(struct watch *watch)
{
	while (!watch->has_quit) {
		open_screen(watch);
		if (watch->has_quit)
			return;
		draw(watch);
		struct pollfd ready[] = {
			{ .fd = terminal_input_fd(watch->terminal), .events = POLLIN },
			{ .fd = watch->signal_fd, .events = POLLIN },
			{ .fd = terminal_has_backlog(watch->terminal) ? terminal_output_fd(watch->terminal) : -1,
				.events = POLLOUT },
		};
		if (poll(ready, sizeof ready / sizeof *ready, watch->screen ? -1 : PROGRESS_MS) < 0 && errno != EINTR)
			return;
		if (ready[1].revents)
			watch->has_quit = signals_answer(watch->signal_fd, watch->terminal);
		if (ready[2].revents)
			terminal_flush(watch->terminal);
		struct key_event event;
		while (ready[0].revents && !watch->has_quit && (event = terminal_key(watch->terminal)).key != KEY_NOTHING)
			answer_key(watch, event);
		if (ready[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			watch->has_quit = true;
	}
}

enum exit_code trace_watch(const struct options *options, const struct settings *settings, struct trace_ranks *ranks)
{
	struct watch watch = { .ranks = ranks, .sort = (enum profile_sort)options->sort, .signal_fd = signals_open() };
	struct terminal_options terminal = { .color = settings->color, .ascii = settings->ascii, .mouse = settings->mouse };
	struct reason reason = { "", "" };
	pthread_t reader;
	enum status status = terminal_open(&terminal, &watch.terminal, &reason);
	if (status == STATUS_OK) {
		if (thread_start(&reader, read_ranks, ranks) != 0) {
			status = reason_set(&reason, STATUS_NO_MEMORY, "close some programs", "cannot start a thread");
		} else {
			watch_until_quit(&watch);
			atomic_store(&ranks->progress.is_stopped, true);
		}
		terminal_close(watch.terminal);
		if (status == STATUS_OK)
			pthread_join(reader, NULL);
	}
	trace_screen_free(watch.screen);
	canvas_release(&watch.canvas);
	signals_close(watch.signal_fd);
	return status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
}
