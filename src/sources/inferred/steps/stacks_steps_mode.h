/* stacks_steps_mode.h: whether a pass through a loop trains or validates. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_STEPS_MODE_H
#define PMTOP_SOURCES_INFERRED_STACKS_STEPS_MODE_H

#include "src/sources/inferred/steps/stacks_steps_private.h"

/* By samples, or else by words in the code. `text`: of the loop's line, NULL = unknown. False: wait. */
bool stacks_steps_find_mode(struct stacks_steps *steps, const struct py_counted *counted, const char *text,
	int64_t since_ns, int64_t now_ns, enum mode *mode);
/* The mode of the loops over this loader. */
void stacks_steps_remember_loader(struct stacks_steps *steps, uint64_t sampler, enum mode mode);

/* Whether the words of a line or a function say that it validates. NULL: no. */
bool stacks_steps_names_validation(const char *text);

#endif
