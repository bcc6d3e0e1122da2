#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/suite.h"
#include "tests/support/vt.h"
#include "ui/terminal/terminal.h"
#include "ui/themes/theme_book.h"

/* A small program that draws: a counter, its size and the last key; some keys are commands. */

struct shared {
	volatile uint64_t loops, keys, last_key, last_x, last_y, waiting, phase;
	volatile struct frame_counts counts;
	volatile int status, charset, running;
};

static struct shared *shared;

struct program {
	struct terminal_options options;
};

static volatile sig_atomic_t was_resized, was_continued;
static void on_resize(int number)
{
	(void)number;
	was_resized = 1;
}
static void on_continue(int number)
{
	(void)number;
	was_continued = 1;
}

/* Rows of dots that all change with the phase; none in phase 0. */
static void draw_dots(struct canvas *canvas)
{
	for (int y = 4; shared->phase > 0 && y < canvas->height - 1; y++)
		for (int x = 0; x < canvas->width; x++)
			canvas_put(canvas, x, y, 0x2801 + (unsigned)((uint64_t)(x * 7 + y * 3) + shared->phase) % 255,
				(enum role)(x / 5 % ROLE_COUNT));
}

static void draw(struct terminal *terminal, struct canvas *canvas)
{
	int width, height;
	terminal_size(terminal, &width, &height);
	if (canvas->width != width || canvas->height != height)
		canvas_resize(canvas, width, height);
	canvas->charset = terminal_charset(terminal);
	canvas_clear(canvas);
	canvas_fill(canvas, (struct rect){ 0, height - 1, width, 1 }, 0x2588, ROLE_ACCENT);
	canvas_printf(canvas, 0, 0, width, ROLE_NORMAL, "size %dx%d", width, height);
	canvas_printf(canvas, 0, 1, width, ROLE_WARNING, "⚠ key %llx", (unsigned long long)shared->last_key);
	canvas_text(canvas, 0, 2, width, ROLE_PHASE_1, "wide 数据 end");
	canvas_printf(canvas, 0, 3, width, ROLE_NORMAL, "phase %llu", (unsigned long long)shared->phase);
	draw_dots(canvas);
	terminal_show(terminal, canvas);
	shared->counts = terminal_counts(terminal);
	shared->waiting = terminal_has_backlog(terminal);
}

/* Overflows the stack: the handler needs an alternate one. */
static int fall(volatile char *above, long depth)
{
	volatile char frame[4096];
	frame[0] = above[0];
	return depth == 0 ? 0 : fall(frame, depth - 1) + frame[0];
}

static void take_keys(struct terminal *terminal, bool *quits, bool *moves)
{
	struct key_event event = terminal_key(terminal);
	for (; event.key != KEY_NOTHING; event = terminal_key(terminal)) {
		shared->last_key = (uint64_t)event.key;
		shared->last_x = (uint64_t)event.x;
		shared->last_y = (uint64_t)event.y;
		shared->keys++;
		if (event.key == 'q' || event.key == KEY_HANGUP) {
			*quits = true;
			return;
		}
		if (event.key == 'm' || event.key == 's')
			*moves = event.key == 'm';
		if (event.key == 's' || event.key == '+')
			shared->phase = event.key == '+' ? shared->phase + 1 : 0;
		if (event.key == '!')
			raise(SIGSEGV);
		if (event.key == '#')
			abort();
		if (event.key == '%')
			shared->status = fall((volatile char *)&shared->status, LONG_MAX);
		if (event.key == 'z') {
			terminal_suspend(terminal);
			raise(SIGSTOP);
			terminal_resumed(terminal);
		}
	}
}

static int run(void *context)
{
	struct program *program = context;
	struct terminal *terminal;
	struct reason why = { { 0 }, { 0 } };
	struct canvas canvas = { 0 };
	bool quits = false, moves = false;
	struct sigaction resize = { .sa_handler = on_resize }, go_on = { .sa_handler = on_continue };
	struct rlimit no_core = { 0, 0 };
	setrlimit(RLIMIT_CORE, &no_core);
	setlocale(LC_CTYPE, "");
	sigaction(SIGWINCH, &resize, NULL);
	sigaction(SIGCONT, &go_on, NULL);
	signal(SIGHUP, SIG_IGN);
	shared->status = (int)terminal_open(&program->options, &terminal, &why);
	if (shared->status != STATUS_OK) {
		dprintf(STDOUT_FILENO, "%s; %s\n", why.text, why.remedy);
		return 3;
	}
	shared->charset = (int)terminal_charset(terminal);
	draw(terminal, &canvas);
	shared->running = 1;
	while (!quits) {
		struct pollfd ready[] = {
			{ .fd = terminal_input_fd(terminal), .events = POLLIN },
			{ .fd = terminal_output_fd(terminal), .events = terminal_has_backlog(terminal) ? POLLOUT : 0 },
		};
		poll(ready, 2, 2);
		shared->loops++;
		if (was_resized) {
			was_resized = 0;
			terminal_resized(terminal);
		}
		if (ready[1].revents & POLLOUT)
			terminal_flush(terminal);
		take_keys(terminal, &quits, &moves);
		shared->phase += moves;
		draw(terminal, &canvas);
	}
	terminal_close(terminal);
	canvas_release(&canvas);
	dprintf(STDOUT_FILENO, "bye\r\n");
	return 0;
}

static struct vt *start_with(int width, int height, struct terminal_options options, const char *const environment[])
{
	static struct program program;
	program.options = options;
	*shared = (struct shared){ 0 };
	return vt_fork(width, height, run, &program, environment);
}

static const char *const baseline[] = { "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR", "LINES=3", "COLUMNS=9",
	NULL };

static struct vt *start(int width, int height)
{
	struct vt *vt = start_with(width, height, (struct terminal_options){ .mouse = true }, baseline);
	ck_assert(vt_wait_text(vt, "wide 数据 end", 5000));
	return vt;
}

static void expect_exit(struct vt *vt, int code)
{
	int status;
	ck_assert(vt_wait_exit(vt, &status, 5000));
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == code, "status %x", (unsigned)status);
}

static bool has_key(struct vt *vt, void *context)
{
	(void)vt;
	return shared->last_key == *(const uint64_t *)context;
}

static void expect_key(struct vt *vt, const char *bytes, uint64_t key)
{
	shared->last_key = 0;
	vt_press(vt, bytes);
	ck_assert_msg(vt_wait(vt, has_key, &key, 3000), "%s gave %llx", bytes + 1, (unsigned long long)shared->last_key);
}

static bool loops_past(struct vt *vt, void *context)
{
	(void)vt;
	return shared->loops >= *(const uint64_t *)context;
}

static void wait_loops(struct vt *vt, uint64_t more)
{
	uint64_t wanted = shared->loops + more;
	ck_assert(vt_wait(vt, loops_past, &wanted, 10000));
}

START_TEST(a_canvas_arrives_cell_for_cell)
{
	struct vt *vt = start(40, 6);
	struct buffer screen = BUFFER_INIT;
	vt_screen(vt, &screen);
	ck_assert_str_eq(screen.data,
		"size 40x6\n"
		"⚠ key 0\n"
		"wide 数据 end\n"
		"phase 0\n"
		"\n"
		"████████████████████████████████████████\n");
	ck_assert_int_eq(vt_cell(vt, 0, 1).foreground, 221);
	ck_assert_int_eq(vt_cell(vt, 0, 5).foreground, 80);
	buffer_release(&screen);
	vt_press(vt, "q");
	expect_exit(vt, 0);
	vt_free(vt);
}
END_TEST

START_TEST(a_frame_is_one_write_and_an_unchanged_one_none)
{
	struct vt *vt = start(80, 24);
	vt_settle(vt, 50, 3000);
	uint64_t reads = vt_reads(vt), bytes = vt_bytes(vt);
	struct frame_counts before = shared->counts;
	wait_loops(vt, 20);
	ck_assert_uint_eq(vt_bytes(vt), bytes);
	ck_assert_uint_eq(shared->counts.writes, before.writes);
	vt_press(vt, "x");
	ck_assert(vt_wait_text(vt, "key 78", 3000));
	wait_loops(vt, 3);
	ck_assert_uint_eq(shared->counts.writes, before.writes + 1);
	ck_assert_uint_eq(shared->counts.frames, before.frames + 1);
	ck_assert_uint_eq(vt_reads(vt), reads + 1);
	ck_assert_uint_lt(vt_bytes(vt) - bytes, 40);
	ck_assert_uint_eq(shared->counts.bytes - before.bytes, vt_bytes(vt) - bytes);
	vt_free(vt);
}
END_TEST

START_TEST(every_moving_frame_is_one_write)
{
	struct vt *vt = start(40, 8);
	vt_settle(vt, 50, 3000);
	struct frame_counts before = shared->counts;
	for (int i = 1; i <= 30; i++) {
		char text[16];
		snprintf(text, sizeof text, "phase %d", i);
		vt_press(vt, "+");
		ck_assert(vt_wait_text(vt, text, 3000));
	}
	vt_settle(vt, 50, 3000);
	ck_assert_uint_eq(shared->counts.frames - before.frames, 30);
	ck_assert_uint_eq(shared->counts.writes - before.writes, 30);
	vt_free(vt);
}
END_TEST

static bool is_settled(struct vt *vt, void *context)
{
	(void)vt;
	(void)context;
	return !shared->waiting;
}

START_TEST(a_terminal_that_is_not_read_stops_nothing)
{
	struct vt *vt = start(120, 40);
	vt_set_reading(vt, false);
	vt_press(vt, "m");
	wait_loops(vt, 200);
	ck_assert(shared->waiting);
	uint64_t writes = shared->counts.writes;
	wait_loops(vt, 50);
	ck_assert_uint_eq(shared->counts.writes, writes);
	ck_assert_uint_gt(shared->counts.dropped, 20);
	/* Stopped while blocked: the newest picture must still arrive. */
	vt_press(vt, "s");
	wait_loops(vt, 10);
	vt_set_reading(vt, true);
	ck_assert(vt_wait(vt, is_settled, NULL, 5000));
	ck_assert(vt_wait_text(vt, "key 73", 5000));
	vt_settle(vt, 50, 3000);
	struct buffer row = BUFFER_INIT;
	vt_row(vt, 3, &row);
	vt_row(vt, 10, &row);
	ck_assert_str_eq(row.data, "phase 0");
	buffer_release(&row);
	vt_free(vt);
}
END_TEST

START_TEST(the_last_size_wins_after_a_storm)
{
	static const int sizes[][2] = { { 1, 1 }, { 0, 0 }, { 1000, 1000 }, { 2, 1 }, { 80, 24 }, { 1, 50 }, { 300, 3 } };
	struct vt *vt = start(80, 24);
	for (int i = 0; i < 100000; i++)
		vt_resize(vt, sizes[i % 7][0], sizes[i % 7][1]);
	for (int i = 0; i < 7; i++) {
		vt_resize(vt, sizes[i][0], sizes[i][1]);
		wait_loops(vt, 3);
	}
	vt_resize(vt, 61, 9);
	ck_assert(vt_wait_text(vt, "size 61x9", 10000));
	vt_resize(vt, 0, 0);
	ck_assert(vt_wait_text(vt, "size 80x24", 10000));
	vt_resize(vt, 1, 1);
	wait_loops(vt, 5);
	vt_press(vt, "q");
	expect_exit(vt, 0);
	vt_free(vt);
}
END_TEST

struct terminal_case {
	const char *term;
	bool is_fine;
	int charset;
	bool has_color;
};

static const struct terminal_case terminals[] = {
	{ "TERM=xterm", true, CHARSET_BRAILLE, true },
	{ "TERM=xterm-256color", true, CHARSET_BRAILLE, true },
	{ "TERM=vt100", true, CHARSET_BRAILLE, false },
	{ "TERM=screen", true, CHARSET_BRAILLE, true },
	{ "TERM=tmux-256color", true, CHARSET_BRAILLE, true },
	{ "TERM=linux", true, CHARSET_BLOCK, true },
	{ "TERM=ansi", true, CHARSET_BRAILLE, true },
	{ "TERM=no-such-terminal", true, CHARSET_BRAILLE, true },
	{ "TERM", true, CHARSET_BRAILLE, true },
	{ "TERM=dumb", false, 0, false },
};

START_TEST(terminals_of_every_kind_show_the_same)
{
	const struct terminal_case *want = &terminals[_i];
	const char *const environment[] = { want->term, "LC_ALL=C.UTF-8", "NO_COLOR", NULL };
	struct vt *vt = start_with(40, 8, (struct terminal_options){ .mouse = true }, environment);
	if (!want->is_fine) {
		expect_exit(vt, 3);
		ck_assert_int_eq(shared->status, STATUS_UNSUPPORTED);
		ck_assert(vt_saw(vt, "the terminal (TERM=dumb) cannot place its cursor; use -b"));
	} else {
		ck_assert(vt_wait_text(vt, "wide 数据 end", 5000));
		ck_assert_int_eq(shared->charset, want->charset);
		ck_assert_int_eq(vt_cell(vt, 0, 1).foreground >= 0, want->has_color);
		ck_assert(vt_wait_text(vt, "size 40x8", 100));
		ck_assert_uint_eq(vt_cell(vt, 38, 7).code, 0x2588);
		vt_press(vt, "q");
		expect_exit(vt, 0);
		ck_assert(vt_saw(vt, "bye"));
	}
	vt_free(vt);
}
END_TEST

START_TEST(another_locale_is_drawn_in_ascii)
{
	static const char *const environment[] = { "TERM=xterm-256color", "LC_ALL=C", NULL };
	struct vt *vt = start_with(20, 5, (struct terminal_options){ 0 }, environment);
	ck_assert(vt_wait_text(vt, "! key 0", 5000));
	ck_assert(vt_wait_text(vt, "wide ???? end", 100));
	ck_assert(vt_wait_text(vt, "####################", 100));
	ck_assert_int_eq(shared->charset, CHARSET_ASCII);
	vt_free(vt);
}
END_TEST

struct palette_case {
	const char *type, *said, *bytes; /* TERM, COLORTERM, and what a warning of the default theme begins with */
};

static const struct palette_case palette_cases[] = {
	{ "TERM=xterm-256color", "COLORTERM", "\033[38;5;221m" },
	{ "TERM=xterm-256color", "COLORTERM=truecolor", "\033[38;2;255;215;95m" },
	{ "TERM=xterm-256color", "COLORTERM=24bit", "\033[38;2;255;215;95m" },
	{ "TERM=xterm-256color", "COLORTERM=", "\033[38;5;221m" },
	{ "TERM=made-direct", "COLORTERM", "\033[38:2::255:215:95m" },
	{ "TERM=tmux-256color", "COLORTERM=truecolor", "\033[38;2;255;215;95m" },
	{ "TERM=screen-256color", "COLORTERM=truecolor", "\033[38;5;221m" },
	{ "TERM=made-16", "COLORTERM", "\033[93m" },
	{ "TERM=xterm", "COLORTERM", "\033[1m\033[33m" },
	{ "TERM=linux", "COLORTERM=truecolor", "\033[1m\033[33m" },
	{ "TERM=vt100", "COLORTERM=truecolor", "\033[1m" },
};

/* Entries as those of xterm-direct and xterm-16color, which not every system has. */
static void make_entries(const char *folder)
{
	char command[512];
	snprintf(command, sizeof command,
		"printf '%%s\\n' 'made-direct|a terminal with 24-bit colours,' '\tRGB, colors#0x1000000, pairs#0x7FFF,' "
		"'\tsetaf=\\E[%%?%%p1%%{8}%%<%%t3%%p1%%d%%e38\\:2\\:\\:%%p1%%{65536}%%/"
		"%%d\\:%%p1%%{256}%%/%%{255}%%&%%d"
		"\\:%%p1%%{255}%%&%%d%%;m,' '\tsetab=\\E[48m, use=xterm-256color,' 'made-16|a terminal with 16 colours,' "
		"'\tcolors#16, use=xterm-256color,' > %s/entries && tic -x -o %s %s/entries",
		folder, folder, folder);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(colours_are_those_that_the_terminal_has)
{
	const struct palette_case *row = &palette_cases[_i];
	char folder[] = "/tmp/pmtop-terminfo-XXXXXX", variable[64];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(variable, sizeof variable, "TERMINFO=%s", folder);
	make_entries(folder);
	const char *const environment[] = { row->type, row->said, variable, "LC_ALL=C.UTF-8", "NO_COLOR", NULL };
	struct vt *vt = start_with(40, 8, (struct terminal_options){ 0 }, environment);
	ck_assert(vt_wait_text(vt, "wide", 5000));
	ck_assert_msg(vt_saw(vt, row->bytes), "%s, %s: no %s", row->type, row->said, row->bytes + 1);
	/* never a palette of our own */
	ck_assert(!vt_saw(vt, "\033]4;") && !vt_saw(vt, "\033]P"));
	ck_assert(vt_wait_text(vt, strcmp(row->type, "TERM=linux") == 0 ? "! key" : "⚠ key", 1000));
	ck_assert_int_eq(shared->charset, strcmp(row->type, "TERM=linux") == 0 ? CHARSET_BLOCK : CHARSET_BRAILLE);
	vt_free(vt);
	snprintf(variable, sizeof variable, "rm -r %s", folder);
	ck_assert_int_eq(system(variable), 0);
}
END_TEST

START_TEST(a_theme_with_a_ground_paints_every_cell)
{
	struct theme theme;
	struct reason why;
	ck_assert_int_eq(theme_load("high-contrast", &theme, &why), STATUS_OK);
	struct vt *vt = start_with(40, 8, (struct terminal_options){ .theme = &theme }, baseline);
	ck_assert(vt_wait_text(vt, "wide", 5000));
	for (int y = 0; y < 7; y++)
		for (int x = 0; y != 2 && x < 40;
			 x++) /* row 2 has wide characters, whose second cell has no colour in libvterm */
			ck_assert_msg(vt_cell(vt, x, y).background == 16, "%d,%d: %d", x, y, vt_cell(vt, x, y).background);
	vt_free(vt);
}
END_TEST

static const struct {
	enum marks_choice marks;
	enum charset charset;
} marks_cases[] = { { MARKS_BRAILLE, CHARSET_BRAILLE }, { MARKS_BLOCKS, CHARSET_BLOCK },
	{ MARKS_ASCII, CHARSET_ASCII } };

START_TEST(marks_are_those_asked_for)
{
	struct vt *vt = start_with(40, 8, (struct terminal_options){ .marks = marks_cases[_i].marks }, baseline);
	ck_assert(vt_wait_text(vt, "wide", 5000));
	ck_assert_int_eq(shared->charset, marks_cases[_i].charset);
	vt_free(vt);
}
END_TEST

START_TEST(ascii_can_be_asked_for)
{
	struct vt *vt = start_with(20, 5, (struct terminal_options){ .ascii = true }, baseline);
	ck_assert(vt_wait_text(vt, "! key 0", 5000));
	vt_free(vt);
}
END_TEST

struct color_case {
	const char *no_color;
	enum color_choice choice;
	bool has_color;
};

static const struct color_case colors[] = {
	{ "NO_COLOR=1", COLOR_AUTO, false },
	{ "NO_COLOR=", COLOR_AUTO, true },
	{ "NO_COLOR=1", COLOR_ALWAYS, true },
	{ "NO_COLOR", COLOR_NEVER, false },
};

START_TEST(colour_follows_the_option_then_the_environment)
{
	const char *const environment[] = { "TERM=xterm-256color", "LC_ALL=C.UTF-8", colors[_i].no_color, NULL };
	struct vt *vt = start_with(40, 8, (struct terminal_options){ .color = colors[_i].choice }, environment);
	ck_assert(vt_wait_text(vt, "wide", 5000));
	ck_assert_int_eq(vt_cell(vt, 0, 1).foreground >= 0, colors[_i].has_color);
	ck_assert_int_eq(vt_cell(vt, 0, 1).is_bold, !colors[_i].has_color);
	vt_free(vt);
}
END_TEST

static void expect_same_modes(struct termios a, struct termios b)
{
	ck_assert_uint_eq(a.c_lflag, b.c_lflag);
	ck_assert_uint_eq(a.c_iflag, b.c_iflag);
	ck_assert_uint_eq(a.c_oflag, b.c_oflag);
	ck_assert_int_eq(a.c_cc[VMIN], b.c_cc[VMIN]);
}

static int read_modes(void *context)
{
	(void)context;
	return 0;
}

static struct termios fresh_modes(void)
{
	struct vt *vt = vt_fork(10, 3, read_modes, NULL, NULL);
	struct termios modes = vt_modes(vt);
	vt_free(vt);
	return modes;
}

static void expect_given_back(struct vt *vt)
{
	expect_same_modes(vt_modes(vt), fresh_modes());
	static const char *const ends[] = { "\033[?1049l", "\033[?1006;1000l", "\033[?2004l", "\033[?12l\033[?25h" };
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		ck_assert_msg(vt_saw(vt, ends[i]), "%s was not sent", ends[i] + 1);
}

START_TEST(quitting_gives_the_terminal_back)
{
	struct vt *vt = start(40, 8);
	ck_assert(!(vt_modes(vt).c_lflag & ICANON));
	vt_press(vt, "q");
	expect_exit(vt, 0);
	expect_given_back(vt);
	vt_free(vt);
}
END_TEST

struct crash_case {
	const char *key;
	int number;
};
static const struct crash_case crashes[] = {
	{ "!", SIGSEGV },
	{ "#", SIGABRT },
#ifndef IS_SANITIZED /* a sanitizer reports a stack overflow itself */
	{ "%", SIGSEGV },
#endif
};

START_TEST(a_crash_gives_the_terminal_back_and_stays_a_crash)
{
	struct vt *vt = start(40, 8);
	int status;
	vt_press(vt, crashes[_i].key);
	ck_assert(vt_wait_exit(vt, &status, 5000));
	expect_given_back(vt);
	ck_assert(WIFSIGNALED(status) ? WTERMSIG(status) == crashes[_i].number : WEXITSTATUS(status) != 0);
	vt_free(vt);
}
END_TEST

START_TEST(a_hang_up_is_a_key)
{
	struct vt *vt = start(40, 8);
	int status;
	vt_hang_up(vt);
	ck_assert(vt_wait_exit(vt, &status, 1000));
	ck_assert_uint_eq(shared->last_key, KEY_HANGUP);
	vt_free(vt);
}
END_TEST

static void send_paste(struct vt *vt, size_t length, bool is_bracketed)
{
	char *text = malloc(length);
	for (size_t i = 0; i < length; i++)
		text[i] = i % 80 == 79 ? '\r' : 'q';
	if (is_bracketed)
		vt_press(vt, "\033[200~");
	vt_send(vt, text, length);
	if (is_bracketed)
		vt_press(vt, "\033[201~");
	free(text);
}

START_TEST(a_megabyte_pasted_is_dropped)
{
	struct vt *vt = start(40, 8);
	uint64_t keys = shared->keys;
	send_paste(vt, 1 << 20, true);
	wait_loops(vt, 50);
	ck_assert_uint_eq(shared->keys, keys);
	expect_key(vt, "x", 'x');
	vt_free(vt);
}
END_TEST

START_TEST(a_short_paste_is_no_command)
{
	struct vt *vt = start(40, 8);
	send_paste(vt, 5, true);
	expect_key(vt, "x", 'x');
	ck_assert_uint_eq(shared->keys, 1);
	vt_free(vt);
}
END_TEST

/* Keys right after a paste may belong to it; after a second's pause they do not. */
static void expect_keys_work_again(struct vt *vt)
{
	uint64_t key = 'x';
	int tries = 0;
	while (tries++ < 4 && shared->last_key != key) {
		vt_pump(vt, 1100);
		vt_press(vt, "x");
		vt_wait(vt, has_key, &key, 300);
	}
	ck_assert_uint_eq(shared->last_key, key);
}

START_TEST(a_paste_that_never_ends_gives_the_keys_back)
{
	struct vt *vt = start(40, 8);
	vt_press(vt, "\033[200~half\033[20");
	expect_keys_work_again(vt);
	vt_free(vt);
}
END_TEST

START_TEST(a_flood_of_keys_is_dropped)
{
	static const char *const environment[] = { "TERM=vt100", "LC_ALL=C.UTF-8", NULL };
	struct vt *vt = start_with(40, 8, (struct terminal_options){ 0 }, environment);
	ck_assert(vt_wait_text(vt, "wide", 5000));
	char flood[3000];
	memset(flood, 'q', sizeof flood);
	vt_signal(vt, SIGSTOP);
	vt_send_waiting(vt, flood, sizeof flood);
	vt_signal(vt, SIGCONT);
	wait_loops(vt, 10);
	ck_assert_uint_eq(shared->keys, 0);
	expect_keys_work_again(vt);
	vt_free(vt);
}
END_TEST

START_TEST(keys_have_one_name_whatever_is_sent)
{
	static const struct {
		const char *bytes;
		uint64_t key;
	} keys[] = {
		{ "a", 'a' },
		{ "\t", KEY_TAB },
		{ "\r", KEY_RETURN },
		{ "\n", KEY_RETURN },
		{ "\177", KEY_ERASE },
		{ "\b", KEY_ERASE },
		{ "\033", KEY_ESC },
		{ "é", 0xe9 },
		{ "\033OA", KEY_ARROW_UP },
		{ "\033OB", KEY_ARROW_DOWN },
		{ "\033OC", KEY_ARROW_RIGHT },
		{ "\033OD", KEY_ARROW_LEFT },
		{ "\033[5~", KEY_PAGE_UP },
		{ "\033[6~", KEY_PAGE_DOWN },
		{ "\033OH", KEY_TO_HOME },
		{ "\033OF", KEY_TO_END },
		{ "\033[Z", KEY_BACK_TAB },
		{ "\033OP", KEY_FUNCTION_1 },
		{ "\014", KEY_WINDOW },
	};
	struct vt *vt = start(40, 8);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		expect_key(vt, keys[i].bytes, keys[i].key);
	vt_free(vt);
}
END_TEST

START_TEST(half_an_escape_sequence_does_not_hang)
{
	struct vt *vt = start(40, 8);
	vt_press(vt, "\033[1;");
	wait_loops(vt, 20);
	expect_key(vt, "x", 'x');
	vt_press(vt, "\033[<0;1");
	wait_loops(vt, 20);
	expect_key(vt, "y", 'y');
	vt_press(vt, "q");
	expect_exit(vt, 0);
	vt_free(vt);
}
END_TEST

START_TEST(the_mouse_clicks_and_turns)
{
	struct vt *vt = start(300, 8);
	expect_key(vt, "\033[<0;251;3M", KEY_CLICK);
	ck_assert_uint_eq(shared->last_x, 250);
	ck_assert_uint_eq(shared->last_y, 2);
	expect_key(vt, "\033[<64;5;3M", KEY_WHEEL_UP);
	expect_key(vt, "\033[<65;5;3M", KEY_WHEEL_DOWN);
	uint64_t keys = shared->keys;
	vt_press(vt, "\033[<0;251;3m\033[<0;999;999M");
	expect_key(vt, "x", 'x');
	ck_assert_uint_eq(shared->keys, keys + 1);
	vt_free(vt);
}
END_TEST

START_TEST(an_old_mouse_is_understood_too)
{
	static const char *const environment[] = { "TERM=screen-256color", "LC_ALL=C.UTF-8", NULL };
	struct vt *vt = start_with(40, 8, (struct terminal_options){ .mouse = true }, environment);
	ck_assert(vt_wait_text(vt, "wide", 5000));
	ck_assert(vt_saw(vt, "\033[?1000h"));
	expect_key(vt, "\033[M %$", KEY_CLICK);
	ck_assert_uint_eq(shared->last_x, 4);
	ck_assert_uint_eq(shared->last_y, 3);
	vt_press(vt, "q");
	expect_exit(vt, 0);
	ck_assert(vt_saw(vt, "\033[?1000l"));
	vt_free(vt);
}
END_TEST

START_TEST(no_mouse_is_asked_for_unless_wanted)
{
	struct vt *vt = start_with(40, 8, (struct terminal_options){ .mouse = false }, baseline);
	ck_assert(vt_wait_text(vt, "wide", 5000));
	ck_assert(!vt_saw(vt, "1000h"));
	vt_free(vt);
}
END_TEST

static bool is_stopped(struct vt *vt, void *context)
{
	(void)context;
	int status;
	return waitpid(vt_pid(vt), &status, WNOHANG | WUNTRACED) == vt_pid(vt) && WIFSTOPPED(status);
}

START_TEST(a_suspended_program_leaves_the_terminal_and_comes_back)
{
	struct vt *vt = start(40, 8);
	vt_press(vt, "z");
	ck_assert(vt_wait(vt, is_stopped, NULL, 3000));
	vt_pump(vt, 20);
	expect_given_back(vt);
	vt_press(vt, "\r");
	vt_signal(vt, SIGCONT);
	ck_assert(vt_wait_text(vt, "wide 数据 end", 3000));
	ck_assert(!(vt_modes(vt).c_lflag & ICANON));
	vt_press(vt, "q");
	expect_exit(vt, 0);
	vt_free(vt);
}
END_TEST

static int without_terminal(void *context)
{
	struct terminal_options options = { 0 };
	struct terminal *terminal;
	struct reason why = { { 0 }, { 0 } };
	int fd = open("/dev/null", O_WRONLY);
	(void)context;
	dup2(fd, STDOUT_FILENO);
	return terminal_open(&options, &terminal, &why) == STATUS_UNSUPPORTED && strstr(why.text, "not a terminal") ? 5 : 6;
}

START_TEST(no_terminal_is_refused_with_the_next_step)
{
	struct vt *vt = vt_fork(40, 8, without_terminal, NULL, baseline);
	expect_exit(vt, 5);
	vt_free(vt);
}
END_TEST

static int at_the_end_of_a_pipe(void *context)
{
	int ends[2];
	if (pipe(ends) != 0)
		return 9;
	dup2(ends[0], STDIN_FILENO);
	return run(context);
}

START_TEST(keys_come_from_the_terminal_when_standard_input_is_a_pipe)
{
	struct program program = { .options = { 0 } };
	*shared = (struct shared){ 0 };
	struct vt *vt = vt_fork(40, 8, at_the_end_of_a_pipe, &program, baseline);
	ck_assert(vt_wait_text(vt, "wide", 5000));
	vt_press(vt, "q");
	expect_exit(vt, 0);
	vt_free(vt);
}
END_TEST

int main(void)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	Suite *suite = suite_create("terminal");
	TCase *test = tcase_create("terminal");
	tcase_set_timeout(test, 60);
	tcase_add_test(test, a_canvas_arrives_cell_for_cell);
	tcase_add_test(test, a_frame_is_one_write_and_an_unchanged_one_none);
	tcase_add_test(test, every_moving_frame_is_one_write);
	tcase_add_test(test, a_terminal_that_is_not_read_stops_nothing);
	tcase_add_test(test, the_last_size_wins_after_a_storm);
	tcase_add_loop_test(test, terminals_of_every_kind_show_the_same, 0, sizeof terminals / sizeof terminals[0]);
	tcase_add_test(test, another_locale_is_drawn_in_ascii);
	tcase_add_loop_test(test, colours_are_those_that_the_terminal_has, 0, sizeof palette_cases / sizeof *palette_cases);
	tcase_add_test(test, a_theme_with_a_ground_paints_every_cell);
	tcase_add_loop_test(test, marks_are_those_asked_for, 0, 3);
	tcase_add_test(test, ascii_can_be_asked_for);
	tcase_add_loop_test(test, colour_follows_the_option_then_the_environment, 0, sizeof colors / sizeof colors[0]);
	tcase_add_test(test, quitting_gives_the_terminal_back);
	tcase_add_test(test, an_old_mouse_is_understood_too);
	tcase_add_test(test, no_mouse_is_asked_for_unless_wanted);
	tcase_add_loop_test(test, a_crash_gives_the_terminal_back_and_stays_a_crash, 0, sizeof crashes / sizeof crashes[0]);
	tcase_add_test(test, a_hang_up_is_a_key);
	tcase_add_test(test, a_megabyte_pasted_is_dropped);
	tcase_add_test(test, a_short_paste_is_no_command);
	tcase_add_test(test, a_paste_that_never_ends_gives_the_keys_back);
	tcase_add_test(test, a_flood_of_keys_is_dropped);
	tcase_add_test(test, keys_have_one_name_whatever_is_sent);
	tcase_add_test(test, half_an_escape_sequence_does_not_hang);
	tcase_add_test(test, the_mouse_clicks_and_turns);
	tcase_add_test(test, a_suspended_program_leaves_the_terminal_and_comes_back);
	tcase_add_test(test, no_terminal_is_refused_with_the_next_step);
	tcase_add_test(test, keys_come_from_the_terminal_when_standard_input_is_a_pipe);
	suite_add_tcase(suite, test);
	return suite_run(suite);
}
