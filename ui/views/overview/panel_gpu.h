/* panel_gpu.h: the GPUs of the shown run in a panel or in one line; without a GPU, the reason. */
#ifndef PMTOP_UI_VIEWS_OVERVIEW_PANEL_GPU_H
#define PMTOP_UI_VIEWS_OVERVIEW_PANEL_GPU_H

#include "ui/widgets/view.h"

/* How many rows it wants: 1 for the short form; 0 without a GPU and without room for the reason. */
int panel_gpu_height(const struct scene *scene, const struct canvas *canvas, int height);
void panel_gpu(struct scene *scene, struct canvas *canvas, struct rect rect);

#endif
