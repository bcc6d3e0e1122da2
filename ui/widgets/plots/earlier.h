/* earlier.h: the steps of an earlier run as an overlay: batch 500 beside batch 500. */
#ifndef PMTOP_UI_WIDGETS_PLOTS_EARLIER_H
#define PMTOP_UI_WIDGETS_PLOTS_EARLIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/core/canvas.h"
#include "ui/core/plot.h"

enum { EARLIER_TYPED_SIZE = 512 };

struct earlier {
	bool is_shown;
	char name[64]; /* of the file, for titles */
	bool is_reading;
	double done_ratio; /* of reading it */
	size_t count;
	/* by ordinal in its main mode, from the start of the run; NAN = unknown */
	const float *steps_s;
	bool is_typing; /* the user is typing a file name in the last line */
	char typed[EARLIER_TYPED_SIZE];
};
/* The mean, or the longest, of the known steps first ≤ ordinal < end; NAN if there are none. */
double earlier_mean(const struct earlier *earlier, uint64_t first, uint64_t end);
double earlier_longest(const struct earlier *earlier, uint64_t first, uint64_t end);
/* Their median; of a subset if there are many. */
double earlier_median(const struct earlier *earlier, uint64_t first, uint64_t end);
/* "earlier 0.182 s, now +9 %" for these batches; `now_s` is the shown run's median. "reading run.pmtop 43 %"; ""
 * without an overlay. */
const char *earlier_words(
	const struct earlier *earlier, uint64_t first, uint64_t end, double now_s, char *out, size_t size);
/* Draws one value a point, as many as plot_points, as faint rings (= in ASCII) in free cells, and every few columns
 * over a level line. */
void earlier_plot(
	struct canvas *canvas, struct rect rect, const struct scale *scale, const double *values, size_t count);
/* Draws one in column x of the canvas, also over a bar. */
void earlier_mark(struct canvas *canvas, struct rect rect, int x, const struct scale *scale, double value);
/* The prompt, in place of the key hints. */
void earlier_prompt(const struct earlier *earlier, struct canvas *canvas, struct rect row);

#endif
