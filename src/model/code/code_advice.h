/* code_advice.h: what to write so that pmtop gets steps, phases and causes, by the framework that the run uses
 * (config/frameworks.yaml). */
#ifndef PMTOP_MODEL_CODE_CODE_ADVICE_H
#define PMTOP_MODEL_CODE_CODE_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

struct missing;
struct model;

/* The line for the framework of the Python files on the stacks, else for that of the mapped libraries: "with Keras,
 * pass …". */
void code_write_advice(const struct model *model, char *out, size_t size);
/* Why pmtop infers no steps: a clause. */
const char *code_why_no_steps(const struct model *model);
/* What a panel of batches says while there are none. */
const char *code_why_no_batch(const struct model *model);
/* Why the region could not be read; NULL: it was, or there is none. */
const struct missing *code_refused_region(const struct model *model);
/* Why there are no steps, and what would bring them: sentences, of which a new line or a space separates the last one.
 * False: no source has given a reason so far. */
bool code_write_no_steps(const struct model *model, char separator, char *out, size_t size);

#endif
