/* py_handlers.h: which instructions of CPython lead to a handler of exceptions. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_CODE_PY_HANDLERS_H
#define PMTOP_SOURCES_PYTHON_CODE_PY_HANDLERS_H

#include "src/sources/python/code/py_graph.h"

/* Any instruction of a `try` may raise. An edge to the handler have only its first one, those that begin a loop in it,
 * and those that raise: so what leaves a loop behind a test is no part of it because it might fail. To 3.10 the first
 * one is a SETUP, which has that edge already. `table`: since 3.11 co_exceptiontable
 * (Objects/exception_handling_notes.txt of CPython). False: it was not understood. */
bool py_handlers_link(struct py_graph *graph, const unsigned char *table, size_t size);

#endif
