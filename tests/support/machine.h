/* machine.h: a machine, filled into the model by hand for tests of output. */
#ifndef PMTOP_TESTS_MACHINE_H
#define PMTOP_TESTS_MACHINE_H

#include "src/model/model.h"

/* Nothing is known. */
void machine_forget(struct system *system);
/* Four CPUs busy with a run that reads from a disk, in a cgroup with limits; with history up to the model's now. */
void machine_fill(struct model *model);
/* Adds another disk. */
struct device *machine_add_disk(struct system *system, const char *name);
/* Frees what machine_fill made; before model_free. */
void machine_release(struct model *model);

#endif
