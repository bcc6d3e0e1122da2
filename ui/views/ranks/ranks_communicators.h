/* ranks_communicators.h: NCCL's communicators, of all hosts, below the ranks. Private to ui/views/ranks. */
#ifndef PMTOP_UI_VIEWS_RANKS_RANKS_COMMUNICATORS_H
#define PMTOP_UI_VIEWS_RANKS_RANKS_COMMUNICATORS_H

#include "ui/widgets/view.h"

/* At the top of `rect`, which it reduces; all of it if nothing else follows. */
void ranks_communicators_draw(const struct scene *scene, struct canvas *canvas, struct rect *rect, bool is_followed);

#endif
