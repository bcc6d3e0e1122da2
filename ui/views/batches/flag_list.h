/* flag_list.h: the flagged batches of a run as a sorted list; the selected batch is the selected row. */
#ifndef PMTOP_UI_VIEWS_BATCHES_FLAG_LIST_H
#define PMTOP_UI_VIEWS_BATCHES_FLAG_LIST_H

#include "ui/widgets/view.h"

void flag_list_draw(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* Up, down, < > I, clicks on a row. */
bool flag_list_key(struct scene *scene, const struct run *run, struct key_event event);

#endif
