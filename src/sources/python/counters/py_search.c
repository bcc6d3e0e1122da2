#include "src/sources/python/counters/py_search.h"

#include "src/sources/python/counters/py_between.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* en_sit of an enumerate; the tuple of iterators of a zip; ob_size of a list, which ob_item follows:
 * Objects/enumobject.c, Python/bltinmodule.c and Include/cpython/listobject.h of CPython. */
enum { DEPTH_MAX = 4, ATTRIBUTES_MAX = 64, ZIP_MAX = 8, ENUMERATED = 24, ZIPPED = 24, TYPE = 8, LIST_SIZE = 16 };

struct found {
	struct py_found *out;
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

/* Lightning's CombinedLoader and the classes of its iterators, which have those of the DataLoaders in a list. */
static bool is_holder(const struct py_process *process, uint64_t object)
{
	return py_is_derived(process, object, "_ModeIterator") || py_is_derived(process, object, "CombinedLoader");
}

/* The address may hold anything: a type must be one that was checked before, or pass the check now. */
static enum py_kind kind_of(const struct py_process *process, struct py_search *search, uint64_t object, uint64_t type)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->types[i].type == type)
			return search->types[i].kind;
	if (search->count == PY_TYPES_RETAINED)
		search->count = 0;
	enum py_kind kind = py_is_loader_iterator(process, object) ? PY_KIND_ITERATOR
		: py_is_between_class(process, type)                   ? PY_KIND_BETWEEN
		: py_is_derived(process, object, "DataLoader")         ? PY_KIND_LOADER
		: is_holder(process, object)                           ? PY_KIND_HOLDER
															   : PY_KIND_OTHER;
	search->types[search->count].type = type;
	search->types[search->count++].kind = kind;
	return kind;
}

static void search_frame(const struct py_process *process, struct py_search *search, const struct py_activation *at,
	unsigned depth, struct found *found);
static void search_kept(const struct py_process *process, struct py_search *search, uint64_t object, uint64_t type,
	unsigned depth, struct found *found);
static void search_object(
	const struct py_process *process, struct py_search *search, uint64_t object, unsigned depth, struct found *found);

/* Whether it can be an object at all. */
static bool is_address(uint64_t word) { return word && word % 8 == 0; }

/* Searches these objects. Their types are read together. */
static void search_objects(const struct py_process *process, struct py_search *search, const uint64_t *objects,
	size_t count, unsigned depth, struct found *found)
{
	uint64_t types[PY_LOCALS_MAX];
	if (depth > DEPTH_MAX)
		return;
	for (size_t begin = 0; begin < count; begin += PY_LOCALS_MAX) {
		size_t now = count - begin < PY_LOCALS_MAX ? count - begin : PY_LOCALS_MAX;
		for (size_t i = 0; i < now; i++)
			types[i] = is_address(objects[begin + i]) ? objects[begin + i] + TYPE : 0;
		remote_copies_expect(process->pid, types, now);
		for (size_t i = 0; i < now; i++)
			search_object(process, search, objects[begin + i], depth, found);
	}
}

static void search_list(
	const struct py_process *process, struct py_search *search, uint64_t list, unsigned depth, struct found *found)
{
	uint64_t head[2], items[ZIP_MAX];
	if (!remote_read(process->pid, list + LIST_SIZE, head, sizeof head))
		return;
	size_t count = head[0] < ZIP_MAX ? (size_t)head[0] : ZIP_MAX;
	if (count == 0 || !remote_read(process->pid, head[1], items, count * sizeof *items))
		return;
	search_objects(process, search, items, count, depth + 1, found);
}

static void search_object(
	const struct py_process *process, struct py_search *search, uint64_t object, unsigned depth, struct found *found)
{
	const uint64_t *types = process->location.types;
	struct py_activation frame;
	uint64_t type, inner, items[ZIP_MAX];
	if (!is_address(object) || *found->budget == 0 || depth > DEPTH_MAX || found->count == found->max)
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
		search_objects(process, search, items, count, depth + 1, found);
	} else if (type == types[PY_GENERATOR]) {
		size_t before = found->count;
		if (py_generator_frame(process, object, &frame))
			search_frame(process, search, &frame, depth + 1, found);
		for (size_t i = before; i < found->count; i++)
			if (found->out[i].generators++ == 0)
				found->out[i].generator = frame.code;
	} else if (type == types[PY_LIST]) {
		if (depth > 1) /* of a holder */
			search_list(process, search, object, depth, found);
	} else {
		search_kept(process, search, object, type, depth, found);
	}
}

static void search_kept(const struct py_process *process, struct py_search *search, uint64_t object, uint64_t type,
	unsigned depth, struct found *found)
{
	uint64_t inner, attributes[ATTRIBUTES_MAX];
	size_t before = found->count;
	enum py_kind kind = kind_of(process, search, object, type);
	switch (kind) {
	case PY_KIND_ITERATOR: found->out[found->count++] = (struct py_found){ .iterator = object }; break;
	case PY_KIND_LOADER:
		if (py_attribute_get(process, object, "_iterator", &inner))
			search_object(process, search, inner, DEPTH_MAX, found);
		for (size_t i = before; i < found->count; i++)
			found->out[i].is_of_loader = true;
		break;
	case PY_KIND_HOLDER:
	case PY_KIND_BETWEEN:
	case PY_KIND_OTHER:
		if (depth > 0 && kind == PY_KIND_OTHER)
			return;
		size_t count = py_attributes_read(process, object, attributes, ATTRIBUTES_MAX);
		search_objects(process, search, attributes, count, depth + 1, found);
		/* On the value stack it may be the self of a method, which calls next(). */
		for (size_t i = before; i < found->count; i++) {
			found->out[i].is_of_variable = kind == PY_KIND_OTHER;
			found->out[i].is_of_between = kind == PY_KIND_BETWEEN;
		}
	}
}

static void search_frame(const struct py_process *process, struct py_search *search, const struct py_activation *at,
	unsigned depth, struct found *found)
{
	uint64_t words[PY_LOCALS_MAX];
	size_t count = py_locals_read(process, at, words);
	search_objects(process, search, words, count, depth, found);
}

/* Attributes of globals are not searched: who uses them has them in a local variable. */
static void search_globals(
	const struct py_process *process, struct py_search *search, const struct py_activation *at, struct found *found)
{
	struct py_entries entries;
	struct py_attribute entry;
	uint64_t dict, key, values[PY_ENTRIES_MAX];
	if (!py_frame_globals(process, at, &dict) || !py_entries_read(process, dict, &entries))
		return;
	for (size_t i = 0; i < entries.count; i++)
		if (!py_entries_get(&entries, i, &key, &entry, &values[i]))
			values[i] = 0;
	search_objects(process, search, values, entries.count, 1, found);
}

/* A loop over a library's iterator asks that one for its batches, whether or not a variable holds it, too. */
static bool is_looped_between(const struct py_found *found, const struct py_found *looped, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (found->is_of_between && looped[i].is_of_between && looped[i].iterator == found->iterator)
			return true;
	return false;
}

size_t py_search_frame(const struct py_process *process, struct py_search *search, const struct py_activation *at,
	enum py_frame_kind kind, unsigned *budget, struct py_found *out, size_t max)
{
	struct found found = { .out = out, .max = max, .budget = budget };
	uint64_t words[PY_LOCALS_MAX];
	size_t count = py_locals_read(process, at, words), variables = py_locals_count(process, at);
	variables = variables < count ? variables : count;
	size_t iterated = kind == PY_FRAME_OF_COMPREHENSION && variables > 0 ? 1 : 0;
	search_objects(process, search, words, iterated, 0, &found);
	search_objects(process, search, words + variables, count - variables, 0, &found);
	size_t looped = found.count;
	search_objects(process, search, words + iterated, variables - iterated, 0, &found);
	if (kind == PY_FRAME_OF_MODULE)
		search_globals(process, search, at, &found);
	for (size_t i = looped; i < found.count; i++)
		out[i].is_of_variable = !is_looped_between(&out[i], out, looped);
	return found.count;
}
