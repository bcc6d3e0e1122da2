/* py_bar.h: the loss that a program shows in a tqdm bar: set_postfix(loss=…). Private to src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_BAR_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_BAR_H

#include "src/sources/python/py_walk.h"

/* `object`: the bar, or the suspended generator that a loop over it has. The value is as rounded as the bar shows it.
 * False: it shows none. */
bool py_bar_loss(const struct py_process *process, uint64_t object, double *out);
/* From the text behind the bar: "loss=0.25, acc=0.9", "lr: 1e-3 loss: 0.25". False: it has none that is finite. */
bool py_bar_loss_parse(const char *text, double *out);

#endif
