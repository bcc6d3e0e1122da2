/* model_parts.h: makes models and finds their parts, for tests. */
#ifndef PMTOP_TESTS_MODEL_PARTS_H
#define PMTOP_TESTS_MODEL_PARTS_H

#include "src/model/model.h"
#include "src/rules/alerts.h"
#include "tests/support/story.h"

/* With default options. */
struct model *model_new_default(void);
/* Emits the story to its end into the model. */
void story_play(struct story *story, struct model *model);
/* Sets the memory and the machine of a model filled by hand to unknown. */
void model_set_unknown(struct model *model);

/* Seconds of a phase, NAN if the batch has none; the sum of the outermost phases. */
double batch_phase_s(const struct batch *batch, uint32_t name, uint32_t parent);
double batch_outermost_s(const struct batch *batch);
/* Fails the test if there is none. */
const struct operation *run_operation(const struct run *run, uint32_t mode, uint32_t name);

/* NULL if no warning of this rule is raised. */
const struct alert *alerts_find_raised(const struct alerts *alerts, const char *rule);

#endif
