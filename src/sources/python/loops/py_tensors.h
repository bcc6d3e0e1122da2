/* py_tensors.h: the value of a tensor of PyTorch with one element in the memory of the CPU. Private to
 * src/sources/python/loops.
 *
 * Where its fields are differs by release (c10/core/TensorImpl.h, StorageImpl.h). They are found by the one that points
 * back to the Python object; all the others must then have what such a tensor has. Seen: 1.13 and 2.13. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_TENSORS_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_TENSORS_H

#include "src/sources/python/py_walk.h"

/* Of the torch.Tensor at `object`, which `slot` holds before and after. False: it is not of one float32 or float64, is
 * on another device, shares its storage, or changed meanwhile. */
bool py_tensor_read(const struct py_process *process, uint64_t slot, uint64_t object, double *out);

#endif
