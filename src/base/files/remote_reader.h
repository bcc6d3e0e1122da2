/* remote_reader.h: a child process that reads other processes' memory, and files that may never answer, for one thread
 * of ours.
 *
 * Such a read can block for ever, and its process then cannot always be killed: a page that userfaultfd or FUSE never
 * delivers, a process that keeps its own mmap_lock. So the child blocks instead of us. It is a fork that keeps no
 * descriptor of ours, answers through shared memory and a futex, and dies with the thread that started it: the next
 * read then fails with EIO, and the one after it has a new child.
 *
 *   our thread: request ──futex──▶ child: process_vm_readv ──futex──▶ our thread copies the bytes
 *
 * A read that takes longer than the limit is given up: the child gets SIGKILL (one that reads a file ends by itself
 * once it is answered) and is collected later, without waiting. All further reads fail with ETIMEDOUT at once, until
 * remote_reader_resume. One thread at a time. */
#ifndef PMTOP_BASE_FILES_REMOTE_READER_H
#define PMTOP_BASE_FILES_REMOTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Children that were left behind and have not ended yet. Beyond so many no new one is started, and reads fail with
 * EAGAIN. */
enum { REMOTE_LEFT_MAX = 16 };

struct remote_reader;
/* Of another process's memory. */
struct remote_piece {
	uint64_t address;
	void *out;
	size_t size;
};

/* NULL: no memory. The child starts with the first read. */
struct remote_reader *remote_reader_new(int64_t limit_ns);
void remote_reader_free(struct remote_reader *reader);
void remote_reader_set_limit(struct remote_reader *reader, int64_t limit_ns);

/* From now on what this thread reads with remote.h goes through `reader`; NULL: this thread reads by itself again. */
void remote_reader_use(struct remote_reader *reader);
/* The one that this thread uses, or NULL. */
struct remote_reader *remote_reader_used(void);

/* CLOCK_MONOTONIC of the read that was given up since the last resume; 0 = none was. */
int64_t remote_reader_stuck_ns(const struct remote_reader *reader);
/* Allows reads again. Returns the pid of the child that was left behind, 0 = none was. */
pid_t remote_reader_resume(struct remote_reader *reader);
/* Whether this child, which was left behind, still has not ended. */
bool remote_reader_is_left(struct remote_reader *reader, pid_t child);
/* CPU time of all its children so far. */
int64_t remote_reader_cpu_ns(const struct remote_reader *reader);

/* For remote.c: as the functions of the same names there. */
bool remote_reader_pieces(struct remote_reader *reader, pid_t pid, const struct remote_piece *pieces, size_t count);
bool remote_reader_maps(struct remote_reader *reader, pid_t pid, bool is_first, char *out, size_t size, size_t *length);
/* The first `size` bytes of a file, 4 MB at most. `path` is absolute. False with errno set. */
bool remote_reader_file(struct remote_reader *reader, const char *path, char *out, size_t size, size_t *length);
int remote_reader_test_self(struct remote_reader *reader);

#endif
