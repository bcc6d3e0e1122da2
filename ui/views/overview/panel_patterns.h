/* panel_patterns.h: patterns among the flagged batches of the list above. */
#ifndef PMTOP_UI_VIEWS_OVERVIEW_PANEL_PATTERNS_H
#define PMTOP_UI_VIEWS_OVERVIEW_PANEL_PATTERNS_H

#include "ui/core/canvas.h"
#include "ui/widgets/view.h"

/* Takes lines at the bottom of the box, as many as the list can spare; none without a pattern. */
void panel_patterns_draw(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect *inside);

#endif
