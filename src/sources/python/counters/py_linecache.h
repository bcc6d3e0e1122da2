/* py_linecache.h: source text that a running CPython has in memory: its module linecache has that of a notebook's
 * cells, and of what was typed, of which there is no file. A dict of file names, the values being tuples of size, time
 * of the file (None: there is no file), and a list of lines (Lib/linecache.py). Private to src/sources. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_LINECACHE_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_LINECACHE_H

#include "src/sources/python/py_sampler.h"

/* The address of that dict, by way of a module of the sample that has imported sys. */
bool py_linecache_find(const struct py_process *process, const struct py_sample *sample, uint64_t *cache);
/* The text of what has this name, if it is no file: the caller's, to free. Lines with other characters than those of
 * ASCII are empty. */
bool py_linecache_read(const struct py_process *process, uint64_t cache, const char *name, char **text, size_t *length);

#endif
