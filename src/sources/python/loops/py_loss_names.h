/* py_loss_names.h: which variables hold losses of training, by their names. Private to src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_LOSS_NAMES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_LOSS_NAMES_H

#include "src/sources/python/loops/py_loop_code.h"

bool py_loss_names_has(const char *name);
/* Whether a word of it is of validation or a test: "val_losses", "history['test']". */
bool py_loss_names_validation(const char *name);
/* Whether a loss is what the code gathers there. */
bool py_loss_names_gain(const struct py_process *process, const struct py_loop_code *code, const struct py_gain *gain);
/* Whether the code names `backward`, as a method or a function. */
bool py_loss_names_backward(const struct py_process *process, const struct py_loop_code *code);

#endif
