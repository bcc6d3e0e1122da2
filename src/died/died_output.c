#include "src/died/died_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/text.h"
#include "src/died/died_traceback.h"

/* Messages before the last of these lines belong to something that the program survived. */
enum { HINT_LINES = 120 };

struct reading {
	struct died_output *out;
	struct died_tracebacks tracebacks;
	size_t line_count; /* of lines in all */
	size_t hint_at;
};

/* -- one line, as a terminal shows it -- */

static const char *skip_escape(const char *at, const char *end)
{
	if (at + 1 < end && at[1] == '[') {
		for (at += 2; at < end && (unsigned char)*at < 0x40; at++)
			;
		return at < end ? at + 1 : end;
	}
	return at + 2 < end ? at + 2 : end;
}

static size_t clean_line(const char *text, const char *end, char out[DIED_LINE_SIZE])
{
	char plain[4 * DIED_LINE_SIZE];
	size_t length = 0;
	for (const char *at = text; at < end && length + 1 < sizeof plain;) {
		if (*at == '\r' && at + 1 < end)
			length = 0;
		if (*at == '\x1b')
			at = skip_escape(at, end);
		else if (*at == '\r')
			at++;
		else
			plain[length++] = *at++;
	}
	return text_clean(out, DIED_LINE_SIZE, plain, length);
}

static void copy_line(char out[DIED_LINE_SIZE], const char *line) { snprintf(out, DIED_LINE_SIZE, "%s", line); }

/* -- all lines -- */

static void take_last(struct reading *reading, const char *line)
{
	struct died_output *out = reading->out;
	if (out->line_count == DIED_LINES_MAX) {
		memmove(out->lines[0], out->lines[1], sizeof out->lines - sizeof out->lines[0]);
		out->line_count--;
	}
	copy_line(out->lines[out->line_count++], line);
}

static void take_hint(struct reading *reading, const char *line)
{
	enum died_cause cause = died_cause_of_text(line);
	/* What follows from a timeout of NCCL is not the cause. */
	if (cause == DIED_UNKNOWN || (reading->out->hint == DIED_NCCL_TIMEOUT && cause != DIED_NCCL_TIMEOUT))
		return;
	reading->out->hint = cause;
	reading->hint_at = reading->line_count;
	copy_line(reading->out->hint_line, line);
}

void died_output_read(const char *text, size_t length, struct died_output *out)
{
	struct reading reading = { .out = out };
	memset(out, 0, sizeof *out);
	out->is_known = true;
	for (const char *at = text, *end = text + length; at < end;) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		char line[DIED_LINE_SIZE], key[DIED_KEY_SIZE];
		size_t size = clean_line(at, next ? next : end, line);
		const char *shown = died_skip_prefix(line, key);
		at = next ? next + 1 : end;
		reading.line_count++;
		died_tracebacks_take(&reading.tracebacks, key, shown);
		bool is_pmtop = strncmp(line, "pmtop: ", 7) == 0; /* where both print to one file */
		if (size == 0 || is_pmtop)
			continue;
		take_last(&reading, line);
		take_hint(&reading, shown);
	}
	died_tracebacks_finish(&reading.tracebacks, out);
	if (out->hint != DIED_UNKNOWN && reading.line_count - reading.hint_at > HINT_LINES)
		out->hint = DIED_UNKNOWN;
}

void died_output_read_file(int fd, const struct died_part *part, struct died_output *out)
{
	struct stat file;
	char *text = malloc(DIED_OUTPUT_MAX);
	size_t length = 0;
	if (text && file_stat(fd, "", &file, AT_EMPTY_PATH) == 0 && S_ISREG(file.st_mode) &&
		(part->inode == 0 || part->inode == (int64_t)file.st_ino)) {
		int64_t end = part->end && part->end < file.st_size ? part->end : file.st_size;
		int64_t from = part->begin <= end ? part->begin : 0; /* a file that was cut meanwhile is read whole */
		if (from < end - DIED_OUTPUT_MAX)
			from = end - DIED_OUTPUT_MAX;
		while (lseek(fd, from + (int64_t)length, SEEK_SET) >= 0 && from + (int64_t)length < end) {
			ssize_t got = file_read_some(fd, text + length, (size_t)(end - from) - length);
			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				break;
			length += (size_t)got;
		}
	}
	if (length > 0)
		died_output_read(text, length, out);
	free(text);
}
