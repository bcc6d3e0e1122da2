/* stacks_loops_why.h: why no steps are inferred, in a sentence. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_WHY_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_WHY_H

#include "src/sources/inferred/steps/stacks_loops_private.h"

/* Call after each reading until steps are chosen. */
void stacks_loops_note_why(struct stacks_loops *loops, const struct py_sample *sample);
/* False: unknown, or steps were chosen. */
bool stacks_loops_why(const struct stacks_loops *loops, char *out, size_t size);
/* The innermost loop of the user's own code, if it is why: nothing in it could be read that counts it. Of a program
 * that trains the one around what this sample found of that, which may be a library's. */
bool stacks_loops_why_unreadable(struct stacks_loops *loops, const struct py_sample *sample, uint64_t *code, int *line);

#endif
