#include "src/sources/python/remote.h"

#include <errno.h>
#include <sys/uio.h>

#include "src/base/hang_watch.h"

/* UIO_MAXIOV: the kernel takes no more at once. */
enum { PIECES_A_CALL = 1024 };

bool remote_read(pid_t pid, uint64_t address, void *out, size_t size)
{
	return remote_read_pieces(pid, &(struct remote_piece){ address, out, size }, 1);
}

bool remote_word(pid_t pid, uint64_t address, uint64_t *out)
{
	return remote_read(pid, address, out, sizeof *out);
}

bool remote_read_pieces(pid_t pid, const struct remote_piece *pieces, size_t count)
{
	struct iovec here[PIECES_A_CALL], there[PIECES_A_CALL];
	for (size_t begin = 0; begin < count; begin += PIECES_A_CALL) {
		size_t now = count - begin < PIECES_A_CALL ? count - begin : PIECES_A_CALL, wanted = 0;
		for (size_t i = 0; i < now; i++) {
			const struct remote_piece *piece = &pieces[begin + i];
			here[i] = (struct iovec){ piece->out, piece->size };
			there[i] = (struct iovec){ (void *)(uintptr_t)piece->address, piece->size };
			wanted += piece->size;
		}
		if (!hang_begin(HANG_PROCESS(pid), "mem"))
			return false;
		ssize_t got = process_vm_readv(pid, here, now, there, now, 0);
		hang_end();
		if (got < 0)
			return false;
		if ((size_t)got != wanted) {
			errno = EFAULT;
			return false;
		}
	}
	return true;
}
