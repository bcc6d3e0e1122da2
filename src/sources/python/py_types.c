#include "src/sources/python/py_types.h"

#include <string.h>

#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* From CPython's Include/cpython/object.h: the same in 3.8 to 3.15. */
enum {
	TYPE = 8,
	TYPE_NAME = 24,
	TYPE_FLAGS = 168,
	TYPE_NEXT = 224,
	TYPE_DICT = 264,
	TYPE_MRO = 344,
	IS_HEAP_TYPE = 1 << 9,
	NAME_MAX_SIZE = 64
};

/* From Include/funcobject.h, since 3.10 Include/cpython/funcobject.h. */
enum { FUNCTION_CODE_9 = 16 /* to 3.9 */, FUNCTION_CODE = 48 };

/* From Include/descrobject.h and Include/structmember.h: the PyMemberDef of a member_descriptor, and T_OBJECT_EX. */
enum { DESCRIPTOR_MEMBER = 40, MEMBER_OF_SLOT = 16, HEADER = 16, OFFSET_MAX = 1 << 16 };

static bool is_called(const struct py_process *process, uint64_t type, const char *name)
{
	uint64_t at;
	char found[NAME_MAX_SIZE];
	size_t size = strlen(name) + 1;
	return size <= sizeof found && remote_word(process->pid, type + TYPE_NAME, &at) &&
		remote_read(process->pid, at, found, size) && memcmp(found, name, size) == 0;
}

size_t py_bases_read(const struct py_process *process, uint64_t type, uint64_t out[PY_BASES_MAX])
{
	uint64_t order;
	return type && remote_word(process->pid, type + TYPE_MRO, &order) ? py_items_read(process, order, out, PY_BASES_MAX)
																	  : 0;
}

bool py_has_base(const struct py_process *process, const uint64_t *bases, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (is_called(process, bases[i], name))
			return true;
	return false;
}

/* Since 3.12, types that are not on the heap have their dict elsewhere. */
bool py_class_attribute_find(
	const struct py_process *process, uint64_t type, const char *name, struct py_attribute *out)
{
	uint64_t flags, dict;
	return remote_word(process->pid, type + TYPE_FLAGS, &flags) && (flags & IS_HEAP_TYPE) &&
		remote_word(process->pid, type + TYPE_DICT, &dict) && py_dict_find(process, dict, name, out);
}

bool py_function_code(const struct py_process *process, uint64_t function, uint64_t *code)
{
	uint32_t at = process->location.layout.minor <= 9 ? FUNCTION_CODE_9 : FUNCTION_CODE;
	return py_is_derived(process, function, "function") && remote_word(process->pid, function + at, code) &&
		py_is_derived(process, *code, "code");
}

bool py_slot_find(const struct py_process *process, uint64_t object, uint64_t type, const char *name, uint64_t *address)
{
	struct member {
		uint64_t name;
		int32_t type;
		uint64_t offset;
	} member;
	uint64_t bases[PY_BASES_MAX], descriptor, at, kind;
	size_t count = py_bases_read(process, type, bases);
	for (size_t i = 0; i < count; i++) {
		struct py_attribute attribute = { .slot = 0 };
		if (!py_class_attribute_find(process, bases[i], name, &attribute))
			continue;
		if (!remote_word(process->pid, attribute.slot, &descriptor) ||
			!remote_word(process->pid, descriptor + TYPE, &kind) || !is_called(process, kind, "member_descriptor") ||
			!remote_word(process->pid, descriptor + DESCRIPTOR_MEMBER, &at) ||
			!remote_read(process->pid, at, &member, sizeof member) || member.type != MEMBER_OF_SLOT)
			return false;
		*address = object + member.offset;
		return member.offset >= HEADER && member.offset < OFFSET_MAX;
	}
	return false;
}

bool py_is_iterator_class(const struct py_process *process, uint64_t type)
{
	uint64_t bases[PY_BASES_MAX], next, flags;
	if (!remote_word(process->pid, type + TYPE_NEXT, &next) || !next)
		return false;
	size_t count = py_bases_read(process, type, bases);
	for (size_t i = 0; i < count; i++) {
		struct py_attribute attribute = { .slot = 0 };
		if (!remote_word(process->pid, bases[i] + TYPE_FLAGS, &flags))
			return false;
		bool is_found = flags & IS_HEAP_TYPE ? py_class_attribute_find(process, bases[i], "__next__", &attribute)
											 : remote_word(process->pid, bases[i] + TYPE_NEXT, &next) && next;
		if (is_found)
			return true;
	}
	return false;
}

bool py_is_derived(const struct py_process *process, uint64_t object, const char *name)
{
	uint64_t type, bases[PY_BASES_MAX];
	return object && remote_word(process->pid, object + TYPE, &type) &&
		py_has_base(process, bases, py_bases_read(process, type, bases), name);
}

bool py_is_exactly(const struct py_process *process, uint64_t object, const char *module, const char *name)
{
	struct py_attribute attribute = { .slot = 0 };
	uint64_t type, dict, value;
	return object && remote_word(process->pid, object + TYPE, &type) && is_called(process, type, name) &&
		remote_word(process->pid, type + TYPE_DICT, &dict) && py_dict_find(process, dict, "__module__", &attribute) &&
		remote_word(process->pid, attribute.slot, &value) && py_is_text(process, value, module);
}
