/* remote.h: reads memory of another process with process_vm_readv(2), which neither stops it nor writes to it. The
 * process keeps running, so the data may be from two moments, and any address in it may be wrong.
 *
 * A read may block for ever. A thread that must not block uses a remote_reader.h: then all of these calls fail with
 * ETIMEDOUT instead. */
#ifndef PMTOP_SOURCES_PYTHON_REMOTE_H
#define PMTOP_SOURCES_PYTHON_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/files/remote_reader.h"

/* Reads all of it, or returns false with errno: EPERM no permission, ESRCH the process has ended, EFAULT invalid
 * address, ETIMEDOUT the read blocks: on a page that does not arrive (userfaultfd, FUSE), or an address space that
 * stays locked. */
bool remote_read(pid_t pid, uint64_t address, void *out, size_t size);
bool remote_word(pid_t pid, uint64_t address, uint64_t *out);
/* Reads several pieces with as few system calls as possible. */
bool remote_read_pieces(pid_t pid, const struct remote_piece *pieces, size_t count);

/* Copies of a process's memory, for a walk through its objects that is repeated: most of it leads through the same
 * memory each time, which is then copied with one call instead of one for each word. What was read with them may be
 * from different moments, as without them, but the same word is read once. */
struct remote_copies;
struct remote_copies *remote_copies_new(void);
void remote_copies_free(struct remote_copies *copies);
/* Copies what the last walk read. Until remote_copies_end, all reads of this thread are answered from copies; memory
 * that has none yet is copied when it is first read. NULL: reads are as without. */
void remote_copies_begin(struct remote_copies *copies, pid_t pid);
void remote_copies_end(void);
/* The words at these addresses are about to be read: copies them with one call, if they lack copies and copies are
 * used. 0 is no address. */
void remote_copies_expect(pid_t pid, const uint64_t *addresses, size_t count);

/* Reads /proc/PID/maps line by line. Reading it waits for the process's mmap_lock. */
struct remote_maps {
	pid_t pid;
	int fd; /* −1: the remote_reader reads it */
	bool is_begun, is_over;
	size_t at, length, total; /* total: bytes read so far */
	char text[16384];
};

/* `process_fd` is /proc/PID. False with errno set. */
bool remote_maps_open(struct remote_maps *maps, pid_t pid, int process_fd);
/* The next line without its newline, valid until the next call; NULL: the end. A line that is too long for `text`
 * also ends the list. */
char *remote_maps_line(struct remote_maps *maps);
void remote_maps_close(struct remote_maps *maps);

/* Tests whether this process may read its own memory: 0, or the errno with which a seccomp filter, or a kernel
 * without the system call, refuses it. */
int remote_test_self(void);

#endif
