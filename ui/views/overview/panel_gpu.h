/* panel_gpu.h: the GPUs of the shown run in a panel, or folded to a line; why there is none. */
#ifndef PMTOP_UI_VIEWS_OVERVIEW_PANEL_GPU_H
#define PMTOP_UI_VIEWS_OVERVIEW_PANEL_GPU_H

#include "ui/widgets/view.h"

/* How many rows it wants of so many: one where it is folded; 0 where there is no GPU and no room to say why. */
int panel_gpu_height(const struct scene *scene, const struct canvas *canvas, int height);
void panel_gpu(struct scene *scene, struct canvas *canvas, struct rect rect);

#endif
