/* loops.h: the loops of a Python process, of which a person chooses the one whose iterations are the steps of a run
 * without instrumentation. Known while somebody views them. */
#ifndef PMTOP_MODEL_CODE_LOOPS_H
#define PMTOP_MODEL_CODE_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOOPS_MAX = 24 };

struct loop {
	char text[128]; /* of its line, or the name of the int that counts it; may be empty */
	char file[512];
	uint32_t line;
	double per_s;              /* iterations per second; NAN = unknown */
	uint64_t position, length; /* the iteration in progress, from 1; all, 0 = unknown */
	bool is_counted;           /* its iterations are the steps now */
};

struct loops {
	int32_t pid;    /* 0 = nothing was read yet */
	bool is_chosen; /* a person chose what is counted; false: pmtop did */
	size_t count;
	struct loop list[LOOPS_MAX]; /* the outermost first */
};

/* -- within src/model -- */

struct model;
struct record;
void model_take_loops(struct model *model, const struct record *record);

#endif
