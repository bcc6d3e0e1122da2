/* remote_resident.h: which pages of other processes are in memory and of no file, by /proc/PID/pagemap. Nothing can
 * block a read of those but the process's mmap_lock, and that wait ends with pmtop: a thread may read them itself, for
 * a third of what its remote_reader's child costs. What was found holds for some seconds; a page that is dropped
 * meanwhile is empty and still of no file. For one thread. */
#ifndef PMTOP_BASE_FILES_REMOTE_RESIDENT_H
#define PMTOP_BASE_FILES_REMOTE_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_piece;
struct remote_resident;

/* NULL: no memory. */
struct remote_resident *remote_resident_new(void);
void remote_resident_free(struct remote_resident *resident);
/* Whether all of these pieces are resident. False also if it cannot be known. */
bool remote_resident_has(
	struct remote_resident *resident, pid_t pid, const struct remote_piece *pieces, size_t count, int64_t now_ns);

#endif
