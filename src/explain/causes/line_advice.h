/* line_advice.h: what to do about a line of code that waits or computes in slow steps only, by what it calls. Private
 * to src/explain. */
#ifndef PMTOP_EXPLAIN_CAUSES_LINE_ADVICE_H
#define PMTOP_EXPLAIN_CAUSES_LINE_ADVICE_H

/* For a line of Python source; NULL: its text is unknown, or says nothing. */
const char *line_advice(const char *text);

#endif
