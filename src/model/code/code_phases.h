/* code_phases.h: the phase that a library function belongs to. */
#ifndef PMTOP_MODEL_CODE_CODE_PHASES_H
#define PMTOP_MODEL_CODE_CODE_PHASES_H

#include "src/model/code/code.h"

const char *code_phase_name(enum code_phase phase);

/* The phase of a library function; CODE_PHASE_OTHER = unknown. */
enum code_phase code_phase_of(const char *function, const char *file);
/* The path without the folder of packages: "torch/_tensor.py". A pointer into `file`. */
const char *code_short_file(const char *file);

#endif
