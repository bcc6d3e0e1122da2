#include "src/commands/trace/trace_watch.h"

#include <errno.h>
#include <poll.h>

#include "src/commands/trace/trace_inset.h"
#include "src/commands/trace/trace_print.h"
#include "src/session/signals.h"
#include "ui/core/theme.h"
#include "ui/terminal/terminal.h"

struct watch {
	struct trace_inset inset;
	struct terminal *terminal;
	struct canvas canvas;
	int signal_fd;
	bool has_quit;
};

static void draw(struct watch *watch)
{
	int width, height;
	terminal_size(watch->terminal, &width, &height);
	if ((width != watch->canvas.width || height != watch->canvas.height) &&
		!canvas_resize(&watch->canvas, width, height))
		return;
	watch->canvas.charset = terminal_charset(watch->terminal);
	trace_inset_draw(&watch->inset, &watch->canvas);
	terminal_show(watch->terminal, &watch->canvas);
}

static void watch_until_quit(struct watch *watch)
{
	while (!watch->has_quit) {
		if (!trace_inset_step(&watch->inset))
			return;
		draw(watch);
		struct pollfd ready[] = {
			{ .fd = terminal_input_fd(watch->terminal), .events = POLLIN },
			{ .fd = watch->signal_fd, .events = POLLIN },
			{ .fd = terminal_has_backlog(watch->terminal) ? terminal_output_fd(watch->terminal) : -1,
				.events = POLLOUT },
		};
		int wait_ms = trace_inset_is_reading(&watch->inset) ? TRACE_INSET_MS : -1;
		if (poll(ready, sizeof ready / sizeof *ready, wait_ms) < 0 && errno != EINTR)
			return;
		if (ready[1].revents)
			watch->has_quit = signals_answer(watch->signal_fd, watch->terminal);
		if (ready[2].revents)
			terminal_flush(watch->terminal);
		struct key_event event;
		while (ready[0].revents && !watch->has_quit && (event = terminal_key(watch->terminal)).key != KEY_NOTHING)
			watch->has_quit = !trace_inset_key(&watch->inset, event, &watch->canvas);
		if (ready[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			watch->has_quit = true;
	}
}

enum exit_code trace_watch(const struct options *options, const struct settings *settings, struct trace_ranks *ranks)
{
	struct watch watch = { .signal_fd = signals_open() };
	struct theme theme;
	struct terminal_options terminal = terminal_options_of(settings, &theme);
	struct reason reason = { "", "" };
	enum status status = terminal_open(&terminal, &watch.terminal, &reason);
	if (status == STATUS_OK) {
		struct profile_view view = trace_view(options, settings, ranks->group);
		status = trace_inset_open(&watch.inset, ranks, &view, &reason);
		if (status == STATUS_OK)
			watch_until_quit(&watch);
		terminal_close(watch.terminal);
		trace_inset_close(&watch.inset);
	}
	canvas_release(&watch.canvas);
	signals_close(watch.signal_fd);
	return status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
}
