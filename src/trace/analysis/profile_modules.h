/* profile_modules.h: the nn.Modules of a trace as a tree: each below the module that calls it. */
#ifndef PMTOP_TRACE_PROFILE_MODULES_H
#define PMTOP_TRACE_PROFILE_MODULES_H

#include "src/trace/analysis/profile_host.h"

/* Sets depth and position of the rows of modules: a module before those that it calls, those of one module by total
 * GPU time, or by total CPU time if no module has any. False: no memory. */
bool profile_modules_order(const struct profile *profile, struct profile_ops *ops);
/* The rows of modules in this order: pointers into `ops`. NULL: no memory. To be freed. */
const struct profile_op **profile_modules_rows(
	const struct profile *profile, const struct profile_ops *ops, uint32_t *count);

#endif
