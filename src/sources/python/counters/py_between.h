/* py_between.h: what libraries have between a loop and its DataLoader. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_BETWEEN_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_BETWEEN_H

#include <stdbool.h>
#include <stdint.h>

/* Parts of paths, from config/loaders.yaml; NULL ends them. */
extern const char *const py_between[];

struct py_process;

bool py_is_between(const char *file);
/* Whether the __next__ of this class is in such a file. */
bool py_is_between_class(const struct py_process *process, uint64_t type);

#endif
