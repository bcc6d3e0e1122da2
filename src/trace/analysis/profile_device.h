/* profile_device.h: joins the GPU's work with the host: which call launched a kernel and how long before, and the
 * operators that it belongs to. */
#ifndef PMTOP_TRACE_PROFILE_DEVICE_H
#define PMTOP_TRACE_PROFILE_DEVICE_H

#include "src/trace/analysis/profile_host.h"

/* Adds GPU time to the rows of `ops`, launch delays and operators to the kernels. After profile_host_nest(). Of joins,
 * External id comes first; a kernel without one belongs to the operator around its launch. False: no memory. */
bool profile_device_join(struct profile *profile, struct profile_ops *ops);

#endif
