#include "src/sources/python/loops/py_paths.h"

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
		uint64_t text;
		step->is_key = operand[i] & PY_OPERAND_KEY;
		if (!py_loop_item(process, step->is_key ? constants : names, operand[i] & ~PY_OPERAND_KEY, &text) ||
			!py_text_read(process, text, step->name, sizeof step->name))
			return false;
	}
	return true;
}

bool py_path_write(const struct py_path *path, char *text)
{
	size_t used = strlen(text);
	for (size_t i = 0; i < path->count; i++) {
		const struct py_path_step *step = &path->steps[i];
		int length = snprintf(text + used, PY_LOOP_NAME_SIZE - used, step->is_key ? "['%s']" : ".%s", step->name);
		if (length < 0 || (size_t)length >= PY_LOOP_NAME_SIZE - used)
			return false;
		used += (size_t)length;
	}
	return true;
}

static bool find_in_classes(
	const struct py_process *process, uint64_t class, const char *name, struct py_attribute *out, uint64_t *value)
{
	uint64_t classes[PY_BASES_MAX];
	size_t count = py_bases_read(process, class, classes);
	for (size_t i = 0; i < count; i++)
		if (py_class_attribute_find(process, classes[i], name, out))
			return remote_word(process->pid, out->slot, value) && *value;
	return false;
}

bool py_path_step_find(const struct py_process *process, uint64_t object, const struct py_path_step *step,
	struct py_attribute *out, uint64_t *value)
{
	uint64_t class;
	*out = (struct py_attribute){ .slot = 0 };
	if (step->is_key)
		return py_dict_find(process, object, step->name, out) && remote_word(process->pid, out->slot, value) && *value;
	if (py_attribute_find(process, object, step->name, out) && remote_word(process->pid, out->slot, value) && *value)
		return true;
	*out = (struct py_attribute){ .slot = 0 };
	if (py_is_derived(process, object, "type"))
		return find_in_classes(process, object, step->name, out, value);
	return remote_word(process->pid, object + process->location.layout.object_type, &class) &&
		find_in_classes(process, class, step->name, out, value);
}

bool py_path_get(const struct py_process *process, uint64_t object, const struct py_path *path, uint64_t *out)
{
	struct py_attribute unused;
	for (size_t i = 0; i < path->count; i++)
		if (!py_path_step_find(process, object, &path->steps[i], &unused, &object))
			return false;
	*out = object;
	return true;
}
