/* code_advice.h: what to write so that pmtop gets steps, phases and causes, by the framework that the run uses
 * (config/frameworks.yaml). */
#ifndef PMTOP_MODEL_CODE_CODE_ADVICE_H
#define PMTOP_MODEL_CODE_CODE_ADVICE_H

#include <stddef.h>

struct model;

/* The line for the framework of the Python files on the stacks, else for that of the mapped libraries: "with Keras,
 * pass …". */
/* Why pmtop infers no steps: a clause. */
const char *code_why_no_steps(const struct model *model);
void code_write_advice(const struct model *model, char *out, size_t size);

#endif
