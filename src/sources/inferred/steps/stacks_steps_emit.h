/* stacks_steps_emit.h: emits inferred steps (stacks_steps.h) as records of a run. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_STEPS_EMIT_H
#define PMTOP_SOURCES_INFERRED_STACKS_STEPS_EMIT_H

#include "src/sources/inferred/steps/stacks_steps.h"

/* Emits what is new; with `again`, all that a reader that joins late needs. */
void stacks_steps_emit(struct stacks_steps *steps, bool again, int64_t now_ns, struct sample_set *out);

#endif
