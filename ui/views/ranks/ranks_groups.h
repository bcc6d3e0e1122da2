/* ranks_groups.h: process groups and the newest collectives, below the ranks. Private to ui/views/ranks. */
#ifndef PMTOP_UI_VIEWS_RANKS_RANKS_GROUPS_H
#define PMTOP_UI_VIEWS_RANKS_RANKS_GROUPS_H

#include "ui/widgets/view.h"

/* The group with the most collectives of those with the most ranks; −1 = none. */
int ranks_groups_largest(const struct model *model);
void ranks_groups_draw(const struct scene *scene, struct canvas *canvas, struct rect rect);

#endif
