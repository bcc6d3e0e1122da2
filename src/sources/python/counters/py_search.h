/* py_search.h: iterators of torch's DataLoader among what a frame works with. Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_SEARCH_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_SEARCH_H

#include "src/sources/python/counters/py_locals.h"

enum { PY_TYPES_RETAINED = 128 };

/* What was found out about types, from search to search. Zeroed at first. */
struct py_search {
	size_t count;
	struct {
		uint64_t type;
		bool is_iterator;
	} types[PY_TYPES_RETAINED];
};

bool py_is_loader_iterator(const struct py_process *process, uint64_t object);
/* Those that its variables and its loops hold, themselves or by way of enumerate(), zip() and generators (tqdm is one).
 * Each as often as it is held. *budget: objects that may still be looked at, for a search is of as many as there are.
 * How many were found. */
size_t py_search_frame(const struct py_process *process, struct py_search *search, const struct py_activation *at,
	unsigned *budget, uint64_t *out, size_t max);

#endif
