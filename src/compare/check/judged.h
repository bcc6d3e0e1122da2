/* judged.h: adds the figures and warnings of a judgement. Internal to src/compare. */
#ifndef PMTOP_COMPARE_CHECK_JUDGED_H
#define PMTOP_COMPARE_CHECK_JUDGED_H

#include "src/compare/judgement.h"

/* NULL: no room. */
struct judged_figure *judged_add(struct judgement *judgement, const char *name);
void judged_settle(struct judged_figure *figure, enum outcome outcome, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Whether a run has too few steps to judge them; then the figure is settled. */
bool judged_has_few(struct judged_figure *figure, const struct summary *of, const char *whose);
void judged_warn(struct judgement *judgement, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
