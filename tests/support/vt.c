#include "tests/support/vt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

#include "src/base/clock.h"
#include "src/base/text.h"

enum { TAIL = 65536, WIDTH_MIN = 8, HEIGHT_MIN = 2 };

struct vt {
	VTerm *terminal;
	VTermScreen *screen;
	int master, width, height;
	pid_t pid;
	bool is_reading, has_exited;
	/* resized: libvterm gets a new screen before the next byte (its own resizing fails on small sizes) */
	bool is_stale;
	int status;
	uint64_t reads, bytes;
	char tail[TAIL];
	size_t tail_length;
};

static void set_environment(const char *const environment[])
{
	for (size_t i = 0; environment && environment[i]; i++) {
		if (strchr(environment[i], '='))
			putenv(strdup(environment[i]));
		else
			unsetenv(environment[i]);
	}
}

static void make_screen(struct vt *vt)
{
	/* libvterm 0.1 writes outside of screens of one column */
	vt->terminal =
		vterm_new(vt->height < HEIGHT_MIN ? HEIGHT_MIN : vt->height, vt->width < WIDTH_MIN ? WIDTH_MIN : vt->width);
	vterm_set_utf8(vt->terminal, 1);
	vt->screen = vterm_obtain_screen(vt->terminal);
	vterm_screen_enable_altscreen(vt->screen, 1);
	vterm_screen_reset(vt->screen, 1);
}

struct vt *vt_fork(int width, int height, int (*child)(void *context), void *context, const char *const environment[])
{
	struct vt *vt = calloc(1, sizeof *vt);
	struct winsize size = { .ws_row = (unsigned short)height, .ws_col = (unsigned short)width };
	*vt = (struct vt){ .width = width, .height = height, .is_reading = true };
	vt->pid = forkpty(&vt->master, NULL, NULL, &size);
	if (vt->pid == 0) {
		set_environment(environment);
		_exit(child(context));
	}
	fcntl(vt->master, F_SETFL, O_NONBLOCK);
	fcntl(vt->master, F_SETFD, FD_CLOEXEC);
	make_screen(vt);
	return vt;
}

static int execute(void *context)
{
	char *const *argv = context;
	execvp(argv[0], argv);
	return 127;
}

struct vt *vt_start(int width, int height, char *const argv[], const char *const environment[])
{
	return vt_fork(width, height, execute, (void *)(uintptr_t)argv, environment);
}

void vt_hang_up(struct vt *vt)
{
	close(vt->master);
	vt->master = -1;
}

void vt_free(struct vt *vt)
{
	if (!vt->has_exited) {
		kill(vt->pid, SIGKILL);
		waitpid(vt->pid, &vt->status, 0);
	}
	if (vt->master >= 0)
		vt_hang_up(vt);
	vterm_free(vt->terminal);
	free(vt);
}

static void remember(struct vt *vt, const char *bytes, size_t length)
{
	if (length > TAIL / 2) {
		bytes += length - TAIL / 2;
		length = TAIL / 2;
	}
	if (vt->tail_length + length > TAIL) {
		memmove(vt->tail, vt->tail + TAIL / 2, vt->tail_length - TAIL / 2);
		vt->tail_length -= TAIL / 2;
	}
	memcpy(vt->tail + vt->tail_length, bytes, length);
	vt->tail_length += length;
}

/* Reads available output; false if there was none. */
static bool take(struct vt *vt)
{
	char bytes[65536];
	ssize_t length = vt->is_reading && vt->master >= 0 ? read(vt->master, bytes, sizeof bytes) : -1;
	if (length <= 0)
		return false;
	vt->reads++;
	vt->bytes += (uint64_t)length;
	remember(vt, bytes, (size_t)length);
	if (vt->is_stale) {
		vterm_free(vt->terminal);
		make_screen(vt);
		vt->is_stale = false;
	}
	vterm_input_write(vt->terminal, bytes, (size_t)length);
	return true;
}

/* Waits at most so long for output or room for input, and reads the output. */
static bool step(struct vt *vt, short events, int ms)
{
	struct pollfd ready = { .fd = vt->master, .events = (short)(events | (vt->is_reading ? POLLIN : 0)) };
	if (poll(&ready, 1, ms) > 0 && (ready.revents & POLLHUP) && !(ready.revents & POLLIN))
		poll(NULL, 0, ms < 5 ? ms : 5); /* the program ended: not a busy loop */
	return take(vt);
}

static int64_t deadline_in(int ms) { return clock_monotonic_ns() + ms * NS_PER_MS; }

void vt_send(struct vt *vt, const char *bytes, size_t length)
{
	int64_t deadline = deadline_in(10000);
	while (length > 0 && clock_monotonic_ns() < deadline) {
		ssize_t sent = write(vt->master, bytes, length);
		if (sent > 0) {
			bytes += sent;
			length -= (size_t)sent;
		} else {
			step(vt, POLLOUT, 5);
		}
		take(vt);
	}
}

void vt_send_waiting(struct vt *vt, const char *bytes, size_t length)
{
	int64_t deadline = deadline_in(10000);
	int slave = open(ptsname(vt->master), O_RDONLY | O_NOCTTY), waiting = 0;
	vt_send(vt, bytes, length);
	while (slave >= 0 && ioctl(slave, FIONREAD, &waiting) == 0 && (size_t)waiting < length &&
		clock_monotonic_ns() < deadline)
		step(vt, 0, 5);
	if (slave >= 0)
		close(slave);
}

void vt_press(struct vt *vt, const char *text) { vt_send(vt, text, strlen(text)); }

void vt_resize(struct vt *vt, int width, int height)
{
	struct winsize size = { .ws_row = (unsigned short)height, .ws_col = (unsigned short)width };
	vt->width = width > 0 ? width : 80;
	vt->height = height > 0 ? height : 24;
	vt->is_stale = true;
	ioctl(vt->master, TIOCSWINSZ, &size);
}

void vt_signal(struct vt *vt, int number)
{
	siginfo_t unused;
	kill(vt->pid, number);
	if (number == SIGSTOP)
		waitid(P_PID, (id_t)vt->pid, &unused, WSTOPPED | WEXITED | WNOWAIT);
}

void vt_set_reading(struct vt *vt, bool is_reading) { vt->is_reading = is_reading; }

bool vt_wait(struct vt *vt, bool (*condition)(struct vt *vt, void *context), void *context, int deadline_ms)
{
	int64_t deadline = deadline_in(deadline_ms);
	while (!condition(vt, context)) {
		if (clock_monotonic_ns() >= deadline)
			return false;
		step(vt, 0, 2);
	}
	return true;
}

static bool never(struct vt *vt, void *context)
{
	(void)vt;
	(void)context;
	return false;
}

void vt_pump(struct vt *vt, int ms) { vt_wait(vt, never, NULL, ms); }

bool vt_settle(struct vt *vt, int quiet_ms, int deadline_ms)
{
	int64_t deadline = deadline_in(deadline_ms);
	while (clock_monotonic_ns() < deadline) {
		uint64_t before = vt->bytes;
		vt_pump(vt, quiet_ms);
		if (vt->bytes == before)
			return true;
	}
	return false;
}

struct vt_cell vt_cell(struct vt *vt, int x, int y)
{
	VTermScreenCell cell;
	struct vt_cell out = { .foreground = -1, .background = -1 };
	if (!vterm_screen_get_cell(vt->screen, (VTermPos){ .row = y, .col = x }, &cell))
		return out;
	out.code = cell.chars[0] == (uint32_t)-1 ? 0 : cell.chars[0];
	out.width = cell.width;
	if (VTERM_COLOR_IS_INDEXED(&cell.fg) && !VTERM_COLOR_IS_DEFAULT_FG(&cell.fg))
		out.foreground = cell.fg.indexed.idx;
	if (VTERM_COLOR_IS_INDEXED(&cell.bg) && !VTERM_COLOR_IS_DEFAULT_BG(&cell.bg))
		out.background = cell.bg.indexed.idx;
	out.is_bold = cell.attrs.bold;
	out.is_reversed = cell.attrs.reverse;
	out.is_underlined = cell.attrs.underline != 0;
	return out;
}

void vt_row(struct vt *vt, int y, struct buffer *out)
{
	int last = -1;
	for (int x = 0; x < vt->width; x++) {
		struct vt_cell cell = vt_cell(vt, x, y);
		if (cell.code != 0 && cell.code != ' ')
			last = x;
	}
	for (int x = 0; x <= last;) {
		struct vt_cell cell = vt_cell(vt, x, y);
		char bytes[4];
		buffer_add(out, bytes, utf8_encode(cell.code ? cell.code : ' ', bytes));
		x += cell.width > 1 ? cell.width : 1;
	}
}

void vt_screen(struct vt *vt, struct buffer *out)
{
	for (int y = 0; y < vt->height; y++) {
		vt_row(vt, y, out);
		buffer_puts(out, "\n");
	}
}

static bool shows(struct vt *vt, void *text)
{
	struct buffer screen = BUFFER_INIT;
	vt_screen(vt, &screen);
	bool is_there = screen.data && strstr(screen.data, text) != NULL;
	buffer_release(&screen);
	return is_there;
}

bool vt_wait_text(struct vt *vt, const char *text, int deadline_ms)
{
	return vt_wait(vt, shows, (void *)(uintptr_t)text, deadline_ms);
}

static bool has_ended(struct vt *vt, void *context)
{
	(void)context;
	if (!vt->has_exited)
		vt->has_exited = waitpid(vt->pid, &vt->status, WNOHANG) == vt->pid;
	return vt->has_exited;
}

bool vt_wait_exit(struct vt *vt, int *status, int deadline_ms)
{
	if (!vt_wait(vt, has_ended, NULL, deadline_ms))
		return false;
	while (take(vt))
		continue;
	*status = vt->status;
	return true;
}

uint64_t vt_reads(const struct vt *vt) { return vt->reads; }
uint64_t vt_bytes(const struct vt *vt) { return vt->bytes; }
pid_t vt_pid(const struct vt *vt) { return vt->pid; }
bool vt_saw(const struct vt *vt, const char *bytes)
{
	return memmem(vt->tail, vt->tail_length, bytes, strlen(bytes)) != NULL;
}

struct termios vt_modes(const struct vt *vt)
{
	struct termios modes = { 0 };
	tcgetattr(vt->master, &modes);
	return modes;
}
