#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "noise.h"

enum { BLOCK = 1 << 20, READ_SIZE = 1 << 14, PAGE = 4096 };

static bool fill(struct scratch *scratch)
{
	char *block = malloc(BLOCK);
	bool good = block != NULL;

	for (size_t at = 0; good && at < scratch->size; at += BLOCK) {
		for (size_t i = 0; i < BLOCK; i += sizeof(uint64_t))
			memcpy(block + i, &(uint64_t){ noise_next(&scratch->noise) }, sizeof(uint64_t));
		good = pwrite(scratch->fd, block, BLOCK, (off_t)at) == BLOCK;
	}
	free(block);
	return good && fsync(scratch->fd) == 0;
}

static void forget(const struct scratch *scratch) { posix_fadvise(scratch->fd, 0, 0, POSIX_FADV_DONTNEED); }

static bool has_disk(struct scratch *scratch)
{
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	scratch_read(scratch, 2000000);
	getrusage(RUSAGE_SELF, &after);
	return after.ru_inblock > before.ru_inblock;
}

bool scratch_make(struct scratch *scratch, double mb, uint64_t seed, char *why, size_t why_size)
{
	const char *folder = getenv("TMPDIR");
	char path[512];

	if (!folder || !*folder)
		folder = "/var/tmp";
	if (scratch->fd > 0)
		return true;
	snprintf(path, sizeof path, "%s/trainer.XXXXXX", folder);
	*scratch = (struct scratch){ .size = (size_t)(mb < 8 ? 8 : mb) * BLOCK,
		.noise = seed ^ 0x5ca7c4,
		.fd = mkostemp(path, O_CLOEXEC),
		.direct_fd = -1 };
	if (scratch->fd >= 0) {
		scratch->direct_fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
		unlink(path);
	}
	if (scratch->fd < 0 || !fill(scratch)) {
		snprintf(why, why_size, "no file of %.0f MB in %.200s: %s", mb, folder, strerror(errno));
		return false;
	}
	posix_fadvise(scratch->fd, 0, 0, POSIX_FADV_RANDOM);
	if (has_disk(scratch))
		return true;
	snprintf(why, why_size, "no disk is behind %.200s: try another TMPDIR", folder);
	return false;
}

void scratch_end(struct scratch *scratch)
{
	if (scratch->fd > 0)
		close(scratch->fd);
	if (scratch->direct_fd > 0)
		close(scratch->direct_fd);
}

static off_t somewhere(struct scratch *scratch)
{
	return (off_t)(noise_next(&scratch->noise) % (scratch->size / READ_SIZE) * READ_SIZE);
}

void scratch_read(struct scratch *scratch, int64_t duration_ns)
{
	char buffer[READ_SIZE];
	int64_t end_ns;

	forget(scratch);
	end_ns = now_ns() + duration_ns;
	while (now_ns() < end_ns)
		if (pread(scratch->fd, buffer, sizeof buffer, somewhere(scratch)) <= 0)
			return;
}

void scratch_read_direct(struct scratch *scratch, int64_t duration_ns)
{
	void *buffer = aligned_alloc(PAGE, READ_SIZE);
	int64_t end_ns = now_ns() + duration_ns;

	while (buffer && now_ns() < end_ns)
		if (pread(scratch->direct_fd, buffer, READ_SIZE, somewhere(scratch)) <= 0)
			break;
	free(buffer);
}

void scratch_touch(struct scratch *scratch, int64_t duration_ns)
{
	volatile unsigned char *bytes;
	int64_t end_ns;

	forget(scratch);
	end_ns = now_ns() + duration_ns;
	bytes = mmap(NULL, scratch->size, PROT_READ, MAP_SHARED, scratch->fd, 0);
	if (bytes == MAP_FAILED)
		return;
	madvise((void *)bytes, scratch->size, MADV_RANDOM);
	while (now_ns() < end_ns)
		(void)bytes[somewhere(scratch)];
	munmap((void *)bytes, scratch->size);
}

void scratch_write(struct scratch *scratch, double mb)
{
	char *block = malloc(BLOCK);
	size_t size = (size_t)(mb * BLOCK);

	if (!block)
		return;
	memset(block, (int)(noise_next(&scratch->noise) & 0xff), BLOCK);
	for (size_t at = 0; at < size; at += BLOCK)
		if (pwrite(scratch->fd, block, size - at < BLOCK ? size - at : BLOCK, (off_t)(at % scratch->size)) < 0)
			break;
	fsync(scratch->fd);
	free(block);
}
