/* code_phases.h: the phase that a library function belongs to. */
#ifndef PMTOP_MODEL_CODE_CODE_PHASES_H
#define PMTOP_MODEL_CODE_CODE_PHASES_H

#include "src/model/code/code.h"

const char *code_phase_name(enum code_phase phase);

/* One row of config/phases.yaml, which the build turns into code_phase_rows. Files are matched by the end of their
 * path.
 */
struct code_phase_row {
	enum code_phase phase;
	const char *caller;   /* file that calls it; NULL = any */
	const char *file;     /* NULL: the end of the table */
	const char *function; /* NULL = any */
};

extern const struct code_phase_row code_phase_rows[];

/* Stands for the user's own files. */
#define CODE_OWN_FILES "own code"

/* The phase of a function; CODE_PHASE_OTHER = unknown. `file`: of the user's own ones CODE_OWN_FILES. `caller`: the
 * file that calls it, NULL = unknown. */
enum code_phase code_phase_of(const char *function, const char *file, const char *caller);
/* The name without its class, which function names have since Python 3.11. A pointer into `function`. */
const char *code_plain_function(const char *function);
/* The path without the folder of packages: "torch/_tensor.py". A pointer into `file`. */
const char *code_short_file(const char *file);

#endif
