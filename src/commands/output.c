#include "src/commands/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
