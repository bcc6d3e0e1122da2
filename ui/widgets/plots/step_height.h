/* step_height.h: the upper end of a plot of step times, and the mark on steps that are cut off.
 *
 * The scale ignores the warm-up and rare very slow steps: at most one in 50, between one and three, each more than
 * four times the longest of the rest. They are drawn up to the top edge with a mark and, if there is room, their
 * time. */
#ifndef PMTOP_UI_WIDGETS_PLOTS_STEP_HEIGHT_H
#define PMTOP_UI_WIDGETS_PLOTS_STEP_HEIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/core/plot.h"

enum { STEPS_LONE_MAX = 3 };

/* Starts as { .count = 0 }. */
struct step_height {
	size_t count, warmups;                /* steps without the warm-up; steps of the warm-up */
	double longest_s[STEPS_LONE_MAX + 1]; /* without the warm-up, longest first */
	double warmup_s;                      /* the longest of the warm-up */
};
/* Ignores NAN. */
void step_height_add(struct step_height *height, double step_s, bool is_warmup);
/* The value that the scale has to reach; the warm-up's if there is nothing else; NAN if there are no steps. */
double step_height_reach(const struct step_height *height);
/* Sets the scale for the steps drawn and, unless `earlier` is NULL, for an earlier run. False: there is nothing to
 * draw. */
bool step_height_scale(struct scale *scale, const struct step_height *height, const struct step_height *earlier);

bool step_is_cut(const struct scale *scale, double step_s);
/* Draws the mark in the top row of column `x` of the canvas, on a step `width` cells wide, and its time beside it if
 * the cells are free. A flag or cursor in that cell moves down. */
void step_mark_cut(struct canvas *canvas, struct rect plot, int x, int width, double step_s);

#endif
