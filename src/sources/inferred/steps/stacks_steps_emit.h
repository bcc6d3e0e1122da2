/* stacks_steps_emit.h: emits inferred steps (stacks_steps.h) as records of a run. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_STEPS_EMIT_H
#define PMTOP_SOURCES_INFERRED_STACKS_STEPS_EMIT_H

#include "src/sources/inferred/steps/stacks_steps.h"

/* The job that its process is a rank of, if any; is_elsewhere: the process does not end with the target. */
void stacks_steps_place(struct stacks_steps *steps, const struct stacks_job *job, bool is_elsewhere);
void stacks_steps_describe(struct stacks_steps *steps, const struct stacks_what *what);
/* Emits what is new; with `again`, all that a reader that joins late needs. */
void stacks_steps_emit(struct stacks_steps *steps, bool again, int64_t now_ns, struct sample_set *out);

#endif
