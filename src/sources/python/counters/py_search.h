/* py_search.h: finds iterators of torch's DataLoader among a frame's locals. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_SEARCH_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_SEARCH_H

#include "src/sources/python/counters/py_locals.h"

enum { PY_TYPES_RETAINED = 128 };

/* A cache of types between searches. Zeroed at first. */
struct py_search {
	size_t count;
	struct {
		uint64_t type;
		enum py_kind {
			PY_KIND_OTHER,
			PY_KIND_ITERATOR,
			PY_KIND_LOADER,
			PY_KIND_HOLDER,
			PY_KIND_BETWEEN /* an iterator of a library's (py_between.h) */
		} kind;
	} types[PY_TYPES_RETAINED];
};

struct py_found {
	uint64_t iterator;
	/* A variable or an attribute leads to it, not the value stack, which also has what loops iterate over. */
	bool is_of_variable;
	uint64_t generator;  /* the code of the innermost generator that leads to it; 0 = none does */
	unsigned generators; /* how many lead to it */
	bool is_of_loader;   /* a DataLoader keeps it (persistent workers); no loop need use it now */
	bool is_of_between;  /* an iterator of a library's fetches from it */
};

enum py_frame_kind { PY_FRAME_OF_FUNCTION, PY_FRAME_OF_MODULE, PY_FRAME_OF_COMPREHENSION };

bool py_is_loader_iterator(const struct py_process *process, uint64_t object);
/* Finds iterators that its variables and loops hold, directly or through enumerate(), zip(), generators (tqdm is one),
 * an attribute of a variable or of a library's iterator, Lightning's CombinedLoader, or their DataLoader; each as often
 * as it is held. PY_FRAME_OF_MODULE: its globals are variables too. PY_FRAME_OF_COMPREHENSION: its first local is what
 * it iterates over, and no variable. *budget: how many objects may still be read. Returns how many were found.
 */
size_t py_search_frame(const struct py_process *process, struct py_search *search, const struct py_activation *at,
	enum py_frame_kind kind, unsigned *budget, struct py_found *out, size_t max);

#endif
