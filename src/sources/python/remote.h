/* remote.h: memory of another process, read by process_vm_readv(2): it is neither stopped nor written to. It goes on meanwhile, so what is
 * read may be of two moments; and any address in it may be wrong. */
#ifndef PMTOP_SOURCES_PYTHON_REMOTE_H
#define PMTOP_SOURCES_PYTHON_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_piece { uint64_t address; void *out; size_t size; };

/* All of it, or false with errno set: EPERM we may not, ESRCH it is gone, EFAULT nothing is there,
 * ETIMEDOUT it does not answer: a page that never comes (userfaultfd, FUSE), an address space that stays locked. */
bool remote_read(pid_t pid, uint64_t address, void *out, size_t size);
bool remote_word(pid_t pid, uint64_t address, uint64_t *out);
/* Several at once, by as few calls as can be. */
bool remote_read_pieces(pid_t pid, const struct remote_piece *pieces, size_t count);

#endif
