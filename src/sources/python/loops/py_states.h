/* py_states.h: ints that a progress bar or a trainer counts in its attributes. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_STATES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_STATES_H

#include "src/sources/python/loops/py_loops.h"

/* Whether its class is one of a trainer's that count, or that have an attribute that does. */
bool py_state_is_holder(const struct py_process *process, uint64_t object);
/* Fills slot, object, name, length and guards for what the object counts, where `out` has its variable's name already.
 * False: it counts nothing that can be read. */
bool py_state_find(const struct py_process *process, uint64_t object, bool is_bar, struct py_loop *out);

#endif
