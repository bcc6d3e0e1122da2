/* stall.h: a run without progress for several times its longest step: for how long, and in which open spans. */
#ifndef PMTOP_EXPLAIN_STALL_H
#define PMTOP_EXPLAIN_STALL_H

#include <stdbool.h>
#include <stddef.h>

#include "src/model/model.h"

enum { STALL_STACK_SIZE = 128 };

struct stall {
	double seconds;    /* since anything began or ended */
	double baseline_s; /* the longest normal time between two such events; NAN = unknown */
	bool is_between;   /* no batch is open */
	/* "backward › all_reduce": open spans of the lane that runs the batches, outermost first; empty = none */
	char stack[STALL_STACK_SIZE];
	/* state of its process: "stopped (SIGSTOP or a debugger)", "waiting for the disk (D, nfs_wait)"; empty = unknown */
	char why[STALL_STACK_SIZE];
};

/* False if it makes progress, or too little is known. */
bool stall_find(const struct model *model, const struct run *run, struct stall *out);

#endif
