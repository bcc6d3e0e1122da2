#include "src/sources/python/loops/py_attributes.h"

#include "src/base/clock.h"
#include "src/sources/python/remote.h"

enum { ABSENT_NS = 500 * 1000 * 1000 };

static struct py_attribute_known *known_at(struct py_attributes *attributes, uint64_t object, const char *name)
{
	uint64_t mixed = (object >> 4) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)(uintptr_t)name;
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

bool py_attributes_get(
	struct py_attributes *attributes, uint64_t object, const char *name, struct py_attribute *out, uint64_t *value)
{
	struct py_attribute_known *known = known_at(attributes, object, name);
	bool is_known = object && known->object == object && known->name == name;
	if (is_known && !known->absent_until_ns && read_again(attributes->process, &known->found, value)) {
		*out = known->found;
		return true;
	}
	if (is_known && known->absent_until_ns > clock_monotonic_ns())
		return false;
	*known = (struct py_attribute_known){ .object = object, .name = name };
	if (!py_attribute_find(attributes->process, object, name, &known->found)) {
		known->absent_until_ns = clock_monotonic_ns() + ABSENT_NS;
		return false;
	}
	*out = known->found;
	return remote_word(attributes->process->pid, known->found.slot, value) && *value;
}

bool py_attributes_int(struct py_attributes *attributes, uint64_t object, const char *name, uint64_t *out)
{
	struct py_attribute unused;
	uint64_t value;
	return py_attributes_get(attributes, object, name, &unused, &value) && py_int_read(attributes->process, value, out);
}
