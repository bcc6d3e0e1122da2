#include <stddef.h>
#include <string.h>

#include "src/model/model.h"

/* The first row that matches is used. NULL matches anything; `grower` matches a part of memory.grower. */
static const struct words {
	const char *verdict, *kind, *grower, *meaning, *next;
} words[] = {
	{ "leak", "anonymous", "worker", "A DataLoader worker keeps memory after each batch and does not free it.",
		"Check what the dataset's __getitem__ keeps: a list, an unbounded cache, open files. Store samples in arrays, "
		"not in lists of Python objects. persistent_workers=False restarts workers each epoch." },
	{ "leak", "anonymous", "copies",
		"Workers write to pages shared with the trainer, and each write copies a page: Python's reference counts do "
		"that.",
		"Store the dataset's index in one array (numpy, torch) instead of lists and dicts of Python objects." },
	{ "leak", "anonymous", NULL, "Memory is kept after each batch and not freed.",
		"Look for tensors or objects that are kept: losses summed with their graph (use loss.item() or detach()), "
		"growing lists, unbounded caches. Compare two tracemalloc snapshots one epoch apart." },
	{ "leak", "shared", NULL, "Shared memory is allocated for each batch and not freed.",
		"Look for tensors from the DataLoader that are kept, in lists or unread queues. ls -l /dev/shm shows leftover "
		"segments; they stay after a crash." },
	{ "leak", NULL, NULL, "Memory is kept after each batch and not freed.",
		"The processes below show which one grows. Compare two tracemalloc snapshots one epoch apart." },
	{ "growing", NULL, NULL,
		"Memory grows. It may not be a leak: caches and allocators also grow during the first epoch.",
		"Wait until well into the second epoch; without published epochs, a minute and 200 batches." },
	{ "cache", "file", NULL,
		"Only file pages grow: data in the page cache. The kernel reclaims them when memory is short.",
		"Nothing to do." },
	{ "cache", NULL, NULL, "Memory grew while the data was read for the first time, and not since.",
		"Nothing to do while it fits. With several workers or ranks, each may hold its own copy." },
	{ "plateau", NULL, NULL, "Memory use is stable.", "Nothing to do." },
	{ "sawtooth", NULL, NULL,
		"Memory rises and falls periodically, and its lows do not rise: lists of an epoch, or garbage collection.",
		"Nothing to do while the peaks fit. To lower them, del what a batch leaves, or collect more often." },
	{ "fragmentation", NULL, NULL,
		"The process holds much more than the program uses: freed memory lies between used blocks.",
		"Try another allocator (LD_PRELOAD of jemalloc or tcmalloc), MALLOC_ARENA_MAX=2, or reuse buffers." },
	{ NULL, NULL, NULL, "Not enough data yet, or the trend is unclear.", "Wait for more batches." },
};

static bool fits(const struct words *row, const struct memory *memory)
{
	return (!row->verdict || (memory->verdict && strcmp(row->verdict, memory->verdict) == 0)) &&
		(!row->kind || (memory->grower_kind && strcmp(row->kind, memory->grower_kind) == 0)) &&
		(!row->grower || strstr(memory->grower, row->grower));
}

static const struct words *words_of(const struct memory *memory)
{
	const struct words *row = words;
	while (!fits(row, memory))
		row++;
	return row;
}

bool memory_is_growing(const struct memory *memory)
{
	return memory->verdict && (strcmp(memory->verdict, "growing") == 0 || strcmp(memory->verdict, "leak") == 0);
}

static bool is_of_unmapped(const struct memory *memory)
{
	return memory->is_unmapped && memory->grower_kind && strcmp(memory->grower_kind, "shared") == 0 &&
		memory_is_growing(memory);
}

const char *memory_meaning(const struct memory *memory)
{
	if (is_of_unmapped(memory))
		return "Files in /dev/shm that the run opened grow, and no process maps them.";
	return words_of(memory)->meaning;
}

const char *memory_next_step(const struct memory *memory) { return words_of(memory)->next; }
