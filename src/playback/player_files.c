#include "src/playback/player_files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/collect/recorder.h"
#include "src/collect/recorder_disk.h"
#include "src/samples/stream.h"
#include "src/samples/stream_read.h"
#include "src/samples/stream_tail.h"

/* HEAD: enough for the header block. The newest block is searched in the last TAIL_FIRST bytes, then in longer tails
 * until there is an intact one. */
enum { HEAD = 64 * 1024, TAIL_FIRST = 64 * 1024, TAIL_MAX = 4 * STREAM_PAYLOAD_MAX };

static bool is_of(int fd, const unsigned char uuid[16])
{
	struct stat file;
	struct stream_reader *reader = stream_reader_new();
	char *bytes = malloc(HEAD);
	struct sample_set set = SAMPLE_SET_INIT;
	bool has_gap, result = false;
	ssize_t length = reader && bytes && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) ? pread(fd, bytes, HEAD, 0) : -1;
	if (length > 0 && stream_reader_feed(reader, bytes, (size_t)length) == STATUS_OK &&
		stream_reader_next(reader, &set, &has_gap) == STREAM_HEADED)
		result = memcmp(stream_reader_header(reader)->uuid, uuid, 16) == 0;
	sample_set_release(&set);
	stream_reader_free(reader);
	free(bytes);
	return result;
}

int files_open(const char *path, unsigned file, const unsigned char uuid[16])
{
	char name[PATH_MAX];
	recorder_path(path, file, name, sizeof name);
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || is_of(fd, uuid))
		return fd;
	close(fd);
	return -1;
}

bool files_is_locked(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool files_end_ns(int fd, int64_t *end_ns)
{
	struct stat file;
	unsigned char *bytes = fstat(fd, &file) == 0 ? malloc(TAIL_MAX) : NULL;
	bool found = false;
	for (off_t tail = TAIL_FIRST, from = 1; bytes && from > 0 && tail <= TAIL_MAX && !found; tail *= 8) {
		from = file.st_size > tail ? file.st_size - tail : 0;
		ssize_t length = pread(fd, bytes, (size_t)(file.st_size - from), from);
		found = length > 0 && stream_tail_ns(bytes, (size_t)length, end_ns);
	}
	free(bytes);
	return found;
}
