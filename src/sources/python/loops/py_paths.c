#include "src/sources/python/loops/py_paths.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/sources/python/loops/py_loop_code.h"
#include "src/sources/python/remote.h"

bool py_path_make(const struct py_process *process, uint64_t names, uint64_t constants, const uint32_t *operand,
	size_t count, struct py_path *out)
{
	out->count = count;
	for (size_t i = 0; i < count; i++) {
		struct py_path_step *step = &out->steps[i];
		uint32_t at = operand[i] & ~PY_OPERAND_KEY;
		uint64_t object = 0;
		step->is_key = operand[i] & PY_OPERAND_KEY;
		step->is_index = step->is_key && (at & PY_SMALL_INT);
		step->index = at & ~PY_SMALL_INT;
		if (step->is_index)
			continue;
		if (!py_loop_item(process, step->is_key ? constants : names, at, &object))
			return false;
		step->is_index = step->is_key && py_int_read(process, object, &step->index);
		if (!step->is_index && !py_text_read(process, object, step->name, sizeof step->name))
			return false;
	}
	return true;
}

bool py_path_write(const struct py_path *path, char *text)
{
	size_t used = strlen(text);
	for (size_t i = 0; i < path->count; i++) {
		const struct py_path_step *step = &path->steps[i];
		char *end = text + used;
		size_t room = PY_LOOP_NAME_SIZE - used;
		int length = step->is_index ? snprintf(end, room, "[%" PRIu64 "]", step->index)
									: snprintf(end, room, step->is_key ? "['%s']" : ".%s", step->name);
		if (length < 0 || (size_t)length >= PY_LOOP_NAME_SIZE - used)
			return false;
		used += (size_t)length;
	}
	return true;
}

enum { GETTER_INDEX = 16, FIELDS_MAX = 256, TYPE_FLAGS = 168, IS_TUPLE = 1 << 26 };

/* Its items may be moved. */
static bool find_list_item(
	const struct py_process *process, uint64_t list, uint64_t index, struct py_attribute *out, uint64_t *value)
{
	const uint32_t at = process->location.layout.object_type;
	uint64_t items, count;
	if (!py_list_read(process, list, &items, &count) || index >= count)
		return false;
	*out = (struct py_attribute){ .slot = items + 8 * index,
		.guard_count = 2,
		.guards = { { list + at, process->location.types[PY_LIST] }, { list + PY_LIST_ITEMS, items } } };
	return remote_word(process->pid, out->slot, value);
}

/* What a namedtuple's class has for a field knows its index in the tuple. */
static bool find_field(
	const struct py_process *process, uint64_t object, uint64_t getter, struct py_attribute *out, uint64_t *value)
{
	const struct py_layout *layout = &process->location.layout;
	uint64_t index, type, flags;
	if (!remote_word(process->pid, object + layout->object_type, &type) ||
		!remote_word(process->pid, type + TYPE_FLAGS, &flags) || !(flags & IS_TUPLE))
		return false;
	bool is_getter = py_is_derived(process, getter, "_collections._tuplegetter") ||
		py_is_derived(process, getter, "collections._tuplegetter"); /* until 3.11; since 3.12 */
	if (!is_getter || !remote_word(process->pid, getter + GETTER_INDEX, &index) || index >= FIELDS_MAX)
		return false;
	*out = (struct py_attribute){ .slot = object + py_layout_tuple_items(layout) + 8 * index,
		.guard_count = 1,
		.guards = { { object + layout->object_type, type } } };
	return remote_word(process->pid, out->slot, value);
}

/* By custom a property "epoch" gives the attribute "_epoch". */
static bool find_of_property(struct py_attributes *attributes, uint64_t object, const struct py_path_step *step,
	struct py_attribute *out, uint64_t *value)
{
	char name[PY_LOOP_NAME_SIZE + 1];
	snprintf(name, sizeof name, "_%s", step->name);
	return py_is_derived(attributes->process, *value, "property") &&
		py_attributes_find(attributes, object, PY_OF_INSTANCE, name, out, value);
}

bool py_path_step_find(struct py_attributes *attributes, uint64_t object, const struct py_path_step *step,
	struct py_attribute *out, uint64_t *value)
{
	if (step->is_index)
		return find_list_item(attributes->process, object, step->index, out, value);
	if (step->is_key)
		return py_attributes_find(attributes, object, PY_OF_DICT, step->name, out, value);
	if (py_attributes_find(attributes, object, PY_OF_INSTANCE, step->name, out, value))
		return true;
	if (!py_attributes_find(attributes, object, PY_OF_CLASS, step->name, out, value))
		return false;
	if (!py_is(attributes->process, *value, PY_INT) && !find_of_property(attributes, object, step, out, value))
		find_field(attributes->process, object, *value, out, value);
	return true;
}

bool py_path_get(struct py_attributes *attributes, uint64_t object, const struct py_path *path, uint64_t *out)
{
	struct py_attribute unused;
	for (size_t i = 0; i < path->count; i++)
		if (!py_path_step_find(attributes, object, &path->steps[i], &unused, &object))
			return false;
	*out = object;
	return true;
}
