#include "src/sources/python/counters/py_search.h"

#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* en_sit of an enumerate; the tuple of iterators of a zip: Objects/enumobject.c and Python/bltinmodule.c of CPython. */
enum { DEPTH_MAX = 4, ZIP_MAX = 8, ENUMERATED = 24, ZIPPED = 24, TYPE = 8 };

struct found {
	uint64_t *out;
	size_t count, max;
	unsigned *budget;
};

bool py_is_loader_iterator(const struct py_process *process, uint64_t object)
{
	static const char *const names[] = { "_BaseDataLoaderIter", "_SingleProcessDataLoaderIter",
		"_MultiProcessingDataLoaderIter" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (py_is_derived(process, object, names[i]))
			return true;
	return false;
}

/* The address may hold anything: a type must be one that was checked before, or pass the check now. */
static bool is_of_iterators(const struct py_process *process, struct py_search *search, uint64_t object, uint64_t type)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->types[i].type == type)
			return search->types[i].is_iterator;
	if (search->count == PY_TYPES_RETAINED)
		search->count = 0;
	bool is_iterator = py_is_loader_iterator(process, object);
	search->types[search->count].type = type;
	search->types[search->count++].is_iterator = is_iterator;
	return is_iterator;
}

static void search_frame(const struct py_process *process, struct py_search *search, const struct py_activation *at,
	unsigned depth, struct found *found);

static void search_object(
	const struct py_process *process, struct py_search *search, uint64_t object, unsigned depth, struct found *found)
{
	const uint64_t *types = process->location.types;
	struct py_activation frame;
	uint64_t type, inner, items[ZIP_MAX];
	if (!object || object % 8 || *found->budget == 0 || depth > DEPTH_MAX || found->count == found->max)
		return;
	--*found->budget;
	if (!remote_word(process->pid, object + TYPE, &type) || !type || type % 8)
		return;
	if (type == types[PY_ENUMERATE]) {
		if (remote_word(process->pid, object + ENUMERATED, &inner))
			search_object(process, search, inner, depth + 1, found);
	} else if (type == types[PY_ZIP]) {
		size_t count =
			remote_word(process->pid, object + ZIPPED, &inner) ? py_items_read(process, inner, items, ZIP_MAX) : 0;
		for (size_t i = 0; i < count; i++)
			search_object(process, search, items[i], depth + 1, found);
	} else if (type == types[PY_GENERATOR]) {
		if (py_generator_frame(process, object, &frame))
			search_frame(process, search, &frame, depth + 1, found);
	} else if (is_of_iterators(process, search, object, type)) {
		found->out[found->count++] = object;
	}
}

static void search_frame(const struct py_process *process, struct py_search *search, const struct py_activation *at,
	unsigned depth, struct found *found)
{
	uint64_t words[PY_LOCALS_MAX];
	size_t count = py_locals_read(process, at, words);
	for (size_t i = 0; i < count; i++)
		search_object(process, search, words[i], depth, found);
}

size_t py_search_frame(const struct py_process *process, struct py_search *search, const struct py_activation *at,
	unsigned *budget, uint64_t *out, size_t max)
{
	struct found found = { .out = out, .max = max, .budget = budget };
	search_frame(process, search, at, 0, &found);
	return found.count;
}
