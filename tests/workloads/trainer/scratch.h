/* scratch.h: a file on a disk, to be read when nothing of it is in memory, and to be written through. In TMPDIR, or
 * /var/tmp; it has no name. */
#ifndef TRAINER_SCRATCH_H
#define TRAINER_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scratch {
	int fd, direct_fd;
	size_t size;
	uint64_t noise;
};

/* False: `why` says why not; also where no disk is behind it (a tmpfs: its blocks are never read). */
bool scratch_make(struct scratch *scratch, double mb, uint64_t seed, char *why, size_t why_size);
void scratch_end(struct scratch *scratch);

/* For so long, at random offsets, none of which is in the page cache. */
void scratch_read(struct scratch *scratch, int64_t duration_ns);
void scratch_read_direct(struct scratch *scratch, int64_t duration_ns);
/* Through a mapping. */
void scratch_touch(struct scratch *scratch, int64_t duration_ns);
/* Writes so much and waits until the disk has it. */
void scratch_write(struct scratch *scratch, double mb);

#endif
