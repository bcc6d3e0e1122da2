#include "src/session/runs/choose.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/text.h"
#include "src/session/runs/runs.h"
#include "src/session/signals.h"
#include "ui/core/theme.h"
#include "ui/terminal/terminal.h"
#include "ui/widgets/picker.h"

/* The refresh time of the list. Each refresh reads every process of the user. */
enum { REFRESH_MS = 2000 };

struct cells {
	char epoch[32], batch[48], rate[NUMBER_SIZE + 2], memory[NUMBER_SIZE], gpu[GPU_WORDS_SIZE], state[64];
};

struct choose {
	struct terminal *terminal;
	struct canvas canvas;
	struct picker picker;
	struct gpu_users *users;
	struct run_row *runs;
	struct picker_row *rows;
	struct cells *cells;
	size_t count;
	int signal_fd;
};

static void say_part(char *out, size_t size, bool has, uint64_t done, uint64_t planned)
{
	if (!has)
		out[0] = '\0';
	else if (planned)
		snprintf(out, size, "%llu/%llu", (unsigned long long)done, (unsigned long long)planned);
	else
		snprintf(out, size, "%llu", (unsigned long long)done);
}

static void fill_row(
	const struct gpu_users *users, const struct run_row *run, struct cells *cells, struct picker_row *row)
{
	char number[NUMBER_SIZE];
	say_part(cells->epoch, sizeof cells->epoch, run->has_batch, run->epoch, run->epochs);
	say_part(cells->batch, sizeof cells->batch, run->has_batch, run->batch, run->batches);
	if (isfinite(run->rate_per_s))
		snprintf(cells->rate, sizeof cells->rate, "%s/s", format_rate(number, run->rate_per_s));
	if (isfinite(run->resident_bytes))
		format_bytes(cells->memory, run->resident_bytes);
	if (run->gpu_use_count)
		gpu_use_words(users, run->gpu_uses, run->gpu_use_count, cells->gpu);
	snprintf(cells->state, sizeof cells->state, "%s%s", run->is_slowest ? "slowest, " : "", run->state);
	*row = (struct picker_row){
		.pid = run->pid,
		.run = run->run[0] ? run->run : run->command,
		.rank = run->rank,
		.epoch = cells->epoch,
		.batch = cells->batch,
		.rate = cells->rate,
		.memory = cells->memory,
		.gpu = cells->gpu,
		.state = cells->state,
		.how = run->how,
		.is_ended = !run->is_live,
		.is_slowest = run->is_slowest,
	};
}

static void release_rows(struct choose *choose)
{
	free(choose->runs);
	free(choose->rows);
	free(choose->cells);
	choose->runs = NULL;
	choose->rows = NULL;
	choose->cells = NULL;
	choose->count = 0;
}

static void find_rows(struct choose *choose)
{
	release_rows(choose);
	gpu_users_read(choose->users, 0);
	size_t count = runs_find(choose->users, &choose->runs);
	choose->rows = calloc(count + 1, sizeof *choose->rows);
	choose->cells = calloc(count + 1, sizeof *choose->cells);
	choose->count = choose->rows && choose->cells ? count : 0;
	for (size_t i = 0; i < choose->count; i++)
		fill_row(choose->users, &choose->runs[i], &choose->cells[i], &choose->rows[i]);
}

static void draw(struct choose *choose)
{
	int width, height;
	terminal_size(choose->terminal, &width, &height);
	if (!canvas_resize(&choose->canvas, width, height))
		return;
	choose->canvas.charset = terminal_charset(choose->terminal);
	picker_draw(&choose->picker, choose->rows, choose->count, &choose->canvas);
	terminal_show(choose->terminal, &choose->canvas);
}

static bool take_choice(const struct choose *choose, struct chosen *chosen)
{
	int index = picker_selected(&choose->picker, choose->rows, choose->count);
	if (index < 0)
		return false;
	const struct run_row *run = &choose->runs[index];
	if (run->is_live && !run->is_elsewhere)
		chosen->pid = run->pid;
	else
		snprintf(chosen->run_name, sizeof chosen->run_name, "%s.%d", run->run, (int)run->pid);
	return true;
}

/* Returns true if the person chose a run or quit. */
static bool answer_keys(struct choose *choose, struct chosen *chosen)
{
	for (;;) {
		struct key_event event = terminal_key(choose->terminal);
		if (event.key == KEY_NOTHING)
			return false;
		if (event.key == KEY_HANGUP)
			return true;
		enum picker_wish wish = picker_key(&choose->picker, choose->rows, choose->count, event);
		if (wish == PICKER_QUIT || (wish == PICKER_CHOSEN && take_choice(choose, chosen)))
			return true;
	}
}

static void choose_until_done(struct choose *choose, struct chosen *chosen)
{
	bool is_done = false;
	while (!is_done) {
		find_rows(choose);
		draw(choose);
		struct pollfd ready[] = {
			{ .fd = terminal_input_fd(choose->terminal), .events = POLLIN },
			{ .fd = choose->signal_fd, .events = POLLIN },
			{ .fd = terminal_has_backlog(choose->terminal) ? terminal_output_fd(choose->terminal) : -1,
				.events = POLLOUT },
		};
		while (!is_done && poll(ready, 3, REFRESH_MS) > 0) {
			if (ready[2].revents)
				terminal_flush(choose->terminal);
			is_done = (ready[1].revents && signals_answer(choose->signal_fd, choose->terminal)) ||
				answer_keys(choose, chosen) || (ready[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
			draw(choose);
			ready[2].fd = terminal_has_backlog(choose->terminal) ? terminal_output_fd(choose->terminal) : -1;
		}
	}
}

enum exit_code choose_run(const struct options *options_given, const struct settings *settings, struct chosen *chosen)
{
	struct choose choose = { .signal_fd = signals_open() };
	struct theme theme;
	struct terminal_options options = terminal_options_of(settings, &theme);
	struct reason reason = { 0 };
	*chosen = (struct chosen){ 0 };
	enum status status = terminal_open(&options, &choose.terminal, &reason);
	if (status == STATUS_OK) {
		choose.users = gpu_users_open(options_given, settings);
		picker_init(&choose.picker);
		choose_until_done(&choose, chosen);
		terminal_close(choose.terminal);
	}
	release_rows(&choose);
	gpu_users_close(choose.users);
	canvas_release(&choose.canvas);
	signals_close(choose.signal_fd);
	return status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
}
