/* explain_context.h: what else happened while a slow batch ran. */
#ifndef PMTOP_EXPLAIN_EXPLAIN_CONTEXT_H
#define PMTOP_EXPLAIN_EXPLAIN_CONTEXT_H

struct case_file;

void explain_context(struct case_file *file);

#endif
