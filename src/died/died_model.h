/* died_model.h: what the model knows of a run's end: its newest Python line, what ranks wait for, its peak memory. */
#ifndef PMTOP_DIED_DIED_MODEL_H
#define PMTOP_DIED_DIED_MODEL_H

#include "src/died/died.h"
#include "src/model/model.h"

/* Adds to `out`; what the model does not know stays as it is. `run`: the run shown; −1 = none. */
void died_take_model(const struct model *model, int run, struct died_evidence *out);

#endif
