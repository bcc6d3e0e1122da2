/* profile_foreign.h: traces of other profilers (TensorFlow, JAX, Ascend), whose events have no category: the process
 * says whether they are a device's. */
#ifndef PMTOP_TRACE_PROFILE_FOREIGN_H
#define PMTOP_TRACE_PROFILE_FOREIGN_H

#include "src/trace/store/profile.h"

/* Moves the events of device processes ("/device:GPU:0") to where kernels are. A kernel's times are without the events
 * within it. Lines that repeat them at a coarser level (modules, name scopes) are dropped. False: no memory. */
bool profile_foreign_convert(struct profile *profile);

#endif
