#include "src/sources/python/loops/py_paths.h"

#include <stdio.h>
#include <string.h>

#include "src/sources/python/loops/py_loop_code.h"

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

bool py_path_step_find(struct py_attributes *attributes, uint64_t object, const struct py_path_step *step,
	struct py_attribute *out, uint64_t *value)
{
	if (step->is_key)
		return py_attributes_find(attributes, object, PY_OF_DICT, step->name, out, value);
	return py_attributes_find(attributes, object, PY_OF_INSTANCE, step->name, out, value) ||
		py_attributes_find(attributes, object, PY_OF_CLASS, step->name, out, value);
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
