#include "src/died/died_output.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/text.h"

/* Messages before the last of these lines belong to something that the program survived. */
enum { HINT_LINES = 120, PREFIX_MAX = 24 };

struct reading {
	struct died_output *out;
	size_t line_count;             /* of lines in all */
	bool in_traceback;             /* frames follow */
	bool is_library;               /* the frame last read */
	bool has_own;                  /* a frame of the program's own code was read */
	char previous[DIED_LINE_SIZE]; /* the exception of the traceback before */
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

/* "[rank0]: ", "[rank0]:[E1124 12:00:00.1 ProcessGroupNCCL.cpp:629] " and "[default0]:" of torchrun. */
static const char *skip_prefix(const char *line)
{
	const char *end = line[0] == '[' ? strstr(line, "]:") : NULL;
	if (!end || end - line > PREFIX_MAX)
		return line;
	return end[2] == ' ' ? end + 3 : end + 2;
}

static void copy_line(char out[DIED_LINE_SIZE], const char *line) { snprintf(out, DIED_LINE_SIZE, "%s", line); }

/* -- tracebacks -- */

static bool is_library(const char *path)
{
	return strstr(path, "site-packages/") || strstr(path, "dist-packages/") || strstr(path, "/lib/python") ||
		path[0] == '<';
}

/* `  File "/home/u/train.py", line 88, in main`: the innermost of the program's own, else the innermost. */
static void take_frame(struct reading *reading, const char *line)
{
	char path[DIED_LINE_SIZE], function[64] = "?";
	unsigned number;
	if (sscanf(line, " File \"%239[^\"]\", line %u, in %63s", path, &number, function) < 2)
		return;
	bool is_own = !is_library(path);
	if (!is_own && reading->has_own)
		return;
	const char *slash = strrchr(path, '/');
	snprintf(reading->out->where, DIED_LINE_SIZE, "%.120s:%u in %s", slash ? slash + 1 : path, number, function);
	reading->has_own |= is_own;
}

static void begin_traceback(struct reading *reading)
{
	if (reading->out->exception[0])
		copy_line(reading->previous, reading->out->exception);
	reading->out->exception[0] = reading->out->where[0] = '\0';
	reading->in_traceback = true;
	reading->has_own = false;
}

static void end_traceback(struct reading *reading, const char *line)
{
	reading->in_traceback = false;
	copy_line(reading->out->exception, line);
	reading->out->is_child = strstr(line, "ChildFailedError") != NULL;
	if (reading->out->is_child)
		copy_line(reading->out->child_exception, reading->previous);
}

/* torchrun's table: "  rank      : 1 (local_rank: 1)", "  exitcode  : 1 (pid: 4711)". */
static void take_child(struct reading *reading, const char *line)
{
	long rank, code, pid;
	char *child = reading->out->child;
	size_t used = strlen(child);
	if (!reading->out->is_child)
		return;
	if (sscanf(line, " rank : %ld (", &rank) == 1)
		snprintf(child, DIED_LINE_SIZE, "rank %ld", rank);
	else if (used && !strchr(child, ',') && sscanf(line, " exitcode : %ld (pid: %ld)", &code, &pid) == 2)
		snprintf(child + used, DIED_LINE_SIZE - used, ", exit code %ld, pid %ld", code, pid);
}

static void take_line(struct reading *reading, const char *line)
{
	if (strncmp(line, "Traceback (most recent call last)", 33) == 0)
		begin_traceback(reading);
	else if (reading->in_traceback && (line[0] == ' ' || line[0] == '\0'))
		take_frame(reading, line);
	else if (reading->in_traceback)
		end_traceback(reading, line);
	else
		take_child(reading, line);
}

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
		char line[DIED_LINE_SIZE];
		size_t size = clean_line(at, next ? next : end, line);
		const char *shown = skip_prefix(line);
		at = next ? next + 1 : end;
		reading.line_count++;
		take_line(&reading, shown);
		bool is_pmtop = strncmp(line, "pmtop: ", 7) == 0; /* where both print to one file */
		if (size == 0 || is_pmtop)
			continue;
		take_last(&reading, line);
		take_hint(&reading, shown);
	}
	if (out->hint != DIED_UNKNOWN && reading.line_count - reading.hint_at > HINT_LINES)
		out->hint = DIED_UNKNOWN;
}

void died_output_read_file(int fd, struct died_output *out)
{
	struct stat status;
	char *text = malloc(DIED_OUTPUT_MAX);
	size_t length = 0;
	if (text && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
		off_t from = status.st_size > DIED_OUTPUT_MAX ? status.st_size - DIED_OUTPUT_MAX : 0;
		while (length < DIED_OUTPUT_MAX) {
			ssize_t got = pread(fd, text + length, DIED_OUTPUT_MAX - length, from + (off_t)length);
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
