#include "src/model/memory/memory_words.h"

#include <stddef.h>
#include <string.h>

#include "src/model/model.h"

/* The first row that matches is used. MEMORY_NOT_JUDGED, MEMORY_KIND_NONE and NULL match anything; `grower` matches a
 * part of memory.grower. */
static const struct words {
	enum memory_verdict verdict;
	enum memory_kind kind;
	const char *grower, *meaning, *next;
} words[] = {
	{ MEMORY_LEAK, MEMORY_KIND_ANONYMOUS, "worker",
		"A DataLoader worker keeps memory after each batch and does not free it.",
		"Check what the dataset's __getitem__ keeps: a list, an unbounded cache, open files. Store samples in arrays, "
		"not in lists of Python objects. persistent_workers=False restarts workers each epoch." },
	{ MEMORY_LEAK, MEMORY_KIND_ANONYMOUS, "copies",
		"Workers write to pages shared with the main process, and each write copies a page: Python's reference counts "
		"do "
		"that.",
		"Store the dataset's index in one array (numpy, torch) instead of lists and dicts of Python objects." },
	{ MEMORY_LEAK, MEMORY_KIND_ANONYMOUS, NULL, "Memory is kept after each batch and not freed.",
		"Look for tensors or objects that are kept: losses summed with their autograd graph (use loss.item() or "
		"detach()), "
		"growing lists, unbounded caches. Compare two tracemalloc snapshots one epoch apart." },
	{ MEMORY_LEAK, MEMORY_KIND_SHARED, NULL, "Shared memory is allocated for each batch and not freed.",
		"Look for tensors from the DataLoader that are kept, in lists or unread queues. ls -l /dev/shm shows leftover "
		"segments; they stay after a crash." },
	{ MEMORY_LEAK, MEMORY_KIND_NONE, NULL, "Memory is kept after each batch and not freed.",
		"The processes below show which one grows. Compare two tracemalloc snapshots one epoch apart." },
	{ MEMORY_GROWING, MEMORY_KIND_NONE, NULL,
		"Memory grows. It may not be a leak: caches and allocators also grow during the first epoch.",
		"Wait until well into the second epoch; without published epochs, a minute and 200 batches." },
	{ MEMORY_CACHE, MEMORY_KIND_FILE, NULL,
		"Only file pages grow: data in the page cache. The kernel reclaims them when memory is short.",
		"Nothing to do." },
	{ MEMORY_CACHE, MEMORY_KIND_NONE, NULL, "Memory grew while the data was read for the first time, and not since.",
		"Nothing to do while it fits. With several workers or ranks, each may hold its own copy." },
	{ MEMORY_PLATEAU, MEMORY_KIND_NONE, NULL, "Memory use is stable.", "Nothing to do." },
	{ MEMORY_SAWTOOTH, MEMORY_KIND_NONE, NULL,
		"Memory rises and falls periodically, and its lows do not rise: lists of an epoch, or garbage collection.",
		"Nothing to do while the peaks fit. To lower them, del what a batch leaves, or collect more often." },
	{ MEMORY_FRAGMENTATION, MEMORY_KIND_NONE, NULL,
		"The process holds much more than the program uses: freed memory lies between used blocks.",
		"Try another allocator (LD_PRELOAD of jemalloc or tcmalloc), MALLOC_ARENA_MAX=2, or reuse buffers." },
	{ MEMORY_NOT_JUDGED, MEMORY_KIND_NONE, NULL, "Not enough data yet, or the trend is unclear.",
		"Wait for more batches." },
};

static bool fits(const struct words *row, const struct memory *memory)
{
	return (row->verdict == MEMORY_NOT_JUDGED || row->verdict == memory->verdict) &&
		(row->kind == MEMORY_KIND_NONE || row->kind == memory->grower_kind) &&
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
	return memory->verdict == MEMORY_GROWING || memory->verdict == MEMORY_LEAK;
}

static bool is_of_unmapped(const struct memory *memory)
{
	return memory->is_unmapped && memory->grower_kind == MEMORY_KIND_SHARED && memory_is_growing(memory);
}

const char *memory_meaning(const struct memory *memory)
{
	if (is_of_unmapped(memory))
		return "Files in /dev/shm that the run opened grow, and no process maps them.";
	return words_of(memory)->meaning;
}

const char *memory_next_step(const struct memory *memory) { return words_of(memory)->next; }

const char *memory_verdict_word(enum memory_verdict verdict)
{
	static const char *const words_of_verdicts[] = {
#define MEMORY_VERDICT_WORD(id, word) word,
		MEMORY_VERDICTS(MEMORY_VERDICT_WORD)
#undef MEMORY_VERDICT_WORD
	};
	return words_of_verdicts[verdict];
}

const char *memory_kind_word(enum memory_kind kind)
{
	static const char *const words_of_kinds[] = {
#define MEMORY_KIND_WORD(id, word) word,
		MEMORY_KINDS(MEMORY_KIND_WORD)
#undef MEMORY_KIND_WORD
	};
	return words_of_kinds[kind];
}
