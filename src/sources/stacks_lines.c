#include "src/sources/stacks_lines.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/sources/python/py_code.h"

/* When a process began is known to some 10 ms, and a file may be written right before. */
#define SLACK_NS (1 * NS_PER_S)

enum { TEXT_SIZE = 160, SOURCE_MOST = 4 << 20, FILES_MOST = 256, LINES_MOST = 4096 };

/* Lines of one file that were asked for, in no order: a run comes by few. */
struct file_lines {
	char *name;
	size_t count, room;
	struct { int line; char *text; } *lines;
};

struct stacks_lines {
	size_t count;
	struct file_lines files[FILES_MOST];
	char *source_name, *source;          /* the file that was read last; source NULL = it could not be */
	size_t source_size;
};

struct stacks_lines *stacks_lines_new(void)
{
	return calloc(1, sizeof(struct stacks_lines));
}

void stacks_lines_free(struct stacks_lines *lines)
{
	for (size_t i = 0; lines && i < lines->count; i++) {
		for (size_t k = 0; k < lines->files[i].count; k++)
			free(lines->files[i].lines[k].text);
		free(lines->files[i].lines);
		free(lines->files[i].name);
	}
	if (lines) {
		free(lines->source_name);
		free(lines->source);
	}
	free(lines);
}

static char *read_whole(int fd, int64_t started_ns, size_t *length)
{
	struct stat about;
	if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || about.st_size > SOURCE_MOST
	    || about.st_mtim.tv_sec * NS_PER_S + about.st_mtim.tv_nsec > started_ns + SLACK_NS)
		return NULL;
	char *text = malloc((size_t)about.st_size + 1);
	ssize_t got = text ? read(fd, text, (size_t)about.st_size) : -1;
	if (got < 0) {
		free(text);
		return NULL;
	}
	*length = (size_t)got;
	return text;
}

static void open_source(struct stacks_lines *lines, int process_fd, const char *file, int64_t started_ns)
{
	char path[PY_FILE_SIZE + 8];
	if (lines->source_name && strcmp(lines->source_name, file) == 0)
		return;
	free(lines->source_name);
	free(lines->source);
	lines->source = NULL;
	lines->source_size = 0;
	lines->source_name = strdup(file);
	snprintf(path, sizeof path, "%s%s", file[0] == '/' ? "root" : "cwd/", file);
	int fd = openat(process_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return;
	lines->source = read_whole(fd, started_ns, &lines->source_size);
	close(fd);
}

static char *read_line(struct stacks_lines *lines, int process_fd, const char *file, int line, int64_t started_ns)
{
	char text[TEXT_SIZE];
	open_source(lines, process_fd, file, started_ns);
	const char *at = lines->source, *end = at ? at + lines->source_size : NULL;
	for (int i = 1; at && i < line; i++) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	if (!at || line <= 0)
		return NULL;
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	stop = stop ? stop : end;
	while (at < stop && (*at == ' ' || *at == '\t'))
		at++;
	while (stop > at && (stop[-1] == '\r' || stop[-1] == ' '))
		stop--;
	return text_clean(text, sizeof text, at, (size_t)(stop - at)) ? strdup(text) : NULL;
}

static struct file_lines *find_file(struct stacks_lines *lines, const char *file)
{
	size_t at = 0;
	while (at < lines->count && strcmp(lines->files[at].name, file) != 0)
		at++;
	if (at < lines->count)
		return &lines->files[at];
	char *name = lines->count < FILES_MOST ? strdup(file) : NULL;
	if (!name)
		return NULL;
	lines->files[lines->count++] = (struct file_lines){ .name = name };
	return &lines->files[at];
}

static bool has_room(struct file_lines *file)
{
	if (file->count < file->room)
		return true;
	size_t room = file->room ? 2 * file->room : 16;
	void *longer = room <= LINES_MOST ? realloc(file->lines, room * sizeof *file->lines) : NULL;
	if (!longer)
		return false;
	file->lines = longer;
	file->room = room;
	return true;
}

const char *stacks_lines_text(struct stacks_lines *lines, int process_fd, const char *file, int line, int64_t started_ns)
{
	struct file_lines *found = find_file(lines, file);
	for (size_t i = 0; found && i < found->count; i++)
		if (found->lines[i].line == line)
			return found->lines[i].text;
	if (!found || !has_room(found))
		return NULL;
	char *text = read_line(lines, process_fd, file, line, started_ns);
	found->lines[found->count].line = line;
	found->lines[found->count++].text = text;
	return text;
}
