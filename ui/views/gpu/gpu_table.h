/* gpu_table.h: the GPUs as a table. */
#ifndef PMTOP_UI_VIEWS_GPU_GPU_TABLE_H
#define PMTOP_UI_VIEWS_GPU_GPU_TABLE_H

#include "ui/core/canvas.h"

struct scene;

/* All GPUs, one per row; the chosen one is selected. */
void gpu_table(struct scene *scene, struct canvas *canvas, struct rect rect, int chosen);

#endif
