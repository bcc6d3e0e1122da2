/* remote_reader.h: a child process that reads other processes' memory, and files that may never answer, for one thread
 * of pmtop.
 *
 * Such a read can block for ever, and its process then cannot always be killed: a page that userfaultfd or FUSE never
 * delivers, a process that keeps its own mmap_lock. So the child blocks instead. It is a fork that closes all
 * descriptors, answers through shared memory and a futex, and dies with the thread that started it; the next read then
 * fails with EIO, and the one after it starts a new child.
 *
 *   thread: request ──futex──▶ child: process_vm_readv ──futex──▶ thread copies the bytes
 *
 * The child runs on the CPU of the thread that waits for it: waking another CPU costs more than most reads. Memory that
 * cannot block a read (remote_resident.h), which is most, the thread reads itself once a child was allowed to read any.
 *
 * A read that takes longer than the limit is abandoned: the child gets SIGKILL (a child that reads a file exits by
 * itself once the read returns) and is reaped later, without waiting. All further reads fail with ETIMEDOUT at once,
 * until remote_reader_resume. A reader may be used by one thread at a time. */
#ifndef PMTOP_BASE_FILES_REMOTE_READER_H
#define PMTOP_BASE_FILES_REMOTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Limit of abandoned children that have not ended yet: beyond it no new child is started, and reads fail with
 * EAGAIN. */
enum { REMOTE_LEFT_MAX = 16 };

struct remote_reader;
/* A piece of another process's memory, and where to copy it. */
struct remote_piece {
	uint64_t address;
	void *out;
	size_t size;
};

/* NULL: no memory. The first read starts the child. */
struct remote_reader *remote_reader_new(int64_t limit_ns);
void remote_reader_free(struct remote_reader *reader);
void remote_reader_set_limit(struct remote_reader *reader, int64_t limit_ns);

/* From now on all reads of this thread with remote.h go through `reader`; NULL: the thread reads directly again. */
void remote_reader_use(struct remote_reader *reader);
/* The reader that this thread uses, or NULL. */
struct remote_reader *remote_reader_used(void);

/* When the read began that was abandoned since the last resume (CLOCK_MONOTONIC); 0 = none was. */
int64_t remote_reader_stuck_ns(const struct remote_reader *reader);
/* Allows reads again. Returns the pid of the abandoned child, 0 = none was. */
pid_t remote_reader_resume(struct remote_reader *reader);
/* Has this abandoned child not ended yet? */
bool remote_reader_is_left(struct remote_reader *reader, pid_t child);
/* For other threads: since when the thread has been reading the memory of *pid itself (CLOCK_MONOTONIC); 0 = it is not.
 */
int64_t remote_reader_waits_since_ns(const struct remote_reader *reader, pid_t *pid);
/* CPU time of all its children so far, in ns. */
int64_t remote_reader_cpu_ns(const struct remote_reader *reader);

/* Without a reader: one call for all, if possible. False: errno is set. */
bool remote_read_direct(pid_t pid, const struct remote_piece *pieces, size_t count);

/* For remote.c: the same contracts as the functions of these names there. */
bool remote_reader_pieces(struct remote_reader *reader, pid_t pid, const struct remote_piece *pieces, size_t count);
bool remote_reader_maps(struct remote_reader *reader, pid_t pid, bool is_first, char *out, size_t size, size_t *length);
/* Reads the first `size` bytes of a file, 4 MB at most. `path` is absolute. False: errno is set. */
bool remote_reader_file(struct remote_reader *reader, const char *path, char *out, size_t size, size_t *length);
int remote_reader_test_self(struct remote_reader *reader);

#endif
