#include "src/sources/python/loops/py_attributes.h"

#include <string.h>

#include "src/base/clock.h"
#include "src/sources/python/remote.h"

enum { ABSENT_NS = 500 * 1000 * 1000 };

static struct py_attribute_known *known_at(
	struct py_attributes *attributes, uint64_t object, enum py_attribute_kind kind, const char *name)
{
	uint64_t mixed = (object >> 4) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)kind;
	for (const char *at = name; *at; at++)
		mixed = mixed * 31 + (unsigned char)*at;
	return &attributes->known[mixed * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

static bool read_again(const struct py_process *process, const struct py_attribute *attribute, uint64_t *value)
{
	struct remote_piece pieces[PY_GUARDS_MAX + 1];
	uint64_t words[PY_GUARDS_MAX + 1];
	size_t count = attribute->guard_count;
	for (size_t i = 0; i < count; i++)
		pieces[i] = (struct remote_piece){ attribute->guards[i].address, &words[i], sizeof words[i] };
	pieces[count] = (struct remote_piece){ attribute->slot, &words[count], sizeof words[count] };
	if (!remote_read_pieces(process->pid, pieces, count + 1))
		return false;
	for (size_t i = 0; i < count; i++)
		if (words[i] != attribute->guards[i].word)
			return false;
	*value = words[count];
	return *value != 0;
}

/* Of the first of the classes that has it. */
static bool find_in_classes(
	const struct py_process *process, uint64_t object, const char *name, struct py_attribute *out)
{
	uint64_t classes[PY_BASES_MAX], type;
	uint32_t at = process->location.layout.object_type;
	if (!remote_word(process->pid, object + at, &type))
		return false;
	size_t count = py_bases_read(process, py_is_derived(process, object, "type") ? object : type, classes);
	for (size_t i = 0; i < count; i++) {
		*out = (struct py_attribute){ .guard_count = 1, .guards = { { object + at, type } } };
		if (py_class_attribute_find(process, classes[i], name, out))
			return true;
	}
	return false;
}

static bool find(const struct py_process *process, uint64_t object, enum py_attribute_kind kind, const char *name,
	struct py_attribute *out)
{
	switch (kind) {
	case PY_OF_INSTANCE: return py_attribute_find(process, object, name, out);
	case PY_OF_CLASS: return find_in_classes(process, object, name, out);
	default: *out = (struct py_attribute){ .slot = 0 }; return py_dict_find(process, object, name, out);
	}
}

bool py_attributes_find(struct py_attributes *attributes, uint64_t object, enum py_attribute_kind kind,
	const char *name, struct py_attribute *out, uint64_t *value)
{
	struct py_attribute_known *known = known_at(attributes, object, kind, name);
	bool is_known = object && known->object == object && known->kind == kind && strcmp(known->name, name) == 0;
	if (is_known && !known->is_missing && read_again(attributes->process, &known->found, value)) {
		*out = known->found;
		return true;
	}
	if (is_known && known->absent_until_ns > clock_monotonic_ns())
		return false;
	bool was_missing = is_known && known->is_missing;
	*known = (struct py_attribute_known){ .object = object, .kind = kind };
	if (strlen(name) < sizeof known->name)
		memcpy(known->name, name, strlen(name) + 1);
	else
		known->object = 0;
	known->is_missing = !find(attributes->process, object, kind, name, &known->found);
	if (was_missing && known->is_missing)
		known->absent_until_ns = clock_monotonic_ns() + ABSENT_NS;
	if (known->is_missing)
		return false;
	*out = known->found;
	return remote_word(attributes->process->pid, known->found.slot, value) && *value;
}

bool py_attributes_get(
	struct py_attributes *attributes, uint64_t object, const char *name, struct py_attribute *out, uint64_t *value)
{
	return py_attributes_find(attributes, object, PY_OF_INSTANCE, name, out, value);
}

bool py_attributes_int(struct py_attributes *attributes, uint64_t object, const char *name, uint64_t *out)
{
	struct py_attribute unused;
	uint64_t value;
	return py_attributes_get(attributes, object, name, &unused, &value) && py_int_read(attributes->process, value, out);
}
