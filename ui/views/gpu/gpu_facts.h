/* gpu_facts.h: the details of one GPU. */
#ifndef PMTOP_UI_VIEWS_GPU_GPU_FACTS_H
#define PMTOP_UI_VIEWS_GPU_GPU_FACTS_H

#include "ui/core/canvas.h"

struct gpu;
struct scene;

/* The facts of one GPU, one per line, and their meaning; the least important lines are dropped if they do not fit. */
void gpu_facts(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect);
/* The number of lines it wants. */
int gpu_facts_rows(struct scene *scene, const struct gpu *gpu);

#endif
