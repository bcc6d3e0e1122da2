/* py_states.h: ints that a progress bar or a trainer counts in its attributes. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_STATES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_STATES_H

#include "src/sources/python/loops/py_attributes.h"
#include "src/sources/python/loops/py_loops.h"

enum { PY_STATE_TYPES_RETAINED = 16 };

/* Zeroed at first. */
struct py_states {
	uint64_t none;     /* the address of None, once seen */
	uint64_t other;    /* what was last seen not to be None */
	size_t type_count; /* classes that were met, and which of the known states they are */
	struct {
		uint64_t type;
		unsigned states;
	} types[PY_STATE_TYPES_RETAINED];
};

/* Whether a class is one of a trainer's that count, or that have an attribute that does. */
bool py_state_is_holder(const struct py_process *process, uint64_t type);
/* Fills slot, object, name, length and guards for what the object counts, where `out` has its variable's name already.
 * False: it counts nothing that can be read. */
bool py_state_find(
	struct py_states *states, struct py_attributes *attributes, uint64_t object, bool is_bar, struct py_loop *out);
/* Whether a variable "trainer.state.global_step" is what py_state_find finds of the object that has this attribute: its
 * state has a maximum, too. */
bool py_state_has(struct py_states *states, const struct py_process *process, uint64_t object, const char *name);
/* Where the float is that a transformers.TrainerState logged as its newest "loss", as of now. False: `state` is none,
 * or has logged none. */
bool py_state_loss(struct py_attributes *attributes, const struct py_loop *state, uint64_t *slot, uint64_t *object);

#endif
