/* py_between.h: files of libraries that lie between a loop and its DataLoader. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_BETWEEN_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_BETWEEN_H

/* Parts of paths, from config/loaders.yaml; NULL ends them. */
extern const char *const py_between[];

#endif
