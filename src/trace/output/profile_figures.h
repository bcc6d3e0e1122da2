/* profile_figures.h: the figures that recommendations compare (config/trace.yaml). */
#ifndef PMTOP_TRACE_PROFILE_FIGURES_H
#define PMTOP_TRACE_PROFILE_FIGURES_H

#include "src/trace/analysis/profile_analysis.h"

enum profile_form { FORM_RATIO, FORM_SECONDS, FORM_BYTES, FORM_RATE, FORM_COUNT, FORM_TEXT };

struct profile_figure {
	const char *name;
	enum profile_form form;
	double value;   /* NAN = unknown */
	char text[160]; /* of FORM_TEXT; empty = unknown */
};

enum { PROFILE_FIGURES_MAX = 64 };

struct profile_figures {
	struct profile_figure rows[PROFILE_FIGURES_MAX];
	size_t count;
};

void profile_figures_find(struct profile_analysis *analysis, struct profile_figures *out);
/* NULL: no such figure. */
const struct profile_figure *profile_figures_named(
	const struct profile_figures *figures, const char *name, size_t length);
/* "42 %", "5.94 ms", "6.49 GB/s" or the text; "" = unknown. */
const char *profile_figure_show(const struct profile_figure *figure, char *out, size_t size);

#endif
