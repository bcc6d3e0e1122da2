/* profile_host.h: the operators of a profile: self and total time on the host and on the GPU, as PyTorch's key_averages
 * counts them. */
#ifndef PMTOP_TRACE_PROFILE_HOST_H
#define PMTOP_TRACE_PROFILE_HOST_H

#include "src/trace/store/profile.h"

enum profile_group { GROUP_NAME, GROUP_SHAPE, GROUP_STACK, GROUP_MODULE };

/* The operators, annotations, runtime calls and Python functions of one name (and shape, line or module). */
struct profile_op {
	uint32_t name; /* and kind */
	uint32_t by;   /* a name: the shapes, the Python function that called it, the module; 0 = none */
	uint64_t count;
	int64_t total_ns, self_ns, gpu_total_ns, gpu_self_ns;
	int64_t own_ns;        /* as self_ns, without what children share; self_ns of operators is as in key_averages */
	uint64_t kernel_count; /* launched by itself */
	uint32_t open_count;   /* while nesting: its events whose end has not been reached */
	uint64_t counted;      /* while joining: number of the last batch of kernels in gpu_total_ns */
	bool has_host;         /* the host says when it runs; else its times on the CPU are unknown */
	/* of a module, see profile_modules.h: the name of the one that calls it, 0 = none; position from 1 */
	uint32_t parent, depth, position;
};

struct profile_ops {
	enum profile_group group;
	struct profile_op *rows;
	uint32_t count, capacity;
	struct profile_table *index; /* (name, by) → row + 1 */
};

/* What a host thread does that keeps the GPU waiting: enum profile_trait, one of DATA, SYNC, COPY, COMMUNICATION. */
struct profile_wait {
	int64_t start_ns, end_ns;
	uint32_t trait;
};

struct profile_waits {
	struct profile_wait *rows;
	uint32_t count, capacity;
};

/* Nests the events of each host track (sets their parents), and fills both. After profile_order(). */
bool profile_host_nest(struct profile *profile, struct profile_ops *ops, struct profile_waits *waits);
/* Whether a Python function is the call of an nn.Module. */
bool profile_host_is_module(const struct profile *profile, uint32_t name);
/* Whether an event counts as in key_averages: PyTorch's operators. Functions, and events of other profilers, count each
 * call, and the time of calls within calls once. */
bool profile_host_is_as_key_averages(const struct profile *profile, const struct profile_host *host);
/* The name, with its kind, of the row that an event counts in. */
uint32_t profile_host_row_name(struct profile *profile, uint32_t name);
/* The row of an event, for the group chosen; NULL: no memory. */
struct profile_op *profile_host_row(struct profile *profile, struct profile_ops *ops, const struct profile_track *track,
	const struct profile_host *host);
/* The innermost event of the track at a time, or PROFILE_NONE. Python functions count if `with_python`. */
uint32_t profile_host_at(const struct profile_track *track, int64_t at_ns, bool with_python);
/* The innermost Python function of the program itself (not of a library) around an event; 0 = none recorded. */
uint32_t profile_host_line(const struct profile *profile, const struct profile_track *track, uint32_t host);
void profile_ops_release(struct profile_ops *ops);

#endif
