/* causes_line.h: the line of the user's code in which a slow step spent its excess, from stack samples; if it waited
 * for the GIL, the thread that held it and its line. */
#ifndef PMTOP_EXPLAIN_CAUSES_CAUSES_LINE_H
#define PMTOP_EXPLAIN_CAUSES_CAUSES_LINE_H

#include "src/explain/causes/causes.h"

/* Adds the GIL's holder or the line to the largest cause that code of the main thread can have. Call when all causes
 * are found. */
void causes_add_line(struct case_file *file);
/* Whether a line would say more about a cause of this kind: the thread's own code, or an unknown reason. */
bool causes_has_line(enum cause_kind kind);

#endif
