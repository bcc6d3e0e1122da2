#include "src/commands/fleet/fleet_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "src/base/clock.h"
#include "src/commands/fleet/fleet_inner.h"
#include "src/fleet/fleet.h"
#include "src/fleet/fleet_view.h"
#include "src/session/signals.h"
#include "ui/fleet/fleet_screen.h"
#include "ui/terminal/terminal.h"

/* While the views of a rank are open, its stream is passed on so often. */
enum { INNER_MS = 100 };

struct watch {
	const struct options *options;
	const struct settings *settings;
	struct fleet *fleet;
	struct fleet_view view;
	struct fleet_screen screen;
	struct terminal *terminal; /* NULL: closed */
	struct canvas canvas;
	int signal_fd;
	int64_t due_ns;
	bool has_quit, wants_inner;
};

static void step(struct watch *watch, int64_t now_ns)
{
	fleet_step(watch->fleet, now_ns, clock_realtime_ns() - now_ns);
	/* At once: the rows point to ranks that the step may have freed. */
	fleet_view_fill(&watch->view, watch->fleet, watch->screen.sort, now_ns);
	watch->due_ns = now_ns + (int64_t)(watch->settings->refresh_s * (double)NS_PER_S);
}

static void draw(struct watch *watch)
{
	int width, height;
	terminal_size(watch->terminal, &width, &height);
	if ((width != watch->canvas.width || height != watch->canvas.height) &&
		!canvas_resize(&watch->canvas, width, height))
		return;
	watch->canvas.charset = terminal_charset(watch->terminal);
	fleet_screen_draw(
		&watch->screen, &watch->canvas, watch->fleet, &watch->view, clock_monotonic_ns(), clock_realtime_ns());
	terminal_show(watch->terminal, &watch->canvas);
}

static void answer_key(struct watch *watch, struct key_event event)
{
	enum fleet_sort sort = watch->screen.sort;
	enum fleet_wish wish = fleet_screen_key(&watch->screen, event, watch->fleet, &watch->view);
	watch->has_quit |= wish == FLEET_WISH_QUIT;
	watch->wants_inner |= wish == FLEET_WISH_OPEN;
	if (sort != watch->screen.sort)
		fleet_view_fill(&watch->view, watch->fleet, watch->screen.sort, clock_monotonic_ns());
}

/* Until the next step, a key, or an answer of a host. */
static void wait_for_work(struct watch *watch)
{
	int64_t left_ms = (watch->due_ns - clock_monotonic_ns()) / NS_PER_MS + 1;
	struct pollfd ready[] = {
		{ .fd = terminal_input_fd(watch->terminal), .events = POLLIN },
		{ .fd = watch->signal_fd, .events = POLLIN },
		{ .fd = terminal_has_backlog(watch->terminal) ? terminal_output_fd(watch->terminal) : -1, .events = POLLOUT },
		{ .fd = fleet_fd(watch->fleet), .events = POLLIN },
	};
	struct key_event event;
	if (poll(ready, sizeof ready / sizeof *ready, left_ms > 0 ? (int)left_ms : 0) < 0 && errno != EINTR)
		watch->has_quit = true;
	if (ready[3].revents)
		fleet_answer(watch->fleet);
	if (ready[2].revents)
		terminal_flush(watch->terminal);
	if (ready[1].revents)
		watch->has_quit |= signals_answer(watch->signal_fd, watch->terminal);
	while (ready[0].revents && !watch->has_quit && !watch->wants_inner &&
		(event = terminal_key(watch->terminal)).key != KEY_NOTHING)
		answer_key(watch, event);
	if (ready[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		watch->has_quit = true;
	if (ready[0].revents || ready[1].revents)
		draw(watch);
}

/* -- the views of one rank -- */

static void follow_inner(struct watch *watch, struct fleet_host *host, pid_t child)
{
	int status;
	while (waitpid(child, &status, WNOHANG) == 0) {
		struct pollfd ready[] = { { .fd = watch->signal_fd, .events = POLLIN },
			{ .fd = fleet_fd(watch->fleet), .events = POLLIN } };
		poll(ready, 2, INNER_MS);
		fleet_answer(watch->fleet);
		step(watch, clock_monotonic_ns());
		if (signals_have_ended(watch->signal_fd, 0) && !watch->has_quit) {
			watch->has_quit = true;
			kill(child, SIGTERM);
		}
	}
	fleet_host_tee(host, NULL);
}

static bool open_terminal(struct watch *watch, struct reason *reason)
{
	struct terminal_options options = {
		.color = watch->settings->color, .ascii = watch->settings->ascii, .mouse = watch->settings->mouse
	};
	return terminal_open(&options, &watch->terminal, reason) == STATUS_OK;
}

/* The host of the selected rank; NULL: it has no stream. */
static struct fleet_host *find_host(const struct watch *watch, const struct fleet_row *row)
{
	struct fleet_host *const *hosts;
	size_t count = fleet_hosts(watch->fleet, &hosts);
	for (size_t i = 0; row && i < count; i++)
		if (hosts[i] == row->host && hosts[i]->state == FLEET_HOST_LIVE)
			return hosts[i];
	return NULL;
}

static bool open_inner(struct watch *watch, struct reason *reason)
{
	const struct fleet_row *row = fleet_screen_row(&watch->screen, &watch->view);
	struct fleet_host *host = find_host(watch, row);
	watch->wants_inner = false;
	if (!host) {
		snprintf(watch->screen.message, sizeof watch->screen.message, "this rank sends no samples now");
		return true;
	}
	struct reason failed = { 0 };
	pid_t shown = row->rank->pid;
	terminal_close(watch->terminal);
	watch->terminal = NULL;
	signals_close(watch->signal_fd);
	pid_t child = fleet_inner_start(watch->options, watch->settings, host, shown, &failed);
	watch->signal_fd = signals_open();
	if (child > 0)
		follow_inner(watch, host, child);
	else
		snprintf(watch->screen.message, sizeof watch->screen.message, "%.190s", failed.text);
	return watch->has_quit || open_terminal(watch, reason);
}

enum exit_code fleet_watch(const struct options *options, const struct settings *settings, struct fleet *fleet)
{
	struct watch watch = { .options = options, .settings = settings, .fleet = fleet, .signal_fd = signals_open() };
	struct reason reason = { 0 };
	bool is_open = open_terminal(&watch, &reason);
	while (is_open && !watch.has_quit) {
		int64_t now_ns = clock_monotonic_ns();
		if (now_ns >= watch.due_ns) {
			step(&watch, now_ns);
			draw(&watch);
		}
		wait_for_work(&watch);
		if (watch.wants_inner)
			is_open = open_inner(&watch, &reason);
	}
	if (watch.terminal)
		terminal_close(watch.terminal);
	fleet_view_release(&watch.view);
	canvas_release(&watch.canvas);
	signals_close(watch.signal_fd);
	return is_open ? EXIT_OK : command_fail(STATUS_IO, &reason);
}
