#include "ui/terminal/term_tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DEFAULT_WIDTH = 80, DEFAULT_HEIGHT = 24, WIDTH_MAX = 1000, HEIGHT_MAX = 400 };

bool tty_open(struct tty *tty)
{
	enum { FLAGS = O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };
	char name[128];
	if (!isatty(STDOUT_FILENO))
		return false;
	int fd = ttyname_r(STDOUT_FILENO, name, sizeof name) == 0 ? open(name, FLAGS) : -1;
	if (fd < 0)
		fd = open("/dev/tty", FLAGS); /* in a container the name may not exist */
	if (fd < 0)
		return false;
	if (tcgetattr(fd, &tty->saved) != 0) {
		close(fd);
		return false;
	}
	tty->fd = fd;
	return true;
}

void tty_close(struct tty *tty)
{
	close(tty->fd);
	tty->fd = -1;
}

void tty_set_raw(const struct tty *tty)
{
	struct termios modes = tty->saved;
	modes.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | IXON | ISTRIP);
	modes.c_oflag &= ~(tcflag_t)OPOST;
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	tcsetattr(tty->fd, TCSANOW, &modes);
}

void tty_set_saved(const struct tty *tty) { tcsetattr(tty->fd, TCSANOW, &tty->saved); }

static int sane(int size, int otherwise, int max) { return size == 0 ? otherwise : size > max ? max : size; }

void tty_size(const struct tty *tty, int *width, int *height)
{
	struct winsize size = { 0 };
	ioctl(tty->fd, TIOCGWINSZ, &size);
	*width = sane(size.ws_col, DEFAULT_WIDTH, WIDTH_MAX);
	*height = sane(size.ws_row, DEFAULT_HEIGHT, HEIGHT_MAX);
}

void tty_send(const struct tty *tty, const char *text)
{
	enum { TRIES = 10, TRY_MS = 33 };
	size_t length = strlen(text);
	for (int i = 0; i < TRIES && length > 0; i++) {
		struct pollfd ready = { .fd = tty->fd, .events = POLLOUT };
		ssize_t taken = write(tty->fd, text, length);
		if (taken > 0) {
			text += taken;
			length -= (size_t)taken;
		} else if (errno == EAGAIN) {
			poll(&ready, 1, TRY_MS);
		} else if (errno != EINTR) {
			return;
		}
	}
}

bool tty_is_gone(const struct tty *tty)
{
	struct pollfd state = { .fd = tty->fd };
	return poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR | POLLNVAL));
}

size_t tty_typed(const struct tty *tty)
{
	int count = 0;
	return ioctl(tty->fd, FIONREAD, &count) == 0 && count > 0 ? (size_t)count : 0;
}

bool tty_skip_to(const struct tty *tty, const char *text, size_t *matched)
{
	enum { BYTES_MAX = 1 << 18, CHUNK = 16 };
	size_t wanted = strlen(text);
	for (size_t skipped = 0; *matched < wanted && skipped < BYTES_MAX;) {
		char bytes[CHUNK];
		size_t missing = wanted - *matched; /* reading no more than this cannot pass the end of the text */
		ssize_t count = read(tty->fd, bytes, missing < CHUNK ? missing : CHUNK);
		if (count <= 0)
			return false;
		for (ssize_t i = 0; i < count; i++)
			*matched = bytes[i] == text[*matched] ? *matched + 1 : bytes[i] == text[0];
		skipped += (size_t)count;
	}
	return *matched == wanted;
}
