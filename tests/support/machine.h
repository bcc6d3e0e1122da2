/* machine.h: a machine filled in by hand, for tests of what is told of one: every figure stands where the model would
 * put it. */
#ifndef PMTOP_TESTS_MACHINE_H
#define PMTOP_TESTS_MACHINE_H

#include "src/model/model.h"

/* Nothing is known. */
void machine_forget(struct system *system);
/* Four CPUs that are busy with a run that reads from a disk, in a cgroup with limits; its history up to the model's
 * now. */
void machine_fill(struct model *model);
/* One disk more than there are. */
struct device *machine_add_disk(struct system *system, const char *name);
/* Frees what machine_fill made; before model_free. */
void machine_release(struct model *model);

#endif
