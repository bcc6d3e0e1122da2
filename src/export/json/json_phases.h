/* json_phases.h: the phases of inferred steps, by stack samples. Nothing for a run that publishes its steps: its phases
 * are operations. */
#ifndef PMTOP_EXPORT_JSON_JSON_PHASES_H
#define PMTOP_EXPORT_JSON_JSON_PHASES_H

#include "src/base/formats/json.h"
#include "src/explain/explain.h"
#include "src/model/model.h"

/* "phases": the mean of the last steps. */
void json_recent_phases(struct json *json, const struct model *model, const struct run *run);
/* "stack_samples" and "phases" of one step. */
void json_step_phases(struct json *json, const struct run *run, const struct explanation *why);

#endif
