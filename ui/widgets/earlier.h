/* earlier.h: the steps of an earlier run, drawn beside those of the one that is watched: batch 500 beside batch 500. */
#ifndef PMTOP_UI_WIDGETS_EARLIER_H
#define PMTOP_UI_WIDGETS_EARLIER_H

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
	/* by ordinal in its main mode, from the start of the run; NAN where it is not known */
	const float *steps_s;
	bool is_typing; /* which file: drawn in the last line */
	char typed[EARLIER_TYPED_SIZE];
};
/* The mean, or the longest, of the known steps first ≤ ordinal < end; NAN where there are none. */
double earlier_mean(const struct earlier *earlier, uint64_t first, uint64_t end);
double earlier_longest(const struct earlier *earlier, uint64_t first, uint64_t end);
/* Their median, of many from a part of them. */
double earlier_median(const struct earlier *earlier, uint64_t first, uint64_t end);
/* "earlier 0.182 s, now +9 %" for these batches, of which ours have the median `now_s`; "reading run.pmtop 43 %"; ""
 * where nothing is shown. */
const char *earlier_words(
	const struct earlier *earlier, uint64_t first, uint64_t end, double now_s, char *out, size_t size);
/* A value a point, as many as plot_points has, as faint rings (= in ASCII): where nothing else stands, and every few
 * columns over a level line. */
void earlier_plot(
	struct canvas *canvas, struct rect rect, const struct scale *scale, const double *values, size_t count);
/* One in column x of the canvas, over a bar too. */
void earlier_mark(struct canvas *canvas, struct rect rect, int x, const struct scale *scale, double value);
/* The prompt, in place of the keys. */
void earlier_prompt(const struct earlier *earlier, struct canvas *canvas, struct rect row);

#endif
