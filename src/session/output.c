#include "src/session/output.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/text.h"
#include "ui/core/canvas.h"

bool output_is_utf8(void) { return strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

bool output_has_screen(void)
{
	const char *term = getenv("TERM");
	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

bool output_has_color(const struct settings *settings)
{
	const char *refused = getenv("NO_COLOR"), *term = getenv("TERM");
	if (settings->color != COLOR_AUTO)
		return settings->color == COLOR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(refused && *refused) && term && strcmp(term, "dumb") != 0;
}

int output_width(void)
{
	enum { WIDTH_MIN = 80, WIDTH_MAX = 1000 };
	struct winsize window;
	bool is_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0;
	return !is_terminal || window.ws_col < WIDTH_MIN ? WIDTH_MIN
		: window.ws_col > WIDTH_MAX                  ? WIDTH_MAX
													 : window.ws_col;
}

void output_fit_locale(struct buffer *buffer)
{
	if (output_is_utf8() || !buffer->data)
		return;
	size_t retained = 0;
	for (size_t at = 0; at < buffer->length;) {
		uint32_t code;
		at += utf8_decode(buffer->data + at, buffer->length - at, &code);
		buffer->data[retained++] = (char)canvas_ascii_like(code);
	}
	buffer->data[retained] = '\0';
	buffer->length = retained;
}

/* Opens standard output again as nonblocking: O_NONBLOCK on descriptor 1 itself would affect other processes that share
 * it. Returns STDOUT_FILENO if that is impossible. */
static int open_patient(bool *is_socket)
{
	struct stat file;
	*is_socket = false;
	if (fstat(STDOUT_FILENO, &file) < 0 || S_ISREG(file.st_mode))
		return STDOUT_FILENO;
	*is_socket = S_ISSOCK(file.st_mode);
	int fd = *is_socket ? -1 : open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 ? fd : STDOUT_FILENO;
}

/* Writes as much as possible without blocking; −1 and EAGAIN: nothing. Without a nonblocking descriptor, a pipe that
 * poll reports writable takes PIPE_AT_ONCE bytes. */
static ssize_t write_some(int fd, bool is_socket, const char *data, size_t length)
{
	enum { PIPE_AT_ONCE = 512 };
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	if (is_socket)
		return send(fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (fd != STDOUT_FILENO)
		return write(fd, data, length);
	if (poll(&ready, 1, 0) == 0) {
		errno = EAGAIN;
		return -1;
	}
	struct stat file;
	bool is_regular = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
	return write(fd, data, is_regular || length < PIPE_AT_ONCE ? length : PIPE_AT_ONCE);
}

static bool write_all(
	const struct buffer *buffer, int fd, bool is_socket, int *code, bool (*goes_on)(void *context), void *context)
{
	enum { READ_MS = 100 };
	for (size_t done = 0; done < buffer->length;) {
		ssize_t written = write_some(fd, is_socket, buffer->data + done, buffer->length - done);
		if (written >= 0) {
			done += (size_t)written;
			continue;
		}
		struct pollfd ready = { .fd = fd, .events = POLLOUT };
		if (errno == EAGAIN && poll(&ready, 1, READ_MS) <= 0 && !goes_on(context))
			return false;
		if (errno == EAGAIN || errno == EINTR)
			continue;
		*code = errno == EPIPE ? 0 : 1;
		if (errno != EPIPE)
			fprintf(stderr, "pmtop: cannot write to standard output: %s: the output is incomplete\n", strerror(errno));
		return false;
	}
	return true;
}

bool output_flush_while(struct buffer *buffer, int *code, bool (*goes_on)(void *context), void *context)
{
	bool is_whole = !buffer->failed, is_socket;
	int fd = open_patient(&is_socket);
	bool is_written = write_all(buffer, fd, is_socket, code, goes_on, context);
	if (fd != STDOUT_FILENO)
		close(fd);
	if (!is_written)
		return false;
	buffer_clear(buffer);
	if (!is_whole) {
		fputs("pmtop: out of memory: the output is incomplete\n", stderr);
		*code = 1;
	}
	return is_whole;
}

static bool go_on(void *context)
{
	(void)context;
	return true;
}

bool output_flush(struct buffer *buffer, int *code) { return output_flush_while(buffer, code, go_on, NULL); }
