#include "src/session/output_file.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/session/output.h"

enum status output_file_open(struct output_file *file, const char *path, const char *not_this, struct reason *why_not)
{
	struct stat there, retained;
	*file = (struct output_file){ .file = { .fd = STDOUT_FILENO }, .out = BUFFER_INIT };
	if (!path || !strcmp(path, "-"))
		return STATUS_OK;
	file->file.fd = -1;
	bool is_there = stat(path, &there) == 0;
	if (is_there && S_ISDIR(there.st_mode))
		return reason_set(why_not, STATUS_INVALID, "name a file in it", "%s is a folder", path);
	if (is_there && not_this && stat(not_this, &retained) == 0 && retained.st_dev == there.st_dev &&
		retained.st_ino == there.st_ino)
		return reason_set(why_not, STATUS_INVALID, "name another file with -o", "%s is the recording itself", path);
	int error = new_file_open(&file->file, path, NEW_FILE_PRIVATE);
	if (error == ENAMETOOLONG)
		return reason_set(why_not, STATUS_INVALID, "name a shorter path", "%.60s…: the name is too long", path);
	if (error)
		return reason_set(why_not, error == EACCES ? STATUS_DENIED : STATUS_IO,
			"name a file in a writable folder with -o", "cannot write %s: %s", path, strerror(error));
	return STATUS_OK;
}

static void say(const struct output_file *file, const char *why, int *code)
{
	fprintf(stderr, "pmtop: cannot write %s: %s%s\n", file->file.path, why,
		file->file.beside[0] ? "" : ": the output is incomplete");
	*code = 1;
}

static bool goes_on(void *context)
{
	const struct output_file *file = context;
	return !file->goes_on || file->goes_on();
}

/* Returns −1 with EINTR if the reader of a pipe did not read for READ_MS. A pipe that poll reports writable takes
 * PIPE_BUF bytes without blocking. */
static ssize_t write_some(const struct output_file *file, const char *data, size_t length)
{
	enum { READ_MS = 100 };
	struct pollfd ready = { .fd = file->file.fd, .events = POLLOUT };
	if (file->file.beside[0])
		return write(file->file.fd, data, length);
	errno = EINTR;
	return poll(&ready, 1, READ_MS) <= 0 ? -1 : write(file->file.fd, data, length < PIPE_BUF ? length : PIPE_BUF);
}

bool output_file_drain(struct output_file *file, int *code)
{
	if (file->file.fd == STDOUT_FILENO)
		return output_flush_while(&file->out, code, goes_on, file);
	for (size_t done = 0; done < file->out.length;) {
		ssize_t written = write_some(file, file->out.data + done, file->out.length - done);
		if (written < 0 && errno == EINTR && goes_on(file))
			continue;
		if (written < 0 && errno != EPIPE)
			say(file, strerror(errno), code);
		if (written < 0)
			return false;
		done += (size_t)written;
	}
	bool is_whole = !file->out.failed;
	buffer_clear(&file->out);
	if (!is_whole)
		say(file, "out of memory", code);
	return is_whole;
}

bool output_file_close(struct output_file *file, bool is_whole, int *code)
{
	is_whole = is_whole && output_file_drain(file, code);
	buffer_release(&file->out);
	if (file->file.fd == STDOUT_FILENO || file->file.fd < 0)
		return is_whole;
	int error = is_whole ? new_file_keep(&file->file) : 0;
	if (!is_whole)
		new_file_drop(&file->file);
	if (error)
		say(file, strerror(error), code);
	return is_whole && !error;
}
