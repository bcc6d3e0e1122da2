#define NCURSES_WIDECHAR 1
#include <curses.h>

#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/program_files.h"
#include "ui/core/theme.h"
#include "ui/terminal/term_console.h"
#include "ui/terminal/term_frame.h"
#include "ui/terminal/term_restore.h"
#include "ui/terminal/term_tty.h"
#include "ui/terminal/terminal.h"
#include "ui/themes/theme_book.h"

/* ncurses queries capabilities and reads keys; term_frame.c writes frames, which takes a tenth of ncurses' time
 * (tests/bench/bench_draw.c). So ncurses writes to /dev/null and never touches the terminal's modes. */

enum {
	ESCAPE_DELAY_MS = 25,
	FLOOD_BYTES = 1024,          /* more input than anyone types between two reads: pasted, or old */
	PASTE_PAUSE_NS = 1000000000, /* a paste without its end marker ends after this pause */
	CODE_PASTE = 0x7f00,         /* ncurses stores codes in 16 bits and uses its own from KEY_MAX up */
};

struct terminal {
	struct tty tty;
	FILE *input, *nowhere;
	SCREEN *screen;
	WINDOW *pad; /* a pad, because reading keys from a window would draw it */
	enum charset charset;
	enum palette palette;
	bool is_said_direct; /* 24-bit colours that terminfo does not describe */
	int width, height;
	bool has_new_size, is_pasting;
	size_t paste_end_bytes; /* how many bytes of the paste's end marker were seen */
	int64_t pasted_ns;
	struct frame_controls controls;
	char enter[RESTORE_SIZE], leave[RESTORE_SIZE];
	struct frame frame;
};

/* A capability by its terminfo name, or NULL. */
static const char *capability(const char *name)
{
	const char *text = tigetstr(name);
	return text == (const char *)-1 ? NULL : text;
}

/* Appends a capability without its padding ("$<5>"), which terminals no longer need. Appends nothing if it does not
 * fit. */
static void append(char *out, size_t size, const char *text)
{
	size_t start = strlen(out), length = start;
	for (; text && *text; text++) {
		const char *end = text[0] == '$' && text[1] == '<' ? strchr(text, '>') : NULL;
		if (end) {
			text = end;
			continue;
		}
		if (length + 1 >= size) {
			out[start] = '\0';
			return;
		}
		out[length++] = *text;
	}
	out[length] = '\0';
}

static size_t move_ansi(char out[MOVE_SIZE], int x, int y)
{
	size_t length = 0;
	int values[] = { y + 1, x + 1 };
	out[length++] = '\033';
	out[length++] = '[';
	for (int i = 0; i < 2; i++) {
		char digits[12];
		int count = 0;
		for (int value = values[i]; value > 0; value /= 10)
			digits[count++] = (char)('0' + value % 10);
		while (count > 0)
			out[length++] = digits[--count];
		out[length++] = i == 0 ? ';' : 'H';
	}
	return length;
}

static size_t move_other(char out[MOVE_SIZE], int x, int y)
{
	out[0] = '\0';
	append(out, MOVE_SIZE, tiparm(capability("cup"), y, x));
	return strlen(out);
}

/* Terminfo's direct colours take numbers below 8, 16 or 256 as indices: those have green 0, and get green 1. */
static void append_direct(char *out, bool is_in_terminfo, bool is_ground, int rgb)
{
	char text[32];
	if (is_in_terminfo) {
		append(out, CONTROL_SIZE,
			tiparm(capability(is_ground ? "setab" : "setaf"), rgb > 0 && rgb < 256 ? rgb | 256 : rgb));
		return;
	}
	snprintf(
		text, sizeof text, "\033[%d;2;%d;%d;%dm", is_ground ? 48 : 38, rgb >> 16 & 0xff, rgb >> 8 & 0xff, rgb & 0xff);
	append(out, CONTROL_SIZE, text);
}

static void append_color(const struct terminal *terminal, char *out, bool is_ground, int color)
{
	if (color == COLOR_NONE)
		return;
	if (terminal->palette == PALETTE_DIRECT)
		append_direct(out, !terminal->is_said_direct, is_ground, color);
	else
		append(out, CONTROL_SIZE, tiparm(capability(is_ground ? "setab" : "setaf"), color));
}

static void write_style(const struct terminal *terminal, char out[CONTROL_SIZE], struct style style)
{
	enum { DIM_WITH_COLOR = 16, UNDERLINE_WITH_COLOR = 2, BOLD_WITH_COLOR = 32, REVERSE_WITH_COLOR = 4 };
	const struct {
		bool is_wanted;
		int refused;
		const char *name;
	} marks[] = {
		{ style.is_bold, BOLD_WITH_COLOR, "bold" },
		{ style.is_dim, DIM_WITH_COLOR, "dim" },
		{ style.is_underlined, UNDERLINE_WITH_COLOR, "smul" },
		{ style.is_reversed, REVERSE_WITH_COLOR, "rev" },
	};
	bool has_color = style.foreground != COLOR_NONE || style.background != COLOR_NONE;
	int refused = has_color && tigetnum("ncv") > 0 ? tigetnum("ncv") : 0;
	out[0] = '\0';
	append(out, CONTROL_SIZE, capability("sgr0"));
	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
		if (marks[i].is_wanted && !(refused & marks[i].refused))
			append(out, CONTROL_SIZE, capability(marks[i].name));
	append_color(terminal, out, false, style.foreground);
	append_color(terminal, out, true, style.background);
}

static bool is_console(void) { return strcmp(termname(), "linux") == 0; }

/* Whether terminfo has the extended capability, as a flag, a number or a text. */
static bool has_extension(const char *name) { return tigetflag(name) > 0 || tigetnum(name) > 0 || capability(name); }

/* COLORTERM is the terminal's own word that it shows 24-bit colours, but GNU screen and the Linux console, which may
 * inherit it from another terminal, do not. */
static bool says_direct(void)
{
	const char *said = getenv("COLORTERM");
	bool is_said = said && (strcmp(said, "truecolor") == 0 || strcmp(said, "24bit") == 0);
	return has_extension("Tc") || (is_said && strncmp(termname(), "screen", 6) != 0 && !is_console());
}

static void choose_palette(struct terminal *terminal, enum color_choice choice)
{
	const char *no_color = getenv("NO_COLOR");
	int colors = tigetnum("colors");
	terminal->palette = PALETTE_MONO;
	terminal->is_said_direct = false;
	if (choice == COLOR_NEVER || (choice == COLOR_AUTO && no_color && no_color[0]))
		return;
	if (!capability("setaf") || !capability("setab") || colors < 8)
		return;
	terminal->palette = colors >= 256 ? PALETTE_256 : colors >= 16 ? PALETTE_16 : PALETTE_8;
	if (has_extension("RGB")) {
		terminal->palette = PALETTE_DIRECT;
	} else if (says_direct()) {
		terminal->palette = PALETTE_DIRECT;
		terminal->is_said_direct = true;
	}
}

static enum charset choose_charset(const struct terminal_options *options)
{
	static const enum charset charsets[] = {
		[MARKS_BRAILLE] = CHARSET_BRAILLE, [MARKS_BLOCKS] = CHARSET_BLOCK, [MARKS_ASCII] = CHARSET_ASCII
	};
	if (options->ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		return CHARSET_ASCII;
	if (options->marks != MARKS_AUTO)
		return charsets[options->marks];
	/* console fonts have no braille */
	return is_console() ? CHARSET_BLOCK : CHARSET_BRAILLE;
}

/* Whether a blank in this style differs from one of normal text. */
static bool has_own_ground(struct style style, struct style normal)
{
	return style.background != normal.background || style.is_reversed || style.is_underlined;
}

static void write_controls(struct terminal *terminal, const struct theme *theme)
{
	struct frame_controls *controls = &terminal->controls;
	struct style normal = theme_style(theme, terminal->palette, ROLE_NORMAL, false);
	*controls = (struct frame_controls){ .paints_ground = normal.background != COLOR_NONE,
		.like = is_console() ? console_like : NULL };
	append(controls->clear, CONTROL_SIZE, capability("sgr0"));
	append(controls->clear, CONTROL_SIZE, capability("clear"));
	for (int role = 0; role < ROLE_COUNT; role++) {
		for (int reverse = 0; reverse < 2; reverse++) {
			struct style style = theme_style(theme, terminal->palette, (enum role)role, reverse);
			bool has_ground = has_own_ground(style, normal);
			write_style(terminal, controls->styles[role][reverse], style);
			if (!has_ground && !style.is_bold && !style.is_dim && style.foreground != COLOR_NONE)
				append_color(terminal, controls->colors[role][reverse], false, style.foreground);
			controls->is_like_nothing[role][reverse] = !has_ground;
		}
	}
	controls->move = strncmp(capability("cup"), "\033[%i%p1%d;%p2%dH", 16) == 0 ? move_ansi : move_other;
	controls->last_cell_scrolls = tigetflag("am") > 0 && tigetflag("xenl") <= 0;
}

static void choose_style(struct terminal *terminal, const struct terminal_options *options)
{
	struct theme theme;
	struct reason none;
	if (!options->theme)
		theme_load("default", &theme, &none);
	terminal->charset = choose_charset(options);
	choose_palette(terminal, options->color);
	write_controls(terminal, options->theme ? options->theme : &theme);
}

void terminal_restyle(struct terminal *terminal, const struct terminal_options *options)
{
	choose_style(terminal, options);
	frame_forget(&terminal->frame);
}

struct terminal_options terminal_options_of(const struct settings *settings, struct theme *theme)
{
	struct reason reported_at_start;
	theme_load(settings->theme, theme, &reported_at_start);
	return (struct terminal_options){ .color = settings->color,
		.marks = settings->marks,
		.ascii = settings->ascii,
		.mouse = settings->mouse,
		.theme = theme };
}

/* The sequences that enter and leave the screen. */
static void write_enter_and_leave(struct terminal *terminal, bool has_mouse)
{
	const char *mouse = capability("XM") ? capability("XM") : "\033[?1000%?%p1%{1}%=%th%el%;";
	bool is_like_xterm = capability("kmous") != NULL;
	static const char *const enter[] = { "smcup", "sgr0", "civis", "smkx" },
							 *const leave[] = { "sgr0", "op", "rmkx", "cnorm" };
	for (size_t i = 0; i < 4; i++) {
		append(terminal->enter, RESTORE_SIZE, capability(enter[i]));
		append(terminal->leave, RESTORE_SIZE, capability(leave[i]));
	}
	if (is_like_xterm) {
		append(terminal->enter, RESTORE_SIZE, "\033[?2004h");
		append(terminal->leave, RESTORE_SIZE, "\033[?2004l");
	}
	if (has_mouse) {
		append(terminal->enter, RESTORE_SIZE, tiparm(mouse, 1));
		append(terminal->leave, RESTORE_SIZE, tiparm(mouse, 0));
	}
	append(terminal->leave, RESTORE_SIZE, capability("rmcup") ? capability("rmcup") : capability("clear"));
}

static void take_over(struct terminal *terminal)
{
	tty_set_raw(&terminal->tty);
	restore_arm(terminal->tty.fd, &terminal->tty.saved, terminal->leave, strlen(terminal->leave));
	tty_send(&terminal->tty, terminal->enter);
	frame_forget(&terminal->frame);
}

/* Flushes first: the restoring text must not end up inside an escape sequence. */
static void give_back(struct terminal *terminal)
{
	frame_abandon(&terminal->frame);
	restore_disarm();
	tty_send(&terminal->tty, terminal->leave);
	tty_set_saved(&terminal->tty);
}

static SCREEN *try_types(const char *type, FILE *output, FILE *input)
{
	SCREEN *screen = newterm(type, output, input);
	return screen ? screen : newterm("xterm-256color", output, input);
}

/* Where the system has no entry, those that come with the program; what pmtop starts still gets the caller's TERMINFO.
 */
static SCREEN *new_screen_of(const char *type, FILE *output, FILE *input)
{
	SCREEN *screen = try_types(type, output, input);
	char *folder = screen ? NULL : program_folder("../share/pmtop/terminfo", "terminfo", "x/xterm-256color");
	if (!folder)
		return screen;
	char *before = getenv("TERMINFO") ? strdup(getenv("TERMINFO")) : NULL;
	setenv("TERMINFO", folder, true);
	screen = try_types(type, output, input);
	before ? setenv("TERMINFO", before, true) : unsetenv("TERMINFO");
	free(before);
	free(folder);
	return screen;
}

/* newterm() installs signal handlers if there are none. */
static SCREEN *new_screen(const char *type, FILE *output, FILE *input)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };
	enum { COUNT = sizeof numbers / sizeof numbers[0] };
	struct sigaction before[COUNT];
	for (int i = 0; i < COUNT; i++)
		sigaction(numbers[i], NULL, &before[i]);
	use_env(FALSE); /* ignores LINES and COLUMNS */
	use_tioctl(TRUE);
	SCREEN *screen = new_screen_of(type, output, input);
	for (int i = 0; i < COUNT; i++)
		sigaction(numbers[i], &before[i], NULL);
	return screen;
}

static bool open_screen(struct terminal *terminal)
{
	int input = dup(terminal->tty.fd);
	terminal->nowhere = fopen("/dev/null", "we");
	terminal->input = input < 0 ? NULL : fdopen(input, "r");
	if (!terminal->input && input >= 0)
		close(input);
	if (!terminal->nowhere || !terminal->input)
		return false;
	terminal->screen = new_screen(getenv("TERM"), terminal->nowhere, terminal->input);
	terminal->pad = terminal->screen ? newpad(1, 1) : NULL;
	return terminal->pad;
}

static void close_all(struct terminal *terminal)
{
	if (terminal->pad)
		delwin(terminal->pad);
	if (terminal->screen)
		delscreen(terminal->screen);
	if (terminal->input)
		fclose(terminal->input);
	if (terminal->nowhere)
		fclose(terminal->nowhere);
	frame_release(&terminal->frame);
	tty_close(&terminal->tty);
	free(terminal);
}

static void set_up_keys(struct terminal *terminal, bool wants_mouse)
{
	keypad(terminal->pad, TRUE);
	nodelay(terminal->pad, TRUE);
	set_escdelay(ESCAPE_DELAY_MS);
	define_key("\033[200~", CODE_PASTE);
	bool has_mouse = wants_mouse && mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL) != 0;
	mouseinterval(0);
	write_enter_and_leave(terminal, has_mouse);
}

enum status terminal_open(const struct terminal_options *options, struct terminal **out, struct reason *why_not)
{
	static const char remedy[] = "use -b for lines, or --once for one screen as text";
	struct terminal *terminal = calloc(1, sizeof *terminal);
	if (!terminal)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "no memory for the screen");
	if (!tty_open(&terminal->tty)) {
		free(terminal);
		return reason_set(why_not, STATUS_UNSUPPORTED, remedy, "standard output is not a terminal");
	}
	if (!open_screen(terminal) || !capability("cup") || !capability("clear")) {
		close_all(terminal);
		const char *type = getenv("TERM");
		return reason_set(
			why_not, STATUS_UNSUPPORTED, remedy, "the terminal (TERM=%s) cannot place its cursor", type ? type : "");
	}
	choose_style(terminal, options);
	set_up_keys(terminal, options->mouse);
	tty_size(&terminal->tty, &terminal->width, &terminal->height);
	frame_init(&terminal->frame, &terminal->controls, terminal->tty.fd);
	take_over(terminal);
	*out = terminal;
	return STATUS_OK;
}

void terminal_close(struct terminal *terminal)
{
	give_back(terminal);
	close_all(terminal);
}

void terminal_size(const struct terminal *terminal, int *width, int *height)
{
	*width = terminal->width;
	*height = terminal->height;
}

enum charset terminal_charset(const struct terminal *terminal) { return terminal->charset; }
struct frame_counts terminal_counts(const struct terminal *terminal) { return terminal->frame.counts; }
void terminal_show(struct terminal *terminal, const struct canvas *canvas) { frame_show(&terminal->frame, canvas); }
bool terminal_has_backlog(const struct terminal *terminal) { return frame_has_backlog(&terminal->frame); }
void terminal_flush(struct terminal *terminal) { frame_flush(&terminal->frame); }
int terminal_input_fd(const struct terminal *terminal) { return terminal->tty.fd; }
int terminal_output_fd(const struct terminal *terminal) { return terminal->tty.fd; }

void terminal_resized(struct terminal *terminal)
{
	tty_size(&terminal->tty, &terminal->width, &terminal->height);
	terminal->has_new_size = true;
	frame_forget(&terminal->frame);
}

void terminal_suspend(struct terminal *terminal) { give_back(terminal); }

void terminal_resumed(struct terminal *terminal)
{
	take_over(terminal);
	terminal_resized(terminal);
}

static void begin_paste(struct terminal *terminal)
{
	terminal->is_pasting = true;
	terminal->paste_end_bytes = 0;
	terminal->pasted_ns = clock_monotonic_ns();
}

/* Drops pasted text up to and including its end marker; false at the end. */
static bool skip_paste(struct terminal *terminal)
{
	static const char end[] = "\033[201~";
	int64_t now_ns = clock_monotonic_ns();
	if (now_ns - terminal->pasted_ns > PASTE_PAUSE_NS)
		return false;
	if (tty_typed(&terminal->tty) > 0)
		terminal->pasted_ns = now_ns;
	return !tty_skip_to(&terminal->tty, end, &terminal->paste_end_bytes);
}

static struct key_event read_mouse(const struct terminal *terminal)
{
	static const struct {
		mmask_t button;
		int key;
	} buttons[] = {
		{ BUTTON1_PRESSED, KEY_CLICK },
		{ BUTTON4_PRESSED, KEY_WHEEL_UP },
		{ BUTTON5_PRESSED, KEY_WHEEL_DOWN },
	};
	MEVENT event;
	if (getmouse(&event) == OK && event.x >= 0 && event.y >= 0 && event.x < terminal->width &&
		event.y < terminal->height)
		for (size_t i = 0; i < sizeof buttons / sizeof buttons[0]; i++)
			if (event.bstate & buttons[i].button)
				return (struct key_event){ buttons[i].key, event.x, event.y };
	return (struct key_event){ KEY_NOTHING, 0, 0 };
}

static int key_of_code(wint_t code)
{
	static const struct {
		wint_t code;
		int key;
	} keys[] = {
		{ KEY_UP, KEY_ARROW_UP },
		{ KEY_DOWN, KEY_ARROW_DOWN },
		{ KEY_LEFT, KEY_ARROW_LEFT },
		{ KEY_RIGHT, KEY_ARROW_RIGHT },
		{ KEY_PPAGE, KEY_PAGE_UP },
		{ KEY_NPAGE, KEY_PAGE_DOWN },
		{ KEY_HOME, KEY_TO_HOME },
		{ KEY_END, KEY_TO_END },
		{ KEY_LL, KEY_TO_END },
		{ KEY_BTAB, KEY_BACK_TAB },
		{ KEY_F(1), KEY_FUNCTION_1 },
		{ KEY_F(2), KEY_FUNCTION_2 },
		{ KEY_BACKSPACE, KEY_ERASE },
		{ KEY_DC, KEY_ERASE },
		{ KEY_ENTER, KEY_RETURN },
	};
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (keys[i].code == code)
			return keys[i].key;
	return KEY_NOTHING;
}

static int key_of_character(wint_t code)
{
	switch (code) {
	case '\n':
	case '\r': return KEY_RETURN;
	case '\b':
	case 127: return KEY_ERASE;
	case KEY_TAB:
	case KEY_ESC: return (int)code;
	default: return code < 32 || (code >= 127 && code < 160) || code > 0x10ffff ? KEY_NOTHING : (int)code;
	}
}

/* Reads one key; *is_read is false if there was none. */
static struct key_event read_key(struct terminal *terminal, bool *is_read)
{
	enum { REDRAW = 'L' & 0x1f };
	wint_t code = 0;
	int kind = wget_wch(terminal->pad, &code);
	struct key_event event = { KEY_NOTHING, 0, 0 };
	*is_read = kind != ERR;
	if (kind == KEY_CODE_YES && code == CODE_PASTE) {
		begin_paste(terminal);
	} else if (kind == KEY_CODE_YES && code == KEY_MOUSE) {
		event = read_mouse(terminal);
	} else if (kind == KEY_CODE_YES) {
		event.key = key_of_code(code);
	} else if (kind == OK && code == REDRAW) {
		frame_forget(&terminal->frame);
		event.key = KEY_WINDOW;
	} else if (kind == OK) {
		event.key = key_of_character(code);
	}
	return event;
}

struct key_event terminal_key(struct terminal *terminal)
{
	struct key_event event = { KEY_NOTHING, 0, 0 };
	bool is_read = true;
	if (terminal->has_new_size) {
		terminal->has_new_size = false;
		return (struct key_event){ KEY_WINDOW, 0, 0 };
	}
	if (!terminal->is_pasting && tty_typed(&terminal->tty) > FLOOD_BYTES)
		begin_paste(terminal);
	if (terminal->is_pasting)
		terminal->is_pasting = skip_paste(terminal);
	while (is_read && event.key == KEY_NOTHING && !terminal->is_pasting)
		event = read_key(terminal, &is_read);
	if (event.key == KEY_NOTHING && (terminal->frame.is_gone || tty_is_gone(&terminal->tty)))
		event.key = KEY_HANGUP;
	return event;
}
