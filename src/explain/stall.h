/* stall.h: a run that has stood still for far longer than is usual: for how long, and with the stack of what is
 * open. */
#ifndef PMTOP_EXPLAIN_STALL_H
#define PMTOP_EXPLAIN_STALL_H

#include <stdbool.h>
#include <stddef.h>

#include "src/model/model.h"

enum { STALL_STACK_SIZE = 128 };

struct stall {
	double seconds;    /* since anything began or ended */
	double baseline_s; /* the longest that is usual between two such moments; NAN = not known */
	bool is_between;   /* no batch is open: it waits for the next one */
	/* "backward › all_reduce": open spans of the lane that runs the batches, outermost first; empty = none */
	char stack[STALL_STACK_SIZE];
	/* "stopped (SIGSTOP, a debugger)", "waits for the disk (D, nfs_wait)": what is known of its process; empty */
	char why[STALL_STACK_SIZE];
};

/* False: it goes on, or nothing can be said. */
bool stall_find(const struct model *model, const struct run *run, struct stall *out);

#endif
