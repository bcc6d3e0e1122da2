/* profile_device.h: joins the GPU's work with the host: which call launched a kernel and how long before, and the
 * operators that it belongs to. */
#ifndef PMTOP_TRACE_PROFILE_DEVICE_H
#define PMTOP_TRACE_PROFILE_DEVICE_H

#include "src/trace/analysis/profile_host.h"

/* A kernel, copy or memset, and where it comes from; NULL where the trace does not say. */
struct profile_launch {
	const struct profile_track *track; /* of the work */
	const struct profile_work *work;
	const struct profile_track *op_track;
	const struct profile_host *op; /* an operator, annotation or Python function */
	const struct profile_host *call;
	bool is_of_graph; /* the call launches a graph */
	/* From the call's start to its own, which may be early by a skewed clock. Of a graph, only its first work waits for
	 * the launch alone. */
	bool has_delay;
	int64_t delay_ns;
};

/* Calls `take` for each. Of joins, External id comes first; work without one belongs to the operator around its launch.
 * After profile_host_nest(). False: no memory. */
bool profile_device_each(
	struct profile *profile, void (*take)(const struct profile_launch *launch, void *context), void *context);
/* Adds GPU time to the rows of `ops`, launch delays and operators to the kernels. After profile_host_nest().
 * False: no memory. */
bool profile_device_join(struct profile *profile, struct profile_ops *ops);

#endif
