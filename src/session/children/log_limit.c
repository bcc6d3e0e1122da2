#include "src/session/children/log_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#define MB (1L << 20)

/* Of a file system: a hole begins and ends at a multiple of it. */
enum { BLOCK_SIZE = 1 << 16, UNIT_OF_BLOCKS = 512 };

static const char note[] = "\n[pmtop removed the output between here and the newest lines: see pmtop(1)]\n";

struct log_limit log_limit_open(const char *path)
{
	return (struct log_limit){ .fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY),
		.used_max = 512 * MB,
		.first_kept = 1 * MB,
		.last_kept = 256 * MB };
}

static enum log_limit_result refuse(struct log_limit *limit)
{
	log_limit_close(limit);
	return LOG_LIMIT_REFUSED;
}

enum log_limit_result log_limit_apply(struct log_limit *limit)
{
	struct stat file;
	if (limit->fd < 0 || fstat(limit->fd, &file) != 0 || file.st_blocks < limit->used_max / UNIT_OF_BLOCKS)
		return LOG_LIMIT_NOTHING;
	off_t from = (limit->first_kept + BLOCK_SIZE - 1) / BLOCK_SIZE * BLOCK_SIZE;
	off_t to = (file.st_size - limit->last_kept) / BLOCK_SIZE * BLOCK_SIZE;
	if (to <= from)
		return LOG_LIMIT_NOTHING;
	if (fallocate(limit->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from) != 0)
		return errno == EINTR ? LOG_LIMIT_NOTHING : refuse(limit);
	bool is_first = !limit->is_cut, has_note = pwrite(limit->fd, note, sizeof note - 1, from) > 0;
	limit->is_cut = has_note;
	return is_first && has_note ? LOG_LIMIT_CUT : LOG_LIMIT_NOTHING;
}

void log_limit_close(struct log_limit *limit)
{
	if (limit->fd >= 0)
		close(limit->fd);
	limit->fd = -1;
}
