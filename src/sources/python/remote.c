#include "src/sources/python/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/base/files/remote_reader.h"

/* UIO_MAXIOV: the kernel's maximum per call. */
enum { PIECES_A_CALL = 1024 };

bool remote_read(pid_t pid, uint64_t address, void *out, size_t size)
{
	return remote_read_pieces(pid, &(struct remote_piece){ address, out, size }, 1);
}

bool remote_word(pid_t pid, uint64_t address, uint64_t *out) { return remote_read(pid, address, out, sizeof *out); }

bool remote_read_pieces(pid_t pid, const struct remote_piece *pieces, size_t count)
{
	struct iovec here[PIECES_A_CALL], there[PIECES_A_CALL];
	if (remote_reader_used())
		return remote_reader_pieces(remote_reader_used(), pid, pieces, count);
	for (size_t begin = 0; begin < count; begin += PIECES_A_CALL) {
		size_t now = count - begin < PIECES_A_CALL ? count - begin : PIECES_A_CALL, wanted = 0;
		for (size_t i = 0; i < now; i++) {
			const struct remote_piece *piece = &pieces[begin + i];
			here[i] = (struct iovec){ piece->out, piece->size };
			there[i] = (struct iovec){ (void *)(uintptr_t)piece->address, piece->size };
			wanted += piece->size;
		}
		ssize_t got = process_vm_readv(pid, here, now, there, now, 0);
		if (got < 0)
			return false;
		if ((size_t)got != wanted) {
			errno = EFAULT;
			return false;
		}
	}
	return true;
}

/* -- maps -- */

static bool fill(struct remote_maps *maps)
{
	size_t room = sizeof maps->text - 1 - maps->length, got = 0;
	if (maps->fd >= 0) {
		ssize_t length = read(maps->fd, maps->text + maps->length, room);
		if (length < 0)
			return false;
		got = (size_t)length;
	} else if (!remote_reader_maps(
				   remote_reader_used(), maps->pid, !maps->is_begun, maps->text + maps->length, room, &got)) {
		return false;
	}
	maps->is_begun = true;
	maps->is_over = got == 0;
	maps->length += got;
	maps->total += got;
	return true;
}

bool remote_maps_open(struct remote_maps *maps, pid_t pid, int process_fd)
{
	*maps = (struct remote_maps){ .pid = pid, .fd = -1 };
	if (!remote_reader_used()) {
		maps->fd = openat(process_fd, "maps", O_RDONLY | O_CLOEXEC);
		if (maps->fd < 0)
			return false;
	}
	if (fill(maps))
		return true;
	int error = errno;
	remote_maps_close(maps);
	errno = error;
	return false;
}

char *remote_maps_line(struct remote_maps *maps)
{
	for (;;) {
		char *line = maps->text + maps->at, *end = memchr(line, '\n', maps->length - maps->at);
		if (end) {
			*end = '\0';
			maps->at = (size_t)(end + 1 - maps->text);
			return line;
		}
		maps->length -= maps->at;
		memmove(maps->text, line, maps->length);
		maps->at = 0;
		if (maps->is_over || maps->length == sizeof maps->text - 1 || !fill(maps))
			return NULL;
	}
}

void remote_maps_close(struct remote_maps *maps)
{
	if (maps->fd >= 0)
		close(maps->fd);
	maps->fd = -1;
}

int remote_test_self(void)
{
	char out, in = 1;
	struct iovec here = { &out, 1 }, there = { &in, 1 };
	if (remote_reader_used())
		return remote_reader_test_self(remote_reader_used());
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 ? 0 : errno;
}
