/* ranks_lost.h: how much time the ranks lost by which rank and cause, below the ranks. Private to ui/views/ranks. */
#ifndef PMTOP_UI_VIEWS_RANKS_RANKS_LOST_H
#define PMTOP_UI_VIEWS_RANKS_RANKS_LOST_H

#include "ui/widgets/view.h"

/* At the top of `rect`, which it reduces; nothing before enough collectives are known. */
void ranks_lost_draw(const struct scene *scene, struct canvas *canvas, struct rect *rect);

#endif
