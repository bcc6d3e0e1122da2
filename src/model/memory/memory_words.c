#include <stddef.h>
#include <string.h>

#include "src/model/model.h"

/* The first row that fits. MEMORY_NOT_JUDGED, MEMORY_KIND_NONE, `grower` NULL: any; `grower` is how its name begins. */
static const struct words {
	enum memory_verdict verdict;
	enum memory_kind kind;
	const char *grower, *meaning, *next;
} words[] = {
	{ MEMORY_LEAK, MEMORY_KIND_ANONYMOUS, "worker",
		"A loader worker keeps memory after each batch and does not give it back, epoch after epoch.",
		"Look at what the data set's __getitem__ keeps (a list, a cache without bound, opened files); hold samples in "
		"arrays, not in lists of Python objects. "
		"persistent_workers=False starts workers afresh each epoch." },
	{ MEMORY_LEAK, MEMORY_KIND_ANONYMOUS, "copies",
		"Workers write to pages that they share with the trainer, and each write copies one: in Python, counting "
		"references is enough.",
		"Keep the data set's index in one array (numpy, torch) instead of lists and dicts of Python objects." },
	{ MEMORY_LEAK, MEMORY_KIND_ANONYMOUS, NULL,
		"Memory is kept after each batch and not given back, epoch after epoch.",
		"Look for what keeps tensors or objects: losses summed with their graph (use loss.item() or detach()), lists "
		"that grow, caches without bound; compare two "
		"tracemalloc snapshots an epoch apart." },
	{ MEMORY_LEAK, MEMORY_KIND_SHARED, NULL, "Shared memory is made for each batch and not freed, epoch after epoch.",
		"Look for tensors from the loader that are kept (in lists, in queues that nobody reads); ls -l /dev/shm shows "
		"segments without an owner. It stays full "
		"after a crash." },
	{ MEMORY_LEAK, MEMORY_KIND_NONE, NULL, "Memory is kept after each batch and not given back, epoch after epoch.",
		"The processes below show which one grows; compare two tracemalloc snapshots an epoch apart." },
	{ MEMORY_GROWING, MEMORY_KIND_NONE, NULL,
		"It grows. A cache that fills during the first epoch and an allocator that warms up look the same, so it is no "
		"leak yet.",
		"Wait until the second epoch is well under way; where no epoch is published, a minute and 200 batches." },
	{ MEMORY_CACHE, MEMORY_KIND_FILE, NULL,
		"What grows is files: pages of the data set that stay in memory. The kernel takes them back when memory is "
		"short.",
		"Nothing to do." },
	{ MEMORY_CACHE, MEMORY_KIND_NONE, NULL,
		"It grew while the data was read for the first time, and has not grown since.",
		"Nothing to do while it fits; with several workers or ranks each may keep a copy of its own." },
	{ MEMORY_PLATEAU, MEMORY_KIND_NONE, NULL, "It stays as it is.", "Nothing to do." },
	{ MEMORY_SAWTOOTH, MEMORY_KIND_NONE, NULL,
		"It rises and falls back in turns, and its lows do not rise: an epoch's lists, or garbage that is collected "
		"now and then.",
		"Nothing to do while the highs fit; del what a batch leaves, or collect more often, to lower them." },
	{ MEMORY_FRAGMENTATION, MEMORY_KIND_NONE, NULL,
		"The program holds much less than its process has: freed memory lies between what is still used, and cannot be "
		"given back.",
		"Try another allocator (LD_PRELOAD of jemalloc or tcmalloc), MALLOC_ARENA_MAX=2, or buffers that are used "
		"again." },
	{ MEMORY_NOT_JUDGED, MEMORY_KIND_NONE, NULL, "It has not been seen for long enough, or moves too much to tell.",
		"Wait." },
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
		return "Files in /dev/shm that the run's processes have open or had open grow, and no process has them mapped.";
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
