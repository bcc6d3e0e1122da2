/* remote.h: memory of another process, read by process_vm_readv(2): it is neither stopped nor written to. It goes on
 * meanwhile, so what is read may be of two moments; and any address in it may be wrong.
 *
 * A read may block for ever. A thread that must not uses a remote_reader.h: then all of these fail with ETIMEDOUT
 * instead. */
#ifndef PMTOP_SOURCES_PYTHON_REMOTE_H
#define PMTOP_SOURCES_PYTHON_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/files/remote_reader.h"

/* All of it, or false with errno set: EPERM we may not, ESRCH it is gone, EFAULT nothing is there,
 * ETIMEDOUT it does not answer: a page that never comes (userfaultfd, FUSE), an address space that stays locked. */
bool remote_read(pid_t pid, uint64_t address, void *out, size_t size);
bool remote_word(pid_t pid, uint64_t address, uint64_t *out);
/* Several at once, by as few calls as can be. */
bool remote_read_pieces(pid_t pid, const struct remote_piece *pieces, size_t count);

/* /proc/PID/maps, which waits for the process's mmap_lock, line by line. */
struct remote_maps {
	pid_t pid;
	int fd; /* −1: the reader has it */
	bool is_begun, is_over;
	size_t at, length, total; /* total: bytes that were read so far */
	char text[16384];
};

/* `process_fd` is /proc/PID. False with errno set. */
bool remote_maps_open(struct remote_maps *maps, pid_t pid, int process_fd);
/* The next line without its end, valid until the next call; NULL: there is no more. A line that is too long for `text`
 * ends the list. */
char *remote_maps_line(struct remote_maps *maps);
void remote_maps_close(struct remote_maps *maps);

/* Whether this process may read its own memory so: 0, or the errno with which a seccomp filter, or a kernel without
 * that call, refuses it. */
int remote_test_self(void);

#endif
