/* step_height.h: how high a plot of step times reaches, and the mark on what it cuts off.
 *
 * The warm-up sets no scale, nor do a few steps that stand far above all others: at most one in 50, three at most and
 * one at least, each more than four times the longest of the rest. They are drawn up to the top edge, with a mark there
 * and, where there is room, their time. */
#ifndef PMTOP_UI_WIDGETS_STEP_HEIGHT_H
#define PMTOP_UI_WIDGETS_STEP_HEIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/core/plot.h"

enum { STEPS_LONE_MAX = 3 };

/* Starts as { .count = 0 }. */
struct step_height {
	size_t count, warmups;                /* steps beside the warm-up; of the warm-up */
	double longest_s[STEPS_LONE_MAX + 1]; /* of the former, longest first */
	double warmup_s;                      /* the longest of the latter */
};
/* NAN is not counted. */
void step_height_add(struct step_height *height, double step_s, bool is_warmup);
/* What the scale has to hold; the warm-up where there is nothing else; NAN where there is nothing. */
double step_height_reach(const struct step_height *height);
/* Of what is drawn and, where `earlier` is not NULL, of an earlier run beside it. False: there is nothing to draw. */
bool step_height_scale(struct scale *scale, const struct step_height *height, const struct step_height *earlier);

bool step_is_cut(const struct scale *scale, double step_s);
/* The mark in the top row of column `x` of the canvas, where the step is `width` cells wide, and its time beside it
 * where nothing stands; a flag or cursor that stood there moves down. */
void step_mark_cut(struct canvas *canvas, struct rect plot, int x, int width, double step_s);

#endif
