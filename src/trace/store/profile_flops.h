/* profile_flops.h: floating-point operations of an operator, from the shapes of its inputs: PyTorch's formulas
 * (torch/csrc/profiler/util.cpp): matrix products, convolutions, elementwise additions and products. */
#ifndef PMTOP_TRACE_PROFILE_FLOPS_H
#define PMTOP_TRACE_PROFILE_FLOPS_H

#include "src/trace/store/profile.h"

/* Adds those of one call to profile->flops, if its operator is one of them. `concrete`: the text of its Concrete
 * Inputs. */
void profile_flops_add(
	struct profile *profile, uint32_t name, uint32_t shape, struct profile_slice dims, struct profile_slice concrete);
/* Takes the mean of one call off again: of one that counts as a part of another. */
void profile_flops_remove(struct profile *profile, uint32_t name, uint32_t shape);
static inline uint64_t profile_flops_key(uint32_t name, uint32_t shape) { return (uint64_t)name << 32 | shape; }

#endif
