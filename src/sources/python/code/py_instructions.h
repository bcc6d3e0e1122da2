/* py_instructions.h: reads the instructions of a code object of CPython. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_CODE_PY_INSTRUCTIONS_H
#define PMTOP_SOURCES_PYTHON_CODE_PY_INSTRUCTIONS_H

#include "src/sources/python/py_walk.h"

enum { PY_BYTES_MAX = 1 << 18 };

/* A bytes object. NULL: it could not be read, is too long, or there is no memory. Otherwise the caller frees it. */
unsigned char *py_bytes_read(const struct py_process *process, uint64_t object, size_t *size);
/* NULL: they could not be read, are too many, or there is no memory. Otherwise the caller frees them. */
unsigned char *py_instructions_read(const struct py_process *process, uint64_t code, size_t *size);

#endif
