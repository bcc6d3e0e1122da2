/* stacks_training.h: recognises in a sampled stack that a model is trained right now: the optimizer or backward runs.
 */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_TRAINING_H
#define PMTOP_SOURCES_INFERRED_STACKS_TRAINING_H

#include "src/sources/python/py_sampler.h"

/* The index of the outermost frame of the optimizer or of backward; −1: neither runs. */
int stacks_training_frame(const struct py_sample *sample, bool *is_optimizer);
/* Whether the file is in one of PyTorch's own folders: an environment may lie in one that is named torch, too. */
bool stacks_training_is_torch(const char *file);
/* Whether a frame is PyTorch's. */
bool stacks_training_has_torch(const struct py_sample *sample);
/* Derivatives of a model are computed in evaluation too: whether this frame of a sample does that. */
bool stacks_training_is_derivative(const struct py_sample *sample, int frame);

#endif
