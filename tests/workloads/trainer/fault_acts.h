/* fault_acts.h: the doing of each fault. A fault of a whole batch (AT_BATCH) is done twice: at its begin, and at its
 * end with `is_end`. */
#ifndef TRAINER_FAULT_ACTS_H
#define TRAINER_FAULT_ACTS_H

#include "faults.h"

struct act {
	struct pmtop *pm; /* NULL in the loader */
	uint64_t batch;
	pid_t worker;
	int64_t begin_ns;
	bool is_end;
};

struct fault_kind {
	const char *name, *help;
	enum fault_phase phase;
	double ms, mb, size;
	void (*act)(struct faults *faults, struct fault *fault, const struct act *act);
};

#define FAULT_DECLARE(text, function, where, ms, mb, size, help) \
	void act_##function(struct faults *faults, struct fault *fault, const struct act *act);
FAULTS(FAULT_DECLARE)
#undef FAULT_DECLARE

/* This process, and what it starts from now on, stay on the CPU that they are on. */
bool act_pin(void);

#endif
