/* bench_draw: CPU to put a frame of 200 × 50 cells on a terminal, beside the same cells drawn by ncurses, in turn in
 * one run. Each drawer is a process of its own on a pty that this one reads. */
#define NCURSES_WIDECHAR 1
#include <curses.h>

#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "tests/support/vt.h"
#include "ui/core/plot.h"
#include "ui/terminal/terminal.h"

enum { WIDTH = 200, HEIGHT = 50, POINTS = 2 * WIDTH, WARM_UP = 5, ROUNDS_MAX = 16 };

enum scene { EVERY_CELL, MOVING_LINE, UNCHANGED };
enum drawer { OURS, NCURSES, NCURSES_PIPED };

struct result {
	double cpu_us, writes, bytes;
};

struct job {
	enum scene scene;
	enum drawer drawer;
	int frames;
	int pause_ms;
	struct result *result;
};

static void draw_scene(struct canvas *canvas, enum scene scene, int frame)
{
	static struct plot_point points[POINTS];
	static const struct scale scale = { 0, 200, 0 };
	struct rect all = { 0, 0, WIDTH, HEIGHT };
	if (scene == EVERY_CELL) {
		for (int y = 0; y < HEIGHT; y++)
			for (int x = 0; x < WIDTH; x++)
				canvas_put(canvas, x, y, 0x2801 + (uint32_t)(x * 7 + y * 13 + frame * 101) % 255, ROLE_PLOT);
		return;
	}
	canvas_clear(canvas);
	for (int i = 0; i < POINTS; i++) {
		double value = 100 + 60 * sin((scene == UNCHANGED ? i : i + frame) * 0.03);
		points[i] = (struct plot_point){ value, value, ROLE_PLOT, false };
	}
	plot_points(canvas, all, &scale, points, POINTS, true);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof *values, compare);
	return values[count / 2];
}

/* A frame of ours, to its last byte. */
static void show(struct terminal *terminal, const struct canvas *canvas)
{
	terminal_show(terminal, canvas);
	while (terminal_has_backlog(terminal)) {
		struct pollfd ready = { .fd = terminal_output_fd(terminal), .events = POLLOUT };
		poll(&ready, 1, -1);
		terminal_flush(terminal);
	}
}

static int draw_ours(const struct job *job, struct canvas *canvas, double *cpu)
{
	struct terminal *terminal;
	struct terminal_options options = { .color = COLOR_ALWAYS };
	struct reason why;
	if (terminal_open(&options, &terminal, &why) != STATUS_OK)
		return 1;
	struct frame_counts before = { 0 };
	for (int i = 0; i < job->frames; i++) {
		draw_scene(canvas, job->scene, i);
		if (i == WARM_UP)
			before = terminal_counts(terminal);
		int64_t start = clock_process_cpu_ns();
		show(terminal, canvas);
		cpu[i] = (double)(clock_process_cpu_ns() - start) * 1e-3;
		poll(NULL, 0, job->pause_ms);
	}
	struct frame_counts after = terminal_counts(terminal);
	job->result->writes = (double)(after.writes - before.writes) / (job->frames - WARM_UP);
	job->result->bytes = (double)(after.bytes - before.bytes) / (job->frames - WARM_UP);
	terminal_close(terminal);
	return 0;
}

/* The canvas as a program on ncurses would draw it: row by row, ncurses finds out what changed. */
static void fill_window(const struct canvas *canvas)
{
	static cchar_t row[WIDTH];
	for (int y = 0; y < HEIGHT; y++) {
		for (int x = 0; x < WIDTH; x++) {
			wchar_t text[2] = { (wchar_t)canvas->cells[y * WIDTH + x].code, 0 };
			setcchar(&row[x], text, 0, 1, NULL);
		}
		mvadd_wchnstr(y, 0, row, WIDTH);
	}
}

static void drain(int from, int to)
{
	static char bytes[1 << 17];
	ssize_t length = read(from, bytes, sizeof bytes);
	for (ssize_t sent = 0; sent < length;) {
		ssize_t taken = write(to, bytes + sent, (size_t)(length - sent));
		if (taken < 0)
			return;
		sent += taken;
	}
}

static int draw_ncurses(const struct job *job, struct canvas *canvas, double *cpu)
{
	int ends[2] = { -1, -1 };
	bool is_piped = job->drawer == NCURSES_PIPED;
	if (is_piped &&
		(pipe(ends) != 0 || fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0))
		return 1;
	FILE *output = is_piped ? fdopen(ends[1], "w") : stdout;
	if (!output || !newterm(NULL, output, stdin))
		return 1;
	start_color();
	use_default_colors();
	init_pair(1, 6, -1);
	resizeterm(HEIGHT, WIDTH);
	for (int i = 0; i < job->frames; i++) {
		draw_scene(canvas, job->scene, i);
		int64_t start = clock_process_cpu_ns();
		fill_window(canvas);
		refresh();
		if (is_piped)
			drain(ends[0], STDOUT_FILENO);
		cpu[i] = (double)(clock_process_cpu_ns() - start) * 1e-3;
	}
	endwin();
	return 0;
}

static int draw(void *context)
{
	const struct job *job = context;
	struct canvas canvas = { 0 };
	double *cpu = calloc((size_t)job->frames, sizeof *cpu);
	setlocale(LC_CTYPE, "");
	if (!cpu || !canvas_resize(&canvas, WIDTH, HEIGHT))
		return 1;
	int failed = job->drawer == OURS ? draw_ours(job, &canvas, cpu) : draw_ncurses(job, &canvas, cpu);
	job->result->cpu_us = median(cpu + WARM_UP, (size_t)(job->frames - WARM_UP));
	return failed;
}

/* False where the drawer failed. */
static bool measure(enum scene scene, enum drawer drawer, int frames, int pause_ms, struct result *result)
{
	static const char *const environment[] = { "TERM=xterm-256color", "LC_ALL=C.UTF-8", "LINES", "COLUMNS", NULL };
	struct job job = { scene, drawer, frames, pause_ms, result };
	int status = 1;
	struct vt *vt = vt_fork(WIDTH, HEIGHT, draw, &job, environment);
	bool has_ended = vt_wait_exit(vt, &status, 60000);
	vt_free(vt);
	return has_ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void print_row(
	const char *claim, double *values, size_t count, const char *limit, const char *unit, const char *anchor)
{
	double middle = median(values, count);
	printf("row\t%s\t%.4g\t%.4g\t%.4g\t%s\t%s\t%s\n", claim, middle, values[0], values[count - 1], limit, unit, anchor);
}

static bool compare_scene(enum scene scene, const char *name, int rounds, int frames, struct result *shared)
{
	double ratios[ROUNDS_MAX], ours[ROUNDS_MAX], theirs[ROUNDS_MAX], piped[ROUNDS_MAX];
	char claim[96], anchor[96];
	for (int i = 0; i < rounds; i++) {
		for (int drawer = OURS; drawer <= NCURSES_PIPED; drawer++)
			if (!measure(scene, (enum drawer)drawer, frames, 0, &shared[drawer]))
				return false;
		ours[i] = shared[OURS].cpu_us;
		theirs[i] = shared[NCURSES].cpu_us;
		piped[i] = shared[NCURSES_PIPED].cpu_us;
		ratios[i] = ours[i] / theirs[i];
	}
	size_t count = (size_t)rounds;
	snprintf(claim, sizeof claim, "drawing 200x50, %s ÷ ncurses", name);
	snprintf(anchor, sizeof anchor, "ours %.1f µs, ncurses %.1f, through a pipe %.1f", median(ours, count),
		median(theirs, count), median(piped, count));
	print_row(claim, ratios, count, "0.5", "×", anchor);
	return true;
}

/* Frames as far apart as a screen's: a pty that is still full of the frame before takes the next in parts. */
static bool count_writes(int frames, struct result *shared)
{
	enum { PAUSE_MS = 10 };
	if (!measure(MOVING_LINE, OURS, frames, PAUSE_MS, &shared[OURS]))
		return false;
	print_row("writes for each changed frame (moving line)", &shared[OURS].writes, 1, "1", "", "");
	if (!measure(UNCHANGED, OURS, frames, 0, &shared[OURS]))
		return false;
	print_row("bytes of an unchanged frame", &shared[OURS].bytes, 1, "0", "B", "");
	return true;
}

int main(void)
{
	bool is_smoke = getenv("PMTOP_BENCH_SMOKE") != NULL;
	int rounds = is_smoke ? 1 : 7, frames = is_smoke ? 20 : 300;
	static const char *const names[] = {
		[EVERY_CELL] = "every cell", [MOVING_LINE] = "moving line", [UNCHANGED] = "nothing changed"
	};
	struct result *shared = mmap(NULL, 4 * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int scene = EVERY_CELL; scene <= UNCHANGED; scene++)
		if (!compare_scene((enum scene)scene, names[scene], rounds, frames, shared))
			return 1;
	return count_writes(frames / 3, shared) ? 0 : 1;
}
