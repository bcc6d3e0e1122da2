#include "src/sources/python/counters/py_between.h"

#include <string.h>

#include "src/sources/python/py_code.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/py_types.h"
#include "src/sources/python/remote.h"

bool py_is_between(const char *file)
{
	for (size_t i = 0; py_between[i]; i++)
		if (strstr(file, py_between[i]))
			return true;
	return false;
}

bool py_is_between_class(const struct py_process *process, uint64_t type)
{
	uint64_t bases[PY_BASES_MAX], function, address;
	struct py_attribute next = { .slot = 0 };
	struct py_code code;
	size_t count = py_is_iterator_class(process, type) ? py_bases_read(process, type, bases) : 0, at = 0;
	while (at < count && !py_class_attribute_find(process, bases[at], "__next__", &next))
		at++;
	if (at == count || !remote_word(process->pid, next.slot, &function) ||
		!py_function_code(process, function, &address) ||
		!py_code_read(process->pid, &process->location, address, &code))
		return false;
	bool is_between = py_is_between(code.file);
	py_code_release(&code);
	return is_between;
}
