/* counters_figures.h: what follows from the counts, each with a word of what it means. Unknown figures are left out
 * first; below is why they are unknown. */
#ifndef PMTOP_UI_VIEWS_COUNTERS_COUNTERS_FIGURES_H
#define PMTOP_UI_VIEWS_COUNTERS_COUNTERS_FIGURES_H

#include "ui/core/canvas.h"

struct model;
struct scene;

void counter_figures(const struct scene *scene, struct canvas *canvas, struct rect rect);
int counter_figures_rows(const struct model *model);

#endif
