/* py_paths.h: attributes and items with constant keys, each of the object before: "self.config.steps",
 * "state['step']", "run[0]". Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_PATHS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_PATHS_H

#include "src/sources/python/loops/py_attributes.h"
#include "src/sources/python/loops/py_bytecode.h"
#include "src/sources/python/loops/py_loops.h"
#include "src/sources/python/py_objects.h"

struct py_path {
	size_t count;
	struct py_path_step {
		char name[PY_LOOP_NAME_SIZE]; /* of the attribute, or the key's text */
		bool is_key, is_index;        /* of a dict; of a list, which has it at `index` */
		uint64_t index;
	} steps[PY_OPERAND_NAMES];
};

/* Reads the texts of the first `count` names of an operand. `names` and `constants`: of its code. */
bool py_path_make(const struct py_process *process, uint64_t names, uint64_t constants, const uint32_t *operand,
	size_t count, struct py_path *out);
/* Appends it as in a program to a text of PY_LOOP_NAME_SIZE. False: there is no room. */
bool py_path_write(const struct py_path *path, char *text);
/* An attribute of an instance, or else of its class, or of a class, or that of a property, or the field of a
 * namedtuple; the item of a dict or of a list. */
bool py_path_step_find(struct py_attributes *attributes, uint64_t object, const struct py_path_step *step,
	struct py_attribute *out, uint64_t *value);
/* The last object of the path. */
bool py_path_get(struct py_attributes *attributes, uint64_t object, const struct py_path *path, uint64_t *out);

#endif
