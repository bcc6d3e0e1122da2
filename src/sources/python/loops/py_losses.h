/* py_losses.h: losses that a program has as floats. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_LOSSES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_LOSSES_H

#include "src/sources/python/loops/py_reading.h"

/* Whether a loop of this code assigns a variable, or it has a meter, with the name of a loss. */
bool py_losses_has(const struct py_loop_code *code);
/* The loss in a frame that is in a loop: of a variable, or the newest value of a meter. False: there is none, or NaN.
 */
bool py_losses_read(struct py_reading *reading, double *out);
/* Reads the float at `object`, which `slot` holds. */
bool py_losses_float(const struct py_process *process, uint64_t slot, uint64_t object, double *out);

#endif
