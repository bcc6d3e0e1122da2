#include "src/session/children/log_tail.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What one call reads at most: a few milliseconds of work. */
enum { READ_MAX = 1 << 18, CHUNK_SIZE = 1 << 14 };

struct log_tail *log_tail_open(const char *path)
{
	struct log_tail *tail = calloc(1, sizeof *tail);
	if (!tail)
		return NULL;
	tail->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (tail->fd < 0) {
		free(tail);
		return NULL;
	}
	return tail;
}

/* Begins anew at a line near the end; what is between is only in the file. */
static void skip_to_end(struct log_tail *tail, off_t size)
{
	char bytes[CHUNK_SIZE];
	log_lines_clear(&tail->lines);
	tail->at = size - READ_MAX;
	ssize_t count = pread(tail->fd, bytes, sizeof bytes, tail->at);
	const char *end = count > 0 ? memchr(bytes, '\n', (size_t)count) : NULL;
	if (end)
		tail->at += end + 1 - bytes;
}

bool log_tail_read(struct log_tail *tail)
{
	char bytes[CHUNK_SIZE];
	struct stat file;
	ssize_t count;
	if (fstat(tail->fd, &file) != 0 || file.st_size <= tail->at)
		return false;
	if (file.st_size - tail->at > READ_MAX)
		skip_to_end(tail, file.st_size);
	for (off_t end = file.st_size; tail->at < end; tail->at += count) {
		count = pread(tail->fd, bytes, sizeof bytes, tail->at);
		if (count <= 0)
			break;
		log_lines_feed(&tail->lines, bytes, (size_t)count);
	}
	return true;
}

void log_tail_close(struct log_tail *tail)
{
	if (!tail)
		return;
	log_lines_release(&tail->lines);
	close(tail->fd);
	free(tail);
}
