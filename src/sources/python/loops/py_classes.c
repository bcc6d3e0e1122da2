#include "src/sources/python/loops/py_classes.h"

#include <string.h>

#include "src/sources/python/counters/py_search.h"
#include "src/sources/python/loops/py_states.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* Offsets in types: Include/cpython/object.h of CPython. */
enum { TYPE = 8, TYPE_NAME = 24, TYPE_NEXT = 224, NAME_SIZE = 24, BATCH = 256 };

static enum py_class class_by_name(const struct py_process *process, uint64_t type)
{
	static const struct {
		const char *name;
		enum py_class class;
	} named[] = { { "itertools.count", PY_CLASS_COUNT }, { "itertools.islice", PY_CLASS_ISLICE },
		{ "itertools.chain", PY_CLASS_CHAIN }, { "itertools.cycle", PY_CLASS_CYCLE },
		{ "itertools.repeat", PY_CLASS_REPEAT }, { "itertools.takewhile", PY_CLASS_TAKEWHILE },
		{ "itertools.starmap", PY_CLASS_STARMAP }, { "itertools.dropwhile", PY_CLASS_PASSES_ON },
		{ "itertools.accumulate", PY_CLASS_PASSES_ON }, { "itertools.zip_longest", PY_CLASS_ZIP_LONGEST },
		{ "itertools.batched", PY_CLASS_BATCHED }, { "itertools.pairwise", PY_CLASS_PAIRWISE },
		{ "itertools._tee", PY_CLASS_TEE } };
	char name[NAME_SIZE] = "";
	uint64_t at;
	if (!remote_word(process->pid, type + TYPE_NAME, &at) || !remote_read(process->pid, at, name, sizeof name - 1))
		return PY_CLASS_ITERATOR;
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (strcmp(name, named[i].name) == 0)
			return named[i].class;
	return strncmp(name, "itertools.", 10) == 0 ? PY_CLASS_ITERTOOLS : PY_CLASS_ITERATOR;
}

static enum py_class class_of_scalar(const struct py_process *process, uint64_t object, uint64_t type)
{
	return py_has_base(process, &type, 1, "bytes")          ? PY_CLASS_TEXT
		: py_has_base(process, &type, 1, "numpy.float64")   ? PY_CLASS_FLOAT64
		: py_has_base(process, &type, 1, "numpy.float32")   ? PY_CLASS_FLOAT32
		: py_is_exactly(process, object, "torch", "Tensor") ? PY_CLASS_TENSOR
															: PY_CLASS_NONE;
}

static enum py_class find_class(const struct py_process *process, uint64_t object, uint64_t type)
{
	static const struct {
		enum py_type type;
		enum py_class class;
	} fixed[] = { { PY_INT, PY_CLASS_INT }, { PY_STR, PY_CLASS_TEXT }, { PY_DICT, PY_CLASS_NONE },
		{ PY_LIST, PY_CLASS_LIST_ITSELF }, { PY_TUPLE, PY_CLASS_TUPLE_ITSELF }, { PY_FLOAT, PY_CLASS_NONE },
		{ PY_RANGE_ITERATOR, PY_CLASS_RANGE }, { PY_ENUMERATE, PY_CLASS_ENUMERATE },
		{ PY_LIST_ITERATOR, PY_CLASS_LIST }, { PY_TUPLE_ITERATOR, PY_CLASS_TUPLE },
		{ PY_SEQUENCE_ITERATOR, PY_CLASS_SEQUENCE }, { PY_LIST_REVERSED, PY_CLASS_LIST_REVERSED },
		{ PY_REVERSED, PY_CLASS_REVERSED }, { PY_ZIP, PY_CLASS_ZIP }, { PY_MAP, PY_CLASS_MAP },
		{ PY_GENERATOR, PY_CLASS_GENERATOR } };
	uint64_t next;
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (type == process->location.types[fixed[i].type])
			return fixed[i].class;
	if (!remote_word(process->pid, type + TYPE_NEXT, &next))
		return PY_CLASS_NONE;
	if (py_is_derived(process, object, "tqdm"))
		return PY_CLASS_BAR;
	if (py_state_is_holder(process, type))
		return PY_CLASS_HOLDER;
	if (!next || !py_is_iterator_class(process, type))
		return class_of_scalar(process, object, type);
	if (py_is_derived(process, object, "EpochIterator"))
		return PY_CLASS_OF_KERAS;
	return py_is_loader_iterator(process, object) ? PY_CLASS_LOADER : class_by_name(process, type);
}

enum py_class py_class_of_type(struct py_classes *classes, uint64_t object, uint64_t type)
{
	if (!type || type % 8)
		return PY_CLASS_NONE;
	for (size_t i = 0; i < classes->count; i++)
		if (classes->known[i].type == type)
			return classes->known[i].class;
	if (classes->count == PY_CLASSES_RETAINED)
		classes->count = 0;
	enum py_class class = find_class(classes->process, object, type);
	uint64_t type_now;
	if (!remote_word(classes->process->pid, object + TYPE, &type_now) || type_now != type)
		return PY_CLASS_NONE; /* another object is there meanwhile, and the class may be its */
	classes->known[classes->count].type = type;
	classes->known[classes->count++].class = class;
	return class;
}

static bool can_be_object(uint64_t address) { return address && address % 8 == 0; }

enum py_class py_class_of(struct py_classes *classes, uint64_t object)
{
	uint64_t type;
	return can_be_object(object) && remote_word(classes->process->pid, object + TYPE, &type)
		? py_class_of_type(classes, object, type)
		: PY_CLASS_NONE;
}

/* One address that is stale and unmapped makes the whole read fail: then it is read in halves. */
static void read_types(const struct py_process *process, struct remote_piece *pieces, size_t count)
{
	if (count == 0 || remote_read_pieces(process->pid, pieces, count) || count == 1)
		return;
	read_types(process, pieces, count / 2);
	read_types(process, pieces + count / 2, count - count / 2);
}

static void classes_of_batch(struct py_classes *classes, const uint64_t *objects, size_t count, enum py_class *out)
{
	struct remote_piece pieces[BATCH];
	uint64_t types[BATCH];
	size_t pieces_count = 0;
	for (size_t i = 0; i < count; i++) {
		types[i] = 0;
		if (can_be_object(objects[i]))
			pieces[pieces_count++] = (struct remote_piece){ objects[i] + TYPE, &types[i], sizeof types[i] };
	}
	read_types(classes->process, pieces, pieces_count);
	for (size_t i = 0; i < count; i++)
		out[i] = py_class_of_type(classes, objects[i], types[i]);
}

void py_classes_of(struct py_classes *classes, const uint64_t *objects, size_t count, enum py_class *out)
{
	for (size_t at = 0; at < count; at += BATCH)
		classes_of_batch(classes, objects + at, count - at < BATCH ? count - at : BATCH, out + at);
}

bool py_class_is_iterator(enum py_class class)
{
	return class >= PY_CLASS_ITERATOR && class != PY_CLASS_BAR && class != PY_CLASS_HOLDER;
}
