/* py_losses.h: losses that a program has as floats. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_LOSSES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_LOSSES_H

#include "src/sources/python/loops/py_reading.h"

/* Whether a loop of this code assigns a variable, or gathers, or it has a meter, with the name of a loss. */
bool py_losses_has(const struct py_loop_code *code);
/* As py_loop_loss, of a frame that was read. */
bool py_losses_read(struct py_reading *reading, const struct py_steps_at *at, struct py_loss *out);
/* Reads the float at `object`, which `slot` holds. */
bool py_losses_float(const struct py_process *process, uint64_t slot, uint64_t object, double *out);

#endif
