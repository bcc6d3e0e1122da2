#include "src/base/files/remote_resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/remote_reader.h"

#define FRESH_NS (5 * NS_PER_S)
/* A page that was not in memory may have been read since, by the child. */
#define AGAIN_NS (50 * NS_PER_MS)
/* linux/Documentation/admin-guide/mm/pagemap.rst */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_OF_FILE (UINT64_C(1) << 61)

enum { BLOCKS = 512, PAGES = 16, FILES = 32 };

/* So many adjacent pages, which are asked for together. */
struct block {
	pid_t pid; /* 0 = none */
	uint64_t number, resident;
	int64_t checked_ns;
};

struct remote_resident {
	uint64_t page_size, uses;
	struct block blocks[BLOCKS];
	struct {
		pid_t pid; /* 0 = none */
		int fd;
		uint64_t used;
	} files[FILES];
};

struct remote_resident *remote_resident_new(void)
{
	struct remote_resident *resident = calloc(1, sizeof *resident);
	if (resident)
		resident->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	return resident;
}

void remote_resident_free(struct remote_resident *resident)
{
	for (size_t i = 0; resident && i < FILES; i++)
		if (resident->files[i].pid)
			close(resident->files[i].fd);
	free(resident);
}

/* That of the process, or the place of the one that was used longest ago. */
static size_t find_file(const struct remote_resident *resident, pid_t pid)
{
	size_t found = 0;
	for (size_t i = 0; i < FILES; i++) {
		if (resident->files[i].pid == pid)
			return i;
		if (resident->files[i].used < resident->files[found].used)
			found = i;
	}
	return found;
}

static void close_file(struct remote_resident *resident, size_t at)
{
	if (resident->files[at].pid)
		close(resident->files[at].fd);
	resident->files[at].pid = 0;
	resident->files[at].used = 0;
}

static int open_file(struct remote_resident *resident, pid_t pid, size_t at)
{
	char path[32];
	if (resident->files[at].pid == pid)
		return resident->files[at].fd;
	close_file(resident, at);
	snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		resident->files[at].pid = pid;
		resident->files[at].fd = fd;
	}
	return fd;
}

/* The file is of the memory that the process had when it was opened: after an exec it is empty. */
static void check(struct remote_resident *resident, struct block *block, pid_t pid, uint64_t number, int64_t now_ns)
{
	uint64_t pages[PAGES];
	size_t at = find_file(resident, pid);
	int fd = open_file(resident, pid, at);
	ssize_t got = fd >= 0 ? pread(fd, pages, sizeof pages, (off_t)(number * sizeof pages)) : -1;
	*block = (struct block){ .pid = pid, .number = number, .checked_ns = now_ns };
	for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *pages; i++)
		if ((pages[i] & (PAGE_PRESENT | PAGE_OF_FILE)) == PAGE_PRESENT)
			block->resident |= UINT64_C(1) << i;
	resident->files[at].used = ++resident->uses;
	if (fd >= 0 && got <= 0)
		close_file(resident, at);
}

static bool has_page(struct remote_resident *resident, pid_t pid, uint64_t page, int64_t now_ns)
{
	uint64_t number = page / PAGES, bit = UINT64_C(1) << page % PAGES;
	uint64_t hash = (number ^ (uint64_t)pid << 40) * UINT64_C(0x9e3779b97f4a7c15);
	struct block *block = &resident->blocks[(hash >> 40) % BLOCKS];
	bool is_same = block->pid == pid && block->number == number;
	int64_t age_ns = now_ns - block->checked_ns;
	if (!is_same || age_ns >= FRESH_NS || (!(block->resident & bit) && age_ns >= AGAIN_NS))
		check(resident, block, pid, number, now_ns);
	return block->resident & bit;
}

bool remote_resident_has(
	struct remote_resident *resident, pid_t pid, const struct remote_piece *pieces, size_t count, int64_t now_ns)
{
	uint64_t known = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		uint64_t first = pieces[i].address / resident->page_size,
				 last = (pieces[i].address + (pieces[i].size ? pieces[i].size - 1 : 0)) / resident->page_size;
		if (last < first || last > INT64_MAX / resident->page_size)
			return false;
		for (uint64_t page = first; page <= last; page++) {
			if (page != known && !has_page(resident, pid, page, now_ns))
				return false;
			known = page;
		}
	}
	return true;
}
