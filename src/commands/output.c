#include "src/commands/output.h"

#include <errno.h>
#include <langinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/base/text.h"
#include "ui/canvas.h"

bool output_is_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
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
	enum { WIDTH_LEAST = 80 };
	struct winsize window;
	bool is_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0;
	return is_terminal && window.ws_col > WIDTH_LEAST ? window.ws_col : WIDTH_LEAST;
}

void output_fit_locale(struct buffer *buffer)
{
	if (output_is_utf8() || !buffer->data)
		return;
	size_t kept = 0;
	for (size_t at = 0; at < buffer->length;) {
		uint32_t code;
		at += utf8_decode(buffer->data + at, buffer->length - at, &code);
		buffer->data[kept++] = (char)canvas_ascii_like(code);
	}
	buffer->data[kept] = '\0';
	buffer->length = kept;
}

bool output_flush(struct buffer *buffer, int *code)
{
	size_t done = 0;
	bool is_whole = !buffer->failed;
	while (done < buffer->length) {
		ssize_t written = write(STDOUT_FILENO, buffer->data + done, buffer->length - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			*code = errno == EPIPE ? 0 : 1;
			if (errno != EPIPE)
				fprintf(stderr, "pmtop: standard output: %s: what follows is not written\n", strerror(errno));
			return false;
		}
		done += (size_t)written;
	}
	buffer_clear(buffer);
	if (!is_whole) {
		fputs("pmtop: out of memory: part of the output is missing\n", stderr);
		*code = 1;
	}
	return is_whole;
}
