/* py_gradients.h: whether the forward of a PyTorch module runs without gradients: in the body of `with
 * torch.no_grad():`, or of torch.inference_mode() or set_grad_enabled(False), or in a function that one of these
 * decorates (whose wrapper has such a body). CPython 3.8 to 3.15, with its GIL. Private to src/sources. */
#ifndef PMTOP_SOURCES_PYTHON_COUNTERS_PY_GRADIENTS_H
#define PMTOP_SOURCES_PYTHON_COUNTERS_PY_GRADIENTS_H

#include "src/sources/python/py_sampler.h"

struct py_gradients;

struct py_gradients *py_gradients_new(void);
void py_gradients_free(struct py_gradients *gradients);
/* The index of the site with which the outermost forward of a module begins, if it runs without gradients; else
 * sample->count. `gradients` is for one process; NULL: nothing is found. Call right after the sample. */
size_t py_gradients_disabled(
	struct py_gradients *gradients, const struct py_process *process, const struct py_sample *sample);

#endif
