/* why.h: one batch explained: its phases against their own medians, what the process did in its window, the causes. */
#ifndef PMTOP_UI_VIEWS_BATCHES_WHY_H
#define PMTOP_UI_VIEWS_BATCHES_WHY_H

#include "ui/widgets/view.h"

void panel_why(
	const struct scene *scene, const struct run *run, uint64_t ordinal, struct canvas *canvas, struct rect rect);

#endif
