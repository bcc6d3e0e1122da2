/* causes_line.h: the line of the user's code in which a slow step spent its excess, from stack samples; if it waited
 * for the GIL, the thread that held it and its line. */
#ifndef PMTOP_EXPLAIN_CAUSES_CAUSES_LINE_H
#define PMTOP_EXPLAIN_CAUSES_CAUSES_LINE_H

#include "src/explain/causes/causes.h"

/* Adds the GIL's holder or the line to the largest cause that code of the main thread can have. Call when all causes
 * are found. */
void causes_add_line(struct case_file *file);
/* Adds the line of the other rank to a cause that names that rank. */
void cause_say_other_line(struct cause *cause, const struct sampled_line *line);
void cause_say_other_phase(struct cause *cause, const char *phase);
/* Whether a line would say more about a cause of this kind: the thread's own code, or an unknown reason. */
bool causes_has_line(enum cause_kind kind);

#endif
