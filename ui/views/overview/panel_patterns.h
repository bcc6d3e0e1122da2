/* panel_patterns.h: what the batches of the list above have in common. */
#ifndef PMTOP_UI_VIEWS_OVERVIEW_PANEL_PATTERNS_H
#define PMTOP_UI_VIEWS_OVERVIEW_PANEL_PATTERNS_H

#include "ui/core/canvas.h"
#include "ui/widgets/view.h"

/* Takes lines at the foot of the box, as far as the list can spare them; none where there is no pattern. */
void panel_patterns_draw(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect *inside);

#endif
